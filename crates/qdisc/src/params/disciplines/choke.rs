//! The parameters of CHOKe's family up to gCHOKe; see [`crate::discipline::choke`].

use alloc::format;
use alloc::string::ToString;

use crate::discipline::choke::mloc::MAX_MEMORY;
use crate::discipline::choke::{Candidates, Config, Draw, MAX_CANDIDATES, MAX_INTERMEDIATE, MAX_REGIONS, Rule, mloc};
use crate::discipline::red;
use crate::params::shared::{LIMIT, red_and};
use crate::params::{Domain, FlowState, Info, Numbers, Origin, Parameter, ParameterError, Resolver, parameter};

/// The source of CHOKe and of its variants by the same authors.
const SOURCE: &str = "Pan, Prabhakar, Psounis: CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair \
                      Bandwidth Allocation, INFOCOM 2000";

/// CHOKe.
pub(crate) const CHOKE: Info = Info {
    name: "choke",
    summary: "compares each arrival with a random queued packet and drops both if they are of one flow",
    source: SOURCE,
    year: Some(2000),
    needs: "the average and a random look into the queue",
    flow_state: FlowState::None,
    experimental: false,
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX, COUNT_MATCHES, DROP_BIT, SAMPLING),
};

/// CHOKe with a number of candidates that grows with the average.
pub(crate) const ADAPTIVE: Info = Info {
    name: "choke-adaptive",
    summary: "CHOKe that draws more packets the longer the average queue",
    needs: "the average and random looks into the queue",
    parameters: red_and!(REGIONS, INT_TH, CANDIDATES_RULE, COMPARE_ABOVE_MAX, COUNT_MATCHES, DROP_BIT, SAMPLING),
    ..CHOKE
};

/// CHOKe whose candidate is the head.
pub(crate) const FRONT: Info = Info {
    name: "front-choke",
    summary: "CHOKe that compares with the packet that leaves next",
    needs: "the average and the head's flow",
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX, COUNT_MATCHES, DROP_BIT),
    ..CHOKE
};

/// CHOKe whose candidate is the tail.
pub(crate) const BACK: Info = Info {
    name: "back-choke",
    summary: "CHOKe that compares with the packet that came last",
    needs: "the average and the tail's flow",
    parameters: red_and!(CANDIDATES, COMPARE_ABOVE_MAX, COUNT_MATCHES, DROP_BIT),
    ..CHOKE
};

/// Back CHOKe that remembers the flows of the last packets admitted.
pub(crate) const MLOC: Info = Info {
    name: "mloc-choke",
    summary: "drops arrivals of the flows that were admitted last",
    needs: "the last `memory` flows",
    flow_state: FlowState::Fixed,
    parameters: &[LIMIT, MEMORY],
    ..CHOKE
};

/// CHOKe that goes on drawing while it matches.
pub(crate) const GCHOKE: Info = Info {
    name: "gchoke",
    summary: "CHOKe that goes on drawing while it matches",
    source: "Eshete, Jiang: Generalizing the CHOKe Flow Protection, arXiv 1202.0789",
    year: Some(2012),
    needs: "the average and random looks into the queue",
    parameters: red_and!(MAXCOMP, COMPARE_ABOVE_MAX, COUNT_MATCHES, DROP_BIT, SAMPLING),
    ..CHOKE
};

