//! The equilibria of the leaky buffer and of SFB's bins against small simulations of what they describe.

use core::num::NonZeroU32;

use fairlane_theory::{Candidates, Choke, Comparisons, Error, GChoke, Sfb};

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The rule by which arrivals are compared.
#[derive(Clone, Copy)]
enum Rule {
    Candidates(u32),
    WhileMatching(u32),
}

/// Shares of all unresponsive flows together.
struct Seen {
    /// Their share of the link.
    share: f64,
    /// Their part of the queue.
    held: f64,
    /// Their part of each tenth of it, from the tail to the head.
    tenths: [f64; 10],
}

struct Flood {
    flows: usize,
    load: f64,
    early: f64,
    rule: Rule,
}

/// A queue of 1000 packets with 0 for TCP, which fills every place that comes free and never matches, as each of its
/// flows has next to nothing of the queue. That is TCP in the limit of the model.
fn simulate(flood: &Flood, packets: u32) -> Seen {
    const LENGTH: usize = 1000;
    let mut random = Random(7);
    let mut queue = std::collections::VecDeque::from(vec![0_usize; LENGTH]);
    let (mut sent, mut counted, mut tenths) = (0.0, 0.0, [0.0; 10]);
    for departure in 0..packets {
        // The whole part of the load, and one more with the probability of the rest.
        let load = flood.flows as f64 * flood.load;
        let arrivals = (load + random.unit()) as u32;
        for _ in 0..arrivals {
            let flow = 1 + random.below(flood.flows);
            if !matches(&mut queue, flow, flood.rule, &mut random) && random.unit() >= flood.early {
                queue.push_back(flow);
            }
        }
        while queue.len() < LENGTH + 1 {
            queue.push_back(0);
        }
        let first = queue.pop_front();
        if departure > packets / 5 {
            counted += 1.0;
            sent += f64::from(u8::from(first.is_some_and(|flow| flow > 0)));
            if departure.is_multiple_of(100) {
                for (behind, flow) in queue.iter().rev().enumerate().take(LENGTH) {
                    tenths[behind * 10 / LENGTH] += 10.0 * 100.0 / LENGTH as f64 * f64::from(u8::from(*flow > 0));
                }
            }
        }
    }
    let tenths = tenths.map(|held| held / counted);
    Seen { share: sent / counted, held: tenths.iter().sum::<f64>() / 10.0, tenths }
}

/// Removes what an arrival of `flow` matches; whether it matched.
fn matches(queue: &mut std::collections::VecDeque<usize>, flow: usize, rule: Rule, random: &mut Random) -> bool {
    let mut matched = false;
    match rule {
        Rule::Candidates(k) => {
            let mut hits: Vec<usize> =
                (0..k).map(|_| random.below(queue.len())).filter(|at| queue[*at] == flow).collect();
            hits.sort_unstable();
            hits.dedup();
            for hit in hits.into_iter().rev() {
                queue.remove(hit);
                matched = true;
            }
        }
        Rule::WhileMatching(most) => {
            for _ in 0..most {
                let at = random.below(queue.len());
                if queue[at] != flow {
                    break;
                }
                queue.remove(at);
                matched = true;
            }
        }
    }
    matched
}

#[track_caller]
fn near(seen: &Seen, model: (f64, f64), what: &str) {
    let off = (seen.share - model.0).abs().max((seen.held - model.1).abs());
    let Seen { share, held, .. } = seen;
    assert!(off < 0.01, "{what}: share and part of the queue {share}, {held} in simulation, {model:?} in theory");
}

/// Early drops come after the comparison: in the other order the share would be 0.257, not 0.230.
#[test]
fn choke_is_the_leaky_buffer() -> Result<(), Error> {
    for (load, early) in [(0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 0.1), (3.0, 0.3)] {
        let seen = simulate(&Flood { flows: 1, load, early, rule: Rule::Candidates(1) }, 100_000);
        let model = Choke::at_load(load, early)?;
        near(&seen, (model.share(), model.buffer_share()), &format!("load {load}, early drops {early}"));
    }
    Ok(())
}

