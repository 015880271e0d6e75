//! Applications that a program brings.

use std::sync::{Arc, Mutex, PoisonError};

use fairlane_outcome::{Run, VideoRun};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::application::{Application, Client, Server};
use fairlane_sim::{Control, run};

mod mistakes;
mod times;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A dumbbell of 1 Gbit/s throughout, with 12 ms one way, whose one group has these keys in addition.
fn scenario(duration: &str, group: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    over("", duration, group)
}

/// The same with these keys of the bottleneck.
fn over(bottleneck: &str, duration: &str, group: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let text = format!(
        r#"
        duration = "{duration}"
        [bottleneck]
        rate = "1gbit"
        delay = "10ms"
        {bottleneck}
        [access]
        rate = "1gbit"
        delay = "1ms"
        [[flows]]
        name = "own"
        kind = "tcp"
        start = "0s"
        {group}
        "#
    );
    Ok(Document::parse("own.toml", &text)?.with_applications(["mine"]).scenario()?)
}

/// Lets each flow of a group have what `make` returns for its number.
fn each<A: Application + 'static>(make: impl Fn(u32) -> A + Send + Sync + 'static) -> Control {
    Control::default().with_application("mine", move |group| {
        (0..group.flows).map(|flow| Box::new(make(flow)) as Box<dyn Application>).collect()
    })
}

fn run_own(duration: &str, group: &str, control: &Control) -> Result<Run, Box<dyn std::error::Error>> {
    Ok(run(&scenario(duration, &format!("source = \"mine\"\n{group}"))?, 0, control, &mut ())?)
}

/// The calls of an application, with their times in nanoseconds.
type Calls = Arc<Mutex<Vec<(u64, String)>>>;

fn note(calls: &Calls, now: Time, call: impl Into<String>) {
    calls.lock().unwrap_or_else(PoisonError::into_inner).push((now.as_nanos(), call.into()));
}

/// Sends one packet, asks for another three milliseconds after it has come, and for a third on a new connection.
#[derive(Debug)]
struct Noting {
    calls: Calls,
}

impl Application for Noting {
    fn on_start(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), format!("start {}", server.send(server.packets(1))));
    }
    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        note(&self.calls, client.now(), format!("data {received}"));
        if received == 1 {
            client.request(100, Duration::from_millis(3));
        }
    }
    fn on_acknowledged(&mut self, acknowledged: u32, server: &mut Server<'_>) {
        note(&self.calls, server.now(), format!("acknowledged {acknowledged}"));
        if acknowledged == 2 {
            server.set_timer(server.now() + Duration::from_millis(5));
        }
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        note(&self.calls, server.now(), format!("request {}", server.send(1)));
    }
    fn on_timer(&mut self, server: &mut Server<'_>) {
        server.reconnect();
        note(&self.calls, server.now(), format!("timer {}", server.send(u32::MAX)));
    }
    fn on_stop(&mut self, now: Time) {
        note(&self.calls, now, "stop");
    }
    fn begin_measurement(&mut self, now: Time) {
        note(&self.calls, now, "measurement");
    }
}

/// By hand: a packet of 1000 bytes takes 3 · 8 µs + 12 ms, an acknowledgement of 40 bytes 3 · 0.32 µs + 12 ms, and with
/// the request of 100 bytes 3 · 1.12 µs + 12 ms. Would catch a request that is lost, comes at once, or without the
/// pause; a timer at another time; and a new connection that counts on.
#[test]
fn calls_come_when_packets_do() -> Outcome {
    const DATA: u64 = 12_024_000;
    let calls = Calls::default();
    let noting = Arc::clone(&calls);
    let control = each(move |_| Noting { calls: Arc::clone(&noting) });
    run_own("1s", "stop = \"100ms\"\nwindow = 1", &control)?;
    let seen = calls.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = DATA + 12_003_360;
    let second = asked + 3_000_000 + DATA;
    let acknowledged = second + 12_000_960;
    let expected = [
        (0, "measurement"),
        (0, "start 1"),
        (DATA, "data 1"),
        (asked, "acknowledged 1"),
        (asked + 3_000_000, "request 2"),
        (second, "data 2"),
        (acknowledged, "acknowledged 2"),
        (acknowledged + 5_000_000, &*format!("timer {}", u32::MAX)),
        (acknowledged + 5_000_000 + DATA, "data 1"),
    ];
    let seen: Vec<(u64, &str)> = seen.iter().map(|(at, call)| (*at, call.as_str())).collect();
    assert_eq!(seen[..expected.len()], expected);
    // The window of one packet leaves room for one more before the stop, and it asks as the first one did.
    assert_eq!(seen.iter().filter(|(_, call)| *call == "stop").collect::<Vec<_>>(), [&(100_000_000, "stop")]);
    let after = seen.iter().filter(|(at, call)| *at > 100_000_000 && call.starts_with("request"));
    assert_eq!(after.count(), 0, "{seen:?}");
    Ok(())
}

