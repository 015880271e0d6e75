//! The congestion control of one sender, with the parts that all algorithms share: slow start and its end, pacing, and
//! the validation of the window.

use fairlane_qdisc::Time;
use fairlane_scenario::{SlowStart, Tcp};

use super::super::validation::Validation;
use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::pacer::Pacer;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize, built_in, is_plain, reno,
};

/// The state of congestion control beyond Reno's window.
#[derive(Debug)]
pub(in super::super) struct Regulator {
    algorithm: Box<dyn CongestionControl>,
    has_model: bool,
    has_own_slow_start: bool,
    is_scalable: bool,
    /// The end of slow start; `None`: standard slow start.
    exit: Option<SlowStartExit>,
    pacer: Option<Pacer>,
    /// `None`: an unused window stays.
    validation: Option<Box<Validation>>,
    /// The time of the last event that may have reduced the window.
    pub(in super::super) now: Time,
}

/// An end of slow start that needs no loss.
#[derive(Debug)]
enum SlowStartExit {
    HyStart(HyStart),
    /// Until the first congestion.
    HyStartPlusPlus(HyStartPlusPlus),
}

// Most senders have no `Regulator`, so its methods are `cold`, and take samples by value: these need no memory without
// it.
impl Regulator {
    /// Returns the congestion control of `tcp`: `own`, or that of its name; `None` for plain Reno. `phase` differs
    /// between senders.
    pub(in super::super) fn new(tcp: &Tcp, phase: u64, own: Option<Box<dyn CongestionControl>>) -> Option<Box<Self>> {
        let plain = own.is_none() && is_plain(tcp.congestion);
        let algorithm = own.unwrap_or_else(|| built_in(tcp, phase));
        let (has_model, has_own_slow_start) = (algorithm.has_model(), algorithm.has_own_slow_start());
        let paced = tcp.pacing || tcp.congestion.always_paces();
        let exit = match tcp.slow_start {
            _ if has_own_slow_start => None,
            SlowStart::Standard => None,
            SlowStart::HyStart => Some(SlowStartExit::HyStart(HyStart::new(paced))),
            SlowStart::HyStartPlusPlus => Some(SlowStartExit::HyStartPlusPlus(HyStartPlusPlus::new(paced))),
        };
        let validation = if has_model { None } else { Validation::new(tcp) };
        let needed = validation.is_some() || paced || exit.is_some() || !plain;
        needed.then(|| {
            Box::new(Self {
                has_model,
                has_own_slow_start,
                is_scalable: algorithm.is_scalable(),
                algorithm,
                exit,
                pacer: paced.then(|| Pacer::new(tcp.burst)),
                validation,
                now: Time::ZERO,
            })
        })
    }

    /// Grows the window after an acknowledgement of new segments outside recovery that signals no congestion.
    #[cold]
    pub(in super::super) fn grow(&mut self, size: &mut WindowSize, sample: AckSample) {
        let sample = &sample;
        if self.validation.as_mut().is_some_and(|validation| !validation.allows_growth(size, sample.now)) {
            return;
        }
        if let Some(SlowStartExit::HyStart(hystart)) = self.exit.as_mut().filter(|_| size.in_slow_start()) {
            hystart.check(size, sample);
        }
        if self.has_own_slow_start || !size.in_slow_start() {
            return self.algorithm.grow(size, sample);
        }
        match &mut self.exit {
            Some(SlowStartExit::HyStartPlusPlus(hystart)) if hystart.reductions == 0 => hystart.grow(size, sample),
            Some(_) | None => reno::start(size, sample),
        }
    }

    /// Handles an acknowledgement that could let the window grow if it were used.
    pub(in super::super) fn on_unused(&mut self, size: &mut WindowSize, sample: &AckSample) {
        self.algorithm.on_unused(size, sample);
    }

    /// Handles any acknowledgement, after loss recovery.
    #[cold]
    pub(in super::super) fn on_ack(&mut self, size: &mut WindowSize, sample: AckSample, loss: LossState) {
        let sample = &sample;
        self.algorithm.on_ack(size, sample, loss);
        if let Some(validation) = &mut self.validation {
            validation.on_ack(size, sample, loss.recovering);
        }
        if let Some(pacer) = &mut self.pacer {
            match self.algorithm.pacing_rate(size) {
                Some(rate) => pacer.set_rate(rate),
                None => pacer.follow(*size, sample),
            }
        }
    }

    /// Returns the window after congestion. `segments` is the window before or, if that is less, the flight.
    #[cold]
    pub(in super::super) fn decrease(&mut self, size: &WindowSize, segments: f64, signal: CongestionSignal) -> f64 {
        if let Some(SlowStartExit::HyStartPlusPlus(hystart)) = &mut self.exit {
            hystart.reductions = hystart.reductions.saturating_add(1);
        }
        self.algorithm.on_congestion(size, &CongestionEvent { now: self.now, signal, segments })
    }

