//! Execution of other programs.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::RuleError;

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
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match spawn(&mut command) {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(start(error)),
    };
    // Scripts are shorter than a pipe's buffer. A program that does not read its input reports the reason when it ends.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    Err(RuleError::Refused(program, first.to_owned()))
}