/// Would catch a profile from the wrong end, and a leak that is off.
#[test]
fn a_flow_has_more_of_the_tail_than_of_the_head() -> Result<(), Error> {
    for load in [1.0, 2.0] {
        let seen = simulate(&Flood { flows: 1, load, early: 0.0, rule: Rule::Candidates(1) }, 300_000);
        let profile = Choke::at_load(load, 0.0)?.profile();
        for (tenth, seen) in (0..10).zip(seen.tenths) {
            let model = profile.mean_density(f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)?;
            assert!((seen - model).abs() < 0.01, "load {load}, tenth {tenth} from the tail: {seen}, not {model}");
        }
    }
    Ok(())
}

/// The share is small, and so is what may be off: 0.0078.
#[test]
fn three_candidates_leave_a_flood_next_to_nothing() -> Result<(), Error> {
    let seen = simulate(&Flood { flows: 1, load: 2.0, early: 0.0, rule: Rule::Candidates(3) }, 400_000);
    let model = Candidates::at_load(1, 3, 2.0)?;
    assert!((seen.share - model.share()).abs() < 0.001, "{}, not {}", seen.share, model.share());
    Ok(())
}

#[test]
fn candidates_are_the_leaky_buffer() -> Result<(), Error> {
    for (flows, candidates, load) in [(1, 2, 2.0), (1, 3, 2.0), (2, 1, 1.0), (5, 2, 0.4), (5, 4, 1.0)] {
        let rule = Rule::Candidates(candidates);
        let seen = simulate(&Flood { flows: flows as usize, load, early: 0.0, rule }, 100_000);
        let model = Candidates::at_load(flows, candidates, load)?;
        let held = f64::from(flows) * model.buffer_share();
        near(&seen, (model.total_share(), held), &format!("{flows} flows, {candidates} candidates, load {load}"));
    }
    Ok(())
}

#[test]
fn gchoke_is_the_leaky_buffer() -> Result<(), Error> {
    for (most, load) in [(2, 1.0), (3, 2.0), (1_000_000, 0.7)] {
        let seen = simulate(&Flood { flows: 1, load, early: 0.0, rule: Rule::WhileMatching(most) }, 100_000);
        let comparisons = NonZeroU32::new(most).map_or(Comparisons::Unlimited, Comparisons::AtMost);
        let model = GChoke::at_load(comparisons, load)?;
        near(&seen, (model.share(), model.buffer_share()), &format!("maxcomp {most}, load {load}"));
    }
    Ok(())
}

/// Each trial hashes one flow and those that do not answer anew.
#[test]
fn sfb_is_what_random_hashes_do() -> Result<(), Error> {
    const TRIALS: u32 = 200_000;
    let mut random = Random(3);
    for (levels, bins, flows) in [(2, 23, 8), (1, 46, 8), (3, 10, 4)] {
        let model = Sfb::new(levels, bins, flows)?.misclassified();
        let mut polluted =
            |_| (0..levels).all(|_| (0..flows).fold(false, |hit, _| random.below(bins as usize) == 0 || hit));
        let seen = (0..TRIALS).filter(|trial| polluted(*trial)).count() as f64 / f64::from(TRIALS);
        // Five standard deviations.
        let tolerance = 5.0 * libm::sqrt(model * (1.0 - model) / f64::from(TRIALS));
        assert!((seen - model).abs() < tolerance, "{levels} x {bins}, {flows} flows: {seen}, not {model}");
    }
    Ok(())
}

/// The best division is that of trying all.
#[test]
fn the_best_division_is_the_best_of_all() -> Result<(), Error> {
    for (total, flows) in [(46, 8), (128, 10), (900, 10), (900, 200), (900, 500), (7, 0), (1, 3)] {
        let best = Sfb::best(total, flows)?;
        let mut least = f64::INFINITY;
        for levels in 1..=total {
            least = least.min(Sfb::new(levels, total / levels, flows)?.misclassified());
        }
        assert!(best.misclassified() <= least, "{total} bins, {flows} flows: {best:?} has more than {least}");
        assert!(best.levels() * best.bins() <= total);
    }
    Ok(())
}
