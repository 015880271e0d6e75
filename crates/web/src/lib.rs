//! The simulator behind the playground: two players of a scenario side by side, and batches of runs, for a page that
//! calls them through WebAssembly.
//!
//! A page writes text into a buffer, calls a function, and reads text or numbers from another buffer of linear memory.
//! Numbers for a frame are plain `f64`s, so nothing is parsed while packets move. The outcomes are those of
//! the native program, bit by bit.

mod batch;
mod error;
mod exports;
mod info;
mod machine;
mod player;
mod request;
mod watch;

pub use batch::Batch;
pub use error::PageError;
pub use machine::Machine;
pub use player::{Change, FRAME_HEADER, Player};
pub use request::{MOST_FLOWS, Request};
pub use watch::{EVENT_FIELDS, EventKind, MOST_EVENTS, MOST_SHOWN, PACKET_FIELDS, Watch};
