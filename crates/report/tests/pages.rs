//! Content of pages. Appearance and use are tested in a browser: `tests/browser`.

use fairlane_outcome::Estimate;
use fairlane_report::html::{Badge, Block, Cell, Chart, Inline, Lines, Page, Panel, Provenance, Section, Table, Tone};
use fairlane_report::{Axis, Bars, Content, Figure, Line, LineStyle, Mark};

fn figure(name: &str) -> Figure {
    let points = vec![(1.0, Estimate::new(2.5, Some(0.5))), (10.0, Estimate::single(4.0))];
    Figure::lines(
        name,
        Axis::log("rate (Mb/s)"),
        Axis::linear("loss"),
        vec![Line::new(name, LineStyle::Marked, points)],
    )
}

fn bars(name: &str) -> Figure {
    let bars =
        Bars { categories: vec![name.to_owned()], series: vec![(name.to_owned(), vec![Estimate::single(0.25)])] };
    let marks = vec![Mark { at: 0.5, label: name.to_owned() }];
    Figure { content: Content::Shares(bars), marks, ..figure(name) }
}

/// A quarter of a bar is a quarter of the picture, and the number next to it has all its digits.
#[test]
fn bars_are_as_long_as_their_numbers() {
    let page = Page::new("Page").lead(Block::figure(bars("red"))).to_html();
    for part in ["width=\"25%\"", "<data value=\"0.25\">25.0 %</data>", "x1=\"50%\""] {
        assert!(page.contains(part), "no {part}");
    }
}

/// Without the script a reader sees the numbers of a chart, if they are few.
#[test]
fn few_numbers_need_no_script() {
    let page = |points: u32| {
        let points = (1..=points).map(|x| (f64::from(x), Estimate::single(1.5))).collect();
        let line = Line::new("red", LineStyle::Plain, points);
        let figure = Figure::lines("Rates", Axis::linear("time (s)"), Axis::linear("rate"), vec![line]);
        Page::new("Page").lead(Block::figure(figure)).to_html()
    };
    assert!(page(3).contains("<data value=\"1.5\">"));
    assert!(page(3000).contains("This chart needs the page's script."));
    assert!(!page(3000).contains("<data value"));
}

/// A name that would end every element, attribute, comment and style that it stands in.
const EVIL: &str = "\"'><script>alert(1)</script><!-- </style></title></svg> & é \u{202e}\0";

#[test]
fn names_cannot_break_the_page() {
    let text = || Inline::text_of(EVIL);
    let table = Table::new().key(EVIL, vec![Cell::Text(EVIL.to_owned())]).column(
        EVIL,
        vec![Cell::Prose(vec![Inline::Link { text: EVIL.to_owned(), href: "javascript:alert(1)".to_owned() }])],
    );
    let blocks = [
        Block::Paragraph(vec![text(), Inline::Code(EVIL.to_owned()), Inline::Strong(EVIL.to_owned())]),
        Block::Notice(Badge::new(Tone::Bad, EVIL), vec![text()]),
        Block::Definitions(vec![(EVIL.to_owned(), vec![text()])]),
        Block::table(EVIL, table),
        Block::Figure { figure: figure(EVIL), note: EVIL.to_owned() },
        Block::Figure { figure: bars(EVIL), note: EVIL.to_owned() },
        Block::Chart(Chart::Stack {
            title: EVIL.to_owned(),
            note: EVIL.to_owned(),
            keys: vec![EVIL.to_owned()],
            panels: vec![Lines::new(EVIL, Axis::linear(EVIL), Axis::linear(EVIL), Vec::new())],
        }),
        Block::Chart(Chart::Scatter {
            title: EVIL.to_owned(),
            note: EVIL.to_owned(),
            x: Axis::linear(EVIL),
            panels: vec![Panel {
                title: EVIL.to_owned(),
                y: Axis::linear(EVIL),
                places: vec![(EVIL.to_owned(), Estimate::single(1.0), Estimate::single(2.0))],
            }],
        }),
        Block::Data { label: EVIL.to_owned(), csv: EVIL.to_owned() },
        Block::Records { label: EVIL.to_owned(), table: Table::new().key(EVIL, vec![Cell::Text(EVIL.to_owned())]) },
        Block::Code { label: EVIL.to_owned(), text: EVIL.to_owned() },
        Block::Details { summary: EVIL.to_owned(), blocks: vec![Block::text(EVIL)] },
    ];
    let section = Section::new(EVIL).anchor(EVIL).blocks(blocks);
    let provenance =
        Provenance { facts: vec![(EVIL.to_owned(), EVIL.to_owned())], texts: vec![(EVIL.to_owned(), EVIL.to_owned())] };
    let page = Page::new(EVIL).lead(Block::text(EVIL)).section(section).provenance(provenance).to_html();
    assert_eq!(page.matches("<script").count(), 2, "the page's data and its script");
    assert_eq!(page.matches("</script").count(), 2, "nothing ends them early");
    assert!(!page.contains("<!--"), "nor makes a comment of them");
    assert!(!page.contains("\"javascript:"), "a script as a link");
    assert_eq!(page.matches("</title>").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains('\0'), "no control characters");
    assert!(page.contains("&lt;script&gt;"), "what is written is shown");
}

