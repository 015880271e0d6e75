//! The files in which a run is recorded.

use std::path::PathBuf;

use fairlane_qdisc::Duration;
use fairlane_runner::files::{check_distinct, check_file};
use fairlane_runner::{Error, FlentFile, LinkLog, PacketCapture, Recorder, Records};
use fairlane_scenario::Scenario;
use pyo3::prelude::*;

use crate::document::Document;
use crate::errors;

/// The requested files, by the names of their arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RecordFiles {
    pcap: Option<PathBuf>,
    flent: Option<PathBuf>,
    mahimahi: Option<PathBuf>,
}

impl RecordFiles {
    /// Checks that the files can be written and that none is read by the run, then begins them; with flent's
    /// `interval`, if it has another one than flent's tests. A timeline is recorded, too.
    pub(crate) fn begin(
        &self,
        py: Python<'_>,
        document: &Document,
        scenario: &Scenario,
        interval: Option<Duration>,
    ) -> PyResult<Records> {
        let of = |path: &Option<PathBuf>| path.iter().cloned().collect::<Vec<_>>();
        let mahimahi = self.mahimahi.iter().flat_map(|path| LinkLog::files(path)).collect();
        let outputs = [("pcap", of(&self.pcap)), ("flent", of(&self.flent)), ("mahimahi", mahimahi)];
        check_distinct(outputs.clone(), &document.inputs()).map_err(|error| errors::batch(py, &error))?;
        for path in outputs.into_iter().flat_map(|(_, files)| files) {
            check_file(&path).map_err(|error| match error {
                // The error of its folder.
                Error::Write { source, .. } => errors::unwritable(&path, &source),
                other => errors::batch(py, &other),
            })?;
        }
        self.create(scenario, interval).map_err(|error| errors::batch(py, &error))
    }

    fn create(&self, scenario: &Scenario, interval: Option<Duration>) -> Result<Records, Error> {
        let Self { pcap, flent, mahimahi } = self;
        Ok(Records {
            pcap: pcap.as_ref().map(|path| PacketCapture::create(path, scenario)).transpose()?,
            flent: flent.as_ref().map(|path| FlentFile::new(path, interval, scenario)),
            mahimahi: mahimahi.as_ref().map(|path| LinkLog::new(path, scenario)).transpose()?,
            timeline: Some(Recorder::new(scenario)),
            ..Records::default()
        })
    }
}
