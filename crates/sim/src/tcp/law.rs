//! The law of the window: how far it grows, what congestion leaves of it, and when the next segment may go. Finding and
//! repairing losses is the business of [recovery](super::recovery), which is the same under every law.
//!
//! Plain Reno needs nothing but the window itself. Whatever needs more keeps it in a [`Control`], behind one pointer, so
//! that a million Reno senders stay small.

mod bbr;
mod cubic;
mod dctcp;
mod delivery;
mod hystart;
mod pacer;
pub(super) mod reno;
mod vegas;

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Congestion, Tcp};

use self::bbr::Bbr;
use self::cubic::Cubic;
use self::dctcp::Dctcp;
use self::hystart::HyStart;
use self::pacer::Pacer;
use self::vegas::Vegas;

/// What a law moves, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// The congestion window.
    pub(super) cwnd: f64,
    /// The slow start threshold.
    pub(super) ssthresh: f64,
}

impl Size {
    /// Whether the window is below the threshold (RFC 5681 3.1).
    pub(super) fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// When it came.
    pub(super) now: Time,
    /// The oldest segment that it leaves unacknowledged.
    pub(super) una: u32,
    /// One past the highest segment ever sent.
    pub(super) max: u32,
    /// How many segments it acknowledges that none before it did.
    pub(super) acked: u32,
    /// How many segments Reno's window grows for: one, however many it acknowledges (RFC 5681 3.1), or with byte counting as
    /// many as it acknowledges (RFC 3465).
    pub(super) counted: u32,
    /// It says that the network has marked a segment.
    pub(super) marked: bool,
    /// How long ago the segment that caused it was sent. A law measures to the nanosecond, whatever clock the
    /// retransmission timer has, as Vegas's authors did.
    pub(super) rtt: Duration,
}

impl News {
    /// Whether all that had been sent when `round_end` was set is acknowledged; then `round_end` is set anew.
    fn ends_round(&self, round_end: &mut u32) -> bool {
        let ends = self.una >= *round_end && self.acked > 0;
        if ends {
            *round_end = self.max;
        }
        ends
    }
}

/// Where loss recovery stands after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Segments in the network (RFC 6675's pipe).
    pub(super) in_flight: u32,
    /// A loss is being repaired.
    pub(super) recovering: bool,
}

/// Why the window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A segment is lost, and fast retransmit repairs it.
    Loss,
    /// The network has marked a segment (RFC 3168).
    Mark,
    /// The retransmission timer has fired.
    Timeout,
}

/// What a sender keeps beyond Reno's window.
#[derive(Clone, Debug)]
pub(super) struct Control {
    law: Law,
    /// HyStart++, up to the first congestion.
    hystart: Option<HyStart>,
    pacer: Option<Pacer>,
}

#[derive(Clone, Debug)]
enum Law {
    Reno,
    Vegas(Vegas),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
}

/// Called through one pointer that most senders do not have: that is what `cold` says of each of these.
impl Control {
    /// What `tcp` asks for beyond plain Reno, if it does. `phase` differs from sender to sender.
    pub(super) fn new(tcp: &Tcp, phase: u64) -> Option<Box<Self>> {
        let law = match tcp.congestion {
            Congestion::Tahoe | Congestion::Reno | Congestion::NewReno | Congestion::Sack => Law::Reno,
            Congestion::Vegas => Law::Vegas(Vegas::new(tcp.initial_window, tcp.delayed_ack.is_some())),
            Congestion::Cubic => Law::Cubic(Cubic::default()),
            Congestion::Dctcp => Law::Dctcp(Dctcp::new()),
            Congestion::Bbr => Law::Bbr(Box::new(Bbr::new(tcp.initial_window, phase))),
        };
        let paced = tcp.pacing || matches!(law, Law::Bbr(_));
        let own_slow_start = matches!(law, Law::Vegas(_) | Law::Bbr(_));
        let hystart = (tcp.hystart && !own_slow_start).then(|| HyStart::new(paced));
        let needed = paced || hystart.is_some() || !matches!(law, Law::Reno);
        needed.then(|| Box::new(Self { law, hystart, pacer: paced.then(Pacer::default) }))
    }

