//! Congestion control: how the window grows, how far congestion reduces it, and when pacing allows the next segment. It
//! is independent of [loss recovery](super::recovery).
//!
//! Plain Reno needs no state but the window. The state of other algorithms is kept in a [`CongestionControl`] behind
//! one pointer, so that a million Reno senders stay small.

mod aggregation;
mod bbr;
mod bbr3;
mod classic_ecn;
mod cubic;
mod dctcp;
mod delivery;
mod hystart;
mod hystart_plus_plus;
mod ledbat;
mod pacer;
mod policer;
mod prague;
mod recent_max;
pub(super) mod reno;
mod vegas;

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Congestion, SlowStart, Tcp};

use self::bbr::Bbr;
use self::bbr3::Bbr3;
use self::cubic::Cubic;
use self::dctcp::Dctcp;
use self::hystart::HyStart;
use self::hystart_plus_plus::HyStartPlusPlus;
use self::ledbat::Ledbat;
use self::pacer::Pacer;
use self::prague::Prague;
use self::vegas::Vegas;
use super::validation::Validation;

/// The window and its threshold, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowSize {
    /// The congestion window.
    pub(super) cwnd: f64,
    /// The slow start threshold.
    pub(super) ssthresh: f64,
}

impl WindowSize {
    /// Returns true if the window is below the threshold (RFC 5681, section 3.1).
    pub(super) fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The information in an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSample {
    /// The time of its arrival.
    pub(super) now: Time,
    /// The oldest segment that is still unacknowledged.
    pub(super) una: u32,
    /// One past the highest segment ever sent.
    pub(super) max: u32,
    /// The number of segments that it acknowledges for the first time.
    pub(super) acked: u32,
    /// The number of segments by which the window grows in Linux; `None`: `acked`.
    pub(super) newly: Option<u32>,
    /// Reno's window grows by the segments acknowledged (RFC 3465); otherwise each acknowledgement counts as one (RFC
    /// 5681, section 3.1).
    pub(super) byte_counting: bool,
    /// The largest growth in slow start, in segments: the limit L of RFC 3465, sections 2.2 and 2.3.
    pub(super) limit: u32,
    /// Where Linux differs from the RFCs, the window grows as in Linux.
    pub(super) as_linux: bool,
    /// The window is used.
    pub(super) used: bool,
    /// The acknowledgement tells of marks: by ECN-Echo or, with accurate ECN, by its counter.
    pub(super) marked: bool,
    /// The number of marked segments that it tells of by the counter of accurate ECN; `None` without that.
    pub(super) counted: Option<u32>,
    /// The round-trip time of the segment that caused it. Its resolution is one nanosecond, unlike that of the
    /// retransmission timer's clock: Vegas needs a fine clock, too.
    pub(super) rtt: Duration,
    /// The one-way delay of the segment that caused it, if the receiver sends it back: for LEDBAT.
    pub(super) delay: Option<Duration>,
}

/// An acknowledgement of one segment, for tests, which set what matters to them.
#[cfg(test)]
impl Default for AckSample {
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            una: 0,
            max: 0,
            acked: 1,
            newly: None,
            byte_counting: false,
            limit: 2,
            as_linux: false,
            used: true,
            marked: false,
            counted: None,
            rtt: Duration::ZERO,
            delay: None,
        }
    }
}

impl AckSample {
    /// Returns the number of segments that count for the growth of Reno's window.
    fn counted(&self) -> u32 {
        if self.byte_counting { self.growth() } else { 1 }
    }

    /// Returns the number of segments that let the window grow.
    fn growth(&self) -> u32 {
        self.newly.unwrap_or(self.acked)
    }

    /// Returns the number of marked segments that it tells of: with ECN-Echo, all that it acknowledges.
    pub(super) fn marks(&self) -> u32 {
        self.counted.unwrap_or(if self.marked { self.acked } else { 0 })
    }

    /// Returns true, and sets a new `round_end`, if all segments sent before the last `round_end` was set are
    /// acknowledged.
    fn ends_round(&self, round_end: &mut u32) -> bool {
        let ends = self.una >= *round_end && self.acked > 0;
        if ends {
            *round_end = self.max;
        }
        ends
    }
}

/// The state of loss recovery after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossState {
    /// Segments in the network (the pipe of RFC 6675).
    pub(super) in_flight: u32,
    /// The sender is in loss recovery.
    pub(super) recovering: bool,
}

