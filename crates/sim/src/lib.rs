//! A fast, deterministic packet-level simulator of congested links.
#![forbid(unsafe_code)]

pub mod tcp;
