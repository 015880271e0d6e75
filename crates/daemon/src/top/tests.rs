use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::samples::{later, state};
use super::screen::Pictures;
use super::*;
use crate::state::{Bridge, Count, DirectionCounts, Discipline, Kernel, Reasons};

fn drawn(picture: &Pictures, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| picture.draw(frame.area(), frame.buffer_mut())).unwrap();
    terminal.backend().buffer().clone()
}

/// The view after both samples.
fn picture() -> Pictures {
    let mut picture = Pictures::new(vec![state()]);
    picture.hear(Ok(vec![later()]));
    picture
}

/// Every number calculated by hand from the samples.
#[test]
fn the_text_says_what_the_router_does() {
    let expected = "\
choke, queue 0 on eth0                                              up 1 h 0 min
10mbit, overhead 38b, mpu 84b, noatm

link      95 % used                                      ██████████████████████░
arrived   24.0 Mbit/s    3000 packets/s
departed  9.50 Mbit/s    1188 packets/s
dropped          60 %    1800 packets/s
          match_arrival   890/s, 19780 in all
           match_victim   890/s, 19780 in all
                  early    20/s, 3940 in all
backlog   125 packets, 125 kB, limit 300p                ██████████░░░░░░░░░░░░░
average   84.2, min 60p, max 120p                        █████│░░░│░░░░░░░░░░░░░
sojourn   p50 45 ms, p95 49.5 ms, p99 49.9 ms
kernel    3.5 dropped/s, 10 in all

flow that lost                                matched/s  lost/s    in all   link
udp/10.1.0.2:5000>10.2.0.2:9                       1780    1780     40000   25 %
tcp/10.1.0.3:40000>10.2.0.2:80                        1       2        64    5 %
tcp/[2001:db8:1234:5678:9abc:def0:1234:5678]…         0     0.5         1    0 %
";
    assert_eq!(text(&later(), Change::between(&state(), &later()).as_ref(), 80), expected);
}

/// With few columns the drawings are left out first, then columns of the table. A shortened name ends with an ellipsis.
#[test]
fn a_narrow_terminal_gets_the_words() {
    let text = text(&later(), Change::between(&state(), &later()).as_ref(), 60);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    let flows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("flow")).collect();
    assert_eq!(
        flows,
        [
            "flow that lost                      matched/s  lost/s   link",
            "udp/10.1.0.2:5000>10.2.0.2:9             1780    1780   25 %",
            "tcp/10.1.0.3:40000>10.2.0.2:80              1       2    5 %",
            "tcp/[2001:db8:1234:5678:9abc:def0:…         0     0.5    0 %",
        ]
    );
    assert!(!text.contains('█') && text.contains("average   84.2, min 60p, max 120p\n"), "{text}");
}

/// With few lines the reasons are left out, not the flows: 2 lines of heading, 11 rows, 1 line of keys, 4 of flows, 2
/// empty ones.
#[test]
fn a_low_terminal_gets_the_flows() {
    let picture = picture();
    for (height, reasons) in [(20, true), (19, false), (13, false)] {
        let text = lines(&drawn(&picture, 80, height));
        assert_eq!(text.contains("match_victim"), reasons, "{height}: {text}");
        assert!(text.contains("udp/10.1.0.2:5000>10.2.0.2:9"), "{height}: {text}");
    }
}

/// Ten lines of 40 columns show the kernel's drops, or without any the flow that lost most. Shortened text ends with an
/// ellipsis, since `limit 30` would be another limit.
#[test]
fn a_small_terminal_gets_the_first_flow() {
    let mut picture = picture();
    let lost = drawn(&picture, 40, 10);
    assert!(line(&lost, "kernel").contains("3.5 dropped/s"), "{}", lines(&lost));
    assert_eq!(line(&lost, "backlog"), "backlog   125 packets, 125 kB, limit 30…");
    let kernel = Some(Kernel { waiting_packets: 0, dropped_full_packets: 0, dropped_unread_packets: 0 });
    picture.hear(Ok(vec![State { at_s: 5004.0, uptime_s: 3604.0, kernel, ..later() }]));
    let none = drawn(&picture, 40, 10);
    assert_eq!((line(&none, "kernel"), line(&none, "average")), (String::new(), String::new()));
    assert!(line(&none, "udp/").starts_with("udp/10.1.0"), "{}", lines(&none));
    let many = ["eth0", "eth1", "wlan0", "br-lan"].map(str::to_owned);
    picture.hear(Ok(vec![State { at_s: 5006.0, uptime_s: 3606.0, interfaces: many.into(), ..later() }]));
    assert_eq!(line(&drawn(&picture, 40, 10), "choke"), "choke, queue 0 on eth0, e…  up 1 h 0 min");
}