/// The reason for a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CongestionSignal {
    /// A loss that fast retransmit repairs.
    Loss,
    /// A mark of the network (RFC 3168).
    Mark,
    /// A retransmission timeout.
    Timeout,
}

/// The state of congestion control beyond Reno's window.
#[derive(Clone, Debug)]
pub(super) struct CongestionControl {
    algorithm: Algorithm,
    /// The end of slow start; `None`: standard slow start.
    exit: Option<SlowStartExit>,
    pacer: Option<Pacer>,
    /// `None`: an unused window stays.
    validation: Option<Box<Validation>>,
}

#[derive(Clone, Debug)]
enum Algorithm {
    Reno,
    Vegas(Vegas),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Ledbat(Box<Ledbat>),
    Prague(Box<Prague>),
}

/// An end of slow start that needs no loss.
#[derive(Clone, Debug)]
enum SlowStartExit {
    HyStart(HyStart),
    /// Until the first congestion.
    HyStartPlusPlus(HyStartPlusPlus),
}

// Most senders have no `CongestionControl`, so its methods are `cold`, and take samples by value: these need no memory
// without it.
impl CongestionControl {
    /// Returns the congestion control of `tcp`; `None` for plain Reno. `phase` differs between senders.
    pub(super) fn new(tcp: &Tcp, phase: u64) -> Option<Box<Self>> {
        let algorithm = match tcp.congestion {
            Congestion::Tahoe | Congestion::Reno | Congestion::NewReno | Congestion::Sack => Algorithm::Reno,
            Congestion::Vegas => Algorithm::Vegas(Vegas::new(tcp)),
            Congestion::Cubic => Algorithm::Cubic(Cubic::default()),
            Congestion::Dctcp => Algorithm::Dctcp(Dctcp::new()),
            Congestion::Bbr => Algorithm::Bbr(Box::new(Bbr::new(tcp.initial_window, phase))),
            Congestion::Bbr3 => Algorithm::Bbr3(Box::new(Bbr3::new(tcp.initial_window, phase))),
            Congestion::Ledbat => Algorithm::Ledbat(Box::new(Ledbat::new(tcp.ledbat))),
            Congestion::Prague => Algorithm::Prague(Box::new(Prague::new(tcp.delayed_ack.is_some()))),
        };
        let paced = tcp.pacing || tcp.congestion.always_paces();
        let exit = match tcp.slow_start {
            _ if tcp.congestion.has_own_slow_start() => None,
            SlowStart::Standard => None,
            SlowStart::HyStart => Some(SlowStartExit::HyStart(HyStart::new(paced))),
            SlowStart::HyStartPlusPlus => Some(SlowStartExit::HyStartPlusPlus(HyStartPlusPlus::new(paced))),
        };
        let has_model = matches!(tcp.congestion, Congestion::Bbr | Congestion::Bbr3);
        let validation = if has_model { None } else { Validation::new(tcp) };
        let needed = validation.is_some() || paced || exit.is_some() || !matches!(algorithm, Algorithm::Reno);
        needed.then(|| Box::new(Self { algorithm, exit, pacer: paced.then(|| Pacer::new(tcp.burst)), validation }))
    }

    /// Grows the window after an acknowledgement of new segments outside recovery that signals no congestion.
    #[cold]
    pub(super) fn grow(&mut self, size: &mut WindowSize, sample: AckSample) {
        let sample = &sample;
        if self.validation.as_mut().is_some_and(|validation| !validation.allows_growth(size, sample.now)) {
            return;
        }
        if let Some(SlowStartExit::HyStart(hystart)) = self.exit.as_mut().filter(|_| size.in_slow_start()) {
            hystart.check(size, sample);
        }
        match &mut self.algorithm {
            Algorithm::Vegas(vegas) => vegas.grow(size, sample),
            // They set the window in `on_ack`.
            Algorithm::Bbr(_) | Algorithm::Bbr3(_) | Algorithm::Ledbat(_) => {}
            Algorithm::Reno | Algorithm::Cubic(_) | Algorithm::Dctcp(_) | Algorithm::Prague(_)
                if size.in_slow_start() =>
            {
                match &mut self.exit {
                    Some(SlowStartExit::HyStartPlusPlus(hystart)) if hystart.reductions == 0 => {
                        hystart.grow(size, sample);
                    }
                    Some(_) | None => reno::start(size, sample),
                }
            }
            Algorithm::Cubic(cubic) => cubic.avoid(size, sample),
            Algorithm::Prague(prague) => prague.avoid(size, sample),
            Algorithm::Reno | Algorithm::Dctcp(_) => reno::avoid(size, sample),
        }
    }

