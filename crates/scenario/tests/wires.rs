//! Loss, jitter and rates that vary: what the file says is what the engine is told.

mod editor;

use fairlane_scenario::{
    Document, Duration, LinkSide, Loss, ProbeKind, Rate, Scenario, Shaper, ShaperKind, Size, Wire,
};

fn scenario(link: &str, settings: &[(&str, &str)]) -> Scenario {
    let text = format!("duration = \"10s\"\n[bottleneck]\n{link}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n");
    let mut document = Document::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in settings {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document.scenario().unwrap_or_else(|error| panic!("{error}"))
}

fn sides(link: &str) -> (LinkSide, LinkSide) {
    let link = scenario(link, &[]).links.remove(0);
    (link.forward, link.reverse)
}

const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn loss_is_of_its_direction_and_in_tcs_words() {
    let (forward, reverse) = sides("rate = \"1mbit\"\nloss = 0.01\nreverse = { loss = { p = 0.1, r = 0.2 } }");
    assert_eq!(forward.wire.loss, Some(Loss { to_bad: 0.0, to_good: 1.0, in_bad: 0.01, in_good: 0.01 }));
    assert_eq!(reverse.wire.loss, Some(Loss { to_bad: 0.1, to_good: 0.2, in_bad: 1.0, in_good: 0.0 }));
    let (forward, reverse) = sides("rate = \"1mbit\"\nloss = { p = 0.1, r = 0.2, 1-h = 0.5, 1-k = 0.25 }");
    assert_eq!(forward.wire.loss, Some(Loss { to_bad: 0.1, to_good: 0.2, in_bad: 0.5, in_good: 0.25 }));
    assert_eq!(reverse.wire, Wire::default());
    assert_eq!(sides("rate = \"1mbit\"\nloss = 0").0.wire, Wire::default());
}

#[test]
fn frames_are_of_their_direction() {
    use fairlane_scenario::Aggregation;
    let (forward, reverse) = sides(
        "rate = \"1mbit\"\nreverse = { aggregation = { packets = 32, access = \"500us\", time = \"4ms\", thin_acks = true } }",
    );
    let access = Duration::from_nanos(500_000);
    assert_eq!(forward.wire.aggregation, None);
    let expected = Aggregation { packets: 32, time: Some(ms(4)), access, thin_acks: true };
    assert_eq!(reverse.wire.aggregation, Some(expected));
    let (forward, reverse) = sides("rate = \"1mbit\"\naggregation = { packets = 2, access = \"0s\" }");
    let expected = Aggregation { packets: 2, time: None, access: Duration::ZERO, thin_acks: false };
    assert_eq!((forward.wire.aggregation, reverse.wire), (Some(expected), Wire::default()));
    let refusal = |frames: &str| {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\naggregation = {frames}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n"
        );
        let read = Document::parse("s.toml", &text).and_then(|file| file.scenario());
        editor::agrees(&text, &read);
        read.err().map_or(String::new(), |error| error.to_string())
    };
    for (frames, part) in [
        ("{ packets = 0, access = \"1ms\" }", "from 1 to 10000"),
        ("{ packets = 8 }", "access = \"500us\""),
        ("{ access = \"1ms\" }", "packets = 32"),
        ("{ frames = 8, access = \"1ms\" }", "called `packets`"),
        ("{ packets = 8, access = \"2s\" }", "1s"),
    ] {
        let error = refusal(frames);
        assert!(error.contains("s.toml:4:") && error.contains(part), "{frames}: {error}");
    }
}

#[test]
fn a_policer_is_of_its_direction() {
    use fairlane_qdisc::{Bytes, Rate};
    use fairlane_scenario::Policer;
    let (forward, reverse) = sides("rate = \"10mbit\"\npolicer = { rate = \"5mbit\", burst = \"75kb\" }");
    let expected = Policer { rate: Rate::from_bits_per_second(5_000_000), burst: Bytes::new(75_000) };
    assert_eq!((forward.wire.policer, reverse.wire), (Some(expected), Wire::default()));
    let (forward, reverse) = sides("rate = \"1mbit\"\nreverse = { policer = { rate = \"5mbit\", burst = \"75kb\" } }");
    assert_eq!((forward.wire.policer, reverse.wire.policer), (None, Some(expected)));
    for (policer, part) in [
        ("{ rate = \"5mbit\" }", "burst = \"100kb\""),
        ("{ burst = \"75kb\" }", "rate = \"5mbit\""),
        ("{ rate = \"0bit\", burst = \"75kb\" }", "from 1bit"),
        ("{ rate = \"5mbit\", burst = \"0b\" }", "from 1b"),
        ("{ rate = \"5mbit\", burst = \"50p\" }", "burst"),
        ("{ rate = \"5mbit\", limit = \"50p\" }", "called `burst`"),
        ("\"5mbit\"", "policer"),
    ] {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\npolicer = {policer}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n"
        );
        let read = Document::parse("s.toml", &text).and_then(|file| file.scenario());
        editor::agrees(&text, &read);
        let error = read.err().map_or(String::new(), |error| error.to_string());
        assert!(error.contains("s.toml:4:") && error.contains(part), "{policer}: {error}");
    }
}

