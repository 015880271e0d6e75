//! The code of a script, `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`: assertions and assignments of Python with
//! numbers, comparisons and arithmetic.

use std::collections::BTreeMap;

/// The variables that the code of a script has set.
#[derive(Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, f64>);

/// The result of a statement.
#[derive(Debug, PartialEq)]
pub(crate) enum Check {
    /// An assertion that holds.
    Holds,
    /// An assertion that does not hold: its text, and the values of the names in it.
    Fails(String, String),
    /// A statement that checks nothing.
    Nothing,
    /// A statement that needs what is not known, named here.
    Unknown(String),
}

/// The deepest nesting of an expression.
const DEEPEST: u32 = 40;

/// The names of Linux's states.
const STATES: [(&str, f64); 8] = [
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCP_INFINITE_SSTHRESH", 2_147_483_647.0),
    ("True", 1.0),
    ("False", 0.0),
];

/// Runs code; `counter` returns the value of a name such as `tcpi_snd_cwnd`. Returns the result and the line of each
/// statement, counted from 0.
pub(crate) fn run(code: &str, variables: &mut Variables, counter: &dyn Fn(&str) -> Option<f64>) -> Vec<(usize, Check)> {
    let mut checks = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for statement in statements(line) {
            let check = execute(statement.trim(), variables, counter);
            checks.push((number, check.unwrap_or_else(Check::Unknown)));
        }
    }
    checks
}

/// Splits a line at semicolons and ends it at a comment, outside of quotes.
fn statements(line: &str) -> Vec<&str> {
    let (mut found, mut from, mut quote) = (Vec::new(), 0, None);
    let mut end = line.len();
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None, '#') => {
                end = at;
                break;
            }
            (None, ';') => {
                found.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&line[from..end]);
    found
}

