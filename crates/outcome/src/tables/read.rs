//! Reads the table of groups, which `sweep --table` writes.

use std::collections::BTreeMap;
use std::path::Path;

use super::TableError;
use crate::{Cost, Delay, Drops, Estimate, GroupOutcome, Outcome, Point, PointValue, QueueGroup, QueueOutcome, Unit};

/// The columns before the keys of a sweep, and the one behind them.
const FIRST: [&str; 5] = ["outcome", "scenario", "engine", "seed", "runs"];
const BEHIND: &str = "group";
/// The labels of outcomes, where they have any.
const LABEL: &str = "label";
/// The prefix of keys that are called like one of the first columns.
const PREFIX: &str = "point.";

/// A table as text: a cell without a value is empty.
struct TextTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row of a table.
struct Row<'t> {
    columns: &'t BTreeMap<&'t str, usize>,
    cells: &'t [String],
}

/// Reads the table [`groups`](super::groups) of `path`, whose extension says in which format it is: `.csv` or
/// `.parquet`. The outcomes have what the table has; everything else is 0 or absent.
///
/// # Errors
///
/// [`TableError::Read`] when there is no such file or it is another table, [`TableError::Extension`], and without the
/// feature `parquet` its `NoParquet`.
pub fn read_groups(path: &Path) -> Result<Vec<Outcome>, TableError> {
    let refused = |cause: String| TableError::Read { path: path.to_owned(), cause };
    let table = match super::Format::of(path)? {
        super::Format::Csv => csv(path).map_err(|error| refused(error.to_string()))?,
        #[cfg(feature = "parquet")]
        super::Format::Parquet => parquet(path).map_err(|error| refused(error.to_string()))?,
    };
    outcomes(&table).map_err(refused)
}

fn csv(path: &Path) -> csv::Result<TextTable> {
    let mut reader = csv::Reader::from_path(path)?;
    let columns = reader.headers()?.iter().map(str::to_owned).collect();
    let rows = reader.records().map(|row| Ok(row?.iter().map(str::to_owned).collect()));
    Ok(TextTable { columns, rows: rows.collect::<csv::Result<_>>()? })
}

