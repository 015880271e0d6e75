//! Tables as files.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::TableError;

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Parquet,
    Csv,
}

impl Format {
    /// What the extension of `path` says.
    pub(super) fn of(path: &Path) -> Result<Self, TableError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => Ok(Self::Parquet),
            Some("csv") => Ok(Self::Csv),
            _ => Err(TableError::Extension { path: path.to_owned() }),
        }
    }
}

/// Writes a table to `path`.
pub(super) fn batch(path: &Path, format: Format, table: &RecordBatch) -> Result<(), TableError> {
    atomically(path, |file| match format {
        Format::Parquet => parquet(file, table),
        Format::Csv => csv(file, table),
    })
}

/// Lets `write` fill a file beside `path` that takes its place when it is complete.
pub(super) fn atomically(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), TableError> {
    let beside = beside(path);
    let filled = File::create(&beside).and_then(|mut file| {
        write(&mut file)?;
        file.flush()
    });
    filled.and_then(|()| std::fs::rename(&beside, path)).map_err(|error| {
        // Nothing to be done if it cannot be removed either: the first error is the one to know.
        let _ = std::fs::remove_file(&beside);
        TableError::write(path, error)
    })
}

/// A name in the same directory, since only there a file can take another's place; of this process alone.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// What all Parquet files here are written with.
pub(super) fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::SNAPPY).build()
}

fn parquet(file: &mut File, table: &RecordBatch) -> io::Result<()> {
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties()))?;
    writer.write(table)?;
    writer.close()?;
    Ok(())
}

fn csv(file: &mut File, table: &RecordBatch) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(table.schema().fields().iter().map(|field| field.name()))?;
    for row in 0..table.num_rows() {
        writer.write_record(table.columns().iter().map(|column| cell(column, row)))?;
    }
    writer.flush()
}

/// A cell as text: empty where there is no value, and a number in as few digits as give it back.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    if let Some(text) = column.as_string_opt::<i32>() {
        text.value(row).to_owned()
    } else if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
        numbers.value(row).to_string()
    } else if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        numbers.value(row).to_string()
    } else {
        String::new()
    }
}
