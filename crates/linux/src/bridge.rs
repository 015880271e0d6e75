//! The interfaces of a bridge, read and written through rings shared with the kernel (`packet(7)`, `TPACKET_V2`).

mod error;
mod frame;
mod frame_line;
mod gso_frame;
mod interface;
mod port;
mod ring;
mod slab;
mod store;

pub use error::BridgeError;
pub(crate) use frame::{IncomingFrame, VIRTIO};
pub use frame_line::FrameLine;
pub(crate) use gso_frame::GsoFrame;
pub(crate) use interface::Interface;
pub(crate) use port::{LONGEST, Port};
pub(crate) use ring::PortUse;
pub(crate) use store::FrameStore;
