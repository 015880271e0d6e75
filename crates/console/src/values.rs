//! Values of options, read from text for [clap](https://docs.rs/clap).

use fairlane_qdisc::{Duration, Kind, ParameterError, Rate, UnitError};
use fairlane_scenario::ShaperKind;

/// A `KEY=VALUE` of the command line.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The text before the first `=`.
    pub key: String,
    /// The text after it.
    pub value: String,
}

/// Reads `KEY=VALUE`; spaces around both are dropped.
///
/// # Errors
/// There is no `=`, or nothing before it.
pub fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok(Setting { key: key.trim().to_owned(), value: value.trim().to_owned() })
        }
        _ => Err("write KEY=VALUE, such as limit=300p".to_owned()),
    }
}

/// Reads the name of a discipline.
///
/// # Errors
/// No discipline has this name.
pub fn kind(text: &str) -> Result<Kind, String> {
    text.parse().map_err(|error: ParameterError| error.message().to_owned())
}

/// Reads the name of a kind of shaper.
///
/// # Errors
/// No kind has this name.
pub fn shaper(text: &str) -> Result<ShaperKind, String> {
    let names = ShaperKind::ALL.map(ShaperKind::name).join(" and ");
    let known = ShaperKind::ALL.into_iter().find(|kind| kind.name() == text.trim());
    known.ok_or_else(|| format!("there is no shaper \"{}\"; there are {names}", text.trim()))
}

/// Reads a time with its unit, such as `100ms`.
///
/// # Errors
/// The text has no unit, or is not a time.
pub fn time(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

/// Reads the rate of a link with its unit, such as `10mbit`.
///
/// # Errors
/// The text has no unit or is not a rate, or the rate is zero.
pub fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: UnitError| error.to_string())?;
    if rate.bits_per_second() == 0 { Err("a link needs a rate above zero".to_owned()) } else { Ok(rate) }
}
