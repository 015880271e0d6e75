use alloc::string::ToString;

use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::SimplePacket;
use crate::{Rate, Seed};

const LINK: Rate = Rate::from_bits_per_second(1_000_000);

fn config(kind: Kind, given: &[(&str, &str)]) -> Result<QdiscParameters, ParameterError> {
    given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))
}

/// The value of `key` as it will be used.
fn used(kind: Kind, given: &[(&str, &str)], key: &str) -> String {
    let explained = config(kind, given).and_then(|config| config.explain(LINK));
    match explained {
        Ok(explained) => explained
            .parameters
            .iter()
            .find(|row| row.key == key)
            .map_or_else(|| "absent".to_string(), |row| row.value.clone()),
        Err(error) => error.to_string(),
    }
}

fn refusal(kind: Kind, given: &[(&str, &str)]) -> String {
    let host = Host { rate: LINK, seed: Seed::new(1) };
    match config(kind, given).and_then(|config| config.build::<SimplePacket>(&host)) {
        Ok(_) => "accepted".to_string(),
        Err(error) => error.to_string(),
    }
}

/// tc(8) as tc-testing pins it: `choke limit 1000` is min 83, max 250, burst 138, Wlog 6.
#[test]
fn a_limit_alone_means_what_tc_makes_of_it() {
    let given = [("limit", "1000p")];
    for (key, value) in [
        ("limit", "1000p"),
        ("min", "83p"),
        ("max", "250p"),
        ("burst", "138p"),
        ("weight", "0.015625"),
        ("probability", "0.02"),
        ("avpkt", "1kb"),
        ("uniformize", "count"),
        // Linux's red_action() decides by the average alone.
        ("spare", "false"),
        ("bandwidth", "1mbit"),
        ("candidates", "1"),
    ] {
        assert_eq!(used(Kind::Choke, &given, key), value, "{key}");
    }
}

/// The papers' time: one threshold given is enough.
#[test]
fn thresholds_mean_ns2() {
    let given = [("limit", "300p"), ("min", "100p"), ("max", "200p")];
    for (key, value) in [
        ("weight", "0.002"),
        ("probability", "0.1"),
        ("uniformize", "wait"),
        ("gentle", "false"),
        // ns-2's drop_early() is asked only if more than one packet is queued.
        ("spare", "true"),
        ("burst", "unused"),
    ] {
        assert_eq!(used(Kind::Choke, &given, key), value, "{key}");
        assert_eq!(used(Kind::Red, &given, key), value, "{key}");
    }
    assert_eq!(used(Kind::Red, &[("max", "90p")], "min"), "30p");
    assert_eq!(used(Kind::Red, &[("limit", "400p"), ("min", "30p")], "max"), "100p");
}

/// ns-2's automatic configuration (Floyd, Gummadi, Shenker, "Adaptive RED", 2001): automatic weights; ns-2's automatic
/// thresholds at 45 Mbit/s and 5 ms: 14 and 42 packets.
#[test]
fn ared_configures_itself_as_ns2_does() {
    let at = |rate: u64, key: &str| {
        let explained = QdiscParameters::new(Kind::Ared).explain(Rate::from_bits_per_second(rate));
        let rows = explained.map(|explained| explained.parameters).unwrap_or_default();
        rows.iter().find(|row| row.key == key).map(|row| row.value.clone()).unwrap_or_default()
    };
    for (rate, weight) in [(1_000_000, 0.007_968_09), (45_000_000, 0.000_177_762)] {
        let ours: f64 = at(rate, "weight").parse().unwrap_or(0.0);
        assert!((ours / weight - 1.0).abs() < 1e-5, "{ours}");
    }
    assert_eq!((at(1_000_000, "min"), at(1_000_000, "max")), ("5p".to_string(), "15p".to_string()));
    assert_eq!((at(45_000_000, "min"), at(45_000_000, "max")), ("14p".to_string(), "42p".to_string()));
    assert_eq!(at(45_000_000, "gentle"), "true");
}

