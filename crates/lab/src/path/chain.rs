//! One direction of the dumbbell: the source host's link, the bottleneck with its queue, and the destination host's
//! link.
//!
//! Times are those of the emulated network: each packet arrives and departs when it would on real links. If the machine
//! is late, a packet is late, but the times of later packets do not depend on it.

use fairlane_link::{Bottleneck, LinkObserver};
use fairlane_linux::QueuedPacket;
use fairlane_outcome::QueueSample;
use fairlane_qdisc::{
    BoxQdisc, Count, Counters, Host, Packet, ParameterError, Qdisc as _, Reason, Seed, Status, Tagged, Time,
};
use fairlane_scenario::LinkSide;

use super::{DelayLine, Entry, HostLinks, LinkPacket, Wire};

/// One direction, without a clock or an interface: packets arrive, time passes, and packets come out. `M` counts them.
pub struct Chain<M> {
    hosts: HostLinks,
    before: DelayLine<LinkPacket>,
    link: Bottleneck<LinkPacket, BoxQdisc<LinkPacket>, Wire, Collector<M>>,
    after: DelayLine<LinkPacket>,
    /// The sum of the discipline's averages after each arrival since the start of the measurement, and their number.
    averages: (f64, u64),
}

/// Collects packets that are dropped or lost for an observer.
#[derive(Debug)]
struct Collector<M> {
    meter: M,
    gone: Vec<u32>,
    /// Packets dropped before the queue.
    policed: Count,
}

impl<M: LinkObserver<LinkPacket>> Chain<M> {
    /// Creates the direction of `side`, whose link has this name, without links of hosts. `seed` is that of the run,
    /// from which the simulator takes the same random numbers. Time zero of the scenario is at `zero`.
    ///
    /// # Errors
    /// The discipline cannot be built.
    pub fn new(side: &LinkSide, name: &str, seed: Seed, zero: Time, meter: M) -> Result<Self, ParameterError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed: seed.named("queue").named(name) })?;
        let wire = Wire::new(side, seed.named("wire").named(name), zero);
        Ok(Self {
            hosts: HostLinks::default(),
            before: DelayLine::new(),
            link: Bottleneck::with_line(
                discipline,
                wire,
                Collector { meter, gone: Vec::new(), policed: Count::default() },
            ),
            after: DelayLine::new(),
            averages: (0.0, 0),
        })
    }

    /// Returns the direction between these links of hosts.
    pub(crate) fn between(self, hosts: HostLinks) -> Self {
        Self { hosts, ..self }
    }

    /// Takes a packet of `flow` that leaves its source at `now`.
    pub fn arrive(&mut self, now: Time, flow: u32, packet: QueuedPacket) {
        match self.hosts.pass(false, flow, now, packet.bytes()) {
            Some(since) => self.before.push(since, Tagged::new(packet, Entry { since, flow })),
            None => self.link.observer_mut().gone.push(packet.id),
        }
    }

    /// Processes all events up to `now` in order.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, packet)) = self.before.pop(now) {
            self.link.push(at, packet);
            if let Some(average) = self.link.queue().status().average {
                self.averages = (self.averages.0 + average, self.averages.1 + 1);
            }
        }
        while let Some((at, packet)) = self.link.pop_timed(now) {
            match self.hosts.pass(true, packet.tag.flow, at, packet.bytes()) {
                Some(there) => self.after.push(there, packet),
                None => self.link.observer_mut().gone.push(packet.packet.id),
            }
        }
    }

    /// Removes and returns the next packet that has reached the other end by `now`, up to which the chain has
    /// [advanced](Self::advance), with the time of its arrival.
    pub fn pop(&mut self, now: Time) -> Option<(Time, LinkPacket)> {
        self.after.pop(now)
    }

    /// Removes and returns the packets that were dropped or lost.
    pub fn gone(&mut self) -> std::vec::Drain<'_, u32> {
        self.link.observer_mut().gone.drain(..)
    }

    /// Returns the time of the next event.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        [self.before.next(), self.link.next(), self.after.next()].into_iter().flatten().min()
    }

    /// Returns the counts.
    #[must_use]
    pub const fn meter(&self) -> &M {
        &self.link.observer().meter
    }

    /// Returns the counts for changes.
    pub const fn meter_mut(&mut self) -> &mut M {
        &mut self.link.observer_mut().meter
    }

    /// Returns the mean rate of the link in bit/s from `from` to `to`.
    #[must_use]
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        self.link.line().mean_rate(from, to)
    }

    /// Returns the mean of the discipline's average behind each arrival; `None` if it keeps none.
    #[must_use]
    pub fn mean_average(&self) -> Option<f64> {
        (self.averages.1 > 0).then(|| self.averages.0 / self.averages.1 as f64)
    }

    /// Returns the counts of the queue since the start of the run. As in the simulator, packets that a policer drops
    /// have arrived.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let (mut counters, policed) = (self.link.queue().counters().clone(), self.link.observer().policed);
        counters.arrived.packets += policed.packets;
        counters.arrived.bytes += policed.bytes;
        counters.add_drops(Reason::Policed, policed);
        counters
    }

    /// Returns the state of the queue, and its [counts](Self::counters).
    #[must_use]
    pub fn sample(&self) -> QueueSample {
        let counters = self.counters();
        let Status { packets, bytes, average, probability, .. } = self.link.queue().status();
        QueueSample {
            link: 0,
            arrived: counters.arrived,
            departed: counters.departed,
            dropped: counters.dropped_total(),
            marked: counters.marked_total(),
            backlog: Count { packets: packets as u64, bytes },
            average,
            probability,
        }
    }

    /// Begins the scenario at `now`.
    pub(crate) fn start(&mut self, now: Time) {
        self.link.line_mut().start(now);
    }

    /// Begins the measurement. The meter has its own beginning.
    pub(crate) fn begin(&mut self) {
        self.hosts.begin();
        self.averages = (0.0, 0);
    }

    /// Returns the links of the hosts.
    pub(crate) const fn hosts(&self) -> &HostLinks {
        &self.hosts
    }
}

