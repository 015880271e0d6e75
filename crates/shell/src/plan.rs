//! Checks that a shell supports a scenario.

use fairlane_lab::{Unsupported, check_link};
use fairlane_scenario::{Link, Scenario};

/// A scenario that a shell supports, with its only link.
#[derive(Clone, Debug)]
pub(crate) struct ShellPlan {
    pub(crate) scenario: Scenario,
    /// Forward is towards the command.
    pub(crate) link: Link,
}

impl ShellPlan {
    /// Checks the link of `scenario`. A plan `with_flows` needs flows in it.
    pub(crate) fn new(scenario: &Scenario, with_flows: bool) -> Result<Self, Unsupported> {
        if with_flows && scenario.flows.is_empty() {
            let message = "the scenario's own flows are asked for (--flows), and it has none";
            return Err(Unsupported::new("flows", message, "add [[flows]], or leave out --flows"));
        }
        let [link] = &scenario.links[..] else {
            let message = format!("a shell has one link, not {}", scenario.links.len());
            return Err(Unsupported::new("links", message, "start a shell in a shell for two links in a row"));
        };
        check_link(link)?;
        Ok(Self { scenario: scenario.clone(), link: link.clone() })
    }
}
