//! Execution of other programs, each within a time limit.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};

use fairlane_qdisc::Duration;
use nix::poll::{PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::RuleError;
use crate::sys::clock::now;
use crate::sys::secure;

/// The time that a tool may take: less than a service manager's watchdog, and more than iptables-restore(8) waits for
/// others that change rules. A tool that hangs is killed.
const LIMIT: Duration = Duration::from_millis(3000);

/// Address space for the start of a program: rules must be removed also where a limit leaves nothing more. It is never
/// written to, so it takes no memory.
static RESERVE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// More than an allocator keeps for itself instead of giving it back (`M_MMAP_THRESHOLD`, mallopt(3): at most 32 MB).
const RESERVE_BYTES: usize = 33 << 20;

/// Starts a program. If there is no memory for that, the reserve is given up for it.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut reserve = RESERVE.lock().unwrap_or_else(PoisonError::into_inner);
    let started = match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            *reserve = Vec::new();
            command.spawn()
        }
        result => result,
    };
    // If it is not available now, the next call tries again.
    let _ = reserve.try_reserve_exact(RESERVE_BYTES);
    started
}

/// Runs `program` with `arguments` and `input`, and returns its standard output; `None` if the program does not exist.
pub(super) fn run(program: &'static str, arguments: &[&str], input: &str) -> Result<Option<String>, RuleError> {
    let start = |error| RuleError::Start(program, error);
    // Files instead of pipes: a program that neither reads nor writes, or leaves children behind, holds nothing up.
    let files = || Ok([memory(input)?, memory("")?, memory("")?]);
    let [stdin, mut stdout, mut stderr] = files().map_err(start)?;
    let (output, errors) = (stdout.try_clone().map_err(start)?, stderr.try_clone().map_err(start)?);
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(stdin).stdout(output).stderr(errors).process_group(0);
    if secure::has_rights_by_file() {
        command.env_clear().env("LC_ALL", "C").env("PATH", secure::PATH);
    }
    let mut child = match spawn(&mut command) {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(start(error)),
    };
    let Some(status) = ended(&mut child).map_err(start)? else {
        // One that cannot be killed either is left behind.
        let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
        let _ = child.try_wait();
        return Err(RuleError::Hangs(program, LIMIT));
    };
    if status.success() {
        return text(&mut stdout).map(Some).map_err(start);
    }
    let said = text(&mut stderr).map_err(start)?;
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    Err(RuleError::Refused(program, first.escape_debug().to_string()))
}

/// Returns a file in memory that begins with `contents`.
fn memory(contents: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"fairlane", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(contents.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for the end of a program; `None` after [`LIMIT`].
fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let end = now() + LIMIT;
    let mut pause = 1_u8;
    loop {
        match child.try_wait()? {
            None if now() < end => {
                // An interrupted pause is shorter, which is harmless.
                let _ = poll(&mut [], PollTimeout::from(pause));
                pause = pause.saturating_mul(2).min(16);
            }
            status => return Ok(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_and_writes() {
        assert_eq!(run("cat", &[], "a rule\n").unwrap().as_deref(), Some("a rule\n"));
        assert_eq!(run("no-such-program", &[], "").unwrap(), None);
        let long = "x".repeat(1 << 20);
        assert_eq!(run("cat", &[], &long).unwrap(), Some(long), "more than a pipe holds");
    }

    /// Would catch a message that moves a terminal's cursor.
    #[test]
    fn an_error_is_one_line_without_control_characters() {
        let error = run("sh", &["-c", "printf '\\n \\033[2Jno\\nmore\\n' >&2; exit 3"], "").unwrap_err();
        assert_eq!(error.to_string(), "sh refused: \\u{1b}[2Jno");
    }

    /// A shell whose child holds the outputs open. Would catch a wait without an end.
    #[test]
    fn a_program_that_hangs_is_killed() {
        let begun = now();
        let error = run("sh", &["-c", "sleep 600; true"], "").unwrap_err();
        assert!(matches!(error, RuleError::Hangs("sh", _)), "{error}");
        assert!(now().since(begun) >= LIMIT);
    }
}