#[test]
fn jitter_needs_a_delay_and_reordering_a_jitter() {
    let (forward, reverse) =
        sides("rate = \"1mbit\"\ndelay = \"5ms\"\njitter = \"5ms\"\nreorder = true\nreverse = { jitter = \"1ms\" }");
    assert_eq!((forward.wire.jitter, forward.wire.reorder), (ms(5), true));
    assert_eq!((reverse.delay, reverse.wire.jitter, reverse.wire.reorder), (ms(5), ms(1), false));
}

/// Would catch a shaper of the wrong direction, bounds that do not follow its rate, and a queue that is told the link's
/// rate.
#[test]
fn a_shaper_is_of_its_direction() {
    let link = "rate = \"8mbit\"\nshaper = { rate = \"4mbit\" }\nreverse = { shaper = { kind = \"autorate\", \
                rate = \"2mbit\", min = \"1mbit\", max = \"3mbit\", law = \"steps\", probe = \"one-way\", buffer = \"64kb\" } }";
    let (forward, reverse) = sides(link);
    let of = |side: &LinkSide| side.wire.shaper.clone().expect("it has a shaper");
    let Shaper { kind, rate, autorate, probe, buffer } = of(&forward);
    assert_eq!((kind, rate, probe, buffer), (ShaperKind::Fixed, mbit(4), ProbeKind::Echo, Size::packets(1000)));
    assert_eq!((autorate.min, autorate.base, autorate.max), (mbit(1), mbit(4), mbit(16)));
    assert_eq!((forward.rate, forward.queue_rate()), (mbit(8), mbit(4)));
    let Shaper { kind, autorate, probe, buffer, .. } = of(&reverse);
    assert_eq!((kind, probe, buffer), (ShaperKind::Autorate, ProbeKind::OneWay, Size::bytes(64_000)));
    assert_eq!((autorate.min, autorate.base, autorate.max), (mbit(1), mbit(2), mbit(3)));
    assert_eq!(autorate.law.name(), "steps");
    assert_eq!(sides("rate = \"8mbit\"\nshaper = { rate = \"4mbit\" }").1.wire, Wire::default());
    let settings = [("bottleneck.shaper.kind", "autorate"), ("bottleneck.shaper.rate", "5mbit")];
    let changed = scenario(link, &settings).links.remove(0).forward;
    assert_eq!((of(&changed).kind, of(&changed).rate), (ShaperKind::Autorate, mbit(5)));
}

/// Would catch a shaper that would stop its link, and errors that do not say what would be right.
#[test]
fn a_shaper_that_contradicts_itself_is_refused() {
    let refusal = |shaper: &str| {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"8mbit\"\nshaper = {shaper}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n"
        );
        let read = Document::parse("s.toml", &text).and_then(|file| file.scenario());
        editor::agrees(&text, &read);
        read.err().map_or(String::new(), |error| error.to_string())
    };
    let cases = [
        ("{ kind = \"autorate\" }", "rate = \"8mbit\""),
        ("{ rate = \"0bit\" }", "from 1bit to 10tbit"),
        ("{ rate = \"4mbit\", min = \"5mbit\" }", "from 1bit to 4mbit"),
        ("{ rate = \"4mbit\", max = \"3mbit\" }", "from 4mbit to 10tbit"),
        ("{ rate = \"4mbit\", buffer = \"0p\" }", "at least 1p"),
        ("{ rate = \"4mbit\", law = \"pid\" }", "there is no law of autorate \"pid\""),
        ("{ rate = \"4mbit\", kind = \"auto\" }", "autorate"),
        ("{ fixed = \"4mbit\" }", "kind = \"fixed\""),
    ];
    for (shaper, part) in cases {
        let error = refusal(shaper);
        assert!(error.contains("s.toml:") && error.contains(part), "{shaper}: {error}");
    }
}

