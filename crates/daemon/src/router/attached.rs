//! Disciplines in the kernel that no router watches, as `fairlane bpf attach` leaves them.

use std::collections::BTreeMap;

use fairlane_bpf::{Attached, Error, Settings};
use fairlane_console::Failure;

use super::metrics::LinkRates;
use super::state::{count, reasons};
use super::way::{Direction, Path};
use super::{kernel, metrics};
use crate::state::{Count, Delays, Discipline, Link, State};

/// Returns the metrics of the disciplines of a device, as a router serves them.
///
/// # Errors
/// The device has no discipline of ours.
pub fn attached_metrics(device: &str) -> Result<String, Failure> {
    let text = |(direction, attached): (_, Attached)| {
        let rates = LinkRates { direction, link: attached.settings()?.rate, autorate: None };
        Ok(metrics::text(kernel::report(&attached.state()?), &Path::Kernel(device.to_owned()), rates, None))
    };
    let texts = attached(device).and_then(|all| all.into_iter().map(text).collect::<Result<Vec<_>, _>>());
    texts.map(metrics::merged).map_err(Failure::plain)
}

/// Returns the states of the disciplines of a device, as a router serves them. Of the parameters they have those that
/// are sizes.
pub(crate) fn attached_states(device: &str) -> Result<Vec<State>, String> {
    let states = attached(device)
        .and_then(|all| all.into_iter().map(|(direction, attached)| read(device, direction, &attached)).collect());
    states.map_err(|error: Error| error.to_string())
}

/// Returns the disciplines of a device. The one of leaving packets has a direction only next to the other.
fn attached(device: &str) -> Result<Vec<(Option<Direction>, Attached)>, Error> {
    Ok(match (Attached::at(device), Attached::arriving_by(device)) {
        (leaving, None) => vec![(None, leaving?)],
        (Err(_), Some(arriving)) => vec![(Some(Direction::Down), arriving)],
        (Ok(leaving), Some(arriving)) => vec![(Some(Direction::Up), leaving), (Some(Direction::Down), arriving)],
    })
}

fn read(device: &str, direction: Option<Direction>, attached: &Attached) -> Result<State, Error> {
    let Settings { rate, limit, min, max } = attached.settings()?;
    let report = kernel::report(&attached.state()?);
    let parameters = [("limit", limit), ("min", min), ("max", max)];
    let parameters: BTreeMap<String, String> =
        parameters.into_iter().map(|(key, size)| (key.to_owned(), size.to_string())).collect();
    Ok(State {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        direction: direction.map(|direction| direction.name().to_owned()),
        path: "bpf".to_owned(),
        bridge: None,
        interfaces: vec![device.to_owned()],
        flows_by: "five-tuple".to_owned(),
        // A clock that was set back leaves no time.
        uptime_s: attached.since()?.elapsed().unwrap_or_default().as_secs_f64(),
        at_s: report.at.as_nanos() as f64 / 1e9,
        link: Link { rate_bps: rate.bits_per_second(), layer: "Ethernet headers counted".to_owned() },
        autorate: None,
        discipline: Discipline { kind: attached.discipline().to_owned(), parameters },
        arrived: count(report.counters.arrived),
        departed: count(report.counters.departed),
        dropped: reasons(&report.counters, fairlane_qdisc::Counters::dropped),
        marked: reasons(&report.counters, fairlane_qdisc::Counters::marked),
        flushed: count(report.flushed),
        backlog: Count { packets: report.packets as u64, bytes: report.bytes },
        average: report.average,
        sojourn_s: Delays::default(),
        lateness_s: Delays::default(),
        kernel: None,
        overruns: 0,
        unsent_verdicts: 0,
        unknown_verdicts: 0,
        malformed_messages: 0,
        reloads: 0,
        top_flows: Vec::new(),
    })
}
