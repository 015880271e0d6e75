//! Tables that grow while the engine runs: rows are written as they come, in bounded memory, or are kept in it.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

use super::TableError;
#[cfg(feature = "parquet")]
use super::batches::{Memory, Parquet};
use super::cell::{Cell, Column};
use super::write::Format;
use crate::{Extent, OutputFile};

/// Writes a table row by row. One that is dropped without [`finish`](Self::finish), as when a run ends with an error,
/// leaves a file that can be read, under the name of a [part](Extent::path).
pub(super) struct RowWriter {
    path: PathBuf,
    sink: Option<Sink>,
}

enum Sink {
    Csv(Box<csv::Writer<OutputFile>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet>),
    #[cfg(feature = "parquet")]
    Memory(Box<Memory>),
}

impl RowWriter {
    /// Starts a table of `columns` at `path`, whose extension says in which format.
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, TableError> {
        let format = Format::of(path)?;
        let sink = OutputFile::create(path).and_then(|file| Sink::new(format, file.keeping_part(), columns));
        let sink = Some(sink.map_err(|error| TableError::write(path, error))?);
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Starts a table of `columns` that is kept in memory.
    #[cfg(feature = "parquet")]
    pub(super) fn in_memory(columns: &[Column]) -> Self {
        Self { path: PathBuf::new(), sink: Some(Sink::Memory(Box::new(Memory::new(columns)))) }
    }

    /// The rows that were kept in memory, in one batch at least; none of a table that is a file.
    #[cfg(feature = "parquet")]
    pub(super) fn into_batches(mut self) -> Result<Vec<RecordBatch>, TableError> {
        match self.sink.take() {
            Some(Sink::Memory(memory)) => Ok(memory.finish()?),
            other => {
                self.sink = other;
                self.finish(Extent::Whole).map(|_| Vec::new())
            }
        }
    }

    /// Adds a row, with a cell for each column.
    pub(super) fn write(&mut self, row: &[Cell<'_>]) -> Result<(), TableError> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.write(row).map_err(|error| TableError::write(&self.path, error))
    }

    /// Writes the rows that are held back and puts the file into its place, which is returned.
    pub(super) fn finish(mut self, extent: Extent) -> Result<PathBuf, TableError> {
        let Some(sink) = self.sink.take() else { return Ok(PathBuf::new()) };
        sink.finish(extent).map_err(|error| TableError::write(&self.path, error))
    }
}

impl Drop for RowWriter {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            // A caller who wants to know of errors calls `finish`.
            let _ = sink.finish(Extent::Partial);
        }
    }
}

impl Sink {
    fn new(format: Format, file: OutputFile, columns: &[Column]) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(columns.iter().map(|column| column.name))?;
                Self::Csv(Box::new(writer))
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => Self::Parquet(Box::new(Parquet::new(file, columns)?)),
        })
    }

    fn write(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        match self {
            Self::Csv(writer) => Ok(writer.write_record(row.iter().map(|cell| cell.to_text()))?),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.write(row),
            #[cfg(feature = "parquet")]
            Self::Memory(memory) => memory.write(row),
        }
    }

    /// Returns the place of the file; an empty path for a table in memory.
    fn finish(self, extent: Extent) -> io::Result<PathBuf> {
        match self {
            Self::Csv(writer) => writer.into_inner().map_err(csv::IntoInnerError::into_error)?.finish(extent),
            #[cfg(feature = "parquet")]
            Self::Parquet(writer) => writer.finish()?.finish(extent),
            #[cfg(feature = "parquet")]
            Self::Memory(_) => Ok(PathBuf::new()),
        }
    }
}
