//! Reading of a shaper in front of a link.

use std::ops::RangeInclusive;

use fairlane_autorate::{Config, Law};
use fairlane_qdisc::{Rate, Size};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{REQUIRED, TableKeys, Takes, key};
use crate::read::RATE;
use crate::shaper::{ProbeKind, Shaper, ShaperKind};

pub(crate) const KEYS: TableKeys = TableKeys {
    name: "shaper",
    meaning: "a shaper in front of the link, as a router in front of a modem",
    keys: &[
        key(
            "kind",
            Takes::Choice(|| ShaperKind::ALL.map(ShaperKind::name).to_vec()),
            "fixed",
            "a fixed rate, or one that a controller adjusts",
        ),
        key("rate", Takes::Rate(RATE), REQUIRED, "the fixed rate, or the one at which the controller starts"),
        key("min", Takes::Rate(RATE), "a quarter of `rate`", "the controller's lowest rate"),
        key("max", Takes::Rate(RATE), "four times `rate`", "the controller's highest rate"),
        key(
            "law",
            Takes::Choice(|| Law::ALL.map(Law::name).to_vec()),
            "follow",
            "the controller's law: Fairlane's own, or that of cake-autorate 3",
        ),
        key(
            "probe",
            Takes::Choice(|| ProbeKind::ALL.map(ProbeKind::name).to_vec()),
            "echo",
            "what the controller's probes tell: their round trip, or the delay one way",
        ),
        key("buffer", Takes::Size, "1000p", "the size of the link's own buffer"),
    ],
};
const ELSEWHERE: Elsewhere = &[
    ("fixed", "a fixed shaper is kind = \"fixed\" with its rate, rate = \"8mbit\""),
    ("autorate", "a shaper with a controller is kind = \"autorate\""),
    ("base", "the base rate of autorate is the shaper's rate: rate = \"8mbit\""),
    ("queue", "the discipline is that of the link: queue = { kind = \"fq-codel\" }"),
    ("limit", "the size of the link's own buffer is called `buffer`: buffer = \"1000p\""),
];

/// The buffer that is not described: the same as any queue that is not.
const BUFFER: Size = Size::packets(1000);
/// The most packets that a queue holds, and the most bytes.
const BUFFERS: [Size; 2] = [Size::packets(1 << 24), Size::bytes(1 << 40)];
/// `min` and `max` of a controller that are not given are these parts of `rate`, as in the defaults of cake-autorate 3.
const AROUND: u64 = 4;

/// Reads the shaper of a link; `None` if it has none.
pub(crate) fn shaper(parent: &Reader<'_>) -> Result<Option<Shaper>, ScenarioError> {
    let Some(field) = parent.get("shaper") else { return Ok(None) };
    let table = field.table()?.only(KEYS.keys, ELSEWHERE)?;
    let choices = ShaperKind::ALL.map(|kind| (kind.name(), kind));
    let kind = table.get("kind").map_or(Ok(ShaperKind::Fixed), |field| field.choice("shaper", &choices, &[]))?;
    let rate: Rate = table.need("rate", "\"8mbit\"")?.unit_in(&RATE)?;
    let bits = rate.bits_per_second();
    let bound = |key: &str, default: u64, range: RangeInclusive<Rate>| {
        table.get(key).map_or(Ok(Rate::from_bits_per_second(default)), |field| field.unit_in(&range))
    };
    let min = bound("min", (bits / AROUND).max(1), *RATE.start()..=rate)?;
    let max = bound("max", (bits * AROUND).min(RATE.end().bits_per_second()), rate..=*RATE.end())?;
    let buffer = table.get("buffer").map_or(Ok(BUFFER), |field| buffer(&field))?;
    let laws = Law::ALL.map(|law| (law.name(), law));
    let law = table.get("law").map_or(Ok(Law::default()), |field| field.choice("law of autorate", &laws, &[]))?;
    let probes = ProbeKind::ALL.map(|probe| (probe.name(), probe));
    let probe = table.get("probe").map_or(Ok(ProbeKind::Echo), |field| field.choice("probe", &probes, &[]))?;
    let autorate = Config { law, ..Config::new(min, rate, max) };
    autorate.check().map_err(|error| table.error(error.to_string()))?;
    Ok(Some(Shaper { kind, rate, autorate, probe, buffer }))
}

fn buffer(field: &Field<'_>) -> Result<Size, ScenarioError> {
    let size: Size = field.unit()?;
    let fits = BUFFERS.iter().any(|most| size.has_unit_of(*most) && (1..=most.number()).contains(&size.number()));
    if fits {
        Ok(size)
    } else {
        Err(field.error(format!("{} is not a size of a buffer: at least 1p", field.written())))
    }
}
