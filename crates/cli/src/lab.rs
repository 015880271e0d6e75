//! `fairlane lab`: a scenario on real Linux TCP.

use std::num::NonZeroU32;

use fairlane_batch::compare::with_kind;
use fairlane_batch::{Batch, Job, machine, so_far};
use fairlane_linux::lab::{Checks, Lab, LabError, Measured};
use fairlane_outcome::Outcome;
use fairlane_report::{against_table, compare_table, run_report};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::Control;

use crate::args::Lab as Args;
use crate::error::Failure;
use crate::{output, plan, progress};

/// Runs of the simulator, at least: they cost little, and an interval needs some.
const SIMULATED: NonZeroU32 = NonZeroU32::new(5).unwrap();

/// Labs that are ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    labs: Vec<Lab>,
    /// The same scenarios for the simulator, in the same order, if it is asked for.
    simulated: Option<Batch>,
    runs: NonZeroU32,
    json: bool,
}

impl Plan {
    /// Reads and checks everything. Nothing is changed on the machine.
    pub(crate) fn new(args: &Args) -> Result<Self, Failure> {
        let document = plan::document(Some(&args.file), &args.change)?;
        let scenario = document.scenario()?;
        let scenarios = if args.queue.is_empty() {
            vec![scenario]
        } else {
            let kinds = plan::kinds(&args.queue);
            kinds.iter().map(|kind| with_kind(&scenario, *kind)).collect::<Result<_, _>>()?
        };
        let labs = scenarios.iter().map(|scenario| Lab::new(scenario).map_err(|error| failure(&document, &error)));
        let labs = labs.collect::<Result<_, _>>()?;
        let runs = args.runs.max(SIMULATED);
        let simulated = args.against_sim.then(|| Batch::new(jobs(scenarios), runs, None)).transpose()?;
        Ok(Self { labs, simulated, runs: args.runs, json: args.form.json })
    }

    /// Runs one lab after the other, then the simulator, and prints it all.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let asked = self.labs.len();
        let mut measured = Vec::with_capacity(asked);
        for lab in &self.labs {
            measured.extend(self.measured(lab, &control)?);
        }
        let simulated = match &self.simulated {
            Some(batch) if !control.stopped() => progress::batch(batch, &control)?.outcomes,
            _ => Vec::new(),
        };
        self.print(&measured, &simulated)?;
        let complete = measured.len() == asked && simulated.len() >= self.simulated.as_ref().map_or(0, Batch::len);
        let partial = measured.iter().chain(&simulated).any(|outcome| outcome.partial);
        plan::complete(partial || !complete, &so_far(&measured, asked, "labs"))
    }

    /// What a lab gives; nothing if it is interrupted before that.
    fn measured(&self, lab: &Lab, control: &Control) -> Result<Option<Outcome>, Failure> {
        let mut runs = Vec::new();
        for run in 0..self.runs.get() {
            if control.stopped() {
                break;
            }
            match lab.run(run, &|| control.stopped()) {
                Ok(Measured { run, checks }) => {
                    if !self.json {
                        output::tell(&said(run.queues.first().map_or("", |queue| queue.kind), &checks));
                    }
                    runs.push(run);
                }
                Err(LabError::Interrupted) => break,
                Err(error) => return Err(Failure::plain(error)),
            }
        }
        let done = runs.len() == self.runs.get() as usize;
        Ok(Outcome::from_runs(&runs).map(|mut outcome| {
            outcome.partial |= !done;
            outcome.cost.peak_rss_bytes = machine::peak_rss_bytes();
            outcome
        }))
    }

    fn print(&self, measured: &[Outcome], simulated: &[Outcome]) -> Result<(), Failure> {
        let pairs = || measured.iter().zip(simulated);
        if self.json {
            let both: Vec<Outcome> = match simulated {
                [] => measured.to_vec(),
                _ => pairs().flat_map(|(lab, sim)| [lab.clone(), sim.clone()]).collect(),
            };
            return output::print_outcomes(&both, both.iter().any(|outcome| outcome.partial));
        }
        let terminal = output::terminal();
        match (measured, simulated) {
            ([], _) => Ok(()),
            ([one], []) => output::print(&run_report(one, &terminal)),
            (several, []) => output::print(&compare_table(several, None, &terminal)),
            _ => {
                let tables: Vec<String> = pairs().map(|(lab, sim)| against_table(lab, sim, &terminal)).collect();
                output::print(&tables.join("\n"))
            }
        }
    }
}

fn jobs(scenarios: Vec<Scenario>) -> Vec<Job> {
    scenarios.into_iter().map(Job::of).collect()
}

/// How the lab made sure, a line a check.
fn said(kind: &str, checks: &Checks) -> String {
    let lines: Vec<String> = checks.all().iter().map(|check| format!("  {check}\n")).collect();
    format!("{kind}: the queue is the bottleneck, since\n{}", lines.concat())
}

/// What a lab refuses, with its place in the file if it is the scenario's.
fn failure(document: &Document, error: &LabError) -> Failure {
    match error {
        LabError::Scenario(cannot) => document.refuse(&cannot.key, &cannot.message, &cannot.help).into(),
        other => Failure::plain(other),
    }
}