    /// Handles an acknowledgement that could let the window grow if it were used.
    pub(super) fn rest(&mut self, size: &mut WindowSize, sample: &AckSample) {
        match &mut self.algorithm {
            Algorithm::Cubic(cubic) => cubic.rest(sample.now),
            Algorithm::Vegas(vegas) => {
                let most = size.cwnd;
                vegas.grow(size, sample);
                size.cwnd = size.cwnd.min(most);
            }
            _ => {}
        }
    }

    /// Handles any acknowledgement, after loss recovery.
    #[cold]
    pub(super) fn on_ack(&mut self, size: &mut WindowSize, sample: AckSample, loss_state: LossState) {
        let sample = &sample;
        match &mut self.algorithm {
            Algorithm::Reno | Algorithm::Vegas(_) => {}
            Algorithm::Cubic(cubic) => cubic.on_ack(sample),
            Algorithm::Dctcp(dctcp) => dctcp.on_ack(sample),
            Algorithm::Bbr(bbr) => bbr.on_ack(size, sample, loss_state),
            Algorithm::Bbr3(bbr) => bbr.on_ack(size, sample, loss_state),
            Algorithm::Ledbat(ledbat) => ledbat.on_ack(size, sample, loss_state),
            Algorithm::Prague(prague) => prague.on_ack(sample),
        }
        if let Some(validation) = &mut self.validation {
            validation.on_ack(size, sample, loss_state.recovering);
        }
        if let Some(pacer) = &mut self.pacer {
            match &self.algorithm {
                Algorithm::Bbr(bbr) => pacer.set_rate(bbr.pacing_rate()),
                Algorithm::Bbr3(bbr) => pacer.set_rate(bbr.pacing_rate()),
                Algorithm::Prague(_) => pacer.follow(*size, sample, 1.0),
                _ => pacer.follow(*size, sample, 1.25),
            }
        }
    }

    /// Returns the window after congestion. `segments` is the window before or, if that is less, the flight.
    #[cold]
    pub(super) fn decrease(&mut self, size: &WindowSize, segments: f64, signal: CongestionSignal) -> f64 {
        if let Some(SlowStartExit::HyStartPlusPlus(hystart)) = &mut self.exit {
            hystart.reductions = hystart.reductions.saturating_add(1);
        }
        match &mut self.algorithm {
            Algorithm::Reno | Algorithm::Vegas(_) | Algorithm::Ledbat(_) => reno::decrease(segments),
            Algorithm::Cubic(cubic) => cubic.decrease(segments, signal),
            Algorithm::Dctcp(dctcp) => dctcp.decrease(segments, signal),
            Algorithm::Bbr(bbr) => bbr.decrease(size.cwnd, segments, signal),
            Algorithm::Bbr3(bbr) => bbr.decrease(size.cwnd, signal),
            Algorithm::Prague(prague) => prague.decrease(segments, signal),
        }
    }

    /// Takes back what the last reduction changed in addition to the window: it was needless.
    #[cold]
    pub(super) fn undo(&mut self) {
        if let Some(SlowStartExit::HyStartPlusPlus(hystart)) = &mut self.exit {
            hystart.reductions = hystart.reductions.saturating_sub(1);
        }
        match &mut self.algorithm {
            Algorithm::Reno
            | Algorithm::Vegas(_)
            | Algorithm::Ledbat(_)
            | Algorithm::Dctcp(_)
            | Algorithm::Prague(_) => {}
            Algorithm::Cubic(cubic) => cubic.undo(),
            Algorithm::Bbr(bbr) => bbr.undo(),
            Algorithm::Bbr3(bbr) => bbr.undo(),
        }
        if let Some(validation) = &mut self.validation {
            validation.on_undo();
        }
    }

    /// Returns true if the window follows from a model of the path, in loss recovery as well.
    pub(super) const fn has_model(&self) -> bool {
        matches!(self.algorithm, Algorithm::Bbr(_) | Algorithm::Bbr3(_))
    }

    /// Returns true if a mark says so little that a loss in the same window counts as well (RFC 9331, section 4.3).
    pub(super) const fn is_scalable(&self) -> bool {
        matches!(self.algorithm, Algorithm::Prague(_))
    }

