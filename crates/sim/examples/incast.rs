//! Workers that answer one client at the same time, in blocks: incast, as storage clusters have it (Phanishayee et al.,
//! "Measurement and analysis of TCP throughput collapse in cluster-based storage systems", FAST 2008).

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_qdisc::Duration;
use fairlane_scenario::Document;
use fairlane_sim::application::{Application, Client, Server};
use fairlane_sim::{Control, run};

/// A worker's part of each block in packets: 32 kB.
const PART: u32 = 32;

#[derive(Debug)]
struct Worker {
    workers: u32,
    /// The parts of the block that the client does not have.
    missing: Arc<Mutex<u32>>,
    /// The packets of the connection once its part has come.
    end: u32,
}

impl Application for Worker {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.end = server.send(PART);
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if received < self.end {
            return;
        }
        self.end = u32::MAX;
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing -= 1;
        if *missing == 0 {
            *missing = self.workers;
            client.request(100, Duration::ZERO);
        }
    }

    fn on_request(&mut self, server: &mut Server<'_>) {
        (0..self.workers).for_each(|flow| server.wake(flow, server.now()));
    }

    fn on_wake(&mut self, server: &mut Server<'_>) {
        self.on_start(server);
    }
}

const RACK: &str = r#"
    duration = "3s"
    [bottleneck]
    rate = "1gbit"
    delay = "20us"
    queue = { kind = "droptail", limit = "64p" }
    [access]
    rate = "1gbit"
    delay = "20us"
    [[flows]]
    name = "workers"
    kind = "tcp"
    cc = "newreno"
    start = "0s"
    source = "worker"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    println!("workers  least timeout  goodput");
    for min_rto in ["200ms", "1ms"] {
        for workers in [1, 2, 4, 8, 16, 32, 64] {
            let control = Control::default().with_application("worker", |group| {
                let (workers, missing) = (group.flows, Arc::new(Mutex::new(group.flows)));
                let worker = |_| Worker { workers, missing: Arc::clone(&missing), end: 0 };
                (0..workers).map(|flow| Box::new(worker(flow)) as Box<dyn Application>).collect()
            });
            let mut document = Document::parse("rack.toml", RACK)?.with_applications(control.applications());
            document.set("flows.workers.count", &workers.to_string())?;
            document.set("tcp.tick", "1ms")?;
            document.set("tcp.min_rto", min_rto)?;
            let run = run(&document.scenario()?, 0, &control, &mut ())?;
            let bytes: u64 = run.flows.iter().map(|flow| flow.unique_bytes).sum();
            println!("{workers:7}  {min_rto:>13}  {:4.0} Mbit/s", bytes as f64 * 8e-6 / 3.0);
        }
    }
    Ok(())
}
