//! The kinds that CHOKe's composition is known by: what is said of each, and what it is told.

use alloc::format;
use alloc::string::ToString;

use super::memory::MAX_HITS;
use super::{Candidates, ChokeSettings, Memory, Rule, Source};
use crate::config::shared::{LIMIT, red_and};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::red::RedSettings;
use crate::{Duration, Size};

/// The source of CHOKe and of its variants by the same authors.
const SOURCE: &str = "Pan, Prabhakar, Psounis: CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair \
                      Bandwidth Allocation, INFOCOM 2000";

/// CHOKe.
pub(crate) const CHOKE: About = About {
    name: "choke",
    summary: "drops an arrival together with a queued packet of its flow that it happens to draw",
    source: SOURCE,
    year: Some(2000),
    needs: "the average and a random look into the queue",
    flow_state: FlowState::None,
    experimental: false,
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX, SAMPLING),
};

/// CHOKe with a number of candidates that grows with the average.
pub(crate) const ADAPTIVE: About = About {
    name: "choke-adaptive",
    summary: "CHOKe that draws more packets the longer the average queue",
    needs: "the average and random looks into the queue",
    parameters: red_and!(REGIONS, CANDIDATES_RULE, COMPARE_ABOVE_MAX, SAMPLING),
    ..CHOKE
};

/// CHOKe whose candidate is the head.
pub(crate) const FRONT: About = About {
    name: "front-choke",
    summary: "CHOKe that compares with the packet that leaves next",
    needs: "the average and the head's flow",
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX),
    ..CHOKE
};

/// CHOKe whose candidate is the tail.
pub(crate) const BACK: About = About {
    name: "back-choke",
    summary: "CHOKe that compares with the packet that came last",
    needs: "the average and the tail's flow",
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX),
    ..CHOKE
};

/// Back CHOKe that remembers the flows of the last packets admitted.
pub(crate) const MLOC: About = About {
    name: "mloc-choke",
    summary: "drops an arrival of one of the last flows admitted",
    needs: "the last `memory` flows",
    flow_state: FlowState::Fixed,
    parameters: &[LIMIT, MEMORY],
    ..CHOKE
};

/// CHOKe with a table of hits.
pub(crate) const XCHOKE: About = About {
    name: "xchoke",
    summary: "CHOKe that punishes flows harder the more often they matched",
    source: "Chhabra, Chuig, Goel, John, Kumar, Saran, Shorey: xCHOKe, ICNP 2002",
    year: Some(2002),
    needs: "the average, a random look into the queue and a table of `table_size` flows",
    flow_state: FlowState::Fixed,
    parameters: red_and!(COMPARE_ABOVE_MAX, SAMPLING, TABLE_SIZE, HIT_CAP, AGE),
    ..CHOKE
};

/// CHOKe that goes on drawing while it matches.
pub(crate) const GCHOKE: About = About {
    name: "gchoke",
    summary: "CHOKe that goes on drawing while it matches",
    source: "Eshete, Jiang: Generalizing the CHOKe Flow Protection, arXiv 1202.0789",
    year: Some(2012),
    needs: "the average and random looks into the queue",
    parameters: red_and!(MAXCOMP, COMPARE_ABOVE_MAX, SAMPLING),
    ..CHOKE
};

const CANDIDATES: Parameter = parameter(
    "candidates",
    Domain::Count { min: 1, max: 64, infinite: false },
    "1",
    "queued packets that an arrival is compared with; those of its flow are dropped with it",
)
.elsewhere(&["m", "drops"]);
const COMPARE_ABOVE_MAX: Parameter = parameter(
    "compare_above_max",
    Domain::Switch,
    "true, the paper and Linux; false is the technical report",
    "arrivals are compared while the average is at or above `max` too",
);
const SAMPLING: Parameter = parameter(
    "sampling",
    Domain::Choice(&["exact", "linux"]),
    "exact",
    "draw uniformly over live packets, or as Linux: three throws over the ring with its holes, then the head",
);
const REGIONS: Parameter = parameter(
    "regions",
    Domain::Count { min: 1, max: 32, infinite: false },
    "5; the paper says none",
    "equal regions between `min` and `max`, each with its number of candidates",
)
.elsewhere(&["k"]);
const CANDIDATES_RULE: Parameter = parameter(
    "candidates_rule",
    Domain::Choice(&["2i", "2i-1", "i"]),
    "2i, the definition in the paper's section II",
    "candidates in region i; 2i-1 reads the paper's section III, where the arrival counts as a drop",
)
.elsewhere(&["self_adjust"]);
const MEMORY: Parameter = parameter(
    "memory",
    Domain::Count { min: 0, max: 65_536, infinite: false },
    "1",
    "flows remembered: an arrival of one of the last flows admitted is dropped",
)
.elsewhere(&["k", "Mloc"]);
pub(super) const TABLE_SIZE: Parameter = parameter(
    "table_size",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "64; the paper has no bound",
    "flows in the table of hits; the longest unused makes room",
);
pub(super) const HIT_CAP: Parameter = parameter(
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
const MAXCOMP: Parameter = parameter(
    "maxcomp",
    Domain::Count { min: 1, max: 16_777_216, infinite: true },
    "5, within 0.0003 of infinite in the share of an aggressive flow",
    "candidates that may match one arrival: drawn one after another while they match",
)
.elsewhere(&["c", "m"]);

/// What CHOKe is told.
pub(crate) fn choke(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    family(r, fixed, sampling)
}

/// What choke-adaptive is told.
pub(crate) fn adaptive(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    family(r, regions, sampling)
}

/// What front-choke is told.
pub(crate) fn front(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    family(r, fixed, |_| Ok(Source::Front))
}

/// What back-choke is told.
pub(crate) fn back(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    family(r, fixed, |_| Ok(Source::Back))
}

/// What xCHOKe is told.
pub(crate) fn xchoke(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let mut slot = 0;
    let one = |_: &mut Resolver<'_>, red: &RedSettings| {
        slot = red.slot;
        Ok(Candidates::Fixed(1))
    };
    let settings = family(r, one, sampling)?;
    Ok(ChokeSettings { memory: hits(r, Duration::from_nanos(slot))?, ..settings })
}

