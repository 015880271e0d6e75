//! Execution of other programs.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::RuleError;

/// Runs `program` with `arguments` and `input`, and returns its standard output; `None` if the program does not exist.
pub(super) fn run(program: &'static str, arguments: &[&str], input: &str) -> Result<Option<String>, RuleError> {
    let start = |error| RuleError::Start(program, error);
    let command = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
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
