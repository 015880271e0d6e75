//! One TCP connection without segmentation offload: how fast it is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Lab, PORT, RECEIVER};
use crate::load::{DECIDES, in_turn, median, stay_on};
use crate::program::{PROGRAMS, Program};

/// How long a transfer goes.
const TIME: Duration = Duration::from_millis(1500);

/// Measures all programs `rounds` times in turn, and prints medians.
pub(crate) fn compare(lab: &Lab, rounds: usize) {
    println!("\nOne TCP connection\n");
    println!("| program | Gbit/s | best |");
    println!("|---|---|---|");
    let samples = in_turn(&PROGRAMS, rounds, |program| measure(lab, program));
    for (program, of) in PROGRAMS.iter().zip(&samples) {
        let best = of.iter().copied().fold(0.0, f64::max);
        println!("| {} | {:.2} | {best:.2} |", program.name(), median(of.iter().copied()));
    }
}

/// Gbit/s of data.
fn measure(lab: &Lab, program: Program) -> f64 {
    let router = program.open();
    let remote = router.remote();
    let working = thread::spawn(|| {
        stay_on(DECIDES);
        router.run().unwrap()
    });
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut buffer, mut received, start) = (vec![0; 1 << 18], 0, Instant::now());
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return received as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e9,
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
    let speed = received.recv().unwrap();
    remote.stop(fairlane_qdisc::Duration::from_secs(2.0));
    let _ = working.join().unwrap();
    speed
}
