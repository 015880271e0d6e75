//! Reading of the application of a group of TCP flows.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Rate, Size};

use crate::application::{Application, Cbr, Rpc, Sizes, Transfers, Video, Web};
use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{Key, REQUIRED, SourceKeys, Takes, key, names};
use crate::read::flows::TCP_KEYS;
use crate::read::{GROUP_KEYS, PACKET, RATE, source};
use crate::source::Periods;

/// The application of a group of TCP flows.
#[derive(Clone, Copy)]
pub(crate) enum ApplicationKind {
    Ftp,
    Transfers,
    Web,
    Video,
    Rpc,
    Cbr,
    Exponential,
    Pareto,
    Own(&'static str),
}

const KINDS: [(&str, ApplicationKind); 8] = [
    ("ftp", ApplicationKind::Ftp),
    ("transfers", ApplicationKind::Transfers),
    ("web", ApplicationKind::Web),
    ("video", ApplicationKind::Video),
    ("rpc", ApplicationKind::Rpc),
    ("cbr", ApplicationKind::Cbr),
    ("exponential", ApplicationKind::Exponential),
    ("pareto", ApplicationKind::Pareto),
];

/// Keys that another application has.
pub(crate) const ELSEWHERE: Elsewhere = &[
    ("size", "`size` is for source = \"transfers\", \"web\" and \"rpc\""),
    ("sizes", "`sizes` is for source = \"transfers\", \"web\" and \"rpc\""),
    ("think", "`think` is for source = \"transfers\" and \"web\""),
    ("min_size", "`min_size` is for source = \"web\""),
    ("objects", "`objects` is for source = \"web\""),
    ("connections", "`connections` is for source = \"web\""),
    ("segment", "`segment` is for source = \"video\""),
    ("ladder", "`ladder` is for source = \"video\""),
    ("buffer", "the buffer of a player is for source = \"video\"; that of a link is its queue's `limit`"),
    ("reservoir", "`reservoir` is for source = \"video\""),
    ("cushion", "`cushion` is for source = \"video\""),
    ("request", "`request` is for source = \"rpc\""),
    ("every", "`every` is for source = \"cbr\""),
    ("sigma", "`sigma` is for source = \"transfers\", \"web\" and \"rpc\" with sizes = \"lognormal\""),
    (
        "shape",
        "`shape` is for source = \"pareto\", and for source = \"transfers\", \"web\" and \"rpc\" with sizes = \"pareto\"",
    ),
    ("on", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("off", "on and off periods are for source = \"exponential\" and \"pareto\""),
];

const SIZES: RangeInclusive<u64> = 1..=1_000_000_000_000;
const THINKS: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000);
/// Connections of a browser, and objects of a page.
const CONNECTIONS: RangeInclusive<u32> = 1..=1000;
const OBJECTS: RangeInclusive<u32> = 1..=1_000_000;
const SIGMAS: RangeInclusive<f64> = 0.0..=10.0;

const SIZE: Key =
    key("size", Takes::Size, REQUIRED, "mean size of a transfer, an object or a response; rounded up to whole packets");
const SIZES_KEY: Key = key("sizes", Takes::Choice(|| names(&SIZES_KINDS)), "fixed", "distribution of the sizes");
const SIGMA: Key = key(
    "sigma",
    Takes::Ratio(SIGMAS),
    "",
    "of `lognormal`, required: standard deviation of the size's natural logarithm",
);
const THINK: Key = key(
    "think",
    Takes::Time(THINKS),
    "one transfer only; for `web` no pause",
    "mean of the exponential pause after a transfer or a page",
);
const MIN_SIZE: Key = key("min_size", Takes::Size, "1b", "the smallest object");
const OBJECTS_KEY: Key = key("objects", Takes::count(&OBJECTS), REQUIRED, "objects of a page");
const CONNECTIONS_KEY: Key = key("connections", Takes::count(&CONNECTIONS), REQUIRED, "connections of a browser");
const EVERY: Key = key("every", Takes::Time(THINKS), "a packet at a time", "time between two writes");
const REQUEST: Key = key("request", Takes::Bytes(PACKET), REQUIRED, "size of a request, at most `packet`");
const VIDEO_KEYS: &[Key] = &[
    key("segment", Takes::Time(PLAYBACK), "4s", "playback time of a segment"),
    key("ladder", Takes::List(&Takes::Rate(RATE)), "0.3 to 8 Mbit/s", "its bit rates on the wire, rising"),
    key("buffer", Takes::Time(PLAYBACK), "240s", "the most playback time that the player holds, two segments at least"),
    key(
        "reservoir",
        Takes::Time(PLAYBACK),
        "3/8 of `buffer`",
        "up to this playback time the lowest bit rate is chosen",
    ),
    key(
        "cushion",
        Takes::Time(PLAYBACK),
        "21/40 of `buffer`, as far as a segment has room above it",
        "over this playback time, above the reservoir, the choice rises to the highest bit rate",
    ),
];

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
    /// The one that `group` names; `own` are those of the program.
    pub(crate) fn of(group: &Reader<'_>, own: &[&'static str]) -> Result<Self, ScenarioError> {
        let Some(field) = group.get("source") else { return Ok(Self::Ftp) };
        let choices: Vec<(&str, Self)> =
            KINDS.into_iter().chain(own.iter().map(|name| (*name, Self::Own(name)))).collect();
        field.own_choice("source of TCP", &choices)
    }

    /// The keys of an application in addition to `source`.
    const fn keys(self) -> &'static [Key] {
        match self {
            Self::Ftp | Self::Own(_) => &[],
            Self::Transfers => &[SIZE, SIZES_KEY, source::SHAPE_KEY, SIGMA, THINK],
            Self::Web => &[SIZE, SIZES_KEY, source::SHAPE_KEY, SIGMA, THINK, MIN_SIZE, OBJECTS_KEY, CONNECTIONS_KEY],
            Self::Video => VIDEO_KEYS,
            Self::Rpc => &[REQUEST, SIZE, SIZES_KEY, source::SHAPE_KEY, SIGMA],
            Self::Cbr => &[source::RATE_KEY, EVERY],
            Self::Exponential => &[source::ON, source::OFF],
            Self::Pareto => &[source::ON, source::OFF, source::SHAPE_KEY],
        }
    }

    /// The keys of a group that has it.
    pub(crate) fn group_keys(self) -> Vec<Key> {
        [GROUP_KEYS, TCP_KEYS, self.keys()].concat()
    }

    /// Reads it; its data packets have `packet`.
    pub(crate) fn read(self, group: &Reader<'_>, packet: Bytes) -> Result<Application, ScenarioError> {
        match self {
            Self::Ftp => Ok(Application::Ftp),
            Self::Own(name) => Ok(Application::Own(name)),
            Self::Transfers => transfers(group).map(Application::Transfers),
            Self::Web => web(group).map(Application::Web),
            Self::Video => video(group).map(Application::Video),
            Self::Rpc => rpc(group, packet).map(Application::Rpc),
            Self::Cbr => cbr(group, packet).map(Application::Cbr),
            Self::Exponential => source::on_off(group, Periods::Exponential).map(Application::OnOff),
            Self::Pareto => source::pareto(group).map(Application::OnOff),
        }
    }
}

