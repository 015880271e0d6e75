//! Fairlane's router as a service on Linux, and the programs around it.
//!
//! - [`router`] is `fairlane router`: a discipline at work on a real link, with a configuration file, reloads, metrics
//!   over HTTP, systemd's notifications and firewall rules. The data path itself is `fairlane-linux`.
//! - [`top`] is `fairlane top`: a live view of such a router, on any system.
//! - [`aqmrun`] is the program of a paper on variants of CHOKe.
//!
//! A separate crate, so that builds without a router do not compile it: `fairlane` has the features `router` and `top`
//! for it.
#![forbid(unsafe_code)]

#[cfg(feature = "router")]
pub mod aqmrun;
mod args;
#[cfg(feature = "router")]
pub mod router;
#[cfg(any(feature = "top", all(feature = "router", target_os = "linux")))]
mod state;
#[cfg(feature = "top")]
pub mod top;

#[cfg(feature = "top")]
pub use args::TopArgs;
#[cfg(feature = "router")]
pub use args::{AqmrunArgs, RouterArgs};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
