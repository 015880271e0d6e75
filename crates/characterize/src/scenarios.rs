//! The scenarios of a section.

use fairlane_qdisc::{Kind, ParameterError, QdiscParameters};
use fairlane_runner::Error;
use fairlane_scenario::Document;

use crate::checklist::{Case, Checklist, Entry};
use crate::settings::{PACKET, Settings, Subject};
use crate::template::Variables;

/// The congestion levels of section 8.2 and their projected drop rates.
pub(crate) const LEVELS: [(&str, f64); 3] = [("mild", 0.001), ("medium", 0.005), ("heavy", 0.01)];

/// Returns the scenario of a case as a file, with DropTail at its queues.
pub(crate) fn text(entry: &Entry, case: &Case, settings: &Settings) -> String {
    let checklist = Checklist::get();
    let (warmup, duration) = times(entry, settings);
    let variables = variables(entry, case, settings, (warmup, duration));
    let mut template = format!(
        "# RFC 7928, section {}: {}\nduration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nseed = {}\n\
         [tcp]\npreset = \"modern\"\ninitial_window = 3\necn = {{ecn}}\n",
        entry.section, entry.title, settings.seed
    );
    template += checklist.networks.get(&entry.network).map_or("", String::as_str);
    template.extend(entry.include.iter().filter_map(|name| checklist.groups.get(name)).map(String::as_str));
    template += &entry.flows;
    variables.fill(&template)
}

/// Returns the file with the discipline of `subject` at the queues under study; a changed parameter replaces its own.
pub(crate) fn document(
    text: &str,
    case: &Case,
    subject: &Subject,
    buffer: f64,
    ecn: bool,
    change: Option<&Change>,
) -> Result<Document, Error> {
    let mut document = Document::parse("rfc7928.toml", text)?;
    for queue in &case.queues {
        let mut set = |key: &str, value: &str| document.set(&format!("{queue}.queue.{key}"), value);
        set("kind", subject.parameters.kind().name())?;
        if subject.has("limit") && !subject.gives("limit") {
            set("limit", &format!("{buffer}p"))?;
        }
        for (key, value) in subject.parameters.given() {
            set(key, &value.to_string())?;
        }
        if let Some(change) = change {
            set(&change.key, &change.value)?;
        }
        if ecn && subject.has("ecn") && !subject.gives("ecn") {
            set("ecn", "true")?;
        }
    }
    if let Some(second) = &case.second {
        document.set("links.m-r.queue.kind", second)?;
    }
    Ok(document)
}

/// Returns the time in seconds that is left out of averages, and the duration in seconds.
fn times(entry: &Entry, settings: &Settings) -> (f64, f64) {
    let (warmup, duration) = settings.times();
    let duration = if settings.quick { entry.quick_duration.unwrap_or(duration) } else { duration };
    (entry.warmup.unwrap_or(warmup), duration)
}

/// Returns the size of the buffer of a case in packets.
pub(crate) fn buffer(entry: &Entry, case: &Case, settings: &Settings) -> f64 {
    let depth = case.vars.get("depth").or_else(|| entry.vars.get("depth")).copied().unwrap_or(1.0);
    f64::from(settings.buffer_packets()) * depth
}

fn variables(entry: &Entry, case: &Case, settings: &Settings, (warmup, duration): (f64, f64)) -> Variables {
    let mut variables = Variables { words: case.words.clone(), ..Variables::default() };
    let numbers = &mut variables.numbers;
    let flows = LEVELS.map(|(_, loss)| f64::from(settings.flows_for_loss(loss)));
    let mut put = |name: &str, value: f64| numbers.insert(name.to_owned(), value);
    put("rate", settings.rate.bits_per_second() as f64);
    put("rtt", settings.rtt.as_secs() * 1e3);
    put("packet", PACKET);
    put("bdp", f64::from(settings.bdp()));
    put("buffer", buffer(entry, case, settings));
    put("warmup", warmup);
    put("duration", duration);
    for ((name, _), flows) in LEVELS.iter().zip(flows) {
        put(name, flows);
    }
    put("more_medium", (flows[1] - flows[0]).max(1.0));
    put("more_heavy", (flows[2] - flows[1]).max(1.0));
    put("half_mild", (flows[0] / 2.0).floor().max(1.0));
    for (name, value) in entry.vars.iter().chain(&case.vars) {
        put(name, *value);
    }
    let words = &mut variables.words;
    words.insert("ecn".to_owned(), settings.ecn.to_string());
    words.insert("phases_2".to_owned(), phases(20.0, duration));
    words.insert("phases_3".to_owned(), phases(40.0, duration));
    variables
}

