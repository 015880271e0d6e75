//! Reports of outcomes: terminal tables, figures and pages.
//!
//! [`compare_table`], [`run_report`] and [`sweep_table`] print for a terminal of any width, and never exceed it.
//! With the feature `figures`, `Figure` draws the same numbers as SVG, and with `pdf` as PDF; with the feature `html`,
//! `html::Page` makes pages that stand alone.
#![forbid(unsafe_code)]

mod against;
mod compare;
mod correlation;
mod details;
mod differences;
#[cfg(feature = "figures")]
mod figure;
mod flows;
#[cfg(feature = "html")]
pub mod html;
mod numbers;
mod paper;
mod paths;
mod queues;
mod run;
mod summary;
mod sweep;
mod table;

pub use against::against_table;
pub use compare::compare_table;
pub use correlation::correlation_lines;
pub use details::{Detail, Details};
#[cfg(feature = "figures")]
pub use figure::{
    Axis, Bars, Content, Figure, Line, LineStyle, Mark, Measure, compare_figure, delay_figure, scatter_figure,
    series_figure, sweep_figure,
};
pub use paper::{PaperNumber, PaperNumbers};
pub use run::run_report;
pub use sweep::sweep_table;
pub use table::Terminal;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
