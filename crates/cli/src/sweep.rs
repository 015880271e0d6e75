//! `fairlane sweep`: a scenario at every combination of values.

use std::path::PathBuf;

use fairlane_batch::sweep::jobs;
use fairlane_batch::{Batch, Done, so_far};
use fairlane_outcome::tables::write_file;
use fairlane_report::html::sweep_page;
use fairlane_report::sweep_table;
use fairlane_scenario::Vary;

use crate::args::Sweep;
use crate::error::Failure;
use crate::page::Report;
use crate::{output, plan, progress};

/// A sweep that is ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    batch: Batch,
    json: bool,
    out: Option<PathBuf>,
    page: Option<Report>,
}

impl Plan {
    /// Reads, checks and tries everything: each point of the sweep too.
    pub(crate) fn new(args: Sweep) -> Result<Self, Failure> {
        let document = plan::document(Some(&args.file), &args.change)?;
        let varies = args.vary.iter().map(|vary| Vary::parse(vary)).collect::<Result<Vec<_>, _>>()?;
        let batch = Batch::new(jobs(&document, &varies)?, args.runs, args.threads.jobs)?;
        args.out.as_deref().map_or(Ok(()), output::table)?;
        let files = [("--out", args.out.clone()), ("--html", args.page.html.clone())];
        output::apart(&files.into_iter().filter_map(|(option, path)| Some((option, path?))).collect::<Vec<_>>())?;
        let page = Report::new(&args.page, &document, &args.change)?;
        Ok(Self { batch, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it. A point that was interrupted is left out: beside the others it would look like one of them.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control()?;
        let Done { mut outcomes, interrupted, .. } = progress::batch(&self.batch, &control)?;
        outcomes.retain(|outcome| !outcome.partial);
        if let Some(file) = &self.out {
            write_file(file, &outcomes).map_err(Failure::plain)?;
        }
        let there = so_far(&outcomes, self.batch.len(), "points");
        if let Some(page) = &self.page {
            page.write(interrupted.then(|| plan::interrupted(&there)), |origin| sweep_page(&outcomes, origin))?;
        }
        if self.json {
            output::print_outcomes(&outcomes, interrupted)?;
        } else if !outcomes.is_empty() {
            output::print(&sweep_table(&outcomes, &output::terminal()))?;
        }
        plan::complete(interrupted, &there)
    }
}
