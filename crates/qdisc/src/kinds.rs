//! The list of kinds: the one place that knows them all. A new discipline is a file and its lines here.

use alloc::boxed::Box;

use crate::config::{About, ParameterError, Resolver, kinds};
use crate::{Counters, Fate, Packet, Qdisc, Seed, Time};
use crate::{ared, blue, choke, droptail, red, sfb, sfq, sfq_red, sfred};

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
        /// BLUE.
        Blue(blue::Blue<P>),
        /// Stochastic Fair BLUE.
        Sfb(Box<sfb::Sfb<P>>),
        /// Self-configuring RED in the bins of SFB.
        Sfred(Box<sfred::Sfred<P>>),

        // Accounting of flows over one FIFO.

        // A queue for each flow.
        /// Stochastic Fair Queueing.
        Sfq(Box<sfq::Sfq<P>>),
        /// SFQ with RED in each queue.
        SfqRed(Box<sfq_red::SfqRed<P>>),

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
        /// BLUE.
        Blue: blue::ABOUT, blue::resolve => Blue(blue::Blue::new),
        /// Stochastic Fair BLUE.
        Sfb: sfb::ABOUT, sfb::resolve => Sfb(sfb::Sfb::new),
        /// Self-configuring RED in the bins of SFB.
        Sfred: sfred::ABOUT, sfred::resolve => Sfred(sfred::Sfred::new),

        // Accounting of flows over one FIFO.

        // A queue for each flow.
        /// Stochastic Fair Queueing.
        Sfq: sfq::ABOUT, sfq::resolve => Sfq(sfq::Sfq::new),
        /// SFQ with RED in each queue.
        SfqRed: sfq_red::ABOUT, sfq_red::resolve => SfqRed(sfq_red::SfqRed::new),

        // Control of the delay.
    }
}
