#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bottleneck;
mod config;
mod line;
mod observer;
mod propagation;

pub use bottleneck::Bottleneck;
pub use config::{Config, Loss};
pub use line::{ConstantLine, FrameLimits, Line};
pub use observer::LinkObserver;
pub use propagation::Propagation;
