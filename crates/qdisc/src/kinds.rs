//! The list of kinds: the one place that knows them all. A new discipline is a file and its lines here.

use alloc::boxed::Box;

use crate::config::{About, ParameterError, Resolver, kinds};
use crate::{Counters, Fate, Packet, Qdisc, Seed, Time};
use crate::{
    afd, ared, bare, blue, cake, cbq, choke, cobalt, codel, csfq, droptail, drr, dualpi2, fair, fq_codel, fq_pie, fred,
    penalty_box, pi2, pie, red, red_pd, sfb, sfq, sfq_red, sfred, sred,
};

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
        /// Buffer management by rate estimation.
        Bare(bare::Bare<P>),
        /// Stabilized RED.
        Sred(sred::Sred<P>),
        /// Flow RED.
        Fred(fred::Fred<P>),
        /// Approximate Fair Dropping.
        Afd(afd::Afd<P>),
        /// Core-Stateless Fair Queueing.
        Csfq(csfq::Csfq<P>),
        /// RED with a penalty box.
        PenaltyBox(Box<penalty_box::PenaltyBox<P>>),
        /// RED with Preferential Dropping.
        RedPd(Box<red_pd::RedPd<P>>),

        // A queue for each flow.
        /// Stochastic Fair Queueing.
        Sfq(Box<sfq::Sfq<P>>),
        /// SFQ with RED in each queue.
        SfqRed(Box<sfq_red::SfqRed<P>>),

        /// Deficit Round Robin.
        Drr(drr::Drr<P>),
        /// Fair queueing by virtual time.
        Fair(Box<fair::FairQueue<P>>),
        /// Class-Based Queueing.
        Cbq(Box<cbq::Cbq<P>>),

        // Control of the delay.
        /// CoDel.
        Codel(codel::Codel<P>),
        /// A CoDel for each of many queues.
        FqCodel(Box<fq_codel::FqCodel<P>>),
        /// PIE.
        Pie(Box<pie::Pie<P>>),
        /// A PIE for each of many queues.
        FqPie(Box<fq_pie::FqPie<P>>),
        /// COBALT.
        Cobalt(cobalt::Cobalt<P>),
        /// CAKE.
        Cake(Box<cake::Cake<P>>),
        /// PI2.
        Pi2(pi2::Pi2<P>),
        /// DualPI2.
        DualPi2(Box<dualpi2::DualPi2<P>>),
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
        /// CHOKe without RED, whose draws follow the queue and a packet's class.
        Chokew: choke::successors::CHOKEW, choke::successors::chokew => Choke(choke::Choke::new),
        /// CHOKeW whose draws become more the faster the longer the queue.
        Choker: choke::successors::CHOKER, choke::successors::choker => Choke(choke::Choke::new),
        /// RED that drops more of flows found in the queue and signalled often.
        Rechoke: choke::successors::RECHOKE, choke::successors::rechoke => Choke(choke::Choke::new),
        /// CHOKe for transports that do not slow down.
        Sac: choke::successors::SAC, choke::successors::sac => Choke(choke::Choke::new),
        /// CHOKe that draws from the half that came last first.
        Choked: choke::successors::CHOKED, choke::successors::choked => Choke(choke::Choke::new),

        // Adaptive signals: BLUE and its bins.
        /// BLUE.
        Blue: blue::ABOUT, blue::resolve => Blue(blue::Blue::new),
        /// Stochastic Fair BLUE.
        Sfb: sfb::ABOUT, sfb::resolve => Sfb(sfb::Sfb::new),
        /// Self-configuring RED in the bins of SFB.
        Sfred: sfred::ABOUT, sfred::resolve => Sfred(sfred::Sfred::new),

        // Accounting of flows over one FIFO.
        /// Buffer management by rate estimation.
        Bare: bare::ABOUT, bare::resolve => Bare(bare::Bare::new),
        /// Stabilized RED.
        Sred: sred::ABOUT, sred::resolve => Sred(sred::Sred::new),
        /// Flow RED.
        Fred: fred::ABOUT, fred::resolve => Fred(fred::Fred::new),
        /// Approximate Fair Dropping.
        Afd: afd::ABOUT, afd::resolve => Afd(afd::Afd::new),
        /// Core-Stateless Fair Queueing.
        Csfq: csfq::ABOUT, csfq::resolve => Csfq(csfq::Csfq::new),
        /// RED with a penalty box.
        RedPenaltyBox: penalty_box::ABOUT, penalty_box::resolve => PenaltyBox(penalty_box::PenaltyBox::new),
        /// RED with Preferential Dropping.
        RedPd: red_pd::ABOUT, red_pd::resolve => RedPd(red_pd::RedPd::new),

        // A queue for each flow.
        /// Stochastic Fair Queueing.
        Sfq: sfq::ABOUT, sfq::resolve => Sfq(sfq::Sfq::new),
        /// SFQ with RED in each queue.
        SfqRed: sfq_red::ABOUT, sfq_red::resolve => SfqRed(sfq_red::SfqRed::new),

        /// Deficit Round Robin with drops from the longest queue.
        Drr: drr::ABOUT, drr::resolve => Drr(drr::Drr::new),
        /// Weighted fair queueing: the fluid server's clock.
        Wfq: fair::WFQ, fair::wfq => Fair(fair::FairQueue::new),
        /// Self-clocked fair queueing.
        Scfq: fair::SCFQ, fair::scfq => Fair(fair::FairQueue::new),
        /// Start-time fair queueing.
        Stfq: fair::STFQ, fair::stfq => Fair(fair::FairQueue::new),
        /// Class-Based Queueing.
        Cbq: cbq::ABOUT, cbq::resolve => Cbq(cbq::Cbq::new),

        // Control of the delay.
        /// CoDel.
        Codel: codel::ABOUT, codel::resolve => Codel(codel::Codel::new),
        /// FQ-CoDel.
        FqCodel: fq_codel::ABOUT, fq_codel::resolve => FqCodel(fq_codel::FqCodel::new),
        /// PIE.
        Pie: pie::ABOUT, pie::resolve => Pie(pie::Pie::new),
        /// FQ-PIE.
        FqPie: fq_pie::ABOUT, fq_pie::resolve => FqPie(fq_pie::FqPie::new),
        /// COBALT.
        Cobalt: cobalt::ABOUT, cobalt::resolve => Cobalt(cobalt::Cobalt::new),
        /// CAKE.
        Cake: cake::ABOUT, cake::resolve => Cake(cake::Cake::new),
        /// PI2.
        Pi2: pi2::ABOUT, pi2::resolve => Pi2(pi2::Pi2::new),
        /// DualPI2.
        DualPi2: dualpi2::ABOUT, dualpi2::resolve => DualPi2(dualpi2::DualPi2::new),
    }
}
