//! No parameter makes a model panic, and what it refuses it refuses in words.

use core::num::NonZeroU32;

use fairlane_theory::{
    BackChoke, Candidates, Choke, Comparisons, Echo, FrontChoke, GChoke, Sfb, TcpPath, candidates_that_protect,
    square_root_law,
};
use proptest::prelude::*;

#[test]
fn what_no_model_covers_is_refused_in_words() {
    let cases = [
        (FrontChoke::new(0.0, &[1.0]).err(), "mu", "1e-12"),
        (FrontChoke::new(1.0, &[]).err(), "rates", "0 flows"),
        (FrontChoke::new(1.0, &[1.0, f64::NAN]).err(), "rates", "NaN"),
        (FrontChoke::new(1.0, &[1.0, 2.0, 3.0]).err(), "rates", "grow without end"),
        (BackChoke::new(&[1.0, 2.0], 2).err(), "memory", "at most 1"),
        (BackChoke::new(&[1.0; 1001], 2).err(), "rates", "1000"),
        (Sfb::new(0, 1, 1).err(), "levels", "1 or more"),
        (Sfb::best(0, 1).err(), "bins", "1 or more"),
        (Choke::at_load(-1.0, 0.0).err(), "load", "-1"),
        (Choke::at_load(1.0, 1.0).err(), "early-drops", "less than 1"),
        (Candidates::at_load(0, 1, 1.0).err(), "flows", "1 or more"),
        (Candidates::at_load(1, 0, 1.0).err(), "candidates", "1 or more"),
        (GChoke::at_load(Comparisons::Unlimited, f64::INFINITY).err(), "load", "inf"),
        (square_root_law(0.1, 0.0).err(), "loss", "above 0"),
        (TcpPath::tfrc(0.0).err(), "rtt", "1e-12"),
    ];
    for (error, parameter, part) in cases {
        let words = error.as_ref().map_or_else(String::new, ToString::to_string);
        assert_eq!(error.map(|error| error.parameter()), Some(parameter), "{words}");
        assert!(words.contains(part), "\"{words}\" does not say \"{part}\"");
    }
}

/// Any number at all, the odd ones often.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), (-18.0..18.0_f64).prop_map(|log| libm::pow(10.0, log)), 0.0..3.0_f64]
}

fn within(part: f64, range: core::ops::RangeInclusive<f64>) -> bool {
    range.contains(&part)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flows_have_probabilities(mu in any_number(), rates in prop::collection::vec(any_number(), 0..8), k in 0_usize..9) {
        if let Ok(front) = FrontChoke::new(mu, &rates) {
            let all: f64 = front.empty() + front.flows().iter().map(|flow| flow.head).sum::<f64>();
            prop_assert!((all - 1.0).abs() < 1e-12);
        }
        if let Ok(back) = BackChoke::new(&rates, k) {
            let all: f64 = back.flows().iter().map(|flow| flow.share).sum();
            prop_assert!((all - 1.0).abs() < 1e-9, "{all}");
            // The memory always holds k flows.
            let held: f64 = back.flows().iter().map(|flow| flow.loss).sum();
            prop_assert!((held - k as f64).abs() < 1e-9, "{held} of {k} in memory");
        }
    }

    #[test]
    fn shares_are_shares(load in any_number(), early in any_number(), flows in any::<u32>(), candidates in any::<u32>()) {
        if let Ok(choke) = Choke::at_load(load, early) {
            prop_assert!(within(choke.share(), 0.0..=load.min(0.2690)) && within(choke.buffer_share(), 0.0..=0.5));
            prop_assert!(within(choke.loss(), 0.0..=1.0));
            prop_assert!((0..=10).all(|tenth| choke.profile().density(f64::from(tenth) / 10.0).is_ok_and(|part| within(part, 0.0..=1.0))));
        }
        for (flows, candidates) in [(flows, candidates), (flows % 40, candidates % 40)] {
            if let Ok(several) = Candidates::at_load(flows, candidates, load) {
                prop_assert!(within(several.total_share(), 0.0..=1.0 + 1e-12) && within(several.tcp_share(), -1e-12..=1.0));
                prop_assert!(within(several.loss(), 0.0..=1.0));
            }
            let _some = candidates_that_protect(flows);
        }
        let comparisons = NonZeroU32::new(candidates).map_or(Comparisons::Unlimited, Comparisons::AtMost);
        if let Ok(gchoke) = GChoke::at_load(comparisons, load) {
            prop_assert!(within(gchoke.share(), 0.0..=0.2690) && within(gchoke.buffer_share(), 0.0..=0.5));
        }
    }

    #[test]
    fn echo_shares_the_link(loss in any_number(), load in any_number(), tcps in any::<u32>(), floods in any::<u32>(), tags in any::<u32>()) {
        for (tcps, floods) in [(tcps, floods), (tcps % 40, floods % 40)] {
            let ideal = Echo::at_load(tcps, loss, floods, load);
            for echo in [ideal, Echo::with_tags(tcps, loss, floods, load, tags % 30)].into_iter().flatten() {
                prop_assert!(within(echo.total_share(), 0.0..=1.0 + 1e-6) && within(echo.loss(), -1e-9..=1.0), "{:?}", echo);
            }
        }
    }

    #[test]
    fn bins_and_laws(levels in any::<u32>(), bins in any::<u32>(), flows in any::<u32>(), rtt in any_number(), loss in any_number()) {
        if let Ok(sfb) = Sfb::new(levels, bins, flows) {
            prop_assert!(within(sfb.misclassified(), 0.0..=1.0));
        }
        if let Ok(path) = TcpPath::tfrc(rtt) {
            for rate in [path.equation(loss), path.reno(loss, 1e3), path.reno_in_full(loss, 1e3), path.square_root(loss)].into_iter().flatten() {
                prop_assert!(rate > 0.0);
            }
        }
    }
}