/// Any size, with any numbers. Would catch a subtraction of columns that are not there.
#[test]
fn no_size_is_too_small_and_no_number_too_large() {
    let mut strange = later();
    strange.average = Some(f64::MAX);
    strange.backlog = Count { packets: u64::MAX, bytes: u64::MAX };
    strange.arrived = Count { packets: u64::MAX, bytes: u64::MAX };
    strange.uptime_s = f64::MAX;
    strange.link.rate_bps = 0;
    strange.kernel = Some(Kernel { dropped_full_packets: u64::MAX, dropped_unread_packets: 1, waiting_packets: 0 });
    strange.sojourn_s.classes = vec![(Some(1.0), u64::MAX), (None, u64::MAX), (Some(0.5), u64::MAX)];
    strange.marked.extend(Reasons::from([("é".to_owned(), Count { packets: u64::MAX, bytes: u64::MAX })]));
    strange.top_flows[0].flow = "流".repeat(40);
    for limit in ["0p", "1b", "x", "4294967295p"] {
        strange.discipline.parameters.insert("limit".to_owned(), limit.to_owned());
        let mut picture = picture();
        picture.hear(Ok(vec![strange.clone()]));
        picture.hear(Err("nobody".repeat(30)));
        for (width, height) in
            (0..90).step_by(7).flat_map(|width| (0..30).step_by(3).map(move |height| (width, height)))
        {
            drawn(&picture, width, height);
        }
    }
}

/// The lines of a drawn picture that begin with `name`.
fn line(buffer: &Buffer, name: &str) -> String {
    lines(buffer).lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
}

#[test]
fn a_router_that_is_silent_is_told_and_the_last_numbers_stay() {
    let mut picture = picture();
    picture.hear(Err("no router answers at 127.0.0.1:9277".to_owned()));
    let silent = drawn(&picture, 80, 24);
    assert_eq!(line(&silent, "0 s ago"), "0 s ago; no router answers at 127.0.0.1:9277");
    assert!(line(&silent, "arrived").contains("24.0 Mbit/s"));
    picture.hear(Ok(vec![State { at_s: 5004.0, uptime_s: 3604.0, ..later() }]));
    let back = drawn(&picture, 80, 24);
    assert_eq!(
        (line(&back, "0 s ago"), line(&back, "10mbit")),
        (String::new(), "10mbit, overhead 38b, mpu 84b, noatm".to_owned())
    );
    assert!(line(&back, "arrived").contains("0 bit/s"), "nothing came since");
}

/// Two samples are two columns of a sparkline; after a restart of the router it is empty.
#[test]
fn the_past_is_drawn_until_the_router_is_another() {
    let mut picture = picture();
    picture.hear(Ok(vec![State { at_s: 5004.0, uptime_s: 3604.0, ..later() }]));
    let past = line(&drawn(&picture, 80, 24), "arrived");
    assert!(past.ends_with('█') || past.ends_with("█ "), "{past}");
    picture.hear(Ok(vec![State { uptime_s: 1.0, at_s: 6000.0, ..state() }]));
    let anew = line(&drawn(&picture, 80, 24), "arrived");
    assert_eq!(anew, "arrived   –");
}

