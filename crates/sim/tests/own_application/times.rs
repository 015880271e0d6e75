//! When applications are called, and what is sent when.

use fairlane_qdisc::Reason;
use fairlane_sim::{Observer, PacketEvent, QueueEvent};

use super::*;

/// Sends a packet with each acknowledgement.
#[derive(Debug)]
struct OneByOne;

impl Application for OneByOne {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(1);
    }
    fn on_data(&mut self, _received: u32, _client: &mut Client<'_>) {}
    fn on_acknowledged(&mut self, _acknowledged: u32, server: &mut Server<'_>) {
        server.send(1);
    }
}

/// By hand: a round trip takes 24.02496 ms, so packets leave at 0, 24, 48, 72 and 96 ms. Would catch a packet that an
/// acknowledgement after the stop brings.
#[test]
fn nothing_is_sent_after_the_stop() -> Outcome {
    let run = run_own("1s", "stop = \"100ms\"", &each(|_| OneByOne))?;
    assert_eq!(run.flows[0].sent, 5);
    Ok(())
}

/// Sets its timer at two times, and wakes the other flow at a time that has passed.
#[derive(Debug)]
struct Late {
    flow: u32,
    calls: Calls,
}

impl Application for Late {
    fn on_start(&mut self, server: &mut Server<'_>) {
        if self.flow == 0 {
            server.send(1);
            server.set_timer(Time::from_nanos(30_000_000));
        }
    }
    fn on_data(&mut self, _received: u32, _client: &mut Client<'_>) {}
    fn on_acknowledged(&mut self, _acknowledged: u32, server: &mut Server<'_>) {
        note(&self.calls, server.now(), "acknowledged");
        server.set_timer(Time::from_nanos(40_000_000));
        server.wake(1, Time::ZERO);
    }
    fn on_timer(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), format!("timer of {}", self.flow));
        if self.flow == 0 && server.now() < Time::from_nanos(50_000_000) {
            server.wake(1, Time::from_nanos(60_000_000));
        }
    }
    fn on_wake(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), format!("wake of {}", self.flow));
        server.set_timer(Time::ZERO);
    }
}

/// By hand: the acknowledgement comes after 24.02496 ms. Would catch a timer that fires at a time that a later one has
/// replaced, and times that have passed which do not count as now.
#[test]
fn times_are_those_that_were_set_last_and_never_past() -> Outcome {
    const ACKNOWLEDGED: u64 = 24_024_960;
    let calls = Calls::default();
    let noting = Arc::clone(&calls);
    run_own("1s", "count = 2", &each(move |flow| Late { flow, calls: Arc::clone(&noting) }))?;
    let seen = calls.lock().unwrap_or_else(PoisonError::into_inner);
    let expected = [
        (ACKNOWLEDGED, "acknowledged"),
        (ACKNOWLEDGED, "wake of 1"),
        (ACKNOWLEDGED, "timer of 1"),
        (40_000_000, "timer of 0"),
        (60_000_000, "wake of 1"),
        (60_000_000, "timer of 1"),
    ];
    let seen: Vec<(u64, &str)> = seen.iter().map(|(at, call)| (*at, call.as_str())).collect();
    assert_eq!(seen, expected);
    Ok(())
}

/// Asks with its first packet, and leaves the connection at `at`.
#[derive(Debug)]
struct Abandoning {
    at: Time,
    calls: Calls,
}

impl Application for Abandoning {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(1);
        server.set_timer(self.at);
    }
    fn on_data(&mut self, _received: u32, client: &mut Client<'_>) {
        if client.now() < self.at {
            client.request(10, Duration::from_millis(50));
        }
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), "request");
    }
    fn on_timer(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), "timer");
        server.reconnect();
        server.send(1);
    }
    fn on_wake(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), "wake");
    }
}

/// By hand: the request leaves at 12.024 ms, and its acknowledgement comes at 24 ms, 50 ms before the request does. So
/// it is lost with a connection that ends at 13 ms or at 40 ms, and not at 80 ms. Would catch a request of a connection
/// that was left, and a call in its place.
#[test]
fn requests_are_lost_with_their_connection() -> Outcome {
    for (milliseconds, expected) in [(13, &["timer"][..]), (40, &["timer"]), (80, &["request", "timer"])] {
        let calls = Calls::default();
        let noting = Arc::clone(&calls);
        let at = Time::from_nanos(milliseconds * 1_000_000);
        run_own("1s", "", &each(move |_| Abandoning { at, calls: Arc::clone(&noting) }))?;
        let seen = calls.lock().unwrap_or_else(PoisonError::into_inner);
        let seen: Vec<&str> = seen.iter().map(|(_, call)| call.as_str()).collect();
        assert_eq!(seen, expected, "{milliseconds} ms");
    }
    Ok(())
}

/// Sends in bursts, and asks with each 20th packet.
#[derive(Debug, Default)]
struct Bursts {
    requests: Arc<Mutex<(u32, u32)>>,
}

impl Application for Bursts {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(20);
    }
    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if received.is_multiple_of(20) {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
            client.request(10, Duration::ZERO);
        }
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
        server.send(20);
    }
}

/// Counts filtered acknowledgements.
struct Filtered(u64);

impl Observer for Filtered {
    fn packet(&mut self, event: &PacketEvent) {
        self.0 += u64::from(event.queue_event == QueueEvent::Dropped(Reason::AckFilter));
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// A link of 32 kbit/s back, on which acknowledgements wait and are filtered. RFC 3449, section 5.2.2: a filter may
/// drop only what a later acknowledgement repeats. Would catch a request that is dropped as one that says no more.
#[test]
fn no_filter_drops_a_request() -> Outcome {
    for filter in ["filter", "aggressive"] {
        let requests = Arc::new(Mutex::new((0, 0)));
        let shared = Arc::clone(&requests);
        let control = each(move |_| Bursts { requests: Arc::clone(&shared) });
        let reverse = format!(
            "reverse = {{ rate = \"32kbit\", queue = {{ kind = \"cake\", diffserv = \"besteffort\", \
             ack_filter = \"{filter}\" }} }}"
        );
        let group = "source = \"mine\"\ntcp = { preset = \"modern\" }";
        let mut filtered = Filtered(0);
        let run = run(&over(&reverse, "20s", group)?, 0, &control, &mut filtered)?;
        let (made, came) = *requests.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(made > 50 && made - came <= 1, "{filter}: {made} made, {came} came");
        assert!(filtered.0 > 50, "{filter}: {} filtered", filtered.0);
        assert_eq!(run.flows[0].retransmitted, 0, "{filter}");
    }
    Ok(())
}
