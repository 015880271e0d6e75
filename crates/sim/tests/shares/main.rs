//! What the disciplines that tell flows apart leave to each flow, with real transports.

mod bins;
mod books;
mod one_fifo;
mod queues;
mod setup;
