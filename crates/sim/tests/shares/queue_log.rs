//! The events at a bottleneck, and the fairness among the flows with queued packets.

use fairlane_scenario::Scenario;
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent, link_name};

/// An event of a data packet at the bottleneck.
struct Entry {
    at: f64,
    flow: usize,
    bytes: u32,
    queue_event: QueueEvent,
}

/// The events of data packets at the bottleneck, in order of time.
pub(crate) struct QueueLog {
    link: u32,
    entries: Vec<Entry>,
    flows: usize,
}

impl Observer for QueueLog {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link == self.link && event.kind == PacketKind::Data {
            let flow = event.flow as usize;
            self.flows = self.flows.max(flow + 1);
            self.entries.push(Entry {
                at: event.at.as_secs(),
                flow,
                bytes: event.bytes,
                queue_event: event.queue_event,
            });
        }
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

impl QueueLog {
    /// Returns an empty log of the bottleneck of `scenario`.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let link = (0..).find(|&link| link_name(scenario, link) == "bottleneck").expect("a dumbbell");
        Self { link, entries: Vec::new(), flows: 0 }
    }

    /// Returns the max-min fair share of the last flow from `from` seconds on, as a fraction of the link: at each
    /// moment an equal share for each flow with packets in the queue or in transmission. The shares of silent flows go
    /// to the others.
    pub(crate) fn share_of_the_last(&self, from: f64) -> f64 {
        let last = self.flows - 1;
        let mut backlog = Backlog::new(self.flows);
        let (mut share, mut since) = (0.0, from);
        for entry in &self.entries {
            if entry.at > since {
                let busy = (0..self.flows).filter(|&flow| backlog.is_busy(flow)).count();
                share += if backlog.is_busy(last) { (entry.at - since) / busy as f64 } else { 0.0 };
                since = entry.at;
            }
            backlog.follow(entry);
        }
        share / (since - from)
    }

    /// Returns the largest difference in bytes sent between the last flow and another one over any time in which both
    /// have packets queued, and the total of these times over the other flows in seconds.
    pub(crate) fn unfairness(&self) -> (f64, f64) {
        let last = self.flows - 1;
        let mut backlog = Backlog::new(self.flows);
        let mut spans = vec![Span::default(); self.flows];
        let (mut worst, mut together, mut since) = (0.0_f64, 0.0, 0.0);
        for entry in &self.entries {
            let both = |backlog: &Backlog, flow: usize| backlog.queued[flow] > 0 && backlog.queued[last] > 0;
            together += (entry.at - since) * (0..last).filter(|&flow| both(&backlog, flow)).count() as f64;
            since = entry.at;
            if let QueueEvent::Departed { .. } = entry.queue_event {
                for flow in (0..last).filter(|&flow| both(&backlog, flow)) {
                    let lead = f64::from(i8::from(entry.flow == last) - i8::from(entry.flow == flow));
                    worst = worst.max(spans[flow].lead(lead * f64::from(entry.bytes)));
                }
            }
            backlog.follow(entry);
            for flow in (0..last).filter(|&flow| !both(&backlog, flow)) {
                spans[flow] = Span::default();
            }
        }
        (worst, together)
    }
}

/// The number of packets of each flow at the bottleneck.
struct Backlog {
    queued: Vec<usize>,
    sent: Option<usize>,
}

impl Backlog {
    fn new(flows: usize) -> Self {
        Self { queued: vec![0; flows], sent: None }
    }

    fn is_busy(&self, flow: usize) -> bool {
        self.queued[flow] > 0 || self.sent == Some(flow)
    }

    fn follow(&mut self, entry: &Entry) {
        match entry.queue_event {
            QueueEvent::Arrived => self.queued[entry.flow] += 1,
            QueueEvent::Departed { .. } => {
                self.queued[entry.flow] -= 1;
                self.sent = Some(entry.flow);
            }
            QueueEvent::Dropped(_) => self.queued[entry.flow] -= 1,
            QueueEvent::Marked(_) | QueueEvent::Lost => {}
        }
    }
}

/// A time in which two flows have packets: the lead in bytes of one over the other.
#[derive(Clone, Copy, Default)]
struct Span {
    lead: f64,
    least: f64,
    most: f64,
}

impl Span {
    /// Adds `by` bytes to the lead and returns its largest change so far.
    fn lead(&mut self, by: f64) -> f64 {
        self.lead += by;
        self.least = self.least.min(self.lead);
        self.most = self.most.max(self.lead);
        self.most - self.least
    }
}
