//! Transports that a program brings.

mod window;

use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, run_endpoints};

use window::{DATA, HEADERS, pair};

/// Returns a scenario of `seconds` with a bottleneck of 10 Mbit/s and 10 ms, access links of 100 Mbit/s and 1 ms, this
/// queue, and these groups of flows.
fn scenario(seconds: u32, queue: &str, flows: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{seconds}s"
        [bottleneck]
        rate = "10mbit"
        delay = "10ms"
        queue = {queue}
        [access]
        rate = "100mbit"
        delay = "1ms"
        {flows}
        "#
    );
    Document::parse("endpoint.toml", &text).and_then(|document| document.scenario()).expect("it is valid")
}

const FIFO: &str = r#"{ kind = "droptail", limit = "100p" }"#;
const ONE: &str = "[[flows]]\nname = \"own\"\nkind = \"endpoint\"\nstart = \"0s\"";

/// A window of one datagram: a round trip takes 2 · (10 + 2 · 1) ms of delay, 800 + 2 · 80 µs for 1000 bytes, and 32 +
/// 2 · 3.2 µs for 40 bytes, 24.9984 ms. In 10 s that is 400.03 round trips, and the datagram of the last one has not
/// come. Would catch a datagram that waits, is sent early, or is counted by its payload on the wire.
#[test]
fn stop_and_wait_delivers_one_datagram_a_round_trip() {
    let (pair, _) = pair(1);
    let mut pair = Some(pair);
    let scenario = scenario(10, FIFO, ONE);
    let run = run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, _, _| pair.take()).expect("it runs");
    let flow = &run.flows[0];
    assert_eq!((flow.sent, flow.delivered), (401, 400));
    let short: u64 = (0..400).map(|number| number % 7).sum();
    assert_eq!(flow.unique_bytes, 400 * u64::from(DATA) - 400 * HEADERS as u64 - short);
}
