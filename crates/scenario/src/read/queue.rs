//! A queue: `{ kind = "choke", limit = "300p", … }`.

use fairlane_qdisc::{Kind, ParameterError, QdiscConfig, Rate};

use crate::error::ScenarioError;
use crate::field::{Field, Reader};

/// Disciplines that have a name and will come.
const PLANNED: [&str; 2] = ["red-penalty-box", "red-pd"];

/// The limit of a queue that is not described: long enough not to lose a packet, as the hosts of the CHOKe papers.
const LIMIT: &str = "1000p";

/// The queue of a link of `rate` under `parent`'s key `queue`; droptail of 1000 packets when it says nothing.
pub(crate) fn queue(parent: &Reader<'_>, rate: Rate) -> Result<QdiscConfig, ScenarioError> {
    let Some(field) = parent.get("queue") else { return plain(parent) };
    let table = field.table()?;
    let config = config(&table)?;
    // A queue that contradicts itself is found here, not when an engine builds it.
    config.explain(rate).map_err(|error| refused(&table, &error))?;
    Ok(config)
}

/// The queue of a link that describes none.
pub(crate) fn plain(place: &Reader<'_>) -> Result<QdiscConfig, ScenarioError> {
    let queue = QdiscConfig::new(Kind::DropTail).with("limit", LIMIT);
    queue.map_err(|error| place.error(error.to_string()))
}

/// What the file says, then what the command line changes.
fn config(table: &Reader<'_>) -> Result<QdiscConfig, ScenarioError> {
    let chosen = if table.is_given() { table.get("kind") } else { Some(table.need("kind", "\"choke\"")?) };
    let mut config = match &chosen {
        Some(field) if !table.is_given() => QdiscConfig::new(kind(&field.replaced().unwrap_or_else(|| field.clone()))?),
        _ => plain(table)?,
    };
    parameters(table, &mut config, false)?;
    if let Some(field) = chosen {
        config = config.with_kind(kind(&field)?);
    }
    parameters(table, &mut config, true)?;
    Ok(config)
}

fn kind(field: &Field<'_>) -> Result<Kind, ScenarioError> {
    let choices = Kind::ALL.map(|kind| (kind.name(), kind));
    field.choice("queue discipline", &choices, &PLANNED)
}

/// Sets the parameters of `table` that the command line has given, or the file's.
fn parameters(table: &Reader<'_>, config: &mut QdiscConfig, given: bool) -> Result<(), ScenarioError> {
    for (key, field) in table.fields() {
        if key == "kind" || field.is_given() != given {
            continue;
        }
        let known = config.kind().parameters().iter().any(|parameter| parameter.key == key);
        let refuse = |error: ParameterError| match known {
            true => field.error(error.message()),
            false => table.key_error(key, error.message()),
        };
        config.set(key, field.value()?).map_err(refuse)?;
    }
    Ok(())
}

/// An error of the queue as a whole: at the command line's option that made it, if there is one, else at the parameter
/// that it names if that was written.
fn refused(table: &Reader<'_>, error: &ParameterError) -> ScenarioError {
    let named = table.get(error.key());
    let option = table.fields().map(|(_, field)| field).find(Field::is_given);
    match (named, option) {
        (Some(named), option) if named.is_given() || option.is_none() => named.error(error.message()),
        (_, Some(option)) => option.error(error.to_string()),
        (_, None) => table.error(error.to_string()),
    }
}
