//! The action asked of a router: run, `--dry-run`, `--check-config` or `--clean`.

use std::fmt::Write as _;

use fairlane_console::{Failure, output};
use fairlane_linux::{Leftover, leftovers};

use super::checked::Checked;
use super::ready::{Ready, refused, rules};
use super::settings::Sources;
use super::{guard, supervisor};
use crate::args::router::{GuardedRules, Log, RouterArgs};

/// The requested action, with all settings read and checked.
#[derive(Debug)]
pub(super) enum Action {
    /// Run the router.
    Run(Box<Ready>),
    /// Print the actions.
    DryRun(Box<Ready>),
    /// Print that the settings are valid.
    Check(Box<Checked>),
    /// Remove the rules of killed routers.
    Clean,
    /// Guard the rules of another process.
    Guard(GuardedRules),
}

impl Action {
    /// Reads and checks everything.
    pub(super) fn new(args: RouterArgs) -> Result<Self, Failure> {
        if args.clean {
            return Ok(Self::Clean);
        }
        if let Some(guarded) = args.guard {
            return Ok(Self::Guard(guarded));
        }
        let (dry_run, form) = (args.dry_run, args.options.log.unwrap_or(Log::Text));
        // A dry run is always text, also with a log in JSON.
        let refuse = |form, failure| if dry_run { failure } else { supervisor::refuse(form, failure) };
        if args.check_config {
            return Checked::new(&Sources::new(args)?).map(Box::new).map(Self::Check);
        }
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
            Self::DryRun(ready) => output::print(&ready.shown()),
            Self::Check(checked) => output::print(&checked.shown()),
            Self::Clean => clean(),
            Self::Guard(rules) => guard::run(&rules),
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