/// What gCHOKe is told.
pub(crate) fn gchoke(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    family(r, geometric, sampling)
}

/// What mloc-choke is told.
pub(crate) fn mloc(r: &mut Resolver<'_>) -> Result<ChokeSettings, ParameterError> {
    let limit = r.limit()?;
    let memory = r.take("memory", Origin::Default("Back CHOKe's one packet"), 1_u32)?;
    if memory > 0 {
        r.warn(format!("with {memory} flows or fewer nothing passes after the first packet of each"));
    }
    Ok(ChokeSettings {
        limit,
        red: None,
        source: Source::Back,
        candidates: Candidates::Fixed(0),
        memory: Memory::Last(memory),
        compare_above_max: true,
    })
}

/// What all on top of RED have in common; they differ in how many candidates there are, and in where they come from.
fn family(
    r: &mut Resolver<'_>,
    candidates: impl FnOnce(&mut Resolver<'_>, &RedSettings) -> Result<Candidates, ParameterError>,
    source: impl FnOnce(&mut Resolver<'_>) -> Result<Source, ParameterError>,
) -> Result<ChokeSettings, ParameterError> {
    let limit: Size = r.limit()?;
    let red = r.red(limit)?;
    let candidates = candidates(r, &red)?;
    let compare_above_max = r.take("compare_above_max", Origin::Default("the paper and Linux"), true)?;
    let source = source(r)?;
    Ok(ChokeSettings { limit, red: Some(red), source, candidates, memory: Memory::Nothing, compare_above_max })
}

fn sampling(r: &mut Resolver<'_>) -> Result<Source, ParameterError> {
    Ok(match r.take("sampling", Origin::Default("uniform over live packets"), "exact")? {
        "linux" => Source::Linux,
        _ => Source::Random,
    })
}

fn fixed(r: &mut Resolver<'_>, _red: &RedSettings) -> Result<Candidates, ParameterError> {
    let count = r.take("candidates", Origin::Default("the basic CHOKe"), 1)?;
    if count > 1 {
        r.say(format!("an arrival takes at most {count} queued packets with it"));
    }
    Ok(Candidates::Fixed(count))
}

fn geometric(r: &mut Resolver<'_>, _red: &RedSettings) -> Result<Candidates, ParameterError> {
    let most = r.given::<u32>("maxcomp")?;
    let origin = if most.is_some() { Origin::Given } else { Origin::Default("nearly as good as infinite") };
    let most = most.unwrap_or(5);
    let text = if most == u32::MAX { "infinite".to_string() } else { most.to_string() };
    r.note("maxcomp", text, origin);
    Ok(Candidates::Geometric(most))
}

fn regions(r: &mut Resolver<'_>, red: &RedSettings) -> Result<Candidates, ParameterError> {
    let regions = r.take("regions", Origin::Default("the paper says none"), 5_u32)?;
    let rule = match r.take("candidates_rule", Origin::Default("the paper's section II"), "2i")? {
        "2i-1" => Rule::DoubleLessOne,
        "i" => Rule::Linear,
        _ => Rule::Double,
    };
    let width = (red.max - red.min) / f64::from(regions);
    for region in 1..=regions {
        let from = red.min + width * f64::from(region - 1);
        r.say(format!("from an average of {from}: {} candidates", rule.candidates(region)));
    }
    Ok(Candidates::Regions { regions, rule })
}

/// Packets that the link sends until the hits of a flow are halved: 10 s of the link of 1 Mbit/s that CHOKe was tried on.
const PACKETS_TO_FORGET: u64 = 1250;

/// A memory of hits, where the link takes `slot` for a mean packet.
fn hits(r: &mut Resolver<'_>, slot: Duration) -> Result<Memory, ParameterError> {
    let size = r.take("table_size", Origin::Default("enough for the flows that matter"), 64)?;
    let cap = r.take("hit_cap", Origin::Default("2^30 is certain at any probability that matters"), 30)?;
    // Without an end to it every TCP that lives long is in the table too, and when the average is above `min` all are
    // dropped alike. A TCP is caught by chance as often as packets come, so it is packets that count, not seconds.
    let age = Duration::from_nanos(slot.as_nanos().saturating_mul(PACKETS_TO_FORGET));
    let age = r.take("age", Origin::Derived("1250 mean packets: flows caught by chance leave the table"), age)?;
    Ok(Memory::Hits { size, cap, age })
}
