//! TODO

pub(crate) mod routes;
