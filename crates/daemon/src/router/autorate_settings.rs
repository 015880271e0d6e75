//! The settings of a router that adjusts its rates: `[autorate]` of its file.

use std::net::Ipv4Addr;

use fairlane_autorate::{Config, Direction as Side, Law};
use fairlane_console::{Failure, values};
use fairlane_linux::ProbeKind;
use fairlane_qdisc::Rate;
use toml::Spanned;
use toml::de::DeValue;

use super::file_value::{Scalar, Source, switch};
use super::way::{Direction, Way};

/// The keys of the table, and those of the rates of one direction.
const KEYS: [&str; 7] = ["probe", "law", "dry-run", "min", "max", "up", "down"];
const RATES: [&str; 2] = ["min", "max"];

/// The least and the highest rate of a direction; both are there once the file has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RateRange {
    min: Option<Rate>,
    max: Option<Rate>,
}

/// `[autorate]` as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AutorateTable {
    kind: Option<ProbeKind>,
    reflectors: Vec<Ipv4Addr>,
    law: Law,
    dry_run: bool,
    one: RateRange,
    up: RateRange,
    down: RateRange,
}

/// The settings by which a router adjusts its rates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AutorateSettings {
    pub(super) kind: ProbeKind,
    /// At least one.
    pub(super) reflectors: Vec<Ipv4Addr>,
    /// Decisions are told and not carried out.
    pub(super) dry_run: bool,
    /// For each way; `None` for one whose rate stays.
    pub(super) configs: Vec<Option<Config>>,
}

impl AutorateTable {
    /// Reads the table. Wrong keys are left out, and added to `mistakes`.
    pub(super) fn read(
        source: &Source<'_>,
        value: &Spanned<DeValue<'_>>,
        mistakes: &mut Vec<Failure>,
    ) -> Result<Self, Failure> {
        let DeValue::Table(table) = value.get_ref() else {
            let example = "{ probe = \"echo:192.0.2.1\", min = \"2mbit\", max = \"30mbit\" }";
            return Err(source.error(value.span(), format!("autorate: expected a table, such as {example}")));
        };
        let mut read = Self::default();
        for (key, value) in table {
            let scalar = Scalar { source, key: key.get_ref(), value };
            mistakes.extend(read.read_key(key, &scalar).err());
        }
        if !table.contains_key("probe") {
            return Err(source.error(value.span(), "autorate: it needs a probe, such as \"echo:192.0.2.1\""));
        }
        Ok(read)
    }

    fn read_key(&mut self, key: &Spanned<impl AsRef<str>>, scalar: &Scalar<'_>) -> Result<(), Failure> {
        let (Scalar { source, value, .. }, name) = (scalar, key.get_ref().as_ref());
        match name {
            "probe" => self.add_probes(scalar)?,
            "law" => self.law = scalar.read(law)?,
            "dry-run" => self.dry_run = scalar.read(switch)?,
            "min" => self.one.min = Some(scalar.read(values::rate)?),
            "max" => self.one.max = Some(scalar.read(values::rate)?),
            "up" => self.up = rates(source, name, value)?,
            "down" => self.down = rates(source, name, value)?,
            other => {
                let message = format!("autorate: there is no key \"{other}\"; the keys are {}", KEYS.join(", "));
                return Err(source.error(key.span(), message));
            }
        }
        Ok(())
    }

    fn add_probes(&mut self, scalar: &Scalar<'_>) -> Result<(), Failure> {
        let add = |own: &mut Self, scalar: &Scalar<'_>| {
            let (kind, reflector) = scalar.read(probe)?;
            if own.kind.is_some_and(|other| other != kind) {
                return Err(scalar.error("all probes must be of one kind"));
            }
            own.kind = Some(kind);
            own.reflectors.push(reflector);
            Ok(())
        };
        match scalar.value.get_ref() {
            DeValue::Array(items) => items.iter().try_for_each(|value| add(self, &Scalar { value, ..*scalar })),
            _ => add(self, scalar),
        }
    }

    /// Returns the settings for a router with `ways`, whose rates are the base rates.
    pub(super) fn resolve(&self, ways: &[Way], interfaces: &[String]) -> Result<AutorateSettings, Failure> {
        if interfaces.len() != 1 || ways.iter().any(|way| way.path.queues().is_none()) {
            let message = "autorate needs an NFQUEUE and exactly one interface, whose packets it counts";
            return Err(Failure::new(message, "leave [autorate] out, or name one interface"));
        }
        let mut configs = Vec::new();
        for way in ways {
            let (name, rates) = match way.direction {
                None => ("autorate", self.one),
                Some(Direction::Up) => ("autorate.up", self.up),
                Some(Direction::Down) => ("autorate.down", self.down),
            };
            configs.push(match rates {
                RateRange { min: Some(min), max: Some(max) } => {
                    let direction = if way.is_down() { Side::Download } else { Side::Upload };
                    let config = Config { law: self.law, direction, ..Config::new(min, way.link.rate, max) };
                    config.check().map_err(|error| Failure::plain(format!("{name}.{error}")))?;
                    Some(config)
                }
                RateRange { min: None, max: None } => None,
                RateRange { .. } => {
                    return Err(Failure::new(format!("{name} needs both min and max"), "write both rates"));
                }
            });
        }
        if configs.iter().all(Option::is_none) {
            let (message, help) =
                ("autorate has no rates for this router", "write min and max; with up or down as a key of theirs");
            return Err(Failure::new(message, help));
        }
        let kind = self.kind.unwrap_or(ProbeKind::Echo);
        Ok(AutorateSettings { kind, reflectors: self.reflectors.clone(), dry_run: self.dry_run, configs })
    }
}

/// Reads `{ min = "2mbit", max = "30mbit" }`.
fn rates(source: &Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<RateRange, Failure> {
    let wrong =
        || source.error(value.span(), format!("autorate.{name}: expected {{ min = \"2mbit\", max = \"30mbit\" }}"));
    let DeValue::Table(table) = value.get_ref() else { return Err(wrong()) };
    if table.len() != RATES.len() || table.keys().any(|key| !RATES.contains(&&**key.get_ref())) {
        return Err(wrong());
    }
    let of = |key: &str| table.get(key).map(|value| Scalar { source, key: name, value }.read(values::rate)).transpose();
    Ok(RateRange { min: of("min")?, max: of("max")? })
}

/// Reads a kind and an address, such as `echo:192.0.2.1`.
fn probe(text: &str) -> Result<(ProbeKind, Ipv4Addr), String> {
    let wrong =
        || "write echo or one-way, and the IPv4 address of a host that answers, such as \"echo:192.0.2.1\"".to_owned();
    let (kind, address) = text.split_once(':').ok_or_else(wrong)?;
    let kind = match kind {
        "echo" => ProbeKind::Echo,
        "one-way" => ProbeKind::TimeStamp,
        _ => return Err(wrong()),
    };
    Ok((kind, address.parse().map_err(|_| wrong())?))
}

fn law(text: &str) -> Result<Law, String> {
    let names = || Law::ALL.map(Law::name).join(", ");
    Law::ALL.into_iter().find(|law| law.name() == text).ok_or_else(|| format!("\"{text}\" is none of {}", names()))
}
