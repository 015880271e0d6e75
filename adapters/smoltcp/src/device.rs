//! The network device of a host: one packet that has come, and those that wait for the simulator.

use std::collections::VecDeque;

use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// The largest IP packet in bytes, as on Ethernet.
const MTU: usize = 1500;

#[derive(Debug, Default)]
pub(crate) struct Device {
    pub(crate) received: Option<Vec<u8>>,
    pub(crate) sent: VecDeque<Vec<u8>>,
}

/// A packet that has come.
pub(crate) struct Received(Vec<u8>);

/// Room for a packet to send.
pub(crate) struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::Device for Device {
    type RxToken<'a> = Received;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Room<'_>)> {
        Some((Received(self.received.take()?), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, MTU);
        capabilities
    }
}

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        let mut packet = vec![0; bytes];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}
