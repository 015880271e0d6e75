//! `fairlane replay`: captured packets through a queue.

use std::fs;
use std::path::{Path, PathBuf};

use fairlane_batch::machine::{Watch, peak_rss_bytes, thread_cpu_s};
use fairlane_batch::{pool, so_far};
use fairlane_capture::{Capture, FlowId, Flows, Late};
use fairlane_outcome::Outcome;
use fairlane_qdisc::{Kind, QdiscConfig, Rate, Seed};
use fairlane_report::{compare_table, run_report};
use fairlane_sim::{Control, Replay, ReplayFlow};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::{self, Setting};
use crate::error::Failure;
use crate::{explain, output, plan, progress};

mod packet;
mod written;

use packet::Captured;
use written::Written;

/// How many packets pass between two looks at whether to go on.
const LOOK_EVERY: u64 = 1 << 12;

/// A replay that is ready.
#[derive(Debug)]
pub(crate) struct Plan {
    file: PathBuf,
    queues: Vec<QdiscConfig>,
    rate: Rate,
    seed: u64,
    write: Option<PathBuf>,
    pool: ThreadPool,
    json: bool,
}

impl Plan {
    /// Reads, checks and tries everything.
    pub(crate) fn new(args: &args::Replay) -> Result<Self, Failure> {
        let queues = configs(&plan::kinds(&args.queue), &args.parameters)?;
        for queue in &queues {
            build(queue, args.rate, args.seed)?;
        }
        // It is read once for each discipline, so it must be a file that can be.
        if fs::metadata(&args.file).is_ok_and(|file| !file.is_file()) {
            let message = format!("{} is no file on disk", args.file.display());
            return Err(Failure::new(message, "store the capture in a file first"));
        }
        Capture::open(&args.file).map_err(Failure::plain)?;
        if let Some(path) = &args.write {
            check_written(path, args, queues.len())?;
        }
        let pool = pool(args.threads.jobs)?;
        let (file, write) = (args.file.clone(), args.write.clone());
        Ok(Self { file, queues, rate: args.rate, seed: args.seed, write, pool, json: args.form.json })
    }

    /// Does it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let pass = |queue: &QdiscConfig| self.pass(queue, &control);
        let passes = progress::watched(&control, self.queues.len() as u64, || {
            self.pool.install(|| self.queues.par_iter().map(pass).collect::<Result<Vec<_>, _>>())
        })?;
        tell_of(passes.iter().map(|(_, late)| *late).max_by_key(|late| late.packets).unwrap_or_default());
        let outcomes: Vec<Outcome> = passes.into_iter().filter_map(|(outcome, _)| outcome).collect();
        let asked = self.queues.len();
        let interrupted = outcomes.len() < asked || outcomes.iter().any(|outcome| outcome.partial);
        match &*outcomes {
            [outcome] if asked == 1 && self.json => output::print_json(outcome)?,
            [outcome] if asked == 1 => output::print(&run_report(outcome, &output::terminal()))?,
            all if self.json => output::print_outcomes(all, interrupted)?,
            [] => {}
            all => output::print(&compare_table(all, None, &output::terminal()))?,
        }
        plan::complete(interrupted, &so_far(&outcomes, asked, "disciplines"))
    }

    /// Sends the whole file through one discipline; nothing is measured once `control` has said stop.
    fn pass(&self, queue: &QdiscConfig, control: &Control) -> Result<(Option<Outcome>, Late), Failure> {
        if control.stopped() {
            return Ok((None, Late::default()));
        }
        let (watch, cpu_before) = (Watch::start(), thread_cpu_s());
        let mut replay = build(queue, self.rate, self.seed)?;
        let mut capture = Capture::open(&self.file).map_err(Failure::plain)?;
        let (mut written, mut flows) = (Written::new(self.write.as_deref()), Flows::new());
        let mut partial = false;
        while let Some(packet) = capture.next_packet().map_err(Failure::plain)? {
            if packet.number.is_multiple_of(LOOK_EVERY) && control.stopped() {
                partial = true;
                break;
            }
            written.expect(&packet)?;
            let captured = Captured::new(&packet, &mut flows, written.wanted());
            replay.arrive(packet.time, captured.flow, captured, &mut |at, packet| written.write(at, &packet));
        }
        partial = partial || replay.drain(control, &mut |at, packet| written.write(at, &packet));
        written.finish()?;
        let mut run = replay.run(&name(&self.file), self.seed, &names(&flows), partial);
        run.cost.cpu_s = thread_cpu_s() - cpu_before;
        run.cost.wall_s = watch.elapsed_s();
        run.cost.peak_rss_bytes = peak_rss_bytes();
        Ok((Outcome::from_runs(&[run]), capture.late()))
    }
}

/// The disciplines with those of the parameters that they have. One that none of them has is an error, and so is a value that
/// one of them cannot take.
fn configs(kinds: &[Kind], parameters: &[Setting]) -> Result<Vec<QdiscConfig>, Failure> {
    let has = |kind: Kind, setting: &Setting| kind.parameters().iter().any(|parameter| parameter.key == setting.key);
    let known = |setting: &Setting| kinds.iter().any(|kind| has(*kind, setting));
    let config = |kind: &Kind| {
        let own = parameters.iter().filter(|setting| has(*kind, setting) || !known(setting));
        explain::config(*kind, own).map_err(|error| Failure::plain(format!("{kind} {error}")))
    };
    kinds.iter().map(config).collect()
}

fn build(queue: &QdiscConfig, rate: Rate, seed: u64) -> Result<Replay<Captured>, Failure> {
    Replay::new(queue, rate, Seed::new(seed))
        .map_err(|error| Failure::plain(format!("--queue {}: {error}", queue.kind())))
}

/// Makes sure that one capture can be written to `path`.
fn check_written(path: &Path, args: &args::Replay, queues: usize) -> Result<(), Failure> {
    if queues > 1 {
        let message = "--write holds what one discipline lets through, and --queue asks for several";
        return Err(Failure::new(message, "replay once for each of them"));
    }
    let same = fs::canonicalize(path).is_ok_and(|path| fs::canonicalize(&args.file).is_ok_and(|file| file == path));
    if same {
        let message = format!("--write names the capture itself, {}", path.display());
        return Err(Failure::new(message, "write to another file"));
    }
    output::file(path)
}

/// What outcomes call the replay: the file's name.
fn name(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn names(flows: &Flows) -> Vec<ReplayFlow> {
    let named = |flow: &FlowId| ReplayFlow {
        name: flow.to_string(),
        group: flow.protocol_name().to_owned(),
        kind: flow.protocol_name(),
    };
    flows.all().iter().map(named).collect()
}

/// Says on standard error that times ran backwards.
fn tell_of(late: Late) {
    if late.packets > 0 {
        let Late { packets, most } = late;
        let noun = if packets == 1 { "packet is" } else { "packets are" };
        output::tell(&format!(
            "note: {packets} {noun} earlier than the one before, by up to {most:?}; each comes together with that one\n"
        ));
    }
}
