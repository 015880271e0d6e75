//! One run with an eye on every packet: `--pcap` and `--trace`.

use std::path::Path;

use fairlane_outcome::Outcome;
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, Observer, PacketEvent, run};

use crate::batch::{self, Done};
use crate::error::Failure;
use crate::machine::{Watch, peak_rss_bytes, thread_cpu_s};
use crate::pcap::Capture;
use crate::trace::Trace;
use crate::{output, progress};

/// A scenario and the files that its packets are written to.
#[derive(Debug)]
pub(crate) struct Watched {
    scenario: Scenario,
    capture: Option<Capture>,
    trace: Option<Trace>,
}

impl Watched {
    /// Checks the scenario, then begins the files.
    pub(crate) fn new(scenario: Scenario, pcap: Option<&Path>, trace: Option<&Path>) -> Result<Self, Failure> {
        batch::check(&scenario, "")?;
        if pcap.is_some() && pcap == trace {
            return Err(Failure::new("--pcap and --trace name the same file", "give each a file of its own"));
        }
        pcap.map_or(Ok(()), output::file)?;
        trace.map_or(Ok(()), output::table)?;
        let capture = pcap.map(|path| Capture::create(path, &scenario)).transpose()?;
        let trace = trace.map(|path| Trace::create(path, &scenario)).transpose()?;
        Ok(Self { scenario, capture, trace })
    }

    /// Runs it once. What has been written is complete up to where it was interrupted.
    pub(crate) fn execute(self, control: &Control) -> Result<Done, Failure> {
        let Self { scenario, capture, trace } = self;
        let mut watchers = Watchers { capture, trace, control };
        let (watch, cpu_before) = (Watch::start(), thread_cpu_s());
        let result = progress::watched(control, 1, || run(&scenario, 0, control, &mut watchers));
        watchers.finish()?;
        let mut run = result.map_err(Failure::plain)?;
        run.cost.cpu_s = thread_cpu_s() - cpu_before;
        run.cost.wall_s = watch.elapsed_s();
        run.cost.peak_rss_bytes = peak_rss_bytes();
        let interrupted = run.partial;
        let measured = !run.partial || run.to_s > run.from_s;
        let outcomes = if measured { Outcome::from_runs(&[run]).into_iter().collect() } else { Vec::new() };
        Ok(Done { outcomes, interrupted })
    }
}

struct Watchers<'c> {
    capture: Option<Capture>,
    trace: Option<Trace>,
    control: &'c Control,
}

impl Watchers<'_> {
    /// Ends the files, or says why one of them could not be written.
    fn finish(self) -> Result<(), Failure> {
        self.capture.map_or(Ok(()), Capture::finish)?;
        self.trace.map_or(Ok(()), Trace::finish)
    }
}

impl Observer for Watchers<'_> {
    fn packet(&mut self, event: &PacketEvent) {
        self.capture.packet(event);
        self.trace.packet(event);
        // Without its file the rest of the run is for nothing.
        if self.capture.as_ref().is_some_and(Capture::failed) || self.trace.as_ref().is_some_and(Trace::failed) {
            self.control.stop();
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
