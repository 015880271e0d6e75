//! Packets from two processors, through one queue and through two.

use std::thread;

use fairlane_linux::{DataPath, Queues, Router};
use fairlane_qdisc::Kind;

use crate::common::{Lab, RouterConfig, config, install, queue_config};
use crate::load::{Flow, flood, listen, median};
use crate::program::{RATE, discipline};

/// The numbers of queues.
const QUEUES: [u16; 2] = [1, 2];

/// The size of an IP packet in bytes.
const BYTES: usize = 64;

/// Measures in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    let _listening = lab.receiver.run(listen);
    println!("\nTwo senders, CHOKe, {BYTES} bytes\n");
    println!("| queues | packets/s | lost in the kernel |");
    println!("|---|---|---|");
    let mut flows = QUEUES.map(|_| Vec::new());
    for _ in 0..rounds {
        for (queues, flows) in QUEUES.iter().zip(&mut flows) {
            flows.push(measure(lab, *queues));
        }
    }
    for (queues, flows) in QUEUES.iter().zip(&flows) {
        let rate = median(flows.iter().map(|flow| flow.packets_per_second));
        println!("| {queues} | {rate:.0} | {:.1} % |", 100.0 * median(flows.iter().map(|flow| flow.lost)));
    }
}

fn measure(lab: &Lab, queues: u16) -> Flow {
    let queues = Queues::new(0, queues - 1).unwrap();
    let path = DataPath::Queue(queue_config(queues));
    let router = Router::new(&RouterConfig { path, ..config(&discipline(Kind::Choke), RATE) }).unwrap();
    let (handle, firewall) = (router.handle(), install(queues));
    let working = thread::spawn(|| router.run().unwrap());
    let flow = flood(lab, BYTES, &[0, 1]);
    firewall.stop(0).unwrap();
    handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
    working.join().unwrap();
    firewall.remove(0).unwrap();
    flow
}
