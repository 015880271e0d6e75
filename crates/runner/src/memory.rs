//! Refuses work that needs more memory than the machine has, before it allocates any.

use std::fs;

use fairlane_outcome::{FlowOutcome, FlowRun, QueueFlow};
use fairlane_scenario::{Duration, Scenario};
use fairlane_sim::least_memory;

use crate::Error;

/// Bytes of a row of a series that is kept in memory: its 8 or more numbers and a name.
const SERIES_ROW: u64 = 80;

/// The minimum number of bytes that the work needs, so that work that fits is never refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u64);

impl Needs {
    /// Returns the needs of scenarios that are run `runs` times each on `threads` threads, or one for each core, and whose outcomes are kept.
    #[must_use]
    pub fn of<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>, runs: u32, threads: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.unwrap_or(cores).min(runs.max(1) as usize) as u64;
        let (mut kept, mut most) = (0_u64, 0_u64);
        for scenario in scenarios {
            let outcome = outcome(scenario);
            kept = kept.saturating_add(outcome);
            // The runs of an outcome are kept until the outcome is made.
            let running = least_memory(scenario).saturating_mul(threads);
            let counted = flows(scenario).saturating_mul(size_of::<FlowRun>() as u64).saturating_mul(u64::from(runs));
            most = most.max(running.max(counted + outcome) - outcome.min(running));
        }
        Self(kept.saturating_add(most))
    }

    /// Adds a series of `scenario` at each `interval`, kept in memory.
    #[must_use]
    pub fn with_series(self, scenario: &Scenario, interval: Duration) -> Self {
        let times = scenario.duration.as_nanos() / interval.as_nanos().max(1);
        Self(self.0.saturating_add(times.saturating_mul(flows(scenario) + 1).saturating_mul(SERIES_ROW)))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Checks that this machine has enough memory.
    ///
    /// # Errors
    /// The machine has less; the message has both numbers.
    pub fn check(self) -> Result<(), Error> {
        memory_bytes().map_or(Ok(()), |there| self.check_against(there))
    }

    /// Checks that `there` bytes are enough.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_against(self, there: u64) -> Result<(), Error> {
        if self.0 <= there {
            return Ok(());
        }
        let message = format!("this needs at least {} of memory, and this machine has {}", shown(self.0), shown(there));
        Err(Error::new(message, "use fewer flows, fewer points or fewer runs, or longer intervals"))
    }
}

fn flows(scenario: &Scenario) -> u64 {
    scenario.flows.iter().map(|group| u64::from(group.count)).sum()
}

/// Returns the bytes of an outcome's flows: from end to end, and at each queue between nodes that their data crosses.
fn outcome(scenario: &Scenario) -> u64 {
    let group = |group: &fairlane_scenario::FlowGroup| {
        let flow = size_of::<FlowOutcome>() + group.path.len() * size_of::<QueueFlow>();
        u64::from(group.count).saturating_mul(flow as u64)
    };
    scenario.flows.iter().map(group).fold(0, u64::saturating_add)
}

fn shown(bytes: u64) -> String {
    const MEGA: u64 = 1_000_000;
    if bytes < 1000 * MEGA { format!("{} MB", bytes.div_ceil(MEGA)) } else { format!("{} GB", bytes / (1000 * MEGA)) }
}

/// Returns the memory of this machine with its swap, or this process's limit if that is lower, in bytes; `None` where the system has
/// no such number.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let all = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let allowed = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(allowed.map_or(all, |allowed: u64| all.min(allowed)))
}

/// Returns memory and swap of Linux's table, which counts in units of 1024 bytes.
fn meminfo(text: &str) -> Option<u64> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((value("MemTotal")? + value("SwapTotal").unwrap_or(0)) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let table = "MemTotal:       24000000 kB\nMemFree:  1 kB\nSwapTotal:       1000000 kB\n";
        assert_eq!(meminfo(table), Some(25_600_000_000));
        assert_eq!(meminfo("MemTotal:       24000000 kB\n"), Some(24_576_000_000));
        assert_eq!(meminfo(""), None);
    }

    #[test]
    fn the_refusal_has_both_numbers() {
        let error = Needs(93_400_000_000).check_against(23_900_000_000).unwrap_err().to_string();
        assert!(error.starts_with("this needs at least 93 GB of memory, and this machine has 23 GB; "), "{error}");
        assert!(Needs(5_000_001).check_against(5_000_000).unwrap_err().to_string().contains("6 MB of memory"));
        Needs(5_000_000).check_against(5_000_000).unwrap();
    }
}
