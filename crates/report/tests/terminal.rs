//! Reports on the terminal. The snapshots were checked by eye; the other tests hold at every width.

mod common;

use common::{CHOKE, DROPTAIL, RED, outcome};
use fairlane_outcome::{GroupOutcome, Outcome, Point, ScoreOutcome};
use fairlane_report::{Detail, Details, PaperNumbers, Terminal, against_table, compare_table, run_report, sweep_table};
use unicode_width::UnicodeWidthStr;

fn plain(width: usize) -> Terminal {
    Terminal { width, colour: false, details: Details::ALL }
}

fn compared(runs: u32) -> Vec<Outcome> {
    [DROPTAIL, RED, CHOKE].iter().map(|made| outcome(made, 32, runs)).collect()
}

fn swept() -> Vec<Outcome> {
    let at = |rate: &str, kind, mut outcome: Outcome| {
        outcome.point = Some(Point::new().with("flows.cbr.rate", rate).with("bottleneck.queue.kind", kind));
        outcome
    };
    vec![
        at("100kbit", "red", outcome(&RED, 8, 5)),
        at("100kbit", "choke", outcome(&CHOKE, 8, 5)),
        at("2mbit", "red", outcome(&RED, 8, 5)),
        at("2mbit", "choke", outcome(&CHOKE, 8, 5)),
    ]
}

#[test]
fn compare_wide() {
    let paper = PaperNumbers::choke_figure_3();
    insta::assert_snapshot!(compare_table(&compared(5), Some(&paper), &[], &plain(200)));
}

#[test]
fn compare_usual() {
    let paper = PaperNumbers::choke_figure_3();
    insta::assert_snapshot!(compare_table(&compared(5), Some(&paper), &[], &plain(100)));
}

#[test]
fn compare_narrow_single_run() {
    insta::assert_snapshot!(compare_table(&compared(1), None, &[], &plain(60)));
}

/// Would catch a number of the one engine in the column of the other, and a difference with the wrong sign.
#[test]
fn two_engines_side_by_side() {
    let (mut linux, sim) = (outcome(&CHOKE, 32, 1), outcome(&CHOKE, 32, 5));
    linux.engine = "linux".to_owned();
    linux.groups[1].share.mean = sim.groups[1].share.mean + 0.05;
    let text = against_table(&linux, &[&sim], &plain(100));
    let line = text.lines().find(|line| line.starts_with(&*sim.groups[1].name) && line.contains("share")).unwrap();
    let share = 100.0 * sim.groups[1].share.mean;
    let at = |part: String| line.find(&part).unwrap_or_else(|| panic!("{part}: {line}"));
    let (first, second) = (at(format!("{:.1}", share + 5.0)), at(format!("{share:.1}")));
    assert!(first < second && second < at("+5.0".to_owned()), "{line}");
    assert!(text.lines().any(|line| line.ends_with("difference") && line.find("linux") < line.find("sim")), "{text}");
}

#[test]
fn run_usual() {
    insta::assert_snapshot!(run_report(&outcome(&CHOKE, 6, 1), &plain(100)));
}

/// Ten transfers of 0.1 s to 1 s: the middle one took 0.5 s.
#[test]
fn transfers_have_a_table() {
    let mut outcome = outcome(&CHOKE, 6, 1);
    let time = |seconds| fairlane_outcome::Estimate::single(seconds);
    let completion_s = fairlane_outcome::Delay { mean: time(0.55), p50: time(0.5), p95: time(1.0), p99: time(1.0) };
    let made = fairlane_outcome::TransferOutcome {
        completed: time(10.0),
        completion_s: Some(completion_s),
        startup_s: None,
        completion_histogram: fairlane_outcome::DelayHistogram::default(),
    };
    outcome.groups[0].transfers = Some(Box::new(made));
    let text = run_report(&outcome, &plain(100));
    let table: Vec<&str> = text.lines().skip_while(|line| *line != "Transfers").skip(1).take(2).collect();
    let words: Vec<Vec<&str>> = table.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["group", "completed", "completion", "time", "time", "p50", "time", "p95", "time", "p99"]);
    assert_eq!(words[1], ["ftp", "10", "550", "ms", "500", "ms", "1000", "ms", "1000", "ms"]);
}