/// Executes a statement.
fn execute(statement: &str, variables: &mut Variables, counter: &dyn Fn(&str) -> Option<f64>) -> Result<Check, String> {
    let is_print = statement.strip_prefix("print").is_some_and(|rest| rest.starts_with(['(', ' ']));
    if statement.is_empty() || statement == "pass" || is_print {
        return Ok(Check::Nothing);
    }
    if let Some(rest) = statement.strip_prefix("assert") {
        let mut parser = Parser::new(rest, variables, counter);
        let holds = parser.either(0)?;
        parser.skip();
        if !(parser.rest.is_empty() || parser.rest.starts_with(',')) {
            return Err(format!("the code `{statement}`"));
        }
        let condition = rest[..rest.len() - parser.rest.len()].trim().to_owned();
        let seen: Vec<String> = parser.seen.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        return Ok(if holds == 0.0 { Check::Fails(condition, seen.join(", ")) } else { Check::Holds });
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let length = statement.len() - statement.trim_start_matches(word).len();
    let (name, rest) = statement.split_at(length);
    let rest = rest.trim_start();
    let adds = rest.starts_with("+=") || rest.starts_with("-=");
    let value = if adds { rest.get(2..) } else { rest.strip_prefix('=').filter(|rest| !rest.starts_with('=')) };
    let Some(value) = value.filter(|_| !name.is_empty()) else { return Err(format!("the code `{statement}`")) };
    let mut parser = Parser::new(value, variables, counter);
    let mut number = parser.either(0)?;
    parser.skip();
    if !parser.rest.is_empty() {
        return Err(format!("the code `{statement}`"));
    }
    if adds {
        let before = parser.value(name)?;
        number = if rest.starts_with('+') { before + number } else { before - number };
    }
    variables.0.insert(name.to_owned(), number);
    Ok(Check::Nothing)
}

/// A comparison and its sign.
type Operator = (&'static str, fn(&f64, &f64) -> bool);

/// The rest of an expression. Errors name what is not known.
struct Parser<'a> {
    rest: &'a str,
    variables: &'a Variables,
    counter: &'a dyn Fn(&str) -> Option<f64>,
    /// The names that were used, and their values.
    seen: Vec<(String, f64)>,
}

impl<'a> Parser<'a> {
    fn new(rest: &'a str, variables: &'a Variables, counter: &'a dyn Fn(&str) -> Option<f64>) -> Self {
        Self { rest, variables, counter, seen: Vec::new() }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes `token` if it comes next; a word only as a whole.
    fn takes(&mut self, token: &str) -> bool {
        self.skip();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        let is_word = token.chars().all(char::is_alphabetic);
        if is_word && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        self.rest = rest;
        true
    }

    /// Evaluates `a or b`.
    fn either(&mut self, depth: u32) -> Result<f64, String> {
        let mut left = self.both(depth)?;
        while self.takes("or") {
            let right = self.both(depth)?;
            left = if left == 0.0 { right } else { left };
        }
        Ok(left)
    }

    /// Evaluates `a and b`.
    fn both(&mut self, depth: u32) -> Result<f64, String> {
        let mut left = self.negation(depth)?;
        while self.takes("and") {
            let right = self.negation(depth)?;
            left = if left == 0.0 { left } else { right };
        }
        Ok(left)
    }

    /// Evaluates `not a`.
    fn negation(&mut self, depth: u32) -> Result<f64, String> {
        let mut negates = false;
        while self.takes("not") {
            negates = !negates;
        }
        let value = self.comparison(depth)?;
        Ok(if negates { f64::from(u8::from(value == 0.0)) } else { value })
    }

    /// Evaluates `a < b <= c`.
    fn comparison(&mut self, depth: u32) -> Result<f64, String> {
        let (mut left, mut holds, mut any) = (self.sum(depth)?, true, false);
        let operators: [Operator; 6] =
            [("==", f64::eq), ("!=", f64::ne), ("<=", f64::le), (">=", f64::ge), ("<", f64::lt), (">", f64::gt)];
        while let Some((_, compare)) = operators.into_iter().find(|(token, _)| self.takes(token)) {
            let right = self.sum(depth)?;
            holds &= compare(&left, &right);
            (left, any) = (right, true);
        }
        Ok(if any { f64::from(u8::from(holds)) } else { left })
    }

    /// Evaluates `a + b - c`.
    fn sum(&mut self, depth: u32) -> Result<f64, String> {
        let mut left = self.product(depth)?;
        loop {
            if self.takes("+") {
                left += self.product(depth)?;
            } else if self.takes("-") {
                left -= self.product(depth)?;
            } else {
                return Ok(left);
            }
        }
    }

    /// Evaluates `a * b / c // d % e`.
    fn product(&mut self, depth: u32) -> Result<f64, String> {
        let mut left = self.factor(depth)?;
        loop {
            if self.takes("*") {
                left *= self.factor(depth)?;
            } else if self.takes("//") {
                left = (left / self.factor(depth)?).floor();
            } else if self.takes("/") {
                left /= self.factor(depth)?;
            } else if self.takes("%") {
                let right = self.factor(depth)?;
                left -= (left / right).floor() * right;
            } else {
                return Ok(left);
            }
        }
    }

    /// Evaluates a number, a name, a function or an expression in parentheses.
    fn factor(&mut self, depth: u32) -> Result<f64, String> {
        if depth > DEEPEST {
            return Err(format!("code that is nested more than {DEEPEST} times"));
        }
        if self.takes("-") {
            return Ok(-self.factor(depth + 1)?);
        }
        if self.takes("(") {
            let value = self.either(depth + 1)?;
            return if self.takes(")") { Ok(value) } else { Err("code with ( without )".to_owned()) };
        }
        self.skip();
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = self.rest.len() - self.rest.trim_start_matches(part).len();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        if matches!(word, "abs" | "min" | "max" | "int") && self.takes("(") {
            return self.function(word, depth + 1);
        }
        self.value(word)
    }

    /// Evaluates a function behind its opening parenthesis.
    fn function(&mut self, name: &str, depth: u32) -> Result<f64, String> {
        let mut value = self.either(depth)?;
        while self.takes(",") {
            let other = self.either(depth)?;
            value = if name == "min" { value.min(other) } else { value.max(other) };
        }
        if !self.takes(")") {
            return Err("code with ( without )".to_owned());
        }
        Ok(match name {
            "abs" => value.abs(),
            "int" => value.trunc(),
            _ => value,
        })
    }

    /// Returns the value of a number or a name.
    fn value(&mut self, word: &str) -> Result<f64, String> {
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let hexadecimal = word.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16).map(f64::from).ok());
            return hexadecimal.unwrap_or_else(|| word.parse().ok()).ok_or_else(|| format!("the number `{word}`"));
        }
        let constant = || STATES.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        let variable = self.variables.0.get(word).copied();
        if let Some(value) = variable.or_else(|| (self.counter)(word)) {
            self.seen.push((word.to_owned(), value));
            return Ok(value);
        }
        constant().ok_or_else(|| if word.is_empty() { "code that ends early".to_owned() } else { word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(code: &str) -> Vec<Check> {
        let counter = |name: &str| (name == "tcpi_snd_cwnd").then_some(10.0);
        run(code, &mut Variables::default(), &counter).into_iter().map(|(_, check)| check).collect()
    }

    /// Would catch a wrong precedence, and a message that is taken for a part of the condition.
    #[test]
    fn evaluates_conditions() {
        for holds in [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "assert tcpi_snd_cwnd == 10, 'cwnd=%d; # no' % tcpi_snd_cwnd",
            "assert 1 + 2 * 3 == 7 and not 1 > 2 or 0",
            "assert 2 < 3 <= 3 != 4",
            "assert (1 + 2) * 3 == 9  # a comment",
            "assert max(3, 7 // 2, 7 % 4) == 3 and abs(-2) == 2 and 0x10 == 16",
            "assert TCP_CA_Recovery == 3",
        ] {
            assert_eq!(checks(holds), [Check::Holds], "{holds}");
        }
        assert_eq!(checks("a = 4; a += 2; assert a == 6"), [Check::Nothing, Check::Nothing, Check::Holds]);
        let fails = Check::Fails("tcpi_snd_cwnd == 11".to_owned(), "tcpi_snd_cwnd = 10".to_owned());
        assert_eq!(checks("assert tcpi_snd_cwnd == 11, 'x'"), [fails]);
    }

    /// Would catch code that is not understood and passes.
    #[test]
    fn names_what_is_not_known() {
        for (code, what) in [
            ("assert tcpi_lost == 6, tcpi_lost", "tcpi_lost"),
            ("import sys", "the code `import sys`"),
            ("assert 1 == 1 1", "the code `assert 1 == 1 1`"),
            ("assert (1", "code with ( without )"),
            ("assert", "code that ends early"),
        ] {
            assert_eq!(checks(code), [Check::Unknown(what.to_owned())], "{code}");
        }
        let deep = format!("assert {}1", "(".repeat(100_000));
        assert_eq!(checks(&deep), [Check::Unknown("code that is nested more than 40 times".to_owned())]);
    }
}
