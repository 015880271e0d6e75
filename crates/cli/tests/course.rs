//! The commands of docs/course.md work, and show the ranges that it gives.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use common::Place;
use serde_json::Value;

/// A command, and the rows of the table behind it: the queue, what to see, and its range.
type Shown = (String, Vec<[String; 3]>);

/// The text of every fence that begins with `opening`, with what follows until the next fence.
fn fences<'a>(page: &'a str, opening: &str) -> Vec<(&'a str, &'a str)> {
    let blocks = page.split("\n```");
    let all: Vec<&str> = blocks.collect();
    let pairs = all.chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    // A chunk is the text before a fence and the fence; what follows it is the next chunk's text.
    let inside: Vec<&str> = pairs.map(|(_, inside)| inside).collect();
    let after = all.iter().copied().step_by(2).skip(1);
    inside.into_iter().zip(after).filter_map(|(inside, after)| Some((inside.strip_prefix(opening)?, after))).collect()
}

fn shown(page: &str) -> Vec<Shown> {
    let row = |line: &str| {
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        <[String; 3]>::try_from(cells).ok().filter(|cells| cells[0] != "queue" && cells[0] != "---")
    };
    let command = |(inside, after): (&str, &str)| {
        let after = after.split("\n*").next().unwrap_or_default();
        (inside.trim().to_owned(), after.lines().filter(|line| line.starts_with('|')).filter_map(row).collect())
    };
    fences(page, "\n").into_iter().map(command).collect()
}

/// The correlation between the windows of all pairs of flows after the warm-up of ten seconds, weighted by the products
/// of their standard deviations, from the table of the series.
fn correlation(file: &Path) -> f64 {
    let mut flows: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in csv::Reader::from_path(file).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        if row["time_s"].parse::<f64>().unwrap() > 10.0 {
            flows.entry(row["flow"].clone()).or_default().push(row["cwnd"].parse().unwrap());
        }
    }
    let around_mean = |values: &Vec<f64>| -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect()
    };
    let flows: Vec<Vec<f64>> = flows.values().map(around_mean).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let pairs = || flows.iter().enumerate().flat_map(|(index, a)| flows[index + 1..].iter().map(move |b| (a, b)));
    let together: f64 = pairs().map(|(a, b)| product(a, b)).sum();
    together / pairs().map(|(a, b)| (product(a, a) * product(b, b)).sqrt()).sum::<f64>()
}

/// The number that a row is about, in its unit.
fn number(place: &Place, json: &Value, queue: &str, see: &str) -> f64 {
    if queue == "model" {
        let key = match see {
            "of the link is the flow's" => "share",
            "of the link is left for TCP" => "tcp_share",
            _ => panic!("what is {see:?}?"),
        };
        return 100.0 * json[key].as_f64().unwrap();
    }
    let outcomes = json["outcomes"].as_array().unwrap();
    let of = |outcome: &&Value| {
        outcome["queues"]
            .as_array()
            .unwrap()
            .iter()
            .any(|there| there["name"] == "bottleneck" && there["kind"] == queue)
    };
    let outcome = outcomes.iter().find(of).unwrap_or_else(|| panic!("no {queue}"));
    let at = outcome["queues"].as_array().unwrap().iter().find(|there| there["name"] == "bottleneck").unwrap();
    let group = |name: &str, key: &str| {
        let groups = outcome["groups"].as_array().unwrap();
        groups.iter().find(|group| group["name"] == name).and_then(|group| group[key].as_f64()).unwrap()
    };
    let of_arrived = |packets: f64| 100.0 * packets / at["arrived"].as_f64().unwrap();
    match see.rsplit_once(' ') {
        _ if see == "delay" => 1e3 * at["delay_s"]["mean"].as_f64().unwrap(),
        _ if see == "delay p95" => 1e3 * at["delay_s"]["p95"].as_f64().unwrap(),
        _ if see == "utilisation" => 100.0 * at["utilisation"].as_f64().unwrap(),
        _ if see == "marked" => of_arrived(at["marked"].as_f64().unwrap()),
        _ if see == "dropped" => {
            of_arrived(at["dropped"].as_object().unwrap().values().map(|count| count.as_f64().unwrap_or(0.0)).sum())
        }
        Some(("share of", name)) => 100.0 * group(name, "share"),
        Some(("Jain of", name)) => group(name, "jain"),
        Some(("sent again by", name)) => group(name, "retransmitted"),
        Some(("MOS of", name)) => {
            let groups = outcome["groups"].as_array().unwrap();
            groups.iter().find(|group| group["name"] == name).unwrap()["score"]["mos"].as_f64().unwrap()
        }
        Some(("correlation of the windows of", name)) => {
            let at = outcomes.iter().position(|it| it == outcome).unwrap();
            let groups = json["series"][at]["groups"].as_array().unwrap();
            let group = groups.iter().find(|group| group["name"] == name).unwrap();
            let printed = group["window_correlation"].as_f64().unwrap();
            let counted = correlation(&place.path(&format!("windows.{queue}.flows.csv")));
            assert!((printed - counted).abs() < 0.02, "{queue}: {printed} {counted}");
            printed
        }
        _ => panic!("what is {see:?}?"),
    }
}

/// Would catch a command that no longer exists, an exercise without numbers, and a claim of the page that is not so.
#[test]
fn every_exercise_shows_what_the_page_says() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/course.md")).unwrap();
    let place = Place::new();
    let files = fences(&page, "toml\n");
    assert_eq!(files.len(), 3);
    for (name, (text, _)) in ["link.toml", "flood.toml", "call.toml"].into_iter().zip(files) {
        place.write(name, text);
    }
    let commands = shown(&page);
    assert_eq!(page.matches("\n## ").count(), 9);
    assert_eq!(commands.len(), 12, "nine exercises, two of them with a model and one with two comparisons");
    for (command, rows) in commands {
        let words = shlex::split(&command).unwrap();
        let output = Command::cargo_bin("fairlane")
            .unwrap()
            .args(&words[1..])
            .arg("--json")
            .current_dir(place.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!rows.is_empty(), "{command}");
        for [queue, see, range] in rows {
            let number = number(&place, &json, &queue, &see);
            let bounds: Vec<f64> = range.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [least, most] = bounds[..] else { panic!("{range}") };
            // A utilisation of a whole link is 1 but for rounding.
            assert!(
                number >= least - 1e-6 && number <= most + 1e-6,
                "{command}: {queue}: {see}: {number}, and not {range}"
            );
        }
    }
}
