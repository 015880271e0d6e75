//! Events at a bottleneck.

use fairlane_qdisc::{DropSink, Reason, Time};

/// Is notified of each event at a [`Bottleneck`](crate::Bottleneck). `()` ignores them.
pub trait LinkObserver<P> {
    /// `packet` reaches the queue.
    fn arrived(&mut self, _now: Time, _packet: &P) {}
    /// The link begins to transmit `packet`.
    fn departed(&mut self, _now: Time, _packet: &P) {}
    /// `packet` is dropped.
    fn dropped(&mut self, _now: Time, _packet: P, _reason: Reason) {}
    /// `packet` is marked.
    fn marked(&mut self, _now: Time, _packet: &P, _reason: Reason) {}
    /// `packet`, whose transmission has begun, is lost.
    fn lost(&mut self, _now: Time, _packet: P) {}
}

impl<P> LinkObserver<P> for () {}

/// Passes the drops and marks of a discipline on.
pub(crate) struct Sink<'o, O>(pub(crate) &'o mut O);

impl<P, O: LinkObserver<P>> DropSink<P> for Sink<'_, O> {
    fn dropped(&mut self, now: Time, packet: P, reason: Reason) {
        self.0.dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &P, reason: Reason) {
        self.0.marked(now, packet, reason);
    }
}
