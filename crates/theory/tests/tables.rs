//! The numbers that the papers print, and others worked out by hand, to their last digit.

use core::num::NonZeroU32;

use fairlane_theory::{
    BackChoke, Candidates, Choke, Comparisons, Error, FrontChoke, GChoke, Sfb, TcpPath, candidates_that_protect,
    square_root_law,
};

/// `value` is `printed` with as many digits after the point as it shows.
#[track_caller]
fn prints(value: f64, printed: &str, what: &str) {
    let digits = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    assert_eq!(format!("{value:.digits$}"), printed, "{what}");
}

/// Table II of the CHOKe paper, column "Theory": rates at mu = 1, the probability of an empty queue, then each flow's
/// at the head.
#[test]
fn front_choke_gives_table_2() -> Result<(), Error> {
    let rows: [(&[f64], &[&str]); 8] = [
        (&[0.5, 1.0], &["0.417", "0.250", "0.333"]),
        (&[1.0, 2.0], &["0.267", "0.333", "0.400"]),
        (&[2.0, 3.0], &["0.171", "0.400", "0.429"]),
        (&[3.0, 4.0], &["0.127", "0.429", "0.444"]),
        (&[3.0, 5.0], &["0.117", "0.429", "0.455"]),
        (&[3.0, 6.0], &["0.110", "0.429", "0.462"]),
        (&[0.3, 0.6, 0.9], &["0.218", "0.188", "0.273", "0.321"]),
        (&[0.5, 1.0, 1.5], &["0.042", "0.250", "0.333", "0.375"]),
    ];
    for (rates, printed) in rows {
        let model = FrontChoke::new(1.0, rates)?;
        prints(model.empty(), printed[0], "empty");
        for (flow, printed) in model.flows().iter().zip(&printed[1..]) {
            // With a server of rate 1 the goodput is the probability. 0.1875 is a tie, which the paper rounds up.
            prints(flow.goodput + 1e-12, printed, "goodput");
        }
    }
    Ok(())
}

/// Table III of the CHOKe paper.
#[test]
fn back_choke_gives_table_3() -> Result<(), Error> {
    let rows: [(usize, &[f64], &[&str]); 8] = [
        (0, &[1.0, 1.0, 1.0, 7.0], &["0.1", "0.1", "0.1", "0.7"]),
        (1, &[1.0, 1.0, 1.0, 7.0], &["0.1875", "0.1875", "0.1875", "0.4375"]),
        (2, &[1.0, 1.0, 1.0, 7.0], &["0.2273", "0.2273", "0.2273", "0.3182"]),
        (3, &[1.0, 1.0, 1.0, 7.0], &["0.25", "0.25", "0.25", "0.25"]),
        (1, &[1.0, 2.0, 3.0, 4.0], &["0.1286", "0.2286", "0.3000", "0.3429"]),
        (2, &[1.0, 2.0, 3.0, 4.0], &["0.1733", "0.2533", "0.2800", "0.2933"]),
        (3, &[1.0, 2.0, 3.0, 4.0, 5.0], &["0.1405", "0.1953", "0.2135", "0.2226", "0.2281"]),
        (3, &[1.0, 3.0, 5.0, 7.0, 9.0], &["0.1101", "0.2034", "0.2220", "0.2300", "0.2345"]),
    ];
    for (memory, rates, printed) in rows {
        let model = BackChoke::new(rates, memory)?;
        for (flow, printed) in model.flows().iter().zip(printed) {
            prints(flow.share, printed, "share");
        }
    }
    Ok(())
}

/// Rates 1, 1, 1, 7: `2 e_2 / e_1` is 48/10 and `4 e_4 / e_3` is 28/22, worked out by hand. The paper's condition has
/// 3.625 and 2.5.
#[test]
fn what_back_choke_admits_is_not_what_the_paper_compares_with_mu() -> Result<(), Error> {
    for (memory, admitted, in_paper) in [(1, 4.8, 3.625), (3, 14.0 / 11.0, 2.5)] {
        let model = BackChoke::new(&[1.0, 1.0, 1.0, 7.0], memory)?;
        assert!((model.admitted() - admitted).abs() < 1e-12, "{}", model.admitted());
        let paper: f64 = model.flows().iter().map(|flow| flow.rate * flow.share).sum();
        assert!((paper - in_paper).abs() < 1e-12, "{paper}");
    }
    Ok(())
}

/// The SFB paper's 8.96 % and 16.12 %, its example of 10 bins and 3 levels, and tc-sfb(8)'s defaults with ten flows.
#[test]
fn sfb_misclassifies_as_printed() -> Result<(), Error> {
    let cases = [(2, 23, 8, "0.089555"), (1, 46, 8, "0.161240"), (3, 10, 1, "0.001000"), (8, 16, 10, "0.002615")];
    for (levels, bins, flows, printed) in cases {
        prints(Sfb::new(levels, bins, flows)?.misclassified(), printed, "misclassified");
    }
    // "Approximately 6", says the paper.
    prints(Sfb::new(2, 23, 8)?.polluted_bins(), "6.88", "polluted bins");
    Ok(())
}

