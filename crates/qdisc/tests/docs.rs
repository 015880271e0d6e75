//! The pages in `docs/qdiscs` say what the code says.

use std::fs;
use std::path::Path;

use fairlane_qdisc::Kind;

/// The table of a kind's parameters, as its page has it.
fn table(kind: Kind) -> String {
    let mut text = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for parameter in kind.parameters() {
        let domain = parameter.domain.describe();
        text += &format!("| `{}` | {domain} | {} | {} |\n", parameter.key, parameter.default, parameter.meaning);
    }
    text
}

/// Would catch a parameter, a default or a range that was changed in the code and not on the page, or the reverse.
#[test]
fn each_page_has_its_headings_and_its_parameters() {
    for kind in Kind::ALL {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/qdiscs/{kind}.md"));
        let page = fs::read_to_string(&path).unwrap_or_default();
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with('#')).collect();
        let title = format!("# {kind}");
        let expected =
            [title.as_str(), "## Idea", "## Source", "## Parameters", "## Counters", "## Deviations", "## Try it"];
        assert_eq!(headings, expected, "{kind}");
        let written: String =
            page.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
        assert_eq!(written, table(kind), "the table of {kind} is:\n{}", table(kind));
        let unbroken = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unbroken.contains(kind.source()), "{kind} names its source: {}", kind.source());
    }
}

/// Would catch a discipline that the list of all lacks, describes as another than it is, or does not mark as
/// experimental although only its abstract was at hand.
#[test]
fn the_list_has_every_kind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/qdiscs");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let list = read("README.md");
    let listed: Vec<_> = list.lines().filter(|line| line.starts_with("| [`")).collect();
    let line = |kind: Kind| {
        let year = kind.year().map_or(String::new(), |year| year.to_string());
        let page = read(&format!("{kind}.md"));
        let status = if page.contains("Only the abstract") { ", experimental" } else { "" };
        format!("| [`{kind}`]({kind}.md){status} | {} | {year} |", kind.summary())
    };
    let expected: Vec<_> = Kind::ALL.into_iter().map(line).collect();
    assert_eq!(listed, expected, "the table is:\n{}", expected.join("\n"));
}
