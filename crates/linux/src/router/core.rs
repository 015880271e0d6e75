//! State shared by all data paths: the shaper, the pending commands and the report.

use std::io;
use std::os::fd::BorrowedFd;

use fairlane_qdisc::{AnyConfig, Duration, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::classifier::Classifier;
use crate::clock::now;
use crate::handle::{Command, Reload, RouterHandle};
use crate::report::Report;
use crate::shaper::Shaper;
use crate::top_flows::TopFlows;

/// The interval between reports.
pub(super) const PUBLISH_INTERVAL: Duration = Duration::from_millis(250);

/// The shortest wait that is worth a system call.
const MIN_WAIT: Duration = Duration::from_nanos(2_000);

/// A router without its drivers.
pub(super) struct Core {
    pub(super) shaper: Shaper<TopFlows>,
    pub(super) classifier: Classifier,
    pub(super) handle: RouterHandle,
    /// The configuration of the discipline that takes new packets.
    config: AnyConfig,
    reloads: u64,
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
        Self { shaper, classifier, handle, config, reloads: 0, end: None }
    }

    /// Executes the pending commands. Returns `true` if one of them was to stop.
    pub(super) fn run_commands(&mut self, now: Time) -> bool {
        let mut stop = false;
        for command in self.handle.take_commands() {
            match command {
                Command::Reload(reload) => self.reload(*reload),
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

    fn reload(&mut self, Reload { config, discipline, link }: Reload) {
        if config == self.config {
            self.shaper.set_link_rate(link.rate);
        } else {
            self.shaper.replace(discipline, link.rate);
            self.config = config;
        }
        self.classifier.layer = link.layer;
        self.reloads += 1;
    }

    /// Returns `true` if the router was told to stop and either the queue is empty and `more` is `false`, or the time is up.
    /// `more` says that there may be packets to receive.
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
    use fairlane_capture::{Headers, LinkType};
    use fairlane_qdisc::{Host, Kind, QdiscConfig, QdiscParameters, Rate, Seed};

    use super::*;
    use crate::flow::{FlowKeys, FlowsBy};
    use crate::link::{Framing, Link, LinkLayer};
    use crate::nfqueue::PacketMessage;
    use crate::packet::{Marking, QueuedPacket};

    const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);
    const TWO_MEGABITS: Rate = Rate::from_bits_per_second(2_000_000);

    fn resolve(kind: Kind, rate: Rate) -> QdiscConfig {
        QdiscParameters::new(kind).resolve(rate).unwrap()
    }

    fn core(config: &QdiscConfig) -> Core {
        let discipline = config.build(&Host { rate: MEGABIT, seed: Seed::new(1) }).unwrap();
        let shaper = Shaper::new(discipline, MEGABIT, Marking::ByUs, TopFlows::new(FlowsBy::FiveTuple));
        let classifier = Classifier { keys: FlowKeys::new(FlowsBy::FiveTuple), layer: LinkLayer::default() };
        Core::new(shaper, config.config().clone(), classifier, RouterHandle::new().unwrap())
    }

    /// Offers 40 packets of 1000 bytes at time zero.
    fn fill(core: &mut Core) {
        let payload = [0; 28];
        assert_eq!(Headers::read(LinkType::Raw, &payload, 1000).ecn(), 0, "the packets are not ECN-capable");
        for id in 0..40 {
            let packet = PacketMessage { queue: 0, id, mark: 0, payload: &payload, bytes: 1000, gso: false };
            let Classifier { keys, layer } = &core.classifier;
            let packet = QueuedPacket::new(&packet, keys, *layer, Marking::ByUs);
            core.shaper.arrive(Time::ZERO, packet);
        }
    }

    /// Would catch a reload that keeps the size that packets had on the old link, and a command that is executed twice.
    #[test]
    fn a_reload_changes_discipline_and_link() {
        let mut core = core(&resolve(Kind::Red, MEGABIT));
        let layer = LinkLayer::new(38, 84, Framing::Ptm).unwrap();
        core.handle.reload(&resolve(Kind::DropTail, MEGABIT), Link { rate: MEGABIT, layer }).unwrap();
        assert_eq!(
            (core.classifier.layer, core.report().reloads),
            (LinkLayer::default(), 0),
            "nothing is executed yet"
        );
        assert!(!core.run_commands(Time::ZERO));
        // RED has an average, DropTail has none.
        let report = core.report();
        assert_eq!((core.classifier.layer, report.reloads, report.average), (layer, 1, None));
        assert!(!core.run_commands(Time::ZERO) && core.report().reloads == 1, "a command is executed once");
    }

    /// The average of RED tells whether it is the discipline from before: a new one begins at 0. At 1 Mbit/s packets of 1000 bytes
    /// leave 8 ms apart, at 2 Mbit/s 4 ms. Would catch a rate-only reload that loses the state or keeps the old rate.
    #[test]
    fn a_reload_that_changes_only_the_rate_keeps_the_state() {
        let red = resolve(Kind::Red, MEGABIT);
        let mut core = core(&red);
        fill(&mut core);
        let (before, packets) = (core.report(), core.shaper.packets());
        assert!(before.average > Some(0.0) && packets > 20, "{before:?}");
        let link = Link { rate: TWO_MEGABITS, layer: LinkLayer::default() };
        let red = red.parameters().resolve(TWO_MEGABITS).unwrap();
        core.handle.reload(&red, link).unwrap();
        core.run_commands(Time::ZERO);
        let after = core.report();
        assert_eq!((after.average, after.packets, after.reloads), (before.average, before.packets, 1));
        core.shaper.advance(Time::ZERO + Duration::from_millis(8 + 4));
        assert_eq!(core.shaper.packets(), packets - 2, "the packet under way, and one at the new rate");
        // Another value of a parameter is another discipline.
        let other = red.parameters().clone().with("limit", "900p").unwrap().resolve(TWO_MEGABITS).unwrap();
        core.handle.reload(&other, link).unwrap();
        core.run_commands(Time::ZERO + Duration::from_millis(12));
        assert_eq!((core.report().average, core.report().packets), (Some(0.0), packets - 2));
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

    /// Reloads each discipline for another rate, on which defaults of some parameters depend. Would catch a comparison of the
    /// parameters as they were given, which would keep a discipline with the old values.
    #[test]
    fn a_rate_that_changes_the_configuration_replaces_the_discipline() {
        for kind in Kind::ALL {
            let [slow, fast] = [MEGABIT, Rate::from_bits_per_second(1_000_000_000)].map(|rate| resolve(kind, rate));
            let mut core = core(&slow);
            core.handle.reload(&fast, Link { rate: TWO_MEGABITS, layer: LinkLayer::default() }).unwrap();
            core.run_commands(Time::ZERO);
            assert_eq!(core.config, *fast.config(), "{kind}");
        }
    }

    /// Would catch an end while there may be more packets to receive, an end that never comes, and a second command to stop that
    /// does not shorten the wait.
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
