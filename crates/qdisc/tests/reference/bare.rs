//! A slow reference of BARE with plain lists: the listing in the paper's appendix A, with the corrections that the
//! module of the discipline lists.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use fairlane_qdisc::testing::Event;

/// The constants of the listing, under its names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) maxq: u64,
    pub(crate) maxq_packets: usize,
    pub(crate) fdth: u64,
    pub(crate) maxtargetq: f64,
    pub(crate) maxnflow: usize,
    pub(crate) hi: f64,
    pub(crate) lo: f64,
    pub(crate) n1: f64,
    pub(crate) n2: f64,
    pub(crate) a: f64,
    pub(crate) w_q: f64,
    pub(crate) beta: [f64; 3],
    pub(crate) k: Duration,
    /// 1 - k of equation 5, if that estimates what a flow gets.
    pub(crate) queue_weight: Option<f64>,
    pub(crate) timeout: Duration,
    /// The service rate in bytes per second.
    pub(crate) bw: f64,
    pub(crate) weighted: bool,
}

/// The per-flow variables of the listing.
struct Flow {
    pair: (u64, u64),
    weight: f64,
    q: u64,
    packets: usize,
    rate: f64,
    beta: f64,
    count: u64,
    qtime: Time,
}

/// BARE with plain lists.
pub(crate) struct Reference {
    s: Settings,
    queue: Vec<SimplePacket>,
    flows: Vec<Flow>,
    /// The pairs without a queued packet, in the order in which their last packet left.
    idle: Vec<(u64, u64)>,
    /// The same pairs in the order in which the draw for a reused state counts them.
    drawable: Vec<(u64, u64)>,
    pub(crate) avgq: f64,
    drop: Stream,
    reuse: Stream,
    pub(crate) events: Vec<Event>,
}

fn pair(p: &SimplePacket) -> (u64, u64) {
    p.hosts.map_or((p.flow, p.flow), |(source, destination)| (source.into(), destination.into()))
}

impl Reference {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            queue: Vec::new(),
            flows: Vec::new(),
            idle: Vec::new(),
            drawable: Vec::new(),
            avgq: 0.0,
            drop: seed.stream("bare"),
            reuse: seed.stream("reuse"),
            events: Vec::new(),
        }
    }

    pub(crate) fn packets(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.bytes)).sum()
    }

    fn nflow(&self) -> f64 {
        self.flows.iter().map(|flow| flow.weight).sum::<f64>().max(1.0)
    }

    fn vmaxq(&self) -> f64 {
        let (n, Settings { hi, lo, n1, n2, .. }) = (self.nflow(), self.s);
        if n <= n1 {
            hi * n
        } else if n <= n2 {
            hi * n1 + (lo * n2 - hi * n1) * ((n - n1) / (n2 - n1))
        } else {
            lo * n
        }
    }

    fn maxth(&self, i: usize) -> f64 {
        self.flows[i].weight * self.vmaxq() / self.nflow()
    }

    fn account(&mut self) {
        let q = self.bytes() as f64;
        self.avgq = (1.0 - self.s.w_q) * self.avgq + self.s.w_q * q;
    }

    fn adapt(&mut self, i: usize) {
        if (self.flows[i].count as f64) < 4.0 * self.maxth(i) {
            return;
        }
        // Either the rate and its fair part, or the average queue and its fair part.
        let all = if self.s.queue_weight.is_some() { self.avgq } else { self.s.bw };
        let fair = self.flows[i].weight * all / self.nflow();
        let ratio = if fair > 0.0 { self.flows[i].rate / fair } else { 0.0 };
        let targetq = (self.vmaxq() / 2.0).min(self.s.maxtargetq);
        let [_, min, max] = self.s.beta;
        let beta = self.flows[i].beta;
        self.flows[i].beta =
            if ratio > 1.0 && self.avgq > targetq { (beta / ratio).max(min) } else { (beta * self.s.a).min(max) };
        self.flows[i].count = 0;
    }

    fn drop(&mut self, p: SimplePacket, reason: Reason) {
        self.events.push(Event::Dropped(p.id, reason));
    }

    fn forget(&mut self, pair: (u64, u64)) {
        self.flows.retain(|flow| flow.pair != pair);
        self.awake(pair);
    }

    fn awake(&mut self, pair: (u64, u64)) {
        self.idle.retain(|&other| other != pair);
        if let Some(at) = self.drawable.iter().position(|&other| other == pair) {
            self.drawable.swap_remove(at);
        }
    }

    fn expire(&mut self, now: Time) {
        for pair in self.idle.clone() {
            let since = self.flows.iter().find(|flow| flow.pair == pair).map(|flow| now.since(flow.qtime));
            if since.is_some_and(|since| since >= self.s.timeout) {
                self.forget(pair);
            }
        }
    }

    fn find(&self, p: &SimplePacket) -> Option<usize> {
        self.flows.iter().position(|flow| flow.pair == pair(p))
    }

    fn push(&mut self, now: Time, i: usize, p: SimplePacket) {
        self.flows[i].q += u64::from(p.bytes);
        self.flows[i].packets += 1;
        self.flows[i].qtime = now;
        self.awake(pair(&p));
        self.queue.push(p);
        self.account();
    }

    pub(crate) fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.expire(now);
        let q = self.bytes();
        let full = q + u64::from(p.bytes) > self.s.maxq || self.queue.len() >= self.s.maxq_packets;
        if q as f64 >= self.vmaxq() || full {
            return self.drop(p, Reason::Limit);
        }
        let Some(i) = self.find(&p) else {
            if self.flows.len() == self.s.maxnflow {
                let at = self.reuse.below(self.drawable.len() as u32) as usize;
                let Some(&unlucky) = self.drawable.get(at) else { return self.drop(p, Reason::Limit) };
                self.forget(unlucky);
            }
            let weight = if self.s.weighted { 1.0 + f64::from(p.class / 64) } else { 1.0 };
            let count = u64::from(p.bytes);
            let beta = self.s.beta[0];
            self.flows.push(Flow { pair: pair(&p), weight, q: 0, packets: 0, rate: 0.0, beta, count, qtime: now });
            return self.push(now, self.flows.len() - 1, p);
        };
        if q >= self.s.fdth {
            return self.drop(p, Reason::FairDrop);
        }
        self.flows[i].count += u64::from(p.bytes);
        self.adapt(i);
        let u = self.drop.unit();
        let part = (self.flows[i].q + u64::from(p.bytes)) as f64 / self.maxth(i);
        if u < libm::pow(part, self.flows[i].beta) {
            return self.drop(p, Reason::Early);
        }
        let (size, k) = (f64::from(p.bytes), self.s.k.as_secs());
        let dt = now.since(self.flows[i].qtime).as_secs();
        let e = libm::exp(-dt / k);
        let rate = self.flows[i].rate;
        self.flows[i].rate = match self.s.queue_weight {
            // Equation 5, after the packet has joined the queue.
            Some(weight) => weight * (self.flows[i].q + u64::from(p.bytes)) as f64 + (1.0 - weight) * rate,
            None if dt > 0.0 => (1.0 - e) * size / dt + e * rate,
            None => rate + size / k,
        };
        self.push(now, i, p);
    }

    pub(crate) fn dequeue(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let p = self.queue.remove(0);
        self.events.push(Event::Departed(p.id));
        if let Some(i) = self.find(&p) {
            self.flows[i].q -= u64::from(p.bytes);
            self.flows[i].packets -= 1;
            if self.flows[i].packets == 0 {
                self.idle.push(pair(&p));
                self.drawable.push(pair(&p));
            }
            self.adapt(i);
        }
        self.account();
    }
}
