//! Transports that a program brings.

mod brought;
mod failure;
mod mixed;
mod relay;
mod timing;
mod window;

use fairlane_outcome::Run;
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::endpoint::Pair;
use fairlane_sim::{Control, Error, run_endpoints};

/// Returns a scenario of `seconds` with a bottleneck of 10 Mbit/s and 10 ms, access links of 100 Mbit/s and 1 ms, this
/// queue, more keys of the bottleneck, and these groups of flows.
fn scenario(seconds: u32, bottleneck: &str, flows: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{seconds}s"
        [bottleneck]
        rate = "10mbit"
        delay = "10ms"
        {bottleneck}
        [access]
        rate = "100mbit"
        delay = "1ms"
        {flows}
        "#
    );
    Document::parse("endpoint.toml", &text).and_then(|document| document.scenario()).expect("it is valid")
}

const FIFO: &str = r#"queue = { kind = "droptail", limit = "100p" }"#;
const ONE: &str = "[[flows]]\nname = \"own\"\nkind = \"endpoint\"\nstart = \"0s\"";

/// Runs a scenario with one flow of endpoints.
fn run_one(scenario: &Scenario, pair: Pair) -> Result<Run, Error> {
    let mut pair = Some(pair);
    run_endpoints(scenario, 0, &Control::default(), &mut (), |_, _, _| pair.take())
}
