//! Rates from a file: times and rates, or mahimahi's opportunities to send.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use fairlane_qdisc::{Duration, Rate};

use crate::error::ScenarioError;
use crate::field::Field;
use crate::read::RATE;
use crate::wire::{Opportunity, RateSteps};

/// The largest file, in bytes.
const LARGEST: u64 = 16 << 20;
/// The first line of a file of times and rates.
const HEADER: &str = "time_s,rate_bps";
/// The first line of a file of times and delays.
const DELAY_HEADER: &str = "time_s,delay_s";
/// A file's contents are not repeated: it may be any file of the machine.
const NO_MAHIMAHI: &str = "this is not a whole number of milliseconds: each line of a mahimahi trace is the time at which 1500 bytes can \
                           have been sent, and a table of times and rates has a name that ends in .csv";
const NANOS: f64 = 1e9;
/// The rate of a mahimahi trace with one line a millisecond, each for 1500 bytes as its manual says.
const OPPORTUNITY: u64 = 12_000_000;
/// The same with the bytes that its link delivers.
const EXACT: u64 = Opportunity::BYTES as u64 * 8000;
const MILLI: u64 = 1_000_000;

/// Rates with their times, and after how long they begin again.
pub(crate) type TimedRates = (Vec<(Duration, Rate)>, Option<Duration>);

/// Reads the file that `field` names, in the scenario's folder: a `.csv` has times and rates, any other is mahimahi's.
pub(crate) fn steps(field: &Field<'_>) -> Result<TimedRates, ScenarioError> {
    read(field, if is_table(field)? { csv } else { mahimahi })
}

/// Reads the file of times and delays within `range` that `field` names, in the scenario's folder.
pub(crate) fn delays(
    field: &Field<'_>,
    range: &RangeInclusive<Duration>,
) -> Result<Vec<(Duration, Duration)>, ScenarioError> {
    let what = format!("a delay from 0 to {} s, such as 1.5,0.02", range.end().as_secs());
    read(field, |text| table(text, DELAY_HEADER, &what, |value| nanos(value).filter(|delay| range.contains(delay))))
}

/// Returns true if `field` names a table of times and rates.
pub(crate) fn is_table(field: &Field<'_>) -> Result<bool, ScenarioError> {
    Ok(Path::new(field.text()?).extension().is_some_and(|extension| extension == "csv"))
}

/// Reads the mahimahi trace that `field` names as moments of delivery.
pub(crate) fn opportunities(field: &Field<'_>) -> Result<RateSteps, ScenarioError> {
    read(field, exact)
}

fn read<T>(field: &Field<'_>, read: impl Fn(&str) -> Result<T, LineError>) -> Result<T, ScenarioError> {
    let name = field.text()?;
    let path = field.beside(name);
    let text = match field.bundled_file(name) {
        Some(text) => text.to_owned(),
        None => text(&path).map_err(|why| field.error(format!("{}: {why}", path.display())))?,
    };
    read(&text).map_err(|(line, why)| field.error(format!("{}:{line}: {why}", path.display())))
}

/// A file's text.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| format!("cannot be read as text: {error}"))?;
    if text.len() as u64 > LARGEST { Err("is larger than 16 MiB".to_owned()) } else { Ok(text) }
}

/// A message with the number of the line that it is about.
pub(crate) type LineError = (usize, String);

/// The lines with their numbers, without those that are empty.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

fn csv(text: &str) -> Result<TimedRates, LineError> {
    let what = format!("a rate from 0 to {} bit/s, such as 1.5,2000000", RATE.end().bits_per_second());
    Ok((table(text, HEADER, &what, rate_of)?, None))
}

/// Reads lines of a time in seconds and a value, `what`, after the line `header`.
fn table<T>(
    text: &str,
    header: &str,
    what: &str,
    value: impl Fn(&str) -> Option<T>,
) -> Result<Vec<(Duration, T)>, LineError> {
    let mut lines = lines(text);
    if lines.next().is_none_or(|(_, line)| line != header) {
        return Err((1, format!("the first line of this table is {header}")));
    }
    let mut steps: Vec<(Duration, T)> = Vec::new();
    for (line, row) in lines {
        let step = row.split_once(',').and_then(|(time, written)| Some((nanos(time)?, value(written)?)));
        let Some(step) = step else {
            return Err((line, format!("this is not a time in seconds and {what}")));
        };
        match steps.last() {
            None if step.0 > Duration::ZERO => return Err((line, "the first step is at 0 s".to_owned())),
            Some((before, _)) if step.0 <= *before => return Err((line, "the times must rise".to_owned())),
            _ => steps.push(step),
        }
    }
    if steps.is_empty() { Err((1, "there are no times after this line".to_owned())) } else { Ok(steps) }
}