/// Links lead to one place each, with any names of sections.
#[test]
fn anchors_are_unique() {
    let section = |title: &str| Section::new(title);
    let page = Page::new("Page")
        .section(section("Main").section(section("Queues").block(Block::figure(figure("a")))))
        .section(section("Queues").block(Block::figure(figure("b"))))
        .section(section("queues!"))
        .section(section("figure 1"))
        .section(section("…"))
        .to_html();
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "{ids:?}");
    for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&target), "#{target} leads nowhere");
    }
    assert!(ids.contains(&"queues") && ids.contains(&"queues-2") && ids.contains(&"queues-3"));
}

/// RFC 4180: quotes around what needs them, doubled within; values with all their digits.
#[test]
fn data_is_csv() {
    let table = Table::new()
        .key("name", vec![Cell::Text("a,b".to_owned()), Cell::Text("say \"c\"".to_owned())])
        .column("share", vec![Cell::value(1.0 / 3.0), Cell::none()]);
    assert_eq!(table.to_csv(), "name,share\r\n\"a,b\",0.3333333333333333\r\n\"say \"\"c\"\"\",\r\n");
    assert_eq!(figure("red").data().to_csv(), "rate (Mb/s),red,red ± 95 %\r\n1,2.5,0.5\r\n10,4,\r\n");
}

/// Two lines over different places stand one below the other.
#[test]
fn data_has_every_line() {
    let mut figure = figure("red");
    let Content::Lines(lines) = &mut figure.content else { panic!("{figure:?}") };
    lines.push(Line::new("the paper", LineStyle::Points, vec![(2.0, Estimate::single(3.0))]));
    let expected = "line,rate (Mb/s),loss,loss ± 95 %\r\nred,1,2.5,0.5\r\nred,10,4,\r\nthe paper,2,3,\r\n";
    assert_eq!(figure.data().to_csv(), expected);
}

/// WCAG 2.2: text has a contrast of 4.5 with its background (1.4.3), graphics one of 3 (1.4.11), on light and dark
/// pages.
#[test]
fn colours_can_be_told_from_the_page() {
    let style = include_str!("../src/html/style.css");
    for theme in [0, 1] {
        let colour = |name: &str| {
            let (_, rest) = style.split_once(&format!("{name}: light-dark(")).unwrap_or_else(|| panic!("no {name}"));
            let both: Vec<&str> = rest.split(')').next().unwrap_or_default().split(", ").collect();
            u32::from_str_radix(both[theme].trim_start_matches('#'), 16).unwrap()
        };
        let text = ["--text", "--faint", "--link", "--mark", "--good", "--bad", "--caution"];
        for (ink, paper) in text.iter().flat_map(|ink| [(*ink, "--page"), (*ink, "--box"), (*ink, "--shade")]).chain([
            ("--good", "--good-box"),
            ("--bad", "--bad-box"),
            ("--caution", "--caution-box"),
        ]) {
            let ratio = contrast(colour(ink), colour(paper));
            assert!(ratio >= 4.5, "{ink} on {paper}: {ratio:.2}");
        }
        for number in 1..=6 {
            for name in [format!("--series-{number}"), format!("--part-{number}")] {
                let ratio = contrast(colour(&name), colour("--page"));
                assert!(ratio >= 3.0, "{name}: {ratio:.2}");
            }
        }
    }
}

/// The ratio of WCAG 2.2, of two colours 0xRRGGBB.
fn contrast(a: u32, b: u32) -> f64 {
    let linear = |part: u32| {
        let part = f64::from(part & 0xff) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { libm::pow((part + 0.055) / 1.055, 2.4) }
    };
    let luminance = |c: u32| 0.2126 * linear(c >> 16) + 0.7152 * linear(c >> 8) + 0.0722 * linear(c);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}
