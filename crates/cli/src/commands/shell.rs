//! `fairlane shell`: any program behind a scenario's link.

pub(super) mod guest;
mod records;
mod report;
mod top;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome, OutputFile, Timeline};
use fairlane_qdisc::Kind;
use fairlane_runner::{files, so_far};
use fairlane_scenario::{Document, Scenario};
use fairlane_shell::{Ended, Follow, LinkSample, Listen, Options, Shell, ShellError};

use crate::args::shared::Place;
use crate::args::shell::ShellArgs;
use crate::files::Outputs;
use crate::page::HtmlPage;
use crate::{output, shared};
use records::Asked;

/// The exit code of a command that Ctrl-C has ended, and with it the runs behind it.
const INTERRUPTED: u8 = 128 + 2;

/// A command behind links that differ in their queue alone.
#[derive(Debug)]
pub(crate) struct ShellCommand {
    shells: Vec<PreparedShell>,
    command: Vec<OsString>,
    json: Option<PathBuf>,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
    report: Option<PathBuf>,
    records: Asked,
    outputs: Outputs,
    quiet: bool,
}

/// An outcome, with its timeline if there is a page.
type RecordedOutcome = (Outcome, Option<Timeline>);

/// A shell with its scenario, and its discipline if that is not the file's.
#[derive(Debug)]
struct PreparedShell {
    kind: Option<Kind>,
    scenario: Scenario,
    shell: Shell,
}

/// Runs the command, on this machine or in a guest.
pub(super) fn execute(args: &ShellArgs) -> Result<(), Failure> {
    match args.guest.place {
        Place::Host => ShellCommand::new(args)?.execute(),
        Place::Guest => guest::execute(args),
    }
}

impl ShellCommand {
    /// Reads and checks everything. Nothing is changed on the machine.
    pub(crate) fn new(args: &ShellArgs) -> Result<Self, Failure> {
        guest::refuse_outside(args)?;
        Self::with_document(args, &shared::document(Some(&args.file), &args.overrides)?)
    }

    /// Checks everything, for the scenario of `document`.
    fn with_document(args: &ShellArgs, document: &Document) -> Result<Self, Failure> {
        let scenario = document.links_alone()?;
        let kinds = shared::kinds(&args.queue);
        let scenarios: Vec<(Option<Kind>, Scenario)> = if kinds.is_empty() {
            vec![(None, scenario)]
        } else {
            let with = |kind: &Kind| Ok((Some(*kind), with_kind(&scenario, *kind, document)?));
            kinds.iter().map(with).collect::<Result<_, Failure>>()?
        };
        let listen = args.listen.iter().map(|(at, port)| Listen { at: *at, port: *port }).collect();
        let options = Options {
            ecn: args.ecn,
            congestion: args.cc.clone(),
            mtu: args.mtu,
            flows: args.flows,
            pcap: args.pcap.clone(),
            listen,
            server: args.server.as_deref().unwrap_or_default().to_vec(),
        };
        let shell = |(kind, scenario): (Option<Kind>, Scenario)| match Shell::new(&scenario, options.clone()) {
            Ok(shell) => Ok(PreparedShell { kind, scenario, shell }),
            Err(error) => Err(failure(document, error)),
        };
        let shells: Vec<_> = scenarios.into_iter().map(shell).collect::<Result<_, Failure>>()?;
        let (series, flent) = (args.series.clone().asked(), args.flent.clone());
        let of_one = args.pcap.is_some() || series.is_some() || flent.is_some() || args.page.html.is_some();
        if shells.len() > 1 && of_one {
            let message = "--pcap, --series, --flent and --html follow one run, and --queue asks for several";
            return Err(Failure::new(message, "name one discipline"));
        }
        let outputs = Outputs::default().file("--json", args.json.as_deref()).file("--pcap", args.pcap.as_deref());
        let outputs = outputs.file("--html", args.page.html.as_deref()).series(series.as_ref());
        let outputs = outputs.file("--flent", flent.as_deref()).file("--report", args.report.as_deref());
        let outputs = outputs.tables("--out", args.folder.out.as_deref());
        outputs.check(&shared::inputs(Some(&args.file), document))?;
        let page = HtmlPage::new(&args.page, document, &args.overrides)?;
        let progress = args.progress && io::stderr().is_terminal();
        let records = Asked { series, flent, page: page.is_some(), progress, top: args.top.clone() };
        let command = if args.command.is_empty() { vec![user_shell()] } else { args.command.clone() };
        let (json, out, report) = (args.json.clone(), args.folder.out.clone(), args.report.clone());
        Ok(Self { shells, command, json, out, page, report, records, outputs, quiet: args.quiet })
    }

