//! `fairlane check`: the description of a scenario, or its mistakes.

use fairlane_console::layout::{columns, paragraph};
use fairlane_console::{Failure, output};
use fairlane_qdisc::{Duration, Origin, QdiscConfig};
use fairlane_runner::memory::Needs;
use fairlane_scenario::{FlowGroup, Hop, Link, LinkSide, Scenario, Traffic, Wire};

use crate::args::check::CheckArgs;
use crate::shared;

/// Checks a scenario as `fairlane run` would, and prints its description.
pub(crate) fn execute(args: &CheckArgs) -> Result<(), Failure> {
    let document = shared::document(Some(&args.file), &args.overrides)?;
    let mistakes = document.mistakes();
    if !mistakes.is_empty() {
        for mistake in mistakes {
            if let Failure::Refused(refusal) = mistake.into() {
                output::tell(&refusal.shown());
            }
        }
        return Err(Failure::Logged);
    }
    let scenario = shared::simulated(Some(&args.file), &args.overrides)?.scenario()?;
    let needs = Needs::of([&scenario], 1, None);
    needs.check()?;
    fairlane_runner::check(&scenario, "")?;
    output::print(&described(&scenario, needs, output::width()))
}

fn described(scenario: &Scenario, needs: Needs, width: usize) -> String {
    let Scenario { name, duration, warmup, seed, .. } = scenario;
    let warmup = if *warmup == Duration::ZERO { String::new() } else { format!(", the first {warmup} not measured") };
    let title = format!("{name}: {duration}{warmup}, with seed {seed}; at least {needs} of memory a run");
    let sides: Vec<(String, &LinkSide)> = scenario.links.iter().flat_map(sides).collect();
    let links: Vec<[String; 4]> = sides.iter().map(|(name, side)| link(name, side)).collect();
    let flows: Vec<[String; 4]> = scenario.flows.iter().map(|group| flows(group, scenario)).collect();
    let mut text = paragraph(&title, "", "  ", width);
    text += &format!("\nLinks\n{}\nFlows\n{}", columns(&links, width), columns(&flows, width));
    let warnings = [scenario.queue_warnings(), scenario.limit_notes(), scenario.time_warnings()].into_iter().flatten();
    let warnings: String = warnings.map(|line| paragraph(&line, "  - ", "    ", width)).collect();
    if warnings.is_empty() { text } else { text + "\nWarnings\n" + &warnings }
}

/// Returns both directions of a link, with their names.
fn sides(link: &Link) -> [(String, &LinkSide); 2] {
    [(link.name.clone(), &link.forward), (format!("{}/reverse", link.name), &link.reverse)]
}

/// Returns the name of a link, its rate, its delay and its queue.
fn link(name: &str, side: &LinkSide) -> [String; 4] {
    let Wire { policer, shaper, loss, jitter, rates, .. } = &side.wire;
    let rate = if rates.is_some() { format!("{} (varies)", side.rate) } else { side.rate.to_string() };
    let mut words = vec![queue(&side.queue)];
    words.extend(policer.map(|policer| format!("policer of {}, burst {}", policer.rate, policer.burst)));
    words.extend(shaper.as_ref().map(|shaper| format!("{} shaper of {}", shaper.kind.name(), shaper.rate)));
    words.extend(loss.map(|_| "loses packets".to_owned()));
    words.extend((*jitter != Duration::ZERO).then(|| format!("jitter of {jitter}")));
    [name.to_owned(), rate, side.delay.to_string(), words.join(", ")]
}

/// Returns a discipline with the parameters that were given.
fn queue(config: &QdiscConfig) -> String {
    let explanation = config.explanation();
    let given = explanation.parameters.iter().filter(|parameter| parameter.origin == Origin::Given);
    let given = given.map(|parameter| format!(" {}={}", parameter.key, parameter.value));
    format!("{}{}", explanation.kind, given.collect::<String>())
}

/// Returns the name of a group, its number of flows, its traffic and its path.
fn flows(group: &FlowGroup, scenario: &Scenario) -> [String; 4] {
    let traffic = match &group.traffic {
        Traffic::Udp(udp) => format!("udp, {} on the wire", udp.rate),
        other => other.to_string(),
    };
    let name = |hop: &Hop| {
        let link = &scenario.links[hop.link].name;
        if hop.reverse { format!("{link}/reverse") } else { link.clone() }
    };
    let path: Vec<String> = group.path.iter().map(name).collect();
    [group.name.clone(), group.count.to_string(), traffic, format!("over {}", path.join(", "))]
}
