//! What the terminal shows. The snapshots were read by eye; the other tests hold at every width.

mod common;

use common::{CHOKE, DROPTAIL, RED, outcome};
use fairlane_outcome::{Outcome, Point};
use fairlane_report::{PaperNumbers, Terminal, compare_table, run_report, sweep_table};
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

#[test]
fn run_usual() {
    insta::assert_snapshot!(run_report(&outcome(&CHOKE, 6, 1), &plain(100)));
}

#[test]
fn run_with_many_flows() {
    insta::assert_snapshot!(run_report(&outcome(&CHOKE, 200, 3), &plain(80)));
}

#[test]
fn sweep_usual() {
    insta::assert_snapshot!(sweep_table(&swept(), &plain(120)));
}
