//! Transfers of a TCP flow, each over a separate connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario as scenario;
use fairlane_traffic::TransferSequence;

use super::connection::{Connector, fill, is_open, reset_at_end, segment};
use super::counts::FlowSent;
use crate::hosts::tcp_info::TcpInfo;
use crate::hosts::transfer::TransferHeader;

/// The transfers of a flow.
#[derive(Debug)]
pub(super) struct Transfers {
    connector: Connector,
    sequence: TransferSequence,
    current: Option<Transfer>,
    /// The counts of the connections before.
    before: FlowSent,
    round_trip: Option<Duration>,
    payload: u64,
    opened: u64,
}

/// A transfer and its connection.
#[derive(Debug)]
struct Transfer {
    connection: TcpStream,
    segments: u32,
    began: Time,
    /// Bytes that have not been written; `None` until the connection is established.
    left: Option<u64>,
}

/// The condition for which a transfer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferState {
    /// Room in the send buffer.
    Writing,
    /// The receiver, which closes the connection when it has all data.
    Written,
    /// Nothing: it is over.
    Over,
}

impl Transfers {
    /// Returns the transfers of `config` with packets of `bytes` bytes.
    pub(super) fn new(connector: Connector, config: &scenario::Transfers, bytes: u32, seed: Seed) -> Self {
        let payload = connector.payload();
        Self {
            connector,
            sequence: TransferSequence::new(config, bytes, seed),
            current: None,
            before: FlowSent::default(),
            round_trip: None,
            payload,
            opened: 0,
        }
    }

    /// Begins the next transfer, and returns its connection.
    pub(super) fn begin(&mut self, now: Time) -> io::Result<&TcpStream> {
        let (connection, segments) = (self.connector.open()?, self.sequence.next_size());
        self.opened += 1;
        Ok(&self.current.insert(Transfer { connection, segments, began: now, left: None }).connection)
    }

    /// Goes on with the current transfer, whose connection is ready.
    pub(super) fn continue_current(&mut self) -> io::Result<TransferState> {
        let Some(transfer) = &mut self.current else { return Ok(TransferState::Over) };
        match transfer.advance(self.payload) {
            Ok(TransferState::Over) => {
                self.end_current();
                Ok(TransferState::Over)
            }
            other => other,
        }
    }

    /// Returns the pause before the next transfer; `None` if there is no next one.
    pub(super) fn next_pause(&mut self) -> Option<Duration> {
        self.sequence.next_pause()
    }

    /// Gives the current transfer up: its connection is reset.
    pub(super) fn stop(&mut self) {
        if let Some(transfer) = &self.current {
            // If this fails, data that have been written are still sent.
            let _ = reset_at_end(&transfer.connection);
            self.end_current();
        }
    }

    /// Returns the connection of the current transfer.
    pub(super) fn connection(&self) -> Option<&TcpStream> {
        self.current.as_ref().map(|transfer| &transfer.connection)
    }

    /// Returns the counts of all connections so far.
    pub(super) fn sent(&self) -> FlowSent {
        self.info().map_or(self.before, |info| self.before.plus(&FlowSent::of(&info)))
    }

    /// Returns the shortest round trip of all connections so far.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        let current = self.info().and_then(|info| info.shortest());
        [current, self.round_trip].into_iter().flatten().min()
    }

    /// Returns the data in a full packet, in bytes.
    pub(super) fn payload(&self) -> u64 {
        self.connection().map_or(self.payload, |connection| segment(connection, self.payload))
    }

    /// Returns the number of connections so far.
    pub(super) const fn opened(&self) -> u64 {
        self.opened
    }

    fn info(&self) -> Option<TcpInfo> {
        self.connection().and_then(|connection| TcpInfo::of(connection.as_fd()).ok())
    }

    fn end_current(&mut self) {
        (self.before, self.round_trip, self.payload) = (self.sent(), self.round_trip(), self.payload());
        self.current = None;
    }
}

impl Transfer {
    /// Writes as much as there is room for, or reads the end of the connection. `payload` is the data in a full packet
    /// unless the connection tells another.
    fn advance(&mut self, payload: u64) -> io::Result<TransferState> {
        let left = match self.left {
            Some(left) => left,
            None if !is_open(&self.connection, Duration::ZERO)? => return Ok(TransferState::Writing),
            None => self.write_header(payload)?,
        };
        let left = left - fill(&self.connection, left)?;
        if self.left.replace(left).is_none_or(|before| before > 0) && left == 0 {
            self.connection.shutdown(Shutdown::Write)?;
        }
        if left > 0 {
            return Ok(TransferState::Writing);
        }
        match self.connection.read(&mut [0; 1]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(TransferState::Written),
            // The receiver sends nothing. It closes, or it has gone.
            _ => Ok(TransferState::Over),
        }
    }

    /// Writes the header of the transfer, and returns the bytes of data that follow it.
    fn write_header(&mut self, payload: u64) -> io::Result<u64> {
        let bytes = u64::from(self.segments) * segment(&self.connection, payload);
        let header = TransferHeader { bytes, began: self.began }.to_bytes();
        // The send buffer of a new connection is empty.
        self.connection.write_all(&header)?;
        Ok(bytes - header.len() as u64)
    }
}
