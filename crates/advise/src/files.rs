//! Parameters as files: in a scenario, and for a router.

use fairlane_qdisc::{QdiscParameters, Rate};
use fairlane_scenario::Document;

use crate::advise::kernel;
use crate::error::Error;

/// The part of a link's rate that a router is given, so that the queue builds there and not in the modem.
const ROUTER: f64 = 0.95;

/// Returns the parameters that were given, as text.
pub(crate) fn given(parameters: &QdiscParameters) -> Vec<(String, String)> {
    parameters.given().map(|(key, value)| (key.to_owned(), value.to_string())).collect()
}

/// Returns the scenario with these parameters at every compared queue, as a file.
pub(crate) fn with_queue(document: &Document, parameters: &QdiscParameters) -> Result<String, Error> {
    let mut changed = document.clone();
    for key in document.queues() {
        changed.put(&key, &toml::Value::Table(table(parameters)), "the queue")?;
    }
    Ok(changed.to_toml())
}

/// Returns the parameters as a table in one line, such as `{ kind = "codel", target = "5ms" }`.
pub(crate) fn inline(parameters: &QdiscParameters) -> String {
    let keys = table(parameters).into_iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}

/// Returns a file for `fairlane router`, which `comment` precedes.
pub(crate) fn router(rate: Rate, parameters: &QdiscParameters, comment: &str) -> String {
    let shaped = shaped(rate);
    format!(
        "{comment}# Check it: fairlane router --config FILE --dry-run\n\n\
         queue-num = 0\n\
         # The interface to the link; without it your own rules send packets to the queue.\n\
         # interface = \"eth0\"\n\
         # A little below the link's {rate}, so that the queue builds here and not in the modem.\n\
         rate = \"{shaped}\"\n\
         queue = {}\n",
        inline(parameters)
    )
}

/// The burst of the token bucket: two packets, or as much as a timer of 100 us must make up for.
const BURST: u64 = 2 * 1500;
const BURSTS_A_SECOND: u64 = 10_000;

/// Returns the commands of tc(8) for the kernel's own discipline behind a shaper, for the interface `eth0`, with its
/// differences from the simulated one in comments; `None` if the kernel has no such discipline.
pub(crate) fn tc(rate: Rate, parameters: &QdiscParameters) -> Option<String> {
    let shaped = shaped(rate);
    let discipline = kernel(parameters, shaped)?;
    let burst = BURST.max(shaped.bits_per_second() / 8 / BURSTS_A_SECOND);
    let mut text =
        "# In place of the queue of eth0; tc qdisc del dev eth0 root brings the kernel's default back.\n".to_owned();
    text.extend(discipline.differences.iter().map(|difference| format!("# Unlike in the simulation, {difference}.\n")));
    let commands: Vec<String> =
        discipline.commands("eth0", shaped, burst).iter().map(|command| format!("tc {command}")).collect();
    // A shaper without its discipline would have a queue without end.
    text += &commands.join(" &&\n  ");
    Some(text + " || tc qdisc del dev eth0 root\n")
}

/// Returns the part of a link's rate that is shaped to.
fn shaped(rate: Rate) -> Rate {
    Rate::from_bits_per_second(libm::floor(rate.bits_per_second() as f64 * ROUTER).max(1.0) as u64)
}

fn table(parameters: &QdiscParameters) -> toml::Table {
    let kind = ("kind".to_owned(), parameters.kind().name().into());
    let keys = parameters.given().map(|(key, value)| (key.to_owned(), typed(&value.to_string())));
    std::iter::once(kind).chain(keys).collect()
}

/// Returns a value as it would be written by hand: numbers and switches without quotes.
fn typed(text: &str) -> toml::Value {
    match (text.parse::<bool>(), text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(switch), _, _) => switch.into(),
        (_, Ok(count), _) => count.into(),
        (_, _, Ok(ratio)) => ratio.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Kind;

    use super::*;

    #[test]
    fn a_router_gets_a_little_less_than_the_link() {
        let red =
            QdiscParameters::new(Kind::Red).with("limit", "60p").and_then(|red| red.with("weight", "0.01")).unwrap();
        let text = router(Rate::from_bits_per_second(20_000_000), &red, "# Advice.\n");
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["rate"].as_str(), Some("19mbit"));
        assert_eq!(table["queue"]["weight"].as_float(), Some(0.01));
        assert!(
            text.starts_with("# Advice.\n") && text.contains("{ kind = \"red\", limit = \"60p\", weight = 0.01 }"),
            "{text}"
        );
    }
}
