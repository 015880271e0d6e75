//! `fairlane lab`: a scenario on real Linux TCP.

mod bpf;
mod followers;
pub(super) mod guest;
mod wire;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_lab::{Checks, IpVersion, Lab, LabError, Measured};
use fairlane_outcome::{Extent, Outcome, Timeline};
use fairlane_qdisc::{Duration, Kind};
use fairlane_report::{Detail, Details, against_table, compare_table, run_report};
use fairlane_runner::compare::with_kind;
use fairlane_runner::{Batch, Job, Recorder, machine, so_far};
use fairlane_scenario::{Document, KernelDiscipline, Scenario};
use fairlane_sim::{Control, Observer};

use crate::args::lab::LabArgs;
use crate::args::shared::Place;
use crate::files::Outputs;
use crate::page::HtmlPage;
use crate::progress::{Seconds, VirtualSeconds};
use crate::{output, progress, shared};
use followers::Followers;
use guest::{GuestLabs, RunId, Wanted};
use wire::Whose;

/// The minimum number of simulated runs: they take little time, and an interval needs several.
const SIMULATED: NonZeroU32 = NonZeroU32::new(5).unwrap();

/// A lab with its scenario.
#[derive(Debug)]
struct PreparedLab {
    lab: Lab,
    scenario: Scenario,
    /// The discipline, if it is not the file's.
    kind: Option<Kind>,
    /// Whose discipline is measured.
    whose: Whose,
    /// Notes about the discipline, for the user.
    notes: Vec<String>,
}

/// Labs that are ready to run.
#[derive(Debug)]
pub(crate) struct LabCommand {
    labs: Vec<PreparedLab>,
    /// Runs in guests, instead of this machine's kernel.
    guests: Option<GuestLabs>,
    /// The same scenarios for the simulator, in the same order, if simulations are requested.
    simulated: Option<Batch>,
    runs: NonZeroU32,
    json: bool,
    details: Details,
    progress_lines: bool,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
    /// With the interval.
    series: Option<(PathBuf, Duration)>,
    outputs: Outputs,
}

/// Makes a run, with samples at the interval if one is given.
type RunLab<'a> = dyn FnMut(RunId, Option<Duration>) -> Result<Measured, LabError> + 'a;

/// An outcome, and the timeline of its first run, if it was recorded.
type Followed = (Outcome, Option<Timeline>);

/// The results, and the reasons for missing ones.
#[derive(Default)]
struct LabResults {
    /// The labs with an outcome.
    measured: Vec<Followed>,
    simulated: Vec<Followed>,
    /// The labs were interrupted.
    interrupted: bool,
    /// Labs whose queue was not the bottleneck, with the reason.
    unmeasured: Vec<(Kind, LabError)>,
    /// The error that ended the labs.
    failed: Option<Failure>,
}

/// The end of a lab.
enum LabEnd {
    Whole,
    Interrupted,
    Unmeasured(LabError),
    Failed(Failure),
}

/// Fetches a kernel, or runs labs.
pub(crate) fn execute(args: &LabArgs) -> Result<(), Failure> {
    if args.setup {
        return output::print(&guest::set_up(args.guest.kernel.clone())?);
    }
    LabCommand::new(args)?.execute()
}

