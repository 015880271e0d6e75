//! Pages: self-contained HTML files that load nothing.
//!
//! A [`Page`] has [`Section`]s of [`Block`]s. It holds its style, its data and the script that draws its charts; its
//! content security policy forbids any other script, and loading anything. All text is escaped: names may contain
//! anything.
//!
//! [`compare_page`], [`run_page`] and [`sweep_page`] show outcomes: the numbers of the terminal's tables, and figures.

mod answer;
mod bars;
mod block;
mod chart;
mod data;
mod ellipses;
mod figure_table;
mod figures;
mod inline;
mod page;
mod pages;
mod table;
mod timeline;
mod values;

pub use self::bars::{BarColumn, BarTable};
pub use self::block::Block;
pub use self::chart::{Bins, Chart, Lines, Panel};
pub use self::ellipses::{EllipseSeries, Ellipses};
pub use self::inline::{Badge, Inline, Tone};
pub use self::page::{Page, Provenance, Section};
pub use self::pages::{Origin, compare_page, run_page, sweep_page};
pub use self::table::{Cell, Table};
