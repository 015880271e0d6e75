//! Columns and cells of tables that grow.

/// A column: its name, its type, and whether a row may have nothing there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has no types"))]
    pub(super) kind: ColumnType,
    pub(super) nullable: bool,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnType {
    Text,
    U32,
    U64,
    F64,
}

impl Column {
    pub(super) const fn text(name: &'static str) -> Self {
        Self { name, kind: ColumnType::Text, nullable: false }
    }

    pub(super) const fn u32(name: &'static str) -> Self {
        Self { name, kind: ColumnType::U32, nullable: false }
    }

    pub(super) const fn u64(name: &'static str) -> Self {
        Self { name, kind: ColumnType::U64, nullable: false }
    }

    pub(super) const fn f64(name: &'static str) -> Self {
        Self { name, kind: ColumnType::F64, nullable: false }
    }

    /// The same, with rows that have nothing there.
    pub(super) const fn or_nothing(mut self) -> Self {
        self.nullable = true;
        self
    }
}

/// The value of a row in a column, of the column's kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Nothing,
    Text(&'a str),
    U32(u32),
    U64(u64),
    F64(f64),
}

impl<'a> Cell<'a> {
    /// The cell that `make` makes of the value, if there is one.
    pub(super) fn maybe<T>(value: Option<T>, make: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Nothing, make)
    }

    pub(super) fn to_text(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.to_owned(),
            Self::U32(number) => number.to_string(),
            Self::U64(number) => number.to_string(),
            Self::F64(number) => number.to_string(),
        }
    }
}