impl LabCommand {
    /// Reads and checks everything. Nothing is changed on the machine.
    pub(crate) fn new(args: &LabArgs) -> Result<Self, Failure> {
        let document = shared::document(args.file.as_deref(), &args.overrides)?;
        let scenario = document.scenario()?;
        let kinds = shared::kinds(&args.queue);
        let scenarios: Vec<(Option<Kind>, Scenario)> = if kinds.is_empty() {
            vec![(None, scenario.clone())]
        } else {
            let with = |kind: &Kind| Ok((Some(*kind), with_kind(&scenario, *kind)?));
            kinds.iter().map(with).collect::<Result<_, Failure>>()?
        };
        let series = args.series.clone().asked();
        if series.is_some() && (args.runs.get() > 1 || scenarios.len() > 1) {
            let message = "--series follows one run, and --runs or --queue asks for several";
            return Err(Failure::new(message, "leave out --runs, and name one discipline"));
        }
        if args.against_bpf && args.guest.place != Place::Guest {
            return Err(Failure::new("--against-bpf changes the kernel, which has to be a guest's", "add --in guest"));
        }
        let ip_version = if args.ipv6 { IpVersion::V6 } else { IpVersion::V4 };
        let made = if args.guest.place == Place::Guest { Lab::elsewhere } else { Lab::new };
        let mut labs = Vec::new();
        for (kind, scenario) in &scenarios {
            let refused = |error: LabError| failure(&document, &error);
            let lab = made(scenario, ip_version).map_err(refused)?;
            let prepared =
                |lab, whose, notes| PreparedLab { lab, scenario: scenario.clone(), kind: *kind, whose, notes };
            labs.push(prepared(lab.clone(), Whose::Library, Vec::new()));
            if args.against_kernel {
                let (lab, discipline) = lab.clone().with_kernel_discipline().map_err(refused)?;
                labs.push(prepared(lab, Whose::Kernel, notes(discipline)));
            }
            if args.against_bpf {
                let lab = bpf::with_program(lab, scenario).map_err(refused)?;
                labs.push(prepared(lab, Whose::Bpf, Vec::new()));
            }
        }
        let guests =
            (args.guest.place == Place::Guest).then(|| GuestLabs::new(&document, args, &scenario)).transpose()?;
        let scenarios: Vec<Scenario> = scenarios.into_iter().map(|(_, scenario)| scenario).collect();
        let runs = args.runs.max(SIMULATED);
        let simulated = args.against_sim.then(|| Batch::new(jobs(scenarios), runs, None)).transpose()?;
        let outputs = Outputs::default().file("--html", args.page.html.as_deref()).series(series.as_ref());
        let outputs = outputs.tables("--out", args.folder.out.as_deref());
        outputs.check(&shared::inputs(args.file.as_deref(), &document))?;
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let simulated = if page.is_some() { simulated.map(Batch::recorded) } else { simulated };
        let (json, details) = (args.form.json, args.tables.details(&Detail::ALL)?);
        let (progress_lines, out) = (args.progress_lines, args.folder.out.clone());
        Ok(Self { labs, guests, simulated, runs: args.runs, json, details, progress_lines, out, page, series, outputs })
    }

