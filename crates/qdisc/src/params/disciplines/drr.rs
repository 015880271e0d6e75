//! DRR's parameters.

use alloc::format;

use crate::discipline::drr::{Config, DropFrom};
use crate::params::shared::{LIMIT, WEIGHTED};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Size};

pub(crate) const INFO: Info = Info {
    name: "drr",
    summary: "serves flows in turns of equal bytes and drops from the longest queue",
    source: "Shreedhar, Varghese: Efficient Fair Queueing using Deficit Round Robin, SIGCOMM 1995",
    year: Some(1995),
    needs: "a queue for each flow",
    flow_state: FlowState::Queued,
    experimental: false,
    parameters: &[LIMIT.default("160kb, as in the BARE paper's comparison"), QUANTUM, DROP, WEIGHTED],
};

const QUANTUM: Parameter = parameter(
    "quantum",
    Domain::Bytes,
    "1000b, the packets of the papers",
    "bytes that a turn gives to a flow of weight 1; a turn takes O(1) if no packet is larger",
)
.elsewhere(&["quantum_", "allot"]);

const DROP: Parameter = parameter(
    "drop",
    Domain::Choice(&["front", "tail"]),
    "front, as ns-2",
    "packet that the longest queue loses when the limit is exceeded: its oldest or its newest",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("as in the BARE paper's comparison"), Size::bytes(160_000))?;
    let quantum = r.take("quantum", Origin::Default("the packets of the papers"), Bytes::new(1000))?;
    let drop = match r.take("drop", Origin::Default("as ns-2"), "front")? {
        "tail" => DropFrom::Tail,
        _ => DropFrom::Front,
    };
    let weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    let turns = ETHERNET.div_ceil(quantum.get());
    if turns > 1 {
        r.say(format!("a packet of {ETHERNET}b waits for {turns} turns"));
    }
    if turns > MANY_TURNS {
        r.warn(format!("quantum {quantum} is small: in most turns a flow sends nothing, which costs time"));
    }
    if matches!(limit, Size::Bytes(bytes) if bytes < quantum) {
        r.warn(format!("quantum {quantum} is above limit {limit}: a turn empties the whole queue of a flow"));
    }
    Ok(Config { limit, quantum, drop, weighted })
}

/// The largest packet of Ethernet in bytes, without its header.
const ETHERNET: u64 = 1500;

/// The most turns for a packet without a warning: ns-2's default quantum of 250 bytes needs six.
const MANY_TURNS: u64 = 8;