/// A time in seconds.
pub(crate) fn nanos(seconds: &str) -> Option<Duration> {
    let seconds: f64 = seconds.trim().parse().ok()?;
    (0.0..=1e9).contains(&seconds).then(|| Duration::from_nanos((seconds * NANOS).round() as u64))
}

fn rate_of(bits: &str) -> Option<Rate> {
    let bits: f64 = bits.trim().parse().ok()?;
    (0.0..=RATE.end().bits_per_second() as f64).contains(&bits).then(|| Rate::from_bits_per_second(bits.round() as u64))
}

/// Each line is a millisecond at whose end the link has been able to send 1500 bytes; all begins again after the last
/// one.
fn mahimahi(text: &str) -> Result<TimedRates, LineError> {
    let (busy, every) = busy(text)?;
    Ok((spread(&busy, OPPORTUNITY), Some(every)))
}

/// Each line is a millisecond at which the link delivers; all begins again after the last one.
fn exact(text: &str) -> Result<RateSteps, LineError> {
    let (mut busy, every) = busy(text)?;
    let last = every.as_nanos() / MILLI;
    // Nothing has arrived at 0 ms, but at the end of each round these lines are due with the last one.
    let at_zero = lines(text).take_while(|(_, word)| word.parse() == Ok(0)).count() as u64;
    if at_zero > 0 {
        busy[0].1 -= at_zero;
        busy.retain(|(_, count)| *count > 0);
        match busy.last_mut() {
            Some((begin, count)) if *begin + 1 == last => *count += at_zero,
            _ => busy.push((last - 1, at_zero)),
        }
    }
    let moment = |(begin, count): &(u64, u64)| Opportunity {
        at: Duration::from_nanos((begin + 1) * MILLI),
        count: u32::try_from(*count).unwrap_or(u32::MAX),
    };
    let opportunities = busy.iter().map(moment).collect();
    Ok(RateSteps::new(spread(&busy, EXACT), Some(every)).with_opportunities(opportunities))
}

/// Returns the beginning of each millisecond at whose end there are opportunities, and their number; and the length of
/// the trace.
fn busy(text: &str) -> Result<(Vec<(u64, u64)>, Duration), LineError> {
    let mut busy: Vec<(u64, u64)> = Vec::new();
    let (mut last, mut line_of_last) = (0, 1);
    for (line, word) in lines(text) {
        let end: u64 = word.parse().map_err(|_| (line, NO_MAHIMAHI.to_owned()))?;
        if end < last {
            return Err((line, format!("{end} ms is before {last} ms: the times must not fall")));
        }
        (last, line_of_last) = (end, line);
        let begin = end.saturating_sub(1);
        match busy.last_mut() {
            Some((at, count)) if *at == begin => *count += 1,
            _ => busy.push((begin, 1)),
        }
    }
    if last == 0 {
        return Err((line_of_last, "there is no time after 0 ms".to_owned()));
    }
    let every = last.checked_mul(MILLI).map(Duration::from_nanos);
    let every = every.filter(|every| *every <= *super::DURATION.end());
    let every = every.ok_or_else(|| (line_of_last, format!("{last} ms is too far ahead")))?;
    Ok((busy, every))
}

