//! `fairlane compare`: several disciplines under the same traffic.

use std::path::PathBuf;

use fairlane_outcome::tables::write_dir;
use fairlane_qdisc::{Kind, QdiscConfig};
use fairlane_report::html::compare_page;
use fairlane_report::{PaperNumbers, compare_table};
use fairlane_scenario::{LinkSide, Scenario};

use crate::args::{Compare, Disciplines};
use crate::batch::{Batch, Done, Job};
use crate::error::Failure;
use crate::page::Report;
use crate::{machine, output, plan, progress};

/// What every comparison without `--queue` begins with: no management, and the best known one.
const USUAL: [Kind; 2] = [Kind::DropTail, Kind::Red];

/// The link of the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

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
        let mut scenario = document.scenario()?;
        let kinds = kinds(&args.queue, &mut scenario);
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
        let control = progress::control(machine::thread_cpu_s)?;
        let Done { outcomes, courses, interrupted } = self.batch.execute(&control)?;
        if let Some(folder) = &self.out {
            write_dir(folder, &outcomes).map_err(Failure::plain)?;
        }
        let paper = self.as_published.then(PaperNumbers::choke_figure_3);
        let there = plan::so_far(&outcomes, self.batch.len(), "disciplines");
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
fn kinds(asked: &[Disciplines], scenario: &mut Scenario) -> Vec<Kind> {
    if asked.is_empty() {
        plan::once(USUAL.into_iter().chain(compared(scenario).map(|side| side.queue.kind())))
    } else {
        plan::kinds(asked)
    }
}

/// The directions of links whose queues a comparison changes: the bottleneck's, and every other one that the file describes.
fn compared(scenario: &mut Scenario) -> impl Iterator<Item = &mut LinkSide> {
    let plain = QdiscConfig::new(Kind::DropTail).with("limit", "1000p").ok();
    scenario.links.iter_mut().flat_map(move |link| {
        let described = |side: &LinkSide| plain.as_ref() != Some(&side.queue);
        let forward = link.name == BOTTLENECK || described(&link.forward);
        let reverse = described(&link.reverse);
        let sides = [(forward, &mut link.forward), (reverse, &mut link.reverse)];
        sides.into_iter().filter_map(|(changes, side)| changes.then_some(side))
    })
}

/// The scenario with `kind` at every queue that is compared, each with those of its parameters that `kind` knows too.
pub(crate) fn with_kind(scenario: &Scenario, kind: Kind) -> Result<Scenario, Failure> {
    let mut changed = scenario.clone();
    let mut none = true;
    for side in compared(&mut changed) {
        side.queue = side.queue.with_kind(kind);
        none = false;
    }
    if none {
        let message = "this scenario describes no queue of a link, so there is nothing to compare";
        return Err(Failure::new(message, "give a link one: queue = { kind = \"choke\" }"));
    }
    Ok(changed)
}
