//! Later schemes on CHOKe's composition: CHOKeW, CHOKeR, CHOKeD, SAC and RECHOKe. All are experimental.
//!
//! CHOKeW and CHOKeR have no RED: a drawing factor rises while the queue is long and falls while it is short, and a
//! packet of weight w is compared with the w-th part of it, so that weights become shares. CHOKeD draws as many
//! candidates as the average says, from the packets that came last first. SAC compares the packets of transports that
//! do not slow down, and adapts how many candidates they have. RECHOKe compares only to learn: who is found in the
//! queue often *and* signalled by RED often is dropped ever more surely, and no queued packet ever is.
//!
//! **Source.** Wen, Fang, Sun, "CHOKeW", MILCOM 2005; Lu, Du, Liu, "CHOKeR", IEEE TII 10(1), 2014; Manzoor, Abbas,
//! Hussain, "CHOKeD", arXiv 1712.09726; Jiang, Hamdi, Liu, "Self adjustable CHOKe", ISCC 2003; Govindaswamy, Zaruba,
//! Balasekaran, "RECHOKe", GLOBECOM 2007.
//!
//! **Deviations.** Only the abstracts could be read, so each is a scheme in their sense, not a copy: what the abstracts
//! do not say is decided in `docs/qdiscs`. The drawing factor and every number of candidates have an upper bound, which
//! the papers do not mention: the work for one packet must not grow with an attack.
//!
//! **Cost.** As CHOKe's, and one random number and one cache line a candidate.

use alloc::format;

use super::ChokeSettings;
use super::candidates::{Average, Candidates, Source};
use super::control::ControlSettings;
use super::factor::FactorSettings;
use super::kinds::{CHOKE, HIT_CAP, TABLE_SIZE};
use super::memory::Memory;
use crate::config::shared::{LIMIT, red_and};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Size};

/// CHOKeW.
pub(crate) const CHOKEW: About = About {
    name: "chokew",
    summary: "CHOKe without RED that draws by a factor of the queue, the less the higher a packet's class",
    source: "Wen, Fang, Sun: CHOKeW, Bandwidth Differentiation and TCP Protection in Core Networks, MILCOM 2005",
    year: Some(2005),
    needs: "random looks into the queue and each packet's class",
    experimental: true,
    parameters: &[QUEUE, THRESHOLD, SHORT, LONG, INCREMENT, DECREMENT, FACTOR],
    ..CHOKE
};

/// CHOKeR.
pub(crate) const CHOKER: About = About {
    name: "choker",
    summary: "CHOKeW whose factor rises the steeper the longer the queue",
    source: "Lu, Du, Liu: CHOKeR, a Novel AQM Algorithm with Proportional Bandwidth Allocation and TCP Protection, \
             IEEE TII 10(1)",
    year: Some(2014),
    parameters: &[QUEUE, THRESHOLD, SHORT, LONG, INCREMENT, DECREMENT, FACTOR, BAND],
    ..CHOKEW
};

/// CHOKeD.
pub(crate) const CHOKED: About = About {
    name: "choked",
    summary: "CHOKe that draws more the longer the average queue, from the packets that came last first",
    source: "Manzoor, Abbas, Hussain: CHOKeD, a Fair Active Queue Management System, arXiv 1712.09726",
    year: Some(2017),
    needs: "the average and random looks into the halves of the queue",
    experimental: true,
    parameters: red_and!(Parameter { default: "64", ..MAX_CANDIDATES }),
    ..CHOKE
};

/// SAC.
pub(crate) const SAC: About = About {
    name: "sac",
    summary: "CHOKe for transports that do not slow down, with as many candidates as they need",
    source: "Jiang, Hamdi, Liu: Self Adjustable CHOKe, an Active Queue Management Algorithm for Congestion Control and \
             Fair Bandwidth Allocation, ISCC 2003",
    year: Some(2003),
    needs: "the average, random looks into the queue and whether a packet's transport is responsive",
    experimental: true,
    parameters: red_and!(PERIOD, SHARE, HIT_RATIO, MAX_CANDIDATES),
    ..CHOKE
};

