//! The options: one definition of each, from which help, completions and manual pages come too.
//!
//! Each command's arguments are in the file with its name; arguments that several commands share are in `shared`.

pub(crate) mod advise;
#[cfg(feature = "bpf")]
pub(crate) mod bpf;
pub(crate) mod characterize;
pub(crate) mod check;
pub(crate) mod compare;
#[cfg(feature = "manual")]
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod init;
#[cfg(feature = "lab")]
pub(crate) mod lab;
#[cfg(feature = "manual")]
pub(crate) mod man;
#[cfg(not(all(
    feature = "bpf",
    feature = "html",
    feature = "lab",
    feature = "manual",
    feature = "papers",
    feature = "playground",
    feature = "router",
    feature = "shell",
    feature = "top"
)))]
mod missing;
#[cfg(feature = "papers")]
pub(crate) mod paper;
#[cfg(feature = "playground")]
pub(crate) mod playground;
#[cfg(feature = "html")]
pub(crate) mod plot;
pub(crate) mod qdiscs;
pub(crate) mod replay;
#[cfg(feature = "router")]
pub(crate) mod router;
pub(crate) mod run;
pub(crate) mod scenarios;
pub(crate) mod schema;
pub(crate) mod shared;
#[cfg(feature = "shell")]
pub(crate) mod shell;
pub(crate) mod sweep;
pub(crate) mod theory;
#[cfg(feature = "top")]
pub(crate) mod top;
pub(crate) mod tune;

use clap::{Parser, Subcommand};

use self::advise::AdviseArgs;
#[cfg(feature = "bpf")]
use self::bpf::BpfArgs;
use self::characterize::CharacterizeArgs;
use self::check::CheckArgs;
use self::compare::CompareArgs;
#[cfg(feature = "manual")]
use self::completions::CompletionsArgs;
use self::explain::ExplainArgs;
use self::init::InitArgs;
#[cfg(feature = "lab")]
use self::lab::LabArgs;
#[cfg(feature = "manual")]
use self::man::ManArgs;
#[cfg(feature = "papers")]
use self::paper::PaperArgs;
#[cfg(feature = "playground")]
use self::playground::PlaygroundArgs;
#[cfg(feature = "html")]
use self::plot::PlotArgs;
use self::qdiscs::QdiscsArgs;
use self::replay::ReplayArgs;
#[cfg(feature = "router")]
use self::router::RouterArgs;
use self::run::RunArgs;
use self::scenarios::ScenariosArgs;
use self::schema::SchemaArgs;
#[cfg(feature = "shell")]
use self::shell::ShellArgs;
use self::sweep::SweepArgs;
use self::theory::TheoryArgs;
#[cfg(feature = "top")]
use self::top::TopArgs;
use self::tune::TuneArgs;

/// Simulate, compare and explain queue disciplines
#[derive(Debug, Parser)]
#[command(name = "fairlane", version, max_term_width = 100, long_about = ABOUT, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const ABOUT: &str = concat!(
    "Fairlane simulates 42 queue disciplines, such as CHOKe, RED, CoDel and CAKE, compares them, and shapes Linux links with \
them. It is for researchers, for operators of congested links, and for authors of network software. It is 17 to 51 \
times as fast as ns-2, and their results agree.

Try:
  fairlane compare           a flood and 32 TCP flows under DropTail, RED and CHOKe, in a second
  fairlane init mine.toml    write a scenario; then: fairlane run mine.toml
  fairlane explain choke     show a discipline's parameters
  fairlane router --help     shape a Linux link

Documents, measurements and installation: ",
    env!("CARGO_PKG_REPOSITORY")
);

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a claim or a comparison failed; 2 the input is wrong, the machine cannot do it, \
or the work was interrupted before its end; 3 no claim failed, but one needs more runs to be decided.";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Compare(CompareArgs),
    Run(RunArgs),
    Sweep(SweepArgs),
    Characterize(CharacterizeArgs),
    Advise(AdviseArgs),
    Tune(TuneArgs),
    Check(CheckArgs),
    Scenarios(ScenariosArgs),
    Init(InitArgs),
    Schema(SchemaArgs),
    Replay(ReplayArgs),
    #[cfg(feature = "html")]
    Plot(PlotArgs),
    /// Draw a figure of saved outcomes (needs the feature html)
    #[cfg(not(feature = "html"))]
    #[command(disable_help_flag = true)]
    Plot(missing::MissingVerb),
    #[cfg(feature = "playground")]
    Playground(PlaygroundArgs),
    /// Show a link packet by packet in a browser (feature playground)
    #[cfg(not(feature = "playground"))]
    #[command(disable_help_flag = true)]
    Playground(missing::MissingVerb),
    #[cfg(feature = "lab")]
    Lab(LabArgs),
    /// Run a scenario on real Linux TCP (needs the feature lab)
    #[cfg(not(feature = "lab"))]
    #[command(disable_help_flag = true)]
    Lab(missing::MissingVerb),
    #[cfg(feature = "shell")]
    Shell(ShellArgs),
    /// Run any program behind a link (feature shell)
    #[cfg(not(feature = "shell"))]
    #[command(disable_help_flag = true)]
    Shell(missing::MissingVerb),
    #[cfg(feature = "papers")]
    Paper(PaperArgs),
    /// Run and judge the papers' claims (needs the feature papers)
    #[cfg(not(feature = "papers"))]
    #[command(disable_help_flag = true)]
    Paper(missing::MissingVerb),
    #[cfg(feature = "router")]
    Router(RouterArgs),
    /// Shape a Linux link with a discipline (feature router)
    #[cfg(not(feature = "router"))]
    #[command(disable_help_flag = true)]
    Router(missing::MissingVerb),
    #[cfg(feature = "bpf")]
    Bpf(BpfArgs),
    /// Run CHOKe in the Linux kernel, by BPF (feature bpf)
    #[cfg(not(feature = "bpf"))]
    #[command(disable_help_flag = true)]
    Bpf(missing::MissingVerb),
    #[cfg(feature = "top")]
    Top(TopArgs),
    /// Watch a running router (needs the feature top)
    #[cfg(not(feature = "top"))]
    #[command(disable_help_flag = true)]
    Top(missing::MissingVerb),
    Theory(TheoryArgs),
    Explain(ExplainArgs),
    Qdiscs(QdiscsArgs),
    #[cfg(feature = "manual")]
    Completions(CompletionsArgs),
    /// Print a shell's completion script (feature manual)
    #[cfg(not(feature = "manual"))]
    #[command(disable_help_flag = true)]
    Completions(missing::MissingVerb),
    #[cfg(feature = "manual")]
    Man(ManArgs),
    /// Write the manual pages into a folder (feature manual)
    #[cfg(not(feature = "manual"))]
    #[command(disable_help_flag = true)]
    Man(missing::MissingVerb),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_does_not_contradict_itself() {
        Cli::command().debug_assert();
    }
}
