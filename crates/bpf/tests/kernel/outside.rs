//! The side outside of the guest: boots it, and judges its answer.

use std::path::Path;
use std::process::ExitCode;

use fairlane_guest::{Guest, GuestError, Kernel, Limits};

/// Where the kernel is kept from one test run to the next.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guest");

const PROGRAMS: [(&str, &str); 2] = [("ip", "iproute2"), ("tc", "iproute2")];
const MODULES: [&str; 4] = ["dummy", "pktgen", "sch_tbf", "sch_choke"];

/// A check with its size in the short form and in the long one.
struct Check {
    name: &'static str,
    short: u64,
    long: u64,
}

const CHECKS: [Check; 3] = [
    Check { name: "conservation", short: 20_000, long: 10_000_000 },
    Check { name: "churn", short: 6, long: 1000 },
    Check { name: "cost", short: 2_000, long: 100_000 },
];

/// Processor seconds that a guest may take.
const SHORT_CPU_S: u64 = 300;
const LONG_CPU_S: u64 = 7200;

/// Runs the tests that the arguments name.
pub(super) fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let long = arguments.iter().any(|word| word == "--ignored");
    let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = CHECKS.iter().filter(|check| names.is_empty() || names.iter().any(|name| *name == check.name));
    let lines = wanted.map(|check| format!("{} {}\n", check.name, if long { check.long } else { check.short }));
    let jobs: Vec<String> = if long { lines.collect() } else { vec![lines.collect()] };
    if cfg!(not(has_programs)) {
        skip::because("clang", "this build has no BPF programs, since there was no clang 16 or newer");
        return ExitCode::SUCCESS;
    }
    match run(&jobs, if long { LONG_CPU_S } else { SHORT_CPU_S }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error @ GuestError::NoTool(..)) => {
            skip::because("qemu", error.to_string());
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs each job in a guest, and prints the answers. Returns true if all checks passed.
fn run(jobs: &[String], cpu_s: u64) -> Result<bool, GuestError> {
    let kernel = match Kernel::below_or_fetched(Path::new(FOLDER)) {
        Ok(kernel) => kernel,
        Err(error) => {
            skip::because("guest-kernel", format!("there is no kernel for guests: {error}"));
            return Ok(true);
        }
    };
    let guest = Guest::new(&kernel, &PROGRAMS, &MODULES, Limits { memory_mib: 512, cpu_s })?;
    let mut passed = true;
    for job in jobs {
        let answer = guest.run(job.as_bytes(), 1, &mut |_| true)?;
        let answer = String::from_utf8_lossy(&answer);
        print!("{answer}");
        passed &= !answer.lines().any(|line| line.starts_with("failed: "));
    }
    Ok(passed)
}
