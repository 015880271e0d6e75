//! `fairlane replay`: captured packets through a queue.

use std::path::PathBuf;

use fairlane_capture::Late;
use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome};
use fairlane_qdisc::{QdiscParameters, Rate, Value};
use fairlane_report::{Detail, Details, compare_table, run_report};
use fairlane_runner::replay::{Findings, Selection, build, check, configs, pass};
use fairlane_runner::{pool, so_far};
use fairlane_sim::Control;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::args::replay::ReplayArgs;
use crate::files::Outputs;
use crate::page::HtmlPage;
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
    selection: Selection,
    write: Option<PathBuf>,
    pool: ThreadPool,
    json: bool,
    details: Details,
    outputs: Outputs,
    page: Option<HtmlPage>,
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
        if args.pcap.is_some() {
            check_written(queues.len())?;
        }
        let outputs = Outputs::default().file("--pcap", args.pcap.as_deref()).file("--html", args.page.html.as_deref());
        outputs.check(std::slice::from_ref(&args.file))?;
        let page = HtmlPage::of_capture(&args.page)?;
        let pool = pool(args.threads.jobs)?;
        let (file, write) = (args.file.clone(), args.pcap.clone());
        let ReplayArgs { rate, seed, flows, from, .. } = *args;
        Ok(Self {
            file,
            queues,
            rate,
            seed,
            selection: Selection { flows, from },
            write,
            pool,
            json: args.form.json,
            details: args.tables.details(&Detail::ALL)?,
            outputs,
            page,
        })
    }

    /// Replays the file and prints the outcomes.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let pass = |queue: &QdiscParameters| self.pass(queue, &control);
        let passes = progress::watched(&control, self.queues.len() as u64, || {
            self.pool.install(|| self.queues.par_iter().map(pass).collect::<Result<Vec<_>, _>>())
        })?;
        let findings = || passes.iter().map(|(_, findings)| *findings);
        tell_of(findings().map(|findings| findings.late).max_by_key(|late| late.packets).unwrap_or_default());
        if let Some(network) = findings().find_map(|findings| findings.first_direction) {
            output::tell(&format!(
                "note: the capture has both directions of connections, and all packets pass the one queue; \
                 --from {network} sends one direction\n"
            ));
        }
        let outcomes: Vec<Outcome> = passes.into_iter().filter_map(|(outcome, _)| outcome).collect();
        let asked = self.queues.len();
        let interrupted = outcomes.len() < asked || outcomes.iter().any(|outcome| outcome.partial);
        let printed = self.print(&outcomes, interrupted);
        let page = self.page.as_ref().filter(|_| !outcomes.is_empty()).map(|page| {
            let missing = interrupted.then(|| shared::interrupted(&so_far(&outcomes, asked, "disciplines")));
            match &*outcomes {
                [one] if asked == 1 => page.write_run(one, None, missing),
                several => page.write_comparison(several, &[], None, missing),
            }
        });
        shared::delivered(None, printed, page)?;
        shared::complete(interrupted, &so_far(&outcomes, asked, "disciplines"), &self.outputs)
    }

    fn print(&self, outcomes: &[Outcome], interrupted: bool) -> Result<(), Failure> {
        match outcomes {
            [outcome] if self.queues.len() == 1 && self.json => output::print_json(outcome),
            [outcome] if self.queues.len() == 1 => output::print(&run_report(outcome, &output::terminal(self.details))),
            all if self.json => output::print_outcomes(all, &[], interrupted),
            [] => Ok(()),
            all => output::print(&compare_table(all, None, &[], &output::terminal(self.details))),
        }
    }

    /// Sends the whole file through one discipline. Returns no outcome if `control` has stopped the work before.
    fn pass(&self, queue: &QdiscParameters, control: &Control) -> Result<(Option<Outcome>, Findings), Failure> {
        let mut written = DepartureWriter::new(self.write.as_deref());
        let passed = pass(&self.file, (queue, self.rate, self.seed), self.selection, control, &mut written)?;
        if let Some(outcome) = &passed.0 {
            written.finish(Extent::of(outcome.partial))?;
        }
        control.finish_one();
        Ok(passed)
    }
}

/// Checks that exactly one discipline is given whose departures are written.
fn check_written(queues: usize) -> Result<(), Failure> {
    if queues > 1 {
        let message = "--pcap holds what one discipline lets through, and --queue asks for several";
        return Err(Failure::new(message, "replay once for each of them"));
    }
    Ok(())
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
