//! The bottleneck as mm-link(1) logs it, and its link as mm-link takes it.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fairlane_outcome::Extent;
use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::{LinkSide, Scenario};
use fairlane_sim::{Observer, PacketEvent, QueueEvent, link_name, queue_names};

use crate::{Error, files};

/// Bytes of an opportunity: mm-link's largest packet.
const OPPORTUNITY: u64 = 1504;
/// Nanoseconds of a millisecond, mahimahi's unit of time.
const MILLISECOND: u64 = 1_000_000;
/// The queue of a dumbbell; of other topologies the first queue is logged.
const BOTTLENECK: &str = "bottleneck";

/// Records the packets at the bottleneck, or without one at the first queue, as mahimahi's `mm-link` logs them, in
/// whole milliseconds from the start of the run; and the moments of delivery of its link, 1504 bytes each, as `mm-link`
/// takes them.
///
/// The run is kept in memory until its end.
#[derive(Debug)]
pub struct LinkLog {
    path: PathBuf,
    side: LinkSide,
    /// The simulator's number of the link.
    link: u32,
    log: String,
    trace: String,
    /// The millisecond until which opportunities are written, and what the link could have sent since the last one, in
    /// bits times 1000.
    opportunities: (u64, u64),
    /// The line of each packet that is being sent, by the millisecond in which it is whole.
    sending: VecDeque<(u64, String)>,
    /// The end of the run in milliseconds.
    end: u64,
}

impl LinkLog {
    /// Returns the files: the log and the trace, such as `x.log` and `x.trace`.
    #[must_use]
    pub fn files(path: &Path) -> [PathBuf; 2] {
        [path.to_owned(), path.with_extension("trace")]
    }

    /// Begins the log of the bottleneck of `scenario`, which will be at `path`; it contains that path.
    ///
    /// # Errors
    /// `path` does not end in .log, or no queue carries data.
    pub fn new(path: &Path, scenario: &Scenario) -> Result<Self, Error> {
        if path.extension().is_none_or(|ending| ending != "log") {
            let message = format!("--mahimahi {}: the trace is written next to a log", path.display());
            return Err(Error::new(message, "end its name in .log"));
        }
        let names = queue_names(scenario);
        let name = names.iter().find(|name| *name == BOTTLENECK).or(names.first());
        let sides = scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let named = (0..).zip(sides).find(|(link, _)| Some(&link_name(scenario, *link)) == name);
        let (link, side) = named.ok_or_else(|| Error::plain("--mahimahi: no queue carries data"))?;
        let kind = side.queue.kind();
        let mut log = format!("# mahimahi mm-link ({}) > {}\n", scenario.name.replace('\n', " "), path.display());
        log += &format!("# command line: fairlane run\n# queue: {kind}\n# init timestamp: 0\n# base timestamp: 0\n");
        Ok(Self {
            path: path.to_owned(),
            side: side.clone(),
            link,
            log,
            trace: String::new(),
            opportunities: (0, 0),
            sending: VecDeque::new(),
            end: scenario.duration.as_nanos() / MILLISECOND,
        })
    }

    /// Writes both files to their [places](Extent::path). Each appears whole or not at all.
    ///
    /// # Errors
    /// The files cannot be written, or the link sends fewer than 1504 bytes in the run.
    pub fn finish(mut self, extent: Extent) -> Result<(), Error> {
        let end = if extent == Extent::Whole { self.end } else { self.opportunities.0 };
        self.advance(end);
        if self.trace.is_empty() {
            let message = format!("--mahimahi: the link sends fewer than {OPPORTUNITY} bytes in the run");
            return Err(Error::new(message, "let the run last longer"));
        }
        let [log, trace] = Self::files(&self.path);
        files::write(&log, &self.log, extent)?;
        files::write(&trace, &self.trace, extent)
    }

    fn rate(&self, at: u64) -> Rate {
        let time = Duration::from_nanos(at);
        self.side.wire.rates.as_ref().map_or(self.side.rate, |rates| rates.at(time))
    }

    /// Writes the records that are complete before millisecond `now`.
    fn advance(&mut self, now: u64) {
        while self.opportunities.0 < now {
            let (millisecond, bits) = self.opportunities;
            self.delivered(millisecond);
            let mut bits = bits + self.rate(millisecond * MILLISECOND).bits_per_second();
            // The rate is per second, and opportunities come at the end of the millisecond that completes them.
            let millisecond = millisecond + 1;
            while bits >= OPPORTUNITY * 8 * 1000 {
                bits -= OPPORTUNITY * 8 * 1000;
                self.log += &format!("{millisecond} # {OPPORTUNITY}\n");
                self.trace += &format!("{millisecond}\n");
            }
            self.opportunities = (millisecond, bits);
        }
        self.delivered(now);
    }

    /// Writes the packets that are whole by millisecond `now`.
    fn delivered(&mut self, now: u64) {
        while let Some((_, line)) = self.sending.pop_front_if(|(at, _)| *at <= now) {
            self.log += &line;
        }
    }
}

impl Observer for LinkLog {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link != self.link {
            return;
        }
        let at = event.at.as_nanos();
        match event.queue_event {
            QueueEvent::Arrived => {
                self.advance(at / MILLISECOND);
                // A text in memory takes every line.
                let _ = writeln!(self.log, "{} + {}", at / MILLISECOND, event.bytes);
            }
            QueueEvent::Departed { sojourn } => {
                let rate = self.rate(at).bits_per_second().max(1);
                let sending = u64::from(event.bytes) * 8 * 1_000_000_000 / rate;
                let (whole, arrived) = ((at + sending) / MILLISECOND, (at - sojourn.as_nanos()) / MILLISECOND);
                if whole < self.end {
                    self.sending.push_back((whole, format!("{whole} - {} {}\n", event.bytes, whole - arrived)));
                }
            }
            QueueEvent::Dropped(_) | QueueEvent::Marked(_) | QueueEvent::Lost => {}
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
