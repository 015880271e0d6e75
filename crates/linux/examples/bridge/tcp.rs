//! The throughput and the cost of a TCP connection with and without segmentation offload.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Lab, PORT, RECEIVER, tool};
use crate::load::{DECIDES, cost, in_turn, median, stay_on};
use crate::program::{PROGRAMS, Program};

/// The duration of a transfer.
const TIME: Duration = Duration::from_millis(1500);

/// The place of segmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cuts {
    Sender,
    /// The bridge, before the discipline.
    Bridge,
    /// The kernel, behind the bridge: the discipline gets GSO frames.
    Nobody,
}

const CUTS: [Cuts; 3] = [Cuts::Sender, Cuts::Bridge, Cuts::Nobody];

/// The results of one transfer.
struct Sample {
    gigabits: f64,
    /// The processor time of the bridge's thread per kilobyte in nanoseconds.
    cost: f64,
}

/// Measures all programs `rounds` times in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    println!("\nOne TCP connection\n");
    println!("| who cuts | program | Gbit/s | best | CPU ns a kB |");
    println!("|---|---|---|---|---|");
    for cuts in CUTS {
        let offload = if cuts == Cuts::Sender { "off" } else { "on" };
        lab.sender.run(move || tool("ethtool", &format!("-K s0 tso {offload} gso {offload}")));
        // Frames that are forwarded at once are never segmented here.
        let programs = &PROGRAMS[usize::from(cuts == Cuts::Bridge)..];
        let samples = in_turn(programs, rounds, |program| measure(lab, program, cuts));
        let name = ["sender", "bridge", "kernel (gso)"][cuts as usize];
        for (program, of) in programs.iter().zip(&samples) {
            let best = of.iter().map(|sample| sample.gigabits).fold(0.0, f64::max);
            let (speed, cost) = (median(of.iter().map(|one| one.gigabits)), median(of.iter().map(|one| one.cost)));
            println!("| {name} | {} | {speed:.2} | {best:.2} | {cost:.0} |", program.name());
        }
    }
}

fn measure(lab: &Lab, program: Program, cuts: Cuts) -> Sample {
    let router = program.open(cuts == Cuts::Nobody);
    let handle = router.handle();
    let working = thread::spawn(|| {
        stay_on(DECIDES);
        cost(|| router.run().unwrap())
    });
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut buffer, mut received, start) = (vec![0; 1 << 18], 0, Instant::now());
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return (received, start.elapsed().as_secs_f64()),
                bytes => received += bytes,
            }
        }
    });
    lab.sender.run(|| {
        let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
        while start.elapsed() < TIME {
            stream.write_all(&[7; 1 << 16]).unwrap();
        }
    });
    let (bytes, seconds) = received.recv().unwrap();
    handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
    let (_, cost) = working.join().unwrap();
    Sample { gigabits: bytes as f64 * 8e-9 / seconds, cost: cost * 1000.0 / bytes as f64 }
}