const CANDIDATES: Parameter = parameter(
    "candidates",
    Domain::Count { min: 1, max: MAX_CANDIDATES, infinite: false },
    "1",
    "queued packets that an arrival is compared with; those of its flow are dropped with it",
)
.elsewhere(&["m", "drops"]);
pub(super) const COMPARE_ABOVE_MAX: Parameter = parameter(
    "compare_above_max",
    Domain::Switch,
    "true, the paper and Linux; false is the technical report",
    "arrivals are compared while the average is at or above `max` too",
);
pub(super) const SAMPLING: Parameter = parameter(
    "sampling",
    Domain::Choice(&["exact", "replacement", "linux"]),
    "exact",
    "draw distinct packets uniformly; or each anew, so that several candidates can be one packet; or as Linux: three throws \
     over the ring with its holes, then the head",
);
const COUNT_MATCHES: Parameter = parameter(
    "count_matches",
    Domain::Switch,
    "true, as ns-2; false with `sampling = linux`",
    "an arrival that matched counts among the packets since RED's last signal",
);
const DROP_BIT: Parameter = parameter(
    "drop_bit",
    Domain::Switch,
    "false",
    "a queued packet that matches stays, and takes room, until it is the head; there it is dropped, as the paper proposes",
);
const REGIONS: Parameter = parameter(
    "regions",
    Domain::Count { min: 1, max: MAX_REGIONS, infinite: false },
    "5; the paper says none",
    "equal regions between `min` and `max`, each with its number of candidates",
)
.elsewhere(&["k"]);
const INT_TH: Parameter = parameter(
    "int_th",
    Domain::Numbers { min: 0.0, max: 4_294_967_295.0 },
    "none: equal regions",
    "averages between `min` and `max`, ascending and in their unit, at each of which the next region begins; instead of `regions`",
);
const CANDIDATES_RULE: Parameter = parameter(
    "candidates_rule",
    Domain::Choice(&["2i", "2i-1", "i"]),
    "2i, the definition in the paper's section II",
    "candidates in region i; 2i-1 reads the paper's section III, where the arrival counts as a drop",
)
.elsewhere(&["self_adjust"]);
const MEMORY: Parameter = parameter(
    "memory",
    Domain::Count { min: 0, max: MAX_MEMORY, infinite: false },
    "1",
    "flows remembered: an arrival of one of the last flows admitted is dropped",
)
.elsewhere(&["k", "Mloc"]);
const MAXCOMP: Parameter = parameter(
    "maxcomp",
    Domain::Count { min: 1, max: 16_777_216, infinite: true },
    "5, within 0.0003 of infinite in the share of an aggressive flow",
    "candidates that may match one arrival: drawn one after another while they match",
)
.elsewhere(&["c", "m"]);

/// Resolves choke's parameters.
pub(crate) fn choke(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    over_red(r, fixed, sampling)
}

/// Resolves choke-adaptive's parameters.
pub(crate) fn adaptive(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    over_red(r, regions, sampling)
}

/// Resolves front-choke's parameters.
pub(crate) fn front(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    over_red(r, fixed, |_| Ok(Draw::Front))
}

/// Resolves back-choke's parameters.
pub(crate) fn back(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    over_red(r, fixed, |_| Ok(Draw::Back))
}

/// Resolves gchoke's parameters.
pub(crate) fn gchoke(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    over_red(r, while_matching, sampling)
}

/// Resolves mloc-choke's parameters.
pub(crate) fn mloc(r: &mut Resolver<'_>) -> Result<mloc::Config, ParameterError> {
    let limit = r.limit()?;
    let memory = r.take("memory", Origin::Default("Back CHOKe's one packet"), 1_u32)?;
    if memory > 0 {
        r.warn(format!("with {memory} flows or fewer nothing passes after the first packet of each"));
    }
    Ok(mloc::Config { limit, memory })
}

