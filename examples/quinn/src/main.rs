//! Ten QUIC downloads by quinn under four queue disciplines, alone and next to a flood.
//!
//! `cargo run --release --manifest-path examples/quinn/Cargo.toml`

use fairlane_outcome::FlowRun;
use fairlane_quinn::Quinn;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_endpoints};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::NewRenoConfig;

const DOWNLOADS: &str = r#"
duration = "30s"
warmup = "5s"
[bottleneck]
rate = "20mbit"
delay = "10ms"
[[flows]]
name = "quinn"
kind = "endpoint"
count = 10
"#;

const FLOOD: &str = "[[flows]]\nname = 'flood'\nkind = 'udp'\nrate = '40mbit'\n";

/// Queues of 300 packets as in the CHOKe paper, and two with their defaults.
const QUEUES: [&str; 4] = [
    "kind = 'droptail'\nlimit = '300p'",
    "kind = 'choke'\nlimit = '300p'\nmin = '100p'\nmax = '200p'",
    "kind = 'fq-codel'",
    "kind = 'dualpi2'",
];

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(std::sync::Arc::new(NewRenoConfig::default()));
    let quinn = Quinn::new(transport)?;
    for (title, flows) in [("alone", ""), ("next to 40 Mbit/s of UDP", FLOOD)] {
        println!("{title:<26} kbit/s a flow   delay   drops   marks");
        for queue in QUEUES {
            let text = format!("{DOWNLOADS}{flows}[bottleneck.queue]\n{queue}");
            let scenario = Document::parse("quinn.toml", &text)?.scenario()?;
            let run =
                run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, _, seed| Some(quinn.download(seed)))?;
            let flows = &run.flows[..10];
            let sum = |of: fn(&FlowRun) -> u64| flows.iter().map(of).sum::<u64>();
            let rates = flows.iter().map(|flow| flow.unique_bytes * 8 / 25_000);
            let (least, most) = (rates.clone().min().unwrap_or(0), rates.max().unwrap_or(0));
            let delays = sum(|flow| flow.path.map_or(0, |path| path.delay_ns));
            let (queue, delay) = (&run.queues[0].kind, delays / sum(|flow| flow.delivered).max(1) / 1_000_000);
            let (dropped, flows) = (sum(|flow| flow.dropped), &run.queues[0].flows[..10]);
            let marked: u64 = flows.iter().map(|flow| flow.marked).sum();
            println!("{queue:>26} {least:>7} to {most:<5} {delay:>4} ms {dropped:>7} {marked:>7}");
        }
    }
    Ok(())
}
