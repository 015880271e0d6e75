//! A router that can be started, and the output of its dry run.

use fairlane_autorate::Config;
use fairlane_console::{Failure, explain, output};
use fairlane_linux::{BridgeConfig, BridgeDirections, DataPath, Link, Marking, RuleError, Rules};
use nix::unistd::geteuid;

use super::settings::{Settings, Sources};
use super::way::{Path, Way};
use crate::args::router::Metrics;

/// A router that can be started.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) sources: Sources,
    pub(super) settings: Settings,
    /// The firewall rules of each way; none where others send packets to the queue.
    pub(super) rules: Vec<Rules>,
}

/// Returns the rules to install, after a check that the machine supports them or the bridge.
pub(super) fn rules(settings: &Settings) -> Result<Vec<Rules>, Failure> {
    let mut all = Vec::new();
    for way in &settings.ways {
        let Path::Process(path) = &way.path else { continue };
        match (path, &*settings.interfaces) {
            (DataPath::Queue(queue), interfaces) => {
                let Some((firewall, bits)) = settings.ours else { continue };
                let new = if way.is_down() { Rules::arriving } else { Rules::new };
                let rules = new(queue.queues, interfaces, bits).map_err(Failure::plain)?;
                firewall.check(&rules).map_err(Failure::plain)?;
                all.push(rules.exempting(settings.exempt.clone()));
            }
            (DataPath::Bridge(bridge), _) => bridge.check().map_err(Failure::plain)?,
        }
    }
    Ok(all)
}

impl Ready {
    /// Returns the text of a dry run.
    pub(super) fn shown(&self) -> String {
        let mut text = String::new();
        for way in &self.settings.ways {
            text += &self.way_shown(way);
        }
        if let Some(reason) = &self.settings.chosen {
            text += &format!("Path {reason}\n");
        }
        text += &match self.settings.path() {
            Some(Path::Kernel(_)) => "At the end waiting packets are dropped\n".to_owned(),
            _ => format!("At the end waiting packets have {} to leave\n", self.settings.drain),
        };
        if !self.settings.exempt.is_empty() {
            text += &format!("Packets of these addresses at the far side are not queued: {}\n", self.settings.exempt);
        }
        text += &self.autorate_shown();
        text += &self.metrics_shown();
        for warning in self.settings.warnings() {
            text += &format!("Warning: {warning}\n");
        }
        if let Some(note) = self.settings.note() {
            text += &format!("Note: {note}\n");
        }
        for way in &self.settings.ways {
            let explanation = way.discipline.explanation();
            text += &format!("\n{}", explain::explanation_text(explanation, way.link.rate, output::width()));
        }
        text + "\n" + &self.rules_shown()
    }

    /// Returns the place and the link of one way.
    fn way_shown(&self, way: &Way) -> String {
        let Link { rate, layer } = way.link;
        let flows = self.settings.flows.name();
        let direction = way.direction.map_or(String::new(), |direction| format!("{}: ", direction.name()));
        match &way.path {
            Path::Process(path) => {
                let place = match path {
                    DataPath::Queue(queue) => format!("Queue {}", queue.queues),
                    DataPath::Bridge(BridgeConfig { inside, outside, directions, .. }) => match directions {
                        BridgeDirections::Both | BridgeDirections::Out => format!("Bridge from {inside} to {outside}"),
                        BridgeDirections::In => format!("Bridge from {outside} to {inside}"),
                    },
                };
                let passing = how_packets_pass(path);
                format!("{direction}{place}, flows by {flows}\nLink of {rate}, {layer}\n{passing}")
            }
            Path::Kernel(interface) => format!(
                "{direction}In the kernel at {interface}, flows by {flows}\nLink of {rate}; a packet counts with its Ethernet header\nECN marks are \
                 written into the flow's next packet\nPackets that are joined go through the discipline whole\n"
            ),
        }
    }

