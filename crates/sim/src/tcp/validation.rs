//! Validation of the congestion window: a window that has not been used says little about the path.

mod decay;
mod pipe_ack;

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{AfterIdle, Tcp};

use self::decay::Decay;
use self::pipe_ack::PipeAck;
use super::congestion::{AckSample, CongestionSignal, WindowSize};

/// The treatment of a window that is not used.
#[derive(Clone, Debug)]
pub(super) enum Validation {
    /// The window decays (RFC 2861), down to one segment or, as in Linux, to the initial window.
    Decay(Decay),
    /// The window is kept for some time, but not trusted (RFC 7661).
    PipeAck(PipeAck),
}

impl Validation {
    /// Returns the validation of `tcp`; `None` if the window stays.
    pub(super) fn new(tcp: &Tcp) -> Option<Box<Self>> {
        Some(Box::new(match tcp.after_idle {
            AfterIdle::Keep => return None,
            AfterIdle::Decay => Self::Decay(Decay::new(1)),
            AfterIdle::Restart => Self::Decay(Decay::new(tcp.initial_window)),
            AfterIdle::Preserve => Self::PipeAck(PipeAck::new(tcp.initial_window)),
        }))
    }

    /// Handles the first segment after an idle time, before it is sent.
    pub(super) fn on_restart(&mut self, size: &mut WindowSize, now: Time, timeout: Duration) {
        match self {
            Self::Decay(decay) => decay.on_restart(size, now, timeout),
            Self::PipeAck(pipe) => pipe.update(size, now),
        }
    }

    /// Notes a transmission of segment `seq`.
    pub(super) fn on_send(&mut self, now: Time, seq: u32) {
        match self {
            Self::Decay(decay) => decay.on_send(now),
            Self::PipeAck(pipe) => pipe.on_send(seq),
        }
    }

    /// Notes that the window is full.
    pub(super) fn on_full(&mut self, now: Time) {
        match self {
            Self::Decay(decay) => decay.on_full(now),
            Self::PipeAck(pipe) => pipe.set_full(true),
        }
    }

    /// Notes that the window has room but there are no data, with `flight` segments outstanding.
    pub(super) fn on_application_limited(&mut self, size: &mut WindowSize, now: Time, flight: u32, timeout: Duration) {
        match self {
            Self::Decay(decay) => decay.on_application_limited(size, now, flight, timeout),
            Self::PipeAck(pipe) => pipe.set_full(false),
        }
    }

    /// Returns true if an acknowledgement at `now` lets the window grow.
    pub(super) fn allows_growth(&mut self, size: &mut WindowSize, now: Time) -> bool {
        match self {
            Self::Decay(_) => true,
            Self::PipeAck(pipe) => pipe.allows_growth(size, now),
        }
    }

    /// Handles any acknowledgement, after loss recovery, which goes on if `recovering`.
    pub(super) fn on_ack(&mut self, size: &mut WindowSize, sample: &AckSample, recovering: bool) {
        if let Self::PipeAck(pipe) = self {
            pipe.on_ack(size, sample, recovering);
        }
    }

    /// Returns the part of the window that counts at congestion with `flight` segments outstanding; `None` if that is
    /// as ever.
    pub(super) fn on_congestion(&mut self, size: WindowSize, flight: u32, signal: CongestionSignal) -> Option<f64> {
        match self {
            Self::Decay(_) => None,
            Self::PipeAck(pipe) => pipe.on_congestion(size, flight, signal),
        }
    }

    /// Notes that the last loss was none.
    pub(super) fn on_undo(&mut self) {
        if let Self::PipeAck(pipe) = self {
            pipe.forget();
        }
    }

    /// Notes that slow start begins again with a window of one segment.
    pub(super) fn on_collapse(&mut self) {
        if let Self::PipeAck(pipe) = self {
            pipe.forget();
        }
    }
}