/// A viewer and a call. Would catch a column of the one score in the table of another.
#[test]
fn viewers_and_calls_have_tables() {
    let mut outcome = outcome(&CHOKE, 6, 1);
    let number = |value| fairlane_outcome::Estimate::single(value);
    outcome.groups[0].video = Some(Box::new(fairlane_outcome::VideoOutcome {
        segments: number(40.0),
        bit_rate_bps: Some(number(2.5e6)),
        stalls: number(3.0),
        stalled_s: number(1.5),
        switches: number(7.0),
        startup_s: Some(number(0.25)),
    }));
    outcome.groups[1].score = Some(Box::new(ScoreOutcome {
        application: "voip".to_owned(),
        mos: Some(number(3.5)),
        rating: Some(number(70.0)),
        delay_s: Some(number(0.15)),
        missing: Some(number(0.02)),
        ..ScoreOutcome::default()
    }));
    let text = run_report(&outcome, &plain(100));
    let words = |title: &str| -> Vec<Vec<&str>> {
        let lines = text.lines().skip_while(|line| *line != title).skip(1).take(2);
        lines.map(|line| line.split_whitespace().collect()).collect()
    };
    assert_eq!(
        words("Video")[0],
        ["group", "bit", "rate", "start-up", "stalls", "stall", "time", "switches", "segments"]
    );
    assert_eq!(words("Video")[1], ["ftp", "2500", "kb/s", "250", "ms", "3", "1500", "ms", "7", "40"]);
    assert_eq!(words("Scores")[0], ["group", "application", "MOS", "R", "delay", "missing"]);
    assert_eq!(words("Scores")[1][..2], ["cbr", "voip"]);
}

/// Returns outcomes of two links, `first` and `second`, the second of which is the busier in every other outcome.
fn of_two_links() -> Vec<Outcome> {
    let mut outcomes = swept();
    for (number, outcome) in outcomes.iter_mut().enumerate() {
        let mut second = outcome.queues[0].clone();
        outcome.queues[0].name = "first".to_owned();
        second.name = "second".to_owned();
        second.delay_s.mean = fairlane_outcome::Estimate::single(0.031);
        second.utilisation = fairlane_outcome::Estimate::single(if number % 2 == 0 { 0.5 } else { 1.0 });
        outcome.queues.push(second);
    }
    outcomes
}

/// Would catch a column of delays at different queues: here the busiest one, which changes from row to row.
#[test]
fn a_table_is_about_one_queue_or_names_each() {
    let mut outcomes = of_two_links();
    for text in [sweep_table(&outcomes, &plain(160)), compare_table(&outcomes, None, &[], &plain(160))] {
        let rows: Vec<&str> = text.lines().skip_while(|line| !line.contains(" at ")).skip(1).collect();
        let at = |name: &str| rows.iter().filter(|row| row.contains(name)).collect::<Vec<_>>();
        assert_eq!((at(" first ").len(), at(" second ").len()), (4, 4), "{text}");
        assert!(at(" second ").iter().all(|row| row.split_whitespace().any(|word| word == "31")), "{text}");
        assert!(at(" first ").iter().all(|row| row.contains("934") || row.contains("1586")), "{text}");
    }
    for outcome in &mut outcomes {
        outcome.at = Some("second".to_owned());
    }
    let text = sweep_table(&outcomes, &plain(160));
    assert!(text.contains("queue second") && !text.contains("934") && text.matches(" 31.0 ms").count() == 4, "{text}");
}

