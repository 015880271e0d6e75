//! Rows of words for people: aligned columns, the last one wrapped.

/// Rows under a heading, no line longer than `width` unless a single word is.
pub(crate) fn columns<const N: usize>(heading: [&str; N], rows: &[[String; N]], width: usize) -> String {
    let heading = heading.map(str::to_owned);
    let all = || std::iter::once(&heading).chain(rows);
    let widths: Vec<usize> =
        (0..N - 1).map(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in all() {
        let mut first = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            first += &format!("{cell:<width$}  ");
        }
        let rest = " ".repeat(first.chars().count());
        text += &paragraph(&row[N - 1], &first, &rest, width);
    }
    text
}

/// `words` wrapped to `width`, the first line after `first` and the others after `rest`.
pub(crate) fn paragraph(words: &str, first: &str, rest: &str, width: usize) -> String {
    // A narrow terminal still gets some words on a line.
    let width = width.max(rest.chars().count() + 20);
    let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent(rest).break_words(false);
    let lines = textwrap::wrap(words, options);
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}
