//! Runs a scenario between two calls of [`begin_count`], and prints its number of events: the cost of congestion
//! control by the public interface. `own-reno` is Reno, and with `flows.NAME.tcp.recovery=reno` the run is that of
//! `reno`.
//!
//! ```text
//! congestion FILE DURATION KEY=VALUE…
//! ```

use std::error::Error;

use fairlane_bench::begin_count;
use fairlane_scenario::Document;
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, WindowSize};
use fairlane_sim::{Control, run};

/// Reno as a program would write it.
#[derive(Debug)]
struct OwnReno;

impl CongestionControl for OwnReno {
    fn grow(&mut self, window: &mut WindowSize, _ack: &AckSample) {
        window.cwnd += 1.0 / window.cwnd;
    }

    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        (event.segments / 2.0).floor()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let control = Control::default().with_congestion("own-reno", |_| Box::new(OwnReno));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, duration, settings @ ..] = arguments.as_slice() else {
        return Err("give FILE DURATION KEY=VALUE…".into());
    };
    let mut document = Document::load(file)?.with_congestion(control.congestion());
    document.set("warmup", "0s")?;
    document.set("duration", duration)?;
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or("write KEY=VALUE")?;
        document.set(key, value)?;
    }
    let scenario = document.scenario()?;
    begin_count();
    let run = run(&scenario, 0, &control, &mut ())?;
    begin_count();
    println!("{}", run.cost.events);
    Ok(())
}
