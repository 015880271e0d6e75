//! Outcomes for people: terminal tables and figures.
//!
//! [`compare_table`], [`run_report`] and [`sweep_table`] print for a terminal of any width; nothing is longer than it.
//! With the feature `figures`, `Figure` draws the same numbers as SVG.
#![forbid(unsafe_code)]

mod compare;
#[cfg(feature = "figures")]
mod figure;
mod numbers;
mod paper;
mod run;
mod summary;
mod sweep;
mod table;

pub use compare::compare_table;
#[cfg(feature = "figures")]
pub use figure::{Bars, Content, Figure, Line, Mark, compare_figure};
pub use paper::{PaperNumber, PaperNumbers};
pub use run::run_report;
pub use sweep::sweep_table;
pub use table::Terminal;
