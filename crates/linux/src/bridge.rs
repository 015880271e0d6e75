//! Two interfaces as the ends of a wire: rings of frames that are shared with the kernel (`packet(7)`, `TPACKET_V2`).

mod error;
mod frame;
mod interface;
mod joined;
mod port;
mod ring;
mod slab;

pub use error::BridgeError;
pub(crate) use frame::{Incoming, VIRTIO, is_joined};
pub(crate) use interface::{Interface, mtu};
pub(crate) use joined::Joined;
pub(crate) use port::{LONGEST, Port};
pub(crate) use slab::Slab;
