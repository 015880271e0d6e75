//! `fairlane compare`: several disciplines under the same traffic.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_qdisc::Kind;
use fairlane_report::{PaperNumbers, compare_table};
use fairlane_runner::compare::{usual, with_kind};
use fairlane_runner::{Batch, BatchResult, Job, so_far};
use fairlane_scenario::Scenario;

use crate::args::{CompareArgs, Disciplines};
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A comparison that is ready to run.
#[derive(Debug)]
pub(crate) struct CompareCommand {
    batch: Batch,
    /// The scenario is Figure 3 of the CHOKe paper unchanged, so the paper's numbers are printed beside ours.
    as_published: bool,
    json: bool,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
}

impl CompareCommand {
    /// Reads and checks everything.
    pub(crate) fn new(args: CompareArgs) -> Result<Self, Failure> {
        let document = shared::document(args.file.as_deref(), &args.overrides)?;
        let scenario = document.scenario()?;
        let kinds = kinds(&args.queue, &scenario);
        let jobs = kinds.iter().map(|kind| {
            Ok(Job { scenario: with_kind(&scenario, *kind)?, point: None, asked: format!("--queue {kind}") })
        });
        let batch = Batch::new(jobs.collect::<Result<_, Failure>>()?, args.runs, args.threads.jobs)?;
        args.out.as_deref().map_or(Ok(()), output::folder)?;
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        let batch = if page.is_some() { batch.recorded() } else { batch };
        let as_published = args.file.is_none() && args.overrides.set.is_empty();
        Ok(Self { batch, as_published, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let BatchResult { outcomes, timelines, interrupted } = progress::batch(&self.batch, &control)?;
        if let Some(folder) = &self.out {
            shared::write_tables(folder, &outcomes)?;
        }
        let paper = self.as_published.then(PaperNumbers::choke_figure_3);
        let there = so_far(&outcomes, self.batch.len(), "disciplines");
        if let Some(page) = &self.page {
            let missing = interrupted.then(|| shared::interrupted(&there));
            page.write_comparison(&outcomes, &timelines, paper.as_ref(), missing)?;
        }
        if self.json {
            output::print_outcomes(&outcomes, interrupted)?;
        } else if !outcomes.is_empty() {
            output::print(&compare_table(&outcomes, paper.as_ref(), &output::terminal()))?;
        }
        shared::complete(interrupted, &there)
    }
}

/// Returns the requested disciplines, each once.
fn kinds(asked: &[Disciplines], scenario: &Scenario) -> Vec<Kind> {
    if asked.is_empty() { usual(scenario) } else { shared::kinds(asked) }
}
