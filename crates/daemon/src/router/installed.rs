//! The firewall rules of a running router.

use std::os::fd::BorrowedFd;

use fairlane_console::{Failure, Stopwatch};
use fairlane_linux::{Encrypted, Exempt, Firewall, Leftover, RuleChanges, RuleError, Rules, leftovers, remove_rules};
use tracing::{error, info, warn};

use super::guard::Guard;
use super::interfaces::WatchedInterfaces;
use super::ready::refused;
use super::remote::Remote;
use crate::args::router::GuardedRules;

/// The longest time in seconds between two checks of the rules, and the shortest where others change rules all the
/// time.
const CHECK_EVERY: f64 = 5.0;
const CHECK_AFTER: f64 = 1.0;

/// The reasons why rules are missing.
const TAKEN: &str = "this router stood still for a second, and its rules were taken away";
const REMOVED: &str = "another program removed rules of this router, or put its own before them";

/// The rules in place; dropping it removes them.
pub(super) struct InstalledRules {
    firewall: Firewall,
    /// For each way, with the present names of the interfaces.
    rules: Vec<Rules>,
    interfaces: WatchedInterfaces,
    changes: RuleChanges,
    /// `true` if rules may have changed since the last check that worked.
    changed: bool,
    checked: Stopwatch,
    restored: u64,
    /// The use of our marks by others of which the log has told.
    told: Option<String>,
    /// The bridge between whose ports packets are queued, of which the log has told.
    told_bridge: Option<String>,
    routers: Vec<Remote>,
    /// `None` if it could not be started, and from the end on.
    guard: Option<Guard>,
    /// The time since the guard was started.
    guarded: Stopwatch,
}

/// Removes the rules of killed routers, and those for our own `queues`.
pub(super) fn clean_up(queues: &[u16], with_rules: bool) -> Result<(), Failure> {
    let left = match leftovers() {
        // Without rules no tool is needed.
        Err(RuleError::NoTool) if !with_rules => Vec::new(),
        left => left.map_err(|error| refused(&error))?,
    };
    for Leftover { firewall, queue } in left {
        firewall.remove(queue).map_err(|error| refused(&error))?;
        warn!(queue, %firewall, "removed the rules of a router that was killed");
    }
    queues.iter().try_for_each(|queue| remove_rules(*queue)).map_err(|error| refused(&error))
}

impl InstalledRules {
    /// Installs `rules` by `firewall`, which have the same interfaces, and has them guarded while `routers` live.
    pub(super) fn install(firewall: Firewall, rules: &[Rules], routers: Vec<Remote>) -> Result<Self, Failure> {
        let interfaces = WatchedInterfaces::new(rules.first().map_or(&[], |rules| rules.interfaces()));
        let mut installed = Self {
            firewall,
            rules: Vec::new(),
            interfaces,
            changes: RuleChanges::new(),
            changed: false,
            checked: Stopwatch::start(),
            restored: 0,
            told: None,
            told_bridge: None,
            routers,
            guard: None,
            guarded: Stopwatch::start(),
        };
        for rules in rules {
            // Rules that were installed before an error are removed with `installed`.
            let encrypted = firewall.install(rules).map_err(|error| refused(&error))?;
            installed.rules.push(rules.clone());
            info!(queue = rules.queue(), %firewall, "rules installed");
            if encrypted == Encrypted::Twice {
                info!("this firewall lacks the match of IPsec: a packet that IPsec encrypts is queued before as well");
            }
        }
        installed.look_for_other_uses().map_err(|error| refused(&error))?;
        installed.changes.happened();
        installed.start_guard();
        Ok(installed)
    }

    fn start_guard(&mut self) {
        self.guarded = Stopwatch::start();
        let queues = self.rules.iter().map(Rules::queue).collect();
        let guarded = GuardedRules { tool: self.firewall.to_string(), queues };
        match Guard::start(&guarded, self.routers.clone()) {
            Ok(guard) => self.guard = Some(guard),
            Err(error) => warn!(%error, "no process guards the rules: if this router hangs, packets are lost"),
        }
    }

