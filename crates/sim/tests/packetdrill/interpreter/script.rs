//! The events of a script: times, packets, system calls, shell commands and code.

use super::Problem;
use super::packet::Packet;

/// A script.
#[derive(Debug)]
pub(crate) struct Script {
    /// How far an expected packet may be from its time, in microseconds.
    pub(crate) tolerance: i64,
    /// How far it may be in percent of the time since the event before, if that is more.
    pub(crate) tolerance_percent: f64,
    /// The text after `// preset:`, and its line.
    pub(crate) preset: Option<(usize, String)>,
    /// The shell commands before the first event, with their line.
    pub(crate) commands: Vec<(usize, String)>,
    /// The events in their order.
    pub(crate) events: Vec<Event>,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    /// The line where it begins.
    pub(crate) line: usize,
    /// When it happens.
    pub(crate) when: When,
    /// The action.
    pub(crate) action: Action,
}

/// The time of an event, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    /// The origin of the numbers.
    pub(crate) base: Base,
    /// The time, or the first one of a range.
    pub(crate) from: i64,
    /// The last time of a range.
    pub(crate) to: Option<i64>,
}

/// The origin of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The beginning of the script.
    Start,
    /// The event before.
    Before,
    /// None: any time (`*`).
    Any,
}

/// The action of an event.
#[derive(Debug)]
pub(crate) enum Action {
    /// A packet comes or is expected.
    Packet(Box<Packet>),
    /// The application calls the system.
    Call(Call),
    /// A shell command runs.
    Shell(String),
    /// Code checks counters.
    Code(String),
}

/// A system call: `write(4, ..., 1000) = 1000`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name of the function.
    pub(crate) name: String,
    /// The text between the parentheses.
    pub(crate) arguments: String,
    /// The first word after the equals sign.
    pub(crate) result: String,
}

/// packetdrill's default, 4 ms.
const TOLERANCE: i64 = 4_000;

/// packetdrill's default.
const TOLERANCE_PERCENT: f64 = 12.5;

/// The longest time in a script, in seconds.
const LONGEST: f64 = 1e6;

impl Script {
    /// Reads a script.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let mut reader = Reader { rest: text, line: 1 };
        let preset = text.lines().enumerate().find_map(|(number, line)| {
            line.trim().strip_prefix("// preset:").map(|rest| (number + 1, rest.trim().to_owned()))
        });
        let mut script = Self {
            tolerance: TOLERANCE,
            tolerance_percent: TOLERANCE_PERCENT,
            preset,
            commands: Vec::new(),
            events: Vec::new(),
        };
        loop {
            reader.skip_blank()?;
            if reader.rest.is_empty() {
                return Ok(script);
            }
            let line = reader.line;
            if let Some(option) = reader.rest.strip_prefix("--") {
                let option = option.lines().next().unwrap_or_default().trim().to_owned();
                reader.take_line();
                script.set(line, &option)?;
            } else if reader.rest.starts_with('`') && script.events.is_empty() {
                let command = reader.quoted("`", "`")?;
                script.commands.push((line, command));
            } else if reader.rest.starts_with('`') {
                // The clean-up at the end.
                reader.quoted("`", "`")?;
            } else {
                script.events.push(reader.event()?);
            }
        }
    }

    /// Takes an option of packetdrill's command line.
    fn set(&mut self, line: usize, option: &str) -> Result<(), Problem> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "tolerance_usecs" => {
                let parsed = value.parse::<i64>().ok().filter(|value| (0..=60_000_000).contains(value));
                self.tolerance = parsed.ok_or_else(|| {
                    Problem::new(line, format!("--tolerance_usecs={value} is not a number from 0 to 60000000"))
                })?;
                Ok(())
            }
            "tolerance_percent" => {
                let parsed = value.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
                self.tolerance_percent = parsed.ok_or_else(|| {
                    Problem::new(line, format!("--tolerance_percent={value} is not a number from 0 to 100"))
                })?;
                Ok(())
            }
            "ip_version" | "bind_port" | "code_command" | "verbose" | "debug" | "mtu" => Ok(()),
            _ => Err(Problem::new(line, format!("the option --{name} is not known"))),
        }
    }
}

