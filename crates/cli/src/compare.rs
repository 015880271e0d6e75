//! `fairlane compare`: several disciplines under the same traffic.

use std::path::PathBuf;

use fairlane_batch::compare::{usual, with_kind};
use fairlane_batch::{Batch, Done, Job, so_far};
use fairlane_outcome::tables::write_dir;
use fairlane_qdisc::Kind;
use fairlane_report::html::compare_page;
use fairlane_report::{PaperNumbers, compare_table};
use fairlane_scenario::Scenario;

use crate::args::{Compare, Disciplines};
use crate::error::Failure;
use crate::page::Report;
use crate::{output, plan, progress};

/// A comparison that is ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    batch: Batch,
    /// Figure 3 of the CHOKe paper as it is, so that the paper's numbers belong beside ours.
    as_published: bool,
    json: bool,
    out: Option<PathBuf>,
    page: Option<Report>,
}

impl Plan {
    /// Reads, checks and tries everything.
    pub(crate) fn new(args: Compare) -> Result<Self, Failure> {
        let document = plan::document(args.file.as_deref(), &args.change)?;
        let scenario = document.scenario()?;
        let kinds = kinds(&args.queue, &scenario);
        let jobs = kinds.iter().map(|kind| {
            Ok(Job { scenario: with_kind(&scenario, *kind)?, point: None, asked: format!("--queue {kind}") })
        });
        let batch = Batch::new(jobs.collect::<Result<_, Failure>>()?, args.runs, args.threads.jobs)?;
        args.out.as_deref().map_or(Ok(()), output::folder)?;
        let page = Report::new(&args.page, &document, &args.change)?;
        let batch = if page.is_some() { batch.recorded() } else { batch };
        let as_published = args.file.is_none() && args.change.set.is_empty();
        Ok(Self { batch, as_published, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let Done { outcomes, courses, interrupted } = progress::batch(&self.batch, &control)?;
        if let Some(folder) = &self.out {
            write_dir(folder, &outcomes).map_err(Failure::plain)?;
        }
        let paper = self.as_published.then(PaperNumbers::choke_figure_3);
        let there = so_far(&outcomes, self.batch.len(), "disciplines");
        if let Some(page) = &self.page {
            let missing = interrupted.then(|| plan::interrupted(&there));
            page.write(missing, |origin| compare_page(&outcomes, &courses, paper.as_ref(), origin))?;
        }
        if self.json {
            output::print_outcomes(&outcomes, interrupted)?;
        } else if !outcomes.is_empty() {
            output::print(&compare_table(&outcomes, paper.as_ref(), &output::terminal()))?;
        }
        plan::complete(interrupted, &there)
    }
}

/// The disciplines that are asked for, each once.
fn kinds(asked: &[Disciplines], scenario: &Scenario) -> Vec<Kind> {
    if asked.is_empty() { usual(scenario) } else { plan::kinds(asked) }
}