#[test]
fn errors_say_what_to_write() {
    for (given, expected) in [
        (("limit", "300"), "limit: a bare number has no unit: write \"300p\" for packets or \"300kb\" for kilobytes"),
        (("limit", "-3p"), "limit: "),
        (("limit", "16777217p"), "limit: 16777217p is more than any queue holds; the most is 16777216p"),
        (("probability", "0"), "probability: it cannot be \"0\""),
        (("probability", "1.01"), "probability: it cannot be \"1.01\""),
        (("probability", "nan"), "probability: it cannot be \"nan\""),
        (("candidates", "0"), "candidates: it cannot be \"0\": expected a whole number from 1 to 64"),
        (("candidates", "1p"), "candidates: it cannot be \"1p\""),
        (
            ("sampling", "exakt"),
            "sampling: it cannot be \"exakt\": expected one of `exact`, `replacement`, `linux`; write for example exact",
        ),
        (("ecn", "yes"), "ecn: it cannot be \"yes\": expected `true` or `false`"),
        (("avpkt", "0b"), "avpkt: 0b is not the size of a packet"),
        (("bandwidth", "0bit"), "bandwidth: it must be greater than zero"),
        (("burst", "5"), "burst: a bare number has no unit: write \"5p\""),
        (("probabillity", "1"), "probabillity: choke has no parameter \"probabillity\": did you mean \"probability\"?"),
        (("max_p", "1"), "max_p: choke has no parameter \"max_p\": did you mean \"probability\"?"),
        (("minth", "1p"), "minth: choke has no parameter \"minth\": did you mean \"min\"?"),
        (("quantum", "1"), "quantum: choke has no parameter \"quantum\": it has limit, min, max, probability,"),
    ] {
        let refused = refusal(Kind::Choke, &[given]);
        assert!(refused.starts_with(expected), "{given:?}: {refused}");
    }
    let integer = QdiscParameters::new(Kind::Choke).with("limit", 300).map_err(|error| error.to_string());
    assert!(integer.is_err_and(|error| error.contains("\"300p\"")));
}

#[test]
fn contradictions_are_found() {
    for (given, key) in [
        (&[("min", "20p"), ("max", "10p")][..], "min: 20p is above max"),
        (&[("min", "20p"), ("max", "10kb")], "max: it is 10kb and min is 20p: both"),
        (&[("min", "20kb"), ("limit", "10p")], "max: it cannot follow from limit 10p"),
        (&[("weight", "0.1"), ("burst", "100p")], "burst: weight is given too"),
        (&[("min", "20p"), ("max", "40p"), ("burst", "10p")], "burst: 10p is no burst for min 20p"),
    ] {
        let refused = refusal(Kind::Choke, given);
        assert!(refused.starts_with(key), "{given:?}: {refused}");
    }
    let host = Host { rate: Rate::from_bits_per_second(0), seed: Seed::new(1) };
    for kind in Kind::ALL {
        let built = QdiscParameters::new(kind).build::<SimplePacket>(&host);
        let needs_rate = kind.parameters().iter().any(|parameter| parameter.key == "bandwidth");
        assert_eq!(built.is_err(), needs_rate, "{kind}");
    }
}

#[test]
fn every_kind_builds_with_its_defaults_and_is_found_by_name() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(refusal(kind, &[]), "accepted");
        for limit in ["0p", "1p", "2p", "3p", "4p", "1b", "0b", "16777216p"] {
            assert_eq!(refusal(kind, &[("limit", limit)]), "accepted", "{kind} {limit}");
        }
        let keys: Vec<_> = kind.parameters().iter().map(|parameter| parameter.key).collect();
        let explained =
            QdiscParameters::new(kind).explain(LINK).map(|explained| explained.parameters).unwrap_or_default();
        assert_eq!(
            explained.iter().map(|row| row.key).collect::<Vec<_>>(),
            keys,
            "{kind} explains each parameter once"
        );
    }
    let error = |text: &str| text.parse::<Kind>().map_err(|error| error.to_string()).err();
    let refused = "kind: there is no queue discipline \"chok\"; did you mean \"choke\"?";
    assert_eq!(error("chok").as_deref(), Some(refused));
    assert_eq!(
        error("netem").as_deref(),
        Some("kind: there is no queue discipline \"netem\"; `fairlane qdiscs` lists them all")
    );
}

