//! The finished points of a sweep, kept next to its table until all are done.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fairlane_console::Failure;
use fairlane_outcome::{Outcome, Point};
use fairlane_scenario::Document;
use serde::{Deserialize, Serialize};

use crate::args::sweep::Part;

/// Identifies a sweep: two sweeps with the same identity have the same outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SweepIdentity {
    version: String,
    /// All values of the scenario but its seed.
    scenario: serde_json::Value,
    seed: serde_json::Value,
    runs: u32,
    points: usize,
}

/// A finished point: its number and its outcome.
#[derive(Serialize, Deserialize)]
struct Line<O> {
    job: usize,
    outcome: O,
}

/// A file of finished points: a line for the sweep and one for each point, as JSON, in the order in which they
/// finished.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// The parts that it joins; empty of one that is written.
    parts: Vec<PathBuf>,
    /// Locked: no other process writes it.
    file: Mutex<File>,
    /// The points that were finished before.
    pub(super) finished: BTreeMap<usize, Outcome>,
}

impl Journal {
    /// Returns the file of the journal of a sweep into the table `out`.
    pub(super) fn path(out: &Path) -> PathBuf {
        let mut name = out.as_os_str().to_owned();
        name.push(".part");
        name.into()
    }

    /// Returns the file of a part, which stays until the parts are merged.
    fn path_of(out: &Path, part: Part) -> PathBuf {
        let mut name = Self::path(out).into_os_string();
        name.push(format!("-{}-of-{}", part.number, part.of));
        name.into()
    }

    /// Continues the journal of the sweep of `document` at `points` into the table `out`, or of a part of it, or begins
    /// it.
    pub(super) fn open(
        out: &Path,
        part: Option<Part>,
        document: &Document,
        points: &[Point],
        runs: u32,
    ) -> Result<Self, Failure> {
        let path = part.map_or_else(|| Self::path(out), |part| Self::path_of(out, part));
        let failed = |error: io::Error| Failure::write(&path, &error);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process is writing {}", path.display());
                return Err(Failure::new(message, "wait for its end, or choose another file with --out"));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let identity = identity(document, points.len(), runs);
        let finished = read(&path, &file, &identity, points)?;
        if let Some((part, strange)) = part.and_then(|part| Some((part, finished.keys().find(|at| !part.has(**at))?))) {
            return Err(strange_point(&path, part, *strange));
        }
        Ok(Self { path, parts: Vec::new(), file: Mutex::new(file), finished })
    }

    /// Joins the journals of all parts of the sweep into the table `out`.
    pub(super) fn merge(out: &Path, document: &Document, points: &[Point], runs: u32) -> Result<Self, Failure> {
        let of = number_of_parts(out)?;
        let parts: Vec<Part> = (1..=of).map(|number| Part { number, of }).collect();
        let missing: Vec<Part> = parts.iter().copied().filter(|part| !Self::path_of(out, *part).exists()).collect();
        if let Some(first) = missing.first() {
            let names = missing.iter().map(|part| format!("{}/{of}", part.number)).collect::<Vec<_>>().join(", ");
            let message = format!("these parts of {} are missing: {names}", out.display());
            return Err(Failure::new(message, format!("run them: --part {}/{of}", first.number)));
        }
        let mut all: Option<Self> = None;
        for part in parts {
            let next = Self::open(out, Some(part), document, points, runs)?;
            let wanted = (0..points.len()).filter(|point| part.has(*point)).count();
            if next.finished.len() < wanted {
                let there = next.finished.len();
                let message = format!("{} has {there} of its {wanted} points", next.path.display());
                return Err(Failure::new(message, format!("run the rest of it: --part {}/{of}", part.number)));
            }
            let all = all.get_or_insert_with(|| Self {
                path: next.path.clone(),
                parts: Vec::new(),
                file: Mutex::new(next.file.into_inner().unwrap_or_else(PoisonError::into_inner)),
                finished: BTreeMap::new(),
            });
            all.parts.push(next.path);
            all.finished.extend(next.finished);
        }
        all.ok_or_else(|| no_parts(out))
    }

    /// Records the outcome of a point.
    pub(super) fn record(&self, job: usize, outcome: &Outcome) -> Result<(), Failure> {
        // A line is written at once or cut off when it is read.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        line(&mut file, &Line { job, outcome }).map_err(|error| Failure::write(&self.path, &error))
    }

    /// Removes the file if it has no points.
    pub(super) fn remove_empty(self) {
        if self.finished.is_empty() {
            // The caller has an error that matters more.
            let _ = self.remove();
        }
    }

