//! Tables as files.

use std::io::{self, Write};
use std::path::Path;

use super::TableError;
use super::table::Table;
use crate::{Extent, OutputFile};

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

    pub(super) const fn extension(self) -> &'static str {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// Writes a table to `path`.
pub(super) fn table(path: &Path, format: Format, extent: Extent, table: &Table<'_>) -> Result<(), TableError> {
    file(path, extent, |file| match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => table.write_parquet(file),
        Format::Csv => csv(file, table),
    })
}

/// Lets `write` fill the file that will be at `path`.
pub(super) fn file(
    path: &Path,
    extent: Extent,
    write: impl FnOnce(&mut OutputFile) -> io::Result<()>,
) -> Result<(), TableError> {
    let filled = OutputFile::create(path).and_then(|mut file| {
        write(&mut file)?;
        file.finish(extent)
    });
    filled.map(drop).map_err(|error| TableError::write(path, error))
}

fn csv(file: impl Write, table: &Table<'_>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(table.names())?;
    for row in 0..table.rows {
        writer.write_record(table.columns.iter().map(|column| column.values.text(row).into_owned()))?;
    }
    writer.flush()
}