/// The names of tc(8), and of `/sys/module` for the kernel's modules. Would catch two kinds with one name.
#[test]
fn linux_names_are_read() {
    let linux = [
        ("pfifo", "droptail"),
        ("bfifo", "droptail"),
        ("fifo", "droptail"),
        ("fq_codel", "fq-codel"),
        ("fqcodel", "fq-codel"),
        ("fq_pie", "fq-pie"),
        ("dualpi2", "dualpi2"),
        ("choke", "choke"),
        ("red", "red"),
        ("sfb", "sfb"),
        ("sfq", "sfq"),
        ("drr", "drr"),
        ("codel", "codel"),
        ("pie", "pie"),
        ("cake", "cake"),
    ];
    for (name, kind) in linux {
        assert_eq!(name.parse::<Kind>().map(Kind::name), Ok(kind), "{name}");
    }
    let mut names: Vec<_> = Kind::ALL.into_iter().flat_map(Kind::names).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name has two meanings");
    assert_eq!(
        "bfifo limit=150kb".parse::<QdiscParameters>().map(|read| read.to_string()),
        Ok("droptail limit=150kb".into())
    );
}

#[test]
fn what_was_given_can_be_written_and_read_again() {
    let first = QdiscParameters::new(Kind::Choke)
        .with("max", "60p")
        .and_then(|config| config.with("candidates", 3))
        .and_then(|config| config.with("min", "30p"))
        .and_then(|config| config.with("probability", 0.1 + 0.2))
        .and_then(|config| config.with("ecn", true))
        .and_then(|config| config.with("min", "20p"));
    let Ok(first) = first else { panic!("{first:?}") };
    let keys: Vec<_> = first.given().map(|(key, _)| key).collect();
    assert_eq!(keys, ["min", "max", "probability", "ecn", "candidates"]);
    let mut second = QdiscParameters::new(Kind::Choke);
    for (key, value) in first.given() {
        assert_eq!(second.set(key, Value::Text(value.to_string())), Ok(()));
    }
    assert_eq!(second.explain(LINK), first.explain(LINK));
    let red: Vec<_> = first.with_kind(Kind::Red).given().map(|(key, _)| key).collect();
    assert_eq!(red, ["min", "max", "probability", "ecn"]);
    assert_eq!(first.with_kind(Kind::DropTail).given().count(), 0);
}

/// Would catch text that is read as something else, and mistakes that pass.
#[test]
fn a_line_of_text_is_read() {
    let read = |text: &str| text.parse::<QdiscParameters>().map_err(|error| error.to_string());
    let given = config(Kind::Choke, &[("limit", "300p"), ("min", "100p")]).ok();
    for text in ["choke limit=300p min=100p", " choke,min=100p,limit=300p ", "choke\tlimit=300p,  min=100p"] {
        assert_eq!(read(text).ok(), given, "{text}");
    }
    let written = given.map(|given| given.to_string());
    assert_eq!(written.as_deref(), Some("choke limit=300p min=100p"));
    assert_eq!(read("fq-codel").map(|read| read.given().count()), Ok(0));
    let shares = config(Kind::Cbq, &[("shares", "0.25,0.75"), ("limit", "60p")]).ok();
    for text in ["cbq shares=0.25,0.75 limit=60p", "cbq,limit=60p,shares=0.25,0.75", "cbq shares=0.25,0.75,limit=60p,"]
    {
        assert!(shares.is_some() && read(text).ok() == shares, "{text}: {:?}", read(text));
    }
    for (text, error) in [
        ("", "kind: there is no discipline; begin with its name, as in \"choke limit=300p\""),
        ("choke limit", "limit: \"limit\" has no value: write limit=VALUE"),
        ("choke limit=1p limit=2p", "limit: is given twice"),
    ] {
        assert_eq!(read(text).err().as_deref(), Some(error));
    }
    assert!(read("chok").is_err_and(|error| error.contains("did you mean \"choke\"?")));
    assert!(read("choke limits=3p").is_err_and(|error| error.contains("did you mean \"limit\"?")));
    assert!(read("choke limit=").is_err());
}

#[test]
fn what_looks_wrong_is_said() {
    let warnings = |given: &[(&str, &str)]| {
        let explained = config(Kind::Red, given).and_then(|config| config.explain(LINK));
        explained.map(|explained| explained.warnings.join("; ")).unwrap_or_default()
    };
    assert_eq!(warnings(&[("limit", "300p"), ("min", "100p"), ("max", "200p")]), "");
    assert!(warnings(&[("limit", "300p"), ("min", "100p"), ("max", "150p")]).contains("below twice min"));
    assert!(warnings(&[("limit", "100p"), ("min", "100p"), ("max", "200p")]).contains("limit 100p is below max 200p"));
    assert!(warnings(&[("harddrop", "true")]).contains("without ecn"));
}
