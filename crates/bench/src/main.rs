//! Does what callgrind is to count, between two calls of [`begin_count`].
//!
//! ```text
//! fairlane-bench list                      prints the names of all kinds
//! fairlane-bench kinds FLOWS STEPS KIND…   for each kind, STEPS arrivals with their departures
//! fairlane-bench scenario FILE DURATION    a run of the scenario, whose number of events is printed
//! ```

use std::path::Path;
use std::process::ExitCode;

use fairlane_bench::station::FEW;
use fairlane_bench::{Station, begin_count};
use fairlane_qdisc::Kind;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

/// Returns the arrivals before the count: the averages have settled, and every table has its size.
const fn first(light: u32) -> u32 {
    if light == FEW { 30_000 } else { 200_000 }
}

fn count_kinds(flows: &str, steps: &str, kinds: &[String]) -> Result<(), String> {
    let light = flows.parse::<u32>().map_err(|error| format!("{flows}: {error}"))?.saturating_sub(1);
    let steps = steps.parse().map_err(|error| format!("{steps}: {error}"))?;
    for name in kinds {
        let kind: Kind = name.parse().map_err(|error| format!("{error}"))?;
        let mut station = Station::new(kind, light, first(light)).map_err(|error| format!("{name}: {error}"))?;
        begin_count();
        station.steps(steps);
        begin_count();
    }
    Ok(())
}

fn count_scenario(file: &str, duration: &str) -> Result<(), String> {
    let mut document = Document::load(Path::new(file)).map_err(|error| error.to_string())?;
    for (key, value) in [("warmup", "0s"), ("duration", duration)] {
        document.set(key, value).map_err(|error| error.to_string())?;
    }
    let scenario = document.scenario().map_err(|error| error.to_string())?;
    begin_count();
    let outcome = run(&scenario, 0, &Control::default(), &mut ()).map_err(|error| error.to_string())?;
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
        ["kinds", flows, steps, ..] => count_kinds(flows, steps, &arguments[3..]),
        ["scenario", file, duration] => count_scenario(file, duration),
        _ => Err("give `list`, `kinds FLOWS STEPS KIND…` or `scenario FILE DURATION`".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairlane-bench: {error}");
            ExitCode::from(2)
        }
    }
}
