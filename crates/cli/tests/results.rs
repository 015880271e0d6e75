//! The output of each verb on success.

mod common;

use common::{Place, SMALL, fairlane, json, keys, printed};
use fairlane_outcome::Outcomes;
use fairlane_qdisc::Kind;

/// The documented keys; there may be more.
#[test]
fn run_prints_one_outcome() {
    let (_place, file) = Place::with_small();
    let outcome = json(&["run", &file, "--json"]);
    let expect = |value: &serde_json::Value, wanted: &[&str]| {
        let there = keys(value);
        for key in wanted {
            assert!(there.contains(key), "{key} is missing of {there:?}");
        }
    };
    let top = ["scenario", "engine", "seed", "runs", "from_s", "to_s", "queues", "flows", "groups", "cost"];
    expect(&outcome, &top);
    let queue = ["name", "kind", "arrived", "departed", "marked", "dropped", "mean_packets", "mean_avg", "delay_s"];
    expect(&outcome["queues"][0], &queue);
    expect(&outcome["queues"][0], &["utilisation"]);
    expect(&outcome["queues"][0]["dropped"], &["limit", "early", "forced", "match_arrival", "match_victim"]);
    expect(&outcome["queues"][0]["delay_s"], &["mean", "p50", "p95", "p99"]);
    let flow = ["id", "name", "group", "kind", "sent", "delivered", "dropped", "throughput_bps", "goodput_bps"];
    expect(&outcome["flows"][0], &flow);
    expect(&outcome["flows"][0], &["drop_ratio", "queue_share"]);
    expect(&outcome["groups"][0], &["name", "flows", "throughput_bps", "share", "drop_ratio", "queue_share", "jain"]);
    expect(&outcome["cost"], &["events", "packet_hops", "cpu_s", "wall_s", "peak_rss_bytes"]);
    assert_eq!(outcome["engine"], "sim");
    assert_eq!(outcome["queues"][0]["name"], "bottleneck");
    assert_eq!(outcome["flows"].as_array().unwrap().len(), 4);
    for cost in ["cpu_s", "wall_s", "peak_rss_bytes"] {
        assert!(outcome["cost"][cost].as_f64().unwrap() > 0.0, "{cost}");
    }
    assert!(!keys(&outcome).contains(&"partial"));
    assert!(!keys(&outcome["queues"][0]).contains(&"arrived_ci95"));
}

/// Losses on a wire are shown next to the drops of queues.
#[test]
fn losses_on_the_wire_are_shown_where_there_are_any() {
    let (_place, file) = Place::with_small();
    let lossy = ["run", &file, "--set", "bottleneck.loss=0.1"];
    let outcome = json(&[&lossy[..], &["--json"]].concat());
    let queue = &outcome["queues"][0];
    let lost: u64 = outcome["flows"].as_array().unwrap().iter().map(|flow| flow["lost"].as_u64().unwrap_or(0)).sum();
    assert!(lost > 0 && queue["lost"] == lost, "{queue}");
    let headers = |arguments: &[&str]| {
        let text = printed(&[arguments, &["--show", "flows"]].concat());
        text.lines().filter(|line| line.split_whitespace().any(|word| word == "lost")).count()
    };
    assert_eq!((headers(&lossy), headers(&["run", &file])), (2, 0));
}

#[test]
fn several_runs_give_intervals_and_differ_from_each_other() {
    let (_place, file) = Place::with_small();
    let outcome = json(&["run", &file, "--json", "--runs", "3"]);
    assert_eq!(outcome["runs"], 3);
    assert!(outcome["groups"][0]["throughput_bps_ci95"].as_f64().unwrap() > 0.0);
}

#[test]
fn set_and_seed_change_the_scenario() {
    let (_place, file) = Place::with_small();
    let outcome =
        json(&["run", &file, "--json", "--seed", "7", "--set", "flows.cbr.rate=100kbit", "--set", "duration=2s"]);
    assert_eq!(outcome["seed"], 7);
    assert_eq!(outcome["to_s"], 2.0);
    // 2 s of 100 kbit/s in packets of 1000 bytes, less the phase of the first one and the start.
    assert!((1..=25).contains(&outcome["flows"][3]["sent"].as_u64().unwrap()));
}

