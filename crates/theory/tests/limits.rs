//! Limits in which models must agree with each other or with plain reasoning.

use core::num::NonZeroU32;

use fairlane_theory::{
    BackChoke, Candidates, Choke, Comparisons, Error, FrontChoke, GChoke, TcpPath, candidates_that_protect,
    square_root_law,
};

#[track_caller]
fn close(seen: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((seen - expected).abs() <= tolerance, "{what}: {seen}, not {expected}");
}

/// Three ways to the same numbers, one of them with an inner root to find.
#[test]
fn one_candidate_and_one_comparison_are_choke() -> Result<(), Error> {
    for load in [1e-9, 0.01, 0.3, 1.0, 1.193, 2.0, 7.0, 40.0, 1e9] {
        let choke = Choke::at_load(load, 0.0)?;
        let one = Candidates::at_load(1, 1, load)?;
        let gchoke = GChoke::at_load(Comparisons::AtMost(NonZeroU32::MIN), load)?;
        for (share, buffer) in [(one.share(), one.buffer_share()), (gchoke.share(), gchoke.buffer_share())] {
            close(share, choke.share(), 1e-12, "share");
            close(buffer, choke.buffer_share(), 1e-12, "part of the queue");
        }
        close(choke.share(), load * (1.0 - choke.loss()), 1e-9 * load.max(1.0), "packets that are not lost leave");
    }
    Ok(())
}

/// A flow of next to no load loses next to nothing but what RED drops.
#[test]
fn a_small_flow_passes() -> Result<(), Error> {
    let load = 1e-6;
    close(Choke::at_load(load, 0.2)?.loss(), 0.2, 2e-6, "CHOKe");
    close(Candidates::at_load(7, 3, load)?.share() / load, 1.0, 1e-4, "candidates");
    close(GChoke::at_load(Comparisons::Unlimited, load)?.share() / load, 1.0, 1e-4, "gCHOKe");
    let front = FrontChoke::new(1.0, &[load, 3.0 * load])?;
    close(front.flows()[0].goodput / front.flows()[1].goodput, 1.0 / 3.0, 1e-5, "front");
    close(BackChoke::new(&[load, 1.0, 1.0], 1)?.flows()[0].loss, load / 2.0, 1e-11, "back");
    Ok(())
}

/// A flood has half of the queue and nothing of the link; at front CHOKe it has half of the server.
#[test]
fn a_flood_defeats_itself() -> Result<(), Error> {
    let choke = Choke::at_load(1e6, 0.0)?;
    close(choke.buffer_share(), 0.5, 1e-12, "part of the queue");
    close(choke.share(), 0.0, 1e-12, "share");
    close(Candidates::at_load(1, 1_000_000, 2.0)?.share(), 0.0, 1e-9, "share with a million candidates");
    close(FrontChoke::new(1.0, &[1e9])?.flows()[0].goodput, 0.5, 1e-8, "front");
    Ok(())
}

/// The share of TCP falls to 0 continuously at `1 / (M ((1 - 1/M)^k - k/M))`; with two flows and one candidate, where
/// both sides of the condition are equal, it falls with the logarithm of the load and never ends.
#[test]
fn starvation_comes_gradually() -> Result<(), Error> {
    for (flows, candidates) in [(3, 1), (5, 1), (5, 2), (40, 10)] {
        let at = Candidates::at_load(flows, candidates, 1e-3)?.starvation_load().unwrap_or(f64::NAN);
        let before = Candidates::at_load(flows, candidates, at * (1.0 - 1e-7))?;
        assert!(!before.starves() && before.tcp_share() > 0.0 && before.tcp_share() < 1e-5, "{before:?}");
        let after = Candidates::at_load(flows, candidates, at * (1.0 + 1e-7))?;
        assert!(after.starves());
        close(before.buffer_share(), after.buffer_share(), 1e-5, "part of the queue");
        close(before.share(), after.share(), 1e-5, "share");
    }
    // a = L (2 - z) / (z (1 + 2L)) and TCP's share is 1 / (1 + 2L): worked out for L = 10.
    let z = libm::exp(-10.0);
    let even = Candidates::at_load(2, 1, 10.0 * (2.0 - z) / (z * 21.0))?;
    assert_eq!(even.starvation_load(), None);
    close(even.tcp_share(), 1.0 / 21.0, 1e-9, "TCP's share");
    Ok(())
}

/// The least k with `(1 - 1/M)^k <= k/M`, by trying; for many flows k/M solves `exp(-x) = x`, 0.567143.
#[test]
fn as_many_candidates_protect_as_trying_finds() -> Result<(), Error> {
    for flows in 1..200_u32 {
        let m = f64::from(flows);
        let mut unmatched = 1.0;
        let mut least = 0;
        while unmatched > f64::from(least) / m + 1e-12 {
            least += 1;
            unmatched *= 1.0 - 1.0 / m;
        }
        assert_eq!(candidates_that_protect(flows)?, least, "{flows} flows");
    }
    close(f64::from(candidates_that_protect(1_000_000)?) / 1e6, 0.567_143, 1e-5, "of many");
    Ok(())
}

/// With a longer memory a flood gets less and the shares come closer to each other.
#[test]
fn memory_makes_fair() -> Result<(), Error> {
    let rates = [1.0, 2.0, 3.0, 4.0, 90.0];
    let mut last = 1.0;
    for memory in 0..5 {
        let flood = BackChoke::new(&rates, memory)?.flows()[4].share;
        assert!(flood < last, "memory {memory}: {flood} after {last}");
        last = flood;
    }
    close(last, 0.2, 1e-12, "of a round robin");
    Ok(())
}

/// With few losses timeouts do not matter, so all laws are the square root law.
#[test]
fn tcp_s_laws_agree_at_small_losses() -> Result<(), Error> {
    let (rtt, loss) = (0.05, 1e-8);
    let root = square_root_law(rtt, loss)?;
    let path = TcpPath::tfrc(rtt)?;
    close(path.equation(loss)? / root, 1.0, 1e-6, "TFRC");
    close(path.reno(loss, 1e9)? / root, 1.0, 1e-6, "Reno");
    close(path.reno_in_full(loss, 1e9)? / root, 1.0, 1e-3, "Reno in full");
    // The largest window is sent each round trip.
    close(path.reno_in_full(loss, 10.0)?, 200.0, 1e-3, "Reno with a window of 10");
    // Above a loss of 8/27 a timeout would be more than certain: TFRC's equation is the lower.
    assert!(path.equation(0.4)? < path.reno(0.4, 1e9)?);
    close(path.equation(0.29)?, path.reno(0.29, 1e9)?, 1e-12, "below it");
    Ok(())
}

/// As the loss goes to 0, Reno's rate goes to its largest window a round trip, down to the smallest number there is.
#[test]
fn reno_in_full_without_losses() -> Result<(), Error> {
    let path = TcpPath::tfrc(0.05)?;
    for loss in [1e-15, 1e-300, 7e-309, f64::from_bits(1)] {
        close(path.reno_in_full(loss, 10.0)?, 200.0, 1e-9, &format!("a loss of {loss:e}"));
    }
    Ok(())
}