    /// Takes back what the last reduction changed in addition to the window: it was needless.
    #[cold]
    pub(in super::super) fn undo(&mut self) {
        if let Some(SlowStartExit::HyStartPlusPlus(hystart)) = &mut self.exit {
            hystart.reductions = hystart.reductions.saturating_sub(1);
        }
        self.algorithm.on_undo();
        if let Some(validation) = &mut self.validation {
            validation.on_undo();
        }
    }

    /// Returns true if the window follows from a model of the path, in loss recovery as well.
    pub(in super::super) const fn has_model(&self) -> bool {
        self.has_model
    }

    /// Returns true if a mark says so little that a loss in the same window counts as well (RFC 9331, section 4.3).
    pub(in super::super) const fn is_scalable(&self) -> bool {
        self.is_scalable
    }

    /// Returns the smallest window, in segments; `None` if that is a matter of loss recovery.
    pub(in super::super) fn least(&self) -> Option<f64> {
        self.algorithm.smallest_window()
    }

    /// Returns true if a mark reduces the window now.
    pub(in super::super) fn reacts_to_mark(&self) -> bool {
        self.algorithm.reacts_to_mark()
    }

    /// Notes that slow start begins again; `max` is one past the highest segment ever sent.
    #[cold]
    pub(in super::super) fn restart(&mut self, max: u32) {
        if let Some(SlowStartExit::HyStart(hystart)) = &mut self.exit {
            hystart.restart(max);
        }
    }

    /// Notes that segments `[start, end)` have arrived out of order.
    #[cold]
    pub(in super::super) fn arrived(&mut self, start: u32, end: u32) {
        self.algorithm.on_arrived(start, end);
    }

    /// Notes that segment `seq` is lost.
    #[cold]
    pub(in super::super) fn lost(&mut self, now: Time, seq: u32) {
        self.algorithm.on_lost(now, seq);
    }

    /// Notes that segment `seq` is sent. `idle` is true if nothing was outstanding. `in_flight` counts the segments in
    /// the network with this one if a model of the path sets the window.
    #[cold]
    pub(in super::super) fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        self.algorithm.on_send(now, seq, idle, in_flight);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_send(now);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_send(now, seq);
        }
    }

    /// Returns the validation of the window; `None` if an unused one stays.
    pub(in super::super) fn validation(&mut self) -> Option<&mut Validation> {
        self.validation.as_deref_mut()
    }

    /// Notes that the window had room but there was no segment to send, with `in_flight` segments in the network.
    #[cold]
    pub(in super::super) fn on_application_limited(&mut self, in_flight: u32) {
        self.algorithm.on_application_limited(in_flight);
    }

    /// Returns true if pacing holds back the next segment.
    #[cold]
    pub(in super::super) fn holds_back(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_some_and(|pacer| pacer.holds_back(now))
    }

    /// Returns the time at which pacing allows the next segment; `None` if it holds none back.
    pub(in super::super) fn release(&self) -> Option<Time> {
        self.pacer.as_ref().and_then(Pacer::release)
    }

    /// Clears the pacing release time: no segment waits.
    #[cold]
    pub(in super::super) fn forget_release(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.forget_release();
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::{AfterIdle, Congestion};

    use super::super::bbr::Bbr;
    use super::*;

    /// Would catch a window by a model that is reduced after an idle time, and one of others that is not.
    #[test]
    fn only_windows_without_a_model_are_validated() {
        for (congestion, after_idle) in
            Congestion::ALL.into_iter().flat_map(|of| [AfterIdle::Decay, AfterIdle::Preserve].map(|idle| (of, idle)))
        {
            let tcp = Tcp { after_idle, ..Tcp::modern(congestion, 300) };
            let regulator = Regulator::new(&tcp, 0, None);
            let (has_model, validates) =
                regulator.map_or((false, false), |mut it| (it.has_model(), it.validation().is_some()));
            assert_eq!(validates, !has_model, "{}", congestion.name());
        }
    }

    /// Would catch a scenario that allows HyStart where nothing heeds it, or refuses it where something does.
    #[test]
    fn scenarios_know_whose_slow_start_is_its_own() {
        for congestion in Congestion::ALL {
            let algorithm = built_in(&Tcp::modern(congestion, 300), 0);
            assert_eq!(algorithm.has_own_slow_start(), congestion.has_own_slow_start(), "{}", congestion.name());
        }
    }

    /// Would catch senders that grow so large that a million flows, with both end points and their links, need more
    /// than 1 KiB each.
    #[test]
    fn is_small() {
        assert!(size_of::<Regulator>() <= 200, "{}", size_of::<Regulator>());
        assert!(size_of::<Bbr>() <= 320, "{}", size_of::<Bbr>());
    }
}