/// Would catch one window over rows that were measured for different times.
#[test]
fn windows_that_differ_have_a_column() {
    let mut outcomes = swept();
    assert!(sweep_table(&outcomes, &plain(160)).contains("20 s to 120 s"));
    outcomes[1].to_s = 60.0;
    let text = sweep_table(&outcomes, &plain(160));
    let rows = |window: &str| text.lines().filter(|line| line.contains(window) && line.contains(" ms")).count();
    assert!(text.contains("measured") && !text.lines().nth(1).is_some_and(|facts| facts.contains("120 s")), "{text}");
    assert_eq!((rows("20 s to 60 s"), rows("20 s to 120 s")), (1, 3), "{text}");
}

/// Two runs have an interval of one degree of freedom, 12.7 standard errors: it is shown with a word.
#[test]
fn few_runs_are_said_to_be_few() {
    let text = |runs| compare_table(&compared(runs), None, &[], &plain(120));
    assert!(
        text(2).contains("mean of 2 runs, ± or [low, high]: 95 % confidence interval  only 2 runs: intervals are wide"),
        "{}",
        text(2)
    );
    assert!(text(4).contains("only 4 runs: intervals are wide") && !text(5).contains("only 5 runs"));
    assert!(text(1).contains("  1 run  "));
}

/// Would catch an outcome that only marks and seems to do nothing.
#[test]
fn marks_are_shown() {
    let mut outcomes = compared(1);
    assert!(!compare_table(&outcomes, None, &[], &plain(160)).contains("marked"));
    let arrived = outcomes[0].queues[0].arrived.mean;
    outcomes[0].queues[0].marked = fairlane_outcome::Estimate::single(0.25 * arrived);
    let text = compare_table(&outcomes, None, &[], &plain(160));
    assert!(text.contains("marked") && text.contains("25.0 %"), "{text}");
}

/// Notes are printed whole, once, on any terminal.
#[test]
fn notes_are_printed_whole() {
    let mut outcomes = compared(1);
    let note = "\"flood\": the links of its hosts carry 100mbit, less than the 200mbit that each flow sends";
    for outcome in &mut outcomes[..2] {
        outcome.notes.push(note.to_owned());
    }
    for text in [compare_table(&outcomes, None, &[], &plain(60)), run_report(&outcomes[0], &plain(60))] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.matches(&format!("Note: {note}.")).count(), 1, "{text}");
    }
}

/// Would catch the fifth group with the fill of the first.
#[test]
fn groups_have_fills_of_their_own() {
    let mut outcome = outcome(&CHOKE, 2, 1);
    let group = outcome.groups[0].clone();
    outcome.groups = (0..16).map(|n| GroupOutcome { name: format!("g{n}"), ..group.clone() }).collect();
    let text = compare_table(&[outcome], None, &[], &plain(200));
    let fills: std::collections::BTreeSet<char> =
        (0..16).filter_map(|n| text.split(&format!(" g{n}: ")).next()?.chars().last()).collect();
    assert_eq!(fills.len(), 16, "{text}");
}

#[test]
fn run_with_many_flows() {
    insta::assert_snapshot!(run_report(&outcome(&CHOKE, 200, 3), &plain(80)));
}

#[test]
fn sweep_usual() {
    insta::assert_snapshot!(sweep_table(&swept(), &plain(120)));
}

/// No line is longer than the terminal, at any width, nor with names of wide characters and control characters.
#[test]
fn nothing_is_wider_than_the_terminal() {
    let paper = PaperNumbers::choke_figure_3();
    let mut odd = compared(2);
    odd[0].scenario =
        "一条不响应拥塞的流\x1b[2J 与三十二条 TCP 流共享一条一兆比特每秒的链路，持续一百二十秒钟整".to_owned();
    odd[1].groups[0].name = "a name that is far too long to stand in any column of any table whatsoever".to_owned();
    odd[2].queues[0].kind = "队列管理".repeat(20);
    for width in 60..=200 {
        let terminal = plain(width);
        let mut pages = vec![
            compare_table(&compared(5), Some(&paper), &[], &terminal),
            compare_table(&odd, Some(&paper), &[], &terminal),
            sweep_table(&swept(), &terminal),
            sweep_table(&odd, &terminal),
            run_report(&outcome(&CHOKE, 200, 3), &terminal),
            against_table(&odd[0], &[&odd[0]], &terminal),
            against_table(&odd[2], &[&odd[2], &odd[2]], &terminal),
        ];
        pages.extend(odd.iter().map(|outcome| run_report(outcome, &terminal)));
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
            assert!(!line.contains('\x1b') && line.trim_end() == line, "{line:?}");
        }
    }
}

