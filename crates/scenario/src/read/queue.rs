//! A queue: `{ kind = "choke", limit = "300p", … }`.

use fairlane_qdisc::{Kind, ParameterError, QdiscConfig, QdiscParameters, Rate};

use crate::error::ScenarioError;
use crate::field::{Field, Reader};

/// The limit of a queue that is not described: long enough not to lose a packet, as the hosts of the CHOKe papers.
const LIMIT: &str = "1000p";

/// Reads the queue of a link of `rate` under `parent`'s key `queue`; by default droptail of 1000 packets.
pub(crate) fn queue(parent: &Reader<'_>, rate: Rate) -> Result<QdiscConfig, ScenarioError> {
    let Some(field) = parent.get("queue") else { return plain(parent, rate) };
    let table = field.table()?;
    parameters(&table)?.resolve(rate).map_err(|error| refused(&table, &error))
}

/// Returns the default queue of a link of `rate`.
pub(crate) fn plain(place: &Reader<'_>, rate: Rate) -> Result<QdiscConfig, ScenarioError> {
    plain_parameters().and_then(|queue| queue.resolve(rate)).map_err(|error| place.error(error.to_string()))
}

/// Returns the discipline of a link that has none in the file.
pub(crate) fn plain_parameters() -> Result<QdiscParameters, ParameterError> {
    QdiscParameters::new(Kind::DropTail).with("limit", LIMIT)
}

/// Reads the file's values first, and then the command line's.
fn parameters(table: &Reader<'_>) -> Result<QdiscParameters, ScenarioError> {
    let chosen = if table.is_given() { table.get("kind") } else { Some(table.need("kind", "\"choke\"")?) };
    let mut config = match &chosen {
        Some(field) if !table.is_given() => {
            QdiscParameters::new(kind(&field.replaced().unwrap_or_else(|| field.clone()))?)
        }
        _ => plain_parameters().map_err(|error| table.error(error.to_string()))?,
    };
    set(table, &mut config, false)?;
    if let Some(field) = chosen {
        config = config.with_kind(kind(&field)?);
    }
    set(table, &mut config, true)?;
    Ok(config)
}

fn kind(field: &Field<'_>) -> Result<Kind, ScenarioError> {
    field.text()?.parse().map_err(|error: ParameterError| field.error(error.message()))
}

/// Sets the parameters of `table` that the command line has given, or the file's.
fn set(table: &Reader<'_>, config: &mut QdiscParameters, given: bool) -> Result<(), ScenarioError> {
    for (key, field) in table.fields() {
        if key == "kind" || field.is_given() != given {
            continue;
        }
        let known = config.kind().parameters().iter().any(|parameter| parameter.key == key);
        let refuse = |error: ParameterError| match known {
            true => field.error(error.message()),
            false => table.key_error(key, error.message()).of_unknown_key(),
        };
        config.set(key, field.value()?).map_err(refuse)?;
    }
    Ok(())
}

/// An error of the queue as a whole: at the command line's option that made it, if there is one, else at the named
/// parameter, if the file has it.
fn refused(table: &Reader<'_>, error: &ParameterError) -> ScenarioError {
    let named = table.get(error.key());
    let option = table.fields().map(|(_, field)| field).find(Field::is_given);
    match (named, option) {
        (Some(named), option) if named.is_given() || option.is_none() => named.error(error.message()),
        (_, Some(option)) => option.error(error.to_string()),
        (_, None) => table.error(error.to_string()),
    }
}