    /// An acknowledgement of new data outside recovery, which tells of no congestion.
    #[cold]
    pub(super) fn grow(&mut self, size: &mut Size, news: &News) {
        match &mut self.law {
            Law::Vegas(vegas) => vegas.grow(size, news),
            // It looks at every acknowledgement, below.
            Law::Bbr(_) => {}
            Law::Reno | Law::Cubic(_) | Law::Dctcp(_) if size.in_slow_start() => match &mut self.hystart {
                Some(hystart) => hystart.grow(size, news),
                None => reno::start(size, news),
            },
            Law::Cubic(cubic) => cubic.avoid(size, news),
            Law::Reno | Law::Dctcp(_) => reno::avoid(size, news),
        }
    }

    /// Any acknowledgement, after recovery has dealt with it.
    #[cold]
    pub(super) fn on_ack(&mut self, size: &mut Size, news: &News, standing: Standing) {
        match &mut self.law {
            Law::Reno | Law::Vegas(_) => {}
            Law::Cubic(cubic) => cubic.on_ack(news),
            Law::Dctcp(dctcp) => dctcp.on_ack(news),
            Law::Bbr(bbr) => bbr.on_ack(size, news, standing),
        }
        if let Some(pacer) = &mut self.pacer {
            match &self.law {
                Law::Bbr(bbr) => pacer.set_rate(bbr.pacing_rate()),
                _ => pacer.follow(*size, news),
            }
        }
    }

    /// What congestion leaves of `segments`, which is the window or, if that is less, what was in flight.
    #[cold]
    pub(super) fn decrease(&mut self, size: &Size, segments: f64, cause: Cause) -> f64 {
        // RFC 9406 4.3: HyStart++ is for the initial slow start.
        self.hystart = None;
        match &mut self.law {
            Law::Reno | Law::Vegas(_) => reno::decrease(segments),
            Law::Cubic(cubic) => cubic.decrease(segments, cause),
            Law::Dctcp(dctcp) => dctcp.decrease(segments, cause),
            Law::Bbr(bbr) => bbr.decrease(size.cwnd, segments, cause),
        }
    }

    /// Segments `[start, end)` have arrived out of order.
    #[cold]
    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        if let Law::Bbr(bbr) = &mut self.law {
            bbr.arrived(start, end);
        }
    }

    /// Segment `seq` goes out; `idle`: nothing was outstanding.
    #[cold]
    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool) {
        match &mut self.law {
            Law::Reno | Law::Vegas(_) | Law::Dctcp(_) => {}
            Law::Cubic(cubic) => cubic.on_send(now, idle),
            Law::Bbr(bbr) => bbr.on_send(now, seq, idle),
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.on_send(now);
        }
    }

    /// There was room for a segment, but none to send, with `in_flight` in the network.
    #[cold]
    pub(super) fn ran_dry(&mut self, in_flight: u32) {
        if let Law::Bbr(bbr) = &mut self.law {
            bbr.ran_dry(in_flight);
        }
    }

    /// Whether pacing holds back the next segment.
    #[cold]
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_some_and(|pacer| pacer.holds_back(now))
    }

    /// When pacing lets the next segment go; `None` if it holds none back.
    pub(super) fn release(&self) -> Option<Time> {
        self.pacer.as_ref().and_then(Pacer::release)
    }

    /// Nothing waits for pacing any more.
    #[cold]
    pub(super) fn forget_release(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.forget_release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million senders of any law are to fit a gigabyte, at 1 KiB each with both ends and what the network keeps of them.
    #[test]
    fn is_small() {
        assert!(size_of::<Control>() <= 192, "{}", size_of::<Control>());
        assert!(size_of::<Bbr>() <= 320, "{}", size_of::<Bbr>());
    }
}