/// Figure 17 of the SFB paper: of 900 bins, more levels are better up to so many flows that do not answer.
#[test]
fn levels_pay_off_up_to_so_many_flows() -> Result<(), Error> {
    for (levels, last) in [(2, 432), (10, 161)] {
        let better = |flows| -> Result<bool, Error> {
            Ok(Sfb::new(levels, 900 / levels, flows)?.misclassified() < Sfb::new(1, 900, flows)?.misclassified())
        };
        assert!(better(last - 1)?, "{levels} levels, fewer than {last} flows");
        assert!(!better(last + 1)?, "{levels} levels, more than {last} flows");
    }
    Ok(())
}

/// The load, the unresponsive flow's part of the queue, its share of the link and its loss in percent.
#[test]
fn choke_with_many_tcp_flows() -> Result<(), Error> {
    let rows = [
        (0.1, "0.0866", "0.0827", "17.3"),
        (0.5, "0.2729", "0.2271", "54.6"),
        (1.0, "0.3665", "0.2669", "73.3"),
        (2.0, "0.4373", "0.2507", "87.5"),
        (3.0, "0.4650", "0.2103", "93.0"),
        (10.0, "0.4986", "0.0287", "99.7"),
    ];
    for (load, buffer, share, loss) in rows {
        let model = Choke::at_load(load, 0.0)?;
        prints(model.buffer_share(), buffer, "h");
        prints(model.share(), share, "s");
        prints(100.0 * model.loss(), loss, "loss");
    }
    let e = core::f64::consts::E;
    let peak = Choke::peak();
    assert!((peak.share() - 1.0 / (e + 1.0)).abs() < 1e-15);
    assert!((peak.load() - (2.0 * e - 1.0) / (e + 1.0)).abs() < 1e-15);
    assert!((peak.buffer_share() - (e - 1.0) / (2.0 * e - 1.0)).abs() < 1e-15);
    Ok(())
}

/// Shares at the tail: the link sends the tail last after the flow has stopped.
#[test]
fn the_transient_reaches_the_tail_s_share() -> Result<(), Error> {
    for (load, tail) in [(2.0, "0.60"), (10.0, "0.84")] {
        let choke = Choke::at_load(load, 0.0)?;
        prints(choke.profile().share_after_stop(1.0)?, tail, "at the tail");
        assert!((choke.profile().share_after_stop(0.0)? - choke.share()).abs() < 1e-9, "at first as before");
    }
    Ok(())
}

/// Five unresponsive flows: total share with 4 and 5 candidates, and where TCP starves with fewer.
#[test]
fn candidates_against_five_flows() -> Result<(), Error> {
    let rows: [(u32, [&str; 4]); 2] =
        [(4, ["0.348", "0.386", "0.333", "0.208"]), (5, ["0.284", "0.280", "0.171", "0.050"])];
    for (candidates, totals) in rows {
        for (load, total) in [0.2, 0.4, 1.0, 2.0].into_iter().zip(totals) {
            prints(Candidates::at_load(5, candidates, load)?.total_share(), total, "total");
        }
    }
    // 1 / (5 (0.8 - 0.2)) and 1 / (5 (0.64 - 0.4)).
    for (candidates, starves) in [(1, Some(1.0 / 3.0)), (2, Some(5.0 / 6.0)), (3, None), (4, None)] {
        let at = Candidates::at_load(5, candidates, 0.1)?.starvation_load();
        assert_eq!(at.is_some(), starves.is_some(), "{candidates} candidates");
        assert!((at.unwrap_or(0.0) - starves.unwrap_or(0.0)).abs() < 1e-12, "{candidates} candidates: {at:?}");
    }
    assert_eq!(candidates_that_protect(5)?, 3);
    Ok(())
}

/// One flow's largest share by the number of candidates, and its share at twice the link's rate.
#[test]
fn candidates_against_one_flow() -> Result<(), Error> {
    for (candidates, share) in [(1, "0.269"), (2, "0.129"), (3, "0.0845"), (4, "0.0629")] {
        prints(Candidates::peak(candidates)?.share(), share, "peak");
    }
    // The last is solved apart: h is 0.18149233, L / (3 (1 - h) + L ((1 - h)^3 - 3h)) is 2 there.
    for (candidates, share) in [(1, "0.251"), (2, "0.049"), (3, "0.0078")] {
        prints(Candidates::at_load(1, candidates, 2.0)?.share(), share, "at twice the link");
    }
    Ok(())
}

