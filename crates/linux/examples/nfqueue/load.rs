//! The sender, the receiver, and the processor time of a thread.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use fairlane_linux::kernel_queues;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::common::send::send_while;
use crate::common::{Lab, PORT, RECEIVER, udp_count};

/// The processor of the sender, on which the kernel also forwards and queues.
pub(crate) const SENDS: usize = 0;
/// The processor of the measured loop, on which the kernel also sends and receives.
pub(crate) const DECIDES: usize = 1;

/// The duration of the measurement, and of the flood before it.
const MEASURED: Duration = Duration::from_millis(1000);
const SETTLING: Duration = Duration::from_millis(200);

/// Restricts this thread to a processor, if the machine has more than one.
pub(crate) fn stay_on(processor: usize) {
    let mut set = CpuSet::new();
    if set.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

/// Returns the processor time of this thread during `work` in nanoseconds, including the kernel's work for it.
pub(crate) fn cost<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let clock = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().num_nanoseconds() as f64;
    let before = clock();
    let result = work();
    (result, clock() - before)
}

/// Returns the results of `measure` for each program. The programs take turns, `times` times.
pub(crate) fn in_turn<P: Copy, S>(programs: &[P], times: usize, mut measure: impl FnMut(P) -> S) -> Vec<Vec<S>> {
    let mut samples: Vec<Vec<S>> = programs.iter().map(|_| Vec::new()).collect();
    for _ in 0..times {
        for (program, samples) in programs.iter().zip(&mut samples) {
            samples.push(measure(*program));
        }
    }
    samples
}

/// The throughput of a flood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) packets_per_second: f64,
    /// The fraction of the packets sent to the queue that the kernel dropped before the program received them.
    pub(crate) lost: f64,
}

/// Floods the receiver with IP packets of `bytes` bytes from these processors, and measures the throughput.
pub(crate) fn flood(lab: &Lab, bytes: usize, processors: &[usize]) -> Flow {
    let processors = processors.to_vec();
    let sending = lab.sender.start(move || {
        thread::scope(|scope| {
            for processor in processors {
                scope.spawn(move || send(bytes, processor, SETTLING + MEASURED + SETTLING));
            }
        });
    });
    thread::sleep(SETTLING);
    let (from, start, before) = (dropped(), Instant::now(), received(lab));
    thread::sleep(MEASURED);
    let (to, seconds, after) = (dropped(), start.elapsed().as_secs_f64(), received(lab));
    sending.recv().unwrap();
    let (dropped, came) = (to - from, after - before);
    Flow { packets_per_second: came as f64 / seconds, lost: dropped as f64 / (dropped + came) as f64 }
}

/// Returns the number of packets that the kernel dropped for lack of room, in all queues.
fn dropped() -> u64 {
    kernel_queues().unwrap().iter().map(|queue| queue.dropped_full + queue.dropped_unread).sum()
}

/// Returns the number of datagrams that reached a socket that nobody reads.
fn received(lab: &Lab) -> u64 {
    lab.receiver.run(|| udp_count("InDatagrams") + udp_count("RcvbufErrors"))
}

/// Opens a socket with a minimal buffer: the kernel counts arriving datagrams and drops them.
pub(crate) fn listen() -> UdpSocket {
    let socket = UdpSocket::bind((RECEIVER, PORT)).unwrap();
    setsockopt(&socket, sockopt::RcvBuf, &0).unwrap();
    socket
}

/// Sends as fast as it can for `time`.
fn send(bytes: usize, processor: usize, time: Duration) {
    stay_on(processor);
    let start = Instant::now();
    send_while(bytes, |_| start.elapsed() < time);
}

/// Sends `packets` packets, a multiple of a batch.
pub(crate) fn send_number(bytes: usize, packets: u64) {
    send_while(bytes, |sent| sent < packets);
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(values, 2)
}

/// Returns a quartile.
pub(crate) fn quantile(values: impl Iterator<Item = f64>, quarters: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * quarters / 4]
}
