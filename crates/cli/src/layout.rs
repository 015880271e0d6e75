//! Rows of words for people: aligned columns, the last one wrapped.

use textwrap::{Options, WordSeparator, WordSplitter};

/// `rows` under each other, no line longer than `width` unless a single word is.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]], width: usize) -> String {
    let length = |cell: &String| cell.chars().count();
    let widest = |column: usize| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N - 1).map(widest).collect();
    let mut text = String::new();
    for row in rows {
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
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(words, options).iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_the_last_column_under_itself() {
        let rows = [["a", "b", "one two three four five six seven"], ["long", "", "eight"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let expected = "  a     b  one two three four\n           five six seven\n  long     eight\n";
        assert_eq!(columns(&rows, 31), expected);
        // However narrow the terminal is.
        assert_eq!(columns(&rows, 0), expected);
    }
}
