//! Disciplines before a bottleneck keep their properties.

use fairlane_link::Config;
use fairlane_qdisc::discipline::cake::{self, Cake};
use fairlane_qdisc::discipline::choke::{self, Choke};
use fairlane_qdisc::discipline::codel::{self, Codel, CodelParameters};
use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Qdisc, Reason, Seed, SimplePacket, Status, Time};

use crate::caller::{cross, link, mbit};

/// Returns 100,000 datagrams of 1000 bytes at 16 Mbit/s: twice the rate of the links below.
fn flood() -> impl Iterator<Item = (Time, SimplePacket)> {
    (0..100_000).map(|id| (Time::from_nanos(id * 500_000), SimplePacket::new(1, 1000).with_ecn()))
}

/// Would catch a discipline that is not asked, or whose queue a slow link does not fill. A drop candidate of the only
/// flow always matches (CHOKe, INFOCOM 2000, section II-A): half of the flood is dropped in pairs, by nothing else, and
/// the link stays busy.
#[test]
fn choke_drops_a_single_flow_in_pairs() {
    let queue = Choke::new(choke::Config::default(), Seed::new(1)).expect("defaults");
    let mut link = link(Config::new(mbit(8)), queue);
    let popped = cross(&mut link, flood());
    let counters = link.queue().counters();
    let (arrivals, victims) = (counters.dropped(Reason::MatchArrival), counters.dropped(Reason::MatchVictim));
    assert_eq!((arrivals, arrivals.packets + victims.packets), (victims, counters.dropped_total().packets));
    assert_eq!(popped.len() as u64, 100_000 - 2 * victims.packets);
    // 50 s of a datagram a millisecond, and the queue at the end, which is at its lower threshold of 100.
    assert!((50_000..50_200).contains(&popped.len()), "{}", popped.len());
}

/// Would catch marks that are lost on the way, or counted and not written: RFC 8289 marks instead of dropping.
#[test]
fn a_mark_reaches_the_far_end() {
    let codel = CodelParameters { ecn: true, ..CodelParameters::default() };
    let config = codel::Config { codel, ..codel::Config::default() };
    let queue = Codel::new(config, Seed::new(1)).expect("defaults, with ECN");
    let mut link = link(Config::new(mbit(8)), queue);
    let marked = cross(&mut link, flood()).iter().filter(|(_, datagram)| datagram.marked).count() as u64;
    assert!(marked > 0);
    assert_eq!(link.queue().counters().marked(Reason::AqmDequeue).packets, marked);
}

/// Would catch a packet that is held back for ever or leaves early: CAKE shapes to 2 Mbit/s before a link of 8, so that
/// a datagram of 1000 bytes follows every 4 ms and takes 1 ms.
#[test]
fn a_discipline_that_holds_packets_back_is_asked_when_it_is_ready() {
    let config = cake::Config { bandwidth: Some(mbit(2)), ..cake::Config::default() };
    let queue: BoxQdisc<SimplePacket> = Box::new(Cake::new(config, Seed::new(1)).expect("a rate"));
    let popped = cross(&mut link(Config::new(mbit(8)), queue), flood().take(100));
    let times: Vec<u64> = popped.iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(times, (0..100).map(|n| 1_000_000 + n * 4_000_000).collect::<Vec<u64>>());
}

/// A discipline that is always ready, it says, and keeps its packets.
#[derive(Default)]
struct Keeper {
    kept: usize,
    counters: Counters,
}

impl Qdisc<SimplePacket> for Keeper {
    fn enqueue(&mut self, _now: Time, _packet: SimplePacket, _sink: &mut dyn DropSink<SimplePacket>) -> Fate {
        self.kept += 1;
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<SimplePacket>) -> Option<SimplePacket> {
        None
    }
    fn status(&self) -> Status {
        let mut status = Status::new(self.kept, 0);
        status.ready_at = Some(Time::ZERO);
        status
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Would catch an endless loop in a call, or of the caller's events, on a discipline that breaks its promise.
#[test]
fn time_advances_though_a_discipline_stalls() {
    let mut link = link(Config::new(mbit(8)), Keeper::default());
    link.push(Time::ZERO, SimplePacket::new(1, 1000));
    assert_eq!((link.pop(Time::from_nanos(9)), link.next()), (None, Some(Time::from_nanos(10))));
}