/// Sends without end, and asks with each seventh packet that comes, also with those out of order.
#[derive(Debug, Default)]
struct Asking {
    packets: u32,
    asked: Vec<Time>,
    shortest: Arc<Mutex<Vec<Duration>>>,
}

impl Application for Asking {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(u32::MAX);
    }
    fn on_data(&mut self, _received: u32, client: &mut Client<'_>) {
        self.packets += 1;
        if self.packets.is_multiple_of(7) {
            self.asked.push(client.now());
            client.request(0, Duration::ZERO);
        }
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        let took = server.now() - self.asked.remove(0);
        self.shortest.lock().unwrap_or_else(PoisonError::into_inner).push(took);
    }
}

/// An acknowledgement takes 12 ms and 3 · 0.32 µs. Would catch a request that comes with an acknowledgement that was on
/// its way before it, and one that is lost.
#[test]
fn no_request_is_faster_than_its_path() -> Outcome {
    for bottleneck in ["", "loss = 0.05", "reverse.loss = 0.2", "loss = 0.05\njitter = \"5ms\""] {
        let took = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&took);
        let control = each(move |_| Asking { shortest: Arc::clone(&shared), ..Asking::default() });
        let keys = "source = \"mine\"\nwindow = 40\ntcp = { preset = \"modern\" }";
        let scenario = over(bottleneck, "5s", keys)?;
        run(&scenario, 0, &control, &mut ())?;
        let took = took.lock().unwrap_or_else(PoisonError::into_inner);
        let least = took.iter().min().ok_or("no request")?;
        assert!(
            took.len() > 50 && *least >= Duration::from_nanos(12_000_960),
            "{bottleneck}: {least} of {}",
            took.len()
        );
    }
    Ok(())
}

/// Counts the calls of a timer that is set at each acknowledgement, and those by others.
#[derive(Debug, Default)]
struct Idle(Arc<Mutex<(u32, u32)>>);

impl Application for Idle {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(1000);
        server.set_timer(server.now() + Duration::from_millis(5000));
    }
    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if received.is_multiple_of(10) {
            client.request(10, Duration::from_millis(1));
        }
    }
    fn on_acknowledged(&mut self, acknowledged: u32, server: &mut Server<'_>) {
        server.set_timer(server.now() + Duration::from_millis(if acknowledged.is_multiple_of(2) { 700 } else { 800 }));
    }
    fn on_timer(&mut self, _server: &mut Server<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
    }
    fn on_wake(&mut self, _server: &mut Server<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
    }
}

/// Would catch calls in place of timers that were replaced, and a timer that fires more than once.
#[test]
fn nobody_is_woken_without_a_cause() -> Outcome {
    let calls = Arc::new(Mutex::new((0, 0)));
    let shared = Arc::clone(&calls);
    run_own("3s", "", &each(move |_| Idle(Arc::clone(&shared))))?;
    assert_eq!(*calls.lock().unwrap_or_else(PoisonError::into_inner), (1, 0));
    Ok(())
}

/// Sends without end, and ten packets on a new connection later.
#[derive(Debug, Default)]
struct Leaving {
    received: Arc<Mutex<u32>>,
}

impl Application for Leaving {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(u32::MAX);
        server.set_timer(Time::from_nanos(500_000_000));
    }
    fn on_data(&mut self, received: u32, _client: &mut Client<'_>) {
        *self.received.lock().unwrap_or_else(PoisonError::into_inner) = received;
    }
    fn on_timer(&mut self, server: &mut Server<'_>) {
        server.reconnect();
        server.send(10);
    }
}

