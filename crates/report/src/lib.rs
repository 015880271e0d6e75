//! Outcomes for people: terminal tables and figures.
#![forbid(unsafe_code)]
