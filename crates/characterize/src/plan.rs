//! Plans: the scenarios of the chosen sections for each discipline.

use std::ops::Range;

use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Kind};
use fairlane_runner::memory::Needs;
use fairlane_runner::{Error, check, pool};
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, run};
use rayon::prelude::*;

use crate::checklist::{Case, Checklist, Entry};
use crate::discussion;
use crate::observe::{PathObserver, RunMeasures};
use crate::report::{CaseReport, Curve, CurveLine, Report, Section, SubjectReport, Verdict, ratio};
use crate::scenarios::{self, Change, LEVELS};
use crate::sensitivity::Sensitivity;
use crate::settings::{PACKET, Settings, Subject};

/// The label of a discipline, and its changed parameter, if it has one.
type Variant = (String, Option<Change>);

/// A report that is ready to be made.
#[derive(Debug)]
pub struct Plan {
    subjects: Vec<Subject>,
    settings: Settings,
    sections: Vec<PlannedSection>,
    /// Each scenario with the number of its section.
    jobs: Vec<(usize, Scenario)>,
}

/// A section of a plan.
#[derive(Debug)]
pub struct PlannedSection {
    /// The section of the RFC.
    pub entry: &'static Entry,
    /// Its cases; none for a discussion, and where it does not apply.
    pub cases: Vec<PlannedCase>,
}

/// A case of a section.
#[derive(Debug)]
pub struct PlannedCase {
    /// The case.
    pub case: &'static Case,
    /// The scenario as a file, with DropTail.
    pub text: String,
    /// The names of the disciplines, or of their changed parameters.
    pub labels: Vec<String>,
    /// The disciplines that refuse the scenario, each with its reason.
    pub left_out: Vec<(String, String)>,
    /// The discipline of each label, by its number, and its changed parameter.
    variants: Vec<(usize, Option<Change>)>,
    /// The numbers of their scenarios, in the same order.
    jobs: Range<usize>,
}

impl Plan {
    /// Plans the chosen sections for `subjects`; DropTail is added before them if it is not there. `control` can stop
    /// it.
    ///
    /// # Errors
    /// There is no such section, a discipline refuses its parameters, a scenario cannot be run, or it all needs more
    /// memory than there is.
    pub fn new(subjects: Vec<Subject>, settings: Settings, control: &Control) -> Result<Self, Error> {
        let entries = chosen(&settings.only)?;
        let mut all = subjects;
        if !all.iter().any(|subject| subject.parameters.kind() == Kind::DropTail) {
            all.insert(0, Subject::droptail());
        }
        for Subject { label, parameters, .. } in &all {
            let resolved = parameters.resolve(settings.rate);
            resolved.map_err(|error| Error::Refused { message: format!("{label} {error}"), help: None })?;
        }
        let mut plan = Self { subjects: all, settings, sections: Vec::new(), jobs: Vec::new() };
        for entry in entries {
            let cases = plan.cases(entry, control)?;
            plan.sections.push(PlannedSection { entry, cases });
        }
        Needs::of(plan.jobs.iter().map(|(_, scenario)| scenario), plan.settings.runs(), None).check()?;
        Ok(plan)
    }

