//! The parameters of CHOKe's experimental relatives: xCHOKe, CHOKeW, CHOKeR, CHOKeD, SAC and RECHOKe.

use alloc::format;

use super::choke::{CHOKE, COMPARE_ABOVE_MAX, SAMPLING, compare_above_max, sampling};
use crate::discipline::choke::chokew::{MAX_FACTOR, same_unit};
use crate::discipline::choke::{MAX_CANDIDATES, choked, choker, chokew, rechoke, sac, xchoke};
use crate::discipline::red;
use crate::flow::hits::{MAX_HITS, MAX_TABLE};
use crate::params::shared::{LIMIT, red_and};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Duration, Rate, Size};

/// CHOKe with a table of hits.
pub(crate) const XCHOKE: Info = Info {
    name: "xchoke",
    summary: "CHOKe that punishes flows harder the more often they matched",
    source: "Chhabra, Chuig, Goel, John, Kumar, Saran, Shorey: xCHOKe, ICNP 2002",
    year: Some(2002),
    needs: "the average, a random look into the queue and a table of `table_size` flows",
    flow_state: FlowState::Fixed,
    experimental: true,
    parameters: red_and!(COMPARE_ABOVE_MAX, SAMPLING, TABLE_SIZE, HIT_CAP, AGE),
};

/// CHOKeW.
pub(crate) const CHOKEW: Info = Info {
    name: "chokew",
    summary: "CHOKe without RED; a factor that follows the queue sets how many packets are drawn, fewer for higher classes",
    source: "Wen, Fang, Sun: CHOKeW, Bandwidth Differentiation and TCP Protection in Core Networks, MILCOM 2005",
    year: Some(2005),
    needs: "random looks into the queue and each packet's class",
    experimental: true,
    parameters: &[QUEUE, THRESHOLD, SHORT, LONG, INCREMENT, DECREMENT, FACTOR],
    ..CHOKE
};

/// CHOKeR.
pub(crate) const CHOKER: Info = Info {
    name: "choker",
    summary: "CHOKeW whose factor rises faster the longer the queue is",
    source: "Lu, Du, Liu: CHOKeR, a Novel AQM Algorithm with Proportional Bandwidth Allocation and TCP Protection, \
             IEEE TII 10(1)",
    year: Some(2014),
    parameters: &[QUEUE, THRESHOLD, SHORT, LONG, INCREMENT, DECREMENT, FACTOR, BAND],
    ..CHOKEW
};

/// CHOKeD.
pub(crate) const CHOKED: Info = Info {
    name: "choked",
    summary: "CHOKe that draws more packets the longer the average queue, the newest packets first",
    source: "Manzoor, Abbas, Hussain: CHOKeD, a Fair Active Queue Management System, arXiv 1712.09726",
    year: Some(2017),
    needs: "the average and random looks into the halves of the queue",
    experimental: true,
    parameters: red_and!(Parameter { default: "64", ..CANDIDATES_BOUND }),
    ..CHOKE
};

/// SAC.
pub(crate) const SAC: Info = Info {
    name: "sac",
    summary: "CHOKe for transports that do not slow down, with as many candidates as they need",
    source: "Jiang, Hamdi, Liu: Self Adjustable CHOKe, an Active Queue Management Algorithm for Congestion Control and \
             Fair Bandwidth Allocation, ISCC 2003",
    year: Some(2003),
    needs: "the average, random looks into the queue and whether a packet's transport is responsive",
    experimental: true,
    parameters: red_and!(PERIOD, SHARE, HIT_RATIO, CANDIDATES_BOUND),
    ..CHOKE
};

/// RECHOKe.
pub(crate) const RECHOKE: Info = Info {
    name: "rechoke",
    summary: "RED that drops more of flows which it signals often and which are often found in the queue",
    source: "Govindaswamy, Zaruba, Balasekaran: RECHOKe, a Scheme for Detection, Control and Punishment of Malicious \
             Flows in IP Networks, GLOBECOM 2007",
    year: Some(2007),
    needs: "the average, a random look into the queue and two tables of `table_size` flows",
    flow_state: FlowState::Fixed,
    experimental: true,
    parameters: red_and!(TABLE_SIZE, HIT_CAP, HITS, DROPS, WINDOW),
};

