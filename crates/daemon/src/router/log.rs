//! The log: lines on standard error, which never hold the router up.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use tracing_subscriber::fmt::MakeWriter;

use crate::args::router::Log;

/// The longest line in bytes. A pipe that can be written to takes so many at once (`PIPE_BUF`, pipe(7)).
const LONGEST: usize = 4096;

/// The lines that could not be written at once, or at all.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Sends messages to standard error. One that cannot be written at once, since nobody reads or the disk is full, is
/// dropped and [counted](lines_dropped).
pub(super) fn start(form: Log) {
    // By itself the subscriber would report a line that it cannot write to standard error, and panic if that fails too.
    let builder =
        tracing_subscriber::fmt().with_writer(Lines).with_target(false).with_ansi(false).log_internal_errors(false);
    match form {
        Log::Text => builder.init(),
        Log::Json => builder.json().flatten_event(true).init(),
    }
}

/// Returns the number of lines that were dropped since the start.
pub(super) fn lines_dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Writes each line whole or not at all.
#[derive(Clone, Copy, Debug)]
struct Lines;

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !written(&io::stderr(), line) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line if the file takes it at once.
fn written(file: &impl AsFd, line: &[u8]) -> bool {
    let line = cut(line);
    let mut ready = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut ready, PollTimeout::ZERO) != Ok(1) || ready[0].revents() != Some(PollFlags::POLLOUT) {
        return false;
    }
    loop {
        match write(file, &line) {
            Err(Errno::EINTR) => {}
            result => return result == Ok(line.len()),
        }
    }
}

/// Returns a line, or the beginning of one that is too long, with its line feed.
fn cut(line: &[u8]) -> Cow<'_, [u8]> {
    match line.get(..LONGEST - 1) {
        Some(beginning) if line.len() > LONGEST => [beginning, b"\n"].concat().into(),
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    /// A pipe that nobody reads takes lines until it is full, and then none; when it is read, it takes lines again. A
    /// line that is too long is cut and stays a line.
    #[test]
    fn a_full_pipe_takes_no_line_and_holds_nobody_up() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let line = [&[b'x'; 999][..], b"\n"].concat();
        let taken = (0..1000).take_while(|_| written(&writer, &line)).count();
        assert!((4..1000).contains(&taken), "{taken}");
        assert!(!written(&writer, &line));
        reader.read_exact(&mut vec![0; taken * line.len()]).expect("the lines");
        let long = [&[b'y'; 9999][..], b"\n"].concat();
        assert!(written(&writer, &long));
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("the rest");
        assert_eq!((rest.len(), rest.last()), (LONGEST, Some(&b'\n')));
    }

    /// A full disk, and a pipe whose reader has gone.
    #[test]
    fn what_cannot_be_written_is_dropped() {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        assert!(!written(&full, b"a line\n"));
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        assert!(!written(&writer, b"a line\n"));
    }
}
