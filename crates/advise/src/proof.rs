//! The best disciplines on seeds and links that the search has not seen.

use fairlane_qdisc::{Duration, Rate};
use fairlane_runner::check;

use crate::advice::ProofCase;
use crate::error::Error;
use crate::mix::Link;
use crate::race::{Arena, Candidate};
use crate::score::{differences, judge, readings};
use crate::settings::AdviseSettings;
use crate::tune::held_out;

/// Number of cases.
pub(crate) const CASES: usize = 5;

/// The cases, each with the factors of the rate and of the round trip.
const FACTORS: [(&str, f64, f64); CASES] = [
    ("other seeds", 1.0, 1.0),
    ("half the rate", 0.5, 1.0),
    ("twice the rate", 2.0, 1.0),
    ("half the round trip", 1.0, 0.5),
    ("twice the round trip", 1.0, 2.0),
];

/// Runs `best`, one or two candidates, in all cases, with a seed that was held out.
pub(crate) fn cases(
    arena: &Arena<'_>,
    settings: &AdviseSettings,
    best: &[&Candidate],
) -> Result<Vec<ProofCase>, Error> {
    let seed = held_out(settings.seed);
    let mut candidates = Vec::new();
    let mut links = Vec::new();
    for (_, rate, rtt) in FACTORS {
        let link = scaled(&settings.link, rate, rtt);
        for candidate in best {
            let times = link.times(settings.quick);
            let scenario = link.document(&candidate.parameters, times, seed)?.scenario()?;
            check(&scenario, "")?;
            candidates.push(Candidate::new(candidate.parameters.clone(), scenario));
        }
        links.push(link);
    }
    let all: Vec<usize> = (0..candidates.len()).collect();
    arena.run(&mut candidates, &all, settings.runs())?;
    let read = |candidate: &Candidate| readings(arena.goal, &arena.metrics, &candidate.runs);
    let case = |name: &str, link: &Link, pair: &[Candidate]| {
        let winner = read(&pair[0]);
        let second = pair.get(1);
        ProofCase {
            name: name.to_owned(),
            rate: link.rate.to_string(),
            rtt: link.rtt.to_string(),
            seed,
            runs: pair[0].runs.len(),
            met: winner.iter().all(|reading| reading.met != Some(false)),
            winner,
            runner_up: second.map(read).unwrap_or_default(),
            difference: second
                .map(|second| differences(&arena.metrics, &pair[0].runs, &second.runs))
                .unwrap_or_default(),
            verdict: second.map(|second| judge(arena.goal, &pair[0].runs, &second.runs)),
        }
    };
    let cases = FACTORS.iter().zip(&links).zip(candidates.chunks(best.len().max(1)));
    Ok(cases.map(|(((name, ..), link), pair)| case(name, link, pair)).collect())
}

/// Returns the link with a multiple of its rate and of its round trip; rates of the traffic that are multiples of the
/// link's follow.
fn scaled(link: &Link, rate: f64, rtt: f64) -> Link {
    Link {
        rate: Rate::from_bits_per_second((link.rate.bits_per_second() as f64 * rate).round().max(1.0) as u64),
        rtt: Duration::from_secs(link.rtt.as_secs() * rtt),
        mix: link.mix.clone(),
    }
}