const TABLE_SIZE: Parameter = parameter(
    "table_size",
    Domain::Count { min: 1, max: MAX_TABLE, infinite: false },
    "64; the paper has no bound",
    "flows in the table of hits; the longest unused makes room",
);
const HIT_CAP: Parameter = parameter(
    "hit_cap",
    Domain::Count { min: 1, max: MAX_HITS, infinite: false },
    "30",
    "hits that count: a flow with n hits is dropped with probability p_b 2^n",
)
.elsewhere(&["n_cap"]);
const AGE: Parameter = parameter(
    "age",
    Domain::Duration,
    "the time of 1250 mean packets at the link's rate, 10s at 1mbit; the paper forgets nothing",
    "hits of a flow are halved this often",
)
.elsewhere(&["T_age"]);
const QUEUE: Parameter = Parameter { default: "500p, CHOKeW", ..LIMIT };
const THRESHOLD: Parameter = parameter(
    "threshold",
    Domain::Size,
    "limit / 5, CHOKeW's 100 of 500 packets, but at most `min`",
    "queue up to which nothing is compared",
)
.elsewhere(&["L_th", "Lth"]);
const SHORT: Parameter = parameter(
    "min",
    Domain::Size,
    "limit / 4, CHOKeW's 125 of 500 packets, but at most `max`",
    "queue below which the drawing factor falls",
)
.elsewhere(&["L-", "min_th"]);
const LONG: Parameter = parameter(
    "max",
    Domain::Size,
    "7/20 of limit, CHOKeW's 175 of 500 packets, but at least `min`",
    "queue above which the drawing factor rises",
)
.elsewhere(&["L+", "max_th"]);
const INCREMENT: Parameter = parameter(
    "increment",
    Domain::Ratio,
    "0.002, CHOKeW",
    "rise of the drawing factor with each arrival that finds more than `max`",
)
.elsewhere(&["p+", "pinc"]);
const DECREMENT: Parameter = parameter(
    "decrement",
    Domain::Ratio,
    "0.001, CHOKeW",
    "fall of the drawing factor with each arrival that finds less than `min`",
)
.elsewhere(&["p-", "pdec"]);
const FACTOR: Parameter = parameter(
    "max_candidates",
    Domain::Count { min: 1, max: MAX_FACTOR, infinite: false },
    "64; the paper has no bound",
    "the drawing factor never exceeds this; a packet of weight w (1 to 4, by the two highest bits of its traffic class) \
     is compared with the w-th part of the factor",
);
const BAND: Parameter = parameter(
    "band",
    Domain::Size,
    "a quarter of what `limit` leaves above `max`",
    "each further one above `max` makes the rise one `increment` steeper, up to four",
);
const CANDIDATES_BOUND: Parameter = parameter(
    "max_candidates",
    Domain::Count { min: 1, max: MAX_CANDIDATES, infinite: false },
    "10",
    "the most queued packets that an arrival is compared with; those of its flow are dropped with it",
);
const PERIOD: Parameter = parameter("interval", Domain::Duration, "500ms", "how often the candidates are adapted");
const SHARE: Parameter = parameter(
    "share",
    Domain::Ratio,
    "0.1; the abstract has none",
    "part of the queue that unresponsive packets may have: with more of it there is one more candidate",
);
const HIT_RATIO: Parameter = parameter(
    "hit_ratio",
    Domain::Ratio,
    "0.05",
    "part of the compared arrivals that must match: with fewer there is one candidate less",
);
const HITS: Parameter =
    parameter("hits", Domain::Count { min: 1, max: MAX_HITS, infinite: false }, "3", "hits that make a flow suspect");
const DROPS: Parameter = parameter(
    "drops",
    Domain::Count { min: 1, max: MAX_HITS, infinite: false },
    "3",
    "RED's drops and marks that make a suspect flow malicious",
);
const WINDOW: Parameter = parameter("window", Domain::Duration, "5s", "a flow's hits and drops are halved this often");

/// Resolves xchoke's parameters.
pub(crate) fn xchoke(r: &mut Resolver<'_>) -> Result<xchoke::Config, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let compare_above_max = compare_above_max(r)?;
    let draw = sampling(r)?;
    let table_size = r.take("table_size", Origin::Default("enough for the flows that matter"), 64)?;
    let hit_cap = r.take("hit_cap", Origin::Default("2^30 is certain at any probability that matters"), 30)?;
    let age = r.given("age")?;
    let config = xchoke::Config { limit, red, draw, compare_above_max, table_size, hit_cap, age };
    if let Some(used) = config.age_at(Some(r.rate()).filter(|rate| *rate != Rate::default())) {
        r.take("age", Origin::Derived("1250 mean packets: flows caught by chance leave the table"), used)?;
    }
    Ok(config)
}