impl<M: LinkObserver<LinkPacket>> LinkObserver<LinkPacket> for Collector<M> {
    fn arrived(&mut self, now: Time, packet: &LinkPacket) {
        self.meter.arrived(now, packet);
    }

    fn departed(&mut self, now: Time, packet: &LinkPacket) {
        self.meter.departed(now, packet);
    }

    fn dropped(&mut self, now: Time, packet: LinkPacket, reason: Reason) {
        if reason == Reason::Policed {
            self.policed.add(packet.bytes());
        }
        self.gone.push(packet.packet.id);
        self.meter.dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &LinkPacket, reason: Reason) {
        self.meter.marked(now, packet, reason);
    }

    fn lost(&mut self, now: Time, packet: LinkPacket) {
        self.gone.push(packet.packet.id);
        self.meter.lost(now, packet);
    }
}

#[cfg(test)]
mod tests {
    use fairlane_linux::nfqueue::PacketMessage;
    use fairlane_linux::{Classifier, LinkLayer, Marking};
    use fairlane_outcome::QueueFlowRun;
    use fairlane_qdisc::headers::FlowsBy;
    use fairlane_qdisc::{Duration, Kind, QdiscConfig, QdiscParameters, Rate};
    use fairlane_scenario::Access;

    use super::*;
    use crate::path::HostLink;
    use crate::router::meter::Meter;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn droptail(limit: &str) -> QdiscConfig {
        let parameters = QdiscParameters::new(Kind::DropTail).with("limit", limit).unwrap();
        parameters.resolve(Rate::from_bits_per_second(4_000_000)).unwrap()
    }

    /// Returns a host's link of 8 Mbit/s.
    fn host(delay: u64, limit: &str) -> Option<HostLink> {
        let (rate, delay) = (Rate::from_bits_per_second(8_000_000), Duration::from_millis(delay));
        Some(HostLink::new(&Access { rate, delay, queue: droptail(limit) }, 1000))
    }

    fn chain(side: &LinkSide, zero: Time) -> Chain<Meter> {
        let mut chain = Chain::new(side, "bottleneck", Seed::new(1), zero, Meter::new(1)).unwrap();
        begin(&mut chain, zero);
        chain
    }

    fn begin(chain: &mut Chain<Meter>, now: Time) {
        chain.begin();
        chain.meter_mut().begin(now);
    }