/// Returns the phases from `from` seconds to the end of each minute.
fn phases(from: f64, duration: f64) -> String {
    let starts = (0..).map(|minute| 60.0 * f64::from(minute) + from).take_while(|start| *start < duration);
    let phases: Vec<String> = starts.map(|start| format!("[\"{start}s\", \"{}s\"]", start + 60.0 - from)).collect();
    // Two phases that touch would be one connection.
    format!("[{}]", phases.join(", "))
}

/// A parameter with another value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) value: String,
    /// The value over the one before.
    pub(crate) factor: f64,
}

/// The factors of a sweep, in full and quick.
const FACTORS: [f64; 4] = [0.5, 0.7, 1.4, 2.0];
const QUICK_FACTORS: [f64; 2] = [0.5, 2.0];

/// Returns the parameters of `subject` with a buffer of this many packets, unless it has a limit.
pub(crate) fn with_buffer(subject: &Subject, buffer: f64) -> Result<QdiscParameters, ParameterError> {
    let parameters = subject.parameters.clone();
    if subject.has("limit") && !subject.gives("limit") {
        parameters.with("limit", &*format!("{buffer}p"))
    } else {
        Ok(parameters)
    }
}

/// Returns the changes of each number among the parameters of `subject` to half and to twice its value, in full also to
/// those between, as far as the discipline takes them. The buffer and the bandwidth are left out: they are the link's.
pub(crate) fn sweep(subject: &Subject, buffer: f64, settings: &Settings) -> Result<Vec<Change>, Error> {
    let rate = settings.rate;
    if subject.parameters.kind() == Kind::DropTail {
        return Ok(Vec::new());
    }
    let refused = |error: ParameterError| Error::Refused { message: error.to_string(), help: None };
    let base = with_buffer(subject, buffer).map_err(refused)?;
    let mut changes = Vec::new();
    let factors: &[f64] = if settings.quick { &QUICK_FACTORS } else { &FACTORS };
    for parameter in base.explain(rate).map_err(refused)?.parameters {
        if ["limit", "bandwidth"].contains(&parameter.key) {
            continue;
        }
        let mut scaled: Vec<(String, f64)> =
            factors.iter().filter_map(|factor| scaled(&parameter.value, *factor)).collect();
        // Of small whole numbers several factors make the same.
        scaled.dedup();
        let takes =
            |value: &str| base.clone().with(parameter.key, value).is_ok_and(|changed| changed.resolve(rate).is_ok());
        let taken = scaled.into_iter().filter(|(value, _)| takes(value));
        changes.extend(taken.map(|(value, factor)| Change { key: parameter.key.to_owned(), value, factor }));
    }
    Ok(changes)
}

/// Returns `factor` times a value with its unit, and what it then is of the old one; `None` if it is no number, zero,
/// or would not change. Packets, bytes and plain whole numbers stay whole.
fn scaled(value: &str, factor: f64) -> Option<(String, f64)> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let old: f64 = number.parse().ok()?;
    let whole = ["p", "b"].contains(&unit) || (unit.is_empty() && !number.contains('.') && old > 1.0);
    let new = if whole { libm::round(old * factor).max(1.0) } else { libm::round(old * factor * 1e9) / 1e9 };
    (new != old).then(|| (format!("{new}{unit}"), new / old))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_scaled_with_their_units() {
        for (value, factor, expected) in [
            ("5ms", 0.5, Some("2.5ms")),
            ("83p", 0.5, Some("42p")),
            ("1p", 0.5, None),
            ("0.02", 2.0, Some("0.04")),
            ("3", 0.5, Some("2")),
            ("1", 0.5, Some("0.5")),
            ("0", 2.0, None),
            ("never", 2.0, None),
            ("false", 2.0, None),
        ] {
            assert_eq!(scaled(value, factor).map(|(value, _)| value).as_deref(), expected, "{value}");
        }
        // A rounded number says by how much it was changed.
        assert_eq!(scaled("3", 0.7), Some(("2".to_owned(), 2.0 / 3.0)));
    }

    /// Would catch phases that leave gaps or overlap: 20–60 s and 80–120 s of two minutes.
    #[test]
    fn phases_are_the_ends_of_minutes() {
        assert_eq!(phases(20.0, 120.0), "[[\"20s\", \"60s\"], [\"80s\", \"120s\"]]");
    }
}
