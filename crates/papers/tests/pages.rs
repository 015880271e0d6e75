//! Figures, the page and the documents, from a book whose numbers are known by arithmetic, and one that a single run
//! leaves open.

use fairlane_papers::{Library, Options, Plan, Results, documents, page};
use fairlane_report::html::Provenance;
use fairlane_report::{Content, Figure};
use fairlane_sim::Control;

const BOOK: &str = r#"
paper = { id = "p", title = "A <title>", authors = "A. Author", where = "Somewhere 2000", open = [{ what = "the hash", chosen = "any | all" }] }

[[experiments]]
id = "model"
about = "."
theory = { model = "sfb", bins = 900, flows = 8 }
vary.levels = { key = "levels", values = [1, 2] }
vary.flows  = { key = "flows", values = [100, 1, 8] }
measures = { part = "100 * .misclassified", line = "[[.levels, .flows], [.levels + 1, 0]]" }

[[experiments]]
id = "queue"
about = "."
station = { queue = { kind = "droptail", limit = "10p" }, mu = 1.0, rates = [0.5], events = 1000 }
full = { runs = 1 }
measures = { empty = ".empty" }

[[figures]]
id = "f"
title = "A figure"
x = { label = "flows", value = ".flows", log = true }
y = { label = "part", unit = "%" }
lines = [
  { experiment = "model", name = "one", where = ".levels == 1", y = ".part" },
  { experiment = "model", name = "pairs", where = ".levels == 2 and .flows == 8", y = ".line" },
]
paper = [{ name = "paper", points = [[8, 16.12]] }]

[[figures]]
id = "b"
title = "Bars"
bars = true
x = { label = "levels", value = ".levels" }
y = { label = "part" }
lines = [{ experiment = "model", name = "of 8", where = ".flows == 8", y = ".part" }]

[[claims]]
id = "good"
where = "Figure 1"
says = "With one level of 900 bins 8 flows pollute less than 1 %."
experiments = ["model"]
figure = "f"
status = "met"
checks = [{ what = "part", at = { levels = 1, flows = 8 }, value = ".part", unit = "%", paper = "0.9", demand = [0, 1] }]

[[claims]]
id = "bad"
where = "Figure 2"
says = "With 100 flows it is nothing."
experiments = ["model"]
figure = "b"
status = "short"
remark = "It is 10.5 %."
checks = [{ what = "part | of 100", at = { levels = 1, flows = 100 }, value = ".part", unit = "%", demand = [0, 0] }]

[[claims]]
id = "open"
where = "Figure 3"
says = "Half of the time the queue is empty."
experiments = ["queue"]
status = "undecided"
remark = "There is one run."
checks = [{ what = "empty", at = { experiment = "queue" }, value = ".empty", demand = [0, 1] }]
"#;

