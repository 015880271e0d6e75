//! The claims of papers as data, and the experiments that test them.
//!
//! Every figure, table and number of the five papers is a [`Claim`] in `claims/*.toml`: what the paper says, the
//! experiment that shows it, and the demands on our numbers. [`Library`] holds them all; a [`Plan`] runs the
//! experiments of some of them, on all cores, again from where it was interrupted; [`Verdict`]s say how each claim
//! stands. `docs/claims.md` describes the format.
#![forbid(unsafe_code)]

mod basis;
mod book;
mod check;
mod cross;
mod error;
mod experiment;
mod expression;
mod figure;
pub mod json;
mod judgement;
mod library;
mod markdown;
mod page;
mod plan;
mod review;
pub mod shown;
mod simulate;
mod station;
mod store;
mod symmetric;
mod table;
mod vectors;
mod verdict;

pub use basis::Basis;
pub use book::{
    Axis, AxisText, Book, Check, Choice, Claim, CrossText, Experiment, FigureText, Form, LineText, Named, Open, Paper,
    PaperLine, Status,
};
pub use cross::{Cross, crosses};
pub use error::Error;
pub use judgement::Judgement;
pub use library::Library;
pub use markdown::{Document, documents};
pub use page::page;
pub use plan::{Options, Plan, Results};
pub use store::Store;
pub use table::{Row, Table};
pub use verdict::{Finding, Tally, Verdict, tallies};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
