//! `fairlane router --path bpf` in a guest: this program packs itself and `fairlane` into one (QEMU, without root).
#![allow(clippy::disallowed_methods, reason = "the guest has its own clock, and a router works in the background")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod checks;
#[cfg(target_os = "linux")]
mod directions;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
#[path = "../../../linux/tests/common/node.rs"]
mod node;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    skip::because("linux", "queue disciplines in BPF exist on Linux only");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if fairlane_guest::inside::is_here() {
        fairlane_guest::inside::serve(|job, _| checks::answer(&String::from_utf8_lossy(job)).into_bytes());
        return ExitCode::SUCCESS;
    }
    match outside::run() {
        Ok(answer) => {
            println!("{answer}");
            if answer.starts_with("failed") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Boots the guest.
#[cfg(target_os = "linux")]
mod outside {
    use std::error::Error;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use fairlane_guest::{Guest, GuestError, Kernel, Limits};

    /// Where the kernel is kept from one test run to the next.
    const KERNEL: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guest");

    /// The program without its debugging information, which would not fit into a guest.
    const PROGRAM: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/kernel_path/fairlane");

    /// iptables-restore is looked for by a dry run of an NFQUEUE.
    const PROGRAMS: [(&str, &str); 4] =
        [("ip", "iproute2"), ("tc", "iproute2"), ("iptables-restore", "iptables"), ("ip6tables-restore", "iptables")];

    const LIMITS: Limits = Limits { memory_mib: 768, cpu_s: 300 };

    pub(super) fn run() -> Result<String, Box<dyn Error>> {
        let kernel = match Kernel::below_or_fetched(Path::new(KERNEL)) {
            Ok(kernel) => kernel,
            Err(error) => {
                skip::because("guest-kernel", format!("there is no kernel for guests: {error}"));
                return Ok(String::new());
            }
        };
        fs::create_dir_all(Path::new(PROGRAM).parent().ok_or("a folder")?)?;
        let built = env!("CARGO_BIN_EXE_fairlane");
        if !Command::new("strip").args(["--strip-debug", "-o", PROGRAM, built]).status()?.success() {
            return Err("strip(1) cannot strip the program".into());
        }
        let guest = Guest::new(&kernel, &PROGRAMS, &["dummy", "veth", "ifb"], LIMITS);
        let mut guest = match guest {
            Err(error @ GuestError::NoTool(..)) => {
                skip::because("qemu", error.to_string());
                return Ok(String::new());
            }
            guest => guest?,
        };
        guest.add(Path::new(PROGRAM))?;
        Ok(String::from_utf8(guest.run(PROGRAM.as_bytes(), 1, &mut |_| true)?)?)
    }
}
