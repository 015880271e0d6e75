//! An own transport next to TCP: a window that grows with each answer and shrinks with each mark of a queue. It has no
//! timer, so each lost datagram would narrow its window for good: it is for queues that mark.

use fairlane_qdisc::Time;
use fairlane_scenario::Document;
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};
use fairlane_sim::{Control, run_endpoints};

/// The sender, or the receiver, which has no window.
#[derive(Debug, Default)]
struct Own {
    window: f64,
    flying: f64,
    answers: Vec<u8>,
    delivered: u64,
}

impl Endpoint for Own {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, _now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        if self.window > 0.0 {
            self.flying -= 1.0;
            self.window = (self.window + if datagram[0] == 1 { -0.5 } else { 1.0 / self.window }).max(1.0);
        } else {
            self.answers.push(u8::from(ecn == Ecn::Ce));
            self.delivered += datagram.len() as u64;
        }
    }
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        if self.flying < self.window {
            self.flying += 1.0;
            datagram.resize(972, 0);
            return Some(Outgoing { ecn: Ecn::Ect0, ..Outgoing::new(1000) });
        }
        datagram.push(self.answers.pop()?);
        Some(Outgoing::new(40))
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut document = Document::load(concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.toml"))?;
    for kind in ["codel", "fq-codel"] {
        document.set("bottleneck.queue.kind", kind)?;
        let own = |_: &str, _, _| Some(Pair::new(Own { window: 10.0, ..Own::default() }, Own::default()));
        let run = run_endpoints(&document.scenario()?, 0, &Control::default(), &mut (), own)?;
        let mbit = |flow: usize| 8e-6 * run.flows[flow].unique_bytes as f64 / (run.to_s - run.from_s);
        println!("{kind}: the own transport has {:.1} Mbit/s and TCP {:.1}", mbit(0), mbit(1));
    }
    Ok(())
}
