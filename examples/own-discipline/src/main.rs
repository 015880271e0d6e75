//! An own discipline, compared with CHOKe: a full FIFO drops the newest packet of the flow that has the most of them.

use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Packet, Qdisc, Reason, Status, Time};
use fairlane_scenario::Document;
use fairlane_sim::{Control, run, run_with};

struct PushOut<P> {
    queue: Vec<P>,
    limit: usize,
    counters: Counters,
}

impl<P: Packet> Qdisc<P> for PushOut<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        self.queue.push(packet);
        if self.queue.len() > self.limit {
            let count = |of: &P| self.queue.iter().filter(|packet| packet.flow() == of.flow()).count();
            let newest = (0..self.queue.len()).max_by_key(|&at| count(&self.queue[at])).unwrap_or(0);
            let victim = self.queue.remove(newest);
            self.counters.count_drop(Reason::BufferSteal, victim.bytes());
            sink.dropped(now, victim, Reason::BufferSteal);
            // The arrival is the last one.
            if newest == self.limit {
                return Fate::Dropped(Reason::BufferSteal);
            }
        }
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = (!self.queue.is_empty()).then(|| self.queue.remove(0))?;
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }
    fn status(&self) -> Status {
        Status::new(self.queue.len(), self.queue.iter().map(|packet| u64::from(packet.bytes())).sum())
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/choke-fig3.toml");
    let scenario = Document::parse(file, &std::fs::read_to_string(file)?)?.scenario()?;
    let (control, observer) = (Control::default(), &mut ());
    let choke = run(&scenario, 0, &control, observer)?;
    let own = run_with(&scenario, 0, &control, observer, |link, _host| {
        (link == "bottleneck").then(|| {
            let queue = PushOut { queue: Vec::new(), limit: 300, counters: Counters::default() };
            ("push-out", Box::new(queue) as BoxQdisc<_>)
        })
    })?;
    for run in [choke, own] {
        let all: u64 = run.flows.iter().map(|flow| flow.delivered).sum();
        let udp: u64 = run.flows.iter().filter(|flow| &*flow.group == "cbr").map(|flow| flow.delivered).sum();
        let share = 100.0 * udp as f64 / all as f64;
        println!("{}: the unresponsive flow has {share:.1} % of the link", run.queues[0].kind);
    }
    Ok(())
}
