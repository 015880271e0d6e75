//! A video call by str0m under four queue disciplines: alone, next to a download, next to a flood, and over a link that
//! falls from 10 to 2 Mbit/s. The first 20 s do not count.
//!
//! `cargo run --release --manifest-path adapters/Cargo.toml -p fairlane-str0m --example video`

use std::error::Error;

use fairlane_scenario::Document;
use fairlane_sim::{Control, run_endpoints};
use fairlane_str0m::{Report, Video};

const CALL: &str = r#"
duration = "60s"
warmup = "20s"
tcp = { preset = "linux" }
flows = [{ name = "video", kind = "endpoint", start = "0s" }OTHER]
bottleneck = { rate = RATE, delay = "20ms", queue = { QUEUE } }
"#;

const OTHERS: [(&str, &str, &str); 4] = [
    ("alone", "'10mbit'", ""),
    ("next to CUBIC", "'10mbit'", ", { name = 'cubic', kind = 'tcp', cc = 'cubic', start = '10s' }"),
    ("next to 40 Mbit/s of UDP", "'10mbit'", ", { name = 'flood', kind = 'udp', rate = '40mbit', start = '10s' }"),
    ("2 Mbit/s from 20 s on", "{ steps = [['0s', '10mbit'], ['20s', '2mbit']] }", ""),
];

const QUEUES: [&str; 4] = [
    "kind = 'droptail', limit = '300p'",
    "kind = 'choke', limit = '300p', min = '100p', max = '200p'",
    "kind = 'fq-codel'",
    "kind = 'dualpi2'",
];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    for (title, rate, other) in OTHERS {
        println!("{title:<25} kbit/s   frames   delay: median   95 %");
        for queue in QUEUES {
            let text = CALL.replace("RATE", rate).replace("OTHER", other).replace("QUEUE", queue);
            let scenario = Document::parse("video.toml", &text)?.scenario()?;
            let mut call = Report::default();
            let run = run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, _, seed| {
                let (pair, report) = Video::default().call(seed).ok()?;
                call = report;
                Some(pair)
            })?;
            let frames = call.frames().into_iter().filter(|frame| frame.delivered.as_secs() > 20.0);
            let mut delays: Vec<f64> = frames.map(|frame| frame.delay().as_secs() * 1e3).collect();
            delays.sort_by(f64::total_cmp);
            let part = |percent: usize| delays.get(delays.len() * percent / 100).copied().unwrap_or(f64::NAN);
            let (kind, kbit, frames) = (&run.queues[0].kind, run.flows[0].unique_bytes * 8 / 40_000, delays.len());
            let ended = call.ended().map_or(String::new(), |ended| format!("   until {:.0} s", ended.at.as_secs()));
            println!("{kind:>25} {kbit:>6} {frames:>8} {:>12.0} ms {:>4.0} ms{ended}", part(50), part(95));
        }
    }
    Ok(())
}
