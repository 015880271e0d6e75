//! Flows: hashing, tables and weights.

pub(crate) mod hash;
pub(crate) mod hits;
pub(crate) mod lru;
pub(crate) mod table;
pub(crate) mod weight;
