//! ECHO's parameters.

use alloc::format;
use alloc::string::ToString;

use crate::Size;
use crate::discipline::echo::{Config, tags_for};
use crate::params::shared::{ECN, LIMIT, TARGET};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "echo",
    summary: "drops what a flow sends above a fair share, by a small sample that does not depend on the queue",
    source: "Fairlane; after AFD (Pan, Breslau, Prabhakar, Shenker, ACM CCR 33(2), 2003)",
    year: Some(2026),
    needs: "`tags` tags of two bytes, and a byte of state for each",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[ECHO_LIMIT, ECHO_TARGET, TAGS, ECHO_ECN, LANE],
};

const ECHO_LIMIT: Parameter = LIMIT.default("10000p, as dualpi2 in tc(8)");
const ECHO_TARGET: Parameter = Parameter {
    meaning: "delay to which the controller steers; where four of the largest packets take longer, their time",
    ..TARGET.default("10ms, between CoDel's 5ms and PIE's 15ms")
};
const TAGS: Parameter = parameter(
    "tags",
    Domain::Count { min: 64, max: 4096, infinite: false },
    "256 for each Gbit/s of the link, rounded up to a power of two",
    "arrivals whose flows are remembered (S), a power of two",
)
.elsewhere(&["S"]);
const ECHO_ECN: Parameter = Parameter {
    meaning: "a flow near its share is marked instead of dropped where it can be; the limit always drops",
    ..ECN.default("true")
};

const LANE: Parameter = parameter(
    "lane",
    Domain::Switch,
    "false",
    "packets of flows with at most half of the fair share go ahead, in order, up to a quarter of the link",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let otherwise = Config::default();
    let limit = r.limit_or(Origin::Default("as dualpi2 in tc(8)"), otherwise.limit)?;
    let target = r.take("target", Origin::Default("between CoDel's and PIE's"), otherwise.target)?;
    let tags: Option<u32> = r.given("tags")?;
    match tags {
        Some(tags) => r.note("tags", tags.to_string(), Origin::Given),
        None => r.note("tags", tags_for(r.rate()).to_string(), Origin::Derived("256 for each Gbit/s of the link")),
    }
    let ecn = r.take("ecn", Origin::Default("most hosts react to marks"), otherwise.ecn)?;
    let lane = r.take("lane", Origin::Default("one FIFO"), otherwise.lane)?;
    let config = Config { limit, target, tags, ecn, lane };
    config.validate()?;
    say(r, &config);
    Ok(config)
}

/// Tells the consequences of the values.
fn say(r: &mut Resolver<'_>, config: &Config) {
    let tags = config.tags.unwrap_or_else(|| tags_for(r.rate()));
    r.say(format!("the sample takes {} bytes for any number of flows", 2 * tags));
    let flows = tags / 4;
    r.say(format!(
        "up to {flows} flows have the 4 tags each that tell them apart well; of more, only the heavy ones are known"
    ));
    if r.rate().bits_per_second() == 0 {
        return;
    }
    let bytes = match config.limit {
        Size::Packets(packets) => 1500 * u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get(),
    };
    let quarter = r.rate().transmission(bytes / 4);
    if quarter < config.target {
        let (quarter, target) = (1e3 * quarter.as_secs(), 1e3 * config.target.as_secs());
        r.say(format!(
            "a quarter of limit {} takes {quarter:.3} ms and counts as the target of {target:.3} ms",
            config.limit
        ));
    }
}
