//! The slow references behind one interface, each configured like the discipline of its case.

use fairlane_qdisc::{Duration, Host, Packets, SimplePacket, Size, Time};

use crate::accounting_references::{afd, csfq, echo, fred, line, sred};
use crate::adaptive;
use crate::fair_references::{cbq, drr, fair};
use crate::other_references::delay::{self, Limit};
use crate::other_references::{bare, cake, choke_auto, cobalt, codel, fq, pi2, pie};
use crate::reference::{Algorithm, Reference, Settings, Spacing};
use fairlane_qdisc::testing::Event;

/// A discipline implemented with plain lists.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, packet: SimplePacket);
    fn dequeue(&mut self, now: Time);
    /// Returns all events so far.
    fn events(&self) -> &[Event];
    fn average(&self) -> Option<f64> {
        None
    }
    /// Returns the label with which the last packet left, if the discipline has labels.
    fn label(&self) -> Option<u64> {
        None
    }
}

impl Slow for Reference {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
    fn average(&self) -> Option<f64> {
        Some(self.average())
    }
}

/// A reference whose average has no meaning.
struct NoAverage(Reference);

impl Slow for NoAverage {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.0.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.0.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        &self.0.events
    }
}

impl Slow for drr::Reference {
    fn enqueue(&mut self, _now: Time, packet: SimplePacket) {
        self.enqueue(packet);
    }
    fn dequeue(&mut self, _now: Time) {
        self.dequeue();
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Slow for fair::Reference {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Slow for cbq::Reference {
    fn enqueue(&mut self, _now: Time, packet: SimplePacket) {
        self.enqueue(packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Slow for bare::Reference {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.enqueue(now, packet);
    }
    fn dequeue(&mut self, _now: Time) {
        self.dequeue();
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
    fn average(&self) -> Option<f64> {
        Some(self.avgq)
    }
}

/// A reference of a discipline that accounts for flows over one FIFO.
struct Accounting(Box<dyn line::Slow>);

impl Slow for Accounting {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.0.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.0.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        &self.0.line().events
    }
    fn average(&self) -> Option<f64> {
        self.0.average()
    }
    fn label(&self) -> Option<u64> {
        match self.0.line().events.last() {
            Some(Event::Departed(_)) => self.0.line().labels.last().copied(),
            _ => None,
        }
    }
}

/// A reference of a discipline that controls delay.
struct Delay<T>(T);

impl<T: delay::Slow> Slow for Delay<T> {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.0.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.0.dequeue(now);
    }
    fn events(&self) -> &[Event] {
        self.0.events()
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The limit of every case in packets; only that of `bare` is in bytes.
pub(crate) const LIMIT: u64 = 24;

/// RED's parameters in every case that builds on RED, as in [`cases`](crate::cases).
fn red(algorithm: Algorithm, gentle: bool, host: &Host) -> Reference {
    let settings = Settings {
        algorithm,
        limit: LIMIT as f64,
        limit_in_bytes: false,
        min: 3.0,
        max: 9.0,
        in_bytes: false,
        probability: 0.2,
        weight: 0.2,
        filter: 1.0,
        gentle,
        spacing: Spacing::Wait,
        spare: true,
        byte_drop: false,
        ecn: true,
        harddrop: false,
        compare_above_max: true,
        linux: false,
        replacement: false,
        count_matches: true,
        drop_bit: false,
        slot: host.rate.transmission(1000),
    };
    Reference::new(settings, host.seed)
}

const CODEL: codel::Settings =
    codel::Settings { target: millis(5), interval: millis(100), mtu: 1514, ecn: true, ce_threshold: None };

const PIE: pie::Settings = pie::Settings {
    target: millis(15),
    tupdate: millis(15),
    alpha: 2.0 / 16.0,
    beta: 20.0 / 16.0,
    max_burst: millis(150),
    mean: 1000.0,
    bytemode: false,
    ecn: true,
    ecn_prob: 0.1,
    estimator: false,
    decay: 0.98,
    on_from: None,
};

const FQ: fq::Settings = fq::Settings {
    limit: Limit::Packets(LIMIT as usize),
    memory: 33_554_432,
    flows: 1024,
    quantum: 1514,
    drop_batch: 64,
};

const PI2: pi2::Settings = pi2::Settings {
    limit: Limit::Packets(LIMIT as usize),
    target: millis(15),
    tupdate: millis(16),
    alpha: 0.16,
    beta: 3.2,
    k: 2.0,
    drop_overload: true,
};

/// Returns the reference for the case `name`, if there is one.
pub(crate) fn reference(name: &str, host: &Host) -> Option<Box<dyn Slow>> {
    let first = red_family(name, host).or_else(|| fair_queueing(name, host));
    let second = first.or_else(|| delays(name, host)).or_else(|| accounting(name, host));
    second.or_else(|| adaptive::reference(name, host))
}

fn red_family(name: &str, host: &Host) -> Option<Box<dyn Slow>> {
    use Algorithm::{
        Adaptive, Back, Choke, Choked, Chokew, Feng, Floyd, Front, FrontDrop, Gchoke, Mloc, RandomDrop, Rechoke, Red,
        Sac, TailDrop, Xchoke,
    };
    let chokew = |band| Chokew { threshold: 2.0, increment: 0.2, decrement: 0.1, band, most: 64.0 };
    let sac = Sac { interval: millis(500), share: 0.1, hit_ratio: 0.05, most: 10 };
    let algorithm = match name {
        "droptail" => TailDrop,
        "droptail-front" => FrontDrop,
        "droptail-random" => RandomDrop,
        "red" => Red,
        // ns-2's lower bound of the probability at 1 Mbit/s is 0.01.
        "ared" => return Some(Box::new(red(Floyd { bottom: 0.01 }, true, host))),
        "ared-feng" => Feng,
        "choke" => Choke { candidates: 1 },
        "choke-adaptive" => Adaptive { regions: 5, twice: 2, less: 0 },
        "front-choke" => Front { candidates: 1 },
        "back-choke" => Back { candidates: 1 },
        "mloc-choke" => Mloc { memory: 2 },
        "xchoke" => Xchoke { size: 64, cap: 30, age: millis(10_000) },
        "gchoke" => Gchoke { maxcomp: 5 },
        "chokew" => chokew(None),
        "choker" => chokew(Some(4.0)),
        "rechoke" => Rechoke { size: 64, cap: 30, hits: 3, drops: 3, window: millis(5000) },
        "sac" => sac,
        "choked" => Choked { most: 64 },
        _ => return None,
    };
    let slow = red(algorithm, false, host);
    if matches!(algorithm, TailDrop | FrontDrop | RandomDrop | Mloc { .. } | Chokew { .. }) {
        return Some(Box::new(NoAverage(slow)));
    }
    Some(Box::new(slow))
}

fn fair_queueing(name: &str, host: &Host) -> Option<Box<dyn Slow>> {
    let rate = host.rate.bits_per_second();
    let clock = match name {
        "drr" => {
            let s =
                drr::Settings { limit: LIMIT, limit_in_bytes: false, quantum: 500, drop_front: true, weighted: true };
            return Some(Box::new(drr::Reference::new(s, host.seed)));
        }
        "cbq" => {
            return Some(Box::new(cbq::Reference::new(cbq::Settings {
                limit: LIMIT,
                limit_in_bytes: false,
                shares: vec![0.3, 0.1, 0.4],
                prio: vec![2, 1, 1],
                bounded: vec![true, true, false],
                maxburst: 2,
                extradelay: 0.0,
                rate: rate as f64,
            })));
        }
        "wfq" => fair::Clock::Wfq,
        "scfq" => fair::Clock::Scfq,
        "stfq" => fair::Clock::Stfq,
        "bare" => return Some(Box::new(bare_reference(host))),
        _ => return None,
    };
    let s = fair::Settings { clock, limit: LIMIT, limit_in_bytes: false, weighted: true, rate };
    Some(Box::new(fair::Reference::new(s, host.seed)))
}

fn bare_reference(host: &Host) -> bare::Reference {
    let settings = bare::Settings {
        maxq: 32_000,
        maxq_packets: usize::MAX,
        fdth: 14_000,
        maxtargetq: 12_000.0,
        maxnflow: 320,
        hi: 8000.0,
        lo: 4000.0,
        n1: 2.0,
        n2: 6.0,
        a: 1.2,
        w_q: 0.2,
        beta: [7.5, 0.5, 10.0],
        k: millis(300),
        queue_weight: None,
        timeout: millis(900),
        bw: host.rate.bits_per_second() as f64 / 8.0,
        weighted: false,
    };
    bare::Reference::new(settings, host.seed)
}

fn delays(name: &str, host: &Host) -> Option<Box<dyn Slow>> {
    let limit = Limit::Packets(LIMIT as usize);
    let (queue, events) = (Vec::new(), Vec::new());
    let pi = pi2::Pi::default();
    Some(match name {
        "codel" => {
            let variables = codel::Variables::default();
            Box::new(Delay(codel::Codel { settings: CODEL, limit, queue, variables, events }))
        }
        "pie" => {
            let (variables, rolls) = (pie::Variables::new(&PIE), host.seed.stream("pie"));
            Box::new(Delay(pie::Pie { settings: PIE, limit, queue, variables, rolls, timer: None, events }))
        }
        "cobalt" => {
            let (variables, rolls) = (cobalt::Variables::default(), host.seed.stream("blue"));
            let settings = cobalt::Settings {
                target: millis(5),
                interval: millis(100),
                floor: Duration::ZERO,
                blue_threshold: millis(400),
                ecn: true,
            };
            Box::new(Delay(cobalt::Cobalt { settings, limit, queue, variables, rolls, events }))
        }
        "fq-codel" => Box::new(Delay(fq::FqCodel::new(FQ, CODEL, host.seed))),
        "fq-pie" => Box::new(Delay(fq::FqPie::new(FQ, pie::Settings { decay: 63.0 / 64.0, ..PIE }, host.seed))),
        "pi2" => {
            let rolls = host.seed.stream("pi2");
            Box::new(Delay(pi2::Pi2 { settings: PI2, queue, pi, rolls, events }))
        }
        "choke-auto" => {
            let settings = choke_auto::Settings { pi: PI2, candidates: 64 };
            Box::new(Delay(choke_auto::ChokeAuto::new(settings, host.seed)))
        }
        "dualpi2" => Box::new(Delay(pi2::DualPi2 {
            settings: PI2,
            native: pi2::Native::Step(millis(1)),
            behind: 0,
            spared: 0,
            percent: 10,
            l: queue,
            c: Vec::new(),
            sums: [0.0; 2],
            credit: None,
            pi,
            events,
        })),
        "cake" => {
            let rate = host.rate.bits_per_second();
            let (diffserv, isolation) = ("diffserv3", "triple-isolate");
            let rtt = millis(100);
            let shaped = false;
            let ingress = false;
            let settings =
                cake::Settings { limit, rate, shaped, rtt, diffserv, isolation, ingress, ack_filter: "none" };
            Box::new(Delay(cake::Cake::new(settings, host.seed)))
        }
        _ => return None,
    })
}

fn accounting(name: &str, host: &Host) -> Option<Box<dyn Slow>> {
    let limit = Size::Packets(Packets::new(LIMIT as u32));
    let seed = host.seed;
    let slow: Box<dyn line::Slow> = match name {
        "sred" => {
            let (p_max, m, overwrite, alpha) = (0.2, 20, 0.25, 0.2);
            Box::new(sred::Sred::new(
                sred::Settings { limit, p_max, m, overwrite, alpha, full: false, ecn: true },
                seed,
            ))
        }
        "fred" => {
            let settings = fred::Settings {
                limit,
                min: 3.0,
                max: 9.0,
                minq: 4.0,
                in_bytes: false,
                max_p: 0.2,
                w: 0.2,
                many_flows: false,
                byte_drop: false,
                ecn: true,
                slot: host.rate.transmission(1000),
            };
            Box::new(fred::Fred::new(settings, seed))
        }
        "afd" => {
            let interval = Duration::from_nanos(6_250_000);
            Box::new(afd::Afd::new(afd::Settings { limit, b: 20, s: 2, q_target: 4.0, interval }, seed))
        }
        "csfq" => {
            let settings = csfq::Settings {
                limit,
                c: host.rate.bits_per_second() as f64,
                k: millis(100),
                k_alpha: millis(200),
                k_c: millis(100),
                edge: true,
                table_size: 16_384,
                threshold: 6.0,
            };
            Box::new(csfq::Csfq::new(settings, seed))
        }
        "echo" => {
            let (tags, link) = (Some(64), host.rate);
            let settings = echo::Settings { limit, target: millis(10), tags, ecn: true, link, lane: false };
            Box::new(echo::Echo::new(settings, seed))
        }
        _ => return None,
    };
    Some(Box::new(Accounting(slow)))
}
