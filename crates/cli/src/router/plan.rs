//! What will be done, and what `--dry-run` and `--clean` do.

use std::fmt::Write as _;

use fairlane_linux::{BridgeConfig, DataPath, Firewall, Leftover, Marking, RuleError, Rules, leftovers};

use super::serve;
use super::settings::{Settings, Sources};
use crate::args::{self, Log, Metrics};
use crate::error::Failure;
use crate::{explain, output};

/// A router that can be started, or what is asked for instead.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Work.
    Run(Box<Ready>),
    /// Only say what would be done.
    DryRun(Box<Ready>),
    /// Only remove what is left.
    Clean,
}

/// Settings that make sense here.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) sources: Sources,
    pub(super) settings: Settings,
    /// The rules; none where others send packets to the queue.
    pub(super) rules: Option<Rules>,
}

impl Plan {
    /// Reads and checks everything.
    pub(crate) fn new(args: args::Router) -> Result<Self, Failure> {
        if args.clean {
            return Ok(Self::Clean);
        }
        let (dry_run, form) = (args.dry_run, args.words.log.unwrap_or(Log::Text));
        // A dry run is for people.
        let refuse = |form, failure| if dry_run { failure } else { serve::refuse(form, failure) };
        let sources = Sources::new(args).map_err(|failure| refuse(form, failure))?;
        let settings = sources.read().map_err(|failure| refuse(form, failure))?;
        let rules = rules(&settings).map_err(|failure| refuse(settings.log, failure))?;
        let ready = Box::new(Ready { sources, settings, rules });
        Ok(if dry_run { Self::DryRun(ready) } else { Self::Run(ready) })
    }

    /// Does it.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Run(ready) => serve::run(&ready),
            Self::DryRun(ready) => output::print(&ready.shown()?),
            Self::Clean => clean(),
        }
    }
}

/// The rules that are to be; what they or the bridge need is there.
fn rules(settings: &Settings) -> Result<Option<Rules>, Failure> {
    match (&settings.router.path, &*settings.interfaces) {
        (DataPath::Queue(_), []) => Ok(None),
        (DataPath::Queue(queue), interfaces) => {
            Rules::new(queue.queues, interfaces, settings.ce_mark).map(Some).map_err(Failure::plain)
        }
        (DataPath::Bridge(bridge), _) => bridge.check().map(|()| None).map_err(Failure::plain),
    }
}

impl Ready {
    /// All that would be done.
    fn shown(&self) -> Result<String, Failure> {
        let Settings { router, drain, metrics, .. } = &self.settings;
        let (rate, layer, kind) = (router.link.rate, router.link.layer, router.discipline.kind());
        let place = match &router.path {
            DataPath::Queue(queue) => format!("Queue {}", queue.queues),
            DataPath::Bridge(bridge) => format!("Bridge from {} to {}", bridge.inside, bridge.outside),
        };
        let mut text = format!("{place}, flows by {}\n", router.flows.name());
        text += &format!("Link of {rate}, {layer}\n");
        text += &how_packets_pass(&router.path);
        text += &format!("At the end what waits has {drain} to leave\n");
        if let Some(address) = metrics.address() {
            let free = if *metrics == Metrics::Usual { ", if the port is free" } else { "" };
            text += &format!("Metrics at http://{address}/metrics{free}\n");
        }
        let explanation = router.discipline.explain(rate).map_err(|error| Failure::plain(format!("{kind} {error}")))?;
        text += &format!("\n{}", explain::explanation_text(&explanation, rate, output::terminal().width));
        Ok(text + "\n" + &self.rules_shown()?)
    }

    /// What would be done to the firewall.
    fn rules_shown(&self) -> Result<String, Failure> {
        Ok(match (&self.rules, &self.settings.router.path) {
            (Some(rules), _) => {
                let firewall = Firewall::find().map_err(|error| refused(&error))?;
                format!("Rules for what leaves by {}\n{}", self.settings.interfaces.join(", "), firewall.script(rules))
            }
            (None, DataPath::Queue(_)) => {
                "No rules, since there is no --interface: yours have to send packets to the queue\n".to_owned()
            }
            (None, DataPath::Bridge(_)) => {
                "No rules: nothing passes between the two interfaces but by this program\n".to_owned()
            }
        })
    }
}

/// What becomes of packets beside the discipline.
fn how_packets_pass(path: &DataPath) -> String {
    match path {
        DataPath::Queue(queue) => {
            let marks = match queue.marking {
                Marking::ByRule(bit) => format!("by the rules, where a packet has {bit:#x} in its firewall mark"),
                Marking::ByUs => "here, for which every packet is copied whole".to_owned(),
            };
            let beyond = if queue.fail_open { "passes" } else { "is dropped" };
            let joined = match queue.gso {
                Some(mtu) => format!("come whole, and take on the link what segments of {mtu} bytes take"),
                None => "are cut by the kernel before they come".to_owned(),
            };
            format!(
                "ECN marks are written {marks}\nWhat the kernel cannot hand over {beyond}\nPackets that are joined {joined}\n"
            )
        }
        DataPath::Bridge(bridge) => {
            let joined = if bridge.gso {
                "go through the discipline whole, and take on the link what their segments take"
            } else {
                "are cut before the discipline"
            };
            let BridgeConfig { inside, outside, .. } = bridge;
            format!("What comes in by {outside} passes to {inside} at once\nPackets that are joined {joined}\n")
        }
    }
}

/// Removes what killed routers have left behind, and says what that was.
fn clean() -> Result<(), Failure> {
    let left = leftovers().map_err(|error| refused(&error))?;
    let mut text = String::new();
    for Leftover { firewall, queue } in &left {
        firewall.remove(*queue).map_err(|error| refused(&error))?;
        let _ = writeln!(text, "removed the rules for queue {queue} ({firewall})");
    }
    if left.is_empty() {
        text += "nothing is left behind\n";
    }
    output::print(&text)
}

/// Rules that cannot be, with the way out.
pub(super) fn refused(error: &RuleError) -> Failure {
    match error {
        RuleError::Refused(..) | RuleError::Unknown(_) => {
            Failure::new(error.to_string(), "run it as root; nothing has changed")
        }
        _ => Failure::plain(error),
    }
}
