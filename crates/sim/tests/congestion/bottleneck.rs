//! The path of these tests, with a queue whose limit, marks and losses each test sets.

use std::collections::VecDeque;

use fairlane_outcome::Run;
use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Packet as _, Qdisc, Reason, Seed, Status, Stream, Time};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, Packet, PacketEvent, PacketKind, QueueEvent, run_with};

/// The bandwidth-delay product in packets.
pub(crate) const BDP: usize = 50;

/// A FIFO of `limit` packets that marks arrivals at `mark_at` or more packets, loses packets at random, and has a
/// policer.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) limit: usize,
    pub(crate) mark_at: usize,
    pub(crate) loss: f64,
    /// The delay of the bottleneck; the host links add 2 ms.
    pub(crate) delay_ms: u32,
    /// The rate in bit/s and the bucket in bytes of the policer, which drops the packets beyond them.
    pub(crate) policer: Option<(f64, f64)>,
}

impl Queue {
    pub(crate) const fn of(limit: usize) -> Self {
        Self { limit, mark_at: usize::MAX, loss: 0.0, delay_ms: 18, policer: None }
    }
}

struct Fifo {
    settings: Queue,
    packets: VecDeque<Packet>,
    counters: Counters,
    random: Stream,
    /// The bytes in the policer's bucket, which begins empty, and the time of the last arrival.
    tokens: f64,
    last: Time,
}

impl Fifo {
    /// Returns true if the policer lets a packet of `bytes` pass.
    fn passes(&mut self, now: Time, bytes: u32) -> bool {
        let Some((rate, bucket)) = self.settings.policer else { return true };
        self.tokens = (self.tokens + now.since(self.last).as_secs() * rate / 8.0).min(bucket);
        self.last = now;
        let passes = self.tokens >= f64::from(bytes);
        self.tokens -= if passes { f64::from(bytes) } else { 0.0 };
        passes
    }

    fn drop(&mut self, now: Time, packet: Packet, reason: Reason, sink: &mut dyn DropSink<Packet>) -> Fate {
        self.counters.count_drop(reason, packet.bytes());
        sink.dropped(now, packet, reason);
        Fate::Dropped(reason)
    }
}

impl Qdisc<Packet> for Fifo {
    fn enqueue(&mut self, now: Time, mut packet: Packet, sink: &mut dyn DropSink<Packet>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        if self.random.chance(self.settings.loss) || !self.passes(now, packet.bytes()) {
            return self.drop(now, packet, Reason::Early, sink);
        }
        if self.packets.len() >= self.settings.limit {
            return self.drop(now, packet, Reason::Limit, sink);
        }
        let mut fate = Fate::Queued;
        if self.packets.len() >= self.settings.mark_at && packet.ecn_capable() {
            packet.mark_ce();
            self.counters.count_mark(Reason::Early, packet.bytes());
            sink.marked(now, &packet, Reason::Early);
            fate = Fate::Marked(Reason::Early);
        }
        self.packets.push_back(packet);
        fate
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }
    fn status(&self) -> Status {
        Status::new(self.packets.len(), self.packets.iter().map(|packet| u64::from(packet.bytes())).sum())
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// The data packets at the bottleneck, in order of time.
#[derive(Default)]
pub(crate) struct Seen {
    /// The arrival times, with the number of packets in the queue.
    pub(crate) arrivals: Vec<(Time, usize)>,
    pub(crate) drops: Vec<Time>,
}

impl Observer for Seen {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link != 0 || event.kind != PacketKind::Data {
            return;
        }
        match event.queue_event {
            QueueEvent::Arrived => self.arrivals.push((event.at, event.backlog)),
            QueueEvent::Dropped(_) => self.drops.push(event.at),
            QueueEvent::Departed { .. } | QueueEvent::Marked(_) | QueueEvent::Lost => {}
        }
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Runs `flows`, groups without name, kind and packet size, for `seconds`, of which the first `warmup` do not count.
pub(crate) fn simulate(flows: &[&str], queue: Queue, (warmup, seconds): (u32, u32)) -> (Run, Seen) {
    let delay = queue.delay_ms;
    let mut text = format!(
        "duration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\n[bottleneck]\nrate = \"10mbit\"\ndelay = \"{delay}ms\"\n\
         [access]\nrate = \"1gbit\"\ndelay = \"1ms\"\n[tcp]\npreset = \"modern\"\ndelayed_ack = false\n"
    );
    for (index, flow) in flows.iter().enumerate() {
        text += &format!("[[flows]]\nname = \"f{index}\"\nkind = \"tcp\"\n{flow}\n");
        if !flow.lines().any(|line| line.starts_with("start = ")) {
            text += "start = \"0s\"\n";
        }
    }
    let scenario = Document::parse("test.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen::default();
    let run = run_with(&scenario, 0, &Control::default(), &mut seen, |link, _host| {
        let (counters, random) = (Counters::default(), Seed::new(1).stream("losses"));
        let fifo = Fifo { settings: queue, packets: VecDeque::new(), counters, random, tokens: 0.0, last: Time::ZERO };
        (link == "bottleneck").then(|| ("fifo", Box::new(fifo) as BoxQdisc<Packet>))
    });
    (run.expect("it runs"), seen)
}

/// Returns the utilisation of the bottleneck.
pub(crate) fn utilisation(run: &Run) -> f64 {
    rates(run).iter().sum::<f64>() / 10e6
}

/// Returns the rate in bit/s that left the bottleneck, by flow.
pub(crate) fn rates(run: &Run) -> Vec<f64> {
    let seconds = run.to_s - run.from_s;
    run.queues[0].flows.iter().map(|flow| 8.0 * flow.departed_bytes as f64 / seconds).collect()
}
