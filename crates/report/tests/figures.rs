//! Content of the figures; their appearance was judged by eye.

mod common;

use common::{CHOKE, DROPTAIL, RED, outcome};
use fairlane_outcome::{Estimate, Outcome};
use fairlane_report::{Axis, Bars, Content, Figure, Line, LineStyle, Mark, compare_figure};

fn compared() -> Vec<Outcome> {
    [DROPTAIL, RED, CHOKE].iter().map(|made| outcome(made, 32, 3)).collect()
}

/// 32 of 33 flows are TCP, so the fair bar has 97 % for them. Would catch marks at places where no discipline's share ends.
#[test]
fn comparison_has_every_discipline_group_and_the_fair_share() {
    let figure = compare_figure(&compared());
    let Content::Shares(bars) = &figure.content else { panic!("{figure:?}") };
    assert_eq!(bars.categories, ["max-min fair", "droptail", "red", "choke"]);
    assert_eq!(figure.marks, []);
    let fair: Vec<f64> = bars.series.iter().map(|(_, values)| values[0].mean).collect();
    assert!((fair[0] - 32.0 / 33.0).abs() < 1e-15 && (fair[1] - 1.0 / 33.0).abs() < 1e-15, "{fair:?}");
    let svg = figure.to_svg();
    for text in ["droptail", "red", "choke", "ftp", "cbr", "One unresponsive flow", "max-min fair", "100 %"] {
        assert!(svg.contains(text), "{text} is missing");
    }
    assert_eq!(svg, figure.to_svg(), "the same figure gives the same bytes");
}

fn lines(points: Vec<(f64, Estimate)>) -> Figure {
    Figure {
        title: "Rate against $load$ <&>\x1b".to_owned(),
        x: Axis::linear("load (Mb/s)"),
        y: Axis::linear("throughput (kb/s)"),
        content: Content::Lines(vec![Line::new("choke", LineStyle::Marked, points)]),
        marks: vec![Mark { at: f64::NAN, label: "nowhere".to_owned() }],
    }
}

/// Names are text, not markup, and numbers that are none are not drawn.
#[test]
fn names_and_numbers_cannot_break_the_figure() {
    let with = |mean, half| Estimate::new(mean, Some(half));
    let svg = lines(vec![(1.0, with(3.0, 0.5)), (f64::NAN, with(1.0, 1.0)), (2.0, with(f64::INFINITY, 1.0))]).to_svg();
    assert!(svg.contains("$load$ &lt;&amp;&gt;"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains('\x1b') && !svg.contains("nowhere"));
}

#[test]
fn nothing_to_draw_is_still_a_figure() {
    let bars = |categories: Vec<String>, series| Content::Bars(Bars { categories, series });
    let zero = ("ftp".to_owned(), vec![Estimate::default()]);
    for content in [
        Content::Lines(Vec::new()),
        bars(Vec::new(), Vec::new()),
        bars(vec!["choke".to_owned()], Vec::new()),
        bars(Vec::new(), vec![zero.clone()]),
        bars(vec!["choke".to_owned(), "red".to_owned()], vec![zero]),
    ] {
        let svg = Figure { content, ..lines(Vec::new()) }.to_svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN"));
    }
    assert!(compare_figure(&[]).to_svg().starts_with("<svg"));
    assert!(lines(vec![(1.0, Estimate::single(2.0))]).to_svg().contains("choke"));
}
