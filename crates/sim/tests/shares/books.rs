//! Books of a bottleneck: who had packets there when, and what the link sent of whom.

use fairlane_scenario::Scenario;
use fairlane_sim::{Happening, Observer, PacketEvent, PacketKind, link_name};

/// What happened to a data packet at the bottleneck.
struct Entry {
    at: f64,
    flow: usize,
    bytes: u32,
    happening: Happening,
}

/// What happened at the bottleneck, in the order of time.
pub(crate) struct Books {
    link: u32,
    entries: Vec<Entry>,
    flows: usize,
}

impl Observer for Books {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link == self.link && event.kind == PacketKind::Data {
            let flow = event.flow as usize;
            self.flows = self.flows.max(flow + 1);
            self.entries.push(Entry { at: event.at.as_secs(), flow, bytes: event.bytes, happening: event.happening });
        }
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

impl Books {
    /// Empty ones of the bottleneck of `scenario`.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let link = (0..).find(|&link| link_name(scenario, link) == "bottleneck").expect("a dumbbell");
        Self { link, entries: Vec::new(), flows: 0 }
    }

    /// What the flow of the highest number should have been sent from `from` seconds on, as a part of the link: at every
    /// moment an equal part for each flow that has packets there, the one that is being sent included. What a flow that is
    /// silent leaves is shared by the others at that moment, which is what max-min fairness means over a time.
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

    /// Over any time in which both another flow and the last one have packets queued, how much more the link sends of
    /// either, in bytes at most; and how long the others have packets queued, in seconds of all of them together.
    pub(crate) fn unfairness(&self) -> (f64, f64) {
        let last = self.flows - 1;
        let mut backlog = Backlog::new(self.flows);
        let mut spans = vec![Span::default(); self.flows];
        let (mut worst, mut together, mut since) = (0.0_f64, 0.0, 0.0);
        for entry in &self.entries {
            let both = |backlog: &Backlog, flow: usize| backlog.queued[flow] > 0 && backlog.queued[last] > 0;
            together += (entry.at - since) * (0..last).filter(|&flow| both(&backlog, flow)).count() as f64;
            since = entry.at;
            if let Happening::Departed { .. } = entry.happening {
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

/// The packets of each flow at the bottleneck.
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
        match entry.happening {
            Happening::Arrived => self.queued[entry.flow] += 1,
            Happening::Departed { .. } => {
                self.queued[entry.flow] -= 1;
                self.sent = Some(entry.flow);
            }
            Happening::Dropped(_) => self.queued[entry.flow] -= 1,
            Happening::Marked(_) | Happening::Lost => {}
        }
    }
}

/// A time in which two flows have packets: how far one is ahead of the other.
#[derive(Clone, Copy, Default)]
struct Span {
    lead: f64,
    least: f64,
    most: f64,
}

impl Span {
    /// One gets ahead by `by` bytes: the largest change of the lead so far.
    fn lead(&mut self, by: f64) -> f64 {
        self.lead += by;
        self.least = self.least.min(self.lead);
        self.most = self.most.max(self.lead);
        self.most - self.least
    }
}
