//! Disciplines that callers bring: they stand where they are put, and nowhere else.

use fairlane_qdisc::{AnyQdisc, Host, Kind, QdiscConfig};
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

/// The same discipline, brought by the caller instead of named in the scenario, decides every packet alike: it has the
/// same seed. Would catch a queue that is asked in another order or told another time.
#[test]
fn who_brings_a_discipline_makes_no_difference() -> Outcome {
    let control = Control::default();
    let (mut asked_for, mut brought) = (Fingerprint::default(), Fingerprint::default());
    let named = run(&scenario(CHOKE)?, 0, &control, &mut asked_for)?;
    let config = QdiscConfig::new(Kind::Choke).with("limit", "100p")?.with("min", "20p")?.with("max", "60p")?;
    let own = |link: &str, host: &Host| {
        let built: Option<AnyQdisc<Packet>> = config.build(host).ok();
        built.filter(|_| link == "bottleneck").map(|queue| ("choke", queue))
    };
    let own = run_with(&scenario(DROPTAIL)?, 0, &control, &mut brought, own)?;
    assert_eq!(asked_for, brought);
    assert_eq!((named.queues[0].kind, named.queues[0].mean_packets), (own.queues[0].kind, own.queues[0].mean_packets));
    assert!(named.queues[0].mean_packets > 1.0);
    Ok(())
}

/// Who brings nothing gets the scenario's disciplines; and every direction of every link is asked for by its name.
#[test]
fn every_link_is_asked_for_once() -> Outcome {
    let control = Control::default();
    let (mut plain, mut asked) = (Fingerprint::default(), Fingerprint::default());
    run(&scenario(CHOKE)?, 0, &control, &mut plain)?;
    let mut links = Vec::new();
    let none = |link: &str, _host: &Host| -> Option<(&'static str, AnyQdisc<Packet>)> {
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
