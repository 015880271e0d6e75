//! The router that is supervised: one in this process, or a discipline in the kernel.

use std::io;
use std::sync::Arc;

use fairlane_console::Failure;
use fairlane_linux::{BindError, BridgeConfig, BridgeError, Report, Router, RouterHandle, StartError};
use fairlane_qdisc::{Duration, Rate};

use super::kernel::KernelRouter;
use super::settings::Settings;
use super::way::{Path, Way};

/// A router that is ready to run.
pub(super) enum Engine {
    Process(Box<Router>),
    Kernel(Arc<KernelRouter>),
}

impl Engine {
    /// Opens the data path, or attaches the discipline.
    pub(super) fn open(settings: &Settings, way: &Way) -> Result<Self, Failure> {
        match &way.path {
            Path::Process(path) => {
                let router = Router::new(&settings.config(way, path.clone())).map_err(|error| cannot_start(&error))?;
                Ok(Self::Process(Box::new(router)))
            }
            Path::Kernel(interface) => {
                let router = KernelRouter::attach(interface, way.is_down(), &way.discipline, way.link);
                router.map(Arc::new).map(Self::Kernel).map_err(Failure::plain)
            }
        }
    }

    /// Returns the control of the router.
    pub(super) fn remote(&self) -> Remote {
        match self {
            Self::Process(router) => Remote::Process(router.handle()),
            Self::Kernel(router) => Remote::Kernel(Arc::clone(router)),
        }
    }

    /// Works until [`Remote::stop`] is called.
    pub(super) fn run(self) -> io::Result<Report> {
        match self {
            Self::Process(router) => router.run(),
            Self::Kernel(router) => router.run(),
        }
    }
}

fn cannot_start(error: &StartError) -> Failure {
    match error {
        StartError::Bind(BindError::NotPermitted) | StartError::Bridge(BridgeError::NotPermitted) => {
            Failure::new(error.to_string(), "nothing has changed")
        }
        _ => Failure::plain(error),
    }
}

/// The control of a running router from other threads.
#[derive(Clone)]
pub(super) enum Remote {
    Process(RouterHandle),
    Kernel(Arc<KernelRouter>),
}

impl Remote {
    /// Returns the latest report.
    pub(super) fn report(&self) -> Report {
        match self {
            Self::Process(handle) => handle.report(),
            Self::Kernel(router) => router.report(),
        }
    }

    /// Changes the discipline, the link and the flows to those of `settings` and `way`. If that fails, nothing has
    /// changed.
    pub(super) fn reload(&self, settings: &Settings, way: &Way) -> Result<(), String> {
        match (self, &way.path) {
            (Self::Process(handle), Path::Process(path)) => {
                handle.reload(&settings.config(way, path.clone())).map_err(|error| error.to_string())
            }
            (Self::Process(_), Path::Kernel(_)) => Ok(()),
            (Self::Kernel(router), _) => router.reload(&way.discipline, way.link),
        }
    }

    /// Opens other interfaces for a bridge, to which the next reload moves it; `None` closes them.
    pub(super) fn prepare(&self, bridge: Option<&BridgeConfig>) -> Result<(), String> {
        match self {
            Self::Process(handle) => handle.prepare(bridge).map_err(|error| error.to_string()),
            Self::Kernel(_) => Ok(()),
        }
    }

    /// Changes the rate of the link alone, in this process.
    pub(super) fn set_rate(&self, rate: Rate) {
        if let Self::Process(handle) = self {
            handle.set_rate(rate);
        }
    }

    /// Ends the router, in this process after `drain` at the latest.
    pub(super) fn stop(&self, drain: Duration) {
        match self {
            Self::Process(handle) => handle.stop(drain),
            Self::Kernel(router) => router.stop(),
        }
    }
}