fn with_results(check: impl FnOnce(&Library, &Plan<'_>, &Results)) {
    let library = Library::of(&[("p.toml", BOOK)]).unwrap_or_else(|error| panic!("{error}"));
    let claims = library.select(&["all".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&library, claims, Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let results = plan.execute(None, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    check(&library, &plan, &results);
}

/// Equation 1 of the SFB paper, in percent: a flow shares its bin of 900 with one of `flows`.
fn one_level(flows: i32) -> f64 {
    100.0 * (1.0 - (0..flows).fold(1.0, |clean, _| clean * (1.0 - 1.0 / 900.0)))
}

#[test]
fn figures_are_drawn_from_the_rows() {
    with_results(|library, _, results| {
        let drawn = |index: usize| -> Figure {
            let figure = library.books()[0].figures[index].draw(results);
            figure.unwrap_or_else(|error| panic!("{error}")).expect("there are numbers")
        };
        let Content::Lines(lines) = drawn(0).content else { panic!("lines were asked for") };
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["one", "pairs", "paper"]);
        for ((x, y), flows) in lines[0].points.iter().zip([1, 8, 100]) {
            assert!(*x == f64::from(flows) && (y.mean - one_level(flows)).abs() < 1e-9, "{x}: {y:?}");
        }
        let points: Vec<(f64, f64)> = lines[1].points.iter().map(|(x, y)| (*x, y.mean)).collect();
        assert_eq!(points, [(2.0, 8.0), (3.0, 0.0)]);
        assert_eq!((lines[2].points[0].0, lines[2].points[0].1.mean), (8.0, 16.12));
        assert_eq!(drawn(0).y.label, "part, %");

        let Content::Bars(bars) = drawn(1).content else { panic!("bars were asked for") };
        assert_eq!(bars.categories, ["1", "2"]);
        assert!((bars.series[0].1[0].mean - one_level(8)).abs() < 1e-9, "{bars:?}");
    });
}

#[test]
fn the_page_has_every_claim_and_all_numbers() {
    with_results(|library, plan, results| {
        let verdicts = plan.judge(results).unwrap_or_else(|error| panic!("{error}"));
        let options = plan.options();
        let page =
            page(library, &verdicts, results, options, Provenance::default()).unwrap_or_else(|error| panic!("{error}"));
        let html = page.to_html();
        for part in [
            "A &lt;title&gt;",
            "id=\"good\"",
            "href=\"#bad\"",
            "It is 10.5 %.",
            "1 met",
            "1 fell short",
            "1 not decided",
            "a model's formula",
            "missed",
            "<svg",
            "\"label\":\"model\"",
        ] {
            assert!(html.contains(part), "no {part} on the page");
        }
        assert!(!html.contains("Short form") && !html.contains("Partial"));
        let partial = Results { partial: true, ..results.clone() };
        let options = Options { short: true, ..options };
        let verdicts = plan.judge(&partial).unwrap_or_else(|error| panic!("{error}"));
        let page = fairlane_papers::page(library, &verdicts, &partial, options, Provenance::default());
        let html = page.unwrap_or_else(|error| panic!("{error}")).to_html();
        assert!(html.contains("Short form") && html.contains("Partial"));
    });
}

#[test]
fn the_documents_have_every_claim_and_their_figures() {
    with_results(|library, plan, results| {
        let verdicts = plan.judge(results).unwrap_or_else(|error| panic!("{error}"));
        let documents = documents(library.books(), &verdicts, results).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = documents.iter().map(|document| document.name.as_str()).collect();
        assert_eq!(names, ["figures/f.svg", "figures/b.svg", "p.md", "review.md", "README.md"]);
        for part in [
            "| [`good`](#good) | Figure 1 | met |",
            "| [`bad`](#bad) | Figure 2 | fell short |",
            "![A figure](figures/f.svg)",
            "| ✓ | part | 0.8854 % | 0 to 1 | paper 0.9 |",
            "| ✗ | part \\| of 100 | 10.52 % | 0 |  |",
            "| [`open`](#open) | Figure 3 | not decided |",
            "| ? | empty | 0.",
        ] {
            assert!(documents[2].text.contains(part), "no {part} in\n{}", documents[2].text);
        }
        for part in [
            "Claims that can be run: 3; met: 1; fell short: 1; not decided: 1.",
            "### Confirmed\n\n| where | what the paper says | here |\n|---|---|---|\n| [Figure 1](p.md#good) | With one level of 900 bins 8 flows \
             pollute less than 1 %. | part: 0.8854 % (paper 0.9) |\n\n### Not confirmed\n\n**[Figure 2](p.md#bad)**: With 100 flows it is \
             nothing.\n\nIt is 10.5 %.\n\n| |",
            "| ✗ | part \\| of 100 | 10.52 % | 0 |  |\n\n### Not decided\n\n**[Figure 3](p.md#open)**",
            "### What the paper leaves open\n\n| open | here |\n|---|---|\n| the hash | any \\| all |\n\n### Figures with the paper's \
             numbers\n\n![A figure](figures/f.svg)\n",
        ] {
            assert!(documents[3].text.contains(part), "no {part} in\n{}", documents[3].text);
        }
        for row in ["| 1 | 1 | 1 | 0 |", "| a discipline on traffic | 0 | 0 | 1 |", "| a model's formula | 1 | 1 | 0 |"]
        {
            assert!(documents[4].text.contains(row), "no {row} in\n{}", documents[4].text);
        }
    });
}
