//! Outcomes and traces as files, which must read back as they were written.

mod common;

use std::fs::{self, File};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use fairlane_outcome::tables::{self, SeriesWriter, TraceEvent, TracePacket, TraceRow, TraceWriter};
use fairlane_outcome::{Extent, FlowRow, Outcome, Outcomes, Point, QueueRow, Reason};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Two points of a sweep, the second of two runs.
fn outcomes() -> Vec<Outcome> {
    let mut one = Outcome::from_runs([common::run()]).unwrap();
    one.point =
        Some(Point::new().with("flows.cbr.rate", "100kbit").with("bottleneck.queue.min", 0.5).with("seed", 1_i64));
    let mut slower = common::run();
    slower.queues[0].flows[0].departed_bytes = 30_001;
    let mut two = Outcome::from_runs([common::run(), slower]).unwrap();
    two.point =
        Some(Point::new().with("flows.cbr.rate", "2mbit").with("bottleneck.queue.min", 3_i64).with("seed", 2_i64));
    vec![one, two]
}

fn read_parquet(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// The rows of a CSV file, the header first.
fn read_csv(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// Compares value by value: numbers as numbers, so that a lost digit shows.
fn assert_same(parquet: &Path, csv: &Path) -> usize {
    let csv = read_csv(csv);
    let mut row = 1;
    for batch in read_parquet(parquet) {
        let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(csv[0], names);
        for at in 0..batch.num_rows() {
            for (column, text) in batch.columns().iter().zip(&csv[row]) {
                assert!(cell_is(column.as_ref(), at, text), "row {row}: {text} is not {column:?}");
            }
            row += 1;
        }
    }
    assert_eq!(row, csv.len());
    row - 1
}

fn cell_is(column: &dyn Array, row: usize, text: &str) -> bool {
    if column.is_null(row) {
        text.is_empty()
    } else if let Some(column) = column.as_primitive_opt::<Float64Type>() {
        text.parse() == Ok(column.value(row))
    } else if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
        text.parse() == Ok(column.value(row))
    } else if let Some(column) = column.as_primitive_opt::<UInt32Type>() {
        text.parse() == Ok(column.value(row))
    } else {
        text == column.as_string::<i32>().value(row)
    }
}

/// Would catch a column that one of the two formats loses, and a value that either rounds.
#[test]
fn parquet_and_csv_say_the_same() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("made/if/need be");
    tables::write_dir(&dir, &outcomes(), Extent::Whole).unwrap();
    assert!(tables::dir_files(&dir).iter().all(|file| file.is_file()) && fs::read_dir(&dir).unwrap().count() == 11);
    for (name, rows) in [("queues", 2), ("flows", 6), ("groups", 4), ("queue_flows", 6), ("delay_histogram", 4)] {
        let file = dir.join(name);
        assert_eq!(assert_same(&file.with_extension("parquet"), &file.with_extension("csv")), rows, "{name}");
    }
    let json = fs::read_to_string(dir.join("outcomes.json")).unwrap();
    assert_eq!(Outcomes::from_json(&json).unwrap().outcomes.len(), 2);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 11, "nothing else is left behind");
}

/// One row for each point and group, with the point's keys as columns; numbers by hand as in `by_hand.json`.
#[test]
fn sweep_has_its_keys_as_columns() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("sweep.csv");
    tables::write_file(&path, &outcomes(), Extent::Whole).unwrap();
    let csv = read_csv(&path);
    let at = |row: usize, name: &str| csv[row][csv[0].iter().position(|column| column == name).unwrap()].as_str();
    let names = ["outcome", "flows.cbr.rate", "bottleneck.queue.min", "point.seed", "seed", "group", "flows"];
    assert_eq!(names.map(|name| at(1, name)), ["0", "100kbit", "0.5", "1", "7", "ftp", "2"]);
    assert_eq!(names.map(|name| at(4, name)), ["1", "2mbit", "3", "2", "7", "cbr", "1"]);
    let numbers =
        ["throughput_bps", "share", "jain", "queue", "queue_kind", "queue_utilisation", "throughput_bps_ci95"];
    assert_eq!(numbers.map(|name| at(1, name)), ["108000", "0.25", "0.9", "bottleneck", "choke", "0.432", ""]);
    assert!(at(4, "share_ci95").parse::<f64>().unwrap() > 0.0);
}