/// RECHOKe.
pub(crate) const RECHOKE: About = About {
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
    Domain::Count { min: 1, max: 1024, infinite: false },
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
const MAX_CANDIDATES: Parameter = parameter(
    "max_candidates",
    Domain::Count { min: 1, max: 64, infinite: false },
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
    parameter("hits", Domain::Count { min: 1, max: 63, infinite: false }, "3", "hits that make a flow suspect");
const DROPS: Parameter = parameter(
    "drops",
    Domain::Count { min: 1, max: 63, infinite: false },
    "3",
    "RED's drops and marks that make a suspect flow malicious",
);
const WINDOW: Parameter = parameter("window", Domain::Duration, "5s", "a flow's hits and drops are halved this often");

/// What CHOKeW is told.
pub(crate) fn chokew(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let (settings, factor) = factor(r)?;
    Ok(ChokeSettings { candidates: Candidates::Factor(factor), ..settings })
}

/// What CHOKeR is told.
pub(crate) fn choker(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let (settings, factor) = factor(r)?;
    let queue = Queue { limit: settings.limit, in_bytes: factor.in_bytes };
    // Without room above `max` the steps are as small as can be.
    let quarter = |limit: u64| limit.saturating_sub(factor.max as u64).div_ceil(4).max(1);
    let band = queue.take(r, "band", "a quarter of what limit leaves above max", quarter)?;
    Ok(ChokeSettings { candidates: Candidates::Factor(FactorSettings { band, ..factor }), ..settings })
}

/// What CHOKeD is told.
pub(crate) fn choked(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let settings = over_red(r)?;
    let most = r.take("max_candidates", Origin::Default("bounds the work for a packet"), 64_u32)?;
    let Some(red) = settings.red else { return Ok(settings) };
    let buffer = match settings.limit {
        Size::Packets(packets) => f64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() as f64 / red.avpkt as f64,
    };
    let average = Average { scale: libm::sqrt(buffer) / (red.max - red.min), most };
    for (what, at) in [("min", red.min), ("max", red.max)] {
        r.say(format!("at an average of {what}, {at}: {} candidates", average.candidates(at)));
    }
    Ok(ChokeSettings { candidates: Candidates::Average(average), source: Source::Halves, ..settings })
}

/// What SAC is told.
pub(crate) fn sac(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let settings = over_red(r)?;
    let control = ControlSettings {
        interval: r.take("interval", Origin::Default("as Floyd's Adaptive RED"), Duration::from_millis(500))?,
        share: r.take("share", Origin::Default("the abstract has none"), 0.1)?,
        hit_ratio: r.take("hit_ratio", Origin::Default("the abstract has none"), 0.05)?,
        most: r.take("max_candidates", Origin::Default("bounds the work for a packet"), 10)?,
    };
    Ok(ChokeSettings { candidates: Candidates::Control(control), ..settings })
}

/// What RECHOKe is told.
pub(crate) fn rechoke(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let settings = over_red(r)?;
    let size = r.take("table_size", Origin::Default("enough for the flows that matter"), 64)?;
    let cap = r.take("hit_cap", Origin::Default("2^30 is certain at any probability that matters"), 30)?;
    let hits = r.take("hits", Origin::Default("the abstract has none"), 3)?;
    let signals = r.take("drops", Origin::Default("the abstract has none"), 3)?;
    let window = r.take("window", Origin::Default("the abstract has none"), Duration::from_millis(5000))?;
    for (key, needed) in [("hits", hits), ("drops", signals)] {
        if needed > cap {
            let message = format!("{needed} is above hit_cap, which is {cap}: no flow ever has so many");
            return Err(ParameterError::new(key, message));
        }
    }
    Ok(ChokeSettings { memory: Memory::Suspects { size, cap, hits, signals, window }, ..settings })
}

/// One random candidate over RED.
fn over_red(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let limit = r.limit()?;
    Ok(ChokeSettings { red: Some(r.red(limit)?), ..plain(limit) })
}

/// One random candidate, and no RED.
const fn plain(limit: Size) -> ChokeSettings {
    ChokeSettings {
        limit,
        red: None,
        source: Source::Random,
        candidates: Candidates::Fixed(1),
        memory: Memory::Nothing,
        compare_above_max: true,
    }
}

/// The drawing factor of CHOKeW, and what is beside it.
fn factor(r: &mut Resolver<'_>) -> Result<(ChokeSettings, FactorSettings), ParameterError> {
    let limit = r.limit_or(Origin::Default("CHOKeW"), Size::Packets(Packets::new(500)))?;
    let given = [r.given::<Size>("max")?, r.given("min")?, r.given("threshold")?];
    let first = given.into_iter().flatten().next();
    let queue = Queue { limit, in_bytes: matches!(first.unwrap_or(limit), Size::Bytes(_)) };
    let given_min = given[1].map_or(0, number);
    let rule = "7/20 of limit, CHOKeW's part, but at least min";
    let max = queue.take(r, "max", rule, |limit| (limit / 20 * 7 + limit % 20 * 7 / 20).max(given_min))?;
    let min = queue.take(r, "min", "limit / 4, CHOKeW's part, but at most max", |limit| (limit / 4).min(max as u64))?;
    if min > max {
        let message = format!("{min} is above max, which is {max}: the factor would rise and fall at once");
        return Err(ParameterError::new("min", message));
    }
    let rule = "limit / 5, CHOKeW's part, but at most min";
    let threshold = queue.take(r, "threshold", rule, |limit| (limit / 5).min(min as u64))?;
    if threshold > max {
        r.warn(format!("threshold {threshold} is above max {max}: the factor rises and nothing is compared"));
    }
    let increment = r.take("increment", Origin::Default("CHOKeW"), 0.002)?;
    let decrement = r.take("decrement", Origin::Default("CHOKeW"), 0.001)?;
    let most: u32 = r.take("max_candidates", Origin::Default("bounds the work for a packet"), 64)?;
    r.say(format!("from 0 to 1 the factor takes {:.0} arrivals that find more than max", libm::ceil(1.0 / increment)));
    let factor = FactorSettings {
        threshold,
        min,
        max,
        in_bytes: queue.in_bytes,
        decrement,
        increment,
        band: f64::INFINITY,
        most: f64::from(most),
    };
    Ok((plain(limit), factor))
}

/// The queue that the drawing factor follows: all its sizes have one unit.
#[derive(Clone, Copy)]
struct Queue {
    limit: Size,
    in_bytes: bool,
}

impl Queue {
    /// What was given for `key`, or else what `rule` says of the limit.
    fn take(
        self,
        r: &mut Resolver<'_>,
        key: &'static str,
        rule: &'static str,
        of_limit: impl FnOnce(u64) -> u64,
    ) -> Result<f64, ParameterError> {
        let size = match r.given::<Size>(key)? {
            Some(size) => size,
            None if self.has_unit_of(self.limit) => self.size(of_limit(number(self.limit))),
            None => {
                let message =
                    format!("it cannot follow from limit {}, which has another unit: give it too", self.limit);
                return Err(ParameterError::new(key, message));
            }
        };
        if !self.has_unit_of(size) {
            let unit = if self.in_bytes { "bytes" } else { "packets" };
            let message = format!("{size} has another unit than the other sizes, which are in {unit}");
            return Err(ParameterError::new(key, message));
        }
        r.take(key, Origin::Derived(rule), size)?;
        // Sizes stay below 2^53.
        Ok(number(size) as f64)
    }

    const fn has_unit_of(self, size: Size) -> bool {
        matches!(size, Size::Bytes(_)) == self.in_bytes
    }

    fn size(self, number: u64) -> Size {
        if self.in_bytes {
            Size::Bytes(Bytes::new(number))
        } else {
            Size::Packets(Packets::new(u32::try_from(number).unwrap_or(u32::MAX)))
        }
    }
}

/// The number in `size`, whatever its unit.
fn number(size: Size) -> u64 {
    match size {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get(),
    }
}
