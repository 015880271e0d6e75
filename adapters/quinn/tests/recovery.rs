//! Downloads by quinn over paths that lose, fail and change.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use fairlane_outcome::Run;
use fairlane_qdisc::Time;
use fairlane_quinn::{Hosts, Quinn};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Fingerprint, Observer, run_endpoints};
use quinn_proto::congestion::NewRenoConfig;
use quinn_proto::{ConnectionError, TransportConfig};

/// The round trip without queues: 10 ms and twice 1 ms for the hosts, each way.
const ROUND_TRIP: Duration = Duration::from_millis(24);

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    transport
}

fn quinn(transport: TransportConfig) -> Quinn {
    Quinn::new(transport).expect("a key")
}

/// Returns one download for 20 s with 10 ms one way, and these keys of the file and the bottleneck.
fn scenario(keys: &str, bottleneck: &str) -> Scenario {
    let text = format!(
        "duration = '20s'\n{keys}\n[bottleneck]\ndelay = '10ms'\n{bottleneck}\n\
         [[flows]]\nname = 'quinn'\nkind = 'endpoint'\nstart = '0s'\n"
    );
    let scenario = Document::parse("quinn.toml", &text).and_then(|document| document.scenario());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs this scenario.
fn simulate(quinn: &Quinn, keys: &str, bottleneck: &str, observer: &mut impl Observer) -> (Run, Hosts) {
    let scenario = scenario(keys, bottleneck);
    let hosts = RefCell::new(None);
    let run = run_endpoints(&scenario, 0, &Control::default(), observer, |_, _, seed| {
        let (pair, watched) = quinn.watched(seed);
        hosts.replace(Some(watched));
        Some(pair)
    });
    (run.unwrap_or_else(|error| panic!("{error}")), hosts.take().expect("one flow"))
}

/// Would catch a lost connection that nobody hears of, and an idle timer that runs in another time than the
/// simulator's. The link, which is full, has an outage from 5 s on, so the last datagrams come within 12 ms. The idle
/// timer of 3 s starts with the last one, and again when the host then first sends what asks for an answer (RFC 9000,
/// section 10.1), at the latest after a probe timeout: the round trip, four times its variation, and 25 ms (RFC 9002,
/// section 6.2.1). A queue of 300 packets of 1480 bytes takes 178 ms. So a round trip is 24 to 202 ms, its variation at
/// most half of the difference, and the timeout at most 583 ms.
#[test]
fn an_outage_loses_the_connection() {
    let mut transport = transport();
    transport.max_idle_timeout(Some(Duration::from_secs(3).try_into().expect("a timeout")));
    let quinn = quinn(transport);
    let link = "queue = { kind = 'droptail', limit = '300p' }\nrate =";
    let (_, hosts) = simulate(&quinn, "", &format!("{link} '20mbit'"), &mut ());
    assert!(hosts.client.lost().is_none() && hosts.server.lost().is_none());
    let outage = format!("{link} {{ steps = [['0s', '20mbit'], ['5s', '0bit'], ['19s', '20mbit']] }}");
    let (_, hosts) = simulate(&quinn, "", &outage, &mut ());
    for host in [hosts.client, hosts.server] {
        let lost = host.lost().expect("a reason");
        assert!(matches!(lost.reason, ConnectionError::TimedOut), "{}", lost.reason);
        assert!((8.0..8.0 + 0.012 + 0.583).contains(&lost.at.as_secs()), "{} s", lost.at.as_secs());
    }
}

/// Would catch losses that quinn does not see or sees where there are none: nothing is reordered, so it takes for lost
/// what the wire has lost, but for the last round trip, packets that are acknowledgements only, and probes of the
/// largest size. Bursts of four packets come once in 1000: NewReno halves its window once for each burst (RFC 9002,
/// section 7.3.2), and has the rate of Mathis et al. (1997), equation 3, √(3/2p) packets a round trip with p the
/// probability of a burst. If it halved for each packet, p would be that of a loss, and the rate half of that. Within
/// 20 s there are about 30 bursts, so that the mean has a standard deviation of a fifth.
#[test]
fn a_burst_of_losses_halves_the_window_once() {
    let link = "rate = '100mbit'\nloss = { p = 0.001, r = 0.25 }\nqueue = { kind = 'droptail', limit = '1000p' }";
    let (run, hosts) = simulate(&quinn(transport()), "", link, &mut ());
    let flow = &run.flows[0];
    let stats = hosts.server.stats().expect("a connection").path;
    let wire = flow.lost + flow.dropped;
    assert!(stats.lost_packets <= wire && stats.lost_packets + stats.lost_plpmtud_probes + 8 >= wire);
    let packets = (1.5_f64 / 0.001).sqrt() / ROUND_TRIP.as_secs_f64();
    let mathis = packets * f64::from(stats.current_mtu) * 8.0;
    let rate = flow.unique_bytes as f64 * 8.0 / 20.0;
    assert!((0.6 * mathis..1.5 * mathis).contains(&rate), "{rate} of {mathis} bit/s");
}

/// Would catch datagrams that reach an old address, a host that does not see the new one, and a connection that does
/// not survive. The server validates the new path, which the client answers, and the old one, whose challenge is lost
/// (RFC 9000, sections 9.3 and 9.3.3). The client takes another identifier (section 9.5). The transfer goes on at the
/// new path's rate: of 5 Mbit/s, 1452 of 1480 bytes are data at most. It starts as a new connection does (section 9.4),
/// so 5 s later it has at least three quarters, as a sawtooth from 1/2 to 1 has.
#[test]
fn the_connection_moves_with_the_client() {
    let link = "rate = { steps = [['0s', '20mbit'], ['5s', '5mbit']] }";
    let frames = |hosts: &Hosts| {
        let [server, client] = [&hosts.server, &hosts.client].map(|host| host.stats().expect("a connection"));
        let challenges = [server.frame_tx.path_challenge, client.frame_rx.path_challenge];
        (challenges, [client.frame_tx.path_response, client.frame_tx.retire_connection_id])
    };
    let (_, stays) = simulate(&quinn(transport()), "", link, &mut ());
    assert_eq!(frames(&stays), ([0; 2], [0; 2]));
    let moves = quinn(transport()).with_address_changes([Time::from_nanos(5_000_000_000)]);
    let (run, moved) = simulate(&moves, "warmup = '10s'", link, &mut ());
    let ([sent, received], [answered, identifiers]) = frames(&moved);
    assert!(sent > received && received >= 1 && answered == received && identifiers >= 1);
    assert!(moved.client.lost().is_none() && moved.server.lost().is_none());
    let rate = run.flows[0].unique_bytes * 8 / 10;
    assert!((3_750_000..=5_000_000 * 1452 / 1480 + 100_000).contains(&rate), "{rate} bit/s");
}

/// Would catch a forgotten change: after each of three changes the server validates again, also when two come within a
/// round trip.
#[test]
fn the_client_can_move_several_times() {
    let times = [2_000_000_000, 9_000_000_000, 9_005_000_000].map(Time::from_nanos);
    let (_, hosts) = simulate(&quinn(transport()).with_address_changes(times), "", "rate = '20mbit'", &mut ());
    assert!(hosts.client.stats().expect("a connection").frame_tx.path_response >= 2);
    assert!(hosts.client.lost().is_none() && hosts.server.lost().is_none());
}

/// Would catch a server that takes another address for the client's before the handshake is complete, which no client
/// may change then (RFC 9000, section 9). The handshake takes a round trip for the server's keys.
#[test]
fn a_move_within_the_handshake_loses_the_connection() {
    let mut transport = transport();
    transport.max_idle_timeout(Some(Duration::from_secs(3).try_into().expect("a timeout")));
    let moves = quinn(transport).with_address_changes([Time::from_nanos(ROUND_TRIP.as_nanos() as u64 / 2)]);
    let (run, hosts) = simulate(&moves, "", "rate = '20mbit'", &mut ());
    assert_eq!(run.flows[0].unique_bytes, 0);
    assert!(matches!(hosts.client.lost().expect("a reason").reason, ConnectionError::TimedOut));
}

/// Would catch marks that do not reach the sender: it has congestion events (RFC 9002, section 7.1), at most one for
/// each mark, without a lost packet.
#[test]
fn marks_are_congestion_events() {
    for queue in ["fq-codel", "dualpi2"] {
        let link = format!("rate = '20mbit'\nqueue = {{ kind = '{queue}' }}");
        let (run, hosts) = simulate(&quinn(transport()), "", &link, &mut ());
        let marked: u64 = run.queues[0].flows.iter().map(|flow| flow.marked).sum();
        let path = hosts.server.stats().expect("a connection").path;
        assert!(path.lost_packets == 0 && (1..=marked).contains(&path.congestion_events), "{queue}: {path:?}");
    }
}

/// Would catch a watch that changes the run.
#[test]
fn watched_downloads_are_the_same() {
    let quinn = quinn(transport()).with_address_changes([Time::from_nanos(3_000_000_000)]);
    let (mut watched, mut alone) = (Fingerprint::default(), Fingerprint::default());
    simulate(&quinn, "", "rate = '20mbit'", &mut watched);
    let scenario = scenario("", "rate = '20mbit'");
    run_endpoints(&scenario, 0, &Control::default(), &mut alone, |_, _, seed| Some(quinn.download(seed)))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(watched.strict(), alone.strict());
}