    /// Returns a bottleneck of 4 Mbit/s and 5 ms with a limit of `limit`, between host links of 8 Mbit/s with 2 ms and
    /// 3 ms.
    fn direction(limit: &str) -> (Chain<Meter>, LinkSide) {
        let (rate, wire) = (Rate::from_bits_per_second(4_000_000), fairlane_scenario::Wire::default());
        let side = LinkSide { rate, delay: Duration::from_millis(5), queue: droptail(limit), wire };
        let hosts = HostLinks::new(vec![[host(2, "1000p"), host(3, "1000p")]]);
        (chain(&side, ms(0)).between(hosts), side)
    }

    /// Sends packets of 1000 bytes, of these numbers, from their source.
    fn send(chain: &mut Chain<Meter>, at: Time, ids: impl IntoIterator<Item = u32>) {
        let classifier = Classifier::new(FlowsBy::FiveTuple, LinkLayer::default());
        for id in ids {
            let queued = PacketMessage { queue: 0, id, mark: 0, payload: &[], bytes: 1000, gso: false, hosts: None };
            chain.arrive(at, 0, QueuedPacket::new(&queued, &classifier, Marking::ByRule(1)));
        }
    }

    /// Returns the times of the packets that have arrived by `now`.
    fn arrived(chain: &mut Chain<Meter>, now: Time) -> Vec<(Time, u32)> {
        chain.advance(now);
        std::iter::from_fn(|| chain.pop(now)).map(|(at, packet)| (at, packet.packet.id)).collect()
    }

    fn flow(chain: &mut Chain<Meter>, now: Time, side: &LinkSide) -> QueueFlowRun {
        chain.meter_mut().measured(now, "bottleneck", side).flows.remove(0)
    }

    /// Times by hand in ms. The first packet is sent by its host until 1, reaches the queue at 3, is sent on the link
    /// until 5, reaches the other host's link at 10, is sent there until 11, and arrives at 14. The others follow at
    /// the pace of the bottleneck, 2 ms apart.
    #[test]
    fn each_packet_arrives_when_it_would_on_real_links() {
        let (mut chain, _) = direction("100p");
        send(&mut chain, ms(0), 1..=3);
        let almost = Time::from_nanos(ms(14).as_nanos() - 1);
        assert_eq!((arrived(&mut chain, almost), chain.due()), (vec![], Some(ms(14))));
        for (at, id) in [(14, 1), (16, 2), (18, 3)] {
            assert_eq!(arrived(&mut chain, ms(at)), [(ms(at), id)]);
        }
        assert_eq!(chain.due(), None);
    }

    /// The first call comes much later than the events. Would catch times that depend on the call. The link is free at
    /// 3, 5 and 7 ms and the packets reach the queue at 3, 4 and 5 ms, so they wait 0, 1 and 2 ms.
    #[test]
    fn being_late_changes_no_time_of_the_network() {
        let (mut chain, side) = direction("100p");
        send(&mut chain, ms(0), 1..=3);
        assert_eq!(arrived(&mut chain, ms(100)), [(ms(14), 1), (ms(16), 2), (ms(18), 3)]);
        let queue = chain.meter_mut().measured(ms(100), "bottleneck", &side);
        assert_eq!((queue.flows[0].arrived, queue.flows[0].departed, queue.flows[0].departed_bytes), (3, 3, 3000));
        assert!((queue.mean_packets - 0.03).abs() < 1e-12, "{}", queue.mean_packets);
        assert!((queue.delay_ns.mean() / 1e6 - 1.0).abs() < 2e-3, "{}", queue.delay_ns.mean());
    }

