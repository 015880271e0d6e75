//! TCP compared with sequences worked out by hand from the RFCs. A line of a trace is
//! `milliseconds kind segments cwnd ssthresh`.

mod chaos;
mod corners;
mod counting;
mod cubic;
mod ecn;
mod growth;
mod handshake;
mod idle;
mod ns2;
mod pacing;
mod path;
mod pftk;
mod rack;
mod receiver;
mod recovery;
mod robust;
mod spurious;
mod supply;
mod timers;

/// Returns the settings of ns-2 in 1999 with an initial window of `initial`, so that a loss in the first flight meets a
/// window of that size.
fn era(congestion: fairlane_scenario::Congestion, initial: u32) -> fairlane_scenario::Tcp {
    let mut tcp = fairlane_scenario::Tcp::ns2_1999(congestion, 300);
    tcp.initial_window = initial;
    tcp
}