    /// Removes the file, or those of the parts: all points are done and in the table.
    pub(super) fn remove(self) -> Result<(), Failure> {
        let files = if self.parts.is_empty() { vec![self.path] } else { self.parts };
        files.iter().try_for_each(|file| fs::remove_file(file).map_err(|error| Failure::write(file, &error)))
    }

    /// Returns the file of a part.
    pub(super) fn file(&self) -> &Path {
        &self.path
    }
}

/// Returns the number of parts of which there are files for `out`.
fn number_of_parts(out: &Path) -> Result<usize, Failure> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let begin = Journal::path(out).file_name().map_or_else(String::new, |name| format!("{}-", name.to_string_lossy()));
    let files = fs::read_dir(folder)
        .map_err(|error| Failure::plain(format!("cannot read {}: {error}", folder.display())))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let part = |name: String| name.strip_prefix(&begin)?.replace("-of-", "/").parse::<Part>().ok();
    let mut numbers: Vec<usize> = files.filter_map(part).map(|part| part.of).collect();
    numbers.sort_unstable();
    numbers.dedup();
    match numbers.as_slice() {
        [of] => Ok(*of),
        [] => Err(no_parts(out)),
        several => {
            let several = several.iter().map(usize::to_string).collect::<Vec<_>>().join(" and of ");
            let message = format!("{} has parts of {several}, whose points are double", out.display());
            Err(Failure::new(message, "remove the files of all but one number of parts"))
        }
    }
}

fn no_parts(out: &Path) -> Failure {
    Failure::new(format!("there are no parts of {}", out.display()), "run them first: --part 1/8 to --part 8/8")
}

fn strange_point(path: &Path, part: Part, point: usize) -> Failure {
    let Part { number, of } = part;
    let message = format!("{} has point {}, which is none of part {number}/{of}", path.display(), point + 1);
    Failure::new(message, "it is a copy of another part: remove it, and run this part")
}

fn identity(document: &Document, points: usize, runs: u32) -> SweepIdentity {
    let mut table = document.to_table();
    let seed = json(&table.remove("seed"));
    SweepIdentity { version: env!("CARGO_PKG_VERSION").to_owned(), scenario: json(&table), seed, runs, points }
}

/// Every value of a scenario has a form in JSON.
fn json(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Reads the points of the journal, and cuts off an incomplete last line.
fn read(
    path: &Path,
    file: &File,
    identity: &SweepIdentity,
    points: &[Point],
) -> Result<BTreeMap<usize, Outcome>, Failure> {
    let failed = |error: io::Error| Failure::plain(format!("cannot read {}: {error}", path.display()));
    let mut lines = BufReader::new(file);
    let (mut text, mut end, mut finished) = (Vec::new(), 0, BTreeMap::new());
    while lines.read_until(b'\n', &mut text).map_err(failed)? > 0 && text.ends_with(b"\n") {
        if end == 0 {
            same(path, serde_json::from_slice(&text).ok().as_ref(), identity)?;
        } else {
            let Ok(Line { job, outcome }) = serde_json::from_slice::<Line<Outcome>>(&text) else { break };
            if points.get(job) != outcome.point.as_ref() {
                return Err(other_sweep(path, "it has other points"));
            }
            finished.insert(job, outcome);
        }
        end += text.len() as u64;
        text.clear();
    }
    if end == 0 && !text.is_empty() {
        return Err(other_sweep(path, "it is no sweep's file"));
    }
    let mut file = file;
    file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(|error| Failure::write(path, &error))?;
    if end == 0 {
        let mut file = file.try_clone().map_err(failed)?;
        line(&mut file, identity).map_err(|error| Failure::write(path, &error))?;
    }
    Ok(finished)
}

/// Checks that a journal is of this sweep.
fn same(path: &Path, there: Option<&SweepIdentity>, here: &SweepIdentity) -> Result<(), Failure> {
    let Some(there) = there else { return Err(other_sweep(path, "it is no sweep's file")) };
    let difference = if there.version != here.version {
        format!("it was made by fairlane {}, and this is {}", there.version, here.version)
    } else if there.scenario != here.scenario {
        "it is of another scenario".to_owned()
    } else if there.seed != here.seed {
        "it has another seed".to_owned()
    } else if there.runs != here.runs {
        format!("it has {} runs of each point, and not {}", there.runs, here.runs)
    } else if there.points != here.points {
        format!("it has {} points, and not {}", there.points, here.points)
    } else {
        return Ok(());
    };
    Err(other_sweep(path, &difference))
}

fn other_sweep(path: &Path, difference: &str) -> Failure {
    let message = format!("{} is of another sweep: {difference}", path.display());
    Failure::new(message, "choose another file with --out, or remove it")
}