    /// Runs one lab after the other, then the simulator, and writes and prints it all.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        // Labs differ in the queue alone.
        let mut notes = self.labs.first().map(|prepared| prepared.lab.differences()).unwrap_or_default();
        notes.extend(self.labs.iter().flat_map(|prepared| prepared.notes.clone()));
        output::tell(&notes.iter().map(|line| format!("note: {line}\n")).collect::<String>());
        let mut done = match &self.guests {
            Some(guests) => self.guests_done(guests, &control),
            None => self.labs_done(&control),
        };
        if let Some(batch) = self.simulated.as_ref().filter(|_| !done.interrupted && !done.measured.is_empty()) {
            let simulated = progress::batch(batch, &control)?;
            done.interrupted = simulated.interrupted;
            done.simulated = simulated.outcomes.into_iter().zip(simulated.timelines).collect();
        }
        let measured: Vec<Outcome> = done.measured.iter().map(|(outcome, _)| outcome.clone()).collect();
        let there = so_far(&measured, self.labs.len(), "labs");
        self.tell(&done, &there)?;
        match done.failed.or_else(|| unmeasured(&done.unmeasured, self.labs.len(), &there)) {
            Some(failure) if !done.interrupted => Err(failure),
            _ => shared::complete(done.interrupted, &there, &self.outputs),
        }
    }

    /// Runs the labs, one run after the other.
    fn labs_done(&self, control: &Control) -> LabResults {
        let seconds = self.seconds();
        let clock = Seconds::new(seconds, self.labs.len() as u64 * u64::from(self.runs.get()), self.progress_lines);
        let stopped = || {
            clock.look();
            control.stopped()
        };
        self.all_of(control, &|write| clock.beside(write), &mut |(lab, number), every| {
            let result = self.labs[lab].lab.clone().sampled(every).run(number, &stopped);
            clock.run_ended();
            result
        })
    }

    /// Runs the labs in guests, several at a time.
    fn guests_done(&self, guests: &GuestLabs, control: &Control) -> LabResults {
        output::tell(&format!("Linux {} in virtual time\n", guests.version()));
        let ids = (0..self.labs.len()).flat_map(|lab| (0..self.runs.get()).map(move |run| (lab, run)));
        let wanted = |id: RunId| {
            let PreparedLab { kind, whose, .. } = &self.labs[id.0];
            let every = self.interval(id).filter(|_| id.1 == 0);
            Wanted { id, kind: *kind, whose: *whose, every }
        };
        let wanted: Vec<Wanted> = ids.map(wanted).collect();
        let bar = VirtualSeconds::new(self.seconds(), wanted.len(), self.progress_lines);
        let results = guests.run_all(&wanted, self.seconds(), &bar, control);
        let mut results: BTreeMap<RunId, _> = results.into_iter().collect();
        self.all_of(control, &|write| write(), &mut |id, _| results.remove(&id).unwrap_or(Err(LabError::Interrupted)))
    }

    /// The seconds of a run.
    fn seconds(&self) -> f64 {
        self.labs.first().map_or(0.0, |prepared| prepared.scenario.duration.as_secs())
    }

    /// Collects the runs of all labs, which `run` makes. A lab without a measurement does not end the others; one that
    /// cannot be set up does.
    fn all_of(&self, control: &Control, beside: &dyn Fn(&dyn Fn()), run: &mut RunLab<'_>) -> LabResults {
        let mut done = LabResults::default();
        for (index, PreparedLab { scenario, .. }) in self.labs.iter().enumerate() {
            let (followed, ended) = self.measured(index, scenario, control, beside, run);
            done.measured.extend(followed);
            match ended {
                LabEnd::Whole => {}
                LabEnd::Interrupted => done.interrupted = true,
                LabEnd::Unmeasured(error) => {
                    let kind = scenario.links.first().map_or(Kind::DropTail, |link| link.forward.queue.kind());
                    if self.labs.len() > 1 {
                        beside(&|| output::tell(&format!("{kind}: {error}\n")));
                    }
                    done.unmeasured.push((kind, error));
                }
                LabEnd::Failed(failure) => done.failed = Some(failure),
            }
            if done.interrupted || done.failed.is_some() {
                break;
            }
        }
        done
    }

    /// The interval of samples of a lab; `None` if nothing follows it.
    fn interval(&self, (lab, _): RunId) -> Option<Duration> {
        let recorded = || self.page.as_ref().and_then(|_| Recorder::new(&self.labs[lab].scenario).interval());
        self.series.as_ref().map(|(_, every)| *every).or_else(recorded)
    }

    /// Collects the runs of one lab; there is no outcome if it ended before its measurement.
    fn measured(
        &self,
        lab: usize,
        scenario: &Scenario,
        control: &Control,
        beside: &dyn Fn(&dyn Fn()),
        run: &mut RunLab<'_>,
    ) -> (Option<Followed>, LabEnd) {
        let mut followers = match Followers::new(scenario, self.series.as_ref(), self.page.is_some()) {
            Ok(followers) => Some(followers),
            Err(error) => return (None, LabEnd::Failed(error.into())),
        };
        let (mut runs, mut timeline, mut ended) = (Vec::new(), None, LabEnd::Whole);
        for number in 0..self.runs.get() {
            if control.stopped() && self.guests.is_none() {
                ended = LabEnd::Interrupted;
                break;
            }
            let id = (lab, number);
            match run(id, self.interval(id).filter(|_| number == 0)) {
                Ok(Measured { run, checks, samples }) => {
                    if !self.json {
                        let kind = run.queues.first().map_or("", |queue| &queue.kind);
                        let whose = match self.labs[lab].whose {
                            Whose::Library => "",
                            Whose::Kernel => " of the kernel",
                            Whose::Bpf => " in the kernel",
                        };
                        beside(&|| output::tell(&said(&format!("{kind}{whose}"), &checks)));
                    }
                    if run.partial {
                        ended = LabEnd::Interrupted;
                    }
                    let extent = Extent::of(run.partial);
                    runs.push(run);
                    match followers.take().map(|followers| followers.hear(&samples, extent)) {
                        Some(Ok(heard)) => timeline = heard,
                        Some(Err(error)) => ended = LabEnd::Failed(error.into()),
                        None => {}
                    }
                }
                Err(LabError::Interrupted) => ended = LabEnd::Interrupted,
                Err(error @ LabError::NotTheBottleneck(_)) => ended = LabEnd::Unmeasured(error),
                Err(error) => ended = LabEnd::Failed(Failure::plain(error)),
            }
            if !matches!(ended, LabEnd::Whole) {
                break;
            }
        }
        let missing = runs.len() < self.runs.get() as usize;
        let outcome = Outcome::from_runs(runs).map(|mut outcome| {
            outcome.partial |= missing;
            if self.guests.is_none() {
                outcome.cost.peak_rss_bytes = machine::peak_rss_bytes();
            }
            (outcome, timeline)
        });
        (outcome, ended)
    }

    /// Writes and prints the results; `there` describes them.
    fn tell(&self, done: &LabResults, there: &str) -> Result<(), Failure> {
        let (all, timelines): (Vec<Outcome>, Vec<Option<Timeline>>) = done.all().into_iter().unzip();
        let missing = done.interrupted || done.failed.is_some() || !done.unmeasured.is_empty();
        let tables = self.out.as_ref().map(|folder| shared::write_tables(folder, &all, Extent::of(missing)));
        let printed = if self.json { output::print_outcomes(&all, &[], missing) } else { done.print(self.details) };
        let page = self.page.as_ref().filter(|_| !all.is_empty()).map(|page| {
            let missing = missing.then(|| if done.interrupted { shared::interrupted(there) } else { there.to_owned() });
            match &all[..] {
                [one] => page.write_run(one, timelines.first().and_then(Option::as_ref), missing),
                several => page.write_comparison(several, &timelines, None, missing),
            }
        });
        shared::delivered(tables, printed, page)
    }
}

