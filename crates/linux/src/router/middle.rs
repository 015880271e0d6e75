//! What is a router's own, whatever its data path: the engine, what it is told and what it tells.

use std::io;
use std::os::fd::BorrowedFd;

use fairlane_qdisc::{Duration, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::driver::Reading;
use crate::engine::Engine;
use crate::remote::{Order, Remote};
use crate::report::Report;
use crate::top_flows::TopFlows;

/// How often the report is renewed.
pub(super) const PUBLISH: Duration = Duration::from_millis(250);

/// Waiting in the kernel for less than this takes longer than this.
const SHORT: Duration = Duration::from_nanos(2_000);

/// A router without the ways in and out.
pub(super) struct Middle {
    pub(super) engine: Engine<TopFlows>,
    pub(super) reading: Reading,
    pub(super) remote: Remote,
    reloads: u64,
    /// When it ends even if packets wait.
    end: Option<Time>,
}

impl Middle {
    pub(super) const fn new(engine: Engine<TopFlows>, reading: Reading, remote: Remote) -> Self {
        Self { engine, reading, remote, reloads: 0, end: None }
    }

    /// Does what it was asked for; whether it is to end.
    pub(super) fn obey(&mut self, now: Time) -> bool {
        let mut told_to_end = false;
        for order in self.remote.orders() {
            match order {
                Order::Reload(discipline, link) => {
                    self.engine.replace(*discipline, link.rate);
                    self.reading.layer = link.layer;
                    self.reloads += 1;
                }
                Order::Stop(most) => {
                    self.end = Some(now + most);
                    told_to_end = true;
                }
            }
        }
        told_to_end
    }

    /// Whether it was told to stop and nothing waits, or there was time enough.
    pub(super) fn is_over(&self, now: Time, more: bool) -> bool {
        self.end.is_some_and(|end| now >= end || (!more && self.engine.packets() == 0))
    }

    /// After how long the link may have something to send, or the report is to be renewed.
    pub(super) fn idle(&self, now: Time) -> Duration {
        self.engine.due().map_or(PUBLISH, |due| due.since(now).min(PUBLISH))
    }

    /// What it can tell, without what is counted on the ways in and out.
    pub(super) fn report(&self) -> Report {
        Report {
            at: now(),
            counters: self.engine.counters().clone(),
            packets: self.engine.packets(),
            bytes: self.engine.bytes(),
            average: self.engine.average(),
            sojourn: *self.engine.sojourn(),
            lateness: *self.engine.lateness(),
            flows: self.engine.seen().heaviest(),
            reloads: self.reloads,
            ..Report::default()
        }
    }
}

/// Waits until one of `sources` is readable, or for `most`; whether one has failed.
pub(super) fn wait<'f>(sources: impl Iterator<Item = BorrowedFd<'f>>, most: Duration) -> io::Result<bool> {
    if most <= SHORT {
        return Ok(false);
    }
    let timeout = TimeSpec::new(0, most.as_nanos() as i64);
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
    use fairlane_qdisc::{Host, Kind, QdiscConfig, Rate, Seed};

    use super::*;
    use crate::flow::{FlowKeys, FlowsBy};
    use crate::link_layer::{Framing, LinkLayer};
    use crate::packet::Marking;
    use crate::router::Link;

    const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);

    fn middle() -> Middle {
        let discipline = QdiscConfig::new(Kind::Red).build(&Host { rate: MEGABIT, seed: Seed::new(1) }).unwrap();
        let engine = Engine::new(discipline, MEGABIT, Marking::ByUs, TopFlows::new(FlowsBy::FiveTuple));
        let reading = Reading { keys: FlowKeys::new(FlowsBy::FiveTuple), layer: LinkLayer::default() };
        Middle::new(engine, reading, Remote::new().unwrap())
    }

    /// Would catch a reload after which packets have the size that they had on the old link.
    #[test]
    fn a_reload_takes_discipline_and_link() {
        let mut middle = middle();
        let layer = LinkLayer::new(38, 84, Framing::Ptm).unwrap();
        let droptail = QdiscConfig::new(Kind::DropTail);
        middle.remote.reload(&droptail, Link { rate: MEGABIT, layer }).unwrap();
        assert_eq!((middle.reading.layer, middle.report().reloads), (LinkLayer::default(), 0), "not before it obeys");
        assert!(!middle.obey(Time::ZERO));
        // RED has an average, and DropTail none.
        let report = middle.report();
        assert_eq!((middle.reading.layer, report.reloads, report.average), (layer, 1, None));
        assert!(!middle.obey(Time::ZERO) && middle.report().reloads == 1, "an order is obeyed once");
    }

    /// The last order to stop counts: a second one ends what the first lets go on. Would catch an end while there may be more to
    /// receive, and one that never comes.
    #[test]
    fn it_is_over_when_nothing_waits_or_time_is_up() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut middle = middle();
        assert!(!middle.obey(at(0)) && !middle.is_over(at(0), false), "nobody has told it to stop");
        middle.remote.stop(Duration::from_millis(500));
        assert!(middle.obey(at(100)));
        assert_eq!(
            [(at(200), false), (at(200), true), (at(600), true)].map(|(now, more)| middle.is_over(now, more)),
            [true, false, true]
        );
        middle.remote.stop(Duration::ZERO);
        assert!(middle.obey(at(300)) && middle.is_over(at(300), true));
    }
}