/// Every number is there on a narrow terminal too, only further below.
#[test]
fn narrow_terminals_lose_nothing() {
    let numbers = |page: &str| {
        let mut numbers: Vec<String> =
            page.split([' ', '\n']).filter(|word| word.parse::<f64>().is_ok()).map(str::to_owned).collect();
        numbers.sort();
        numbers
    };
    let page = |width| run_report(&outcome(&CHOKE, 6, 1), &plain(width));
    assert!(numbers(&page(200)).len() > 60);
    assert_eq!(numbers(&page(60)), numbers(&page(200)));
}

/// Colour changes how it looks, not what it says.
#[test]
fn colour_only_adds_escape_sequences() {
    let coloured = Terminal { width: 100, colour: true, details: Details::ALL };
    for (with, without) in [
        (compare_table(&compared(5), None, &[], &coloured), compare_table(&compared(5), None, &[], &plain(100))),
        (run_report(&outcome(&CHOKE, 6, 1), &coloured), run_report(&outcome(&CHOKE, 6, 1), &plain(100))),
    ] {
        let mut parts = with.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        let rest: String = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
        assert!(with.contains("\x1b[36m") && with.matches("\x1b[0m").count() * 2 == with.matches('\x1b').count());
        assert_eq!(first + &rest, without);
    }
}

