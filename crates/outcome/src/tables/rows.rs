//! Tables that grow while the engine runs: rows are written as they come, in bounded memory, or are kept in it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use super::TableError;
use super::write::{Format, properties};

/// Rows that are held back until they are written together.
const HELD: usize = 8192;
/// Rows of a Parquet row group: what a reader, and the writer's memory, must hold at once.
const ROW_GROUP: usize = 128 * 1024;

/// A column: its name, what it holds, and whether a row may have nothing there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    kind: Kind,
    nullable: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    U32,
    U64,
    F64,
}

impl Column {
    pub(super) const fn text(name: &'static str) -> Self {
        Self { name, kind: Kind::Text, nullable: false }
    }

    pub(super) const fn u32(name: &'static str) -> Self {
        Self { name, kind: Kind::U32, nullable: false }
    }

    pub(super) const fn u64(name: &'static str) -> Self {
        Self { name, kind: Kind::U64, nullable: false }
    }

    pub(super) const fn f64(name: &'static str) -> Self {
        Self { name, kind: Kind::F64, nullable: false }
    }

    /// The same, with rows that have nothing there.
    pub(super) const fn or_nothing(mut self) -> Self {
        self.nullable = true;
        self
    }
}

/// What a row has in a column. It must be of the column's kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Nothing,
    Text(&'a str),
    U32(u32),
    U64(u64),
    F64(f64),
}

impl<'a> Cell<'a> {
    /// What `make` makes of the value, if there is one.
    pub(super) fn maybe<T>(value: Option<T>, make: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Nothing, make)
    }

    fn to_text(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.to_owned(),
            Self::U32(number) => number.to_string(),
            Self::U64(number) => number.to_string(),
            Self::F64(number) => number.to_string(),
        }
    }
}

/// Writes a table row by row. One that is dropped without [`finish`](Self::finish), as when a run is interrupted, leaves a file
/// that can be read.
pub(super) struct RowWriter {
    path: PathBuf,
    sink: Option<Sink>,
}

enum Sink {
    Csv(Box<csv::Writer<File>>),
    Parquet(Box<Parquet>),
    Memory(Box<Memory>),
}

impl RowWriter {
    /// Starts a table of `columns` at `path`, whose extension says in which format.
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, TableError> {
        let format = Format::of(path)?;
        let sink = File::create(path).and_then(|file| Sink::new(format, file, columns));
        let sink = Some(sink.map_err(|error| TableError::write(path, error))?);
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Starts a table of `columns` that is kept in memory.
    pub(super) fn in_memory(columns: &[Column]) -> Self {
        let memory = Memory { rows: Rows::new(columns), batches: Vec::new() };
        Self { path: PathBuf::new(), sink: Some(Sink::Memory(Box::new(memory))) }
    }

    /// The rows that were kept in memory, in one batch at least; none of a table that is a file.
    pub(super) fn into_batches(mut self) -> Result<Vec<RecordBatch>, TableError> {
        match self.sink.take() {
            Some(Sink::Memory(mut memory)) => {
                let last = memory.rows.take()?;
                memory.batches.push(last);
                Ok(memory.batches)
            }
            other => {
                self.sink = other;
                self.finish().map(|()| Vec::new())
            }
        }
    }

    /// Adds a row, with a cell for each column.
    pub(super) fn write(&mut self, row: &[Cell<'_>]) -> Result<(), TableError> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.write(row).map_err(|error| TableError::write(&self.path, error))
    }

    /// Writes what is held back and closes the file.
    pub(super) fn finish(mut self) -> Result<(), TableError> {
        let Some(sink) = self.sink.take() else { return Ok(()) };
        sink.finish().map_err(|error| TableError::write(&self.path, error))
    }
}

impl Drop for RowWriter {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            // Nobody is left to tell: whoever wants to know calls `finish`.
            let _ = sink.finish();
        }
    }
}

impl Sink {
    fn new(format: Format, file: File, columns: &[Column]) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(columns.iter().map(|column| column.name))?;
                Self::Csv(Box::new(writer))
            }
            Format::Parquet => Self::Parquet(Box::new(Parquet::new(file, columns)?)),
        })
    }

    fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        match self {
            Self::Csv(writer) => Ok(writer.write_record(row.iter().map(|cell| cell.to_text()))?),
            Self::Parquet(writer) => writer.write(row),
            Self::Memory(memory) => memory.write(row),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Parquet(writer) => writer.finish(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Columns that fill up to [`HELD`] rows.
struct Rows {
    schema: SchemaRef,
    held: usize,
    builders: Vec<Builder>,
}

/// The Parquet side.
struct Parquet {
    writer: ArrowWriter<File>,
    rows: Rows,
}

/// What stays here.
struct Memory {
    rows: Rows,
    batches: Vec<RecordBatch>,
}

/// A column in the making.
enum Builder {
    Text(StringBuilder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::U32 => Self::U32(UInt32Builder::new()),
            Kind::U64 => Self::U64(UInt64Builder::new()),
            Kind::F64 => Self::F64(Float64Builder::new()),
        }
    }

    /// A cell of another kind counts as none.
    fn append(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::Text(column), _) => column.append_null(),
            (Self::U32(column), Cell::U32(number)) => column.append_value(number),
            (Self::U32(column), _) => column.append_null(),
            (Self::U64(column), Cell::U64(number)) => column.append_value(number),
            (Self::U64(column), _) => column.append_null(),
            (Self::F64(column), Cell::F64(number)) => column.append_value(number),
            (Self::F64(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::U32(column) => Arc::new(column.finish()),
            Self::U64(column) => Arc::new(column.finish()),
            Self::F64(column) => Arc::new(column.finish()),
        }
    }
}

impl Rows {
    fn new(columns: &[Column]) -> Self {
        let field = |column: &Column| {
            let data_type = match column.kind {
                Kind::Text => DataType::Utf8,
                Kind::U32 => DataType::UInt32,
                Kind::U64 => DataType::UInt64,
                Kind::F64 => DataType::Float64,
            };
            Field::new(column.name, data_type, column.nullable)
        };
        Self {
            schema: Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>())),
            held: 0,
            builders: columns.iter().map(|column| Builder::new(column.kind)).collect(),
        }
    }

    /// Adds a row; true when so many are held that they should be taken.
    fn add(&mut self, row: &[Cell<'_>]) -> bool {
        for (column, cell) in self.builders.iter_mut().zip(row) {
            column.append(*cell);
        }
        self.held += 1;
        self.held == HELD
    }

    /// The rows that are held.
    fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        self.held = 0;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

impl Memory {
    fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        if self.rows.add(row) {
            self.batches.push(self.rows.take().map_err(io::Error::other)?);
        }
        Ok(())
    }
}

impl Parquet {
    fn new(file: File, columns: &[Column]) -> io::Result<Self> {
        let rows = Rows::new(columns);
        let properties = properties().into_builder().set_max_row_group_row_count(Some(ROW_GROUP)).build();
        Ok(Self { writer: ArrowWriter::try_new(file, Arc::clone(&rows.schema), Some(properties))?, rows })
    }

    fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        if self.rows.add(row) { self.write_held() } else { Ok(()) }
    }

    fn write_held(&mut self) -> io::Result<()> {
        let batch = self.rows.take().map_err(io::Error::other)?;
        Ok(self.writer.write(&batch)?)
    }

    fn finish(mut self) -> io::Result<()> {
        self.write_held()?;
        self.writer.close()?;
        Ok(())
    }
}
