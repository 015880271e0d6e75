//! BLUE's parameters.

use alloc::format;
use alloc::string::ToString;

use crate::discipline::blue::{Config, IdleDecrement};
use crate::params::shared::{ECN, LIMIT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Duration, Size};

pub(crate) const INFO: Info = Info {
    name: "blue",
    summary: "signals at random, more after each loss and less when the link is idle",
    source: "Feng, Shin, Kandlur, Saha: The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4)",
    year: Some(2002),
    needs: "nothing",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT, INCREMENT, DECREMENT, FREEZE, JITTER, TRIGGER, IDLE, BLUE_ECN],
};

const INCREMENT: Parameter = parameter(
    "increment",
    Domain::Ratio,
    "0.02, the paper's configuration B4",
    "step by which a loss raises the probability of a signal (delta_1)",
)
.elsewhere(&["d1", "delta1", "Increment"]);
const DECREMENT: Parameter = parameter(
    "decrement",
    Domain::Ratio,
    "0.002, the paper's configuration B4",
    "step by which an idle link lowers the probability (delta_2)",
)
.elsewhere(&["d2", "delta2", "Decrement"]);
const FREEZE: Parameter = parameter(
    "freeze",
    Domain::Duration,
    "100ms, the paper's configuration B4",
    "least time between two changes of the probability: about a round trip",
)
.elsewhere(&["freeze_time", "FreezeTime", "hold_time"]);
const JITTER: Parameter = parameter(
    "jitter",
    Domain::Switch,
    "false",
    "each freeze time is drawn from half to one and a half of `freeze`, which keeps routers from synchronising",
);
const TRIGGER: Parameter = parameter(
    "trigger",
    Domain::Size,
    "never",
    "queue length above which each packet queued counts as a loss, which leaves room for bursts and bounds the delay (L)",
)
.elsewhere(&["L", "length"]);
const IDLE: Parameter = parameter(
    "idle",
    Domain::Choice(&["repeated", "once"]),
    "repeated",
    "an idle link lowers the probability after every freeze time, or once until a packet is queued",
);
const BLUE_ECN: Parameter =
    Parameter { meaning: "signals mark packets that can be marked; the limit always drops", ..ECN };

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let b4 = Origin::Default("the paper's configuration B4");
    let limit = r.limit()?;
    let increment = r.take("increment", b4.clone(), 0.02)?;
    let decrement = r.take("decrement", b4.clone(), 0.002)?;
    let freeze = r.take("freeze", b4, Duration::from_millis(100))?;
    let jitter = r.take("jitter", Origin::Default("the paper's experiments"), false)?;
    let trigger = r.given::<Size>("trigger")?;
    match trigger {
        Some(length) => r.note("trigger", length.to_string(), Origin::Given),
        None => r.note("trigger", "never".to_string(), Origin::Default("the basic algorithm")),
    }
    let idle = match r.take("idle", Origin::Default("the link is idle all that time"), "repeated")? {
        "once" => IdleDecrement::Once,
        _ => IdleDecrement::Repeated,
    };
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    let config = Config { limit, increment, decrement, freeze, jitter, trigger, idle, ecn };
    judge(r, &config);
    Ok(config)
}

/// Warns of values that the paper advises against, and notes how fast the probability moves.
fn judge(r: &mut Resolver<'_>, config: &Config) {
    let Config { limit, increment, decrement, freeze, trigger, .. } = *config;
    if decrement > increment {
        r.warn(format!(
            "decrement {decrement} is above increment {increment}: an idle link would weigh more than a loss"
        ));
    }
    if freeze < Duration::from_millis(10) || freeze > Duration::from_millis(500) {
        r.warn(format!("freeze {freeze} is outside of 10ms to 500ms, which the paper advises"));
    }
    if let Some(trigger) = trigger
        && trigger.has_unit_of(limit)
        && trigger.number() >= limit.number()
    {
        r.warn(format!("trigger {trigger} is not below limit {limit}: the queue is never longer"));
    }
    let time = |step: f64| freeze.as_secs() / step;
    r.say(format!(
        "the probability takes at least {:.3} s from 0 to 1 and {:.3} s back; the paper advises 5 s to 30 s",
        time(increment),
        time(decrement)
    ));
}
