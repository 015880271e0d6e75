//! Every combination of the simulator's shortcuts gives the result of an observed run, which takes none, digit by
//! digit.

// More than 500 lines: one comparison, and the networks that are drawn for it.

use std::path::{Path, PathBuf};

use fairlane_qdisc::{Duration, Rate, Seed, Stream, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Observer, PacketEvent, Shortcuts, Simulation, run};

/// Looks at every packet and does nothing.
struct Idle;

impl Observer for Idle {
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).expect("the folder of scenarios");
    let paths = files.filter_map(|file| file.ok().map(|file| file.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    paths.sort();
    paths
}

fn scenario(path: &Path, changes: &[(&str, &str)]) -> Scenario {
    let mut document = Document::load(path).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in changes {
        document.set(key, value).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    document.scenario().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the whole result of both runs, every number with all its digits.
fn both(scenario: &Scenario) -> [String; 2] {
    let observed = run(scenario, 0, &Control::default(), &mut Idle).unwrap_or_else(|error| panic!("{error}"));
    let unobserved = run(scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    [format!("{observed:?}"), format!("{unobserved:?}")]
}

/// All combinations of shortcuts, with prefetching for any number of flows.
fn combinations() -> impl Iterator<Item = Shortcuts> {
    let switches = [false, true];
    let prefetch = [usize::MAX, 0];
    let pairs = switches.into_iter().flat_map(move |lazy_links| switches.map(|early_hosts| (lazy_links, early_hosts)));
    pairs.flat_map(move |(lazy_links, early_hosts)| {
        prefetch.map(|prefetch_from| Shortcuts { lazy_links, early_hosts, prefetch_from })
    })
}

/// Checks that a run with each combination of shortcuts has the result of an observed run.
fn check_combinations(scenario: &Scenario, name: &str) {
    let observed = run(scenario, 0, &Control::default(), &mut Idle).unwrap_or_else(|error| panic!("{error}"));
    let observed = format!("{observed:?}");
    for shortcuts in combinations() {
        let simulation = Simulation::with_shortcuts(scenario, 0, shortcuts).unwrap_or_else(|error| panic!("{error}"));
        let run = simulation.finish(&Control::default()).unwrap_or_else(|error| panic!("{error}"));
        let run = format!("{run:?}");
        assert!(observed == run, "{name} with {shortcuts:?}:\n{observed}\n{run}");
    }
}

/// Would catch a shortcut that changes a result alone or together with another one, or that is taken although it is
/// switched off.
#[test]
fn every_combination_of_shortcuts_gives_the_same_result() {
    assert_eq!(combinations().count(), 8);
    for path in scenarios() {
        let lasting = [("warmup", "0s"), ("duration", "3s"), ("warmup", "500ms")];
        let name = path.display().to_string();
        // Its flows start later than that.
        if !name.contains("blue-fig6") {
            check_combinations(&scenario(&path, &lasting), &name);
        }
    }
    for kind in fairlane_qdisc::Kind::ALL {
        check_combinations(&dumbbell(kind.name(), "1500kbit", "50kbit"), kind.name());
    }
    let mut random = Seed::new(2).stream("networks");
    for _ in 0..20 {
        let text = drawn(&mut random);
        check_combinations(&parsed(&text), &text);
    }
}

/// Would catch any event at a link that is handled too late, twice, or in another order.
#[test]
fn every_scenario_gives_the_same_result() {
    let paths = scenarios();
    assert!(paths.len() >= 10, "{paths:?}");
    for path in paths {
        let duration = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("overload" | "peers-100mbit" | "peers-1gbit") => "2s",
            // The last flows start by then.
            Some("blue-fig6") => "62s",
            _ => "12s",
        };
        let scenario = scenario(&path, &[("warmup", "0s"), ("duration", duration), ("warmup", "500ms")]);
        let [observed, unobserved] = both(&scenario);
        assert!(observed == unobserved, "{}:\n{observed}\n{unobserved}", path.display());
    }
}

/// Returns a dumbbell with flows of all kinds, equal and unequal.
fn dumbbell(queue: &str, access: &str, back: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "6s"
        warmup = "500ms"
        [tcp]
        preset = "modern"
        ecn = true
        [bottleneck]
        rate = "2mbit"
        delay = "3ms"
        queue = {{ kind = "{queue}" }}
        reverse = {{ rate = "{back}" }}
        [access]
        rate = "{access}"
        delay = "1ms"
        [[flows]]
        name = "sack"
        kind = "tcp"
        count = 9
        cc = "sack"
        [[flows]]
        name = "transfers"
        kind = "tcp"
        cc = "reno"
        count = 3
        packet = "500b"
        source = "transfers"
        size = "20kb"
        think = "50ms"
        [[flows]]
        name = "tfrc"
        kind = "tfrc"
        count = 2
        [[flows]]
        name = "cbr"
        kind = "udp"
        count = 2
        rate = "800kbit"
        jitter = 0.1
    "#
    );
    let scenario = Document::parse("dumbbell.toml", &text).and_then(|document| document.scenario());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// Would catch a discipline whose packets are asked for at other times, and packets of equal times that change places.
#[test]
fn every_discipline_gives_the_same_result() {
    for kind in fairlane_qdisc::Kind::ALL {
        // Equal links and packets, so that many meet in the same nanosecond; then links that are slow enough for
        // packets to wait.
        for (access, back) in [("10mbit", "2mbit"), ("1500kbit", "50kbit")] {
            let [observed, unobserved] = both(&dumbbell(kind.name(), access, back));
            assert!(observed == unobserved, "{kind} with access of {access}:\n{observed}\n{unobserved}");
        }
    }
}

/// Lets both runs go on to `now`, and compares what they show.
fn step_both(observed: &mut Simulation<Idle>, unobserved: &mut Simulation, now: Time) {
    observed.step(now, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    unobserved.step(now, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let queues = [observed.queues().collect::<Vec<_>>(), unobserved.queues().collect()];
    assert_eq!(queues[0], queues[1], "at {now:?}");
    assert!(observed.flows().eq(unobserved.flows()), "at {now:?}");
}

/// Would catch state that is read between steps before all has happened that happens until then, and a link whose rate
/// changes and whose packets are then looked at too late.
#[test]
fn steps_show_the_same_state() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/choke-fig3.toml");
    let lasting = [("warmup", "1s"), ("duration", "6s")];
    let mut observed =
        Simulation::observed(&scenario(&path, &lasting), 0, Idle).unwrap_or_else(|error| panic!("{error}"));
    let mut unobserved = Simulation::new(&scenario(&path, &lasting), 0).unwrap_or_else(|error| panic!("{error}"));
    let mut now = Time::ZERO;
    for step in 0..500 {
        now += Duration::from_nanos(10_000_000 + step * 1_017);
        step_both(&mut observed, &mut unobserved, now);
        if step % 100 == 99 {
            let rate = ["300kbit", "8mbit", "1mbit", "20mbit", "2mbit"][step as usize / 100];
            let changed = scenario(&path, &[lasting.as_slice(), &[("bottleneck.rate", rate)]].concat());
            observed.change(&changed).unwrap_or_else(|error| panic!("{error}"));
            unobserved.change(&changed).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Notes when packets were delivered.
#[derive(Default)]
struct Deliveries(Vec<Time>);

impl Observer for Deliveries {
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, at: Time, _flow: u32, _seq: u32) {
        self.0.push(at);
    }
}

/// Each step ends in the nanosecond in which a packet arrives. Would catch one that a step delivers early although it
/// arrives at its end, and one that it leaves out.
#[test]
fn steps_that_end_at_an_arrival_show_the_same_state() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/choke-fig3.toml");
    let scenario = scenario(&path, &[("warmup", "0s"), ("duration", "2s"), ("warmup", "500ms")]);
    let mut deliveries = Deliveries::default();
    run(&scenario, 0, &Control::default(), &mut deliveries).unwrap_or_else(|error| panic!("{error}"));
    assert!(deliveries.0.len() > 100, "{}", deliveries.0.len());
    let mut observed = Simulation::observed(&scenario, 0, Idle).unwrap_or_else(|error| panic!("{error}"));
    let mut unobserved = Simulation::new(&scenario, 0).unwrap_or_else(|error| panic!("{error}"));
    for at in deliveries.0 {
        step_both(&mut observed, &mut unobserved, at);
    }
}

/// So many flows that what their packets need is prefetched: then packets that a link has begun to send are kept a
/// while. Would catch packets that are kept beyond the end of a step, or come to their hosts in another order.
#[test]
fn many_flows_show_the_same_state() {
    let text = r#"
        duration = "300ms"
        max_flows = 30000
        [tcp]
        preset = "modern"
        [bottleneck]
        rate = "2gbit"
        delay = "5ms"
        queue = { kind = "choke", limit = "900p", min = "100p", max = "500p" }
        [access]
        rate = "1gbit"
        delay = "1ms"
        [[flows]]
        name = "sack"
        kind = "tcp"
        cc = "sack"
        count = 20000
        start = "0s..150ms"
        [[flows]]
        name = "bbr"
        kind = "tcp"
        cc = "bbr"
        count = 500
        start = "0s..150ms"
        [[flows]]
        name = "cbr"
        kind = "udp"
        count = 100
        rate = "4mbit"
    "#;
    let scenario = parsed(text);
    let mut observed = Simulation::observed(&scenario, 0, Idle).unwrap_or_else(|error| panic!("{error}"));
    let mut unobserved = Simulation::new(&scenario, 0).unwrap_or_else(|error| panic!("{error}"));
    for step in 1..=12 {
        let now = Time::ZERO + Duration::from_nanos(step * 25_000_000 - step % 3 * 1_017);
        step_both(&mut observed, &mut unobserved, now);
    }
    let sent: u64 = unobserved.flows().map(|flow| flow.sent).sum();
    assert!(sent > 100_000, "{sent}");
    let [observed, unobserved] = both(&scenario);
    assert!(observed == unobserved, "the results differ");
}

/// Two links in a row, of which the first one becomes 250 times as fast: what it sends takes less time than the second
/// one was told that it would. Would catch a link that is still looked at as late as before.
#[test]
fn a_faster_link_is_looked_at_sooner() {
    let scenario = |rate: &str| {
        let flows = |name: &str, from: &str| {
            format!(
                r#"
        [[flows]]
        name = "{name}"
        kind = "udp"
        from = "{from}"
        to = "c"
        count = 3
        packet = "1000b"
        rate = "1mbit"
        access = {{ rate = "100mbit", delay = "10us" }}
    "#
            )
        };
        let link = |from: &str, to: &str, rate: &str, queue: &str| {
            format!("[[links]]\nfrom = '{from}'\nto = '{to}'\nrate = '{rate}'\ndelay = '10us'\nqueue = {{ {queue} }}\n")
        };
        let first = link("a", "b", rate, "kind = 'droptail', limit = '50p'");
        let second = link("b", "c", "3mbit", "kind = 'red', limit = '30p'");
        parsed(&["duration = '2s'\n".into(), first, second, flows("long", "a"), flows("short", "b")].concat())
    };
    let mut observed = Simulation::observed(&scenario("200kbit"), 0, Idle).unwrap_or_else(|error| panic!("{error}"));
    let mut unobserved = Simulation::new(&scenario("200kbit"), 0).unwrap_or_else(|error| panic!("{error}"));
    for step in 1..40 {
        let now = Time::ZERO + Duration::from_nanos(step * 50_000_000);
        step_both(&mut observed, &mut unobserved, now);
        if step == 10 {
            observed.change(&scenario("50mbit")).unwrap_or_else(|error| panic!("{error}"));
            unobserved.change(&scenario("50mbit")).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// A link of a rate that no file may have, at which a packet takes no time. Would catch a link that is looked at again
/// and again at the same time.
#[test]
fn the_fastest_link_is_looked_at() {
    let mut scenario = dumbbell("droptail", "10mbit", "1gbit");
    scenario.duration = Duration::from_millis(700);
    for side in scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]) {
        side.rate = Rate::from_bits_per_second(u64::MAX);
    }
    let [observed, unobserved] = both(&scenario);
    assert!(observed == unobserved, "the results differ");
}

/// Returns one of `choices`.
fn one_of<'a>(random: &mut Stream, choices: &[&'a str]) -> &'a str {
    choices[random.below(choices.len() as u32) as usize]
}

/// Returns a chain of three nodes whose links, hosts and flows are drawn: timers that are due before a packet, delayed
/// acknowledgements, hosts' links that are slow, have a discipline or do not exist, flows that stop and that start
/// again, and routes between neighbouring hosts.
fn drawn(random: &mut Stream) -> String {
    let mut text = String::from("duration = \"3s\"\nwarmup = \"200ms\"\n");
    for (from, to) in [("a", "b"), ("b", "c")] {
        let rate = one_of(random, &["500kbit", "2mbit", "7mbit"]);
        let delay = one_of(random, &["1ms", "9ms", "40ms"]);
        let [queue, back] = [(); 2].map(|()| one_of(random, &["droptail", "red", "choke", "codel", "fq-codel", "cbq"]));
        let loss = one_of(random, &["", "", "", "loss = 0.05\n", "jitter = \"800us\"\n"]);
        text += &format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{loss}\
             queue = {{ kind = \"{queue}\" }}\nreverse = {{ queue = {{ kind = \"{back}\" }} }}\n"
        );
    }
    for number in 0..4 + random.below(4) {
        let [from, to] = *[["a", "b"], ["a", "c"], ["b", "c"], ["c", "a"], ["b", "a"]]
            .get(random.below(5) as usize)
            .expect("one of five");
        text += &format!(
            "[[flows]]\nname = \"{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {}\n",
            1 + random.below(3)
        );
        let rate = one_of(random, &["900kbit", "10mbit", "100mbit"]);
        let delay = one_of(random, &["0s", "1ms", "20ms"]);
        let queue = one_of(random, &["", "", ", queue = { kind = \"red\" }"]);
        text += &one_of(random, &["", "access\n", "access\n", "access\n"])
            .replace("access", &format!("access = {{ rate = \"{rate}\", delay = \"{delay}\"{queue} }}"));
        let stop = one_of(random, &["", "", "stop = \"2s\"\n"]);
        let phases = one_of(random, &[stop, stop, "phases = [[\"0s\", \"1s\"], [\"1300ms\", \"2500ms\"]]\n"]);
        match random.below(10) {
            0 => {
                text += &format!("kind = \"udp\"\nrate = \"400kbit\"\n{phases}");
                continue;
            }
            1 => {
                text += &format!("kind = \"tfrc\"\n{stop}");
                continue;
            }
            _ => {}
        }
        let cc = one_of(random, &["reno", "tahoe", "newreno", "sack", "cubic", "vegas", "bbr", "ledbat"]);
        let sources = [
            "",
            "source = \"exponential\"\non = \"200ms\"\noff = \"100ms\"\n",
            "source = \"transfers\"\nsize = \"20kb\"\n",
            "source = \"rpc\"\nsize = \"3kb\"\nrequest = \"200b\"\n",
            "source = \"web\"\nsize = \"5kb\"\nobjects = 4\nconnections = 1\n",
            "source = \"video\"\nsegment = \"100ms\"\nladder = [\"100kbit\", \"1mbit\"]\nbuffer = \"1s\"\n",
        ];
        let source = if random.chance(0.5) { "" } else { one_of(random, &sources) };
        let times = if source.is_empty() { phases } else { stop };
        let ack = one_of(random, &["false", "\"15ms\"", "\"200ms\""]);
        let recovery = one_of(random, &["", "", ", recovery = \"rack\""]);
        let recovery = if cc == "reno" || cc == "cubic" { recovery } else { "" };
        let handshake = one_of(random, &["true", "false"]);
        text += &format!(
            "kind = \"tcp\"\ncc = \"{cc}\"\n{source}{times}tcp = {{ preset = \"modern\", delayed_ack = {ack}, \
             min_rto = \"30ms\", initial_rto = \"100ms\", handshake = {handshake}{recovery} }}\n"
        );
    }
    text
}

/// Would catch a packet that its host takes early although something else happens there before, or in another order: in
/// the whole result, and in the state of each flow after any step.
#[test]
fn any_network_gives_the_same_result() {
    let mut random = Seed::new(1).stream("networks");
    for _ in 0..150 {
        let text = drawn(&mut random);
        let read = Document::parse("drawn.toml", &text).and_then(|document| document.scenario());
        let scenario = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let [whole, unobserved] = both(&scenario);
        assert!(whole == unobserved, "{text}\n{whole}\n{unobserved}");
        let mut observed = Simulation::observed(&scenario, 0, Idle).unwrap_or_else(|error| panic!("{error}"));
        let mut unobserved = Simulation::new(&scenario, 0).unwrap_or_else(|error| panic!("{error}"));
        let mut now = Time::ZERO;
        for _ in 0..25 {
            now += Duration::from_nanos(u64::from(random.below(200_000_000)));
            now = now.min(Time::ZERO + scenario.duration);
            observed.step(now, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
            unobserved.step(now, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
            assert!(observed.flows().eq(unobserved.flows()), "at {now:?}\n{text}");
        }
        let stepped = unobserved.finish(&Control::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(format!("{stepped:?}") == whole, "{text}");
    }
}

fn parsed(text: &str) -> Scenario {
    let read = Document::parse("text.toml", text).and_then(|document| document.scenario());
    read.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Stops a run again and again, and returns the number of stops. At each one its state must be that of an observed run
/// at this time.
fn stops(scenario: &Scenario) -> usize {
    let mut observed = Simulation::observed(scenario, 0, Idle).unwrap_or_else(|error| panic!("{error}"));
    let mut unobserved = Simulation::new(scenario, 0).unwrap_or_else(|error| panic!("{error}"));
    let (end, stopped) = (Time::ZERO + scenario.duration, Control::default());
    stopped.stop();
    let mut stops = 0;
    while !unobserved.step(end, &stopped).unwrap_or_else(|error| panic!("{error}")) {
        let now = unobserved.now();
        observed.step(now, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(observed.flows().eq(unobserved.flows()), "at {now:?}");
        assert!(observed.queues().eq(unobserved.queues()), "at {now:?}");
        stops += 1;
    }
    stops
}

/// Would catch a run that is stopped after early deliveries, and shows events that have not happened yet.
#[test]
fn a_stopped_run_shows_the_state_at_its_time() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/peers-100mbit.toml");
    assert!(stops(&scenario(&path, &[("warmup", "0s"), ("duration", "3s")])) > 1);
}

/// Two pairs of hosts of equal delays, whose packets all arrive at the same nanoseconds, and a flow whose timers stop
/// the run at other times. Would catch a stop that shows a part of what happens at its last nanosecond: early, or in
/// event order, as with transfers.
#[test]
fn a_stopped_run_shows_all_that_happens_at_once() {
    let link = |from: &str, to: &str, delay: &str| {
        let queue = "queue = { kind = \"droptail\", limit = \"200p\" }";
        format!("[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"20mbit\"\ndelay = \"{delay}\"\n{queue}\n")
    };
    let flow = |from: &str, to: &str, delay: &str, kind: &str| {
        let access = format!("access = {{ rate = \"1gbit\", delay = \"{delay}\" }}");
        format!("[[flows]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\npacket = \"125b\"\n{access}\n{kind}\n")
    };
    let apart = [link("e", "f", "1ms"), flow("e", "f", "1ms", "kind = \"udp\"\nrate = \"1mbit\"")].concat();
    for source in ["", "source = \"transfers\"\nsize = \"10mb\""] {
        let tcp = format!("kind = \"tcp\"\ncc = \"reno\"\nstart = \"0s\"\n{source}");
        let pairs = [flow("a", "b", "1ms", &tcp), flow("c", "d", "6ms", &tcp)].concat();
        let text = format!("duration = \"10s\"\n{}{}{pairs}", link("a", "b", "20ms"), link("c", "d", "10ms"));
        assert!(stops(&parsed(&text)) > 10);
        assert!(stops(&parsed(&format!("{text}{apart}"))) > 10);
    }
}

/// Would catch a run that asks seldom whether it is stopped, where there are no events but those at links: each packet
/// has three there, and a run goes on for 16,384.
#[test]
fn a_run_is_stopped_soon() {
    let scenario = parsed(
        r#"
        duration = "2s"
        [bottleneck]
        rate = "10gbit"
        delay = "1ms"
        queue = { kind = "droptail", limit = "500p" }
        [access]
        rate = "20gbit"
        delay = "1ms"
        [[flows]]
        name = "tcp"
        kind = "tcp"
        packet = "1500b"
        start = "0s"
    "#,
    );
    let mut simulation = Simulation::new(&scenario, 0).unwrap_or_else(|error| panic!("{error}"));
    simulation.step(Time::from_nanos(1_000_000_000), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let stopped = Control::default();
    stopped.stop();
    let sent = |simulation: &Simulation| simulation.flow(0).map_or(0, |flow| flow.sent);
    for _ in 0..10 {
        let before = sent(&simulation);
        let ended = simulation.step(Time::ZERO + scenario.duration, &stopped).unwrap_or_else(|error| panic!("{error}"));
        let after = sent(&simulation);
        assert!(!ended && after - before < 8_000, "{before} to {after} packets");
    }
}

/// A link that reorders lets data overtake the copy of a SYN, and a delayed acknowledgement is due before the copy
/// arrives. Would catch an answer that the host sends before that acknowledgement.
#[test]
fn a_copy_of_a_syn_does_not_overtake_a_timer() {
    for seed in 0..40 {
        let text = format!(
            r#"
            duration = "3s"
            seed = {seed}
            [[links]]
            from = "a"
            to = "m"
            rate = "20mbit"
            delay = "55ms"
            jitter = "50ms"
            reorder = true
            [[links]]
            from = "m"
            to = "n"
            rate = "20mbit"
            delay = "1ms"
            [[links]]
            from = "n"
            to = "b"
            rate = "20mbit"
            delay = "10ms"
            [[flows]]
            name = "tcp"
            kind = "tcp"
            cc = "reno"
            from = "a"
            to = "b"
            count = 3
            access = {{ rate = "1mbit", delay = "1ms" }}
            tcp = {{ preset = "modern", handshake = true, initial_rto = "100ms", min_rto = "30ms", delayed_ack = "1ms", initial_window = 1 }}
        "#
        );
        let [observed, unobserved] = both(&parsed(&text));
        assert!(observed == unobserved, "seed {seed}:\n{observed}\n{unobserved}");
    }
}

/// Would catch packets of a flow that arrive within the same nanosecond and are handled in another order.
#[test]
fn packets_within_a_nanosecond_keep_their_order() {
    let [observed, unobserved] = both(&parsed(
        r#"
        duration = "2ms"
        [bottleneck]
        rate = "40gbit"
        delay = "10us"
        [access]
        rate = "9gbit"
        delay = "1us"
        [[flows]]
        name = "udp"
        kind = "udp"
        count = 8
        packet = "100b"
        sizes = "geometric"
        rate = "8gbit"
        jitter = 1.0
        start = "0s..1us"
    "#,
    ));
    assert!(observed == unobserved, "{observed}\n{unobserved}");
}
