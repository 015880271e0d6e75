//! The programs in a kernel: this program packs itself into a guest (QEMU, without root) and checks them there.
//!
//! ```text
//! cargo test -p fairlane-bpf --test kernel                                 # the short form of all checks, in one guest
//! cargo test -p fairlane-bpf --test kernel -- --ignored                    # the long form, each in its own guest
//! cargo test -p fairlane-bpf --test kernel -- --ignored conservation       # one of them
//! ```

#[cfg(target_os = "linux")]
mod churn;
#[cfg(target_os = "linux")]
mod conservation;
#[cfg(target_os = "linux")]
mod cost;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod traffic;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if fairlane_guest::inside::is_here() {
        fairlane_guest::inside::serve(|job, _| answer(&String::from_utf8_lossy(job)).into_bytes());
        return ExitCode::SUCCESS;
    }
    outside::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    skip::because("linux", "queue disciplines in BPF exist on Linux only");
    ExitCode::SUCCESS
}

/// The measurement of a check, or the reason for its failure.
#[cfg(target_os = "linux")]
type Checked = Result<String, Box<dyn std::error::Error>>;

/// Runs the checks of a job, lines of a name and a number, and returns a line or more on each.
#[cfg(target_os = "linux")]
fn answer(job: &str) -> String {
    let one = |line: &str| {
        let (name, number) = line.split_once(' ').ok_or("a check has a name and a number")?;
        let number = number.parse()?;
        match name {
            "conservation" => conservation::check(number),
            "churn" => churn::check(number),
            "cost" => cost::check(number),
            _ => Err(format!("there is no check {name}").into()),
        }
    };
    let lines = job.lines().map(|line| match one(line) {
        Ok(measured) => format!("passed: {line}: {measured}\n"),
        Err(error) => format!("failed: {line}: {error}\n"),
    });
    lines.collect()
}
