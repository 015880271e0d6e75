//! Tables as files.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::TableError;
use super::table::Table;

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    #[cfg(feature = "parquet")]
    Parquet,
    Csv,
}

impl Format {
    /// The format that the extension of `path` names.
    pub(super) fn of(path: &Path) -> Result<Self, TableError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Self::Parquet),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => Err(TableError::NoParquet { path: path.to_owned() }),
            Some("csv") => Ok(Self::Csv),
            _ => Err(TableError::Extension { path: path.to_owned() }),
        }
    }
}

/// Writes a table to `path`.
pub(super) fn table(path: &Path, format: Format, table: &Table<'_>) -> Result<(), TableError> {
    atomically(path, |file| match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => table.write_parquet(file),
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

fn csv(file: &mut File, table: &Table<'_>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(table.names())?;
    for row in 0..table.rows {
        writer.write_record(table.columns.iter().map(|column| column.values.text(row).into_owned()))?;
    }
    writer.flush()
}