/// Resolves the common parameters of all kinds over RED; they differ in the number of candidates, and in where these
/// come from.
fn over_red(
    r: &mut Resolver<'_>,
    candidates: impl FnOnce(&mut Resolver<'_>, &red::RedParameters) -> Result<Candidates, ParameterError>,
    draw: impl FnOnce(&mut Resolver<'_>) -> Result<Draw, ParameterError>,
) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let candidates = candidates(r, &red)?;
    let compare_above_max = compare_above_max(r)?;
    let draw = draw(r)?;
    let linux = draw == Draw::Linux;
    let count_matches = r.take("count_matches", Origin::Default(if linux { "as Linux" } else { "as ns-2" }), !linux)?;
    let drop_bit = r.take("drop_bit", Origin::Default("the room of a match is free at once"), false)?;
    let config = Config { limit, red, draw, candidates, compare_above_max, count_matches, drop_bit };
    config.validate()?;
    Ok(config)
}

pub(super) fn compare_above_max(r: &mut Resolver<'_>) -> Result<bool, ParameterError> {
    r.take("compare_above_max", Origin::Default("the paper and Linux"), true)
}

pub(super) fn sampling(r: &mut Resolver<'_>) -> Result<Draw, ParameterError> {
    Ok(match r.take("sampling", Origin::Default("uniform over live packets"), "exact")? {
        "replacement" => Draw::WithReplacement,
        "linux" => Draw::Linux,
        _ => Draw::Random,
    })
}

fn fixed(r: &mut Resolver<'_>, _red: &red::RedParameters) -> Result<Candidates, ParameterError> {
    let count = r.take("candidates", Origin::Default("the basic CHOKe"), 1)?;
    if count > 1 {
        r.say(format!("an arrival takes at most {count} queued packets with it"));
    }
    Ok(Candidates::Fixed(count))
}

fn while_matching(r: &mut Resolver<'_>, _red: &red::RedParameters) -> Result<Candidates, ParameterError> {
    let most = r.given::<u32>("maxcomp")?;
    let origin = if most.is_some() { Origin::Given } else { Origin::Default("nearly as good as infinite") };
    let most = most.unwrap_or(5);
    let text = if most == u32::MAX { "infinite".to_string() } else { most.to_string() };
    r.note("maxcomp", text, origin);
    Ok(Candidates::WhileMatching(most))
}

fn regions(r: &mut Resolver<'_>, red: &red::RedParameters) -> Result<Candidates, ParameterError> {
    let rule = match r.take("candidates_rule", Origin::Default("the paper's section II"), "2i")? {
        "2i-1" => Rule::DoubleLessOne,
        "i" => Rule::Linear,
        _ => Rule::Double,
    };
    if let Some(given) = r.given::<Numbers>("int_th")? {
        return intermediate(r, red, given, rule);
    }
    r.note("int_th", "none".to_string(), Origin::Default("equal regions"));
    let regions = r.take("regions", Origin::Default("the paper says none"), 5_u32)?;
    let (min, max) = (red.min.number() as f64, red.max.number() as f64);
    let width = (max - min) / f64::from(regions);
    for region in 1..=regions {
        let from = min + width * f64::from(region - 1);
        r.say(format!("from an average of {from}: {} candidates", rule.candidates(region)));
    }
    Ok(Candidates::Regions { regions, rule })
}

fn intermediate(
    r: &mut Resolver<'_>,
    red: &red::RedParameters,
    given: Numbers,
    rule: Rule,
) -> Result<Candidates, ParameterError> {
    r.note("int_th", given.to_string(), Origin::Given);
    if r.given::<u32>("regions")?.is_some() {
        let message = "regions is given, too: the intermediate thresholds make the regions, so leave one of both out";
        return Err(ParameterError::new("int_th", message.to_string()));
    }
    r.note("regions", (given.len() + 1).to_string(), Origin::Derived("one more than intermediate thresholds"));
    if let Some(part) = given.iter().find(|part| **part != f64::from(**part as u32)) {
        let message = format!("{part} is not a whole number of packets or bytes");
        return Err(ParameterError::new("int_th", message));
    }
    let mut thresholds = [None; MAX_INTERMEDIATE];
    for (threshold, &number) in thresholds.iter_mut().zip(given.iter()) {
        *threshold = Some(red.min.with_number(number as u64));
    }
    for (region, from) in (1..).zip([red.min].into_iter().chain(thresholds.into_iter().flatten())) {
        r.say(format!("from an average of {}: {} candidates", from.number(), rule.candidates(region)));
    }
    Ok(Candidates::Intermediate { thresholds, rule })
}
