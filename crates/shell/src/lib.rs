//! Any program behind the link of a scenario, without root.
//!
//! A [`Shell`] starts a command in a network namespace whose only way out is the link of a scenario, in both
//! directions: rate, delay, jitter, loss, reordering and queue discipline are those of the simulator, by the same code
//! ([`fairlane_link::Bottleneck`]), moved by the monotonic clock.
//!
//! ```text
//!  command's namespace      namespace of the link         far namespace       namespace of the caller
//!  command ── link ═══════ near ► queue ► wire ► far ═══════ out ── relay ─────────── servers
//!                               ◄ wire ◄ queue ◄
//! ```
//!
//! The relay accepts the command's connections in the far namespace, and makes them again from where the caller is. So
//! it needs no rights there, and no other program.
//!
//! The crate is empty on systems other than Linux.
#![cfg(target_os = "linux")]

mod address;
mod error;
mod flows;
mod isolate;
mod outcome;
mod path;
mod plan;
mod relay;
mod run;
mod server;
mod sys;

pub use error::ShellError;
pub use fairlane_lab::{HostedCounts, LabSample, Lateness, Unsupported};
pub use fairlane_linux::DelayHistogram;
pub use outcome::FlowName;
pub use path::{LinkSample, Signalled};
pub use run::{Ended, Follow, Listen, Options, Shell};
