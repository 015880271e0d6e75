//! The disciplines of the kernel that can take the place of the library's.

use std::fmt;
use std::sync::Arc;

use fairlane_scenario::KernelDiscipline;

/// A discipline of the kernel in place of the library's.
#[derive(Clone, Debug)]
pub(crate) enum InKernel {
    /// The kernel's own, by tc(8).
    Own(KernelDiscipline),
    /// One that is installed from outside.
    Installed(Installer),
}

/// Puts a discipline that holds packets back to the link's rate in front of an interface.
#[derive(Clone)]
pub struct Installer {
    engine: &'static str,
    install: Arc<InstallFn>,
}

type InstallFn = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl InKernel {
    /// Returns the name of the engine in outcomes.
    pub(crate) const fn engine(&self) -> &'static str {
        match self {
            Self::Own(_) => "kernel",
            Self::Installed(installer) => installer.engine,
        }
    }
}

impl Installer {
    /// Creates an installer of a discipline that outcomes call `engine`. `install` gets the name of an interface of the
    /// thread's network namespace, and makes the discipline its root; an error says why it cannot.
    pub fn new(engine: &'static str, install: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { engine, install: Arc::new(install) }
    }

    pub(crate) fn install(&self, interface: &str) -> Result<(), String> {
        (self.install)(interface)
    }
}

impl fmt::Debug for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installer").field("engine", &self.engine).finish_non_exhaustive()
    }
}