    /// Runs the command behind each link. The exit code is the first that is not 0. If a link fails, the outcomes of
    /// those before it are kept.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (mut followed, mut told) = (Vec::new(), String::new());
        let ended = self.run_all(&mut followed, &mut told);
        let report = self.report.as_ref().map(|file| files::write(file, told, Extent::Whole).map_err(Failure::from));
        let (outcomes, timelines): (Vec<Outcome>, Vec<Option<Timeline>>) = followed.into_iter().unzip();
        let json = self.json.as_ref().map(|file| write_json(file, &outcomes));
        let missing = (outcomes.len() < self.shells.len())
            .then(|| shared::interrupted(&so_far(&outcomes, self.shells.len(), "disciplines")));
        let extent = Extent::of(missing.is_some());
        let tables = self.out.as_ref().map(|folder| shared::write_tables(folder, &outcomes, extent));
        let page = self.page.as_ref().zip(outcomes.first());
        let page = page.map(|(page, one)| page.write_run(one, timelines.first().and_then(Option::as_ref), missing));
        shared::delivered(json, Ok(()), [report, tables, page].into_iter().flatten())?;
        match ended? {
            0 => Ok(()),
            code => Err(Failure::Ended(code)),
        }
    }

    /// Returns the exit code, and adds the outcomes of the links whose command has ended, with their timelines, and the
    /// text for the file of reports.
    fn run_all(&self, followed: &mut Vec<RecordedOutcome>, told: &mut String) -> Result<u8, Failure> {
        let mut tell = |text: &str| if self.report.is_some() { told.push_str(text) } else { output::tell(text) };
        let mut code = 0;
        for PreparedShell { kind, scenario, shell } in &self.shells {
            if self.shells.len() > 1
                && let Some(kind) = kind
            {
                tell(&format!("{kind}:\n"));
            }
            let mut records = self.records.begin(scenario)?;
            let mut hear = |sample: LinkSample| records.hear(&sample);
            let follow = self.records.interval().map(|every| Follow { every, hear: &mut hear });
            let ended = shell.run(&self.command, follow).map_err(|error| self.failed(error))?;
            let timeline = records.finish(Extent::Whole);
            let Ended { run, code: this, .. } = &ended;
            if code == 0 {
                code = *this;
            }
            tell(&report::text(&ended, self.quiet));
            let of_page = timeline.as_ref().ok().filter(|_| self.page.is_some()).cloned();
            followed.extend(Outcome::from_runs([run.clone()]).map(|outcome| (outcome, of_page)));
            timeline?;
            if *this == INTERRUPTED {
                break;
            }
        }
        Ok(code)
    }

    fn failed(&self, error: ShellError) -> Failure {
        match error {
            ShellError::Command(reason, code) => {
                cannot_execute(self.command.first().map_or(OsStr::new(""), |name| name), &reason, code)
            }
            other => Failure::plain(other),
        }
    }
}

/// Says that the command cannot be executed, and returns the exit code of shells for it.
fn cannot_execute(name: &OsStr, reason: &str, code: u8) -> Failure {
    output::tell(&format!("error: cannot execute {}: {reason}\n", name.to_string_lossy()));
    Failure::Ended(code)
}

/// Returns the scenario with `kind` at both ends of its links, each with those of its parameters that `kind` has too.
fn with_kind(scenario: &Scenario, kind: Kind, document: &Document) -> Result<Scenario, Failure> {
    let mut changed = scenario.clone();
    for side in changed.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        let parameters = side.queue.parameters().with_kind(kind);
        side.queue = parameters.resolve(side.queue_rate()).map_err(|error| {
            document.refuse("bottleneck.queue", &format!("{kind}: {error}"), "name another discipline")
        })?;
    }
    Ok(changed)
}

/// Returns the user's shell.
fn user_shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

/// Converts an error; one about the scenario names its place in the file.
fn failure(document: &Document, error: ShellError) -> Failure {
    match error {
        ShellError::Scenario(cannot) => document.refuse(&cannot.key, &cannot.message, &cannot.help).into(),
        other => Failure::plain(other),
    }
}

/// Writes `{"outcomes": […]}`, as other commands print it.
fn write_json(path: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    let written = || {
        let mut file = OutputFile::create(path)?;
        let text: Vec<String> = outcomes.iter().map(Outcome::to_json).collect();
        writeln!(file, "{{\"outcomes\": [{}]}}", text.join(","))?;
        file.finish(Extent::Whole)
    };
    written().map(drop).map_err(|error| Failure::write(path, &error))
}