impl LabResults {
    /// The outcomes of each discipline: on Linux, with the kernel's own discipline, and simulated, as far as there are.
    fn by_kind(&self) -> Vec<Vec<&Followed>> {
        let mut kinds: Vec<Vec<&Followed>> = Vec::new();
        let kind = |(outcome, _): &Followed| outcome.queues.first().map(|queue| queue.kind.clone());
        // Matched by discipline, since an interruption leaves gaps.
        for followed in self.measured.iter().chain(&self.simulated) {
            match kinds.iter_mut().find(|others| kind(others[0]) == kind(followed)) {
                Some(others) => others.push(followed),
                None => kinds.push(vec![followed]),
            }
        }
        kinds
    }

    fn all(&self) -> Vec<Followed> {
        self.by_kind().concat().into_iter().cloned().collect()
    }

    fn print(&self, details: Details) -> Result<(), Failure> {
        let terminal = output::terminal(details);
        let (mut tables, mut alone) = (Vec::new(), Vec::new());
        for outcomes in self.by_kind() {
            let outcomes: Vec<&Outcome> = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
            match outcomes.split_first() {
                Some((first, [])) => alone.push(Outcome::clone(first)),
                Some((first, others)) => tables.push(against_table(first, others, &terminal)),
                None => {}
            }
        }
        tables.extend(match &alone[..] {
            [] => None,
            [one] => Some(run_report(one, &terminal)),
            several => Some(compare_table(several, None, &[], &terminal)),
        });
        output::print(&tables.join("\n"))
    }
}

