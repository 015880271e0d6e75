//! The share of each flow under disciplines that distinguish flows, with real transports.

mod bins;
mod deciles;
mod floods;
mod one_fifo;
mod queue_log;
mod queues;
mod setup;