/// The names of the applications.
pub(crate) fn kinds() -> Vec<&'static str> {
    names(&KINDS)
}

/// The keys of each application.
pub(crate) fn sources() -> Vec<SourceKeys> {
    KINDS.iter().map(|(name, kind)| (*name, kind.group_keys())).collect()
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

/// Playback times.
const PLAYBACK: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(100_000_000);
/// The most bit rates of a ladder.
const RUNGS: usize = 64;
/// From 0.3 to 8 Mbit/s, in kbit/s.
const LADDER: [u64; 9] = [300, 500, 800, 1200, 2000, 3000, 4500, 6000, 8000];
/// The player of Huang et al. (2014) has segments of 4 s, a buffer of 240 s, a reservoir of 90 s, and a cushion up to
/// 90 % of the buffer. A segment is asked for when there is room for it, so the choice must reach the highest bit rate
/// before that.
const SEGMENT: Duration = Duration::from_millis(4000);
const PLAYER_BUFFER: Duration = Duration::from_millis(240_000);
const RESERVOIR_PART: (u64, u64) = (3, 8);
const CUSHION_PART: (u64, u64) = (21, 40);

fn video(group: &Reader<'_>) -> Result<Video, ScenarioError> {
    let time = |key: &str, usual: Duration| group.get(key).map_or(Ok(usual), |field| field.unit_in(&PLAYBACK));
    let segment = time("segment", SEGMENT)?;
    let buffer = time("buffer", PLAYER_BUFFER)?;
    let part = |(part, of): (u64, u64)| Duration::from_nanos(buffer.as_nanos() / of * part);
    if buffer < segment + segment {
        let message = format!("a buffer of {buffer} does not hold two segments of {segment}");
        return Err(group.key_error("buffer", message).with_help("make `buffer` longer or `segment` shorter"));
    }
    let reservoir = time("reservoir", part(RESERVOIR_PART))?;
    let room = Duration::from_nanos(buffer.as_nanos() - segment.as_nanos());
    let left = Duration::from_nanos(room.as_nanos().saturating_sub(reservoir.as_nanos()));
    let cushion = time("cushion", part(CUSHION_PART).min(left))?;
    if room < reservoir + cushion {
        let message = format!(
            "a reservoir of {reservoir} and a cushion of {cushion} leave no room for a segment of {segment} in a buffer of {buffer}"
        );
        let key = if group.get("reservoir").is_some() { "reservoir" } else { "cushion" };
        return Err(group.key_error(key, message).with_help("the highest bit rate is chosen above both"));
    }
    Ok(Video { segment, ladder: ladder(group)?, buffer, reservoir, cushion })
}

/// The bit rates, rising.
fn ladder(group: &Reader<'_>) -> Result<Vec<Rate>, ScenarioError> {
    let Some(list) = group.get("ladder") else {
        return Ok(LADDER.iter().map(|kbit| Rate::from_bits_per_second(kbit * 1000)).collect());
    };
    let mut ladder: Vec<Rate> = Vec::new();
    for field in list.items("a list of bit rates, [\"300kbit\", \"1mbit\"],")? {
        let rate: Rate = field.unit_in(&RATE)?;
        if let Some(before) = ladder.last().filter(|before| **before >= rate) {
            return Err(field.error(format!("{} is not above the bit rate before, {before}", field.written())));
        }
        ladder.push(rate);
    }
    match ladder.len() {
        1..=RUNGS => Ok(ladder),
        count => Err(list.error(format!("there are {count} bit rates, and a ladder has 1 to {RUNGS}"))),
    }
}

fn rpc(group: &Reader<'_>, packet: Bytes) -> Result<Rpc, ScenarioError> {
    let field = group.need("request", "\"100b\"")?;
    let request: Bytes = field.unit_in(&(Bytes::new(1)..=packet))?;
    Ok(Rpc { request, response: size(&group.need("size", "\"10kb\"")?)?, sizes: sizes(group)? })
}

fn cbr(group: &Reader<'_>, packet: Bytes) -> Result<Cbr, ScenarioError> {
    let every = group.get("every").map(|field| field.unit_in(&THINKS)).transpose()?;
    Ok(Cbr { rate: source::rate(group, packet)?, every })
}

fn transfers(group: &Reader<'_>) -> Result<Transfers, ScenarioError> {
    let size = size(&group.need("size", "\"100kb\" or \"100p\"")?)?;
    let think = group.get("think").map(|field| field.unit_in(&THINKS)).transpose()?;
    Ok(Transfers { size, sizes: sizes(group)?, think })
}

/// The distribution of sizes.
fn sizes(group: &Reader<'_>) -> Result<Sizes, ScenarioError> {
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
    Ok(match kind {
        SizesKind::Fixed => Sizes::Fixed,
        SizesKind::Exponential => Sizes::Exponential,
        SizesKind::Pareto => Sizes::Pareto { shape: source::shape(group)? },
        SizesKind::Lognormal => Sizes::Lognormal { sigma: group.need("sigma", "1.0")?.ratio(&SIGMAS)? },
    })
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
