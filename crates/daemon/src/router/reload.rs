//! Reloads of a router's file while it runs.

use std::sync::PoisonError;

use fairlane_linux::{Reservation, Rules};
use sd_notify::NotifyState;
use tracing::{error, info, warn};

use super::metrics_server::MetricsServer;
use super::ready::{refused, rules};
use super::settings::Settings;
use super::supervisor::{Supervisor, notify};
use super::way::{Direction, Path, Way};

impl Supervisor<'_> {
    /// Reads the file again. If it is wrong, the log says why and nothing changes.
    pub(super) fn reload(&mut self) {
        if self.sources.file().is_none() {
            warn!("there is no --config to read again");
            return;
        }
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            notify(&[NotifyState::Reloading, now]);
        }
        let read = self.sources.read().map_err(|failure| failure.line());
        if let Err(reason) = read.and_then(|new| self.replace(new)) {
            error!("the file is refused, and nothing has changed: {reason}");
        }
        notify(&[NotifyState::Ready]);
    }

    /// Takes `new` settings. Steps that may fail come first, so that on an error everything is as before.
    fn replace(&mut self, new: Settings) -> Result<(), String> {
        self.settings.can_become(&new)?;
        new.can_be_built()?;
        let same_place = |old: &Settings| new.metrics == old.metrics && new.socket().ok() == old.socket().ok();
        let server = if same_place(&self.settings) {
            None
        } else {
            Some(MetricsServer::start(&new, &self.exporter).map_err(|failure| failure.line())?)
        };
        self.prepare_bridges(&new)?;
        let rules = self.prepare_rules(&new)?;
        if let Some(rules) = &rules {
            self.replace_rules(rules, &new)?;
        }
        self.adjuster = None;
        for (router, way) in self.routers.iter().zip(&new.ways) {
            router.remote.reload(&new, way).map_err(|error| format!("{} {error}", way.discipline.kind()))?;
        }
        new.warnings().iter().for_each(|warning| warn!("{warning}"));
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&new);
        let old = std::mem::replace(&mut self.settings, new);
        // After the update, as a reader of these lines may request the state immediately.
        if let Some(server) = server {
            self.server = server;
        }
        let same_flows = old.flows == self.settings.flows;
        for (old, way) in old.ways.iter().zip(&self.settings.ways) {
            log_reload(way, same_flows && old.discipline.config() == way.discipline.config());
        }
        if let Err(failure) = self.adjust() {
            error!("the rate stays: {}", failure.line());
        }
        Ok(())
    }

    /// Opens the interfaces of `new` for bridges that move. They move with the reload of each router.
    fn prepare_bridges(&self, new: &Settings) -> Result<(), String> {
        let bridges = self.settings.bridges_moved(new);
        let prepared =
            self.routers.iter().zip(bridges).try_for_each(|(router, bridge)| router.remote.prepare(Some(bridge)));
        if prepared.is_err() {
            for router in &self.routers {
                // One that has ended has nothing to close.
                let _ = router.remote.prepare(None);
            }
        }
        prepared
    }

    /// Reserves the interfaces of `new`, and returns the new rules; `None` if they stay as they are.
    fn prepare_rules(&mut self, new: &Settings) -> Result<Option<Vec<Rules>>, String> {
        let Some(reserved) = self.reserved.as_mut() else { return Ok(None) };
        if new.interfaces == self.settings.interfaces {
            // An interface may have another name now than in the settings.
            let now = self.installed.as_ref().filter(|_| new.exempt != self.settings.exempt);
            return Ok(now.map(|installed| installed.exempting(&new.exempt)));
        }
        let rules = rules(new).map_err(|failure| failure.line())?;
        reserved.add(&new.interfaces).map_err(|error| refused(&error).line())?;
        Ok(Some(rules))
    }

    /// Installs `rules` in place of those in use, which stay if that fails.
    fn replace_rules(&mut self, rules: &[Rules], new: &Settings) -> Result<(), String> {
        let replaced = self.installed.as_mut().map_or(Ok(()), |installed| installed.replace(rules));
        let now = if replaced.is_ok() { &new.interfaces } else { &self.settings.interfaces };
        self.reserved.iter_mut().for_each(|reserved: &mut Reservation| reserved.keep(now));
        replaced.map_err(|failure| failure.line())
    }
}

/// Logs the reload of `way`, whose discipline may be the `same` as before.
fn log_reload(way: &Way, same: bool) {
    let (rate, discipline) = (way.link.rate, way.discipline.kind());
    let queued = match way.path {
        Path::Process(_) if same => "stay",
        Path::Process(_) => "leave first",
        Path::Kernel(_) => "were dropped",
    };
    let direction = way.direction.map(Direction::name);
    info!(direction, %rate, %discipline, "reloaded; queued packets {queued}");
}
