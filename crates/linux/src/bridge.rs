//! Two interfaces as the ends of a wire: rings of frames that are shared with the kernel (`packet(7)`, `TPACKET_V2`).

mod error;
mod frame;
mod interface;
mod port;
mod ring;
mod slab;

pub use error::BridgeError;
pub(crate) use frame::VIRTIO;
pub(crate) use interface::{Interface, mtu};
pub(crate) use port::Port;
pub(crate) use slab::Slab;
