//! `fairlane sweep`: a scenario at every combination of values.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_outcome::tables::write_file;
use fairlane_report::sweep_table;
use fairlane_runner::sweep::jobs;
use fairlane_runner::{Batch, BatchResult, so_far};
use fairlane_scenario::Vary;

use crate::args::SweepArgs;
use crate::page::HtmlPage;
use crate::{output, progress, shared};

/// A sweep that is ready to run.
#[derive(Debug)]
pub(crate) struct SweepCommand {
    batch: Batch,
    json: bool,
    out: Option<PathBuf>,
    page: Option<HtmlPage>,
}

impl SweepCommand {
    /// Reads and checks everything, each point of the sweep too.
    pub(crate) fn new(args: SweepArgs) -> Result<Self, Failure> {
        let document = shared::document(Some(&args.file), &args.overrides)?;
        let varies = args.vary.iter().map(|vary| Vary::parse(vary)).collect::<Result<Vec<_>, _>>()?;
        let batch = Batch::new(jobs(&document, &varies)?, args.runs, args.threads.jobs)?;
        args.out.as_deref().map_or(Ok(()), shared::table)?;
        let files = [("--out", args.out.clone()), ("--html", args.page.html.clone())];
        output::apart(&files.into_iter().filter_map(|(option, path)| Some((option, path?))).collect::<Vec<_>>())?;
        let page = HtmlPage::new(&args.page, &document, &args.overrides)?;
        Ok(Self { batch, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it. An interrupted point is left out, as it would look like a finished one.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let BatchResult { mut outcomes, interrupted, .. } = progress::batch(&self.batch, &control)?;
        outcomes.retain(|outcome| !outcome.partial);
        if let Some(file) = &self.out {
            write_file(file, &outcomes).map_err(Failure::plain)?;
        }
        let there = so_far(&outcomes, self.batch.len(), "points");
        if let Some(page) = &self.page {
            page.write_sweep(&outcomes, interrupted.then(|| shared::interrupted(&there)))?;
        }
        if self.json {
            output::print_outcomes(&outcomes, interrupted)?;
        } else if !outcomes.is_empty() {
            output::print(&sweep_table(&outcomes, &output::terminal()))?;
        }
        shared::complete(interrupted, &there)
    }
}
