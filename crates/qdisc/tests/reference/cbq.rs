//! A slow CBQ in plain lists, from the estimator's definition (Floyd, Jacobson, IEEE/ACM ToN 3(4), 1995, appendix A).

use fairlane_qdisc::{Reason, SimplePacket, Time};

use fairlane_qdisc::testing::Event;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: u64,
    pub(crate) limit_in_bytes: bool,
    pub(crate) shares: Vec<f64>,
    pub(crate) prio: Vec<u8>,
    pub(crate) bounded: Vec<bool>,
    pub(crate) maxburst: u32,
    /// In nanoseconds.
    pub(crate) extradelay: f64,
    /// The rate of the link in bit/s.
    pub(crate) rate: f64,
}

struct Class {
    packets: Vec<SimplePacket>,
    avgidle: f64,
    /// The time at which its last packet began to be sent, and its bytes.
    last: Option<(Time, f64)>,
    /// The scheduled time from the start of the last packet to the start of the next one, in nanoseconds.
    ahead: f64,
    credit: f64,
}

pub(crate) struct Reference {
    s: Settings,
    classes: Vec<Class>,
    turn: usize,
    pub(crate) events: Vec<Event>,
}

const AVPKT: f64 = 1000.0;

impl Reference {
    pub(crate) fn new(s: Settings) -> Self {
        let class = |avgidle| Class { packets: Vec::new(), avgidle, last: None, ahead: 0.0, credit: 0.0 };
        let mut new = Self { s, classes: Vec::new(), turn: 0, events: Vec::new() };
        new.classes = (0..new.s.shares.len()).map(|k| class(new.maxidle(k))).collect();
        new
    }

    pub(crate) fn packets(&self) -> usize {
        self.classes.iter().map(|c| c.packets.len()).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.classes.iter().flat_map(|c| &c.packets).map(|p| u64::from(p.bytes)).sum()
    }

    /// Returns the nanoseconds that a byte takes on the link, and at the share of class `k`.
    fn byte_times(&self, k: usize) -> (f64, f64) {
        let link = 8e9 / self.s.rate;
        (link, link / self.s.shares[k])
    }

    /// t (1/p - 1).
    fn surplus(&self, k: usize) -> f64 {
        AVPKT * self.byte_times(k).0 * (1.0 / self.s.shares[k] - 1.0)
    }

    /// t (1/p - 1) ((16/15)^n - 1).
    fn maxidle(&self, k: usize) -> f64 {
        let mut power = 1.0;
        for _ in 0..self.s.maxburst {
            power *= 16.0 / 15.0;
        }
        self.surplus(k) * (power - 1.0)
    }

    pub(crate) fn enqueue(&mut self, p: SimplePacket) {
        let k = usize::from(p.class / 32).min(self.classes.len() - 1);
        let packets = &mut self.classes[k].packets;
        let bytes: u64 = packets.iter().chain([&p]).map(|p| u64::from(p.bytes)).sum();
        let size = if self.s.limit_in_bytes { bytes } else { packets.len() as u64 + 1 };
        if size > self.s.limit {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
        } else {
            packets.push(p);
        }
    }

    /// Returns the time from which class `k` may send without borrowing.
    fn ready(&self, k: usize) -> Option<Time> {
        let c = &self.classes[k];
        c.packets.first()?;
        let Some((began, _)) = c.last.filter(|_| c.avgidle < 0.0) else { return Some(Time::ZERO) };
        Some(Time::from_nanos(began.as_nanos() + (c.ahead + self.s.extradelay).ceil().max(0.0) as u64))
    }

    pub(crate) fn ready_at(&self) -> Option<Time> {
        (0..self.classes.len()).filter_map(|k| self.ready(k)).min()
    }

    pub(crate) fn dequeue(&mut self, now: Time) {
        let all = 0..self.classes.len();
        let within: Vec<usize> = all.clone().filter(|&k| self.ready(k).is_some_and(|at| at <= now)).collect();
        let borrowers = || all.filter(|&k| !self.s.bounded[k] && !self.classes[k].packets.is_empty()).collect();
        let mut set: Vec<usize> = if within.is_empty() { borrowers() } else { within };
        let Some(first) = set.iter().map(|&k| self.s.prio[k]).min() else { return };
        set.retain(|&k| self.s.prio[k] == first);
        let least = self.s.shares.iter().copied().fold(1.0, f64::min);
        let k = loop {
            let n = self.classes.len();
            let row = (0..n).map(|i| (self.turn + i) % n);
            let found = row.into_iter().find(|k| set.contains(k) && self.classes[*k].credit > 0.0);
            if let Some(k) = found {
                break k;
            }
            for &k in &set {
                self.classes[k].credit += (AVPKT * self.s.shares[k] / least).floor();
            }
        };
        self.turn = k;
        let p = self.classes[k].packets.remove(0);
        self.events.push(Event::Departed(p.id));
        self.send(now, k, f64::from(p.bytes));
    }

    fn send(&mut self, now: Time, k: usize, bytes: f64) {
        let (link, share) = self.byte_times(k);
        let most = self.maxidle(k);
        let behind = self.surplus(k) * f64::from(self.s.maxburst);
        let c = &mut self.classes[k];
        let took = bytes * link;
        match c.last {
            None => {
                c.avgidle = most;
                c.ahead = -behind;
            }
            Some((began, before)) => {
                let gap = now.since(began).as_nanos() as f64;
                c.ahead = (c.ahead - gap).max(-behind);
                let idle = gap - before * link + took - bytes * share;
                c.avgidle = c.avgidle * 15.0 / 16.0 + idle / 16.0;
            }
        }
        c.avgidle = c.avgidle.min(most).max(-most.max(bytes * share - took));
        c.ahead = (c.ahead + bytes * share).min(behind.max(bytes * share));
        c.last = Some((now, bytes));
        c.credit -= bytes;
        if c.packets.is_empty() {
            c.credit = c.credit.min(0.0);
        }
    }
}
