//! The jobs of guests.

use fairlane_guest::inside;
use serde::{Deserialize, Serialize};

#[cfg(feature = "lab")]
use super::lab;
#[cfg(feature = "shell")]
use super::shell;

/// The congestion controls of a guest, apart from those that are part of the kernel.
pub(crate) const CONGESTION_CONTROLS: [&str; 3] = ["tcp_bbr", "tcp_dctcp", "tcp_vegas"];

/// Processor seconds that a guest may take: to boot, and for each second that the guest measures.
const BOOT_CPU_S: u64 = 60;
const CPU_S_PER_SECOND: u64 = 60;

/// A job, which the program gives itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum GuestJob {
    #[cfg(feature = "lab")]
    Lab(lab::guest::Job),
    #[cfg(feature = "shell")]
    Shell(shell::guest::ShellJob),
}

/// Returns the processor seconds that a guest may take for `seconds` of its clock.
pub(crate) fn cpu_limit(seconds: f64) -> u64 {
    BOOT_CPU_S + CPU_S_PER_SECOND * seconds.ceil() as u64
}

/// Answers the job of a guest, as its first process.
pub(crate) fn serve() {
    inside::serve(|job, progress| match serde_json::from_slice::<GuestJob>(job) {
        #[cfg(feature = "lab")]
        Ok(GuestJob::Lab(job)) => lab::guest::answer(&job, progress),
        #[cfg(feature = "shell")]
        Ok(GuestJob::Shell(job)) => shell::guest::answer(&job, progress),
        Err(error) => {
            println!("fairlane in the guest: the job: {error}");
            Vec::new()
        }
    });
}
