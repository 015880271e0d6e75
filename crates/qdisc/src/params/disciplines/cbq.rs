//! CBQ's parameters.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::discipline::cbq::{ClassConfig, Config, check_maxburst, check_shares};
use crate::params::shared::{AVPKT, BANDWIDTH, LIMIT};
use crate::params::{Domain, FlowState, Info, Numbers, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Rate};

pub(crate) const INFO: Info = Info {
    name: "cbq",
    summary: "gives classes of traffic their shares of the link and lends what they leave to others",
    source: "Floyd, Jacobson: Link-sharing and Resource Management Models for Packet Networks, IEEE/ACM ToN 3(4)",
    year: Some(1995),
    needs: "the packets' class, and the link's rate",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        Parameter { meaning: "hard limit of each class's queue", ..LIMIT },
        SHARES,
        PRIO,
        BOUNDED,
        MAXBURST,
        EXTRADELAY,
        Parameter { meaning: "mean packet: the unit of `maxburst` and of the turns", ..AVPKT },
        Parameter { meaning: "rate that the shares are parts of", ..BANDWIDTH },
    ],
};

const SHARES: Parameter = parameter(
    "shares",
    Domain::Numbers { min: 0.000_001, max: 1.0 },
    "0.125 each, one class for each precedence",
    "each class's share of the link, at most 1 in all; class k is precedence k (RFC 791), and the last class also has \
     all above it",
)
.elsewhere(&["rate", "allot", "allotment_", "share"]);
const PRIO: Parameter = parameter(
    "prio",
    Domain::Numbers { min: 1.0, max: 8.0 },
    "1",
    "each class's priority, or one for all: classes of a lower number go first while they are within their shares",
)
.elsewhere(&["priority", "priority_"]);
const BOUNDED: Parameter = parameter(
    "bounded",
    Domain::Numbers { min: 0.0, max: 7.0 },
    "none: every class may borrow",
    "the classes that never get more than their share, even if the link is idle otherwise",
)
.elsewhere(&["borrow", "okborrow_"]);
const MAXBURST: Parameter = parameter(
    "maxburst",
    Domain::Packets,
    "20p, as in tc-cbq(8)'s examples",
    "mean packets that a class may send at once after it was idle: bounds the average; 1p..256p",
)
.elsewhere(&["maxidle_", "maxidle"]);
const EXTRADELAY: Parameter = parameter(
    "extradelay",
    Domain::Duration,
    "none, as ns-2",
    "time that a class which is held back waits in addition",
)
.elsewhere(&["extradelay_", "offtime", "minburst"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let shares = r.take("shares", Origin::Default("one class for each precedence"), Numbers::all(0.125, 8))?;
    let sum = check_shares(&shares)?;
    let priorities = priorities(r, shares.len())?;
    let bounded = bounded(r, shares.len())?;
    if sum < 1.0 - 1e-9 && bounded.iter().all(|&bounded| bounded) {
        r.warn(format!("every class is bounded, so at least {:.1} % of the link are idle", 100.0 * (1.0 - sum)));
    }
    let maxburst = r.take("maxburst", Origin::Default("as in tc-cbq(8)'s examples"), Packets::new(20))?;
    check_maxburst(maxburst)?;
    let extradelay = r.given::<Duration>("extradelay")?;
    match extradelay {
        Some(extra) => r.note("extradelay", extra.to_string(), Origin::Given),
        None => r.note("extradelay", "none".to_string(), Origin::Default("as ns-2")),
    }
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let link = r.bandwidth("its shares")?;
    say_shares(r, &shares, link);
    let class = |index: usize, &share| ClassConfig { share, priority: priorities[index], bounded: bounded[index] };
    Ok(Config {
        limit,
        classes: shares.iter().enumerate().map(|(index, share)| class(index, share)).collect(),
        maxburst,
        extradelay: extradelay.unwrap_or(Duration::ZERO),
        avpkt,
        bandwidth: r.given("bandwidth")?,
    })
}

/// Returns the priority of each of `classes` classes.
fn priorities(r: &mut Resolver<'_>, classes: usize) -> Result<[u8; Numbers::MOST], ParameterError> {
    let prio = r.take("prio", Origin::Default("no class before another"), Numbers::all(1.0, 1))?;
    if prio.len() != 1 && prio.len() != classes {
        let message =
            format!("it has {} numbers for {classes} classes: write one for each, or one for all", prio.len());
        return Err(ParameterError::new("prio", message));
    }
    if let Some(part) = prio.iter().find(|prio| **prio != f64::from(**prio as u8)) {
        let message = format!("{part} is no priority: write whole numbers, such as 1,2");
        return Err(ParameterError::new("prio", message));
    }
    let mut priorities = [prio[0] as u8; Numbers::MOST];
    for (priority, &given) in priorities.iter_mut().zip(prio.iter()) {
        *priority = given as u8;
    }
    Ok(priorities)
}

/// Returns which of `classes` classes are bounded.
fn bounded(r: &mut Resolver<'_>, classes: usize) -> Result<Vec<bool>, ParameterError> {
    let Some(given) = r.given::<Numbers>("bounded")? else {
        r.note("bounded", "none".to_string(), Origin::Default("every class may borrow"));
        return Ok(alloc::vec![false; classes]);
    };
    r.note("bounded", given.to_string(), Origin::Given);
    if let Some(class) = given.iter().find(|class| **class != f64::from(**class as u8) || **class >= classes as f64) {
        let message = format!("there is no class {class}: the classes are 0 to {}", classes - 1);
        return Err(ParameterError::new("bounded", message));
    }
    Ok((0..classes).map(|class| given.contains(&(class as f64))).collect())
}

fn say_shares(r: &mut Resolver<'_>, shares: &[f64], bandwidth: Rate) {
    for (class, share) in shares.iter().enumerate() {
        let rate = Rate::from_bits_per_second((share * bandwidth.bits_per_second() as f64) as u64);
        r.say(format!("class {class} has {rate}"));
    }
}
