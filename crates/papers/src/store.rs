//! Stores finished runs, so that an interrupted execution can be continued.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::Error;
use crate::table::Row;

/// The measured rows: a line of JSON each, in a file that is appended to. It is locked, since whoever is finished first
/// removes it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    known: HashMap<String, Row>,
    file: Mutex<File>,
}

impl Store {
    /// Opens the file at `path`, or creates it; returns `None` if another process has it open. An incomplete last line
    /// is ignored.
    ///
    /// # Errors
    /// The file cannot be created or read.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let keep = |source| Error::Keep { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(keep)?;
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(keep)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(keep)?;
        let text = String::from_utf8_lossy(&bytes);
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(keep)?;
        }
        Ok(Some(Self { path: path.to_owned(), known: text.lines().filter_map(read).collect(), file: Mutex::new(file) }))
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

    /// Removes the file after the last run. On a file system without locks another process may have removed it already.
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
        let open = || Store::open(&path).map(Option::unwrap);
        open()?.put("one", &row)?;
        fs::write(&path, fs::read_to_string(&path)? + r#"{"key": "two", "row": {"#)?;
        let store = open()?;
        assert_eq!((store.known(), store.get("one"), store.get("two")), (1, Some(row.clone()), None));
        store.put("three", &row)?;
        drop(store);
        let again = open()?;
        assert_eq!((again.known(), again.get("three")), (2, Some(row)));
        again.remove()?;
        assert!(!path.exists());
        Ok(())
    }

    /// Would catch two runs that share a file, which the first that is finished takes from the other.
    #[test]
    fn a_file_is_of_one_run() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("rows.jsonl");
        let first = Store::open(&path)?;
        assert!(first.is_some() && Store::open(&path)?.is_none());
        drop(first);
        assert!(Store::open(&path)?.is_some());
        Ok(())
    }
}
