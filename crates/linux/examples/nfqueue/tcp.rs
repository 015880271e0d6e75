//! A TCP transfer with segmentation offload, with packets segmented before the queue and with GSO packets queued whole.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use fairlane_linux::{DataPath, QueueConfig, Router};
use fairlane_qdisc::Kind;

use crate::common::{Lab, PORT, RECEIVER, RouterConfig, config, install, queue_config};
use crate::load::{cost, median};
use crate::program::{RATE, discipline};

/// The duration of a transfer.
const TIME: Duration = Duration::from_millis(1500);

/// The results of one transfer.
struct Sample {
    gigabits: f64,
    /// The size of a packet in bytes.
    mean: f64,
    /// The processor time of the router's thread per kilobyte in nanoseconds.
    cost: f64,
}

/// Measures in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    println!("\nTCP, FQ-CoDel\n");
    println!("| gso | Gbit/s | bytes a packet | CPU ns a kB |");
    println!("|---|---|---|---|");
    let settings = [None, Some(1500)];
    let mut samples = settings.map(|_| Vec::new());
    for _ in 0..rounds {
        for (gso, samples) in settings.iter().zip(&mut samples) {
            samples.push(measure(lab, *gso));
        }
    }
    for (gso, of) in settings.iter().zip(&samples) {
        println!(
            "| {} | {:.2} | {:.0} | {:.0} |",
            if gso.is_some() { "on" } else { "off" },
            median(of.iter().map(|sample| sample.gigabits)),
            median(of.iter().map(|sample| sample.mean)),
            median(of.iter().map(|sample| sample.cost)),
        );
    }
}

fn measure(lab: &Lab, gso: Option<u32>) -> Sample {
    let path = DataPath::Queue(QueueConfig { gso: gso.is_some(), mtu: gso, ..queue_config(0) });
    let router = Router::new(&RouterConfig { path, ..config(&discipline(Kind::FqCodel), RATE) }).unwrap();
    let (handle, firewall) = (router.handle(), install(0));
    let working = thread::spawn(|| cost(|| router.run().unwrap()));
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || {
        let (mut stream, mut buffer) = (listener.accept().unwrap().0, vec![0; 1 << 20]);
        let (start, mut bytes) = (Instant::now(), 0);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return bytes as f64 * 8e-9 / start.elapsed().as_secs_f64(),
                more => bytes += more,
            }
        }
    });
    lab.sender.run(|| {
        let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
        let data = vec![7; 1 << 18];
        while start.elapsed() < TIME {
            stream.write_all(&data).unwrap();
        }
    });
    let gigabits = received.recv().unwrap();
    firewall.stop(0).unwrap();
    handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
    let (report, cost) = working.join().unwrap();
    firewall.remove(0).unwrap();
    let arrived = report.counters.arrived;
    Sample { gigabits, mean: arrived.bytes as f64 / arrived.packets as f64, cost: cost * 1000.0 / arrived.bytes as f64 }
}