/// Returns the notes about the kernel's own discipline.
fn notes(KernelDiscipline { words, differences, .. }: KernelDiscipline) -> Vec<String> {
    let mut notes = vec![format!("the kernel's discipline is tc's \"{words}\"")];
    notes.extend(differences);
    notes
}

fn jobs(scenarios: Vec<Scenario>) -> Vec<Job> {
    scenarios.into_iter().map(Job::of).collect()
}

/// Returns the checks of a lab, a line for each.
fn said(kind: &str, checks: &Checks) -> String {
    let lines: Vec<String> = checks.all().iter().map(|check| format!("  {check}\n")).collect();
    format!("{kind}: the queue is the bottleneck, since\n{}", lines.concat())
}

/// The remedy where the queue was not measured.
const HELP: &str = "leave the machine to the lab and run it again, or ask for a slower link or fewer packets";

/// Returns the error of labs that gave no measurement; `there` describes the results.
fn unmeasured(of: &[(Kind, LabError)], labs: usize, there: &str) -> Option<Failure> {
    let message = match of {
        [] => return None,
        [(_, error)] if labs == 1 => error.to_string(),
        // The reasons are printed already.
        _ => {
            let kinds: Vec<&str> = of.iter().map(|(kind, _)| kind.name()).collect();
            format!("no measurement of {}: {there}", kinds.join(", "))
        }
    };
    Some(Failure::new(message, HELP))
}

/// Converts a lab's error; an error about the scenario names its place in the file.
fn failure(document: &Document, error: &LabError) -> Failure {
    match error {
        LabError::Scenario(cannot) => document.refuse(&cannot.key, &cannot.message, &cannot.help).into(),
        other => Failure::plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outcome of `engine` under `kind`, of a short run.
    fn outcome(engine: &str, kind: Kind) -> Followed {
        let mut document = Document::builtin();
        for (key, value) in [("warmup", "0s"), ("duration", "1s")] {
            document.set(key, value).unwrap();
        }
        let scenario = with_kind(&document.scenario().unwrap(), kind).unwrap();
        let run = fairlane_sim::run(&scenario, 0, &Control::default(), &mut ()).unwrap();
        (Outcome { engine: engine.to_owned(), ..Outcome::from_runs([run]).unwrap() }, None)
    }

    /// Three labs, only the last of which was simulated before an interruption. Would catch a lab that is shown next to
    /// the simulation of another one, and a lab without a simulation that is left out.
    #[test]
    fn every_lab_is_kept_and_stands_beside_its_own_simulation() {
        let kinds = [Kind::DropTail, Kind::Red, Kind::Choke];
        let done = LabResults {
            measured: kinds.map(|kind| outcome("linux", kind)).into(),
            simulated: vec![outcome("sim", Kind::Choke)],
            ..LabResults::default()
        };
        let all = done.all();
        let told: Vec<(&str, &str)> =
            all.iter().map(|(outcome, _)| (outcome.engine.as_str(), outcome.queues[0].kind.as_str())).collect();
        assert_eq!(told, [("linux", "droptail"), ("linux", "red"), ("linux", "choke"), ("sim", "choke")]);
    }

    /// The error of a single lab is the reason; the error of several names the missing ones.
    #[test]
    fn what_gave_no_measurement_is_named() {
        let error = || LabError::NotTheBottleneck(Checks::default());
        let said =
            |of: &[(Kind, LabError)], labs| unmeasured(of, labs, "1 of 3 labs are done").map(|failure| failure.line());
        assert_eq!(said(&[], 3), None);
        let one = said(&[(Kind::Red, error())], 1).unwrap();
        assert!(one.starts_with("this is not a measurement of the queue") && one.ends_with(HELP), "{one}");
        let two = said(&[(Kind::Red, error()), (Kind::Choke, error())], 3).unwrap();
        assert!(
            two.starts_with("no measurement of red, choke: 1 of 3 labs are done; ") && two.ends_with(HELP),
            "{two}"
        );
    }
}
