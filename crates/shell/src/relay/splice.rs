//! Two TCP connections joined to one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::Linger;

/// The most bytes that are copied before other connections have their turn.
const BUDGET: usize = 1 << 20;

/// The state of a connection after its data were copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Both ends wait.
    Waits,
    /// There is more to copy.
    More,
    /// Both directions have ended, or one end is gone.
    Ended,
}

/// The command's connection at the far end, and the one to the server, which the relay has made for it.
#[derive(Debug)]
pub(crate) struct Spliced {
    pub(crate) inner: TcpStream,
    pub(crate) outer: TcpStream,
    out: Half,
    back: Half,
}

/// One direction of the two.
#[derive(Debug, Default)]
struct Half {
    /// Data that were read and not yet written.
    waiting: Vec<u8>,
    /// The end was read.
    read_all: bool,
    /// The end was passed on.
    ended: bool,
}

impl Spliced {
    pub(crate) fn new(inner: TcpStream, outer: TcpStream) -> Self {
        Self { inner, outer, out: Half::default(), back: Half::default() }
    }

    /// Copies what there is, in both directions.
    pub(crate) fn pump(&mut self, buffer: &mut [u8]) -> Progress {
        let Self { inner, outer, out, back } = self;
        let results = (out.pump(inner, outer, buffer), back.pump(outer, inner, buffer));
        match results {
            (Ok(out_more), Ok(back_more)) => match (out.ended && back.ended, out_more || back_more) {
                (true, _) => Progress::Ended,
                (false, true) => Progress::More,
                (false, false) => Progress::Waits,
            },
            _ => {
                self.reset();
                Progress::Ended
            }
        }
    }

    /// Lets both ends be reset when they are closed, since one of them was.
    fn reset(&self) {
        for end in [&self.inner, &self.outer] {
            // One that is closed already has no such option.
            let _ = setsockopt(end, Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 });
        }
    }
}

impl Half {
    /// Copies from one to the other. Returns `true` if there may be more.
    fn pump(&mut self, mut from: &TcpStream, mut to: &TcpStream, buffer: &mut [u8]) -> io::Result<bool> {
        let mut copied = 0;
        while !self.ended {
            if copied >= BUDGET {
                return Ok(true);
            }
            if !self.waiting.is_empty() {
                match to.write(&self.waiting) {
                    Ok(written) => drop(self.waiting.drain(..written)),
                    Err(error) => return waits(error),
                }
            } else if self.read_all {
                self.ended = true;
                // The other end may have closed it.
                let _ = to.shutdown(Shutdown::Write);
            } else {
                let read = match from.read(buffer) {
                    Ok(read) => read,
                    Err(error) => return waits(error),
                };
                self.read_all = read == 0;
                copied += read;
                let written = match to.write(&buffer[..read]) {
                    Ok(written) => written,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                    Err(error) => return Err(error),
                };
                self.waiting.extend(&buffer[written..read]);
            }
        }
        Ok(false)
    }
}

/// Returns an error other than that the socket has nothing now.
fn waits(error: io::Error) -> io::Result<bool> {
    match error.kind() {
        ErrorKind::WouldBlock => Ok(false),
        ErrorKind::Interrupted => Ok(true),
        _ => Err(error),
    }
}
