//! CAKE as a slow reference, from sch_cake: it searches lists, counts anew each time, and divides by rates.

use fairlane_qdisc::{Duration, Packet, Reason, Seed, SimplePacket, Stream, TcpHeader, Time};

use super::acks;
use super::cobalt::{self, Answer};
use super::delay::{Limit, Queue, Slow, bytes};
use super::fq::Hash;
use super::ties::Ties;
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Limit,
    pub(crate) rate: u64,
    pub(crate) shaped: bool,
    pub(crate) rtt: Duration,
    /// The value of the parameter.
    pub(crate) diffserv: &'static str,
    /// The value of the parameter.
    pub(crate) isolation: &'static str,
    /// Drops count as sent, and two packets of each bulk flow are never too many.
    pub(crate) ingress: bool,
    /// The value of the parameter.
    pub(crate) ack_filter: &'static str,
}

impl Settings {
    /// Tells whether the flows of a sender share a quantum.
    fn by_source(&self) -> bool {
        ["triple-isolate", "dual-srchost"].contains(&self.isolation)
    }

    /// Tells whether the flows to a receiver share a quantum.
    fn by_destination(&self) -> bool {
        ["triple-isolate", "dual-dsthost"].contains(&self.isolation)
    }

    /// Returns the rate and the quantum of each tin.
    fn tins(&self) -> Vec<(u64, i64)> {
        let rate = self.rate;
        match self.diffserv {
            "besteffort" => vec![(rate, 65_535)],
            "diffserv3" => vec![(rate, 1024), (rate / 16, 64), (rate / 4, 256)],
            "diffserv4" => vec![(rate, 1024), (rate / 16, 64), (rate / 2, 512), (rate / 4, 256)],
            _ => (0..7).fold(vec![(rate, 256)], |mut tins, last| {
                let (rate, quantum) = tins[last];
                tins.push((rate * 7 / 8, quantum * 7 / 8));
                tins
            }),
        }
    }

    /// Returns the tin of a code point, by the lists of tc-cake(8) and those in sch_cake.
    fn tin_of(&self, code_point: u8) -> usize {
        let name = name_of(code_point);
        let is = |names: &[&str]| {
            names.iter().any(|wanted| name.strip_suffix(['1', '2', '3']) == Some(*wanted) || name == *wanted)
        };
        let lists: &[(usize, &[&str])] = match self.diffserv {
            "besteffort" => &[],
            "precedence" => return usize::from(code_point / 8),
            "diffserv3" => &[(1, &["CS1", "LE"]), (2, &["CS7", "CS6", "EF", "VA", "TOS4"])],
            "diffserv4" => &[
                (1, &["CS1", "LE"]),
                (2, &["AF4", "AF3", "CS3", "AF2", "CS2", "TOS4"]),
                (3, &["CS7", "CS6", "EF", "VA", "CS5", "CS4"]),
            ],
            _ => &[
                (7, &["CS6", "CS7"]),
                (6, &["EF", "VA", "CS5", "CS4"]),
                (5, &["CS2"]),
                (4, &["AF2", "TOS4"]),
                (3, &["AF4", "AF3", "CS3"]),
                (1, &["AF1", "TOS2", "CS1"]),
                (0, &["LE"]),
            ],
        };
        let best_effort = if self.diffserv == "diffserv8" { 2 } else { 0 };
        lists.iter().find(|(_, names)| is(names)).map_or(best_effort, |(tin, _)| *tin)
    }

    /// Returns the hash of a flow.
    fn tag(&self, hash: &Hash, p: &SimplePacket) -> u64 {
        match self.isolation {
            "flowblind" => 0,
            "srchost" => hash.bits(p.source_host()),
            "dsthost" => hash.bits(p.destination_host()),
            "hosts" => hash.bits(hash.bits(p.source_host()) ^ p.destination_host()),
            _ => hash.bits(p.flow),
        }
    }
}

