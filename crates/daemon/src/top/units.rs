//! Short numbers with units.

/// A rate in bits a second, in three digits: `950 kbit/s`, `17.1 Mbit/s`.
pub(super) fn bits(per_second: f64) -> String {
    scaled(per_second, &[" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s"])
}

/// Bytes: `150 kB`.
pub(super) fn bytes(bytes: f64) -> String {
    scaled(bytes, &[" B", " kB", " MB", " GB", " TB"])
}

/// Packets a second: `3.5`, `9500`, `12.5k`.
pub(super) fn pace(per_second: f64) -> String {
    if per_second < 9999.5 { digits(per_second) } else { scaled(per_second, &["", "k", "M", "G"]) }
}

/// A time in seconds: `450 µs`, `31.2 ms`, `1.5 s`; a dash for none.
pub(super) fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return "–".to_owned() };
    let (value, unit) = if seconds < 1e-3 {
        (seconds * 1e6, "µs")
    } else if seconds < 1.0 {
        (seconds * 1e3, "ms")
    } else {
        (seconds, "s")
    };
    format!("{} {unit}", digits(value))
}

/// Formats a duration: `45 s`, `12 min 3 s`, `5 h 12 min`, `3 d 5 h`.
pub(super) fn span(seconds: f64) -> String {
    let seconds = seconds as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// Per cent: `0.4 %`, `25 %`.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", digits(100.0 * part))
}

/// `value` in the unit of `units`, each a thousand of the one before, in which it has three digits.
fn scaled(value: f64, units: &[&str]) -> String {
    let (mut value, mut rest) = (value, units);
    // A value that rounds to 1000 is 1 of the next unit.
    while value >= 999.5 && rest.len() > 1 {
        value /= 1000.0;
        rest = &rest[1..];
    }
    let decimals = match value {
        _ if rest.len() == units.len() => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{}", rest.first().copied().unwrap_or_default())
}

/// One decimal for small numbers that are not whole.
fn digits(value: f64) -> String {
    if value < 99.95 && (value - value.round()).abs() >= 0.05 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 999.0, 999.6, 17_123_456.0].map(bits), ["0 bit/s", "999 bit/s", "1.00 kbit/s", "17.1 Mbit/s"]);
        assert_eq!([3.5, 3.0, 949.6, 9999.0, 12_500.0, 5e12].map(pace), ["3.5", "3", "950", "9999", "12.5k", "5000G"]);
        assert_eq!([4.5e-4, 0.0312, 1.5].map(|seconds| time(Some(seconds))), ["450 µs", "31.2 ms", "1.5 s"]);
        assert_eq!((time(None), bytes(150_000.0)), ("–".to_owned(), "150 kB".to_owned()));
        assert_eq!([45.9, 723.0, 18_750.0, 277_300.0].map(span), ["45 s", "12 min 3 s", "5 h 12 min", "3 d 5 h"]);
        assert_eq!([0.004, 0.25, 1.0].map(percent), ["0.4 %", "25 %", "100 %"]);
    }
}