/// The reverse direction has the same rate, so it varies alike unless it says its own.
#[test]
fn a_rate_that_varies_is_read_in_order() {
    let steps = "rate = { steps = [[\"0s\", \"1mbit\"], [\"2s\", \"8mbit\"], [\"3s\", \"0bit\"]], every = \"4s\" }";
    let (forward, reverse) = sides(steps);
    let rates = forward.wire.rates.as_ref().expect("it varies");
    assert_eq!(rates.steps(), [(ms(0), mbit(1)), (ms(2000), mbit(8)), (ms(3000), mbit(0))]);
    let at = [0, 1999, 2000, 3500, 4000, 6000].map(|millis| rates.at(ms(millis)));
    assert_eq!(at, [mbit(1), mbit(1), mbit(8), mbit(0), mbit(1), mbit(8)]);
    // 2 s at 1 Mbit/s, 1 s at 8 Mbit/s, 1 s of nothing.
    let mean = Rate::from_bits_per_second(2_500_000);
    assert_eq!((rates.every(), rates.nominal(), forward.rate), (Some(ms(4000)), mean, mean));
    let (once, _) = sides(&steps.replace(", [\"3s\", \"0bit\"]], every = \"4s\"", "]"));
    assert_eq!((once.rate, once.wire.rates.and_then(|rates| rates.every())), (mbit(8), None));
    assert_eq!((reverse.rate, &reverse.wire), (forward.rate, &forward.wire));
    let (_, reverse) = sides(&format!("{steps}\nreverse = {{ rate = \"2mbit\" }}"));
    assert_eq!((reverse.rate, reverse.wire), (mbit(2), Wire::default()));
}

#[test]
fn the_command_line_changes_each_of_them() {
    let link = "rate = \"1mbit\"\nloss = { p = 0.1, r = 0.2 }";
    let settings =
        [("bottleneck.loss.1-h", "0.5"), ("bottleneck.jitter", "500us"), ("bottleneck.reverse.loss", "0.25")];
    let link = scenario(link, &settings).links.remove(0);
    assert_eq!(link.forward.wire.loss.map(|loss| loss.in_bad), Some(0.5));
    assert_eq!(link.forward.wire.jitter, Duration::from_nanos(500_000));
    assert_eq!(link.reverse.wire.loss, Some(Loss::independent(0.25)));
    let steps = "rate = { steps = [[\"0s\", \"1mbit\"], [\"2s\", \"8mbit\"]] }";
    let link = scenario(steps, &[("bottleneck.rate.every", "9s")]).links.remove(0);
    assert_eq!(link.forward.wire.rates.and_then(|rates| rates.every()), Some(ms(9000)));
}

/// A trace is in the scenario's folder; an error says where in both.
#[test]
fn a_rate_can_come_from_a_file() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text);
    let read = |rate: &str| {
        let text = format!("duration = \"1s\"\n[bottleneck]\nrate = {rate}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n");
        write("s.toml", &text)?;
        let read = Document::load(place.path().join("s.toml")).and_then(|file| file.scenario());
        editor::agrees(&text, &read);
        std::io::Result::Ok(read)
    };
    let refusal = |rate: &str| read(rate).map(|read| read.err().map_or(String::new(), |error| error.to_string()));
    write("lte.trace", "1\n2\n3\n5\n")?;
    let scenario = read("{ trace = \"lte.trace\" }")??;
    let side = &scenario.links[0].forward;
    let rates = side.wire.rates.as_ref().ok_or("it varies")?;
    assert_eq!(rates.steps(), [(ms(0), mbit(12)), (ms(3), mbit(0)), (ms(4), mbit(12))]);
    // Four packets of 1500 bytes in 5 ms.
    assert_eq!((rates.every(), side.rate), (Some(ms(5)), Rate::from_bits_per_second(9_600_000)));
    write("day.csv", "time_s,rate_bps\n0,1000000\n60,3000000\n")?;
    assert_eq!(read("{ trace = \"day.csv\", every = \"120s\" }")??.links[0].forward.rate, mbit(2));
    write("bad.trace", "5\n4\n")?;
    write("zero.csv", "time_s,rate_bps\n0,0\n")?;
    let cases = [
        ("{ trace = \"bad.trace\" }", "s.toml:3:18: bottleneck.rate.trace: ", "bad.trace:2: 4 ms is before 5 ms"),
        ("{ trace = \"none.trace\" }", "s.toml:3:18: bottleneck.rate.trace: ", "none.trace: cannot be opened"),
        ("{ trace = \"zero.csv\" }", "s.toml:3:18: bottleneck.rate.trace: ", "stops for good"),
        ("{ trace = \"day.csv\", every = \"2s\" }", "s.toml:3:37: bottleneck.rate.every: ", "not after the last step"),
        ("{ trace = \"day.csv\", steps = [] }", "s.toml:3:18: bottleneck.rate.trace: ", "either `steps` or `trace`"),
        (
            "{ trace = \"day.csv\", opportunities = true }",
            "s.toml:3:45: ",
            "lines of a mahimahi trace, and this rate has none",
        ),
        (
            "{ steps = [], opportunities = true }",
            "s.toml:3:38: ",
            "rate = { trace = \"lte.up\", opportunities = true }",
        ),
        ("{ trace = \"lte.trace\", opportunities = true, every = \"9s\" }", "s.toml:3:47: ", "leave `every` out"),
        ("{ file = \"day.csv\" }", "s.toml:3:10: bottleneck.rate.file: ", "called `trace`"),
    ];
    for (rate, start, part) in cases {
        let error = refusal(rate)?;
        assert!(error.contains(start) && error.contains(part), "{rate}: {error}");
    }
    Ok(())
}
