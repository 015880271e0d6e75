//! Text for a terminal of any width: paragraphs, and aligned columns whose last one is wrapped.

use unicode_width::UnicodeWidthStr;

/// Returns `rows` as aligned columns; no line is longer than `width` unless a single word is.
#[must_use]
pub fn columns<const N: usize>(rows: &[[String; N]], width: usize) -> String {
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

/// Returns `words` wrapped to `width`; the first line begins with `first`, the others with `rest`. A line break in
/// `words` is kept, and a word is never broken.
#[must_use]
pub fn paragraph(words: &str, first: &str, rest: &str, width: usize) -> String {
    // Even the narrowest terminal gets 20 columns of words.
    let width = width.max(rest.width() + 20);
    let mut lines = vec![String::from(first)];
    for (number, text) in words.split('\n').enumerate() {
        if number > 0 {
            lines.push(String::from(rest));
        }
        let mut empty = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let line = lines.last().map_or(0, |line| line.width());
            if !empty && line + 1 + word.width() > width {
                lines.push(String::from(rest));
                empty = true;
            }
            if let Some(line) = lines.last_mut() {
                if !empty {
                    line.push(' ');
                }
                line.push_str(word);
            }
            empty = false;
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
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

    /// Would catch a break that is lost, a word that is cut, and a wide character that counts as one column.
    #[test]
    fn breaks_are_kept_and_words_are_whole() {
        let wrapped = paragraph("default: as above\nthe meaning of an incomprehensibilities", "k  ", "   ", 20);
        assert_eq!(wrapped, "k  default: as above\n   the meaning of an\n   incomprehensibilities\n");
        assert_eq!(paragraph(&"界".repeat(11).replace('界', "界 "), "", "", 20), "界 界 界 界 界 界 界\n界 界 界 界\n");
    }
}
