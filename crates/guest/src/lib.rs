//! Linux in virtual time.
//!
//! A [`Guest`] boots a Linux kernel under QEMU without hardware virtualisation, and with a clock that counts
//! instructions instead of seconds. A guest does not depend on the speed or the load of the machine outside: with the
//! same kernel, the same files, and the same seed a guest does the same to the last byte. It needs no root and changes
//! nothing on the machine.
//!
//! The program inside is the one that called: [`Guest::run`] packs the running executable with its libraries, the
//! kernel's modules and the given files into an initramfs, whose first process is that executable again, as
//! [`inside::serve`].
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod archive;
mod clock;
mod copies;
mod error;
mod guest;
pub mod inside;
mod kernel;
mod modules;
mod programs;
mod result;

pub use error::GuestError;
pub use guest::{Guest, Limits};
pub use kernel::Kernel;
