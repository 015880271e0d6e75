//! The default of each typed config is that of the parameters as text.

use fairlane_qdisc::discipline::choke::{
    self, Candidates, Draw, Rule, auto, choked, choker, chokew, mloc, rechoke, sac, xchoke,
};
use fairlane_qdisc::discipline::{
    afd, ared, bare, blue, cake, cbq, cobalt, codel, csfq, droptail, drr, dualpi2, echo, fair_queueing, fq_codel,
    fq_pie, fred, pi2, pie, red, red_pd, red_penalty_box, sfb, sfq, sfq_red, sfred, sred,
};
use fairlane_qdisc::{AnyConfig, Kind, ParameterError, QdiscParameters, Rate};

/// Returns the default of the config of `kind`.
fn typed(kind: Kind) -> AnyConfig {
    let basic = choke::Config::default();
    match kind {
        Kind::DropTail => AnyConfig::DropTail(droptail::Config::default()),
        Kind::Red => AnyConfig::Red(red::Config::default()),
        Kind::Ared => AnyConfig::Ared(ared::Config::default()),
        Kind::Choke => AnyConfig::Choke(basic),
        Kind::ChokeAdaptive => {
            let candidates = Candidates::Regions { regions: 5, rule: Rule::Double };
            AnyConfig::Choke(choke::Config { candidates, ..basic })
        }
        Kind::FrontChoke => AnyConfig::Choke(choke::Config { draw: Draw::Front, ..basic }),
        Kind::BackChoke => AnyConfig::Choke(choke::Config { draw: Draw::Back, ..basic }),
        Kind::Gchoke => AnyConfig::Choke(choke::Config { candidates: Candidates::WhileMatching(5), ..basic }),
        Kind::ChokeAuto => AnyConfig::ChokeAuto(auto::Config::default()),
        Kind::MlocChoke => AnyConfig::MlocChoke(mloc::Config::default()),
        Kind::Xchoke => AnyConfig::Xchoke(xchoke::Config::default()),
        Kind::Chokew => AnyConfig::Chokew(chokew::Config::default()),
        Kind::Choker => AnyConfig::Choker(choker::Config::default()),
        Kind::Rechoke => AnyConfig::Rechoke(rechoke::Config::default()),
        Kind::Sac => AnyConfig::Sac(sac::Config::default()),
        Kind::Choked => AnyConfig::Choked(choked::Config::default()),
        Kind::Blue => AnyConfig::Blue(blue::Config::default()),
        Kind::Sfb => AnyConfig::Sfb(sfb::Config::default()),
        Kind::Sfred => AnyConfig::Sfred(sfred::Config::default()),
        Kind::Bare => AnyConfig::Bare(bare::Config::default()),
        Kind::Sred => AnyConfig::Sred(sred::Config::default()),
        Kind::Fred => AnyConfig::Fred(fred::Config::default()),
        Kind::Afd => AnyConfig::Afd(afd::Config::default()),
        Kind::Csfq => AnyConfig::Csfq(csfq::Config::default()),
        Kind::Echo => AnyConfig::Echo(echo::Config::default()),
        Kind::RedPenaltyBox => AnyConfig::PenaltyBox(red_penalty_box::Config::default()),
        Kind::RedPd => AnyConfig::RedPd(red_pd::Config::default()),
        Kind::Sfq => AnyConfig::Sfq(sfq::Config::default()),
        Kind::SfqRed => AnyConfig::SfqRed(sfq_red::Config::default()),
        Kind::Drr => AnyConfig::Drr(drr::Config::default()),
        Kind::Wfq => AnyConfig::Fair(fair_queueing::Config::wfq()),
        Kind::Scfq => AnyConfig::Fair(fair_queueing::Config::scfq()),
        Kind::Stfq => AnyConfig::Fair(fair_queueing::Config::stfq()),
        Kind::Cbq => AnyConfig::Cbq(cbq::Config::default()),
        Kind::Codel => AnyConfig::Codel(codel::Config::default()),
        Kind::FqCodel => AnyConfig::FqCodel(fq_codel::Config::default()),
        Kind::Pie => AnyConfig::Pie(pie::Config::default()),
        Kind::FqPie => AnyConfig::FqPie(fq_pie::Config::default()),
        Kind::Cobalt => AnyConfig::Cobalt(cobalt::Config::default()),
        Kind::Cake => AnyConfig::Cake(cake::Config::default()),
        Kind::Pi2 => AnyConfig::Pi2(pi2::Config::default()),
        Kind::DualPi2 => AnyConfig::DualPi2(dualpi2::Config::default()),
    }
}

/// Would catch a default that differs between the two forms, at any rate of the link. RED without thresholds follows
/// tc(8) as text, so that the disciplines on RED are given those of the CHOKe paper, which their configs have.
#[test]
fn each_default_is_that_of_the_text() -> Result<(), ParameterError> {
    for kind in Kind::ALL {
        for megabits in [1, 10] {
            let mut text = QdiscParameters::new(kind);
            let over_red = ["min", "max", "burst"].map(|key| kind.parameters().iter().any(|known| known.key == key));
            if over_red == [true; 3] && kind != Kind::Ared {
                text = text.with("min", "100p")?.with("max", "200p")?;
            }
            let resolved = text.resolve(Rate::from_bits_per_second(1_000_000 * megabits))?;
            assert_eq!(resolved.config(), &typed(kind), "{kind} at {megabits} Mbit/s");
        }
    }
    Ok(())
}