    /// Returns what looks wrong in the parameters of each discipline on the link of the report, with its label.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let of = |subject: &Subject| {
            let explained = scenarios::with_buffer(subject, f64::from(self.settings.buffer_packets()))
                .and_then(|parameters| parameters.explain(self.settings.rate));
            let warnings = explained.map_or_else(|_| Vec::new(), |explained| explained.warnings);
            warnings.into_iter().map(|warning| format!("{}: {warning}", subject.label)).collect::<Vec<_>>()
        };
        self.subjects.iter().flat_map(of).collect()
    }

    /// Returns the sections.
    #[must_use]
    pub fn sections(&self) -> &[PlannedSection] {
        &self.sections
    }

    /// Returns the scenarios of a case, in the order of its labels.
    pub fn scenarios<'a>(&'a self, case: &'a PlannedCase) -> impl Iterator<Item = &'a Scenario> {
        self.jobs[case.jobs.clone()].iter().map(|(_, scenario)| scenario)
    }

    /// Returns the number of runs, which [`Control::finished`] reaches at the end.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.jobs.len() as u64 * u64::from(self.settings.runs())
    }

    fn cases(&mut self, entry: &'static Entry, control: &Control) -> Result<Vec<PlannedCase>, Error> {
        let subjects = self.subjects.clone();
        let applies = |subject: &&Subject| entry.needs.as_ref().is_none_or(|key| subject.has(key));
        if !subjects.iter().any(|subject| applies(&subject)) {
            return Ok(Vec::new());
        }
        let section = self.sections.len();
        let mut cases = Vec::new();
        for case in entry.cases.iter().filter(|case| case.quick || !self.settings.quick) {
            let text = scenarios::text(entry, case, &self.settings);
            let first = self.jobs.len();
            let (mut labels, mut variants, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
            for (number, subject) in subjects.iter().enumerate() {
                for (label, change) in self.variants(entry, case, subject)? {
                    if control.stopped() {
                        return Ok(cases);
                    }
                    let buffer = scenarios::buffer(entry, case, &self.settings);
                    let ecn = self.settings.ecn || entry.needs.as_deref() == Some("ecn");
                    let document = scenarios::document(&text, case, subject, buffer, ecn, change.as_ref())?;
                    let scenario = match document.scenario() {
                        Ok(scenario) => scenario,
                        // Some disciplines refuse few flows; DropTail refuses nothing but a wrong scenario.
                        Err(error) if subject.parameters.kind() != Kind::DropTail => {
                            left_out.push((label, error.message().to_owned()));
                            continue;
                        }
                        Err(error) => return Err(error.into()),
                    };
                    check(&scenario, &format!("{}, {}, {label}", entry.id, case.name))?;
                    labels.push(label);
                    variants.push((number, change));
                    self.jobs.push((section, scenario));
                }
            }
            cases.push(PlannedCase { case, text, labels, left_out, variants, jobs: first..self.jobs.len() });
        }
        Ok(cases)
    }

    /// Returns a discipline's name without changes, and for a sweep with each changed parameter.
    fn variants(&self, entry: &Entry, case: &Case, subject: &Subject) -> Result<Vec<Variant>, Error> {
        let mut variants = vec![(subject.label.clone(), None)];
        if entry.sweep {
            let buffer = scenarios::buffer(entry, case, &self.settings);
            let changes = scenarios::sweep(subject, buffer, &self.settings)?;
            let labelled = changes
                .into_iter()
                .map(|change| (format!("{} {}={}", subject.label, change.key, change.value), Some(change)));
            variants.extend(labelled);
        }
        Ok(variants)
    }

    /// Runs all scenarios on `threads` threads or one for each core. After [`Control::stop`] the report has the runs
    /// that were complete.
    ///
    /// # Errors
    /// A scenario cannot be run; [`new`](Self::new) has found these. Or threads cannot be started.
    pub fn execute(&self, threads: Option<usize>, control: &Control) -> Result<Report, Error> {
        let runs = self.settings.runs();
        let all: Vec<(usize, u32)> =
            (0..self.jobs.len()).flat_map(|job| (0..runs).map(move |run| (job, run))).collect();
        let measured = pool(threads)?.install(|| {
            let each = all.into_par_iter().filter(|_| !control.stopped());
            each.map(|(job, number)| self.measure(job, number, control).map(|measures| (job, measures)))
                .collect::<Result<Vec<_>, Error>>()
        })?;
        let mut by_job: Vec<Vec<RunMeasures>> = vec![Vec::new(); self.jobs.len()];
        for (job, measures) in measured.into_iter().filter(|(_, measures)| !measures.partial) {
            by_job[job].push(measures);
        }
        let done: usize = by_job.iter().map(Vec::len).sum();
        let missing = self.runs().saturating_sub(done as u64);
        Ok(Report {
            setup: self.setup(),
            subjects: self.subjects.iter().map(|subject| subject.label.clone()).collect(),
            sections: self.sections.iter().map(|section| self.section(section, &by_job)).collect(),
            missing_runs: (missing > 0).then_some((missing, self.runs())),
        })
    }

    fn measure(&self, job: usize, number: u32, control: &Control) -> Result<RunMeasures, Error> {
        let (section, scenario) = &self.jobs[job];
        let phases = &self.sections[*section].entry.phases;
        // Goodput is sampled every ten round trips (section 2.7).
        let interval = Duration::from_nanos(10 * self.settings.rtt.as_nanos());
        let mut observer = PathObserver::new(scenario, self.settings.rtt, interval, phases);
        let finished: Run = run(scenario, number, control, &mut observer)
            .map_err(|error| Error::Refused { message: error.to_string(), help: None })?;
        control.finish_one();
        let mut measures = observer.finish(finished);
        if number > 0 {
            measures.series.clear();
        }
        Ok(measures)
    }

    fn section(&self, planned: &PlannedSection, by_job: &[Vec<RunMeasures>]) -> Section {
        let entry = planned.entry;
        if let Some(topic) = &entry.discussion {
            let mut section = Section::new(entry, Verdict::Discussed, Vec::new());
            section.discussion = self
                .subjects
                .iter()
                .map(|subject| (subject.label.clone(), discussion::sentences(topic, subject, self.settings.rate)))
                .collect();
            return section;
        }
        let verdict = if planned.cases.is_empty() { Verdict::NotApplicable } else { Verdict::Characterised };
        let cases = planned.cases.iter().map(|case| self.case_report(entry, case, by_job)).collect();
        let mut section = Section::new(entry, verdict, cases);
        if let Some(variable) = &entry.curve {
            let lines =
                self.subjects.iter().map(|subject| curve_line(variable, planned, &section.cases, &subject.label));
            section.curve = Some(Curve { variable: variable.clone(), lines: lines.collect() });
        }
        section
    }

    fn case_report(&self, entry: &Entry, planned: &PlannedCase, by_job: &[Vec<RunMeasures>]) -> CaseReport {
        let queue = planned.case.queues.first().map_or("bottleneck", |key| key.trim_start_matches("links."));
        let each = planned.labels.iter().zip(planned.jobs.clone());
        let level = LEVELS.iter().find(|(name, _)| [&entry.id, &planned.case.name].iter().any(|id| id == name));
        let reports: Vec<Option<SubjectReport>> =
            each.map(|(label, job)| SubjectReport::new(label, entry, queue, &by_job[job])).collect();
        CaseReport {
            name: planned.case.name.clone(),
            scenario: planned.text.clone(),
            projected_loss: level.map(|(_, loss)| *loss),
            left_out: planned.left_out.clone(),
            sensitivities: sensitivities(&self.subjects, planned, &reports),
            subjects: reports.into_iter().flatten().collect(),
        }
    }

    /// Returns the facts that RFC 7928, section 4.1, wants to be disclosed.
    fn setup(&self) -> Vec<(String, String)> {
        let settings = &self.settings;
        let (warmup, duration) = settings.times();
        let levels =
            LEVELS.map(|(name, loss)| format!("{name} {} ({} %)", settings.flows_for_loss(loss), loss * 100.0));
        let fact = |name: &str, value: String| (name.to_owned(), value);
        vec![
            fact("Simulator", format!("Fairlane {}", env!("CARGO_PKG_VERSION"))),
            fact("Bottleneck", format!("{}, packets of {PACKET} bytes", settings.rate)),
            fact("Round trip without queues", settings.rtt.to_string()),
            fact("Buffer", format!("{} packets; one BDP is {}", settings.buffer_packets(), settings.bdp())),
            fact("Hosts' links", "ten times the rate of the bottleneck".to_owned()),
            fact("TCP", "NewReno with SACK unless said otherwise, an initial window of 3, delayed acknowledgements; transfers and pages open connections by a handshake".to_owned()),
            fact("ECN", if settings.ecn { "on in all sections" } else { "only in section 4.5" }.to_owned()),
            fact("Flows for a projected drop rate (8.2.1)", levels.join(", ")),
            fact("Duration", format!("{duration} s, of which {warmup} s are left out, unless said otherwise")),
            fact("Runs", format!("{}, each with its own random numbers", settings.runs())),
            fact("Sampling of goodput", format!("every ten round trips, {} s", 10.0 * settings.rtt.as_secs())),
            fact(
                "Form",
                if settings.quick { "quick: few cases and short runs, so that intervals are wide" } else { "full" }.to_owned(),
            ),
        ]
    }
}