/// The text that is still to be read.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    /// Takes `bytes` of the text, which end at a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes the text up to the end of the line.
    fn take_line(&mut self) -> &'a str {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Takes the text up to the end of the line or a comment, and returns it without white space around it.
    fn take_text(&mut self) -> &'a str {
        let ends = ["\n", "//", "/*"].into_iter().filter_map(|end| self.rest.find(end));
        let end = ends.min().unwrap_or(self.rest.len());
        self.take(end).trim()
    }

    /// Takes `token` if the text begins with it.
    fn takes(&mut self, token: &str) -> bool {
        let found = self.rest.starts_with(token);
        if found {
            self.take(token.len());
        }
        found
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), Problem> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_line();
            } else if self.rest.starts_with("/*") {
                self.quoted("/*", "*/")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Skips spaces within a line.
    fn skip_spaces(&mut self) {
        let blank = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blank);
    }

    /// Takes what is between `open` and `close`.
    fn quoted(&mut self, open: &str, close: &str) -> Result<String, Problem> {
        let line = self.line;
        self.take(open.len());
        let Some(end) = self.rest.find(close) else {
            return Err(Problem::new(line, format!("{open} without {close}")));
        };
        let inner = self.take(end).to_owned();
        self.take(close.len());
        Ok(inner)
    }

    /// Takes an event.
    fn event(&mut self) -> Result<Event, Problem> {
        let line = self.line;
        let when = self.when()?;
        self.skip_blank()?;
        let action = if self.rest.starts_with('<') || self.rest.starts_with('>') {
            let text = self.take_text();
            Action::Packet(Box::new(Packet::parse(text).map_err(|text| Problem::new(line, text))?))
        } else if self.rest.starts_with('`') {
            Action::Shell(self.quoted("`", "`")?)
        } else if self.rest.starts_with("%{") {
            Action::Code(self.quoted("%{", "}%")?)
        } else {
            Action::Call(self.call()?)
        };
        Ok(Event { line, when, action })
    }

    /// Takes the time of an event.
    fn when(&mut self) -> Result<When, Problem> {
        if self.takes("*") {
            return Ok(When { base: Base::Any, from: 0, to: None });
        }
        let base = if self.takes("+") { Base::Before } else { Base::Start };
        let from = self.time()?;
        self.skip_spaces();
        let mut to = None;
        if self.takes("~") {
            self.skip_spaces();
            if self.takes("+") != (base == Base::Before) {
                return Err(Problem::new(self.line, "both times of a range have a plus sign, or neither has"));
            }
            let end = self.time()?;
            if end < from {
                return Err(Problem::new(self.line, "the time range is backwards"));
            }
            to = Some(end);
        } else if self.takes("...") {
            // The end of a call that blocks.
            self.skip_spaces();
            self.takes("+");
            self.time()?;
        }
        Ok(When { base, from, to })
    }

    /// Takes a number of seconds; returns microseconds.
    fn time(&mut self) -> Result<i64, Problem> {
        self.skip_spaces();
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole = digits(self.rest);
        let tail = &self.rest[whole..];
        let fraction = match tail.strip_prefix('.') {
            Some(after) if !tail.starts_with("...") => 1 + digits(after),
            _ => 0,
        };
        let text = self.take(whole + fraction);
        let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds <= LONGEST);
        let Some(seconds) = seconds else {
            let word: String =
                text.chars().chain(self.rest.chars()).take_while(|c| !c.is_whitespace()).take(30).collect();
            return Err(Problem::new(self.line, format!("`{word}` is not a time in seconds, up to {LONGEST}")));
        };
        Ok((seconds * 1e6).round() as i64)
    }

    /// Takes a system call and the rest of its line.
    fn call(&mut self) -> Result<Call, Problem> {
        let line = self.line;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = self.rest.len() - self.rest.trim_start_matches(word).len();
        let text: String = self.rest.chars().take_while(|c| *c != '\n').take(40).collect();
        let name = self.take(length).to_owned();
        self.skip_spaces();
        if name.is_empty() || !self.rest.starts_with('(') {
            return Err(Problem::new(line, format!("`{text}` is no packet, call, command or code")));
        }
        let (mut depth, mut quoted, mut end) = (0_u32, false, None);
        for (at, c) in self.rest.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => depth += 1,
                ')' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        end = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        let Some(end) = end else { return Err(Problem::new(line, format!("{name}( without )"))) };
        let arguments = self.take(end + 1)[1..end].to_owned();
        let rest = self.take_text();
        let result = rest.strip_prefix('=').and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        Ok(Call { name, arguments, result: result.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a time that is read as another one, and a line number that is not that of the event.
    #[test]
    fn reads_times() {
        let text = "// a comment\n+.1 close(3) = 0\n0.25 close(3) = 0\n* > . 1:1(0) ack 1\n+.1~+.105 > . 1:1(0) ack 1\n\
                    1~1.5 > . 1:1(0) ack 1\n+0...0.010 connect(3, ..., ...) = 0 /* no\nmore */";
        let script = Script::parse(text).expect("a script");
        let times: Vec<_> = script.events.iter().map(|event| (event.line, event.when)).collect();
        let when = |base, from, to| When { base, from, to };
        assert_eq!(
            times,
            [
                (2, when(Base::Before, 100_000, None)),
                (3, when(Base::Start, 250_000, None)),
                (4, when(Base::Any, 0, None)),
                (5, when(Base::Before, 100_000, Some(105_000))),
                (6, when(Base::Start, 1_000_000, Some(1_500_000))),
                (7, when(Base::Before, 0, None)),
            ]
        );
    }

    /// Would catch a malformed script that is taken for a good one, and a message without the line.
    #[test]
    fn refuses_what_is_malformed() {
        for (text, message) in [
            ("0 write(4, ..., 1000", "line 1: write( without )"),
            ("\n+.1 what is this", "line 2: `what is this` is no packet, call, command or code"),
            ("+x > . 1:1(0)", "line 1: `x` is not a time in seconds, up to 1000000"),
            ("+1~+.5 > . 1:1(0)", "line 1: the time range is backwards"),
            ("+0 `sysctl", "line 1: ` without `"),
            ("--what=1", "line 1: the option --what is not known"),
            ("/* open", "line 1: /* without */"),
        ] {
            assert_eq!(Script::parse(text).expect_err(text).to_string(), message);
        }
    }
}
