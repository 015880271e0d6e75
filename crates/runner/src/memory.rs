//! Refuses work that needs more memory than the machine has, before it allocates any.

use std::fmt;
use std::fs;
use std::path::Path;

use fairlane_outcome::{FlowOutcome, FlowRun, QueueFlow};
use fairlane_scenario::{Duration, Scenario};
use fairlane_sim::least_memory;

use crate::Error;

/// The folder of control groups, version 2.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Bytes of a row of a series that is kept in memory: its 8 or more numbers and a name.
const SERIES_ROW: u64 = 80;

/// The least memory for the work, so that fitting work is never refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The flows of the largest scenario.
    flows: u64,
    /// Bytes of the runs at the same time, beyond the outcomes.
    running: u64,
    /// Bytes of the outcomes.
    kept: u64,
    /// Bytes of a series.
    series: u64,
}

impl Needs {
    /// Returns the needs of scenarios that are run `runs` times each on `threads` threads, or one for each core, and
    /// whose outcomes are kept.
    #[must_use]
    pub fn of<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>, runs: u32, threads: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.unwrap_or(cores).min(runs.max(1) as usize) as u64;
        let mut needs = Self::default();
        for scenario in scenarios {
            let outcome = outcome(scenario);
            needs.kept = needs.kept.saturating_add(outcome);
            // The runs of an outcome are kept until the outcome is made.
            let running = least_memory(scenario).saturating_mul(threads);
            let counted = flows(scenario).saturating_mul(size_of::<FlowRun>() as u64).saturating_mul(u64::from(runs));
            needs.running = needs.running.max(running.max(counted + outcome) - outcome.min(running));
            needs.flows = needs.flows.max(flows(scenario));
        }
        needs
    }

    /// Adds a series of `scenario` at each `interval`, kept in memory.
    #[must_use]
    pub fn with_series(self, scenario: &Scenario, interval: Duration) -> Self {
        let times = scenario.duration.as_nanos() / interval.as_nanos().max(1);
        let rows = times.saturating_mul(flows(scenario) + 1);
        Self { series: self.series.saturating_add(rows.saturating_mul(SERIES_ROW)), ..self }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.running.saturating_add(self.kept).saturating_add(self.series)
    }

    /// Checks that this process can have as much: of the machine, of its control group, and under its own limits.
    ///
    /// # Errors
    /// The process cannot have as much; the message says what takes the memory, and how much there is.
    pub fn check(self) -> Result<(), Error> {
        memory_bytes().map_or(Ok(()), |there| self.check_against(there))?;
        // Memory that is never written costs nothing but address space, which a limit of the process counts.
        let bytes = usize::try_from(self.bytes()).unwrap_or(usize::MAX);
        let allowed = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        if allowed { Ok(()) } else { Err(self.refused("the limit of this process, `ulimit -v`, leaves less")) }
    }

    /// Checks that `there` bytes are enough.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_against(self, there: u64) -> Result<(), Error> {
        if self.bytes() <= there {
            return Ok(());
        }
        Err(self.refused(&format!("{} are free", shown(there))))
    }

    fn refused(self, there: &str) -> Error {
        let parts = [
            (self.running, format!("{} flows", self.flows)),
            (self.kept, "the results".to_owned()),
            (self.series, "the series".to_owned()),
        ];
        let parts = parts.iter().filter(|(bytes, _)| *bytes > 0);
        let parts: Vec<String> = parts.map(|(bytes, what)| format!("{} for {what}", shown(*bytes))).collect();
        let message = format!("this needs at least {self} of memory ({}), and {there}", parts.join(", "));
        Error::new(message, "use fewer flows, fewer points, fewer runs or longer intervals")
    }
}

impl fmt::Display for Needs {
    /// Writes the number of bytes with a unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.bytes()))
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

/// Returns the memory that is free on this machine with its swap, or in this process's control group if that is less,
/// in bytes; `None` where the system has no such number. What the system can drop at once, such as cached files, counts
/// as free.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let free = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // The line of version 2; a limit of any group above counts too.
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let left = Path::new(CGROUPS)
        .join(group)
        .ancestors()
        .take_while(|it| it.starts_with(CGROUPS))
        .filter_map(group_left)
        .min();
    Some(left.map_or(free, |left| free.min(left)))
}

/// Returns what a control group leaves of its limit; `None` without a limit.
fn group_left(folder: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let files = stat.lines().find_map(|line| line.strip_prefix("file ")?.parse().ok()).unwrap_or(0);
    let used = number("memory.current")?.saturating_sub(files);
    Some(number("memory.max")?.saturating_sub(used))
}

/// Returns free memory and swap of Linux's table (proc_meminfo(5)), which counts in units of 1024 bytes.
fn meminfo(text: &str) -> Option<u64> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((value("MemAvailable")? + value("SwapFree").unwrap_or(0)) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let table = "MemTotal:       24000000 kB\nMemAvailable:  20000000 kB\nSwapTotal:       1000000 kB\nSwapFree: 500000 kB\n";
        assert_eq!(meminfo(table), Some(20_992_000_000));
        assert_eq!(meminfo("MemAvailable:       24000000 kB\n"), Some(24_576_000_000));
        assert_eq!(meminfo(""), None);
    }

    /// Files as in a group of cgroup v2 (the kernel's cgroup-v2.rst, "memory").
    #[test]
    fn a_group_leaves_its_limit_less_what_it_uses() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(group_left(folder.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700000\n");
        write("memory.stat", "anon 500000\nfile 200000\n");
        assert_eq!(group_left(folder.path()), None);
        write("memory.max", "1000000\n");
        assert_eq!(group_left(folder.path()), Some(500_000));
        write("memory.max", "400000\n");
        assert_eq!(group_left(folder.path()), Some(0));
    }

    #[test]
    fn the_refusal_says_what_takes_the_memory() {
        let needs = Needs { flows: 3_000_000, running: 90_000_000_000, kept: 3_400_000_000, series: 0 };
        let error = needs.check_against(23_900_000_000).unwrap_err().to_string();
        let words =
            "this needs at least 93 GB of memory (90 GB for 3000000 flows, 3 GB for the results), and 23 GB are free; ";
        assert!(error.starts_with(words), "{error}");
        let few = Needs { kept: 5_000_001, ..Needs::default() };
        assert!(few.check_against(5_000_000).unwrap_err().to_string().contains("6 MB of memory"));
        Needs { kept: 5_000_000, ..few }.check_against(5_000_000).unwrap();
    }
}
