//! The commands, each in the file with its name; its options stand in the file of that name in `args`.

mod advise;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod bpf;
mod characterize;
mod check;
mod compare;
#[cfg(feature = "manual")]
mod completions;
mod explain;
#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
pub(crate) mod guest;
mod init;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod lab;
#[cfg(feature = "manual")]
mod man;
#[cfg(feature = "papers")]
mod paper;
#[cfg(feature = "playground")]
mod playground;
#[cfg(feature = "html")]
mod plot;
mod qdiscs;
mod replay;
#[cfg(feature = "router")]
mod router;
mod run;
mod scenarios;
mod schema;
#[cfg(all(feature = "shell", target_os = "linux"))]
mod shell;
mod sweep;
mod theory;
#[cfg(feature = "top")]
mod top;
mod tune;

use fairlane_console::Failure;

use crate::args::Verb;
use crate::args::schema::SchemaArgs;

/// Checks everything that can be refused, then does the work.
pub(crate) fn execute(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Compare(args) => compare::CompareCommand::new(args)?.execute(),
        Verb::Run(args) => run::RunCommand::new(args)?.execute(),
        Verb::Sweep(args) => sweep::SweepCommand::new(args)?.execute(),
        Verb::Characterize(args) => characterize::CharacterizeCommand::new(args)?.execute(),
        Verb::Advise(args) => advise::AdviseCommand::new(args)?.execute(),
        Verb::Tune(args) => tune::TuneCommand::new(&args)?.execute(),
        Verb::Check(args) => check::execute(&args),
        Verb::Scenarios(args) => scenarios::execute(&args),
        Verb::Init(args) => init::execute(&args),
        Verb::Schema(SchemaArgs {}) => schema::execute(),
        Verb::Replay(args) => replay::ReplayCommand::new(&args)?.execute(),
        #[cfg(feature = "html")]
        Verb::Plot(args) => plot::execute(&args),
        #[cfg(not(feature = "html"))]
        Verb::Plot(_) => Err(crate::features::missing("figures", "html")),
        #[cfg(feature = "playground")]
        Verb::Playground(args) => playground::execute(&args),
        #[cfg(not(feature = "playground"))]
        Verb::Playground(_) => Err(crate::features::missing("playground", "playground")),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Verb::Lab(args) => lab::execute(&args),
        #[cfg(all(feature = "lab", not(target_os = "linux")))]
        Verb::Lab(_) => Err(Failure::new("the lab needs Linux", "simulate the file: fairlane run")),
        #[cfg(not(feature = "lab"))]
        Verb::Lab(_) => Err(crate::features::missing("lab", "lab")),
        #[cfg(all(feature = "shell", target_os = "linux"))]
        Verb::Shell(args) => shell::execute(&args),
        #[cfg(all(feature = "shell", not(target_os = "linux")))]
        Verb::Shell(_) => Err(Failure::new("a shell needs Linux", "simulate the file: fairlane run")),
        #[cfg(not(feature = "shell"))]
        Verb::Shell(_) => Err(crate::features::missing("shell", "shell")),
        #[cfg(feature = "papers")]
        Verb::Paper(args) => paper::execute(args),
        #[cfg(not(feature = "papers"))]
        Verb::Paper(_) => Err(crate::features::missing("papers", "papers")),
        #[cfg(feature = "router")]
        Verb::Router(args) => router::execute(args),
        #[cfg(not(feature = "router"))]
        Verb::Router(_) => Err(crate::features::missing("router", "router")),
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        Verb::Bpf(args) => bpf::execute(args),
        #[cfg(all(feature = "bpf", not(target_os = "linux")))]
        Verb::Bpf(_) => Err(Failure::plain("BPF queue disciplines need Linux")),
        #[cfg(not(feature = "bpf"))]
        Verb::Bpf(_) => Err(crate::features::missing("BPF queue disciplines", "bpf")),
        #[cfg(feature = "top")]
        Verb::Top(args) => top::execute(&args),
        #[cfg(not(feature = "top"))]
        Verb::Top(_) => Err(crate::features::missing("view of a router", "top")),
        Verb::Theory(args) => theory::execute(&args),
        Verb::Explain(args) => explain::execute(&args),
        Verb::Qdiscs(args) => qdiscs::execute(&args),
        #[cfg(feature = "manual")]
        Verb::Completions(args) => completions::execute(&args),
        #[cfg(feature = "manual")]
        Verb::Man(args) => man::execute(&args),
        #[cfg(not(feature = "manual"))]
        Verb::Completions(_) | Verb::Man(_) => Err(crate::features::missing("manual pages and completions", "manual")),
    }
}
