//! The phases of a group of flows.

use fairlane_qdisc::Duration;

use crate::application::Application;
use crate::error::ScenarioError;
use crate::field::{Field, Reader};
use crate::model::{Phase, Traffic};
use crate::source::{Source, Udp};
use crate::tcp::Tcp;

const EXAMPLE: &str = "phases = [[\"0s\", \"20s\"], [\"60s\", \"80s\"]]";

/// Reads the phases of a group; none if it has a start and a stop, or neither.
pub(crate) fn phases(table: &Reader<'_>, traffic: &Traffic, duration: Duration) -> Result<Vec<Phase>, ScenarioError> {
    let Some(list) = table.get("phases") else { return Ok(Vec::new()) };
    for key in ["start", "stop"] {
        if let Some(field) = table.get(key) {
            return Err(field.error(format!("a group has either `phases` or `{key}`, and this one has both")));
        }
    }
    let has_own_times = match traffic {
        Traffic::Tcp(Tcp { application, .. }) => *application != Application::Ftp,
        Traffic::Udp(Udp { source, .. }) => matches!(source, Source::Trace(_)),
        Traffic::Tfrc(_) | Traffic::Endpoint => true,
    };
    if has_own_times {
        let help = "phases are for TCP with unlimited data, and for UDP without a trace";
        return Err(list.error("this traffic cannot have phases").with_help(help));
    }
    let mut phases: Vec<Phase> = Vec::new();
    for item in list.items(&format!("a list of starts and ends, {EXAMPLE},"))? {
        phases.push(phase(&item, phases.last(), duration)?);
    }
    if phases.is_empty() {
        return Err(list.error("there is no phase").with_help(EXAMPLE));
    }
    Ok(phases)
}

/// `["20s", "40s"]`, after the phase `before`.
fn phase(item: &Field<'_>, before: Option<&Phase>, duration: Duration) -> Result<Phase, ScenarioError> {
    let pair = item.items("a start and an end, [\"20s\", \"40s\"],")?;
    let [from, to] = &*pair else {
        return Err(item.error(format!("{} is not a start and an end: write [\"20s\", \"40s\"]", item.written())));
    };
    let phase = Phase { from: from.unit()?, to: to.unit()? };
    if let Some(before) = before.filter(|before| phase.from <= before.to) {
        return Err(from.error(format!("{} is not after the end of the phase before, {}", phase.from, before.to)));
    }
    if phase.to <= phase.from {
        return Err(to.error(format!("{} is not after the start, {}", phase.to, phase.from)));
    }
    if phase.from >= duration {
        return Err(from.error(format!("{} is after the end: the scenario lasts {duration}", phase.from)));
    }
    Ok(phase)
}