    /// Would catch samples that start anew with the measurement, and counts of the measurement that do not. The first
    /// four packets are those of the next test. A host link with room for one packet in addition to the one that it
    /// sends drops the third of three.
    #[test]
    fn samples_count_from_the_start_of_the_run() {
        let (mut chain, _) = direction("1p");
        send(&mut chain, ms(0), 1..=4);
        chain.advance(ms(100));
        let mut chain = chain.between(HostLinks::new(vec![[host(2, "1p"), None]]));
        send(&mut chain, ms(200), 11..14);
        chain.advance(ms(250));
        assert_eq!((chain.hosts().dropped(), chain.hosts().dropped_since_start()), (vec![1], &[1][..]));
        begin(&mut chain, ms(400));
        assert_eq!((chain.hosts().dropped(), chain.hosts().dropped_since_start()), (vec![0], &[1][..]));
        let QueueSample { arrived, departed, dropped, backlog, average, probability, .. } = chain.sample();
        let counts = (arrived.packets, departed.packets, dropped.packets, backlog.packets);
        assert_eq!((counts, average, probability), ((6, 5, 1, 0), None, None));
        let meter = chain.meter();
        assert_eq!((meter.dropped_since_start().sum::<u64>(), meter.lost_since_start().sum::<u64>()), (1, 0));
        assert_eq!(chain.gone().collect::<Vec<_>>(), [4, 13]);
    }

    /// Times by hand in ms, from the start of the run at 1000 on. 1000 bytes take 2 at 4 Mbit/s. At 3 the rate falls to
    /// 1 Mbit/s, so half of the second packet takes until 7. In the outage from 10 to 20 the third waits, of which 3/8
    /// were sent, and the fourth. Each is at the other end 5 later. Would catch a packet that keeps its first rate, a
    /// link that sends ahead of the wire, and steps from another time than the start.
    #[test]
    fn the_rate_varies_from_the_start_on() {
        let text = r#"
            duration = "1s"
            [bottleneck]
            rate  = { steps = [["0s", "4mbit"], ["3ms", "1mbit"], ["10ms", "0bit"], ["20ms", "1mbit"]], every = "40ms" }
            delay = "5ms"
            [[flows]]
            name = "a"
            kind = "tcp"
        "#;
        let scenario = fairlane_scenario::Document::parse("steps.toml", text).and_then(|document| document.scenario());
        let side = scenario.unwrap_or_else(|error| panic!("{error}")).links.remove(0).forward;
        let mut chain = chain(&side, ms(700));
        chain.start(ms(1000));
        begin(&mut chain, ms(1000));
        send(&mut chain, ms(1000), 1..=4);
        let arrivals = [(1, 7), (2, 12), (3, 30), (4, 38)].map(|(id, at)| (ms(1000 + at), id));
        assert_eq!(arrived(&mut chain, ms(1050)), arrivals);
        // 39 kbit in the 40 ms of a period, and 19 in the 10 ms after it.
        let rate = chain.mean_rate(ms(1000), ms(1050));
        assert!((rate - 58e3 / 0.05).abs() < 1.0, "{rate}");
    }

    /// All packets are lost behind the queue: they are counted as lost and not as dropped, and the link has sent them.
    #[test]
    fn what_the_wire_loses_was_sent() {
        let (_, mut side) = direction("100p");
        side.wire.loss = Some(fairlane_scenario::Loss::independent(1.0));
        let mut chain = chain(&side, ms(0));
        send(&mut chain, ms(0), 1..=3);
        assert_eq!(arrived(&mut chain, ms(100)), []);
        assert_eq!(chain.gone().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(chain.meter().lost_bytes(), [3000]);
        let flow = flow(&mut chain, ms(100), &side);
        assert_eq!((flow.departed, flow.lost, flow.dropped.iter().sum::<u64>()), (3, 3, 0));
    }

    /// The queue holds one packet. Packets reach it at 3, 4, 5 and 6 ms: the first is sent until 5, the second is sent
    /// then, the third takes its place, and the fourth finds the queue full. Would catch a drop that is decided late.
    #[test]
    fn packets_are_dropped_at_once_if_the_queue_is_full() {
        let (mut chain, side) = direction("1p");
        send(&mut chain, ms(0), 1..=4);
        assert_eq!(arrived(&mut chain, ms(6)), []);
        assert_eq!(chain.gone().collect::<Vec<_>>(), [4]);
        assert_eq!(arrived(&mut chain, ms(50)).len(), 3);
        let flow = flow(&mut chain, ms(50), &side);
        assert_eq!((flow.arrived, flow.departed, flow.dropped.iter().sum::<u64>()), (4, 3, 1));
        assert_eq!(chain.hosts().dropped(), [0]);
    }
}