/// A column of numbers follows each key whose values have one unit, with any prefixes; and a label is a column once one
/// is given.
#[test]
fn values_with_a_unit_are_numbers_too() {
    let table = |points: &[[(&str, &str); 2]], label: Option<&str>| {
        let outcome = |point: &[(&str, &str); 2]| Outcome {
            label: label.map(str::to_owned),
            point: Some(point.iter().fold(Point::new(), |point, (key, value)| point.with(*key, *value))),
            ..Outcome::from_runs([common::run()]).unwrap()
        };
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("sweep.csv");
        tables::write_file(&path, &points.iter().map(outcome).collect::<Vec<_>>(), Extent::Whole).unwrap();
        let rows = read_csv(&path);
        let keys = rows[0].iter().position(|name| name == "runs").unwrap() + 1;
        let end = rows[0].iter().position(|name| name == "group").unwrap();
        // Two groups an outcome.
        rows.into_iter().step_by(2).map(|row| row[keys..end].join(" ")).collect::<Vec<_>>()
    };
    let rates = [[("rate", "177828bit"), ("delay", "20ms")], [("rate", "1.5mbit"), ("delay", "500us")]];
    let expected = ["rate rate_bps delay delay_s", "177828bit 177828 20ms 0.02", "1.5mbit 1500000 500us 0.0005"];
    assert_eq!(table(&rates, None), expected);
    let sizes = [[("limit", "300p"), ("mtu", "1kib")], [("limit", "150kb"), ("mtu", "1500b")]];
    assert_eq!(table(&sizes, Some("mine"))[0], "label limit mtu mtu_bytes");
    let packets = [[("limit", "300p"), ("kind", "red")], [("limit", "90p"), ("kind", "choke")]];
    assert_eq!(table(&packets, None)[0], "limit limit_packets kind");
}

/// Each run has a row for each group; those of a single run are the outcome's.
#[test]
fn each_run_is_a_row() {
    let outcomes = outcomes();
    let table = tables::each_run(&outcomes).batch().unwrap();
    let column = |name: &str| table.column(table.schema().index_of(name).unwrap()).clone();
    assert_eq!(column("outcome").as_primitive::<UInt64Type>().values(), &[0, 0, 1, 1, 1, 1]);
    assert_eq!(column("run").as_primitive::<UInt64Type>().values(), &[0, 0, 0, 0, 0, 0]);
    // By hand, as in `by_hand.json`.
    assert_eq!(column("throughput_bps").as_primitive::<Float64Type>().value(0), 108_000.0);
    assert_eq!(column("queue_utilisation").as_primitive::<Float64Type>().value(0), 0.432);
}

/// The table exists when nothing was measured, and has the same columns.
#[test]
fn empty_tables_have_their_columns() {
    let full = tables::queues(&[Outcome::from_runs([common::run()]).unwrap()]).batch().unwrap();
    let empty = tables::queues(&[]).batch().unwrap();
    assert_eq!((empty.num_rows(), empty.schema()), (0, full.schema()));
    let place = tempfile::tempdir().unwrap();
    tables::write_dir(place.path(), &[], Extent::Whole).unwrap();
    assert_same(&place.path().join("flows.parquet"), &place.path().join("flows.csv"));
}

/// An error names the file and the remedy; an existing file stays.
#[test]
fn errors_name_the_file_and_spare_the_old_one() {
    let place = tempfile::tempdir().unwrap();
    let error = tables::write_file(&place.path().join("sweep.txt"), &[], Extent::Whole).unwrap_err().to_string();
    assert!(error.contains("sweep.txt") && error.contains(".parquet or .csv"), "{error}");
    let missing = place.path().join("missing").join("sweep.csv");
    let error = tables::write_file(&missing, &[], Extent::Whole).unwrap_err().to_string();
    assert!(error.contains("sweep.csv") && error.contains("may write to"), "{error}");
    // A directory cannot be replaced by a file, whoever asks.
    let taken = place.path().join("taken.csv");
    fs::create_dir(&taken).unwrap();
    assert!(tables::write_file(&taken, &outcomes(), Extent::Whole).is_err());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the unfinished file is gone");
}

fn rows(count: u64) -> impl Iterator<Item = TraceRow<'static>> {
    let event = |n: u64| match n % 4 {
        0 => TraceEvent::Arrived,
        1 => TraceEvent::Departed,
        2 => TraceEvent::Dropped(Reason::MatchVictim),
        _ => TraceEvent::Marked(Reason::Early),
    };
    (0..count).map(move |n| TraceRow {
        time_ns: n * 1_000_003,
        queue: "bottleneck, \"quoted\"",
        event: event(n),
        flow: (n % 33) as u32,
        flow_name: "ftp/0",
        packet: if n % 5 == 0 { TracePacket::Ack } else { TracePacket::Data },
        seq: n as u32,
        bytes: 1000,
        sojourn_ns: (n % 4 != 0).then_some(n),
        backlog_packets: 7,
        avg: (n % 3 != 0).then_some(n as f64 / 7.0),
    })
}

