//! The datagrams that a FIFO drops of quinn's congestion controls, with 1 to 10 downloads. quinn's BBR draws random
//! numbers from the system, so its results can differ from run to run.
//!
//! `cargo run --release --manifest-path adapters/Cargo.toml -p fairlane-quinn --example controls`; with a name such as
//! `-- bbr` it runs that one only.

use std::error::Error;
use std::sync::Arc;

use fairlane_outcome::FlowRun;
use fairlane_quinn::Quinn;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_endpoints};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

const DOWNLOADS: &str = r#"
duration = "30s"
warmup = "5s"
[bottleneck]
rate = "20mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "300p" }
[[flows]]
name = "quinn"
kind = "endpoint"
"#;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let controls: [(&str, Arc<dyn ControllerFactory + Send + Sync>); 3] = [
        ("newreno", Arc::new(NewRenoConfig::default())),
        ("cubic", Arc::new(CubicConfig::default())),
        ("bbr", Arc::new(BbrConfig::default())),
    ];
    let only = std::env::args().nth(1);
    println!("congestion   downloads   Mbit/s   dropped   delay");
    for (name, control) in controls.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(control);
        let quinn = Quinn::new(transport)?;
        for count in [1, 2, 3, 10] {
            let scenario = Document::parse("quinn.toml", &format!("{DOWNLOADS}count = {count}\n"))?.scenario()?;
            let run =
                run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, _, seed| Some(quinn.download(seed)))?;
            let sum = |of: fn(&FlowRun) -> u64| run.flows.iter().map(of).sum::<u64>() as f64;
            let mbit = sum(|flow| flow.unique_bytes) * 8.0 / 25e6;
            let share = 100.0 * sum(|flow| flow.dropped) / sum(|flow| flow.sent);
            let delay = run.queues[0].delay_ns.mean() / 1e6;
            println!("{name:<10} {count:>11} {mbit:>8.1} {share:>7.1} % {delay:>4.0} ms");
        }
    }
    Ok(())
}