    /// Returns the descriptors that are readable when there is something to [look](Self::look) at.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // While a check has to wait, changes are not listened for.
        let changes = self.changes.events().filter(|_| !self.changed);
        changes.into_iter().chain(self.guard.as_ref().map(Guard::news))
    }

    /// Returns the times that the rules were installed again.
    pub(super) const fn restored(&self) -> u64 {
        self.restored
    }

    /// Checks the rules if they may have changed, and repairs them.
    pub(super) fn look(&mut self) {
        let taken = self.guard.as_mut().map_or(Ok(false), Guard::has_taken);
        if taken.is_err() {
            self.guard = None;
            warn!("the process that guards the rules has ended; another one is started");
            if self.guarded.elapsed_s() > CHECK_AFTER {
                self.start_guard();
            }
            // It may have taken the rules away before. The check starts another one if this was not done here.
            self.changed = true;
        }
        if let Ok(true) = taken {
            self.mend(TAKEN);
            return;
        }
        if let Some(names) = self.interfaces.look() {
            self.follow(&names);
        }
        self.changed |= self.changes.happened();
        let since = self.checked.elapsed_s();
        if since > if self.changed { CHECK_AFTER } else { CHECK_EVERY } {
            self.check();
        }
    }

    /// Installs the rules again if another program has removed one.
    fn check(&mut self) {
        let looked = if self.changed { self.look_for_other_uses() } else { Ok(()) };
        (self.changed, self.checked) = (false, Stopwatch::start());
        if self.guard.is_none() {
            self.start_guard();
        }
        self.look_for_bridged_packets();
        let all = || self.rules.iter().try_fold(true, |all, rules| Ok(all && self.firewall.is_installed(rules)?));
        let there = looked.and_then(|()| all());
        match there {
            Ok(true) => {}
            Ok(false) => {
                // The guard may have taken them since it was asked.
                let taken = self.guard.as_mut().is_some_and(|guard| guard.has_taken().unwrap_or(false));
                self.mend(if taken { TAKEN } else { REMOVED });
            }
            Err::<_, RuleError>(error) => {
                error!(%error, "the rules cannot be checked, so packets may pass unqueued");
            }
        }
    }

    /// Tells once of another program that uses the bits of our marks.
    fn look_for_other_uses(&mut self) -> Result<(), RuleError> {
        let Some(bits) = self.rules.first().map(Rules::bits) else { return Ok(()) };
        if let Some(by) = self.firewall.use_of(bits)?
            && self.told.as_ref() != Some(&by)
        {
            warn!(
                %bits,
                by = %by.escape_debug(),
                "another program uses the firewall marks of this router, and packets may pass unqueued: choose others by --marks"
            );
            self.told = Some(by);
        }
        Ok(())
    }

    /// Tells once of a bridge that has begun to pass packets between its ports through the rules.
    fn look_for_bridged_packets(&mut self) {
        let bridge = self.rules.iter().find_map(|rules| self.firewall.queues_between_ports(rules)).map(str::to_owned);
        if let Some(bridge) = bridge.clone().filter(|_| bridge != self.told_bridge) {
            let reason = RuleError::BridgedPorts(bridge);
            warn!(%reason, "packets between ports of a bridge pass the firewall now, and are queued");
        }
        self.told_bridge = bridge;
    }

    /// Replaces the rules by those for other names of the interfaces.
    fn follow(&mut self, names: &[String]) {
        match self.rules.iter().map(|rules| rules.with_interfaces(names)).collect::<Result<Vec<_>, _>>() {
            Ok(rules) => {
                self.rules = rules;
                self.put_back();
            }
            Err(error) => error!(%error, "packets pass unqueued"),
        }
    }

    /// Returns the rules with other exempt addresses.
    pub(super) fn exempting(&self, exempt: &Exempt) -> Vec<Rules> {
        self.rules.iter().map(|rules| rules.clone().exempting(exempt.clone())).collect()
    }

    /// Installs `rules` in place of those in use, which are put back if that fails.
    pub(super) fn replace(&mut self, rules: &[Rules]) -> Result<(), Failure> {
        if let Err(error) = rules.iter().try_for_each(|rules| self.firewall.install(rules).map(drop)) {
            self.put_back();
            return Err(refused(&error));
        }
        let names = |rules: &[Rules]| rules.first().map_or_else(Vec::new, |rules| rules.interfaces().to_vec());
        let interfaces = names(rules);
        if interfaces != names(&self.rules) {
            self.interfaces = WatchedInterfaces::new(&interfaces);
        }
        self.rules = rules.to_vec();
        self.have_checked();
        info!(interfaces = interfaces.join(", "), "other rules installed");
        Ok(())
    }

    /// Tells why rules were missing, and installs them again.
    fn mend(&mut self, reason: &str) {
        warn!("{reason}: packets passed unqueued");
        self.put_back();
    }

    fn put_back(&mut self) {
        self.changed = false;
        match self.rules.iter().try_for_each(|rules| self.firewall.install(rules).map(drop)) {
            Ok(()) => {
                self.restored += 1;
                info!("the rules are installed again");
                if let Some(guard) = &mut self.guard {
                    guard.rules_are_back();
                }
            }
            Err(error) => {
                error!(%error, "packets pass unqueued: the rules cannot be installed");
                self.changed = true;
            }
        }
        self.have_checked();
    }

    /// Our own change is none to look at.
    fn have_checked(&mut self) {
        self.changes.happened();
        self.checked = Stopwatch::start();
    }

    /// Stops sending packets to the queues.
    pub(super) fn stop(&mut self) -> Result<(), Failure> {
        self.guard = None;
        self.rules.iter().try_for_each(|rules| self.firewall.stop(rules.queue())).map_err(|error| refused(&error))
    }

    /// Removes the rules.
    pub(super) fn remove(mut self) -> Result<(), Failure> {
        self.remove_all().map_err(|error| refused(&error))
    }

    fn remove_all(&mut self) -> Result<(), RuleError> {
        self.guard = None;
        let mut result = Ok(());
        for rules in self.rules.drain(..) {
            result = result.and(self.firewall.remove(rules.queue()));
        }
        result
    }
}

impl Drop for InstalledRules {
    fn drop(&mut self) {
        if let Err(error) = self.remove_all() {
            error!(%error, "the rules could not be removed: fairlane router --clean does it later");
        }
    }
}