    /// Returns the smallest window, in segments; `None` if that is a matter of loss recovery.
    pub(super) fn least(&self) -> Option<f64> {
        match &self.algorithm {
            Algorithm::Prague(prague) => Some(prague.least()),
            _ => None,
        }
    }

    /// Returns true if a mark reduces the window now.
    pub(super) fn reacts_to_mark(&self) -> bool {
        match &self.algorithm {
            Algorithm::Prague(prague) => prague.reacts_to_mark(),
            _ => true,
        }
    }

    /// Notes that slow start begins again; `max` is one past the highest segment ever sent.
    #[cold]
    pub(super) fn restart(&mut self, max: u32) {
        if let Some(SlowStartExit::HyStart(hystart)) = &mut self.exit {
            hystart.restart(max);
        }
    }

    /// Notes that segments `[start, end)` have arrived out of order.
    #[cold]
    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        match &mut self.algorithm {
            Algorithm::Bbr(bbr) => bbr.arrived(start, end),
            Algorithm::Bbr3(bbr) => bbr.arrived(start, end),
            _ => {}
        }
    }

    /// Notes that segment `seq` is lost.
    #[cold]
    pub(super) fn lost(&mut self, now: Time, seq: u32) {
        match &mut self.algorithm {
            Algorithm::Bbr(bbr) => bbr.lost(seq),
            Algorithm::Bbr3(bbr) => bbr.lost(now, seq),
            _ => {}
        }
    }

    /// Notes that segment `seq` is sent. `idle` is true if nothing was outstanding. `in_flight` counts the segments in
    /// the network with this one if a model of the path sets the window.
    #[cold]
    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        match &mut self.algorithm {
            Algorithm::Reno | Algorithm::Vegas(_) | Algorithm::Dctcp(_) | Algorithm::Ledbat(_) => {}
            Algorithm::Prague(prague) => prague.on_send(now, seq),
            Algorithm::Cubic(cubic) => cubic.on_send(now, idle),
            Algorithm::Bbr(bbr) => bbr.on_send(now, seq, idle, in_flight),
            Algorithm::Bbr3(bbr) => bbr.on_send(now, seq, idle, in_flight),
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.on_send(now);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_send(now, seq);
        }
    }

    /// Returns the validation of the window; `None` if an unused one stays.
    pub(super) fn validation(&mut self) -> Option<&mut Validation> {
        self.validation.as_deref_mut()
    }

    /// Notes that the window had room but there was no segment to send, with `in_flight` segments in the network.
    #[cold]
    pub(super) fn on_application_limited(&mut self, in_flight: u32) {
        match &mut self.algorithm {
            Algorithm::Bbr(bbr) => bbr.on_application_limited(in_flight),
            Algorithm::Bbr3(bbr) => bbr.on_application_limited(in_flight),
            _ => {}
        }
    }

    /// Returns true if pacing holds back the next segment.
    #[cold]
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_some_and(|pacer| pacer.holds_back(now))
    }

    /// Returns the time at which pacing allows the next segment; `None` if it holds none back.
    pub(super) fn release(&self) -> Option<Time> {
        self.pacer.as_ref().and_then(Pacer::release)
    }

    /// Clears the pacing release time: no segment waits.
    #[cold]
    pub(super) fn forget_release(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.forget_release();
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::AfterIdle;

    use super::*;

    /// Would catch a window by a model that is reduced after an idle time, and one of others that is not.
    #[test]
    fn only_windows_without_a_model_are_validated() {
        for (congestion, after_idle) in
            Congestion::ALL.into_iter().flat_map(|of| [AfterIdle::Decay, AfterIdle::Preserve].map(|idle| (of, idle)))
        {
            let tcp = Tcp { after_idle, ..Tcp::modern(congestion, 300) };
            let control = CongestionControl::new(&tcp, 0);
            let (has_model, validates) =
                control.map_or((false, false), |mut control| (control.has_model(), control.validation().is_some()));
            assert_eq!(validates, !has_model, "{}", congestion.name());
        }
    }

    /// Would catch senders that grow so large that a million flows, with both end points and their links, need more
    /// than 1 KiB each.
    #[test]
    fn is_small() {
        assert!(size_of::<CongestionControl>() <= 200, "{}", size_of::<CongestionControl>());
        assert!(size_of::<Bbr>() <= 320, "{}", size_of::<Bbr>());
    }
}
