//! `fairlane sweep`: a scenario at every combination of values.

use std::path::PathBuf;

use fairlane_outcome::tables::write_file;
use fairlane_outcome::{Point, PointValue};
use fairlane_report::html::sweep_page;
use fairlane_report::sweep_table;
use fairlane_scenario::Vary;

use crate::args::Sweep;
use crate::batch::{Batch, Done, Job};
use crate::error::Failure;
use crate::page::Report;
use crate::{machine, output, plan, progress};

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
        let mut jobs = Vec::new();
        for point in document.points(&varies)? {
            let asked: Vec<String> =
                point.settings().iter().map(|(key, value)| format!("--vary {key}={value}")).collect();
            let (scenario, typed) = (document.at(&point)?, typed(point.settings()));
            jobs.push(Job { scenario, point: Some(typed), asked: asked.join(" ") });
        }
        let batch = Batch::new(jobs, args.runs, args.threads.jobs)?;
        args.out.as_deref().map_or(Ok(()), output::table)?;
        let files = [("--out", args.out.clone()), ("--html", args.page.html.clone())];
        output::apart(&files.into_iter().filter_map(|(option, path)| Some((option, path?))).collect::<Vec<_>>())?;
        let page = Report::new(&args.page, &document, &args.change)?;
        Ok(Self { batch, json: args.form.json, out: args.out, page })
    }

    /// Runs it and prints it. A point that was interrupted is left out: beside the others it would look like one of them.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let control = progress::control(machine::thread_cpu_s)?;
        let Done { mut outcomes, interrupted, .. } = self.batch.execute(&control)?;
        outcomes.retain(|outcome| !outcome.partial);
        if let Some(file) = &self.out {
            write_file(file, &outcomes).map_err(Failure::plain)?;
        }
        let there = plan::so_far(&outcomes, self.batch.len(), "points");
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

/// The point with numbers as numbers, as the scenario file would have them.
fn typed(settings: &[(String, String)]) -> Point {
    settings.iter().fold(Point::new(), |point, (key, value)| point.with(key, typed_value(value)))
}

fn typed_value(text: &str) -> PointValue {
    match (text.parse::<bool>(), text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(switch), _, _) => switch.into(),
        (_, Ok(count), _) => count.into(),
        (_, _, Ok(ratio)) => ratio.into(),
        _ => text.into(),
    }
}
