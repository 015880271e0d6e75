//! The action asked of a router: run, `--dry-run` or `--clean`.

use std::fmt::Write as _;

use fairlane_console::{Failure, explain, output};
use fairlane_linux::{BridgeConfig, DataPath, Firewall, Leftover, Marking, RuleError, Rules, leftovers};

use super::settings::{Path, Settings, Sources};
use super::supervisor;
use crate::args::router::{Log, MetricsAddress, RouterArgs};

/// The requested action, with all settings read and checked.
#[derive(Debug)]
pub(super) enum Action {
    /// Run the router.
    Run(Box<Ready>),
    /// Print what would be done.
    DryRun(Box<Ready>),
    /// Remove the rules of killed routers.
    Clean,
}

/// A router that can be started.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) sources: Sources,
    pub(super) settings: Settings,
    /// The firewall rules; `None` where others send packets to the queue.
    pub(super) rules: Option<Rules>,
}

impl Action {
    /// Reads and checks everything.
    pub(super) fn new(args: RouterArgs) -> Result<Self, Failure> {
        if args.clean {
            return Ok(Self::Clean);
        }
        let (dry_run, form) = (args.dry_run, args.options.log.unwrap_or(Log::Text));
        // A dry run is always text, also with a log in JSON.
        let refuse = |form, failure| if dry_run { failure } else { supervisor::refuse(form, failure) };
        let sources = Sources::new(args).map_err(|failure| refuse(form, failure))?;
        let settings = sources.read().map_err(|failure| refuse(form, failure))?;
        let rules = rules(&settings).map_err(|failure| refuse(settings.log, failure))?;
        let ready = Box::new(Ready { sources, settings, rules });
        Ok(if dry_run { Self::DryRun(ready) } else { Self::Run(ready) })
    }

    /// Carries out the action.
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Run(ready) => supervisor::run(&ready),
            Self::DryRun(ready) => output::print(&ready.shown()?),
            Self::Clean => clean(),
        }
    }
}

/// Returns the rules to install, after a check that the machine has what they or the bridge need.
fn rules(settings: &Settings) -> Result<Option<Rules>, Failure> {
    let Path::Process(path) = &settings.path else { return Ok(None) };
    match (path, &*settings.interfaces) {
        (DataPath::Queue(_), []) => Ok(None),
        (DataPath::Queue(queue), interfaces) => {
            Rules::new(queue.queues, interfaces, settings.ce_mark).map(Some).map_err(Failure::plain)
        }
        (DataPath::Bridge(bridge), _) => bridge.check().map(|()| None).map_err(Failure::plain),
    }
}

impl Ready {
    /// Returns the text of a dry run.
    fn shown(&self) -> Result<String, Failure> {
        let Settings { path, link, flows, drain, metrics, .. } = &self.settings;
        let rate = link.rate;
        let place = match path {
            Path::Process(DataPath::Queue(queue)) => format!("Queue {}", queue.queues),
            Path::Process(DataPath::Bridge(bridge)) => format!("Bridge from {} to {}", bridge.inside, bridge.outside),
            Path::Kernel(interface) => format!("In the kernel at {interface}"),
        };
        let mut text = format!("{place}, flows by {}\n", flows.name());
        if let Some(reason) = &self.settings.chosen {
            text += &format!("Path {reason}\n");
        }
        text += &match path {
            Path::Process(path) => {
                let layer = link.layer;
                let passing = how_packets_pass(path);
                format!("Link of {rate}, {layer}\n{passing}At the end waiting packets have {drain} to leave\n")
            }
            Path::Kernel(_) => format!(
                "Link of {rate}; a packet counts with its Ethernet header\nECN marks are written into the flow's next packet\n\
                 Packets that are joined go through the discipline whole\nAt the end waiting packets are dropped\n"
            ),
        };
        if let Some(address) = metrics.address() {
            let free = if *metrics == MetricsAddress::Usual { ", if the port is free" } else { "" };
            text += &format!("Metrics at http://{address}/metrics{free}\n");
        }
        let explanation = self.settings.discipline.explanation();
        text += &format!("\n{}", explain::explanation_text(explanation, rate, output::width()));
        Ok(text + "\n" + &self.rules_shown()?)
    }

    /// Returns the changes to the firewall.
    fn rules_shown(&self) -> Result<String, Failure> {
        let Path::Process(path) = &self.settings.path else {
            return Ok("No rules: the kernel's queue discipline of the interface is replaced\n".to_owned());
        };
        Ok(match (&self.rules, path) {
            (Some(rules), _) => {
                let firewall = Firewall::find().map_err(|error| refused(&error))?;
                format!(
                    "Rules for packets leaving by {}\n{}",
                    self.settings.interfaces.join(", "),
                    firewall.script(rules)
                )
            }
            (None, DataPath::Queue(_)) => {
                "No rules, since there is no --interface: your own rules have to send packets to the queue\n".to_owned()
            }
            (None, DataPath::Bridge(_)) => {
                "No rules: packets pass between the two interfaces by this program only\n".to_owned()
            }
        })
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
            let joined = match queue.gso {
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
            format!("Packets coming in by {outside} pass to {inside} at once\nPackets that are joined {joined}\n")
        }
    }
}

/// Removes the rules of killed routers, and prints which.
fn clean() -> Result<(), Failure> {
    let left = leftovers().map_err(|error| refused(&error))?;
    let mut text = String::new();
    for Leftover { firewall, queue } in &left {
        firewall.remove(*queue).map_err(|error| refused(&error))?;
        let _ = writeln!(text, "removed the rules for queue {queue} ({firewall})");
    }
    if left.is_empty() {
        text += "no rules are left behind\n";
    }
    output::print(&text)
}

/// Converts an error with firewall rules, and adds the remedy.
pub(super) fn refused(error: &RuleError) -> Failure {
    match error {
        RuleError::Refused(..) | RuleError::Unknown(_) => {
            Failure::new(error.to_string(), "run it as root; nothing has changed")
        }
        _ => Failure::plain(error),
    }
}
