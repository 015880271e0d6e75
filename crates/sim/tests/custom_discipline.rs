//! Disciplines of the caller: they are used at the links that the caller chooses, and nowhere else.

use fairlane_qdisc::{BoxQdisc, Host, Kind, QdiscParameters};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Fingerprint, Packet, run, run_with};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn scenario(queue: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let text = format!(
        r#"
        duration = "20s"
        warmup   = "2s"
        [bottleneck]
        rate  = "1mbit"
        delay = "1ms"
        queue = {queue}
        [access]
        rate  = "10mbit"
        delay = "1ms"
        [[flows]]
        name  = "ftp"
        kind  = "tcp"
        count = 8
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "2mbit"
    "#
    );
    Ok(Document::parse("test.toml", &text)?.scenario()?)
}

const CHOKE: &str = r#"{ kind = "choke", limit = "100p", min = "20p", max = "60p" }"#;
const DROPTAIL: &str = r#"{ kind = "droptail", limit = "100p" }"#;

/// The same discipline makes the same decisions whether the caller or the scenario provides it, since it has the same
/// seed. Would catch calls in another order or with other times.
#[test]
fn a_custom_discipline_equals_the_scenarios() -> Outcome {
    let control = Control::default();
    let (mut from_scenario, mut from_caller) = (Fingerprint::default(), Fingerprint::default());
    let named = run(&scenario(CHOKE)?, 0, &control, &mut from_scenario)?;
    let config = QdiscParameters::new(Kind::Choke).with("limit", "100p")?.with("min", "20p")?.with("max", "60p")?;
    let custom = |link: &str, host: &Host| {
        let built: Option<BoxQdisc<Packet>> = config.build(host).ok();
        built.filter(|_| link == "bottleneck").map(|queue| ("choke", queue))
    };
    let custom = run_with(&scenario(DROPTAIL)?, 0, &control, &mut from_caller, custom)?;
    assert_eq!(from_scenario, from_caller);
    assert_eq!(
        (named.queues[0].kind.clone(), named.queues[0].mean_packets),
        (custom.queues[0].kind.clone(), custom.queues[0].mean_packets)
    );
    assert!(named.queues[0].mean_packets > 1.0);
    Ok(())
}

/// Would catch a run without custom disciplines that differs from a plain one, and a direction of a link that is not
/// asked for or is asked for twice.
#[test]
fn every_link_is_asked_for_once() -> Outcome {
    let control = Control::default();
    let (mut plain, mut asked) = (Fingerprint::default(), Fingerprint::default());
    run(&scenario(CHOKE)?, 0, &control, &mut plain)?;
    let mut links = Vec::new();
    let none = |link: &str, _host: &Host| -> Option<(&'static str, BoxQdisc<Packet>)> {
        links.push(link.to_string());
        None
    };
    run_with(&scenario(CHOKE)?, 0, &control, &mut asked, none)?;
    assert_eq!(plain, asked);
    assert_eq!(links[..2], ["bottleneck", "bottleneck/reverse"]);
    let count = links.len();
    assert_eq!(count, 2 + 4 * 9);
    links.sort();
    links.dedup();
    assert_eq!(links.len(), count);
    Ok(())
}
