//! Checks that a shell supports a scenario.

use fairlane_scenario::{Link, LinkSide, Scenario};

use fairlane_lab::Unsupported;

/// The name of the link of `[bottleneck]`.
const BOTTLENECK: &str = "bottleneck";

/// A scenario that a shell supports, with its only link.
#[derive(Clone, Debug)]
pub(crate) struct ShellPlan {
    pub(crate) scenario: Scenario,
    /// Forward is towards the command.
    pub(crate) link: Link,
}

impl ShellPlan {
    /// Checks the link, and that there are flows if they are to run.
    pub(crate) fn new(scenario: &Scenario, with_flows: bool) -> Result<Self, Unsupported> {
        if with_flows && scenario.flows.is_empty() {
            let message = "the scenario's own flows are asked for (--flows), and it has none";
            return Err(cannot("flows", message, "add [[flows]], or leave out --flows"));
        }
        let [link] = &scenario.links[..] else {
            let message = format!("a shell has one link, not {}", scenario.links.len());
            return Err(cannot("links", message, "start a shell in a shell for two links in a row"));
        };
        check_side(&link.forward, &of_link(link, ""))?;
        check_side(&link.reverse, &of_link(link, "reverse."))?;
        Ok(Self { scenario: scenario.clone(), link: link.clone() })
    }
}

fn check_side(side: &LinkSide, before: &str) -> Result<(), Unsupported> {
    let refuse = |key: &str, message: &str, help: &str| Err(cannot(&format!("{before}{key}"), message, help));
    if side.wire.shaper.is_some() {
        let help = "leave it out, or simulate it: fairlane run";
        return refuse("shaper", "the link of a shell has no shaper in front of it", help);
    }
    if side.wire.aggregation.is_some_and(|frames| frames.thin_acks) {
        return refuse("aggregation.thin_acks", "a shell sends all acknowledgements", "set it to false");
    }
    Ok(())
}

fn of_link(link: &Link, key: &str) -> String {
    if link.name == BOTTLENECK { format!("{BOTTLENECK}.{key}") } else { format!("links.{}.{key}", link.name) }
}

fn cannot(key: &str, message: impl Into<String>, help: impl Into<String>) -> Unsupported {
    Unsupported { key: key.to_owned(), message: message.into(), help: help.into() }
}