/// Would catch a new connection that is refused after data without end.
#[test]
fn a_new_connection_follows_one_without_end() -> Outcome {
    let received = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&received);
    run_own("1s", "", &each(move |_| Leaving { received: Arc::clone(&shared) }))?;
    assert_eq!(*received.lock().unwrap_or_else(PoisonError::into_inner), 10);
    Ok(())
}

/// The calls of `source = "rpc"`.
#[derive(Debug, Default)]
struct Calling {
    end: u32,
    asked: Option<Time>,
}

impl Application for Calling {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.end = server.send(server.packets(7500));
    }
    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if received < self.end {
            return;
        }
        self.end = u32::MAX;
        let asked = self.asked.replace(client.now());
        asked.into_iter().for_each(|asked| client.completed(client.now() - asked, None));
        client.request(100, Duration::ZERO);
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        self.on_start(server);
    }
}

/// Would catch an interface by which the applications of Fairlane cannot be written.
#[test]
fn an_own_application_does_what_the_same_of_fairlane_does() -> Outcome {
    let control = each(|_| Calling::default());
    let keys = "count = 3\ncc = \"cubic\"\ntcp = { preset = \"modern\" }";
    let own = run_own("5s", keys, &control)?;
    let rpc = scenario("5s", &format!("source = \"rpc\"\nrequest = \"100b\"\nsize = \"7500b\"\n{keys}"))?;
    let theirs = run(&rpc, 0, &Control::default(), &mut ())?;
    assert_eq!(own.flows, theirs.flows);
    assert!(own.flows[0].completions_ns.as_ref().is_some_and(|durations| durations.len() > 100));
    Ok(())
}

/// One of several workers whose client waits for all before it asks again.
#[derive(Debug)]
struct Worker {
    workers: u32,
    /// The workers that have not answered, and the blocks so far.
    round: Arc<Mutex<(u32, u32)>>,
    end: u32,
}

impl Application for Worker {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.end = server.send(1);
    }
    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if received == self.end {
            *round = if round.0 > 1 { (round.0 - 1, round.1) } else { (self.workers, round.1 + 1) };
            if round.0 == self.workers {
                client.request(100, Duration::ZERO);
            }
        }
    }
    fn on_request(&mut self, server: &mut Server<'_>) {
        (0..self.workers).for_each(|flow| server.wake(flow, server.now()));
    }
    fn on_wake(&mut self, server: &mut Server<'_>) {
        self.on_start(server);
    }
}

/// By hand: the last of four packets comes 12.024 ms and the bottleneck's 3 · 8 µs after the start of a round, and the
/// request takes 12.00336 ms. So a round has 24.05136 ms, and the answers of the 416th come before the end of 10 s.
/// Would catch state that is not shared, and flows that are not woken.
#[test]
fn flows_of_a_group_share_state_and_wake_each_other() -> Outcome {
    let rounds = Arc::new(Mutex::new((4, 0)));
    let shared = Arc::clone(&rounds);
    let control = Control::default().with_application("mine", move |group| {
        let worker = || Worker { workers: group.flows, round: Arc::clone(&shared), end: 0 };
        (0..group.flows).map(|_| Box::new(worker()) as Box<dyn Application>).collect()
    });
    let run = run_own("10s", "count = 4", &control)?;
    let blocks = rounds.lock().unwrap_or_else(PoisonError::into_inner).1;
    assert_eq!(blocks, 416);
    assert!(run.flows.iter().all(|flow| flow.unique_bytes == 416_000), "{:?}", run.flows);
    Ok(())
}

/// Reports a view of three stalls.
#[derive(Debug)]
struct Player;

impl Application for Player {
    fn on_start(&mut self, server: &mut Server<'_>) {
        server.send(1);
    }
    fn on_data(&mut self, _received: u32, _client: &mut Client<'_>) {}
    fn video(&mut self, now: Time) -> Option<VideoRun> {
        Some(VideoRun { stalls: 3, stalled_ns: now.as_nanos(), ..VideoRun::default() })
    }
}

/// Would catch a player whose viewer nobody asks.
#[test]
fn a_player_tells_what_its_viewer_saw() -> Outcome {
    let run = run_own("2s", "", &each(|_| Player))?;
    let video = run.flows[0].video.as_ref().ok_or("no video")?;
    assert_eq!((video.stalls, video.stalled_ns), (3, 2_000_000_000));
    Ok(())
}