#[cfg(feature = "parquet")]
fn parquet(path: &Path) -> parquet::errors::Result<TextTable> {
    use std::fs::File;

    use arrow_array::{Array, Float64Array, RecordBatch, StringArray, UInt64Array};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let text = |column: &dyn Array, row: usize| {
        let any = column.as_any();
        let text = any.downcast_ref::<StringArray>().map(|column| column.value(row).to_owned());
        let whole = || any.downcast_ref::<UInt64Array>().map(|column| column.value(row).to_string());
        let number = || any.downcast_ref::<Float64Array>().map(|column| column.value(row).to_string());
        let there = !column.is_null(row);
        text.or_else(whole).or_else(number).filter(|_| there).unwrap_or_default()
    };
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let columns = file.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in file.build()? {
        let batch: RecordBatch = batch?;
        let row = |row| batch.columns().iter().map(|column| text(column.as_ref(), row)).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    Ok(TextTable { columns, rows })
}

/// Collects the rows of each outcome.
fn outcomes(table: &TextTable) -> Result<Vec<Outcome>, String> {
    let columns: BTreeMap<&str, usize> = table.columns.iter().map(String::as_str).zip(0..).collect();
    let keys = keys(&table.columns);
    // A number from 0; the rows of an outcome are behind each other.
    let mut all: Vec<(String, Outcome)> = Vec::new();
    for cells in &table.rows {
        let row = Row { columns: &columns, cells };
        let number = row.text("outcome")?.to_owned();
        if all.last().is_none_or(|(last, _)| *last != number) {
            all.push((number, outcome(&row, &keys)?));
        }
        let Some((_, outcome)) = all.last_mut() else { continue };
        let group = group(&row)?;
        let queue = row.text("queue")?;
        if !queue.is_empty() {
            if outcome.queue(queue).is_none() {
                outcome.queues.push(self::queue(&row)?);
            }
            if let Some(queue) = outcome.queues.iter_mut().find(|there| there.name == queue) {
                queue.groups.push(queue_group(&row)?);
            }
        }
        if outcome.group(&group.name).is_none() {
            outcome.groups.push(group);
        }
    }
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Returns the keys of a sweep among `columns`: without their numbers, which repeat the text before them.
fn keys(columns: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for name in columns.iter().map(String::as_str).skip(FIRST.len()).take_while(|name| *name != BEHIND) {
        let unit = keys.last().and_then(|last| name.strip_prefix(last)?.strip_prefix('_'));
        let number = unit.is_some_and(|unit| Unit::ALL.iter().any(|known| known.suffix() == unit));
        if name != LABEL && !number {
            keys.push(name);
        }
    }
    keys
}

fn outcome(row: &Row<'_>, keys: &[&str]) -> Result<Outcome, String> {
    let value = |text: &str| text.parse::<f64>().map_or_else(|_| PointValue::from(text), PointValue::from);
    let mut point = Point::new();
    for key in keys {
        let text = row.text(key)?;
        if !text.is_empty() {
            point = point.with(key.strip_prefix(PREFIX).unwrap_or(key), value(text));
        }
    }
    Ok(Outcome {
        scenario: row.text("scenario")?.to_owned(),
        engine: row.text("engine")?.to_owned(),
        seed: row.whole("seed")?,
        runs: row.whole("runs")?,
        from_s: 0.0,
        to_s: 0.0,
        partial: false,
        label: row.text(LABEL).ok().filter(|label| !label.is_empty()).map(str::to_owned),
        point: (!keys.is_empty()).then_some(point),
        at: None,
        notes: Vec::new(),
        queues: Vec::new(),
        flows: Vec::new(),
        groups: Vec::new(),
        each_run: Vec::new(),
        cost: Cost::default(),
    })
}

fn group(row: &Row<'_>) -> Result<GroupOutcome, String> {
    Ok(GroupOutcome {
        name: row.text("group")?.to_owned(),
        transport: row.text("transport")?.to_owned(),
        flows: row.whole("flows")?,
        throughput_bps: row.estimate("throughput_bps")?.unwrap_or_default(),
        share: row.estimate("share")?.unwrap_or_default(),
        drop_ratio: row.estimate("drop_ratio")?.unwrap_or_default(),
        fair_bps: row.number("fair_bps")?,
        fair_share: row.number("fair_share")?,
        queue_share: row.estimate("queue_share")?.unwrap_or_default(),
        jain: row.estimate("jain")?,
        retransmitted: row.estimate("retransmitted")?.unwrap_or_default(),
        timeouts: row.estimate("timeouts")?.unwrap_or_default(),
        delay_s: row.estimate("delay_s")?,
        jitter_s: row.estimate("jitter_s")?,
        rtt_s: row.estimate("rtt_s")?,
        transfers: None,
        video: None,
        score: None,
    })
}

fn queue(row: &Row<'_>) -> Result<QueueOutcome, String> {
    let none = Estimate::default();
    Ok(QueueOutcome {
        name: row.text("queue")?.to_owned(),
        kind: row.text("queue_kind")?.to_owned(),
        arrived: none,
        departed: none,
        marked: row.estimate("queue_marked")?.unwrap_or_default(),
        dropped: Drops::default(),
        lost: none,
        mean_packets: row.estimate("queue_mean_packets")?.unwrap_or_default(),
        mean_avg: None,
        delay_s: Delay {
            mean: row.estimate("queue_delay_mean_s")?.unwrap_or_default(),
            p95: row.estimate("queue_delay_p95_s")?.unwrap_or_default(),
            ..Delay::default()
        },
        utilisation: row.estimate("queue_utilisation")?.unwrap_or_default(),
        normalised_deviation: none,
        groups: Vec::new(),
        flows: Vec::new(),
        delay_histogram: Default::default(),
    })
}

/// A group's part of a queue, of which the table has the share of the packets in it.
fn queue_group(row: &Row<'_>) -> Result<QueueGroup, String> {
    let none = Estimate::default();
    Ok(QueueGroup {
        name: row.text("group")?.to_owned(),
        arrived: none,
        departed: none,
        marked: none,
        dropped: Drops::default(),
        drop_ratio: none,
        throughput_bps: none,
        share: none,
        queue_share: row.estimate("queue_share")?.unwrap_or_default(),
    })
}

impl Row<'_> {
    fn text(&self, name: &str) -> Result<&str, String> {
        let missing = || format!("it has no column `{name}`: it is not a table of groups, as `sweep --table` writes");
        self.columns.get(name).and_then(|column| self.cells.get(*column)).map(String::as_str).ok_or_else(missing)
    }

    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        let text = self.text(name)?;
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` in the column `{name}` is not a number"));
        (!text.is_empty()).then(|| number(text)).transpose()
    }

    fn whole(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("`{text}` in the column `{name}` is not a whole number"))
    }

    fn estimate(&self, name: &str) -> Result<Option<Estimate>, String> {
        let ci95 = self.number(&format!("{name}_ci95"))?;
        Ok(self.number(name)?.map(|mean| Estimate::new(mean, ci95)))
    }
}
