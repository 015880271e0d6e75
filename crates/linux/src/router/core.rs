//! State shared by all data paths: the shaper, the pending commands and the report.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::Sender;

use fairlane_qdisc::{AnyConfig, Duration, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::bridge::BridgeError;
use crate::packet::classifier::{Classifier, PacketNeeds};
use crate::router::config::BridgeConfig;
use crate::router::handle::{Command, Reload, RouterHandle};
use crate::router::report::Report;
use crate::shaper::Shaper;
use crate::shaper::top_flows::TopFlows;
use crate::sys::clock::now;

/// The interval between reports.
pub(super) const PUBLISH_INTERVAL: Duration = Duration::from_millis(250);

/// The shortest wait that is worth a system call.
const MIN_WAIT: Duration = Duration::from_nanos(2_000);

/// The interfaces that a bridge is to open, and the place for the result.
type Preparation = (Option<BridgeConfig>, Sender<Result<(), BridgeError>>);

/// A router without its drivers.
pub(super) struct Core {
    pub(super) shaper: Shaper<TopFlows>,
    pub(super) classifier: Classifier,
    pub(super) handle: RouterHandle,
    /// The configuration of the discipline that takes new packets.
    config: AnyConfig,
    reloads: u64,
    /// Interfaces to open, or to close; for the loop, which has the driver.
    pub(super) preparation: Option<Preparation>,
    /// `true` if a bridge moves to the interfaces that were prepared.
    pub(super) moves: bool,
    /// The time at which the router ends even if packets wait; `None` until it is told to stop.
    end: Option<Time>,
}

impl Core {
    /// Returns a core whose `shaper` has one discipline, built from `config`.
    pub(super) const fn new(
        shaper: Shaper<TopFlows>,
        config: AnyConfig,
        classifier: Classifier,
        handle: RouterHandle,
    ) -> Self {
        Self { shaper, classifier, handle, config, reloads: 0, preparation: None, moves: false, end: None }
    }

    /// Executes the pending commands. Returns `true` if one of them was to stop.
    pub(super) fn run_commands(&mut self, now: Time) -> bool {
        let mut stop = false;
        for command in self.handle.take_commands() {
            match command {
                Command::Reload(reload) => self.reload(*reload),
                Command::Prepare(bridge, told) => self.preparation = Some((bridge, told)),
                // A rate of 0 would never send.
                Command::SetRate(rate) if rate.bits_per_second() > 0 => self.shaper.set_link_rate(rate),
                Command::SetRate(_) => {}
                Command::Stop(max_wait) => {
                    self.end = Some(now + max_wait);
                    stop = true;
                }
            }
        }
        stop
    }

    fn reload(&mut self, Reload { config, discipline, link, flows, mtu }: Reload) {
        let same_flows = flows == self.classifier.keys.by();
        if config == self.config && same_flows {
            self.shaper.set_link_rate(link.rate);
        } else {
            // A discipline compares only flows that are defined in the same way.
            self.shaper.replace(discipline, link.rate);
            self.config = config;
        }
        if !same_flows {
            self.classifier.keys = self.classifier.keys.with(flows);
            *self.shaper.observer_mut() = TopFlows::new(flows);
        }
        (self.classifier.layer, self.classifier.mtu) = (link.layer, mtu);
        self.classifier.needs = PacketNeeds::of(&self.config);
        self.moves = true;
        self.reloads += 1;
    }

    /// Returns `true` if the router was told to stop and either the queue is empty and `more` is `false`, or the time
    /// is up. `more` says that there may be packets to receive.
    pub(super) fn is_finished(&self, now: Time, more: bool) -> bool {
        self.end.is_some_and(|end| now >= end || (!more && self.shaper.packets() == 0))
    }

    /// Returns the time until the link may have a packet to send or the next report is due.
    pub(super) fn max_sleep(&self, now: Time) -> Duration {
        self.shaper.due().map_or(PUBLISH_INTERVAL, |due| due.since(now).min(PUBLISH_INTERVAL))
    }

    /// Returns a report without the counts of the drivers.
    pub(super) fn report(&self) -> Report {
        Report {
            at: now(),
            counters: self.shaper.counters().clone(),
            packets: self.shaper.packets(),
            bytes: self.shaper.bytes(),
            average: self.shaper.average(),
            sojourn: *self.shaper.sojourn(),
            lateness: *self.shaper.lateness(),
            flows: self.shaper.observer().heaviest(),
            reloads: self.reloads,
            ..Report::default()
        }
    }
}

/// Waits until one of `sources` is readable, at most for `timeout`. Returns `true` if a source has an error.
pub(super) fn wait<'f>(sources: impl Iterator<Item = BorrowedFd<'f>>, timeout: Duration) -> io::Result<bool> {
    if timeout <= MIN_WAIT {
        return Ok(false);
    }
    let timeout = TimeSpec::new(0, timeout.as_nanos() as i64);
    let mut ready: Vec<PollFd<'_>> = sources.map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
    match ppoll(&mut ready, Some(timeout), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let failed = |ready: &PollFd<'_>| ready.revents().is_some_and(|events| events.contains(PollFlags::POLLERR));
    Ok(ready.iter().any(failed))
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::headers::{FlowId, FlowsBy, Headers, LinkType};
    use fairlane_qdisc::{Host, Kind, QdiscConfig, QdiscParameters, Rate, Seed};

    use super::*;
    use crate::nfqueue::PacketMessage;
    use crate::packet::link_layer::{Framing, LinkLayer};
    use crate::router::config::Link;
    use crate::router::config::{DataPath, QueueConfig, RouterConfig};
    use crate::shaper::queued_packet::{Marking, QueuedPacket};

    const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);
    const TWO_MEGABITS: Rate = Rate::from_bits_per_second(2_000_000);

    fn resolve(kind: Kind, rate: Rate) -> QdiscConfig {
        QdiscParameters::new(kind).resolve(rate).unwrap()
    }

    fn core(config: &QdiscConfig) -> Core {
        let discipline = config.build(&Host { rate: MEGABIT, seed: Seed::new(1) }).unwrap();
        let shaper = Shaper::new(discipline, MEGABIT, Marking::ByUs, TopFlows::new(FlowsBy::FiveTuple));
        let classifier = Classifier::new(FlowsBy::FiveTuple, LinkLayer::default());
        Core::new(shaper, config.config().clone(), classifier, RouterHandle::new().unwrap())
    }

    fn reload(core: &Core, discipline: QdiscConfig, link: Link, flows: FlowsBy) {
        let queue = QueueConfig {
            queues: 0.into(),
            marking: Marking::ByUs,
            repeat: None,
            fail_open: false,
            gso: true,
            mtu: Some(1400),
        };
        let path = DataPath::Queue(queue);
        core.handle.reload(&RouterConfig { path, link, discipline, flows }).unwrap();
    }

    /// Offers 40 packets of 1000 bytes at time zero.
    fn fill(core: &mut Core) {
        let payload = [0; 28];
        assert_eq!(Headers::read(LinkType::Raw, &payload, 1000).ecn(), 0, "the packets are not ECN-capable");
        for id in 0..40 {
            let packet =
                PacketMessage { queue: 0, id, mark: 0, payload: &payload, bytes: 1000, gso: false, hosts: None };
            let packet = QueuedPacket::new(&packet, &core.classifier, Marking::ByUs);
            core.shaper.arrive(Time::ZERO, packet);
        }
    }

    /// Would catch a reload that keeps the size that packets had on the old link, and a command that is executed twice.
    #[test]
    fn a_reload_changes_discipline_and_link() {
        let mut core = core(&resolve(Kind::Red, MEGABIT));
        let layer = LinkLayer::new(38, 84, Framing::Ptm).unwrap();
        reload(&core, resolve(Kind::DropTail, MEGABIT), Link { rate: MEGABIT, layer }, FlowsBy::FiveTuple);
        assert_eq!(
            (core.classifier.layer, core.report().reloads),
            (LinkLayer::default(), 0),
            "nothing is executed yet"
        );
        assert!(!core.run_commands(Time::ZERO));
        // RED has an average, DropTail has none.
        let report = core.report();
        assert_eq!((core.classifier.layer, core.classifier.mtu), (layer, Some(1400)));
        assert_eq!((report.reloads, report.average), (1, None));
        assert!(!core.run_commands(Time::ZERO) && core.report().reloads == 1, "a command is executed once");
    }

    /// The average of RED tells whether it is the discipline from before: a new one begins at 0. At 1 Mbit/s packets of
    /// 1000 bytes leave 8 ms apart, at 2 Mbit/s 4 ms. Would catch a rate-only reload that loses the state or keeps the
    /// old rate.
    #[test]
    fn a_reload_that_changes_only_the_rate_keeps_the_state() {
        let red = resolve(Kind::Red, MEGABIT);
        let mut core = core(&red);
        fill(&mut core);
        let (before, packets) = (core.report(), core.shaper.packets());
        assert!(before.average > Some(0.0) && packets > 20, "{before:?}");
        let link = Link { rate: TWO_MEGABITS, layer: LinkLayer::default() };
        let red = red.parameters().resolve(TWO_MEGABITS).unwrap();
        reload(&core, red.clone(), link, FlowsBy::FiveTuple);
        core.run_commands(Time::ZERO);
        let after = core.report();
        assert_eq!((after.average, after.packets, after.reloads), (before.average, before.packets, 1));
        core.shaper.advance(Time::ZERO + Duration::from_millis(8 + 4));
        assert_eq!(core.shaper.packets(), packets - 2, "the packet under way, and one at the new rate");
        // Another value of a parameter is another discipline.
        let other = red.parameters().clone().with("limit", "900p").unwrap().resolve(TWO_MEGABITS).unwrap();
        reload(&core, other, link, FlowsBy::FiveTuple);
        core.run_commands(Time::ZERO + Duration::from_millis(12));
        assert_eq!((core.report().average, core.report().packets), (Some(0.0), packets - 2));
    }

    /// Packets between the same hosts from other ports are one flow by address pair and two by five-tuple. Would catch
    /// a discipline that compares packets whose flows are defined differently, packets that are lost, and names of
    /// flows as before.
    #[test]
    fn other_flows_take_another_discipline_and_keep_the_packets() {
        let red = resolve(Kind::Red, MEGABIT);
        let mut core = core(&red);
        fill(&mut core);
        let (before, packets) = (core.report(), core.shaper.packets());
        let key = |core: &Core, ports| {
            let [source, destination] = [1, 2].map(|host| std::net::Ipv4Addr::new(10, 0, 0, host).into());
            core.classifier.keys.key(FlowId::Ip { protocol: 17, source, destination, ports: Some(ports) })
        };
        let keys = |core: &Core| [key(core, (1, 9)), key(core, (2, 9))];
        let [one, other] = keys(&core);
        assert_ne!(one, other);
        let link = Link { rate: MEGABIT, layer: LinkLayer::default() };
        reload(&core, red.clone(), link, FlowsBy::AddressPair);
        core.run_commands(Time::ZERO);
        let [pair, same] = keys(&core);
        assert_eq!(pair, same);
        let after = core.report();
        assert!(before.average > Some(0.0) && after.average == Some(0.0), "{after:?}");
        assert_eq!((after.packets, after.counters.dropped_total()), (packets, before.counters.dropped_total()));
        assert!(after.flows.is_empty(), "{:?}", after.flows);
        reload(&core, red, link, FlowsBy::FiveTuple);
        core.run_commands(Time::ZERO);
        assert_eq!((keys(&core), core.report().packets), ([one, other], packets), "the key stays");
    }

    /// Would catch a controller of the rate that replaces the discipline each time,
    /// and a rate of 0 that ends all sending.
    #[test]
    fn a_rate_alone_keeps_the_discipline() {
        let mut core = core(&resolve(Kind::DropTail, MEGABIT));
        fill(&mut core);
        let packets = core.shaper.packets();
        for rate in [4_000_000, 3_000_000, 2_000_000].map(Rate::from_bits_per_second) {
            core.handle.set_rate(rate);
        }
        core.run_commands(Time::ZERO);
        assert_eq!((core.shaper.packets(), core.report().reloads), (packets, 0));
        core.shaper.advance(Time::ZERO + Duration::from_millis(8 + 4));
        assert_eq!(core.shaper.packets(), packets - 2, "the packet under way, and one at the new rate");
        core.handle.set_rate(Rate::from_bits_per_second(0));
        core.run_commands(Time::ZERO + Duration::from_millis(12));
        core.shaper.advance(Time::ZERO + Duration::from_millis(12 + 4));
        assert_eq!(core.shaper.packets(), packets - 3);
    }

    /// Reloads each discipline for another rate, on which defaults of some parameters depend. Would catch a comparison
    /// of the parameters as they were given, which would keep a discipline with the old values.
    #[test]
    fn a_rate_that_changes_the_configuration_replaces_the_discipline() {
        for kind in Kind::ALL {
            let [slow, fast] = [MEGABIT, Rate::from_bits_per_second(1_000_000_000)].map(|rate| resolve(kind, rate));
            let mut core = core(&slow);
            let link = Link { rate: TWO_MEGABITS, layer: LinkLayer::default() };
            reload(&core, fast.clone(), link, FlowsBy::FiveTuple);
            core.run_commands(Time::ZERO);
            assert_eq!(core.config, *fast.config(), "{kind}");
        }
    }

    /// Would catch an end while there may be more packets to receive, an end that never comes, and a second command to
    /// stop that does not shorten the wait.
    #[test]
    fn it_is_finished_when_the_queue_is_empty_or_time_is_up() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut core = core(&resolve(Kind::Red, MEGABIT));
        assert!(!core.run_commands(at(0)) && !core.is_finished(at(0), false), "it was not told to stop");
        core.handle.stop(Duration::from_millis(500));
        assert!(core.run_commands(at(100)));
        assert_eq!(
            [(at(200), false), (at(200), true), (at(600), true)].map(|(now, more)| core.is_finished(now, more)),
            [true, false, true]
        );
        core.handle.stop(Duration::ZERO);
        assert!(core.run_commands(at(300)) && core.is_finished(at(300), true));
    }
}
