//! Pages: one HTML file each, that needs nothing else and asks for nothing.
//!
//! A [`Page`] has [`Section`]s of [`Block`]s. It holds its style, its pictures and its data; it has no script, and its
//! content security policy lets nothing be loaded. All text is escaped: names may contain anything.
//!
//! [`compare_page`], [`run_page`] and [`sweep_page`] show outcomes: the numbers of the terminal's tables, and figures.

mod block;
mod course;
mod figures;
mod grid;
mod page;
mod pages;
mod table;
mod values;

pub use self::block::{Badge, Block, Inline, Tone};
pub use self::course::{Course, GroupCourse, QueueCourse};
pub use self::page::{Page, Provenance, Section};
pub use self::pages::{Origin, compare_page, run_page, sweep_page};
pub use self::table::{Cell, Table};
