//! The disciplines behind one type, chosen at run time without `dyn` on the packet path.

use crate::{Ared, Choke, Counters, DropTail, Fate, Packet, Qdisc, Red, Time};

/// Any of the disciplines.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyQdisc<P> {
    /// DropTail.
    DropTail(DropTail<P>),
    /// Random Early Detection.
    Red(Red<P>),
    /// RED that adapts its probability.
    Ared(Ared<P>),
    /// CHOKe and its family.
    Choke(Choke<P>),
}

macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::DropTail($queue) => $call,
            Self::Red($queue) => $call,
            Self::Ared($queue) => $call,
            Self::Choke($queue) => $call,
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
        each!(self, queue => queue.packets())
    }
    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }
    fn counters(&self) -> &Counters {
        each!(self, queue => queue.counters())
    }
    fn average(&self) -> Option<f64> {
        each!(self, queue => queue.average())
    }
}
