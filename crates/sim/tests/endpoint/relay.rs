//! One server for many clients.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing, Pair};
use fairlane_sim::{Control, run_endpoints};

use super::{FIFO, ONE, scenario};

const BYTES: u32 = 500;

/// A server that sends what it gets from one client to all others.
#[derive(Debug, Default)]
struct Server {
    /// The datagrams for each client.
    outgoing: Vec<VecDeque<Vec<u8>>>,
}

/// The server's end of the path to one client.
#[derive(Debug)]
struct Port {
    index: usize,
    server: Arc<Mutex<Server>>,
    woken: Vec<u32>,
}

impl Endpoint for Port {
    fn start(&mut self, _now: Time) {}
    fn receive(&mut self, _now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        let mut server = self.server.lock().expect("nobody panicked");
        for (index, queue) in server.outgoing.iter_mut().enumerate().filter(|(index, _)| *index != self.index) {
            queue.push_back(datagram.clone());
            self.woken.push(index as u32);
        }
    }
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        *datagram = self.server.lock().expect("nobody panicked").outgoing[self.index].pop_front()?;
        Some(Outgoing::new(BYTES))
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    fn wake(&mut self) -> Option<u32> {
        self.woken.pop()
    }
    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Says its number once, and notes what it hears.
#[derive(Debug)]
struct Client {
    number: u8,
    greets: bool,
    heard: Arc<Mutex<Vec<(u8, u8, Time)>>>,
    bytes: u64,
}

impl Endpoint for Client {
    fn start(&mut self, _now: Time) {
        self.greets = true;
    }
    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        self.bytes += datagram.len() as u64;
        self.heard.lock().expect("nobody panicked").push((self.number, datagram[0], now));
    }
    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        datagram.push(self.number);
        std::mem::take(&mut self.greets).then(|| Outgoing::new(BYTES))
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn on_timer(&mut self, _now: Time) {}
    fn delivered_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Four clients say their numbers at the same time to a server, which relays them. Would catch a datagram that waits at
/// the server until its client sends.
#[test]
fn a_server_relays_at_once() {
    let server = Arc::new(Mutex::new(Server { outgoing: vec![VecDeque::new(); 4] }));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let scenario = scenario(1, FIFO, &format!("{ONE}\ncount = 4"));
    let run = run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, index, _| {
        let port = Port { index: index as usize, server: Arc::clone(&server), woken: Vec::new() };
        let number = index as u8;
        Some(Pair::new(port, Client { number, greets: false, heard: Arc::clone(&heard), bytes: 0 }))
    });
    let heard = heard.lock().expect("nobody panicked");
    let mut words: Vec<(u8, u8)> = heard.iter().map(|(client, from, _)| (*client, *from)).collect();
    words.sort_unstable();
    let all = (0..4).flat_map(|client| (0..4).filter(move |from| *from != client).map(move |from| (client, from)));
    assert!(words.into_iter().eq(all));
    // Back and forth: 2 · 12 ms, 2 · (400 + 2 · 40) µs, and on each way at most three and eleven others before it.
    let first = Time::ZERO + Duration::from_nanos(24_960_000);
    let last = first + Duration::from_nanos(14 * 400_000);
    assert!(heard.iter().all(|(_, _, at)| (first..=last).contains(at)), "{heard:?}");
    let run = run.expect("it runs");
    assert!(run.flows.iter().all(|flow| (flow.sent, flow.delivered, flow.unique_bytes) == (3, 3, 3)));
}

/// Would catch an endpoint that is called before its flow starts because another one wakes it.
#[test]
fn nobody_is_woken_before_the_start() {
    let server = Arc::new(Mutex::new(Server { outgoing: vec![VecDeque::new(); 2] }));
    let heard = Arc::new(Mutex::new(Vec::new()));
    // Each start is drawn from the range, so one comes first.
    let scenario = scenario(1, FIFO, &ONE.replace("\"0s\"", "\"0s..500ms\"\ncount = 2"));
    run_endpoints(&scenario, 0, &Control::default(), &mut (), |_, index, _| {
        let port = Port { index: index as usize, server: Arc::clone(&server), woken: Vec::new() };
        let number = index as u8;
        Some(Pair::new(port, Client { number, greets: false, heard: Arc::clone(&heard), bytes: 0 }))
    })
    .expect("it runs");
    let heard = heard.lock().expect("nobody panicked");
    assert_eq!(heard.len(), 2, "{heard:?}");
}
