//! The scenario files that come with Fairlane.

mod editor;

use std::fs;
use std::path::{Path, PathBuf};

use fairlane_scenario::{BUNDLED, Document, Duration, Kind, Rate, Scenario, Traffic, Vary, bundled};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn shipped() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let mut files = entries.map(|entry| entry.expect("it can be listed").path()).collect::<Vec<_>>();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

fn load(name: &str) -> Document {
    Document::load(folder().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(name: &str) -> Scenario {
    load(name).scenario().unwrap_or_else(|error| panic!("{error}"))
}

fn mbit(rate: f64) -> Rate {
    Rate::from_bits_per_second((rate * 1e6) as u64)
}

#[test]
fn all_are_valid_and_say_which_tcp_they_use() {
    let files = shipped();
    assert!(files.len() >= 12, "only {} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let words = text.strip_prefix("#:schema scenario.schema.json\n");
        let words = words.unwrap_or_else(|| panic!("{}: no line for editors", file.display()));
        assert!(words.starts_with("# "), "{}: no comment on its purpose", file.display());
        let read = Document::load(&file).and_then(|document| document.scenario());
        editor::agrees(&text, &read);
        let scenario = read.unwrap_or_else(|error| panic!("{error}"));
        if scenario.flows.iter().any(|group| matches!(group.traffic, Traffic::Tcp(_))) {
            assert!(text.lines().any(|line| line.starts_with("preset")), "{}: no preset", file.display());
        }
    }
}

/// Would catch a comment in the middle of a value, and a key that nobody explains.
#[test]
fn an_explained_scenario_is_the_same() {
    for bundled in BUNDLED {
        let text = bundled.explained();
        let read = |text: &str| text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{}: {error}", bundled.name));
        assert_eq!(read(&text), read(bundled.text), "{}", bundled.name);
    }
    let text = bundled("choke-fig3").expect("it is there").explained();
    let lines = text.lines().collect::<Vec<_>>();
    for (before, key) in lines.iter().zip(&lines[1..]).filter(|(_, line)| line.contains(" = ")).take(8) {
        assert!(before.starts_with("# "), "{key} has no comment");
    }
}

#[test]
fn editors_accept_the_examples_of_the_documents() {
    let docs = folder().join("../docs");
    for name in ["scenario.md", "first-scenario.md", "course.md"] {
        let text = fs::read_to_string(docs.join(name)).expect("it can be read");
        let examples = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let read = |text: &str| {
            let scenario = Document::parse(name, text).and_then(|document| document.scenario());
            editor::agrees(text, &scenario);
            usize::from(scenario.is_ok())
        };
        assert!(examples.map(read).sum::<usize>() > 0, "{name} has no whole scenario");
    }
}

#[test]
fn the_commands_that_the_files_name_are_right() {
    for file in shipped() {
        let document = Document::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let text = fs::read_to_string(&file).expect("it can be read").replace("\\\n#", "");
        for command in text.lines().filter(|line| line.starts_with("#   fairlane ")) {
            let path = file.file_name().and_then(|name| name.to_str()).expect("a name");
            assert!(command.contains(&format!(" scenarios/{path}")), "{path}: {command}");
            let words = command.split_whitespace().collect::<Vec<_>>();
            let after = |option| words.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1]);
            let varies = after("--vary").map(|text| Vary::parse(text).unwrap_or_else(|error| panic!("{error}")));
            document.points(&varies.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{path}: {error}"));
            for kind in after("--queue").flat_map(|kinds| kinds.split(',')) {
                assert!(kind.parse::<Kind>().is_ok(), "{path}: {kind}");
            }
        }
    }
}

/// The numbers of the paper's section III.A.
#[test]
fn figure_3_is_the_papers() {
    let scenario = scenario("choke-fig3.toml");
    assert_eq!(scenario, Document::builtin().scenario().unwrap_or_else(|error| panic!("{error}")));
    let [link] = &scenario.links[..] else { panic!("{} links", scenario.links.len()) };
    assert_eq!((link.forward.rate, link.forward.delay), (mbit(1.0), Duration::from_millis(1)));
    assert_eq!(link.name, "bottleneck");
    let given =
        link.forward.queue.parameters().given().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert_eq!(given[..3], ["limit=300p", "min=100p", "max=200p"]);
    let [ftp, cbr] = &scenario.flows[..] else { panic!("{} groups", scenario.flows.len()) };
    assert_eq!((ftp.name.as_str(), ftp.count, cbr.name.as_str(), cbr.count), ("ftp", 32, "cbr", 1));
    for group in [ftp, cbr] {
        assert_eq!(group.packet.get(), 1000);
        for access in [&group.source, &group.sink] {
            let access = access.as_ref().expect("a separate host");
            assert_eq!((access.rate, access.delay), (mbit(10.0), Duration::from_millis(1)));
        }
    }
    let Traffic::Tcp(tcp) = &ftp.traffic else { panic!("ftp is TCP") };
    let Traffic::Udp(udp) = &cbr.traffic else { panic!("cbr is UDP") };
    assert_eq!((tcp.window, udp.rate), (300, mbit(2.0)));
}

/// The links that each flow crosses, from the columns of Table I.
#[test]
fn table_1_is_the_papers() {
    let scenario = scenario("choke-table1.toml");
    let rates = scenario.links.iter().map(|link| (link.name.as_str(), link.forward.rate)).collect::<Vec<_>>();
    assert_eq!(rates[..3], [("r1-r2", mbit(10.0)), ("r2-r3", mbit(2.0)), ("r3-r4", mbit(1.0))]);
    let crossing = |link: &str| {
        let at = scenario.links.iter().position(|other| other.name == link).expect("a link");
        let groups = scenario.flows.iter().filter(|group| group.path.iter().any(|hop| hop.link == at && !hop.reverse));
        groups.map(|group| group.count).sum::<u32>()
    };
    assert_eq!([crossing("r2-r3"), crossing("r3-r4"), crossing("r4-r5")], [26, 21, 11]);
}

#[test]
fn the_overload_is_a_hundred_times_the_link_and_reaches_it() {
    let scenario = scenario("overload.toml");
    let flood = scenario.flows.iter().find(|group| group.name == "flood").expect("a flood");
    let Traffic::Udp(udp) = &flood.traffic else { panic!("the flood is UDP") };
    assert_eq!(udp.rate.bits_per_second(), 100 * scenario.links[0].forward.rate.bits_per_second());
    assert!(flood.source.as_ref().expect("a separate host").rate >= udp.rate);
}

/// Round trips as the file's comment says: twice (access, bottleneck, access).
#[test]
fn round_trips_are_unequal() {
    let scenario = scenario("unequal-rtt.toml");
    let round_trips = scenario.flows.iter().map(|group| {
        let hosts = [&group.source, &group.sink].map(|access| access.as_ref().expect("a host").delay.as_nanos());
        2 * (hosts.iter().sum::<u64>() + scenario.links[0].forward.delay.as_nanos()) / 1_000_000
    });
    assert_eq!(round_trips.collect::<Vec<_>>(), [24, 84, 324]);
}
