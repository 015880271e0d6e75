//! `aqmrun`: the program of a paper on variants of CHOKe, with its options, on the same router as `fairlane router`.
//!
//! **Source.** A study of CHOKe's variants in OMNeT++ and on a Linux router in front of an access point of 11 Mbit/s:
//! CHOKe, Front, Back and Geometric CHOKe, and xCHOKe. Its list of options lacks `x`, and has no rate, since the access
//! point was the bottleneck.

#[cfg(target_os = "linux")]
pub use linux::main;

/// Refuses to run: NFQUEUEs exist on Linux only.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn main() -> std::process::ExitCode {
    eprintln!("error: aqmrun needs the packet queues of Linux, and this is another system");
    std::process::ExitCode::from(2)
}

#[cfg(target_os = "linux")]
mod linux;
