//! Tables as Arrow record batches and as Parquet.

use std::io;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::TableError;
use super::cell::{Cell, Column, ColumnType};
use super::table::{Table, Values};
use crate::OutputFile;

/// Rows that are held back until they are written together.
const HELD: usize = 8192;
/// Rows of a Parquet row group: the number that a reader, and the writer's memory, must hold at once.
const ROW_GROUP: usize = 128 * 1024;

impl Table<'_> {
    /// The table as an Arrow record batch.
    ///
    /// # Errors
    ///
    /// [`TableError::Arrow`], which would be a mistake in this crate.
    pub fn batch(&self) -> Result<RecordBatch, TableError> {
        let arrays = self.columns.iter().map(|column| array(&column.values));
        let arrays: Vec<ArrayRef> = arrays.collect();
        let fields = self.columns.iter().zip(&arrays);
        let fields = fields.map(|(column, array)| Field::new(&column.name, array.data_type().clone(), column.nullable));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    /// Writes the table to a Parquet file.
    pub(super) fn write_parquet(&self, file: &mut OutputFile) -> io::Result<()> {
        let batch = self.batch().map_err(io::Error::other)?;
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties()))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }
}

fn array(values: &Values<'_>) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>()),
        Values::U64(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::F64(values) => Arc::new(values.iter().copied().collect::<Float64Array>()),
    }
}

/// The properties of all Parquet files.
fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::SNAPPY).build()
}

/// Columns that fill up to [`HELD`] rows.
struct Rows {
    schema: SchemaRef,
    held: usize,
    builders: Vec<Builder>,
}

/// Writes rows to a Parquet file.
pub(super) struct Parquet {
    writer: ArrowWriter<OutputFile>,
    rows: Rows,
}

/// Keeps rows in memory.
pub(super) struct Memory {
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
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::U32 => Self::U32(UInt32Builder::new()),
            ColumnType::U64 => Self::U64(UInt64Builder::new()),
            ColumnType::F64 => Self::F64(Float64Builder::new()),
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
                ColumnType::Text => DataType::Utf8,
                ColumnType::U32 => DataType::UInt32,
                ColumnType::U64 => DataType::UInt64,
                ColumnType::F64 => DataType::Float64,
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
    pub(super) fn new(columns: &[Column]) -> Self {
        Self { rows: Rows::new(columns), batches: Vec::new() }
    }

    /// All rows, in one batch at least.
    pub(super) fn finish(mut self) -> Result<Vec<RecordBatch>, ArrowError> {
        self.batches.push(self.rows.take()?);
        Ok(self.batches)
    }

    pub(super) fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        if self.rows.add(row) {
            self.batches.push(self.rows.take().map_err(io::Error::other)?);
        }
        Ok(())
    }
}

impl Parquet {
    pub(super) fn new(file: OutputFile, columns: &[Column]) -> io::Result<Self> {
        let rows = Rows::new(columns);
        let properties = properties().into_builder().set_max_row_group_row_count(Some(ROW_GROUP)).build();
        Ok(Self { writer: ArrowWriter::try_new(file, Arc::clone(&rows.schema), Some(properties))?, rows })
    }

    pub(super) fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        if self.rows.add(row) { self.write_held() } else { Ok(()) }
    }

    fn write_held(&mut self) -> io::Result<()> {
        let batch = self.rows.take().map_err(io::Error::other)?;
        Ok(self.writer.write(&batch)?)
    }

    pub(super) fn finish(mut self) -> io::Result<OutputFile> {
        self.write_held()?;
        Ok(self.writer.into_inner()?)
    }
}
