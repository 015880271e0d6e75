//! The lab in a guest: the same runs, in virtual time.

use std::path::PathBuf;
use std::sync::Mutex;

use fairlane_console::{Failure, Stopwatch};
use fairlane_guest::inside::Progress;
use fairlane_guest::{Guest, GuestError, Kernel, Limits};
use fairlane_lab::{IpVersion, Lab, LabError, Measured};
use fairlane_qdisc::{Duration, Kind};
use fairlane_runner::compare::with_kind;
use fairlane_scenario::{Document, FlowGroup, Scenario, Source, Traffic};
use fairlane_sim::Control;
use rayon::prelude::*;

use super::bpf;
pub(crate) use super::wire::Job;
use super::wire::{LabAnswer, Whose};
use crate::args::lab::LabArgs;
use crate::commands::guest::{CONGESTION_CONTROLS, GuestJob, cpu_limit};
use crate::progress::VirtualSeconds;

/// The programs that the lab starts, each with its package.
const PROGRAMS: [(&str, &str); 2] = [("ip", "iproute2"), ("tc", "iproute2")];

/// The kernel modules that the lab needs: devices, and the kernel's disciplines.
const MODULES: [&str; 11] = [
    "veth",
    "sch_tbf",
    "sch_red",
    "sch_choke",
    "sch_sfb",
    "sch_sfq",
    "sch_codel",
    "sch_pie",
    "sch_fq_pie",
    "sch_cake",
    "sch_dualpi2",
];

const MEMORY_MIB: u32 = 768;

/// The run of a lab: the number of the lab, and that of the run.
pub(super) type RunId = (usize, u32);

/// A run that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) id: RunId,
    /// The discipline, if it is not the file's.
    pub(super) kind: Option<Kind>,
    pub(super) whose: Whose,
    /// The interval of samples; `None` for no samples.
    pub(super) every: Option<Duration>,
}

/// Labs in guests.
#[derive(Debug)]
pub(super) struct GuestLabs {
    guest: Guest,
    toml: String,
    set: Vec<(String, String)>,
    seed: u64,
    ipv6: bool,
    version: String,
}

impl GuestLabs {
    /// Makes a guest for runs of `document`, which is `scenario` as `args` have changed it.
    pub(super) fn new(document: &Document, args: &LabArgs, scenario: &Scenario) -> Result<Self, Failure> {
        refuse_traces(document, scenario)?;
        let folder = args.guest.kernel.clone().unwrap_or_else(Kernel::usual_folder);
        let kernel = Kernel::below(&folder).map_err(Failure::plain)?;
        let limits = Limits { memory_mib: MEMORY_MIB, cpu_s: cpu_limit(scenario.duration.as_secs()) };
        let modules = [&MODULES[..], &CONGESTION_CONTROLS].concat();
        let guest = Guest::new(&kernel, &PROGRAMS, &modules, limits).map_err(Failure::plain)?;
        let version = kernel.version().to_owned();
        let set = args.overrides.set.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
        let (toml, ipv6) = (document.text().to_owned(), args.ipv6);
        Ok(Self { guest, toml, set, seed: scenario.seed, ipv6, version })
    }

    /// The kernel's version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Runs all of `wanted`, each of `seconds`, as many at a time as there are processors.
    pub(super) fn run_all(
        &self,
        wanted: &[Wanted],
        seconds: f64,
        bar: &VirtualSeconds,
        control: &Control,
    ) -> Vec<(RunId, Result<Measured, LabError>)> {
        let one = |(index, &Wanted { id, kind, whose, every }): (usize, &Wanted)| {
            let job = Job {
                toml: self.toml.clone(),
                set: self.set.clone(),
                seed: self.seed,
                ipv6: self.ipv6,
                kind: kind.map(|kind| kind.name().to_owned()),
                whose,
                run: id.1,
                every_ns: every.map(Duration::as_nanos),
            };
            let result = self.run(job, &mut |seconds| {
                bar.set(index, seconds);
                !control.stopped()
            });
            bar.set(index, seconds);
            (id, result)
        };
        wanted.par_iter().enumerate().with_max_len(1).map(one).collect()
    }

