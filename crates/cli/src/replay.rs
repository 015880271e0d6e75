//! `fairlane replay`: captured packets through a queue.

use std::fs;
use std::path::{Path, PathBuf};

use fairlane_capture::Late;
use fairlane_console::Failure;
use fairlane_outcome::Outcome;
use fairlane_qdisc::{QdiscParameters, Rate, Value};
use fairlane_report::{compare_table, run_report};
use fairlane_runner::replay::{build, check, configs, pass};
use fairlane_runner::{pool, so_far};
use fairlane_sim::Control;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::ReplayArgs;
use crate::{output, progress, shared};

mod departures;

use departures::DepartureWriter;

/// A replay that is ready.
#[derive(Debug)]
pub(crate) struct ReplayCommand {
    file: PathBuf,
    queues: Vec<QdiscParameters>,
    rate: Rate,
    seed: u64,
    write: Option<PathBuf>,
    pool: ThreadPool,
    json: bool,
}

impl ReplayCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: &ReplayArgs) -> Result<Self, Failure> {
        let parameters: Vec<_> =
            args.parameters.iter().map(|setting| (setting.key.as_str(), Value::from(&*setting.value))).collect();
        let queues = configs(&shared::kinds(&args.queue), &parameters)?;
        for queue in &queues {
            build(queue, args.rate, args.seed)?;
        }
        check(&args.file)?;
        if let Some(path) = &args.write {
            check_written(path, args, queues.len())?;
        }
        let pool = pool(args.threads.jobs)?;
        let (file, write) = (args.file.clone(), args.write.clone());
        Ok(Self { file, queues, rate: args.rate, seed: args.seed, write, pool, json: args.form.json })
    }

    /// Replays the file and prints the outcomes.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let pass = |queue: &QdiscParameters| self.pass(queue, &control);
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
        shared::complete(interrupted, &so_far(&outcomes, asked, "disciplines"))
    }

    /// Sends the whole file through one discipline. Returns no outcome if `control` has stopped the work before.
    fn pass(&self, queue: &QdiscParameters, control: &Control) -> Result<(Option<Outcome>, Late), Failure> {
        let mut written = DepartureWriter::new(self.write.as_deref());
        let passed = pass(&self.file, (queue, self.rate, self.seed), control, &mut written)?;
        if passed.0.is_some() {
            written.finish()?;
        }
        control.finish_one();
        Ok(passed)
    }
}

/// Checks that one capture can be written to `path`.
fn check_written(path: &Path, args: &ReplayArgs, queues: usize) -> Result<(), Failure> {
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

/// Prints a note on standard error if times run backwards.
fn tell_of(late: Late) {
    if late.packets > 0 {
        let Late { packets, most } = late;
        let noun = if packets == 1 { "packet is" } else { "packets are" };
        output::tell(&format!(
            "note: {packets} {noun} earlier than the one before, by up to {most:?}; each comes together with that one\n"
        ));
    }
}
