//! Ten transfers by smoltcp with each of its congestion controls, before a FIFO and before FQ-CoDel.
//!
//! `cargo run --release --manifest-path adapters/Cargo.toml -p fairlane-smoltcp --example congestion`

use std::error::Error;

use fairlane_scenario::Document;
use fairlane_sim::{Control, run_endpoints};
use fairlane_smoltcp::transfer;
use smoltcp::socket::tcp::CongestionControl::{Cubic, None, Reno};

const TRANSFERS: &str = r#"
duration = "30s"
warmup = "5s"
[bottleneck]
rate = "20mbit"
delay = "10ms"
[[flows]]
name = "smoltcp"
kind = "endpoint"
count = 10
[bottleneck.queue]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    println!("queue     congestion   kbit/s a flow   drops");
    for queue in ["kind = 'droptail'\nlimit = '300p'", "kind = 'fq-codel'"] {
        let scenario = Document::parse("smoltcp.toml", &format!("{TRANSFERS}{queue}"))?.scenario()?;
        for congestion in [None, Reno, Cubic] {
            let run = run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, _, seed| {
                Some(transfer(congestion, seed))
            })?;
            let mut rates: Vec<u64> = run.flows.iter().map(|flow| flow.unique_bytes * 8 / 25_000).collect();
            rates.sort_unstable();
            let sum = |counts: Vec<u64>| counts.iter().sum::<u64>() as f64;
            let dropped = sum(run.flows.iter().map(|flow| flow.dropped).collect());
            let sent = sum(run.flows.iter().map(|flow| flow.sent).collect());
            let (kind, congestion) = (&run.queues[0].kind, format!("{congestion:?}"));
            let share = 100.0 * dropped / sent;
            println!("{kind:<9} {congestion:<10} {:>6} to {:<5} {share:>5.1} %", rates[0], rates[9]);
        }
    }
    Ok(())
}
