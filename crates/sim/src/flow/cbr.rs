//! Data at a constant rate over one connection.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario as scenario;

use crate::application::{Application, Client, Server};

/// The writes of one application. Each time is calculated from the start, so that the rate has no drift.
#[derive(Debug)]
pub(super) struct Cbr {
    rate: u64,
    /// The bits of a packet.
    bits: u64,
    /// The time between two writes in nanoseconds; `None`: each packet by itself.
    every: Option<u64>,
    /// `None` before the start.
    start: Option<Time>,
    /// The writes so far.
    writes: u64,
    /// The packets so far.
    written: u64,
}

const NANOS: u128 = 1_000_000_000;

impl Cbr {
    /// Returns the application of `config` with packets of `bytes` bytes.
    pub(super) fn new(config: &scenario::Cbr, bytes: u32) -> Self {
        let (rate, every) = (config.rate.bits_per_second().max(1), config.every.map(Duration::as_nanos));
        Self { rate, bits: u64::from(bytes.max(1)) * 8, every, start: None, writes: 0, written: 0 }
    }

    /// Returns the time from the start to write number `write`.
    fn due(&self, write: u64) -> Duration {
        let nanos = match self.every {
            Some(every) => u128::from(write) * u128::from(every),
            None => u128::from(write) * u128::from(self.bits) * NANOS / u128::from(self.rate),
        };
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the packets that `writes` writes have: the whole ones of their time.
    fn packets(&self, writes: u64) -> u64 {
        let Some(every) = self.every else { return writes };
        let bits = u128::from(writes) * u128::from(every) * u128::from(self.rate) / NANOS;
        u64::try_from(bits / u128::from(self.bits)).unwrap_or(u64::MAX)
    }
}

impl Application for Cbr {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.on_timer(server);
    }

    fn on_data(&mut self, _received: u32, _client: &mut Client<'_>) {}

    fn on_timer(&mut self, server: &mut Server<'_>) {
        let start = *self.start.get_or_insert(server.now());
        self.writes += 1;
        let written = self.packets(self.writes);
        server.send(u32::try_from(written - self.written).unwrap_or(u32::MAX));
        self.written = written;
        server.set_timer(start + self.due(self.writes));
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Rate;

    use super::*;

    fn cbr(rate: u64, every: Option<Duration>) -> Cbr {
        Cbr::new(&scenario::Cbr { rate: Rate::from_bits_per_second(rate), every }, 1000)
    }

    /// Would catch a rate that drifts: 3 Mbit/s are 375 packets of 1000 bytes a second, one each 2.666 ms.
    #[test]
    fn writes_are_at_the_rate() {
        let alone = cbr(3_000_000, None);
        assert_eq!([1, 2, 3].map(|write| alone.due(write).as_nanos()), [2_666_666, 5_333_333, 8_000_000]);
        assert_eq!(alone.due(375_000_000).as_nanos(), 1_000_000 * 1_000_000_000);
        // A frame each 40 ms has 15 packets; at 3.1 Mbit/s 15.5.
        let frames = cbr(3_000_000, Some(Duration::from_millis(40)));
        assert_eq!([1, 2, 25].map(|write| frames.packets(write)), [15, 30, 375]);
        let uneven = cbr(3_100_000, Some(Duration::from_millis(40)));
        assert_eq!([1, 2, 3, 4].map(|write| uneven.packets(write)), [15, 31, 46, 62]);
    }
}
