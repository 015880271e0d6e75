//! The disciplines behind one type, chosen at run time without `dyn` on the packet path.

use crate::droptail::DropTail;
use crate::{Counters, Fate, Packet, Qdisc, Time};

/// Any of the disciplines.
#[derive(Debug)]
pub enum AnyQdisc<P> {
    /// DropTail.
    DropTail(DropTail<P>),
}

macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::DropTail($queue) => $call,
        }
    };
}

impl<P: Packet> Qdisc<P> for AnyQdisc<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        each!(self, queue => queue.enqueue(now, packet, fate));
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        each!(self, queue => queue.dequeue(now, fate))
    }
    fn packets(&self) -> usize {
        each!(self, queue => Qdisc::<P>::packets(queue))
    }
    fn bytes(&self) -> u64 {
        each!(self, queue => Qdisc::<P>::bytes(queue))
    }
    fn counters(&self) -> &Counters {
        each!(self, queue => Qdisc::<P>::counters(queue))
    }
    fn average(&self) -> Option<f64> {
        each!(self, queue => Qdisc::<P>::average(queue))
    }
}