/// Zero of everything must print, and never as NaN.
#[test]
fn nothing_measured_prints_without_nan() {
    assert_eq!(compare_table(&[], None, &[], &plain(80)), "Nothing was measured.\n");
    assert_eq!(sweep_table(&[], &plain(80)), "Nothing was measured.\n");
    let mut bare = outcome(&CHOKE, 2, 1);
    bare.queues.clear();
    bare.flows.clear();
    let mut idle = outcome(&CHOKE, 2, 1);
    idle.queues[0].arrived = fairlane_outcome::Estimate::default();
    idle.groups.clear();
    idle.partial = true;
    for outcomes in [vec![bare.clone()], vec![idle.clone(), bare]] {
        for page in [
            compare_table(&outcomes, Some(&PaperNumbers::choke_figure_3()), &[], &plain(80)),
            sweep_table(&outcomes, &plain(0)),
            run_report(&outcomes[0], &plain(80)),
        ] {
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
    }
    assert!(run_report(&idle, &plain(80)).contains("Interrupted"));
}

/// The answer fits a screen, and the last line tells how to see the rest. Would catch a table that nothing shows, and
/// one that a terminal shows unasked.
#[test]
fn details_are_shown_on_request() {
    let of = |details| Terminal { width: 100, colour: false, details };
    let several = compared(5);
    let reports: [&dyn Fn(Details) -> String; 3] = [
        &|details| compare_table(&several, None, &[], &of(details)),
        &|details| sweep_table(&swept(), &of(details)),
        &|details| run_report(&several[0], &of(details)),
    ];
    let details = [&Detail::ALL[..], &[Detail::EndToEnd], &[Detail::EndToEnd, Detail::Flows]];
    let titles = [("End to end", Detail::EndToEnd), ("Flows", Detail::Flows), ("Differences", Detail::Differences)];
    for (report, there) in reports.into_iter().zip(details) {
        let (answer, all) = (report(Details::default()), report(Details::ALL));
        let names = there.iter().map(|detail| detail.name()).collect::<Vec<_>>().join(",");
        assert!(answer.ends_with(&format!("\nMore tables: --show {names} or --show all\n")), "{answer}");
        assert!(answer.lines().count() < 25 && !all.contains("--show"), "{answer}");
        for (title, detail) in titles.into_iter().filter(|(_, detail)| there.contains(detail)) {
            let with = report(Details::from(detail));
            let has = |text: &str| text.lines().any(|line| line.starts_with(title));
            assert_eq!((has(&answer), has(&with), has(&all)), (false, true, true), "{title}: {with}");
        }
    }
}

/// Jain's index of flows that got nothing says nothing.
#[test]
fn nobodys_throughput_has_no_index() {
    let mut outcomes = compared(5);
    outcomes[0].groups[0].jain = None;
    let text = compare_table(&outcomes, None, &[], &plain(200));
    let cells = |row: usize| text.lines().skip_while(|line| !line.contains("Jain ftp")).nth(row).map(str::to_owned);
    assert!(cells(1).is_some_and(|row| row.contains('–')) && cells(2).is_some_and(|row| !row.contains('–')), "{text}");
}

/// Would catch the index of flows that got nothing, which is that of equal ones, and the delay of packets that did not
/// leave. In JSON the index is null.
#[test]
fn nothing_has_no_number() {
    let made = common::Made { cbr: 0, ftp: 0, ..CHOKE };
    let mut none = outcome(&made, 4, 1);
    none.flows.iter().for_each(|flow| assert_eq!(flow.throughput_bps.mean, 0.0));
    assert_eq!(none.group("ftp").unwrap().jain, None);
    assert!(none.to_json().contains("\"jain\": null"));
    none.queues[0].delay_s = fairlane_outcome::Delay::default();
    for text in [run_report(&none, &plain(200)), compare_table(&[none.clone(), none.clone()], None, &[], &plain(200))] {
        let row = text.lines().find(|line| line.contains("choke") || line.contains("bottleneck")).unwrap();
        assert!(row.matches('–').count() >= 2 && !row.contains("µs") && !row.contains(" ms"), "{row}");
        assert!(!text.contains("1.00"), "{text}");
    }
}

/// Would catch scores that only the report of a single run has, and an interval beyond what a score can be.
#[test]
fn comparisons_and_sweeps_have_scores() {
    let number = |mean: f64| fairlane_outcome::Estimate::new(mean, Some(0.9));
    let scored = |mut outcome: Outcome, mos: f64, qoo: f64| {
        outcome.groups[1].score = Some(Box::new(ScoreOutcome { mos: Some(number(mos)), ..ScoreOutcome::default() }));
        outcome.groups[0].score = Some(Box::new(ScoreOutcome { qoo: Some(number(qoo)), ..ScoreOutcome::default() }));
        outcome
    };
    let outcomes = [scored(outcome(&RED, 8, 5), 1.2, 99.5), scored(outcome(&CHOKE, 8, 5), 4.2, 50.0)];
    for text in [compare_table(&outcomes, None, &[], &plain(400)), sweep_table(&outcomes, &plain(400))] {
        for word in ["MOS cbr", "QoO ftp", "[1.00, 2.10]", "[3.30, 4.50]", "[98.6, 100.0]"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

/// Would catch a first screen that a queue of acknowledgements fills in which nothing waited, and one that leaves out a
/// queue in which they did.
#[test]
fn an_idle_way_back_fills_no_table() {
    let with_reverse = |packets: f64| {
        let mut outcome = outcome(&CHOKE, 4, 1);
        outcome.queues[0].name = "a-b".to_owned();
        let mut reverse = outcome.queues[0].clone();
        reverse.name = "a-b/reverse".to_owned();
        reverse.mean_packets.mean = packets;
        reverse.dropped = fairlane_outcome::Drops::default();
        outcome.queues.push(reverse);
        outcome
    };
    for (packets, shown) in [(0.01, false), (3.0, true)] {
        let outcomes = [with_reverse(packets), with_reverse(packets)];
        let answers = Terminal { width: 100, colour: false, details: Details::default() };
        for text in [run_report(&outcomes[0], &answers), compare_table(&outcomes, None, &[], &answers)] {
            assert_eq!(text.contains("a-b/reverse"), shown, "{text}");
        }
    }
}