    fn run(&self, job: Job, heard: &mut dyn FnMut(f64) -> bool) -> Result<Measured, LabError> {
        let elsewhere = |error: &dyn std::fmt::Display| LabError::Elsewhere(error.to_string());
        let seed = self.seed.wrapping_add(u64::from(job.run));
        let text = serde_json::to_vec(&GuestJob::Lab(job)).map_err(|error| elsewhere(&error))?;
        match self.guest.run(&text, seed, heard) {
            Ok(answer) => serde_json::from_slice::<LabAnswer>(&answer).map_err(|error| elsewhere(&error))?.into(),
            Err(GuestError::Interrupted) => Err(LabError::Interrupted),
            Err(error) => Err(elsewhere(&error)),
        }
    }
}

/// Refuses sources and rates that read a file: a guest has none of this machine's.
fn refuse_traces(document: &Document, scenario: &Scenario) -> Result<(), Failure> {
    let links = scenario.links.iter().map(|link| match link.name.as_str() {
        "bottleneck" => "bottleneck".to_owned(),
        name => format!("links.{name}"),
    });
    let rates = links.flat_map(|link| ["rate", "reverse.rate"].map(|rate| format!("{link}.{rate}.trace")));
    if let Some(key) = rates.into_iter().find(|key| document.get(key).is_some()) {
        let message = "a guest cannot read a trace of this machine";
        return Err(document.refuse(&key, message, "run it on this machine, without --in guest, or give steps").into());
    }
    let traced =
        |group: &&FlowGroup| matches!(&group.traffic, Traffic::Udp(udp) if matches!(udp.source, Source::Trace(_)));
    let Some(group) = scenario.flows.iter().find(traced) else { return Ok(()) };
    let (key, message) = (format!("flows.{}.source", group.name), "a guest cannot read a trace of this machine");
    Err(document.refuse(&key, message, "run it on this machine, without --in guest, or choose another source").into())
}

/// `fairlane lab --setup`: fetches a kernel.
pub(super) fn set_up(folder: Option<PathBuf>) -> Result<String, Failure> {
    let folder = folder.unwrap_or_else(Kernel::usual_folder);
    let kernel = Kernel::fetch(&folder).map_err(Failure::plain)?;
    Ok(format!("Linux {} is in {}\n", kernel.version(), folder.display()))
}

/// Does a job, as the first process of a guest.
pub(crate) fn answer(job: &Job, progress: &mut Progress<'_>) -> Vec<u8> {
    serde_json::to_vec(&measured(job, progress)).unwrap_or_default()
}

fn measured(job: &Job, progress: &mut Progress<'_>) -> LabAnswer {
    let scenario = match scenario(job) {
        Ok(scenario) => scenario,
        Err(why) => return LabAnswer::Failed(why),
    };
    let ip_version = if job.ipv6 { IpVersion::V6 } else { IpVersion::V4 };
    let lab = match Lab::new(&scenario, ip_version).and_then(|lab| with_discipline(lab, &scenario, job.whose)) {
        Ok(lab) => lab.sampled(job.every_ns.map(Duration::from_nanos)),
        Err(error) => return LabAnswer::from(Err(error)),
    };
    let (watch, progress) = (Stopwatch::start(), Mutex::new(progress));
    let never = || {
        if let Ok(mut progress) = progress.lock() {
            progress.tell(watch.elapsed_s());
        }
        false
    };
    LabAnswer::from(lab.run(job.run, &never))
}

/// Returns the lab with the discipline that is measured.
fn with_discipline(lab: Lab, scenario: &Scenario, whose: Whose) -> Result<Lab, LabError> {
    match whose {
        Whose::Library => Ok(lab),
        Whose::Kernel => lab.with_kernel_discipline().map(|(lab, _)| lab),
        Whose::Bpf => bpf::with_program(lab, scenario),
    }
}

fn scenario(job: &Job) -> Result<Scenario, String> {
    let mut document = Document::parse("scenario.toml", &job.toml).map_err(|error| error.to_string())?;
    for (key, value) in &job.set {
        document.set(key, value).map_err(|error| error.to_string())?;
    }
    document.set("seed", &job.seed.to_string()).map_err(|error| error.to_string())?;
    let scenario = document.scenario().map_err(|error| error.to_string())?;
    let Some(name) = &job.kind else { return Ok(scenario) };
    let kind = name.parse::<Kind>().map_err(|error| error.to_string())?;
    with_kind(&scenario, kind).map_err(|error| error.to_string())
}
