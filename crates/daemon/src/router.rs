//! `fairlane router`: a discipline on a real link.

#[cfg(target_os = "linux")]
mod action;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod attached;
#[cfg(target_os = "linux")]
mod autorate;
#[cfg(target_os = "linux")]
mod autorate_settings;
#[cfg(target_os = "linux")]
mod checked;
#[cfg(all(test, target_os = "linux"))]
mod example;
#[cfg(target_os = "linux")]
mod file;
#[cfg(target_os = "linux")]
mod file_value;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod installed;
#[cfg(target_os = "linux")]
mod interfaces;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod kernel;
#[cfg(all(target_os = "linux", not(feature = "bpf")))]
#[path = "router/no_kernel.rs"]
mod kernel;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod metrics_server;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod ready;
#[cfg(target_os = "linux")]
mod reload;
#[cfg(target_os = "linux")]
mod remote;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod way;

use fairlane_console::Failure;

#[cfg(all(target_os = "linux", feature = "top"))]
pub(crate) use settings::SOCKET;

#[cfg(all(target_os = "linux", feature = "bpf"))]
pub use attached::attached_metrics;
#[cfg(all(target_os = "linux", feature = "bpf", feature = "top"))]
pub(crate) use attached::attached_states;

use crate::RouterArgs;

/// Runs a router until a signal ends it; or, if `args` ask for it, prints a dry run or removes old rules.
///
/// # Errors
/// The options or the file are wrong, the machine cannot do it, or the data path fails.
#[cfg(target_os = "linux")]
pub fn execute(args: RouterArgs) -> Result<(), Failure> {
    action::Action::new(args)?.execute()
}

/// Refuses to run: NFQUEUEs exist on Linux only.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::needless_pass_by_value, reason = "the same as on Linux")]
pub fn execute(_args: RouterArgs) -> Result<(), Failure> {
    let message = "fairlane router needs the packet queues of Linux, and this is another system";
    Err(Failure::new(message, "run it on Linux; simulations and replays work here"))
}
