//! `--html`: a page with the results.

#[cfg(feature = "html")]
pub(crate) use written::HtmlPage;

#[cfg(not(feature = "html"))]
pub(crate) use absent::MissingPage as HtmlPage;

#[cfg(feature = "html")]
mod written {
    use std::path::PathBuf;

    use fairlane_console::Failure;
    use fairlane_outcome::{Extent, Outcome, Timeline};
    use fairlane_report::PaperNumbers;
    use fairlane_report::html::{Origin, Page, compare_page, run_page, sweep_page};
    use fairlane_runner::files;
    use fairlane_scenario::Document;

    use crate::args::shared::{Overrides, PageFile};
    use crate::features::command;

    /// A requested page.
    #[derive(Debug)]
    pub(crate) struct HtmlPage {
        file: PathBuf,
        scenario: String,
        changes: String,
    }

    impl HtmlPage {
        /// Returns the page, if one is requested; [`Outputs`](crate::files::Outputs) checks its file.
        pub(crate) fn new(
            asked: &PageFile,
            document: &Document,
            overrides: &Overrides,
        ) -> Result<Option<Self>, Failure> {
            let Some(file) = asked.html.clone() else { return Ok(None) };
            let settings = overrides.set.iter().map(|setting| format!("{} = {}\n", setting.key, setting.value));
            let seed = overrides.seed.iter().map(|seed| format!("seed = {seed}\n"));
            Ok(Some(Self { file, scenario: document.text().to_owned(), changes: settings.chain(seed).collect() }))
        }

        /// As [`new`](Self::new), of captured packets, which have no scenario.
        pub(crate) fn of_capture(asked: &PageFile) -> Result<Option<Self>, Failure> {
            let page = |file| Self { file, scenario: String::new(), changes: String::new() };
            Ok(asked.html.clone().map(page))
        }

        /// Writes the page of one outcome; `missing` describes the work left out by an interruption.
        pub(crate) fn write_run(
            &self,
            outcome: &Outcome,
            timeline: Option<&Timeline>,
            missing: Option<String>,
        ) -> Result<(), Failure> {
            self.write(Extent::of(missing.is_some()), &run_page(outcome, timeline, &self.origin(missing)))
        }

        /// Writes the page of several disciplines.
        pub(crate) fn write_comparison(
            &self,
            outcomes: &[Outcome],
            timelines: &[Option<Timeline>],
            paper: Option<&PaperNumbers>,
            missing: Option<String>,
        ) -> Result<(), Failure> {
            self.write(Extent::of(missing.is_some()), &compare_page(outcomes, timelines, paper, &self.origin(missing)))
        }

        /// Writes the page of a sweep.
        pub(crate) fn write_sweep(&self, outcomes: &[Outcome], missing: Option<String>) -> Result<(), Failure> {
            self.write(Extent::of(missing.is_some()), &sweep_page(outcomes, &self.origin(missing)))
        }

        fn origin(&self, missing: Option<String>) -> Origin {
            Origin { command: command(), scenario: self.scenario.clone(), changes: self.changes.clone(), missing }
        }

        fn write(&self, extent: Extent, page: &Page) -> Result<(), Failure> {
            Ok(files::write(&self.file, page.to_html(), extent)?)
        }
    }
}

#[cfg(not(feature = "html"))]
mod absent {
    use fairlane_console::Failure;
    use fairlane_outcome::{Outcome, Timeline};
    use fairlane_report::PaperNumbers;
    use fairlane_scenario::Document;

    use crate::args::shared::{Overrides, PageFile};
    use crate::features;

    /// A page that this build cannot make.
    #[derive(Debug)]
    pub(crate) enum MissingPage {}

    impl MissingPage {
        /// Refuses a requested page.
        pub(crate) fn new(asked: &PageFile, _: &Document, _: &Overrides) -> Result<Option<Self>, Failure> {
            Self::of_capture(asked)
        }

        /// Refuses a requested page.
        pub(crate) fn of_capture(asked: &PageFile) -> Result<Option<Self>, Failure> {
            if asked.html.is_some() { Err(features::missing("pages (--html)", "html")) } else { Ok(None) }
        }

        pub(crate) fn write_run(&self, _: &Outcome, _: Option<&Timeline>, _: Option<String>) -> Result<(), Failure> {
            match *self {}
        }

        pub(crate) fn write_comparison(
            &self,
            _: &[Outcome],
            _: &[Option<Timeline>],
            _: Option<&PaperNumbers>,
            _: Option<String>,
        ) -> Result<(), Failure> {
            match *self {}
        }

        pub(crate) fn write_sweep(&self, _: &[Outcome], _: Option<String>) -> Result<(), Failure> {
            match *self {}
        }
    }
}
