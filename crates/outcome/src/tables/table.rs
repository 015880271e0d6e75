//! A table in memory: named columns of one length.

use std::borrow::Cow;

/// A table with a name for each column; text is borrowed from the outcomes.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    pub(super) columns: Vec<TableColumn<'a>>,
    pub(super) rows: usize,
}

/// A column of a [`Table`].
#[derive(Clone, Debug)]
pub(super) struct TableColumn<'a> {
    pub(super) name: String,
    /// Rows may be without a value.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has no schema"))]
    pub(super) nullable: bool,
    pub(super) values: Values<'a>,
}

/// The values of a column; `None` where a row has none.
#[derive(Clone, Debug)]
pub(super) enum Values<'a> {
    Text(Vec<Option<Cow<'a, str>>>),
    U64(Vec<u64>),
    F64(Vec<Option<f64>>),
}

impl Table<'_> {
    /// The number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

impl Values<'_> {
    /// A cell as text: empty where there is no value, and a number in as few digits as give it back.
    pub(super) fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Text(values) => Cow::Borrowed(values[row].as_deref().unwrap_or_default()),
            Self::U64(values) => Cow::Owned(values[row].to_string()),
            Self::F64(values) => values[row].map_or(Cow::Borrowed(""), |value| Cow::Owned(value.to_string())),
        }
    }
}