/// Flows are sorted by the selected column; each column puts another flow of the sample first.
#[test]
fn flows_are_sorted_by_what_is_asked_for() {
    let order = |sort| {
        let mut after = later();
        // It matches nothing, loses more than the others and takes all of the link.
        after.top_flows[2].lost_packets = 1_000_000;
        after.top_flows[1].departed.bytes += 2_000_000;
        let change = Change::between(&state(), &after);
        let history = &History::default();
        let view = View { state: &after, change: change.as_ref(), history, sort, silent: None, colour: false };
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
        (&view).render(buffer.area, &mut buffer);
        let text = lines(&buffer);
        text.lines().skip_while(|line| !line.starts_with("flow")).nth(1).unwrap().chars().take(10).collect::<String>()
    };
    assert_eq!(order(Sort::Matched), "udp/10.1.0");
    assert_eq!(order(Sort::Matched.next()), "tcp/[2001:");
    assert_eq!(order(Sort::Matched.next().next()), "tcp/10.1.0");
    assert_eq!(Sort::Matched.next().next().next(), Sort::Matched);
}

/// <https://no-color.org>: text may be bold, but has no colour.
#[test]
fn colour_is_only_there_where_it_is_wanted() {
    let mut picture = picture();
    for (colour, expected) in [(false, 0), (true, 3)] {
        picture.0[0].colour = colour;
        let buffer = drawn(&picture, 80, 24);
        let colours: std::collections::HashSet<Color> =
            buffer.content.iter().map(|cell| cell.fg).filter(|colour| *colour != Color::Reset).collect();
        assert!(colours.len() >= expected && (colours.is_empty() || colour), "{colours:?}");
    }
}

/// CoDel has a target and no thresholds. DropTail has neither, and drops nothing here.
#[test]
fn what_a_discipline_does_not_have_is_not_shown() {
    let parameters = [("limit", "1000p"), ("target", "5ms"), ("interval", "100ms")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut codel =
        State { discipline: Discipline { kind: "codel".to_owned(), parameters: parameters.into() }, ..state() };
    (codel.average, codel.kernel) = (None, None);
    codel.top_flows.clear();
    let text = text(&codel, None, 80);
    assert!(!text.contains("average") && !text.contains("marked"), "{text}");
    for part in ["target    5ms, interval 100ms\n", "No flow has lost a packet yet.", "kernel    drops unknown"] {
        assert!(text.contains(part), "no \"{part}\" in {text}");
    }
}

/// Packets lost by a bridge are shown as the kernel's drops: the sum of both directions and all causes.
#[test]
fn a_bridge_tells_what_it_loses() {
    let out = DirectionCounts {
        exempt: 6,
        kernel_dropped: 1,
        joined: 7,
        unfit: 2,
        no_memory: 3,
        refused: 4,
        received: 100,
        forwarded: 90,
    };
    let back = DirectionCounts { kernel_dropped: 5, ..DirectionCounts::default() };
    let bridge = Some(Bridge { inside: "lan".to_owned(), outside: "wan".to_owned(), out: Some(out), back: Some(back) });
    let of_a_bridge = |bridge| State { kernel: None, path: "bridge lan,wan".to_owned(), bridge, ..later() };
    let text = text(&of_a_bridge(bridge), None, 80);
    assert!(
        text.contains("choke, bridge lan,wan")
            && text.contains("kernel    0 dropped/s, 15 in all, 2 too long for the other interface\n"),
        "{text}"
    );
}

/// Both directions of a router, up above down, also where there is little room. Would catch one that hides the other.
#[test]
fn both_directions_are_shown() {
    let of = |direction: &str, state: State| State { direction: Some(direction.to_owned()), ..state };
    let mut pictures = Pictures::new(vec![of("up", state()), of("down", state())]);
    pictures.hear(Ok(vec![of("up", later()), of("down", later())]));
    for height in [50, 24, 12] {
        let text = lines(&drawn(&pictures, 80, height));
        let at = |word: &str| text.lines().position(|line| line.starts_with(word));
        let (up, down) = (at("up: choke, queue 0 on eth0"), at("down: choke, queue 0 on eth0"));
        assert!(up.is_some() && up < down, "{height}: {text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("arrived")).count(), 2, "{height}: {text}");
        assert!(text.lines().last().unwrap().starts_with("q quit"), "{height}: {text}");
    }
    // Another router, which shapes one direction.
    pictures.hear(Ok(vec![state()]));
    let text = lines(&drawn(&pictures, 80, 24));
    assert!(text.starts_with("choke, queue 0") && !text.contains("down:"), "{text}");
}