/// Returns the name of a code point, empty if it has none.
fn name_of(code_point: u8) -> String {
    match (code_point / 8, code_point % 8) {
        (class @ 1..=7, 0) => format!("CS{class}"),
        (class @ 1..=4, drop @ (2 | 4 | 6)) => format!("AF{class}{}", drop / 2),
        (0, 1) => "LE".into(),
        (0, bit @ (2 | 4)) => format!("TOS{bit}"),
        (5, 4) => "VA".into(),
        (5, 6) => "EF".into(),
        _ => String::new(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

/// A queue of a tin.
struct Flow {
    packets: Queue,
    tag: u64,
    hosts: (u64, u64),
    set: Set,
    /// The deficit in 1/65536 byte.
    deficit: i64,
    cobalt: cobalt::Variables,
}

struct Tin {
    rate: u64,
    quantum: i64,
    cobalt: cobalt::Settings,
    flow_quantum: i64,
    flows: Vec<Flow>,
    new: Vec<usize>,
    old: Vec<usize>,
    decaying: Vec<usize>,
    next: Time,
    deficit: i64,
}

/// Returns the time that `bytes` bytes take at `rate`, rounded down.
fn time(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Tin {
    fn new(s: &Settings, rate: u64, quantum: i64) -> Self {
        let rate = rate.max(1);
        let packet = time(1514, rate).as_nanos();
        let wanted = s.rtt.as_nanos() / 20;
        let target = wanted.max(packet + packet / 2);
        let interval = (s.rtt.as_nanos() + target - wanted).max(2 * target);
        let cobalt = cobalt::Settings {
            target: Duration::from_nanos(target),
            interval: Duration::from_nanos(interval),
            floor: Duration::from_nanos(4 * packet),
            blue_threshold: Duration::from_nanos(u64::MAX),
            ecn: true,
        };
        let flow = || Flow {
            packets: Vec::new(),
            tag: 0,
            hosts: (0, 0),
            set: Set::None,
            deficit: 0,
            cobalt: cobalt::Variables::default(),
        };
        Self {
            rate,
            quantum,
            cobalt,
            flow_quantum: ((rate / 8) >> 12).clamp(300, 1514) as i64,
            flows: (0..1024).map(|_| flow()).collect(),
            new: Vec::new(),
            old: Vec::new(),
            decaying: Vec::new(),
            next: Time::ZERO,
            deficit: 0,
        }
    }

    fn is_active(&self) -> bool {
        self.flows.iter().any(|flow| matches!(flow.set, Set::Sparse | Set::SparseWait | Set::Bulk))
    }

    fn is_empty(&self) -> bool {
        self.flows.iter().all(|flow| flow.packets.is_empty())
    }

    fn share(&self, s: &Settings, queue: usize) -> i64 {
        let bulk = || self.flows.iter().filter(|flow| flow.set == Set::Bulk);
        let (source, destination) = self.flows[queue].hosts;
        let from = bulk().filter(|flow| s.by_source() && flow.hosts.0 == source).count();
        let to = bulk().filter(|flow| s.by_destination() && flow.hosts.1 == destination).count();
        self.flow_quantum * (65_536 / from.max(to).max(1) as i64)
    }

    fn find(&mut self, tag: u64, hosts: (u64, u64)) -> usize {
        let home = (tag % 1024) as usize;
        let ways: Vec<usize> = (0..8).map(|way| home - home % 8 + (home % 8 + way) % 8).collect();
        let reserved = ways.iter().copied().find(|&way| self.flows[way].tag == tag);
        let idle = ways.iter().copied().find(|&way| self.flows[way].set == Set::None);
        let queue = reserved.or(idle).unwrap_or(home);
        if reserved.is_none() || self.flows[queue].set == Set::None {
            self.flows[queue].tag = tag;
            self.flows[queue].hosts = hosts;
        }
        queue
    }

    fn arrived(&mut self, s: &Settings, queue: usize) {
        match self.flows[queue].set {
            Set::None | Set::Decaying => {
                self.decaying.retain(|&other| other != queue);
                self.new.push(queue);
                self.flows[queue].deficit = self.share(s, queue);
                self.flows[queue].set = Set::Sparse;
            }
            Set::SparseWait => self.flows[queue].set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn next(&mut self, s: &Settings, decaying_first: bool) -> Option<usize> {
        let mut first = decaying_first;
        loop {
            let list = if first && !self.decaying.is_empty() {
                &mut self.decaying
            } else if !self.new.is_empty() {
                &mut self.new
            } else if !self.old.is_empty() {
                &mut self.old
            } else {
                &mut self.decaying
            };
            first = false;
            let queue = *list.first()?;
            if self.flows[queue].deficit > 0 {
                return Some(queue);
            }
            list.remove(0);
            self.old.push(queue);
            if self.flows[queue].set == Set::Sparse {
                let empty = self.flows[queue].packets.is_empty();
                self.flows[queue].set = if empty { Set::SparseWait } else { Set::Bulk };
            }
            self.flows[queue].deficit += self.share(s, queue);
        }
    }

    /// Takes the time of `bytes` bytes from the tin's share of the rate.
    fn passes(&mut self, now: Time, bytes: u32) {
        let takes = time(u64::from(bytes), self.rate);
        self.next = if self.next < now { self.next + takes } else { self.next.max(now + takes) };
    }

    fn retire(&mut self, now: Time, queue: usize) {
        let settings = self.cobalt;
        let flow = &mut self.flows[queue];
        flow.cobalt.empty(&settings, now);
        for list in [&mut self.new, &mut self.old, &mut self.decaying] {
            list.retain(|&other| other != queue);
        }
        if flow.cobalt.p > 0.0 || flow.cobalt.count > 0 || now < flow.cobalt.drop_next {
            flow.set = Set::Decaying;
            self.decaying.push(queue);
        } else {
            flow.set = Set::None;
        }
    }
}

pub(crate) struct Cake {
    s: Settings,
    hash: Hash,
    tins: Vec<Tin>,
    /// The time at which the shaper last became busy.
    busy_since: Time,
    /// The bytes since then that were sent or count as sent.
    sent: u64,
    /// The bytes since then that left, and half of each packet's again.
    left: u64,
    turn: usize,
    rolls: Stream,
    ties: Ties,
    /// The TCP headers of packets, by their labels.
    pub(crate) headers: Vec<Option<TcpHeader>>,
    events: Vec<Event>,
}

impl Cake {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            hash: Hash::new(seed),
            tins: s.tins().into_iter().map(|(rate, quantum)| Tin::new(&s, rate, quantum)).collect(),
            busy_since: Time::ZERO,
            sent: 0,
            left: 0,
            turn: 0,
            rolls: seed.stream("blue"),
            ties: Ties::new(seed),
            headers: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Returns the time at which all that was sent or counts as sent is through.
    fn through(&self) -> Time {
        self.busy_since + time(self.sent, self.s.rate)
    }

    /// Returns the time at which a packet may leave: drops take no more than a third of the rate.
    fn next(&self) -> Time {
        self.through().min(self.busy_since + time(self.left, self.s.rate))
    }

    fn total(&self) -> (usize, u64) {
        let queues = || self.tins.iter().flat_map(|tin| &tin.flows).map(|flow| &flow.packets);
        (queues().map(Vec::len).sum(), queues().map(bytes).sum())
    }

    fn drop_from_longest(&mut self, now: Time) {
        let flows = self.tins.iter().flat_map(|tin| &tin.flows).zip(0_u64..);
        let used = flows.filter(|(flow, _)| !flow.packets.is_empty());
        let longest = self.ties.longest(used.map(|(flow, place)| (place, bytes(&flow.packets).max(1))));
        let Some(longest) = longest else { return };
        let (tin, queue) = (longest as usize / 1024, longest as usize % 1024);
        let settings = self.tins[tin].cobalt;
        let flow = &mut self.tins[tin].flows[queue];
        flow.cobalt.full(&settings, now);
        let (p, _) = flow.packets.remove(0);
        let is_empty = flow.packets.is_empty();
        if self.s.ingress {
            self.tins[tin].passes(now, p.bytes);
            self.sent += u64::from(p.bytes);
        }
        self.ties.changed(longest, is_empty);
        self.events.push(Event::Dropped(p.id, Reason::BufferSteal));
    }

    fn choose(&mut self, now: Time) -> usize {
        let active: Vec<bool> = self.tins.iter().map(Tin::is_active).collect();
        if self.s.shaped {
            let mut best = i128::MAX;
            let mut chosen = 0;
            for (number, tin) in self.tins.iter().enumerate() {
                let wait = i128::from(tin.next.as_nanos()) - i128::from(now.as_nanos());
                if active[number] && (wait <= 0 || wait <= best) {
                    (best, chosen) = (wait, number);
                }
            }
            return chosen;
        }
        while !(active[self.turn] && self.tins[self.turn].deficit >= 0) {
            let tin = &mut self.tins[self.turn];
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
        self.turn
    }
}

impl Slow for Cake {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.s.limit.is_exceeded(1, u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if self.total().0 == 0 && self.through() < now {
            self.busy_since = now;
            (self.sent, self.left) = (0, 0);
        }
        let number = self.s.tin_of(p.class >> 2);
        let tin = &mut self.tins[number];
        if tin.is_empty() && tin.next < now {
            tin.next = now;
        }
        let queue = tin.find(self.s.tag(&self.hash, &p), (p.source_host(), p.destination_host()));
        tin.flows[queue].packets.push((p, now));
        tin.arrived(&self.s, queue);
        if let Some(at) = acks::goes(self.s.ack_filter, &tin.flows[queue].packets, &self.headers) {
            let (gone, _) = tin.flows[queue].packets.remove(at);
            if self.s.ingress {
                tin.passes(now, gone.bytes);
                self.sent += u64::from(gone.bytes);
            }
            self.events.push(Event::Dropped(gone.id, Reason::AckFilter));
        }
        self.ties.changed((1024 * number + queue) as u64, false);
        while self.s.limit.is_exceeded(self.total().0, self.total().1) {
            self.drop_from_longest(now);
        }
    }

    fn dequeue(&mut self, now: Time) {
        let mut decaying_first = true;
        // The tin in which a drop has used up a flow's turn goes on with the next flow.
        let mut again = None;
        while again.is_some() || (self.total().0 > 0 && !(self.s.shaped && self.next() > now)) {
            let number = again.unwrap_or_else(|| self.choose(now));
            let tin = &mut self.tins[number];
            let Some(queue) = tin.next(&self.s, decaying_first) else { return };
            decaying_first = false;
            let mut settings = tin.cobalt;
            if self.s.ingress {
                let bulk = tin.flows.iter().filter(|flow| flow.set == Set::Bulk).count() as u64;
                let packet = time(1514, tin.rate).as_nanos();
                settings.floor = Duration::from_nanos(u64::max(4 * packet, 2 * bulk * packet));
            }
            let flow = &mut tin.flows[queue];
            let (mut left, mut dropped) = (None, None);
            while left.is_none() && !flow.packets.is_empty() {
                let (p, arrived) = flow.packets.remove(0);
                match flow.cobalt.ask(&settings, now, arrived, p.ecn_capable, &mut self.rolls) {
                    Answer::Drop(reason) if !flow.packets.is_empty() => {
                        self.events.push(Event::Dropped(p.id, reason));
                        if self.s.ingress {
                            dropped = Some(p.bytes);
                            break;
                        }
                        continue;
                    }
                    Answer::Mark => self.events.push(Event::Marked(p.id, Reason::AqmDequeue)),
                    _ => {}
                }
                left = Some(p);
            }
            self.ties.changed((1024 * number + queue) as u64, flow.packets.is_empty());
            if let Some(bytes) = dropped.or(left.map(|p| p.bytes)) {
                flow.deficit -= i64::from(bytes) * 65_536;
                tin.passes(now, bytes);
                tin.deficit -= i64::from(bytes);
                self.sent += u64::from(bytes);
            }
            if let Some(p) = left {
                self.left += u64::from(p.bytes) + u64::from(p.bytes / 2);
                self.events.push(Event::Departed(p.id));
                return;
            }
            again = dropped.map(|_| number);
            if again.is_none() {
                self.tins[number].retire(now, queue);
            }
        }
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.tins.iter().flat_map(|tin| &tin.flows).flat_map(|flow| &flow.packets).map(|(p, _)| *p).collect()
    }

    fn ready_at(&self) -> Option<Time> {
        (self.s.shaped && self.total().0 > 0).then(|| self.next())
    }
}
