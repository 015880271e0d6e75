//! The fields of `struct tcp_info` (`linux/tcp.h`) that the lab uses.

use std::os::fd::BorrowedFd;

use fairlane_qdisc::Duration;

use crate::hosts::socket_options;

/// The state of one end of a connection and its counts since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// The data in a full segment without options, in bytes.
    pub(crate) segment: u32,
    /// The congestion window, in full segments.
    pub(crate) window: u32,
    /// The smoothed round trip time; zero before the first measurement.
    pub(crate) smoothed: Duration,
    /// The shortest round trip time of the last minutes, the handshake included.
    pub(crate) round_trip: Duration,
    /// Segments with data sent, including retransmissions.
    pub(crate) sent: u64,
    /// Segments with data received.
    pub(crate) came: u64,
    /// Segments retransmitted.
    pub(crate) sent_again: u64,
    /// Retransmission timeouts; 0 before Linux 6.7, which does not report them.
    pub(crate) timeouts: u64,
    /// The time in which there was data to send.
    pub(crate) busy: Duration,
    /// The part of `busy` in which the send buffer was the limit.
    pub(crate) short_of_buffer: Duration,
}

impl TcpInfo {
    /// Reads the state of a connection from the kernel.
    pub(crate) fn of(connection: BorrowedFd<'_>) -> nix::Result<Self> {
        socket_options::tcp_info(connection).map(|bytes| Self::read(&bytes))
    }

    /// Returns the shortest round trip; `None` before the first.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        // The kernel begins with the largest number.
        const NONE: Duration = Duration::from_nanos(u32::MAX as u64 * 1000);
        Some(self.round_trip).filter(|round_trip| (Duration::from_nanos(1)..NONE).contains(round_trip))
    }

    fn read(bytes: &[u8]) -> Self {
        let word =
            |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |n| u32::from_ne_bytes(*n));
        let long =
            |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |n| u64::from_ne_bytes(*n));
        let half =
            |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |n| u16::from_ne_bytes(*n));
        let micros = |micros: u64| Duration::from_nanos(micros.saturating_mul(1000));
        Self {
            segment: word(16),
            window: word(80),
            smoothed: micros(word(68).into()),
            round_trip: micros(word(148).into()),
            sent_again: word(100).into(),
            came: word(152).into(),
            sent: word(156).into(),
            busy: micros(long(168)),
            short_of_buffer: micros(long(184)),
            timeouts: half(240).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    /// Reads the state of a real connection. Would catch a field at the wrong offset.
    #[test]
    fn the_state_of_a_connection_is_read() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        from.set_nodelay(true).unwrap();
        let mut buffer = [0; 7];
        for _ in 0..5 {
            from.write_all(&[1; 7]).unwrap();
            to.read_exact(&mut buffer).unwrap();
        }
        let (sender, receiver) = (TcpInfo::of(from.as_fd()).unwrap(), TcpInfo::of(to.as_fd()).unwrap());
        assert_eq!((sender.sent, sender.came, receiver.sent, receiver.came), (5, 0, 0, 5));
        assert_eq!((sender.sent_again, sender.timeouts, sender.short_of_buffer), (0, 0, Duration::ZERO));
        assert!(sender.segment > 500 && sender.round_trip > Duration::ZERO, "{sender:?}");
        // The window begins with ten segments (RFC 6928) and grows by at most one for each acknowledged segment.
        assert!((10..=15).contains(&sender.window) && sender.smoothed >= sender.round_trip, "{sender:?}");
    }

    /// Linux has extended the structure several times. Fields that an old kernel lacks are 0.
    #[test]
    fn missing_fields_are_zero() {
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
        assert_eq!((TcpInfo::default().shortest(), TcpInfo::read(&[0xff; 256]).shortest()), (None, None));
        let old = TcpInfo::read(&[1; 104]);
        assert_eq!((old.segment, old.sent_again, old.sent, old.timeouts), (0x0101_0101, 0x0101_0101, 0, 0));
    }
}
