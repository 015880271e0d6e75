//! Stores finished runs, so that an interrupted execution can be continued.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::Error;
use crate::table::Row;

/// The measured rows: a line of JSON each, in a file that is appended to.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    known: HashMap<String, Row>,
    file: Mutex<File>,
}

impl Store {
    /// Opens the file at `path`, or creates it. An incomplete last line is ignored.
    ///
    /// # Errors
    /// The file cannot be created or read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let keep = |source| Error::Keep { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(keep)?;
        }
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(keep(error)),
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(keep)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(keep)?;
        }
        Ok(Self { path: path.to_owned(), known: text.lines().filter_map(read).collect(), file: Mutex::new(file) })
    }

    /// Number of rows when it was opened.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Returns the row that was stored under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Row> {
        self.known.get(key).cloned()
    }

    /// Stores `row`.
    pub(crate) fn put(&self, key: &str, row: &Row) -> Result<(), Error> {
        let line = format!("{}\n", json!({ "key": key, "row": row }));
        // A thread that panicked has written a whole line or none.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|source| Error::Keep { path: self.path.clone(), source })
    }

    /// Removes the file after the last run. Another process that uses it may have removed it already.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Keep { path: self.path, source })
            }
            _ => Ok(()),
        }
    }
}

fn read(line: &str) -> Option<(String, Row)> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let key = line["key"].as_str()?.to_owned();
    match line["row"].take() {
        Value::Object(row) => Some((key, row)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_half_a_line_does_not() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/rows.jsonl");
        let row = json!({ "x": 1.25, "name": "a" }).as_object().cloned().unwrap_or_default();
        Store::open(&path)?.put("one", &row)?;
        fs::write(&path, fs::read_to_string(&path)? + r#"{"key": "two", "row": {"#)?;
        let store = Store::open(&path)?;
        assert_eq!((store.known(), store.get("one"), store.get("two")), (1, Some(row.clone()), None));
        store.put("three", &row)?;
        let again = Store::open(&path)?;
        assert_eq!((again.known(), again.get("three")), (2, Some(row)));
        again.remove()?;
        assert!(!path.exists());
        store.remove()?;
        Ok(())
    }
}