/// More rows than are held back at once, so that full and last batches both occur.
#[test]
fn trace_reads_back_in_both_formats() {
    let place = tempfile::tempdir().unwrap();
    let paths = ["trace.parquet", "trace.csv"].map(|name| place.path().join(name));
    for path in &paths {
        let mut trace = TraceWriter::create(path).unwrap();
        for row in rows(20_000) {
            trace.write(&row).unwrap();
        }
        trace.finish(Extent::Whole).unwrap();
    }
    assert_eq!(assert_same(&paths[0], &paths[1]), 20_000);
    let csv = read_csv(&paths[1]);
    assert_eq!(csv[1], ["0", "bottleneck, \"quoted\"", "arrived", "", "0", "ftp/0", "ack", "0", "1000", "", "7", ""]);
    assert_eq!(csv[3][2..4], ["dropped", "match_victim"]);
}

/// Would catch rows that are lost between two batches, and a table in memory with other columns than the file's.
#[test]
fn a_trace_in_memory_is_that_of_the_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("trace.parquet");
    let (mut file, mut memory) = (TraceWriter::create(&path).unwrap(), TraceWriter::in_memory());
    for row in rows(20_000) {
        file.write(&row).unwrap();
        memory.write(&row).unwrap();
    }
    assert!(file.into_batches().unwrap().is_empty());
    let whole = |batches: &[RecordBatch]| {
        let columns = |batch: &RecordBatch| (0..batch.num_columns()).map(|at| batch.column(at).to_data()).collect();
        let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1)));
        rows.map(|row| columns(&row)).collect::<Vec<Vec<_>>>()
    };
    let memory = memory.into_batches().unwrap();
    assert_eq!(memory[0].schema(), read_parquet(&path)[0].schema());
    assert!(whole(&memory) == whole(&read_parquet(&path)));
    // A table of no rows still has its columns.
    let [flows, queues] = SeriesWriter::in_memory().into_batches().unwrap();
    assert_eq!([flows[0].num_rows(), queues[0].num_rows()], [0, 0]);
    assert_eq!([flows[0].num_columns(), queues[0].num_columns()], [13, 11]);
}

/// Would catch a part in the place of a whole trace, and one that lacks its last rows.
#[test]
fn interrupted_trace_can_be_read() {
    let place = tempfile::tempdir().unwrap();
    for name in ["trace.parquet", "trace.csv"] {
        let path = place.path().join(name);
        let mut trace = TraceWriter::create(&path).unwrap();
        for row in rows(10_000) {
            trace.write(&row).unwrap();
        }
        drop(trace);
        assert!(!path.exists());
        let path = Extent::Partial.path(&path);
        let rows = if name.ends_with("csv") {
            read_csv(&path).len() - 1
        } else {
            read_parquet(&path).iter().map(RecordBatch::num_rows).sum()
        };
        assert_eq!(rows, 10_000, "{name}");
    }
    assert!(TraceWriter::create(&place.path().join("trace.pcap")).is_err());
}

