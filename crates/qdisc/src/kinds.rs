//! The list of kinds: the one place that knows them all. A new discipline is a file and its lines here.

use alloc::boxed::Box;

use crate::config::{About, ParameterError, Resolver, kinds};
use crate::{Counters, Fate, Packet, Qdisc, Seed, Time};
use crate::{afd, ared, choke, csfq, droptail, fred, red, red_pd, sred};

kinds! {
    disciplines {
        /// A FIFO that drops when it is full.
        DropTail(droptail::DropTail<P>),
        /// Random Early Detection.
        Red(red::Red<P>),
        /// RED that adapts its probability.
        Ared(ared::Ared<P>),

        /// CHOKe and its family.
        Choke(choke::Choke<P>),

        // CHOKe's successors, and others that look into the queue.

        // Adaptive signals: BLUE and its bins.

        // Accounting of flows over one FIFO.
        /// Stabilized RED.
        Sred(sred::Sred<P>),
        /// Flow RED.
        Fred(fred::Fred<P>),
        /// Approximate Fair Dropping.
        Afd(afd::Afd<P>),
        /// Core-Stateless Fair Queueing.
        Csfq(csfq::Csfq<P>),
        /// RED with Preferential Dropping.
        RedPd(Box<red_pd::RedPd<P>>),

        // A queue for each flow.

        // Control of the delay.
    }
    kinds {
        /// A FIFO that drops when it is full.
        DropTail: droptail::ABOUT, droptail::resolve => DropTail(droptail::DropTail::new),
        /// Random Early Detection.
        Red: red::ABOUT, red::resolve => Red(red::Red::new),
        /// Self-configuring RED (Feng) and Adaptive RED (Floyd).
        Ared: ared::ABOUT, ared::resolve => Ared(ared::Ared::new),

        /// CHOKe.
        Choke: choke::kinds::CHOKE, choke::kinds::choke => Choke(choke::Choke::new),
        /// CHOKe with a number of candidates that grows with the average.
        ChokeAdaptive: choke::kinds::ADAPTIVE, choke::kinds::adaptive => Choke(choke::Choke::new),
        /// CHOKe whose candidate is the head.
        FrontChoke: choke::kinds::FRONT, choke::kinds::front => Choke(choke::Choke::new),
        /// CHOKe whose candidate is the tail.
        BackChoke: choke::kinds::BACK, choke::kinds::back => Choke(choke::Choke::new),
        /// Back CHOKe that remembers the flows of the last packets admitted.
        MlocChoke: choke::kinds::MLOC, choke::kinds::mloc => Choke(choke::Choke::new),
        /// CHOKe with a table of hits.
        Xchoke: choke::kinds::XCHOKE, choke::kinds::xchoke => Choke(choke::Choke::new),
        /// CHOKe that goes on drawing while it matches.
        Gchoke: choke::kinds::GCHOKE, choke::kinds::gchoke => Choke(choke::Choke::new),

        // CHOKe's successors, and others that look into the queue.

        // Adaptive signals: BLUE and its bins.

        // Accounting of flows over one FIFO.
        /// Stabilized RED.
        Sred: sred::ABOUT, sred::resolve => Sred(sred::Sred::new),
        /// Flow RED.
        Fred: fred::ABOUT, fred::resolve => Fred(fred::Fred::new),
        /// Approximate Fair Dropping.
        Afd: afd::ABOUT, afd::resolve => Afd(afd::Afd::new),
        /// Core-Stateless Fair Queueing.
        Csfq: csfq::ABOUT, csfq::resolve => Csfq(csfq::Csfq::new),
        /// RED with Preferential Dropping.
        RedPd: red_pd::ABOUT, red_pd::resolve => RedPd(red_pd::RedPd::new),

        // A queue for each flow.

        // Control of the delay.
    }
}