/// Returns the ratios of the goodputs of a discipline against a variable of the cases.
fn curve_line(variable: &str, planned: &PlannedSection, cases: &[CaseReport], label: &str) -> CurveLine {
    let points = planned.cases.iter().zip(cases).filter_map(|(planned, case)| {
        let subject = case.subjects.iter().find(|subject| subject.label == label)?;
        Some((*planned.case.vars.get(variable)?, ratio(subject)?))
    });
    CurveLine { label: label.to_owned(), points: points.collect() }
}

/// Returns how much the results of each discipline follow each changed parameter. `reports` has those of each label, if
/// it has any.
fn sensitivities(subjects: &[Subject], planned: &PlannedCase, reports: &[Option<SubjectReport>]) -> Vec<Sensitivity> {
    let mut swept: Vec<(usize, &str)> = Vec::new();
    for (number, change) in &planned.variants {
        if let Some(change) = change.as_ref().filter(|change| !swept.contains(&(*number, &*change.key))) {
            swept.push((*number, &change.key));
        }
    }
    let of = |(number, key): (usize, &str)| {
        let each = planned.variants.iter().zip(reports).filter(|((subject, _), _)| *subject == number);
        let values = each.filter_map(|((_, change), report)| match change {
            None => Some(report.as_ref()?.swept("default", 1.0)),
            Some(change) if change.key == key => Some(report.as_ref()?.swept(&change.value, change.factor)),
            Some(_) => None,
        });
        Sensitivity::new(&subjects.get(number)?.label, key, values.collect())
    };
    swept.into_iter().filter_map(of).collect()
}

/// Returns the sections with these ids, in the RFC's order; all if there are none.
fn chosen(only: &[String]) -> Result<Vec<&'static Entry>, Error> {
    let entries = &Checklist::get().entries;
    if let Some(unknown) = only.iter().find(|id| !entries.iter().any(|entry| entry.id == **id)) {
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        let message = format!("there is no section \"{unknown}\"");
        return Err(Error::Refused { message, help: Some(format!("there are {}", ids.join(", "))) });
    }
    Ok(entries.iter().filter(|entry| only.is_empty() || only.contains(&entry.id)).collect())
}