/// Would catch a cell in another's column, and numbers or nothings that one format tells and the other does not.
#[test]
fn series_read_back_in_both_formats() {
    let place = tempfile::tempdir().unwrap();
    let paths = ["s.parquet", "s.csv"].map(|name| place.path().join(name));
    for path in &paths {
        let mut series = SeriesWriter::create(path).unwrap();
        for n in 0..9000_u64 {
            let time_s = n as f64 / 10.0;
            let cwnd = (n % 2 == 0).then_some(2.5);
            let flow = FlowRow {
                time_s,
                flow: 1,
                flow_name: "ftp/0",
                sent: n,
                delivered: 2,
                dropped: 3,
                lost: 4,
                retransmitted: 5,
                timeouts: 6,
                throughput_bps: 7.5,
                goodput_bps: 8.5,
                cwnd,
                srtt_s: None,
            };
            series.write_flow(&flow).unwrap();
        }
        let queue = QueueRow {
            time_s: 0.5,
            queue: "a-b/reverse",
            arrived: 1,
            departed: 2,
            dropped: 3,
            marked: 4,
            throughput_bps: 5.5,
            backlog_packets: 6,
            backlog_bytes: 7,
            avg: Some(8.25),
            probability: Some(0.125),
        };
        series.write_queue(&queue).unwrap();
        series.finish(Extent::Whole).unwrap();
    }
    let [parquet, csv] = paths.map(|path| SeriesWriter::files(&path));
    assert_eq!(assert_same(&parquet[0], &csv[0]), 9000);
    assert_eq!(assert_same(&parquet[1], &csv[1]), 1);
    let flows = read_csv(&csv[0]);
    assert_eq!(flows[1], ["0", "1", "ftp/0", "0", "2", "3", "4", "5", "6", "7.5", "8.5", "2.5", ""]);
    assert_eq!(flows[2][11..], ["", ""]);
    assert_eq!(read_csv(&csv[1])[1], ["0.5", "a-b/reverse", "1", "2", "3", "4", "5.5", "6", "7", "8.25", "0.125"]);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/outcome.md")).unwrap();
    let (_, section) = page.split_once("## The time series").unwrap();
    for name in flows[0].iter().chain(&read_csv(&csv[1])[0]) {
        assert!(section.contains(&format!("`{name}`")), "`{name}` is not described");
    }
    let error = SeriesWriter::create(&place.path().join("s.txt")).err().unwrap().to_string();
    assert!(error.contains(".parquet or .csv"), "{error}");
}

/// Would catch a column or key that the documentation does not describe.
#[test]
fn documentation_names_every_column_and_key() {
    let page = include_str!("../../../docs/outcome.md");
    let outcomes = [Outcome::from_runs([common::run()]).unwrap()];
    let tables = [
        tables::queues(&outcomes).batch().unwrap(),
        tables::flows(&outcomes).batch().unwrap(),
        tables::groups(&outcomes).batch().unwrap(),
        tables::queue_flows(&outcomes).batch().unwrap(),
        tables::delay_histogram(&outcomes).batch().unwrap(),
    ];
    let columns = tables.iter().flat_map(|table| table.schema().fields().to_vec());
    let mut names: Vec<String> = columns.map(|field| field.name().clone()).collect();
    collect_keys(&serde_json::from_str(&outcomes[0].to_json()).unwrap(), &mut names);
    assert!(names.len() > 100);
    for name in names {
        let name = name.strip_suffix("_ci95").unwrap_or(&name);
        let name = name.strip_prefix("dropped_").unwrap_or(name);
        assert!(page.contains(&format!("`{name}`")), "`{name}` is not described");
    }
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.push(key.clone());
        collect_keys(value, keys);
    }
    value.as_array().into_iter().flatten().for_each(|value| collect_keys(value, keys));
}

/// The columns that figures need are read as they were written, in both formats. Would catch a lost interval, and a
/// number that is read from another column.
#[test]
fn the_table_of_groups_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let written = outcomes();
    for name in ["groups.csv", "groups.parquet"] {
        let path = folder.path().join(name);
        tables::write_file(&path, &written, Extent::Whole).unwrap();
        let read = tables::read_groups(&path).unwrap();
        assert_eq!(read.len(), written.len());
        for (read, written) in read.iter().zip(&written) {
            assert_eq!((&read.scenario, read.seed, read.runs), (&written.scenario, written.seed, written.runs));
            let text = |outcome: &Outcome| outcome.point.as_ref().unwrap().get("flows.cbr.rate").unwrap().to_string();
            assert_eq!(text(read), text(written));
            for (read, written) in read.groups.iter().zip(&written.groups) {
                assert_eq!(
                    (&read.name, read.share, read.fair_share),
                    (&written.name, written.share, written.fair_share)
                );
                assert_eq!((read.throughput_bps, read.delay_s), (written.throughput_bps, written.delay_s));
            }
            assert_eq!((read.queues.len(), read.groups.len()), (1, written.groups.len()));
            let (read, written) = (&read.queues[0], &written.queues[0]);
            assert_eq!(
                (&read.kind, read.delay_s.mean, read.delay_s.p95),
                (&written.kind, written.delay_s.mean, written.delay_s.p95)
            );
            assert_eq!((read.mean_packets, read.utilisation), (written.mean_packets, written.utilisation));
        }
    }
    let other = folder.path().join("other.csv");
    fs::write(&other, "queue,packets\nbottleneck,3\n").unwrap();
    let error = tables::read_groups(&other).unwrap_err().to_string();
    assert!(error.contains("it has no column `outcome`") && error.contains("sweep --table"), "{error}");
}
