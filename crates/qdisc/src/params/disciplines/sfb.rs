//! SFB's parameters, and those of its bins, which SFRED shares.

use alloc::format;
use alloc::string::ToString;

use crate::discipline::sfb::binned::{MAX_BINS, MAX_LEVELS};
use crate::discipline::sfb::{BinConfig, Config, DecrementAt, DropOnOver};
use crate::flow::hash::misclassified;
use crate::params::shared::{ECN, HARDDROP};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Rate, Size};

pub(crate) const INFO: Info = Info {
    name: "sfb",
    summary: "BLUE in bins: limits the rate of flows that do not respond to signals",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, \
             INFOCOM 2001",
    year: Some(2001),
    needs: "`levels` hashes of the flow and two sets of `levels` times `bins` bins",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: around_bins!(INCREMENT, DECREMENT, DECREMENT_AT, FREEZE; SFB_HARDDROP),
};

/// The parameters of the bins, with those of a bin's rule among them and more after them.
macro_rules! around_bins {
    ($($rule:expr),*; $($after:expr),*) => {
        {
            use $crate::params::disciplines::sfb::*;
            &[
                $crate::params::shared::LIMIT, LEVELS, BINS, BIN_SIZE, DROP_ON_OVER, BIN_MAX, $($rule,)* REHASH, JITTER,
                WARMUP, PENALTY_RATE, PENALTY_BURST, BINS_ECN, $($after),*
            ]
        }
    };
}
pub(super) use around_bins;

pub(super) const LEVELS: Parameter = parameter(
    "levels",
    Domain::Count { min: 1, max: MAX_LEVELS, infinite: false },
    "8, as Linux; the paper has 2",
    "levels of bins: a flow has a bin on each",
)
.elsewhere(&["L"]);
pub(super) const BINS: Parameter = parameter(
    "bins",
    Domain::Count { min: 1, max: MAX_BINS, infinite: false },
    "16, as Linux; the paper has 23",
    "bins on each level",
)
.elsewhere(&["N", "B"]);
pub(super) const BIN_SIZE: Parameter = parameter(
    "bin_size",
    Domain::Packets,
    "20p, as tc(8); the paper has 1.5 limit / bins",
    "packets in a bin above which it is full (tc's target)",
)
.elsewhere(&["target", "binsize"]);
pub(super) const DROP_ON_OVER: Parameter = parameter(
    "drop_on_over",
    Domain::Choice(&["all", "any"]),
    "all, as Linux; any is the paper",
    "an arrival is dropped when all of its bins hold `bin_max`, or when any of them is full",
);
pub(super) const BIN_MAX: Parameter = parameter(
    "bin_max",
    Domain::Packets,
    "1.25 bin_size, as tc(8); unused with `drop_on_over = any`",
    "packets in each bin of a flow at which its arrivals are dropped (tc's max)",
)
.elsewhere(&["max"]);
const INCREMENT: Parameter = parameter(
    "increment",
    Domain::Ratio,
    "0.0005, as tc(8); the paper gives none",
    "step by which an arrival at a full bin raises the bin's probability",
)
.elsewhere(&["d1", "delta", "Delta"]);
const DECREMENT: Parameter = parameter(
    "decrement",
    Domain::Ratio,
    "0.00005, as tc(8); the paper gives none",
    "step by which an empty bin lowers its probability",
)
.elsewhere(&["d2"]);
const DECREMENT_AT: Parameter = parameter(
    "decrement_at",
    Domain::Choice(&["arrival", "departure"]),
    "arrival, as the paper's figure 14 and Linux",
    "`decrement` is applied at each arrival that finds the bin empty, or at the departure that empties it (the paper's text)",
);
const FREEZE: Parameter = parameter(
    "freeze",
    Domain::Duration,
    "none, as the paper and Linux",
    "least time between two changes of a bin's probability, as in BLUE",
)
.elsewhere(&["freeze_time"]);
pub(super) const REHASH: Parameter = parameter(
    "rehash",
    Domain::Duration,
    "600s, as tc(8); the paper has 2s",
    "time after which the hash moves, so that no flow shares its bins with the same flows for ever",
);
pub(super) const JITTER: Parameter = parameter(
    "jitter",
    Domain::Switch,
    "false",
    "each time between two moves of the hash is drawn from half to one and a half of `rehash`",
);
pub(super) const WARMUP: Parameter = parameter(
    "warmup",
    Domain::Duration,
    "60s, as tc(8)'s db",
    "time before the hash moves in which the next bins are warmed up with the identified flows (double buffering)",
)
.elsewhere(&["db", "double_buffering"]);
pub(super) const PENALTY_RATE: Parameter = parameter(
    "penalty_rate",
    Domain::Rate,
    "80kbit, tc(8)'s 10 packets a second of 1000 bytes; the paper has 160kbit",
    "rate that all identified flows share",
);
pub(super) const PENALTY_BURST: Parameter = parameter(
    "penalty_burst",
    Domain::Bytes,
    "20kb, tc(8)'s 20 packets of 1000 bytes",
    "burst that all identified flows together may send",
);
pub(super) const BINS_ECN: Parameter = Parameter {
    meaning: "signals mark packets that can be marked; full bins, the rate limit and the limit always drop",
    ..ECN
};
const SFB_HARDDROP: Parameter = Parameter {
    default: "true, as Linux",
    meaning: "from a probability p of 1/2 on, a share 2p - 1 of all arrivals is dropped even if it could be marked",
    ..HARDDROP
};

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let bins = resolve_bins(r, limit)?;
    let increment = r.take("increment", Origin::Default("as tc(8)"), 0.0005)?;
    let decrement = r.take("decrement", Origin::Default("as tc(8)"), 0.000_05)?;
    let decrement_at = match r.take("decrement_at", Origin::Default("as figure 14 and Linux"), "arrival")? {
        "departure" => DecrementAt::Departure,
        _ => DecrementAt::Arrival,
    };
    let freeze = r.given::<Duration>("freeze")?;
    match freeze {
        Some(time) => r.note("freeze", time.to_string(), Origin::Given),
        None => r.note("freeze", "none".to_string(), Origin::Default("as the paper and Linux")),
    }
    let harddrop = r.take("harddrop", Origin::Default("as Linux"), true)?;
    if decrement > increment {
        r.warn(format!("decrement {decrement} is above increment {increment}: bins forget faster than they learn"));
    }
    Ok(Config { limit, bins, increment, decrement, decrement_at, freeze, harddrop })
}

