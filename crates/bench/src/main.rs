//! Does the work that callgrind counts, between two calls of [`begin_count`].
//!
//! ```text
//! fairlane-bench list                             prints the names of all kinds
//! fairlane-bench kinds FLOWS LENGTH STEPS KIND…   for each kind, STEPS arrivals with their departures at LENGTH packets
//! fairlane-bench times FLOWS LENGTH ROUNDS KIND…  the nanoseconds of an arrival, the kinds in turn, over the first one's
//! fairlane-bench scenario FILE DURATION NAME…     a run of the scenario without these shortcuts: `lazy-links`, `early-hosts`
//!                                                 and `prefetch`; its number of events is printed
//! ```
//!
//! The kind `driver` is no discipline: its numbers are the program's own part in the others.

use std::process::ExitCode;
use std::time::Instant;

use fairlane_bench::{Load, Station, begin_count};
use fairlane_qdisc::Kind;
#[cfg(feature = "scenarios")]
use fairlane_sim::{Control, Shortcuts, Simulation};

/// Allocates as the program does, so that the figures are its own.
#[global_allocator]
static MEMORY: fairlane_alloc::HugePages = fairlane_alloc::HugePages;

/// Arrivals that are timed at once: so few that another process seldom interrupts them.
const BURST: u32 = 8000;

fn load(flows: &str, length: &str) -> Result<Load, String> {
    let light = flows.parse::<u16>().map_err(|error| format!("{flows}: {error}"))?.saturating_sub(1);
    Ok(Load { light, length: length.parse().map_err(|error| format!("{length}: {error}"))? })
}

fn station(name: &str, load: Load) -> Result<Station, String> {
    if name == "driver" {
        return Ok(Station::driver(load));
    }
    let kind: Kind = name.parse().map_err(|error| format!("{error}"))?;
    Station::new(kind, load).map_err(|error| format!("{name}: {error}"))
}

fn count_kinds(load: Load, steps: &str, kinds: &[String]) -> Result<(), String> {
    let steps = steps.parse().map_err(|error| format!("{steps}: {error}"))?;
    for name in kinds {
        let mut station = station(name, load)?;
        begin_count();
        station.steps(steps);
        begin_count();
    }
    Ok(())
}

/// Returns the nanoseconds of an arrival in one burst, after a quarter of one that brings the station into the cache.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn time(station: &mut Station) -> f64 {
    station.steps(BURST / 4);
    let begin = Instant::now();
    station.steps(BURST);
    begin.elapsed().as_nanos() as f64 / f64::from(BURST)
}

fn time_kinds(load: Load, rounds: &str, kinds: &[String]) -> Result<(), String> {
    let rounds: usize = rounds.parse().map_err(|error| format!("{rounds}: {error}"))?;
    let mut stations = kinds.iter().map(|name| station(name, load)).collect::<Result<Vec<_>, _>>()?;
    let mut times = vec![Vec::with_capacity(rounds); kinds.len()];
    for _ in 0..rounds {
        for (station, times) in stations.iter_mut().zip(&mut times) {
            times.push(time(station));
        }
    }
    let first = times.first().cloned().unwrap_or_default();
    for (name, times) in kinds.iter().zip(&times) {
        let ratios = times.iter().zip(&first).map(|(time, first)| time / first).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{name}: {least:.1} ns least, {:.1} median, {:.2} times {}",
            median(times.clone()),
            median(ratios),
            kinds[0]
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(not(feature = "scenarios"))]
fn count_scenario(_file: &str, _duration: &str, _without: &[String]) -> Result<(), String> {
    Err("this program was compiled without the feature `scenarios`".to_owned())
}

#[cfg(feature = "scenarios")]
fn count_scenario(file: &str, duration: &str, without: &[String]) -> Result<(), String> {
    let mut shortcuts = Shortcuts::default();
    for name in without {
        match name.as_str() {
            "lazy-links" => shortcuts.lazy_links = false,
            "early-hosts" => shortcuts.early_hosts = false,
            "prefetch" => shortcuts.prefetch_from = usize::MAX,
            _ => return Err(format!("there is no shortcut {name}: lazy-links, early-hosts or prefetch")),
        }
    }
    let mut document =
        fairlane_scenario::Document::load(std::path::Path::new(file)).map_err(|error| error.to_string())?;
    for (key, value) in [("warmup", "0s"), ("duration", duration)] {
        document.set(key, value).map_err(|error| error.to_string())?;
    }
    let scenario = document.scenario().map_err(|error| error.to_string())?;
    begin_count();
    let simulation = Simulation::with_shortcuts(&scenario, 0, shortcuts).map_err(|error| error.to_string())?;
    let outcome = simulation.finish(&Control::default()).map_err(|error| error.to_string())?;
    begin_count();
    println!("{}", outcome.cost.events);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => {
            Kind::ALL.iter().for_each(|kind| println!("{kind}"));
            Ok(())
        }
        ["kinds", flows, length, steps, ..] => load(flows, length).and_then(|load| count_kinds(load, steps, &arguments[4..])),
        ["times", flows, length, rounds, ..] => load(flows, length).and_then(|load| time_kinds(load, rounds, &arguments[4..])),
        ["scenario", file, duration, ..] => count_scenario(file, duration, &arguments[3..]),
        _ => Err("give `list`, `kinds FLOWS LENGTH STEPS KIND…`, `times FLOWS LENGTH ROUNDS KIND…` or `scenario FILE DURATION NAME…`".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairlane-bench: {error}");
            ExitCode::from(2)
        }
    }
}
