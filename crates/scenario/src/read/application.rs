//! Reading of the application of a group of TCP flows.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Size};

use crate::application::{Application, Sizes, Transfers, Web};
use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::read::source;
use crate::source::Periods;

/// The application of a group of TCP flows.
#[derive(Clone, Copy)]
pub(crate) enum ApplicationKind {
    Ftp,
    Transfers,
    Web,
    Exponential,
    Pareto,
}

const KINDS: [(&str, ApplicationKind); 5] = [
    ("ftp", ApplicationKind::Ftp),
    ("transfers", ApplicationKind::Transfers),
    ("web", ApplicationKind::Web),
    ("exponential", ApplicationKind::Exponential),
    ("pareto", ApplicationKind::Pareto),
];

/// Keys that another application has.
pub(crate) const ELSEWHERE: Elsewhere = &[
    ("size", "`size` is for source = \"transfers\" and \"web\""),
    ("sizes", "`sizes` is for source = \"transfers\" and \"web\""),
    ("think", "`think` is for source = \"transfers\" and \"web\""),
    ("min_size", "`min_size` is for source = \"web\""),
    ("objects", "`objects` is for source = \"web\""),
    ("connections", "`connections` is for source = \"web\""),
    ("sigma", "`sigma` is for source = \"transfers\" and \"web\" with sizes = \"lognormal\""),
    ("shape", "`shape` is for source = \"pareto\", and for source = \"transfers\" and \"web\" with sizes = \"pareto\""),
    ("on", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("off", "on and off periods are for source = \"exponential\" and \"pareto\""),
];

const SIZES: RangeInclusive<u64> = 1..=1_000_000_000_000;
const THINKS: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000);
/// Connections of a browser, and objects of a page.
const CONNECTIONS: RangeInclusive<u32> = 1..=1000;
const OBJECTS: RangeInclusive<u32> = 1..=1_000_000;
const SIGMAS: RangeInclusive<f64> = 0.0..=10.0;

#[derive(Clone, Copy)]
enum SizesKind {
    Fixed,
    Exponential,
    Pareto,
    Lognormal,
}

const SIZES_KINDS: [(&str, SizesKind); 4] = [
    ("fixed", SizesKind::Fixed),
    ("exponential", SizesKind::Exponential),
    ("pareto", SizesKind::Pareto),
    ("lognormal", SizesKind::Lognormal),
];

impl ApplicationKind {
    /// The one that `group` names.
    pub(crate) fn of(group: &Reader<'_>) -> Result<Self, ScenarioError> {
        group.get("source").map_or(Ok(Self::Ftp), |field| field.choice("source of TCP", &KINDS, &[]))
    }

    /// The keys that it has beside `source`.
    pub(crate) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Ftp => &[],
            Self::Transfers => &["size", "sizes", "shape", "sigma", "think"],
            Self::Web => &["size", "sizes", "shape", "sigma", "think", "min_size", "objects", "connections"],
            Self::Exponential => &["on", "off"],
            Self::Pareto => &["on", "off", "shape"],
        }
    }

    /// Reads it.
    pub(crate) fn read(self, group: &Reader<'_>) -> Result<Application, ScenarioError> {
        match self {
            Self::Ftp => Ok(Application::Ftp),
            Self::Transfers => transfers(group).map(Application::Transfers),
            Self::Web => web(group).map(Application::Web),
            Self::Exponential => source::on_off(group, Periods::Exponential).map(Application::OnOff),
            Self::Pareto => source::pareto(group).map(Application::OnOff),
        }
    }
}

/// The keys of all applications.
#[cfg(test)]
pub(crate) fn keys() -> Vec<&'static str> {
    KINDS.iter().flat_map(|(_, kind)| kind.keys().iter().copied()).collect()
}

fn web(group: &Reader<'_>) -> Result<Web, ScenarioError> {
    let Transfers { size, sizes, think } = transfers(group)?;
    Ok(Web {
        objects: group.need("objects", "50")?.count32(&OBJECTS)?,
        connections: group.need("connections", "6")?.count32(&CONNECTIONS)?,
        size,
        sizes,
        least: group.get("min_size").map_or(Ok(Size::Bytes(Bytes::new(1))), |field| self::size(&field))?,
        think: think.unwrap_or(Duration::ZERO),
    })
}

fn transfers(group: &Reader<'_>) -> Result<Transfers, ScenarioError> {
    let size = size(&group.need("size", "\"100kb\" or \"100p\"")?)?;
    let kind = group
        .get("sizes")
        .map_or(Ok(SizesKind::Fixed), |field| field.choice("distribution of sizes", &SIZES_KINDS, &[]))?;
    for (key, fits, kind) in [
        ("shape", matches!(kind, SizesKind::Pareto), "pareto"),
        ("sigma", matches!(kind, SizesKind::Lognormal), "lognormal"),
    ] {
        if let (Some(_), false) = (group.get(key), fits) {
            let error = group.key_error(key, format!("`{key}` does not apply to these sizes"));
            return Err(error.with_help(format!("it is for sizes = \"{kind}\"")));
        }
    }
    let sizes = match kind {
        SizesKind::Fixed => Sizes::Fixed,
        SizesKind::Exponential => Sizes::Exponential,
        SizesKind::Pareto => Sizes::Pareto { shape: source::shape(group)? },
        SizesKind::Lognormal => Sizes::Lognormal { sigma: group.need("sigma", "1.0")?.ratio(&SIGMAS)? },
    };
    let think = group.get("think").map(|field| field.unit_in(&THINKS)).transpose()?;
    Ok(Transfers { size, sizes, think })
}

/// A size in bytes or in packets.
fn size(field: &Field<'_>) -> Result<Size, ScenarioError> {
    let size: Size = field.unit()?;
    let number = match size {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get(),
    };
    if SIZES.contains(&number) {
        return Ok(size);
    }
    let message = format!("{} is out of range: it must be from 1b to 1000gb, or a packet and more", field.written());
    Err(field.error(message))
}