/// Resolves the parameters of the bins of a queue of `limit`.
pub(super) fn resolve_bins(r: &mut Resolver<'_>, limit: Size) -> Result<BinConfig, ParameterError> {
    let levels = r.take("levels", Origin::Default("as Linux"), 8)?;
    let bins = r.take("bins", Origin::Default("as Linux"), 16)?;
    let bin_size = r.take("bin_size", Origin::Default("tc(8)'s target"), Packets::new(20))?;
    let drop_on_over = resolve_drop_on_over(r, bin_size)?;
    let rehash = r.take("rehash", Origin::Default("as tc(8)"), Duration::from_millis(600_000))?;
    let jitter = r.take("jitter", Origin::Default("the paper's experiments"), false)?;
    let warmup = r.take("warmup", Origin::Default("tc(8)'s db"), Duration::from_millis(60_000))?;
    let penalty_rate =
        r.take("penalty_rate", Origin::Default("tc(8)'s 10 packets a second"), Rate::from_bits_per_second(80_000))?;
    let penalty_burst = r.take("penalty_burst", Origin::Default("tc(8)'s 20 packets"), Bytes::new(20_000))?;
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    if matches!(limit, Size::Packets(limit) if limit <= bin_size) {
        r.warn(format!("bin_size {bin_size} is not below limit {limit}: no bin is ever full"));
    }
    if penalty_burst.get() < ETHERNET {
        r.warn(format!("penalty_burst is below {ETHERNET}b: larger packets of identified flows never pass"));
    }
    r.say(format!(
        "{:.2} % of the responsive flows share all of their bins with ten non-responsive ones",
        100.0 * misclassified(levels, bins, 10)
    ));
    Ok(BinConfig { levels, bins, bin_size, drop_on_over, rehash, jitter, warmup, penalty_rate, penalty_burst, ecn })
}

fn resolve_drop_on_over(r: &mut Resolver<'_>, bin_size: Packets) -> Result<DropOnOver, ParameterError> {
    if r.take("drop_on_over", Origin::Default("as Linux"), "all")? == "any" {
        r.note("bin_max", "unused".to_string(), Origin::Derived("drop_on_over is any"));
        return Ok(DropOnOver::Any);
    }
    // At least one more than `bin_size`: a bin of that many packets is not full yet.
    let derived = bin_size.get() + (bin_size.get() / 4).max(1);
    let bin_max = r.take("bin_max", Origin::Derived("1.25 bin_size, as tc(8)"), Packets::new(derived))?;
    if bin_max <= bin_size || 2 * u64::from(bin_max.get()) > 3 * u64::from(bin_size.get()).max(2) {
        r.warn(format!("bin_max {bin_max} should be above bin_size {bin_size}, and at most 1.5 times as much"));
    }
    Ok(DropOnOver::All { bin_max })
}

/// The packet of a full Ethernet frame, in bytes.
const ETHERNET: u64 = 1500;
