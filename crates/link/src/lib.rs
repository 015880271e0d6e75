#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bottleneck;
mod config;
mod propagation;

pub use bottleneck::Bottleneck;
pub use config::{Config, Loss};
pub use propagation::Propagation;