/// The largest share and the part of the queue by maxcomp; `(3 - sqrt 5) / 2` without a bound. The published gains, 20
/// % and more of both bounds, follow. With `maxcomp` 2 and 3 the part of the queue solves `h^2 + 2h = 1` and
/// `h^3 + h^2 + 2h = 1`, whose roots are 0.41421356 and 0.39264678.
#[test]
fn gchoke_bounds() -> Result<(), Error> {
    let unlimited = (Comparisons::Unlimited, "0.2052", "0.3820");
    let most =
        |number: u32, share, bound| (Comparisons::AtMost(NonZeroU32::MIN.saturating_add(number - 1)), share, bound);
    let rows = [most(1, "0.2689", "0.5000"), most(2, "0.2182", "0.4142"), most(3, "0.2086", "0.3926"), unlimited];
    for (comparisons, share, bound) in rows {
        prints(GChoke::peak(comparisons).share(), share, "share");
        prints(GChoke::buffer_bound(comparisons), bound, "buffer");
    }
    prints(GChoke::peak(most(5, "", "").0).share(), "0.2055", "share");
    assert!((GChoke::buffer_bound(Comparisons::Unlimited) - (3.0 - libm::sqrt(5.0)) / 2.0).abs() < 1e-12);
    for (number, losses) in [(1, "0.60000"), (2, "0.69000"), (5, "0.72753")] {
        prints(most(number, "", "").0.expected_losses(0.3)?, losses, "losses an arrival");
    }
    Ok(())
}

/// `sqrt(150) / 0.1` and, for 1000 bytes, a round trip of 0.1 s and a loss of 1 %, 112 332 B/s.
#[test]
fn tcp_laws() -> Result<(), Error> {
    prints(square_root_law(0.1, 0.01)?, "122.474487", "square root");
    let path = TcpPath::tfrc(0.1)?;
    prints(1000.0 * path.equation(0.01)?, "112332", "equation");
    // Without cuts the two laws are the same; a window of 5 packets a round trip is 50 a second.
    prints(1000.0 * path.reno(0.01, 1e6)?, "112332", "Reno");
    prints(path.reno(0.01, 5.0)?, "50", "Reno with a window");
    prints(TcpPath::new(0.1, 0.4, 2.0)?.square_root(0.01)?, "86.6025404", "square root, delayed acknowledgements");
    Ok(())
}

/// The full model, computed from its formulas with 30 digits by another program; the paths of the last two limit the
/// window.
#[test]
fn reno_in_full() -> Result<(), Error> {
    for (loss, rtt, timeout, acked, window, rate) in [
        (0.01, 0.1, 0.4, 1.0, 1e9, "110.959976"),
        (0.01, 0.1, 0.4, 2.0, 1e9, "77.8464554"),
        (0.001, 0.1, 1.0, 1.0, 1e9, "376.602280"),
        (0.1, 0.25, 2.5, 2.0, 1e9, "3.64239576"),
        (0.5, 0.25, 2.5, 2.0, 1e9, "0.240963855"),
        (0.001, 0.47, 3.2, 2.0, 12.0, "23.9124078"),
        (0.02, 0.2, 1.0, 1.0, 8.0, "25.2743837"),
    ] {
        prints(TcpPath::new(rtt, timeout, acked)?.reno_in_full(loss, window)?, rate, &format!("{loss}"));
    }
    Ok(())
}

/// The sums from which Padhye and others derive the model, term by term, for a window that is always the largest: the
/// probabilities that `k` of `W` packets arrive before the loss and `m` of the next `k`, and the lengths of timeouts in
/// a row.
#[test]
fn reno_in_full_follows_from_its_sums() -> Result<(), Error> {
    for (p, rtt, t0, b, window) in [(0.001, 0.47, 3.2, 2.0, 12), (0.02, 0.2, 1.0, 1.0, 8), (0.05, 0.1, 0.5, 2.0, 5)] {
        let q = 1.0 - p;
        let power = |base: f64, k: i32| (0..k).fold(1.0, |product, _| product * base);
        let before = |k: i32| power(q, k) * p / (1.0 - power(q, window));
        let next = |k: i32, m: i32| if m < k { power(q, m) * p } else { power(q, k) };
        let timeout: f64 = (0..3).map(before).sum::<f64>()
            + (3..window).map(|k| before(k) * (0..3).map(|m| next(k, m)).sum::<f64>()).sum::<f64>();
        let length = |k: i32| if k <= 6 { power(2.0, k) - 1.0 } else { 63.0 + 64.0 * f64::from(k - 6) };
        let timeouts: f64 = (1..200).map(|k| power(p, k - 1) * q * length(k) * t0).sum();
        let w = f64::from(window);
        let rounds = b * w / 8.0 + q / (p * w) + 2.0;
        let rate = (q / p + w + timeout / q) / (rtt * rounds + timeout * timeouts);
        let closed = TcpPath::new(rtt, t0, b)?.reno_in_full(p, w)?;
        assert!((closed / rate - 1.0).abs() < 1e-9, "{closed}, {rate} by the sums");
    }
    Ok(())
}
