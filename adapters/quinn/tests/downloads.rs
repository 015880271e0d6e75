//! Downloads by quinn share a bottleneck.

use std::sync::Arc;

use fairlane_outcome::Run;
use fairlane_quinn::Quinn;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Fingerprint, Observer, run_endpoints};
use quinn_proto::TransportConfig;
use quinn_proto::congestion::NewRenoConfig;

/// The rate of the link in bit/s.
const RATE: u64 = 20_000_000;
/// The seconds that are measured.
const SECONDS: u64 = 15;
const QUEUES: [&str; 4] = ["droptail", "choke", "fq-codel", "dualpi2"];
const FLOOD: &str = "[[flows]]\nname = 'flood'\nkind = 'udp'\nrate = '40mbit'\n";

fn quinn() -> Quinn {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    Quinn::new(transport).expect("a key")
}

/// Runs this many downloads, and these flows, at 20 Mbit/s through `queue`.
fn simulate(quinn: &Quinn, downloads: u32, flows: &str, queue: &str, observer: &mut impl Observer) -> Run {
    let text = format!(
        "duration = '20s'\nwarmup = '5s'\n[bottleneck]\nrate = '20mbit'\ndelay = '10ms'\nqueue = {{ kind = '{queue}' }}\n\
         [[flows]]\nname = 'quinn'\nkind = 'endpoint'\ncount = {downloads}\n{flows}"
    );
    let scenario = Document::parse("quinn.toml", &text).and_then(|document| document.scenario()).expect("it is valid");
    run_endpoints(&scenario, 0, &Control::default(), observer, |_, _, seed| Some(quinn.download(seed)))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the goodput of each download in bit/s.
fn goodputs(run: &Run) -> impl Iterator<Item = u64> {
    let downloads = run.flows.iter().filter(|flow| &*flow.group == "quinn");
    downloads.map(|flow| flow.unique_bytes * 8 / SECONDS)
}

/// Would catch a stall: datagrams, acknowledgements or timers that get lost between quinn and the simulator. A datagram
/// of quinn's default largest size has 1452 bytes, and 28 bytes of headers before it: 98.1 % of the link are data, and
/// a little more where some had waited for a retransmission when the measurement began. Ten downloads use at least 93
/// %. One download that halves its window uses three quarters of a link even without a queue (the mean of a sawtooth
/// from 1/2 to 1).
#[test]
fn downloads_fill_the_link_under_every_discipline() {
    for (queue, downloads, least) in QUEUES.into_iter().flat_map(|queue| [(queue, 1, 75), (queue, 10, 93)]) {
        let sum: u64 = goodputs(&simulate(&quinn(), downloads, "", queue, &mut ())).sum();
        assert!(sum > RATE * least / 100 && sum < RATE * 99 / 100, "{downloads} under {queue}: {sum} bit/s");
    }
}

/// Would catch flows that are not told apart: fair queueing gives each of ten a tenth of the link.
#[test]
fn fair_queueing_divides_equally() {
    for goodput in goodputs(&simulate(&quinn(), 10, "", "fq-codel", &mut ())) {
        assert!((RATE * 93 / 1000..RATE * 99 / 1000).contains(&goodput), "{goodput} bit/s");
    }
}

/// Would catch datagrams that a flood does not reach, or downloads that do not recover. A FIFO leaves the downloads
/// next to nothing. Fair queueing leaves each of the eleven flows its part. CHOKe is in between: it restrains the flood
/// to 26.9 % among many flows (Tang, Wang and Low 2004), and to more among ten.
#[test]
fn downloads_survive_a_flood_where_the_discipline_protects_them() {
    let sum = |queue| goodputs(&simulate(&quinn(), 10, FLOOD, queue, &mut ())).sum::<u64>();
    assert!(sum("droptail") < RATE / 100);
    assert!(sum("choke") > RATE / 3);
    assert!(sum("fq-codel") > RATE * 10 / 11 * 93 / 100);
}

/// Would catch ECN that gets lost on either way: quinn sends ECT(0), and stops when its peer does not report it (RFC
/// 9000, section 13.4.2). Both disciplines mark then, and drop nothing.
#[test]
fn marks_replace_drops() {
    for queue in ["fq-codel", "dualpi2"] {
        let run = simulate(&quinn(), 10, "", queue, &mut ());
        let (marked, dropped) = run.queues[0]
            .flows
            .iter()
            .fold((0, 0), |(marked, dropped), flow| (marked + flow.marked, dropped + flow.dropped.iter().sum::<u64>()));
        assert!(marked > 100 && dropped == 0, "{queue}: {marked} marked, {dropped} dropped");
    }
}

/// Would catch randomness of the system that reaches a packet's size or time, such as a certificate's, and a run that
/// depends on the one before, as by tickets of TLS.
#[test]
fn the_same_seed_has_the_same_packets() {
    let print = |quinn: &Quinn| {
        let mut fingerprint = Fingerprint::default();
        simulate(quinn, 3, "", "droptail", &mut fingerprint);
        fingerprint.strict()
    };
    let one = quinn();
    let first = print(&one);
    assert_eq!([print(&one), print(&quinn())], [first, first]);
}
