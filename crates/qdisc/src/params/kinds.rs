//! The list of kinds: the one place that knows them all. A new discipline is a file and its lines here.

use alloc::boxed::Box;

#[cfg(all(feature = "choke", feature = "delay"))]
use crate::discipline::choke::auto;
#[cfg(feature = "experimental")]
use crate::discipline::choke::{choked, choker, chokew, rechoke, sac, xchoke};
use crate::discipline::droptail;
#[cfg(feature = "accounting")]
use crate::discipline::{afd, bare, csfq, echo, fred, red_pd, red_penalty_box, sred};
#[cfg(feature = "red")]
use crate::discipline::{ared, red};
#[cfg(feature = "blue")]
use crate::discipline::{blue, sfb, sfred};
#[cfg(feature = "delay")]
use crate::discipline::{cake, cobalt, codel, dualpi2, fq_codel, fq_pie, pi2, pie};
#[cfg(feature = "scheduling")]
use crate::discipline::{cbq, drr, fair_queueing, sfq, sfq_red};
#[cfg(feature = "choke")]
use crate::discipline::{choke, choke::mloc};
use crate::params::disciplines;
use crate::params::{Info, ParameterError, Resolver, kinds};
use crate::{BoxQdisc, Packet, Seed};

kinds! {
    configs {
        /// A FIFO that drops when it is full.
        #[cfg(all())]
        DropTail(droptail::DropTail),
        /// Random Early Detection.
        #[cfg(feature = "red")]
        Red(red::Red),
        /// RED that adapts its probability.
        #[cfg(feature = "red")]
        Ared(ared::Ared),
        /// The CHOKe of the papers: basic, adaptive, front, back and geometric.
        #[cfg(feature = "choke")]
        Choke(choke::Choke),
        /// CHOKe steered by the delay.
        #[cfg(all(feature = "choke", feature = "delay"))]
        ChokeAuto(auto::ChokeAuto),
        /// Back CHOKe with memory.
        #[cfg(feature = "choke")]
        MlocChoke(mloc::MlocChoke),
        /// CHOKe with a table of hits.
        #[cfg(feature = "experimental")]
        Xchoke(xchoke::Xchoke),
        /// CHOKeW.
        #[cfg(feature = "experimental")]
        Chokew(chokew::Chokew),
        /// CHOKeR.
        #[cfg(feature = "experimental")]
        Choker(choker::Choker),
        /// RECHOKe.
        #[cfg(feature = "experimental")]
        Rechoke(rechoke::Rechoke),
        /// SAC.
        #[cfg(feature = "experimental")]
        Sac(sac::Sac),
        /// CHOKeD.
        #[cfg(feature = "experimental")]
        Choked(choked::Choked),
        /// BLUE.
        #[cfg(feature = "blue")]
        Blue(blue::Blue),
        /// Stochastic Fair BLUE.
        #[cfg(feature = "blue")]
        Sfb(sfb::Sfb),
        /// Self-configuring RED in the bins of SFB.
        #[cfg(feature = "blue")]
        Sfred(sfred::Sfred),
        /// Buffer management by rate estimation.
        #[cfg(feature = "accounting")]
        Bare(bare::Bare),
        /// Stabilized RED.
        #[cfg(feature = "accounting")]
        Sred(sred::Sred),
        /// Flow RED.
        #[cfg(feature = "accounting")]
        Fred(fred::Fred),
        /// Approximate Fair Dropping.
        #[cfg(feature = "accounting")]
        Afd(afd::Afd),
        /// Core-Stateless Fair Queueing.
        #[cfg(feature = "accounting")]
        Csfq(csfq::Csfq),
        /// ECHO.
        #[cfg(feature = "accounting")]
        Echo(echo::Echo),
        /// RED with a penalty box.
        #[cfg(feature = "accounting")]
        PenaltyBox(red_penalty_box::PenaltyBox),
        /// RED with Preferential Dropping.
        #[cfg(feature = "accounting")]
        RedPd(red_pd::RedPd),
        /// Stochastic Fair Queueing.
        #[cfg(feature = "scheduling")]
        Sfq(sfq::Sfq),
        /// SFQ with RED in each queue.
        #[cfg(feature = "scheduling")]
        SfqRed(sfq_red::SfqRed),
        /// Deficit Round Robin.
        #[cfg(feature = "scheduling")]
        Drr(drr::Drr),
        /// Fair queueing by virtual time.
        #[cfg(feature = "scheduling")]
        Fair(fair_queueing::FairQueue),
        /// Class-Based Queueing.
        #[cfg(feature = "scheduling")]
        Cbq(cbq::Cbq),
        /// CoDel.
        #[cfg(feature = "delay")]
        Codel(codel::Codel),
        /// A CoDel for each of many queues.
        #[cfg(feature = "delay")]
        FqCodel(fq_codel::FqCodel),
        /// PIE.
        #[cfg(feature = "delay")]
        Pie(pie::Pie),
        /// A PIE for each of many queues.
        #[cfg(feature = "delay")]
        FqPie(fq_pie::FqPie),
        /// COBALT.
        #[cfg(feature = "delay")]
        Cobalt(cobalt::Cobalt),
        /// CAKE.
        #[cfg(feature = "delay")]
        Cake(cake::Cake),
        /// PI2.
        #[cfg(feature = "delay")]
        Pi2(pi2::Pi2),
        /// DualPI2.
        #[cfg(feature = "delay")]
        DualPi2(dualpi2::DualPi2),
    }
    kinds {
        /// A FIFO that drops when it is full.
        #[cfg(all())]
        DropTail: disciplines::droptail::INFO, disciplines::droptail::resolve => DropTail,
        /// Random Early Detection.
        #[cfg(feature = "red")]
        Red: disciplines::red::INFO, disciplines::red::resolve => Red,
        /// Self-configuring RED (Feng) and Adaptive RED (Floyd).
        #[cfg(feature = "red")]
        Ared: disciplines::ared::INFO, disciplines::ared::resolve => Ared,
        /// CHOKe.
        #[cfg(feature = "choke")]
        Choke: disciplines::choke::CHOKE, disciplines::choke::choke => Choke,
        /// CHOKe with a number of candidates that grows with the average.
        #[cfg(feature = "choke")]
        ChokeAdaptive: disciplines::choke::ADAPTIVE, disciplines::choke::adaptive => Choke,
        /// CHOKe steered by the delay.
        #[cfg(all(feature = "choke", feature = "delay"))]
        ChokeAuto: disciplines::choke_auto::INFO, disciplines::choke_auto::resolve => ChokeAuto,
        /// CHOKe whose candidate is the head.
        #[cfg(feature = "choke")]
        FrontChoke: disciplines::choke::FRONT, disciplines::choke::front => Choke,
        /// CHOKe whose candidate is the tail.
        #[cfg(feature = "choke")]
        BackChoke: disciplines::choke::BACK, disciplines::choke::back => Choke,
        /// Back CHOKe that remembers the flows of the last packets admitted.
        #[cfg(feature = "choke")]
        MlocChoke: disciplines::choke::MLOC, disciplines::choke::mloc => MlocChoke,
        /// CHOKe with a table of hits.
        #[cfg(feature = "experimental")]
        Xchoke: disciplines::choke_later::XCHOKE, disciplines::choke_later::xchoke => Xchoke,
        /// CHOKe that goes on drawing while it matches.
        #[cfg(feature = "choke")]
        Gchoke: disciplines::choke::GCHOKE, disciplines::choke::gchoke => Choke,
        /// CHOKe without RED, whose draws follow the queue and a packet's class.
        #[cfg(feature = "experimental")]
        Chokew: disciplines::choke_later::CHOKEW, disciplines::choke_later::chokew => Chokew,
        /// CHOKeW whose draws become more the faster the longer the queue.
        #[cfg(feature = "experimental")]
        Choker: disciplines::choke_later::CHOKER, disciplines::choke_later::choker => Choker,
        /// RED that drops more of flows found in the queue and signalled often.
        #[cfg(feature = "experimental")]
        Rechoke: disciplines::choke_later::RECHOKE, disciplines::choke_later::rechoke => Rechoke,
        /// CHOKe for transports that do not slow down.
        #[cfg(feature = "experimental")]
        Sac: disciplines::choke_later::SAC, disciplines::choke_later::sac => Sac,
        /// CHOKe that draws from the half that came last first.
        #[cfg(feature = "experimental")]
        Choked: disciplines::choke_later::CHOKED, disciplines::choke_later::choked => Choked,
        /// BLUE.
        #[cfg(feature = "blue")]
        Blue: disciplines::blue::INFO, disciplines::blue::resolve => Blue,
        /// Stochastic Fair BLUE.
        #[cfg(feature = "blue")]
        Sfb: disciplines::sfb::INFO, disciplines::sfb::resolve => Sfb,
        /// Self-configuring RED in the bins of SFB.
        #[cfg(feature = "blue")]
        Sfred: disciplines::sfred::INFO, disciplines::sfred::resolve => Sfred,
        /// Buffer management by rate estimation.
        #[cfg(feature = "accounting")]
        Bare: disciplines::bare::INFO, disciplines::bare::resolve => Bare,
        /// Stabilized RED.
        #[cfg(feature = "accounting")]
        Sred: disciplines::sred::INFO, disciplines::sred::resolve => Sred,
        /// Flow RED.
        #[cfg(feature = "accounting")]
        Fred: disciplines::fred::INFO, disciplines::fred::resolve => Fred,
        /// Approximate Fair Dropping.
        #[cfg(feature = "accounting")]
        Afd: disciplines::afd::INFO, disciplines::afd::resolve => Afd,
        /// Core-Stateless Fair Queueing.
        #[cfg(feature = "accounting")]
        Csfq: disciplines::csfq::INFO, disciplines::csfq::resolve => Csfq,
        /// ECHO.
        #[cfg(feature = "accounting")]
        Echo: disciplines::echo::INFO, disciplines::echo::resolve => Echo,
        /// RED with a penalty box.
        #[cfg(feature = "accounting")]
        RedPenaltyBox: disciplines::red_penalty_box::INFO, disciplines::red_penalty_box::resolve => PenaltyBox,
        /// RED with Preferential Dropping.
        #[cfg(feature = "accounting")]
        RedPd: disciplines::red_pd::INFO, disciplines::red_pd::resolve => RedPd,
        /// Stochastic Fair Queueing.
        #[cfg(feature = "scheduling")]
        Sfq: disciplines::sfq::INFO, disciplines::sfq::resolve => Sfq,
        /// SFQ with RED in each queue.
        #[cfg(feature = "scheduling")]
        SfqRed: disciplines::sfq_red::INFO, disciplines::sfq_red::resolve => SfqRed,
        /// Deficit Round Robin with drops from the longest queue.
        #[cfg(feature = "scheduling")]
        Drr: disciplines::drr::INFO, disciplines::drr::resolve => Drr,
        /// Weighted fair queueing: the fluid server's clock.
        #[cfg(feature = "scheduling")]
        Wfq: disciplines::fair_queueing::WFQ, disciplines::fair_queueing::wfq => Fair,
        /// Self-clocked fair queueing.
        #[cfg(feature = "scheduling")]
        Scfq: disciplines::fair_queueing::SCFQ, disciplines::fair_queueing::scfq => Fair,
        /// Start-time fair queueing.
        #[cfg(feature = "scheduling")]
        Stfq: disciplines::fair_queueing::STFQ, disciplines::fair_queueing::stfq => Fair,
        /// Class-Based Queueing.
        #[cfg(feature = "scheduling")]
        Cbq: disciplines::cbq::INFO, disciplines::cbq::resolve => Cbq,
        /// CoDel.
        #[cfg(feature = "delay")]
        Codel: disciplines::codel::INFO, disciplines::codel::resolve => Codel,
        /// FQ-CoDel.
        #[cfg(feature = "delay")]
        FqCodel: disciplines::fq_codel::INFO, disciplines::fq_codel::resolve => FqCodel,
        /// PIE.
        #[cfg(feature = "delay")]
        Pie: disciplines::pie::INFO, disciplines::pie::resolve => Pie,
        /// FQ-PIE.
        #[cfg(feature = "delay")]
        FqPie: disciplines::fq_pie::INFO, disciplines::fq_pie::resolve => FqPie,
        /// COBALT.
        #[cfg(feature = "delay")]
        Cobalt: disciplines::cobalt::INFO, disciplines::cobalt::resolve => Cobalt,
        /// CAKE.
        #[cfg(feature = "delay")]
        Cake: disciplines::cake::INFO, disciplines::cake::resolve => Cake,
        /// PI2.
        #[cfg(feature = "delay")]
        Pi2: disciplines::pi2::INFO, disciplines::pi2::resolve => Pi2,
        /// DualPI2.
        #[cfg(feature = "delay")]
        DualPi2: disciplines::dualpi2::INFO, disciplines::dualpi2::resolve => DualPi2,
    }
}
