//! Reports on the terminal. The snapshots were checked by eye; the other tests hold at every width.

mod common;

use common::{CHOKE, DROPTAIL, RED, outcome};
use fairlane_outcome::{Outcome, Point};
use fairlane_report::{PaperNumbers, Terminal, against_table, compare_table, run_report, sweep_table};
use unicode_width::UnicodeWidthStr;

fn plain(width: usize) -> Terminal {
    Terminal { width, colour: false }
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
    insta::assert_snapshot!(compare_table(&compared(5), Some(&paper), &plain(200)));
}

#[test]
fn compare_usual() {
    let paper = PaperNumbers::choke_figure_3();
    insta::assert_snapshot!(compare_table(&compared(5), Some(&paper), &plain(100)));
}

#[test]
fn compare_narrow_single_run() {
    insta::assert_snapshot!(compare_table(&compared(1), None, &plain(60)));
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
    let made = fairlane_outcome::TransferOutcome { completed: time(10.0), completion_s };
    outcome.groups[0].transfers = Some(Box::new(made));
    let text = run_report(&outcome, &plain(100));
    let table: Vec<&str> = text.lines().skip_while(|line| *line != "Transfers").skip(1).take(2).collect();
    let words: Vec<Vec<&str>> = table.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["group", "completed", "took", "p50", "p95", "p99"]);
    assert_eq!(words[1], ["ftp", "10", "550", "ms", "500", "ms", "1000", "ms", "1000", "ms"]);
}

#[test]
fn run_with_many_flows() {
    insta::assert_snapshot!(run_report(&outcome(&CHOKE, 200, 3), &plain(80)));
}

#[test]
fn sweep_usual() {
    insta::assert_snapshot!(sweep_table(&swept(), &plain(120)));
}

/// Nothing is longer than the terminal, whatever its width, nor with names of wide characters and control characters.
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
            compare_table(&compared(5), Some(&paper), &terminal),
            compare_table(&odd, Some(&paper), &terminal),
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
    let coloured = Terminal { width: 100, colour: true };
    for (with, without) in [
        (compare_table(&compared(5), None, &coloured), compare_table(&compared(5), None, &plain(100))),
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
    assert_eq!(compare_table(&[], None, &plain(80)), "Nothing was measured.\n");
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
            compare_table(&outcomes, Some(&PaperNumbers::choke_figure_3()), &plain(80)),
            sweep_table(&outcomes, &plain(0)),
            run_report(&outcomes[0], &plain(80)),
        ] {
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
    }
    assert!(run_report(&idle, &plain(80)).contains("Interrupted"));
}
