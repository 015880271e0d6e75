//! Templates of scenarios: text with products of variables in braces.

use std::collections::BTreeMap;

/// The values of the variables of a template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    pub(crate) numbers: BTreeMap<String, f64>,
    pub(crate) words: BTreeMap<String, String>,
}

impl Variables {
    /// Returns `template` with each `{a*b/c}` replaced by its value; other text in braces stays as it is.
    pub(crate) fn fill(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            text += before;
            let inside = after.find('}').map(|close| &after[1..close]);
            if let Some((inside, value)) = inside.and_then(|inside| Some((inside, self.value(inside)?))) {
                text += &value;
                rest = &after[inside.len() + 2..];
            } else {
                text.push('{');
                rest = &after[1..];
            }
        }
        text + rest
    }

    fn value(&self, inside: &str) -> Option<String> {
        match self.words.get(inside) {
            Some(word) => Some(self.fill(word)),
            None => self.product(inside).map(number),
        }
    }

    /// Returns the value of factors between `*` and `/`.
    fn product(&self, text: &str) -> Option<f64> {
        let mut value = 1.0;
        let mut rest = text;
        let mut divides = false;
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            let factor = rest[..end].parse().ok().or_else(|| self.numbers.get(&rest[..end]).copied())?;
            value = if divides { value / factor } else { value * factor };
            let Some(sign) = rest[end..].chars().next() else { return Some(value) };
            divides = sign == '/';
            rest = &rest[end + 1..];
        }
    }
}

/// Writes a number with six decimals at most.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_replaced_and_tables_are_not() {
        let numbers = [("rate".to_owned(), 1e7), ("rtt".to_owned(), 100.0)].into();
        let words = [("level".to_owned(), "{rtt}".to_owned())].into();
        let variables = Variables { numbers, words };
        let filled = variables.fill("{ rate = \"{rate*1.1}bit\", d = {rtt/4}, l = {level}, x = {y}, {100/3*3}");
        assert_eq!(filled, "{ rate = \"11000000bit\", d = 25, l = 100, x = {y}, 100");
    }
}