/// The steps up to the last busy millisecond; between busy milliseconds the rate is 0.
fn spread(busy: &[(u64, u64)], opportunity: u64) -> Vec<(Duration, Rate)> {
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    let mut add = |milli: u64, count: u64| {
        let rate = Rate::from_bits_per_second(count.saturating_mul(opportunity)).min(*RATE.end());
        if steps.last().is_none_or(|(_, before)| *before != rate) {
            steps.push((Duration::from_nanos(milli * MILLI), rate));
        }
    };
    let mut free = 0;
    for (milli, count) in busy {
        if *milli > free {
            add(free, 0);
        }
        add(*milli, *count);
        free = milli + 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn mbit(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1_000_000)
    }

    /// Mahimahi's documentation: a line is a millisecond, several equal lines are several packets, and the file is
    /// repeated.
    #[test]
    fn mahimahis_opportunities_become_rates() {
        let (steps, every) = mahimahi("1\n2\n5\n5\n6\n9\n").unwrap_or_else(|error| panic!("{error:?}"));
        let expected = [(0, 12), (2, 0), (4, 24), (5, 12), (6, 0), (8, 12)];
        assert_eq!(steps, expected.map(|(at, rate)| (ms(at), mbit(rate))));
        assert_eq!(every, Some(ms(9)));
        // The number of bits is that of the lines times 1500 bytes.
        let ends = steps.iter().skip(1).map(|step| step.0).chain(every);
        let milli_bits = |((at, rate), end): (&(Duration, Rate), Duration)| {
            (end.as_nanos() - at.as_nanos()) / MILLI * rate.bits_per_second()
        };
        let bits = steps.iter().zip(ends).map(milli_bits).sum::<u64>() / 1000;
        assert_eq!(bits, 6 * 12_000);
        let (steps, every) = mahimahi("3\r\n\r\n7\r\n").unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!((steps[0], every), ((ms(0), mbit(0)), Some(ms(7))));
    }

    /// By hand from mm-link's source: the trace begins again with the last line as its zero, so lines at 0 come with
    /// the last one. Would catch an opportunity that is lost, one of 1500 bytes, and a mean rate other than 1504 bytes
    /// for each line: 5 · 12.032 kbit in 4 ms.
    #[test]
    fn lines_become_moments() {
        let exact = |text| exact(text).unwrap_or_else(|error| panic!("{error:?}"));
        let moments = |rates: &RateSteps| -> Vec<(u64, u32)> {
            rates.opportunities().iter().map(|moment| (moment.at.as_nanos() / MILLI, moment.count)).collect()
        };
        let rates = exact("0\n0\n2\n2\n4\n");
        assert_eq!(moments(&rates), [(2, 2), (4, 3)]);
        assert_eq!((rates.every(), rates.nominal().bits_per_second()), (Some(ms(4)), 15_040_000));
        assert_eq!(moments(&exact("0\n1\n3\n")), [(1, 1), (3, 2)]);
        assert_eq!(moments(&exact("1\n")), [(1, 1)]);
        assert_eq!(exact("1\n").nominal().bits_per_second(), 12_032_000);
    }

    #[test]
    fn times_and_rates_are_read_in_order() {
        let (steps, every) =
            csv("time_s,rate_bps\n0,1e6\n0.5, 2500000\n2,0\n").unwrap_or_else(|error| panic!("{error:?}"));
        let half = Rate::from_bits_per_second(2_500_000);
        assert_eq!((&*steps, every), (&[(ms(0), mbit(1)), (ms(500), half), (ms(2000), mbit(0))][..], None));
    }

    /// Would catch an error that shows a line of a file that is no trace, such as one with passwords.
    #[test]
    fn contents_are_not_repeated() {
        let why = |result: Result<TimedRates, LineError>| result.map_err(|(_, why)| why).err().unwrap_or_default();
        let secret = "root:x:0:0";
        for why in [why(mahimahi(secret)), why(csv(secret)), why(csv(&format!("{HEADER}\n{secret}")))] {
            assert!(!why.is_empty() && !why.contains("root"), "{why}");
        }
        assert!(why(mahimahi(secret)).contains("milliseconds") && why(csv(secret)).contains(HEADER));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let line = |result: Result<TimedRates, LineError>| result.map_err(|(line, _)| line).err();
        assert_eq!(line(mahimahi("1\n2.5\n")), Some(2));
        assert_eq!(line(mahimahi("1\n3\n2\n")), Some(3));
        assert_eq!(line(mahimahi("")), Some(1));
        assert_eq!(line(mahimahi("0\n0\n")), Some(2));
        assert_eq!(line(mahimahi("18446744073709551615\n")), Some(1));
        assert_eq!(line(csv("0,1000\n")), Some(1));
        for row in ["x,1", "0", "0,-1", "0,nan", "1,5", "0,1e14"] {
            assert_eq!(line(csv(&format!("{HEADER}\n{row}\n"))), Some(2), "{row}");
        }
        assert_eq!(line(csv(&format!("{HEADER}\n0,5\n0,6\n"))), Some(3));
        assert_eq!(line(csv(HEADER)), Some(1));
    }
}
