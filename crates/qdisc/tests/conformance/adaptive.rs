//! The slow references of BLUE, SFB, SFRED and the stochastic queues, configured by their cases.

use fairlane_qdisc::{Duration, Host, SimplePacket, Time};

use crate::fair_references::ties;
use crate::reference::{self, Algorithm, Spacing};
use crate::slow::{self, LIMIT};
use fairlane_qdisc::testing::Event;

#[path = "../reference/blue.rs"]
mod blue;
#[path = "../reference/sfb.rs"]
mod sfb;
#[path = "../reference/sfq.rs"]
mod sfq;

/// A number of packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    Packets(usize),
    Bytes(u64),
}

impl Room {
    /// Tells whether `queue` with one more packet fits into this size.
    fn holds(self, queue: &[SimplePacket], more: Option<&SimplePacket>) -> bool {
        match self {
            Self::Packets(packets) => queue.iter().chain(more).count() <= packets,
            Self::Bytes(bytes) => queue.iter().chain(more).map(|p| u64::from(p.bytes)).sum::<u64>() <= bytes,
        }
    }
}

/// A discipline implemented with plain lists.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, packet: SimplePacket, events: &mut Vec<Event>);
    fn dequeue(&mut self, now: Time, events: &mut Vec<Event>);
    fn backlog(&self) -> Vec<SimplePacket>;
}

/// One of the disciplines, and its events.
struct WithEvents(Box<dyn Slow>, Vec<Event>);

impl slow::Slow for WithEvents {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.0.enqueue(now, packet, &mut self.1);
    }
    fn dequeue(&mut self, now: Time) {
        self.0.dequeue(now, &mut self.1);
    }
    fn events(&self) -> &[Event] {
        &self.1
    }
}

const BLUE: blue::Blue = blue::Blue {
    limit: Room::Packets(LIMIT as usize),
    increment: 0.1,
    decrement: 0.02,
    freeze: Duration::from_millis(50),
    jitter: true,
    trigger: None,
    repeated: true,
    ecn: true,
};

const SFB: sfb::Sfb = sfb::Sfb {
    limit: Room::Packets(LIMIT as usize),
    levels: 2,
    bins: 5,
    bin_size: 4,
    bin_max: Some(6),
    rule: sfb::Rule::Blue { increment: 0.1, decrement: 0.02, at_departure: false, freeze: None },
    rehash: Duration::from_millis(600_000),
    jitter: false,
    warmup: Duration::from_millis(60_000),
    penalty_rate: 80_000,
    penalty_burst: 20_000,
    ecn: true,
    harddrop: true,
};

const SFQ: sfq::Sfq = sfq::Sfq {
    limit: Room::Packets(LIMIT as usize),
    flows: 5,
    quantum: Room::Bytes(500),
    perturb: None,
    headdrop: false,
    steals: true,
};

fn sfq_red(host: &Host) -> sfq::SlowSfqRed {
    let red = reference::Settings {
        algorithm: Algorithm::Red,
        limit: 8.0,
        limit_in_bytes: false,
        min: 1.0,
        max: 4.0,
        in_bytes: false,
        probability: 0.2,
        weight: 0.2,
        filter: 1.0,
        gentle: false,
        spacing: Spacing::Wait,
        spare: true,
        byte_drop: false,
        ecn: true,
        harddrop: false,
        compare_above_max: false,
        linux: false,
        replacement: false,
        count_matches: true,
        drop_bit: false,
        slot: host.rate.transmission(1000),
    };
    sfq::SlowSfqRed::new(5, red, host.seed)
}

/// Returns the reference for the case `name`, if it is one of these.
pub(crate) fn reference(name: &str, host: &Host) -> Option<Box<dyn slow::Slow>> {
    let seed = host.seed;
    let slow: Box<dyn Slow> = match name {
        "blue" => Box::new(blue::SlowBlue::new(BLUE, seed)),
        "sfb" => Box::new(sfb::SlowSfb::new(SFB, seed)),
        "sfb-figure-14" => {
            let rule = sfb::Rule::Blue { increment: 0.25, decrement: 0.25, at_departure: false, freeze: None };
            let settings = sfb::Sfb { rule, bin_max: None, penalty_burst: 1500, harddrop: false, ..SFB };
            Box::new(sfb::SlowSfb::new(settings, seed))
        }
        "sfred" => {
            let rule = sfb::Rule::Red { weight: 0.2, probability: 0.2 };
            Box::new(sfb::SlowSfb::new(sfb::Sfb { rule, harddrop: false, ..SFB }, seed))
        }
        "sfq" => Box::new(sfq::SlowSfq::new(SFQ, seed)),
        "sfq-red" => Box::new(sfq_red(host)),
        _ => return None,
    };
    Some(Box::new(WithEvents(slow, Vec::new())))
}