#[test]
fn compare_shows_the_disciplines_in_the_order_asked_under_the_same_traffic() {
    let (_place, file) = Place::with_small();
    let outcomes = json(&["compare", &file, "--queue", "choke,red,droptail,red", "--runs", "2", "--json"]);
    assert_eq!(keys(&outcomes), ["outcomes"]);
    let outcomes = outcomes["outcomes"].as_array().unwrap();
    let kinds: Vec<&str> = outcomes.iter().map(|outcome| outcome["queues"][0]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["choke", "red", "droptail"]);
    // The UDP source does not react to the queue, so it sends the same under each.
    for outcome in outcomes {
        assert_eq!(outcome["flows"][3]["sent"], outcomes[0]["flows"][3]["sent"]);
        assert_eq!(outcome["runs"], 2);
    }
}

#[test]
fn compare_without_queue_takes_the_usual_ones_and_the_files_own() {
    let (_place, file) = Place::with_small();
    let kinds = |args: &[&str]| -> Vec<String> {
        let outcomes = json(args);
        let outcomes = outcomes["outcomes"].as_array().unwrap();
        outcomes.iter().map(|outcome| outcome["queues"][0]["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&["compare", &file, "--json", "--runs", "1"]), ["droptail", "red", "choke"]);
    let red = ["compare", &file, "--json", "--runs", "1", "--set", "bottleneck.queue.kind=red"];
    assert_eq!(kinds(&red), ["droptail", "red"]);
    let all = kinds(&["compare", &file, "--json", "--runs", "1", "--queue", "all", "--set", "duration=1s"]);
    assert_eq!(all, Kind::ALL.map(|kind| kind.name().to_owned()));
}

/// Pan, Prabhakar, Psounis 2000, Figure 3: under DropTail and RED the UDP flow has more than 95 % of the link, under
/// CHOKe about 250 kb/s of 1000.
#[test]
fn compare_without_file_is_figure_3() {
    let outcomes: Outcomes = serde_json::from_str(&printed(&["compare", "--json", "--runs", "2"])).unwrap();
    let share = |kind: &str| {
        let outcome = outcomes.outcomes.iter().find(|outcome| outcome.queues[0].kind == kind).unwrap();
        outcome.group("cbr").unwrap().share.mean
    };
    assert!(share("droptail") > 0.93);
    assert!(share("red") > 0.93);
    assert!((0.21..=0.29).contains(&share("choke")));
    assert_eq!(outcomes.outcomes.len(), 3);
    let text = printed(&["compare", "--runs", "2"]);
    let source = "Columns \"paper\": Pan, Prabhakar, Psounis: CHOKe (INFOCOM 2000), Figure 3";
    assert!(text.contains(source) && text.contains("  75 %  ") && text.contains("  25 %  "), "{text}");
    // The scenario's thresholds are not the defaults of RED and CHOKe (max = limit / 4); its limit is.
    for kind in ["red", "choke"] {
        let line = text.lines().find(|line| line.starts_with(&format!("{kind}: "))).unwrap_or_default();
        assert!(line.contains("min = 100p, max = 200p") && !line.contains("limit"), "{text}");
    }
    assert!(!text.contains("droptail: "), "{text}");
    // The paper's numbers are shown only for its own scenario.
    let changed = printed(&["compare", "--runs", "1", "--set", "flows.cbr.rate=3mbit", "--set", "duration=30s"]);
    assert!(!changed.contains("paper"), "{changed}");
}

#[test]
fn compare_changes_every_queue_that_a_general_topology_describes() {
    let place = Place::new();
    let file = place.write(
        "line.toml",
        r#"
duration = "2s"
[[links]]
from = "a"
to = "b"
rate = "10mbit"
[[links]]
from = "b"
to = "c"
rate = "1mbit"
queue = { kind = "choke", limit = "50p" }
[[flows]]
name = "cbr"
kind = "udp"
rate = "2mbit"
from = "a"
to = "c"
"#,
    );
    let outcomes = json(&["compare", &file, "--queue", "red,gchoke", "--runs", "1", "--json"]);
    for (outcome, kind) in outcomes["outcomes"].as_array().unwrap().iter().zip(["red", "gchoke"]) {
        let kinds: Vec<&str> =
            outcome["queues"].as_array().unwrap().iter().map(|queue| queue["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["droptail", kind]);
    }
}

#[test]
fn sweep_gives_every_point_in_order_with_its_values() {
    let (_place, file) = Place::with_small();
    let vary = ["--vary", "flows.cbr.rate=1mbit,2mbit", "--vary", "flows.ftp.count=1..3/2"];
    let outcomes = json(&[&["sweep", &file, "--json"], &vary[..]].concat());
    let outcomes = outcomes["outcomes"].as_array().unwrap();
    let points: Vec<String> = outcomes.iter().map(|outcome| outcome["point"].to_string()).collect();
    let expected = [("1mbit", 1), ("1mbit", 3), ("2mbit", 1), ("2mbit", 3)]
        .map(|(rate, count)| format!(r#"{{"flows.cbr.rate":"{rate}","flows.ftp.count":{count}}}"#));
    assert_eq!(points, expected);
    assert_eq!(outcomes[1]["groups"][0]["flows"], 3);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (_place, file) = Place::with_small();
    for verb in [
        &["compare", "--queue", "red,choke", "--runs", "3"][..],
        &["run", "--runs", "4"],
        &["sweep", "--vary", "seed=1..4/4", "--runs", "2"],
    ] {
        let with = |jobs: &str| {
            let text = printed(&[&[verb[0], &file], &verb[1..], &["--json", "--jobs", jobs]].concat());
            match verb[0] {
                "run" => fairlane_outcome::Outcome::from_json(&text).unwrap().to_json_without_cost(),
                _ => Outcomes::from_json(&text).unwrap().to_json_without_cost(),
            }
        };
        assert_eq!(with("1"), with("2"), "{verb:?}");
    }
}

#[test]
fn tables_are_written_where_asked() {
    let (place, file) = Place::with_small();
    let (folder, sweep) = (place.name("new/folder"), place.name("sweep.csv"));
    printed(&["run", &file, "--out", &folder]);
    printed(&["sweep", &file, "--vary", "flows.cbr.rate=1mbit,2mbit,3mbit", "--table", &sweep]);
    assert!(place.path("new/folder/flows.parquet").exists());
    let flows = csv::Reader::from_path(place.path("new/folder/flows.csv")).unwrap().records().count();
    assert_eq!(flows, 4);
    // Three points of two groups each.
    assert_eq!(csv::Reader::from_path(sweep).unwrap().records().count(), 6);
    printed(&["sweep", &file, "--vary", "seed=1,2", "--table", &place.name("sweep.parquet")]);
    let parquet = std::fs::read(place.path("sweep.parquet")).unwrap();
    assert_eq!((&parquet[..4], &parquet[parquet.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
}

#[test]
fn explain_says_every_parameter_and_where_it_comes_from() {
    let args = ["explain", "choke", "limit=300p", "min=100p", "max=150p", "--rate", "1mbit"];
    let text = printed(&args);
    assert!(text.contains("choke on a link of 1mbit"), "{text}");
    assert!(text.contains("Warnings"), "{text}");
    let explained = json(&[&args[..], &["--json"]].concat());
    assert_eq!(keys(&explained), ["kind", "rate", "parameters", "consequences", "warnings"]);
    let parameters = explained["parameters"].as_array().unwrap();
    let known: Vec<&str> = Kind::Choke.parameters().iter().map(|parameter| parameter.key).collect();
    let there: Vec<&str> = parameters.iter().map(|parameter| parameter["key"].as_str().unwrap()).collect();
    assert_eq!(there, known);
    let max = parameters.iter().find(|parameter| parameter["key"] == "max").unwrap();
    assert_eq!((&max["value"], &max["origin"]), (&"150p".into(), &"given".into()));
}

/// A link that is slower than its shaper for half of the time. Would catch a comparison that runs one shaper twice, or
/// rows that cannot be told apart.
#[test]
fn shapers_stand_side_by_side() {
    let (_place, file) = Place::with_small();
    let link = [
        "--set=bottleneck.shaper.rate=900kbit",
        "--set=bottleneck.shaper.min=200kbit",
        "--set=bottleneck.queue.kind=fq-codel",
        "--set=duration=20s",
        "--set=bottleneck.rate=600kbit",
    ];
    let args = [&["compare", &file, "--shaper", "fixed,autorate", "--runs", "1"], &link[..]].concat();
    let compared = json(&[&args[..], &["--json"]].concat());
    let outcomes = compared["outcomes"].as_array().unwrap();
    let shapers: Vec<&str> = outcomes.iter().map(|outcome| outcome["point"]["shaper"].as_str().unwrap()).collect();
    assert_eq!(shapers, ["fixed", "autorate"]);
    let names: Vec<&str> =
        outcomes[1]["queues"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bottleneck", "bottleneck/buffer"]);
    let p95 = |index: usize| outcomes[index]["queues"][0]["delay_s"]["p95"].as_f64().unwrap();
    assert!(p95(1) < p95(0) / 2.0, "{} {}", p95(1), p95(0));
    let text = printed(&args);
    for part in ["fq-codel, fixed", "fq-codel, autorate", "goodput", "p95"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let both = json(&[&args[..], &["--queue", "red,fq-codel", "--json"]].concat());
    assert_eq!(both["outcomes"].as_array().unwrap().len(), 4);
    assert!(!printed(&["compare", &file, "--runs", "1"]).contains("goodput"));
}

#[test]
fn qdiscs_lists_them_all() {
    let list = json(&["qdiscs", "--json"]);
    let kinds: Vec<&str> = list.as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, Kind::ALL.map(Kind::name));
    let (short, all) = (printed(&["qdiscs"]), printed(&["qdiscs", "all"]));
    for kind in Kind::ALL {
        assert!(short.lines().any(|line| line.split_whitespace().next() == Some(kind.name())), "{kind}");
        assert!(all.lines().any(|line| line == kind.name()), "{kind}");
        assert!(all.contains(kind.parameters()[0].key));
    }
    assert!(short.lines().count() < 2 * Kind::ALL.len(), "the list is not short");
    let two = printed(&["qdiscs", "red", "choke"]);
    assert!(two.starts_with("red\n") && two.contains("\nchoke\n") && two.contains("max_p") && !two.contains("sfq\n"));
    assert_eq!(json(&["qdiscs", "red", "--json"]).as_array().unwrap().len(), 1);
}

/// A scenario by its name, from standard input, and as a file, which takes precedence. Would catch one that is listed
/// and cannot be read, and a name that hides a file.
#[test]
fn scenarios_have_names() {
    let place = Place::new();
    let list = printed(&["scenarios"]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|it| it == "toml")).collect();
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        assert_eq!(printed(&["scenarios", name]), std::fs::read_to_string(file).unwrap());
        assert!(printed(&["check", name]).contains("\nFlows\n"), "{name}");
    }
    assert_eq!(json(&["scenarios", "--json"]).as_array().unwrap().len(), files.len());

    let run = |file: &str, input: &str| {
        let mut command = assert_cmd::Command::cargo_bin("fairlane").unwrap();
        let args = ["run", file, "--json", "--set", "duration=11s", "--set", "warmup=10s"];
        let output = command.current_dir(place.path("")).args(args).write_stdin(input.to_owned()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{file}: {stderr}");
        let mut outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        outcome.as_object_mut().unwrap().remove("cost");
        outcome
    };
    let path = format!("{folder}/choke-fig5.toml");
    let of_file = run(&path, "");
    // A folder of that name is no scenario.
    std::fs::create_dir(place.path("choke-fig5")).unwrap();
    assert_eq!(run("choke-fig5", ""), of_file);
    assert_eq!(run("-", &std::fs::read_to_string(path).unwrap()), of_file);
    assert!(run("autorate", "")["queues"].as_array().unwrap().len() >= 2);
    std::fs::remove_dir(place.path("choke-fig5")).unwrap();
    place.write("choke-fig5", SMALL);
    assert_eq!(run("choke-fig5", "")["scenario"], "small");
}

#[test]
fn a_check_says_what_a_scenario_describes() {
    let place = Place::new();
    let file = place.write("mine.toml", SMALL);
    let text = printed(&["check", &file, "--seed", "7", "--set", "warmup=1s"]);
    for part in
        ["small: 4s", "seed 7", "1mbit", "choke limit=100p min=20p max=40p", "ftp", "udp, 2mbit", "over bottleneck"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Warnings"), "{text}");
    let text = printed(&["check", &file, "--set", "bottleneck.queue.limit=30p"]);
    assert!(text.contains("Warnings\n") && text.contains("bottleneck: "), "{text}");
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("vary") && script.contains("explain"), "{shell}");
    }
    assert_eq!(printed(&["man", &place.name("man")]), "");
    for page in
        ["", "-compare", "-run", "-check", "-scenarios", "-sweep", "-explain", "-qdiscs", "-completions", "-man"]
    {
        let page = std::fs::read_to_string(place.path(&format!("man/fairlane{page}.1"))).unwrap();
        assert!(page.contains(".SH NAME"));
    }
    assert!(std::fs::read_to_string(place.path("man/fairlane-sweep.1")).unwrap().contains("vary"));
}

#[test]
fn nothing_is_coloured_or_wider_than_100_columns_in_a_pipe() {
    let (_place, file) = Place::with_small();
    for args in [&["run", &file][..], &["compare", &file, "--runs", "2"], &["explain", "choke"], &["qdiscs"]] {
        let text = printed(args);
        assert!(!text.contains('\u{1b}'), "{args:?}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{args:?}: {widest}");
    }
}

#[test]
fn help_goes_to_standard_output() {
    for args in [&["--help"][..], &["compare", "--help"], &["--version"]] {
        let output = fairlane(args);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
        assert!(!output.stdout.is_empty());
    }
}