/// Resolves chokew's parameters.
pub(crate) fn chokew(r: &mut Resolver<'_>) -> Result<chokew::Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("CHOKeW"), Size::packets(500))?;
    let given = [r.given::<Size>("max")?, r.given("min")?, r.given("threshold")?];
    let unit = given.into_iter().flatten().next().unwrap_or(limit);
    let given_min = given[1].map_or(0, Size::number);
    let rule = "7/20 of limit, CHOKeW's part, but at least min";
    let of_limit = |limit: u64| (limit / 20 * 7 + limit % 20 * 7 / 20).max(given_min);
    let max = take_part(r, ("max", rule), (limit, unit), of_limit)?;
    let rule = "limit / 4, CHOKeW's part, but at most max";
    let min = take_part(r, ("min", rule), (limit, unit), |limit| (limit / 4).min(max.number()))?;
    let rule = "limit / 5, CHOKeW's part, but at most min";
    let threshold = take_part(r, ("threshold", rule), (limit, unit), |limit| (limit / 5).min(min.number()))?;
    if threshold.number() > max.number() {
        r.warn(format!("threshold {threshold} is above max {max}: the factor rises and nothing is compared"));
    }
    let increment = r.take("increment", Origin::Default("CHOKeW"), 0.002)?;
    let decrement = r.take("decrement", Origin::Default("CHOKeW"), 0.001)?;
    let max_candidates = r.take("max_candidates", Origin::Default("bounds the work for a packet"), 64)?;
    r.say(format!("from 0 to 1 the factor takes {:.0} arrivals that find more than max", libm::ceil(1.0 / increment)));
    let config = chokew::Config { limit, threshold, min, max, increment, decrement, max_candidates };
    config.validate()?;
    Ok(config)
}

/// Resolves choker's parameters.
pub(crate) fn choker(r: &mut Resolver<'_>) -> Result<choker::Config, ParameterError> {
    let chokew = chokew(r)?;
    // Without room above `max` the bands are as narrow as can be.
    let quarter = |limit: u64| limit.saturating_sub(chokew.max.number()).div_ceil(4).max(1);
    let band = take_part(r, ("band", "a quarter of what limit leaves above max"), (chokew.limit, chokew.max), quarter)?;
    Ok(choker::Config { chokew, band })
}

/// Takes the value given for a key, or else a part of the limit by the rule; all sizes have the unit of `unit`.
fn take_part(
    r: &mut Resolver<'_>,
    (key, rule): (&'static str, &'static str),
    (limit, unit): (Size, Size),
    of_limit: impl FnOnce(u64) -> u64,
) -> Result<Size, ParameterError> {
    let size = match r.given::<Size>(key)? {
        Some(size) => size,
        None if limit.has_unit_of(unit) => limit.with_number(of_limit(limit.number())),
        None => {
            let message = format!("it cannot follow from limit {limit}, which has another unit: give it too");
            return Err(ParameterError::new(key, message));
        }
    };
    same_unit(key, size, unit)?;
    r.take(key, Origin::Derived(rule), size)
}

/// Resolves choked's parameters.
pub(crate) fn choked(r: &mut Resolver<'_>) -> Result<choked::Config, ParameterError> {
    let (limit, red) = over_red(r)?;
    let max_candidates = r.take("max_candidates", Origin::Default("bounds the work for a packet"), 64)?;
    let config = choked::Config { limit, red, max_candidates };
    for (what, at) in [("min", red.min.number() as f64), ("max", red.max.number() as f64)] {
        r.say(format!("at an average of {what}, {at}: {} candidates", config.candidates_at(at)));
    }
    Ok(config)
}

/// Resolves sac's parameters.
pub(crate) fn sac(r: &mut Resolver<'_>) -> Result<sac::Config, ParameterError> {
    let (limit, red) = over_red(r)?;
    Ok(sac::Config {
        limit,
        red,
        interval: r.take("interval", Origin::Default("as Floyd's Adaptive RED"), Duration::from_millis(500))?,
        share: r.take("share", Origin::Default("the abstract has none"), 0.1)?,
        hit_ratio: r.take("hit_ratio", Origin::Default("the abstract has none"), 0.05)?,
        max_candidates: r.take("max_candidates", Origin::Default("bounds the work for a packet"), 10)?,
    })
}

/// Resolves rechoke's parameters.
pub(crate) fn rechoke(r: &mut Resolver<'_>) -> Result<rechoke::Config, ParameterError> {
    let (limit, red) = over_red(r)?;
    let config = rechoke::Config {
        limit,
        red,
        table_size: r.take("table_size", Origin::Default("enough for the flows that matter"), 64)?,
        hit_cap: r.take("hit_cap", Origin::Default("2^30 is certain at any probability that matters"), 30)?,
        hits: r.take("hits", Origin::Default("the abstract has none"), 3)?,
        drops: r.take("drops", Origin::Default("the abstract has none"), 3)?,
        window: r.take("window", Origin::Default("the abstract has none"), Duration::from_millis(5000))?,
    };
    config.validate()?;
    Ok(config)
}

/// Resolves the limit and RED's part.
fn over_red(r: &mut Resolver<'_>) -> Result<(Size, red::RedParameters), ParameterError> {
    let limit = r.limit()?;
    Ok((limit, r.red(limit)?))
}