    /// Returns how the rates are adjusted.
    fn autorate_shown(&self) -> String {
        let Some(autorate) = &self.settings.autorate else { return String::new() };
        let mut text = String::new();
        for (way, config) in self.settings.ways.iter().zip(&autorate.configs) {
            let Some(Config { min, base, max, law, .. }) = config else { continue };
            let direction = way.direction.map_or(String::new(), |direction| format!(" {}", direction.name()));
            let how = if autorate.dry_run { "would be adjusted" } else { "is adjusted" };
            text +=
                &format!("The rate{direction} {how} from {min} to {max}, from {base} on, by the law {}\n", law.name());
        }
        let reflectors: Vec<String> = autorate.reflectors.iter().map(ToString::to_string).collect();
        text + &format!("Probes, 20 a second, to {}\n", reflectors.join(", "))
    }

    fn metrics_shown(&self) -> String {
        match &self.settings.metrics {
            Metrics::Off => String::new(),
            Metrics::At(address) => format!("Metrics at http://{address}/metrics\n"),
            Metrics::Socket(path) => format!("Metrics at the socket {}\n", path.display()),
            Metrics::Usual => match self.settings.socket() {
                Ok(path) => format!("Metrics at the socket {}\n", path.display()),
                Err(error) => format!("No metrics: {error}\n"),
            },
        }
    }

    /// Returns the changes to the firewall.
    fn rules_shown(&self) -> String {
        let Some((firewall, _)) = self.settings.ours else {
            return match self.settings.path() {
                Some(Path::Process(DataPath::Queue(_))) => {
                    "No rules, since there is no --interface: your own rules have to send packets to the queue\n"
                }
                Some(Path::Process(DataPath::Bridge(_))) => {
                    "No rules: packets pass between the two interfaces by this program only\n"
                }
                Some(Path::Kernel(_)) | None => {
                    if self.settings.ways.iter().any(Way::is_down) {
                        "No rules: the kernel's queue disciplines are replaced; arriving packets have theirs at an IFB device\n"
                    } else {
                        "No rules: the kernel's queue discipline of the interface is replaced\n"
                    }
                }
            }
            .to_owned();
        };
        let interfaces = self.settings.interfaces.join(", ");
        let mut text = String::new();
        for (rules, way) in self.rules.iter().zip(&self.settings.ways) {
            let by = if way.is_down() { "arriving" } else { "leaving" };
            text += &format!("Rules for packets {by} by {interfaces}\n{}", firewall.script(rules));
        }
        text
    }
}

/// Returns how packets pass outside of the discipline.
fn how_packets_pass(path: &DataPath) -> String {
    match path {
        DataPath::Queue(queue) => {
            let marks = match queue.marking {
                Marking::ByRule(bit) => format!("by the rules, where a packet has {bit:#x} in its firewall mark"),
                Marking::ByUs => "by this program, for which every packet is copied whole".to_owned(),
            };
            let beyond = if queue.fail_open { "passes" } else { "is dropped" };
            let joined = match queue.mtu.filter(|_| queue.gso) {
                Some(mtu) => format!("come whole, and take on the link what segments of {mtu} bytes take"),
                None => "are cut by the kernel before they come".to_owned(),
            };
            format!(
                "ECN marks are written {marks}\nA packet that the kernel cannot hand over {beyond}\nPackets that are joined {joined}\n"
            )
        }
        DataPath::Bridge(bridge) => {
            let joined = if bridge.gso {
                "go through the discipline whole, and take on the link what their segments take"
            } else {
                "are cut before the discipline"
            };
            let BridgeConfig { inside, outside, .. } = bridge;
            let at_once = match bridge.directions {
                BridgeDirections::Both => format!("Packets coming in by {outside} pass to {inside} at once\n"),
                BridgeDirections::Out | BridgeDirections::In => String::new(),
            };
            format!("{at_once}Packets that are joined {joined}\n")
        }
    }
}

/// Converts an error with firewall rules, and adds the remedy.
pub(super) fn refused(error: &RuleError) -> Failure {
    match error {
        RuleError::Refused(..) | RuleError::Unknown(_) if !geteuid().is_root() => {
            Failure::new(error.to_string(), "run it as root; nothing has changed")
        }
        _ => Failure::plain(error),
    }
}
