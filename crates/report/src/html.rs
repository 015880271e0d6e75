//! Pages: one HTML file each, that needs nothing else and asks for nothing.
//!
//! A [`Page`] has [`Section`]s of [`Block`]s. It holds its style, its pictures and its data; it has no script, and its
//! content security policy lets nothing be loaded. All text is escaped: names may contain anything.

mod block;
mod page;
mod table;

pub use self::block::{Badge, Block, Inline, Tone};
pub use self::page::{Page, Provenance, Section};
pub use self::table::{Cell, Table};
