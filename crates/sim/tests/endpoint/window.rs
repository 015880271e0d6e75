//! A transport for tests: a fixed window, numbered datagrams, and an acknowledgement for each.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};

/// The size of a datagram on the wire in bytes; its payload has 28 less, as behind headers of IPv4 and UDP.
pub(crate) const DATA: u32 = 1000;
pub(crate) const HEADERS: usize = 28;
/// The size of an acknowledgement on the wire in bytes.
const ACK: u32 = 40;

/// A fixed window of datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) window: u64,
    pub(crate) ecn: Ecn,
    /// Tells the payloads of flows apart.
    pub(crate) salt: u64,
    /// Every 100 ms those that have not been acknowledged leave the window; none is sent again.
    pub(crate) refills: bool,
}

const REFILL: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct WindowSender {
    config: Window,
    sent: u64,
    acknowledged: u64,
    refill: Option<Time>,
}

/// The datagrams that a receiver has taken.
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
struct WindowReceiver {
    salt: u64,
    seen: Arc<Mutex<Seen>>,
    acks: Vec<u64>,
    delivered: u64,
}

impl Window {
    pub(crate) const fn of(window: u64) -> Self {
        Self { window, ecn: Ecn::NotEct, salt: 0, refills: false }
    }

    /// Returns a sender and its receiver, and what that sees.
    pub(crate) fn pair(self) -> (Pair, Arc<Mutex<Seen>>) {
        let receiver = WindowReceiver { salt: self.salt, ..WindowReceiver::default() };
        let seen = Arc::clone(&receiver.seen);
        (Pair::new(WindowSender { config: self, sent: 0, acknowledged: 0, refill: None }, receiver), seen)
    }
}

/// Returns a pair that sends nothing.
pub(crate) fn idle() -> Pair {
    Window::of(0).pair().0
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
    fn start(&mut self, now: Time) {
        self.refill = self.config.refills.then_some(now + REFILL);
    }
    fn receive(&mut self, _now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        assert_eq!(datagram.len(), 8);
        self.acknowledged = self.sent.min(self.acknowledged + 1);
    }
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        assert!(datagram.is_empty());
        if self.sent - self.acknowledged >= self.config.window {
            return None;
        }
        datagram.extend(payload(self.config.salt, self.sent));
        self.sent += 1;
        Some(Outgoing { ecn: self.config.ecn, ..Outgoing::new(DATA) })
    }
    fn deadline(&mut self) -> Option<Time> {
        self.refill
    }
    fn on_timer(&mut self, now: Time) {
        self.refill = Some(now + REFILL);
        self.acknowledged = self.sent;
    }
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
