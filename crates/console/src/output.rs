//! Standard output and standard error.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::failure::Failure;

/// The columns of text where there is no terminal.
const WIDTH: usize = 100;

/// The bytes of a long text that are written at once.
const PIECE: usize = 1 << 16;

/// Prints `text` as it is.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| Failure::print(&error))
}

/// Writes to standard error. Errors are ignored: the exit code still tells of a failure.
pub fn tell(text: &str) {
    let _ignored = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints the JSON form of `value`, indented and piece by piece: the text of a million flows is never held as a whole.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = BufWriter::with_capacity(PIECE, io::stdout().lock());
    let written = serde_json::to_writer_pretty(&mut stdout, value).map_err(io::Error::from);
    written.and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).map_err(|error| Failure::print(&error))
}

/// Returns the width of standard output in columns; where it is no terminal, `COLUMNS` of the environment, by default
/// 100.
#[must_use]
pub fn width() -> usize {
    let given = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    terminal.or_else(given).unwrap_or(WIDTH)
}
