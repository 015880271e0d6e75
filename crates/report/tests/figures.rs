//! Content of the figures; their appearance was judged by eye.

mod common;

use common::{CHOKE, DROPTAIL, RED, outcome};
use fairlane_outcome::{Estimate, Outcome, Point, QueueTimeline, Timeline};
use fairlane_report::{
    Axis, Bars, Content, Figure, Line, LineStyle, Mark, Measure, compare_figure, delay_figure, scatter_figure,
    series_figure, sweep_figure,
};

fn compared() -> Vec<Outcome> {
    [DROPTAIL, RED, CHOKE].iter().map(|made| outcome(made, 32, 3)).collect()
}

/// 32 of 33 flows are TCP, so the fair bar has 97 % for them. Would catch marks at places where no discipline's share
/// ends.
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

/// A sweep of two rates: the points are at the rates, and the values in the unit of the axis.
#[test]
fn figures_of_saved_outcomes_have_their_numbers() {
    let mut outcomes = compared();
    for (outcome, rate) in outcomes.iter_mut().zip(["500kbit", "1mbit", "4mbit"]) {
        outcome.point = Some(Point::new().with("flows.cbr.rate", rate));
    }
    let figure = sweep_figure(&outcomes, Measure::Share, Some("cbr")).unwrap();
    let Content::Lines(lines) = &figure.content else { panic!("{figure:?}") };
    let places: Vec<f64> = lines[0].points.iter().map(|(x, _)| *x).collect();
    assert_eq!((lines.len(), places.as_slice(), figure.y.range), (1, &[0.5, 1.0, 4.0][..], (0.0, 100.0)));
    for (outcome, (_, value)) in outcomes.iter().zip(&lines[0].points) {
        assert!((value.mean - 100.0 * outcome.group("cbr").unwrap().share.mean).abs() < 1e-9);
    }
    assert!(sweep_figure(&outcomes, Measure::Window, None).is_none(), "a sweep has no windows");
    assert!(sweep_figure(&compared(), Measure::Share, None).is_none(), "no key was varied");

    let Content::Bars(bars) = delay_figure(&outcomes).unwrap().content else { panic!() };
    let delay = &outcomes[1].queues[0].delay_s;
    assert!((bars.series[0].1[1].mean - 1e3 * delay.mean.mean).abs() < 1e-9);
    assert!((bars.series[1].1[1].mean - 1e3 * delay.p95.mean).abs() < 1e-9);

    let Content::Lines(places) = scatter_figure(&outcomes, Some("cbr")).unwrap().content else { panic!() };
    assert_eq!(places.iter().map(|line| line.points.len()).collect::<Vec<_>>(), [1, 1, 1]);
    assert!((places[2].points[0].0 - 1e3 * outcomes[2].queues[0].delay_s.mean.mean).abs() < 1e-9);

    let queue = QueueTimeline { name: "bottleneck".to_owned(), packets: vec![3.0, 7.0], ..QueueTimeline::default() };
    let timeline = Timeline { time_s: vec![0.5, 1.0], queues: vec![queue], ..Timeline::default() };
    let series = [None, Some(timeline), None];
    let Content::Lines(lines) = series_figure(&outcomes, &series, Measure::Length, None).unwrap().content else {
        panic!()
    };
    assert_eq!(
        lines,
        [Line::new("1mbit", LineStyle::Plain, vec![(0.5, Estimate::single(3.0)), (1.0, Estimate::single(7.0))])]
    );
    assert!(series_figure(&outcomes, &series, Measure::Marks, None).is_none());
}

/// Would catch a PDF without its font, and one that differs each time.
#[cfg(feature = "pdf")]
#[test]
fn a_figure_is_a_pdf_with_its_font() {
    let figure = compare_figure(&compared());
    let pdf = figure.to_pdf().unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() < 100_000, "{}", pdf.len());
    assert!(pdf.windows(10).any(|part| part == b"DejaVuSans"));
    assert_eq!(pdf, figure.to_pdf().unwrap());
}
