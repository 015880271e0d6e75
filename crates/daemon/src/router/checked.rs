//! A check of a router's settings that touches nothing: `--check-config`.

use std::collections::BTreeSet;

use fairlane_console::{Failure, output};
use fairlane_linux::{BridgeError, RuleError, Rules, mtu};

use super::settings::{Settings, Sources};
use super::way::{Direction, Way, bridge};

/// Valid settings.
#[derive(Debug)]
pub(super) struct Checked {
    /// The file, or the command line.
    name: String,
    settings: Settings,
}

impl Checked {
    /// Checks the settings, and prints all mistakes.
    pub(super) fn new(sources: &Sources) -> Result<Self, Failure> {
        let settings = sources.read_all().map_err(|mistakes| {
            for mistake in mistakes {
                if let Failure::Refused(refusal) = mistake {
                    output::tell(&refusal.shown());
                }
            }
            Failure::Logged
        })?;
        settings.can_be_built().map_err(Failure::plain)?;
        check_names(&settings)?;
        let name = sources.file().map_or_else(|| "the command line".to_owned(), |path| path.display().to_string());
        Ok(Self { name, settings })
    }

    /// Returns the text for standard output: a line for each direction, and warnings.
    pub(super) fn shown(&self) -> String {
        let Self { name, settings } = self;
        let mut text = format!("{name} is valid\n");
        settings.ways.iter().for_each(|way| text += &way_shown(way, settings));
        let missing = interfaces(settings).into_iter().filter_map(|name| mtu(name).err());
        let missing = missing.filter(|error| matches!(error, RuleError::NoInterface(_))).map(|error| error.to_string());
        settings.warnings().into_iter().chain(missing).for_each(|warning| text += &format!("Warning: {warning}\n"));
        text
    }
}

/// Returns the interfaces that the settings name.
fn interfaces(settings: &Settings) -> BTreeSet<&str> {
    let bridges = settings.ways.iter().filter_map(|way| bridge(&way.path));
    let bridged = bridges.flat_map(|bridge| [&*bridge.inside, &*bridge.outside]);
    settings.interfaces.iter().map(String::as_str).chain(bridged).collect()
}

/// Checks the names of the interfaces, which need not exist.
fn check_names(settings: &Settings) -> Result<(), Failure> {
    for way in &settings.ways {
        if let Some(bridge) = bridge(&way.path)
            && bridge.inside == bridge.outside
        {
            return Err(Failure::plain(BridgeError::Same(bridge.inside.clone())));
        }
        if let Some((queues, (_, bits))) = way.path.queues().zip(settings.ours) {
            let rules = Rules::new(queues, &[], bits).and_then(|rules| rules.with_interfaces(&settings.interfaces));
            rules.map_err(Failure::plain)?;
        }
    }
    Ok(())
}

fn way_shown(way: &Way, settings: &Settings) -> String {
    let direction = way.direction.map_or(String::new(), |direction| format!("{}: ", Direction::name(direction)));
    let place = match (bridge(&way.path), way.path.queues()) {
        (Some(bridge), _) => format!("bridge {},{}", bridge.inside, bridge.outside),
        (None, Some(queues)) if settings.interfaces.is_empty() => format!("queue {queues}"),
        (None, Some(queues)) => format!("queue {queues} on {}", settings.interfaces.join(", ")),
        (None, None) => format!("in the kernel at {}", settings.interfaces.join(", ")),
    };
    format!("{direction}{}, {place}, {}, {}\n", way.discipline.kind(), way.link.rate, way.link.layer)
}
