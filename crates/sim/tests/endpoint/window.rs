//! A transport for tests: a fixed window, numbered datagrams, and an acknowledgement for each.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fairlane_qdisc::Time;
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};

/// The size of a datagram on the wire in bytes; its payload has 28 less, as behind headers of IPv4 and UDP.
pub(crate) const DATA: u32 = 1000;
pub(crate) const HEADERS: usize = 28;
/// The size of an acknowledgement on the wire in bytes.
pub(crate) const ACK: u32 = 40;

/// Keeps `window` datagrams in flight and resends none.
#[derive(Debug)]
pub(crate) struct WindowSender {
    pub(crate) window: u64,
    pub(crate) ecn: Ecn,
    pub(crate) salt: u64,
    sent: u64,
    acknowledged: u64,
    started: bool,
}

/// What a receiver has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The time, the number and the ECN field of each datagram.
    pub(crate) arrivals: Vec<(Time, u64, Ecn)>,
    pub(crate) numbers: BTreeSet<u64>,
    /// The datagrams whose payload was not the one that was sent.
    pub(crate) broken: u64,
}

/// Acknowledges each datagram by its number.
#[derive(Debug, Default)]
pub(crate) struct WindowReceiver {
    pub(crate) salt: u64,
    pub(crate) seen: Arc<Mutex<Seen>>,
    acks: Vec<u64>,
    delivered: u64,
}

impl WindowSender {
    pub(crate) fn new(window: u64) -> Self {
        Self { window, ecn: Ecn::NotEct, salt: 0, sent: 0, acknowledged: 0, started: false }
    }
}

/// Returns the payload of datagram `number`: the number, and bytes that depend on it and on the flow's salt.
pub(crate) fn payload(salt: u64, number: u64) -> Vec<u8> {
    let length = DATA as usize - HEADERS - number as usize % 7;
    let byte = |at: usize| (salt.wrapping_mul(31) ^ number.wrapping_mul(7) ^ at as u64) as u8;
    number.to_be_bytes().into_iter().chain((8..length).map(byte)).collect()
}

fn number_of(datagram: &[u8]) -> u64 {
    u64::from_be_bytes(datagram[..8].try_into().expect("a datagram begins with its number"))
}

impl Endpoint for WindowSender {
    fn start(&mut self, _now: Time) {
        self.started = true;
    }

    fn receive(&mut self, _now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        assert_eq!(datagram.len(), 8);
        self.acknowledged += 1;
    }

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        assert!(datagram.is_empty());
        if !self.started || self.sent - self.acknowledged >= self.window {
            return None;
        }
        datagram.extend(payload(self.salt, self.sent));
        self.sent += 1;
        Some(Outgoing { ecn: self.ecn, ..Outgoing::new(DATA) })
    }

    fn deadline(&mut self) -> Option<Time> {
        None
    }

    fn on_timer(&mut self, _now: Time) {}

    fn delivered_bytes(&self) -> u64 {
        0
    }
}

impl Endpoint for WindowReceiver {
    fn start(&mut self, _now: Time) {}

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let number = number_of(datagram);
        let mut seen = self.seen.lock().expect("nobody panicked");
        seen.arrivals.push((now, number, ecn));
        assert!(seen.numbers.insert(number), "datagram {number} came twice");
        seen.broken += u64::from(*datagram != payload(self.salt, number));
        self.delivered += datagram.len() as u64;
        self.acks.push(number);
        // A receiver may keep the buffer.
        drop(std::mem::take(datagram));
    }

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        let number = self.acks.pop()?;
        datagram.extend(number.to_be_bytes());
        Some(Outgoing::new(ACK))
    }

    fn deadline(&mut self) -> Option<Time> {
        None
    }

    fn on_timer(&mut self, _now: Time) {}

    fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
}

/// Returns a sender with this window and its receiver, and what that sees.
pub(crate) fn pair(window: u64) -> (Pair, Arc<Mutex<Seen>>) {
    salted(WindowSender::new(window))
}

/// Returns `sender` and its receiver, and what that sees.
pub(crate) fn salted(sender: WindowSender) -> (Pair, Arc<Mutex<Seen>>) {
    let receiver = WindowReceiver { salt: sender.salt, ..WindowReceiver::default() };
    let seen = Arc::clone(&receiver.seen);
    (Pair::new(sender, receiver), seen)
}
