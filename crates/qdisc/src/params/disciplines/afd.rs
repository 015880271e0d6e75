//! AFD's parameters.

use alloc::format;

use crate::discipline::afd::Config;
use crate::params::shared::{AVPKT, LIMIT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Size};

pub(crate) const INFO: Info = Info {
    name: "afd",
    summary: "drops what a flow sends above a fair share, by a sample of recent arrivals",
    source: "Pan, Breslau, Prabhakar, Shenker: Approximate Fairness through Differential Dropping, ACM CCR 33(2)",
    year: Some(2003),
    needs: "the flows of `shadow` sampled arrivals",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT,
        SHADOW,
        SAMPLE,
        TARGET_QUEUE,
        INTERVAL,
        Parameter { meaning: "mean packet: converts a `limit` in bytes to packets", ..AVPKT },
    ],
};

const SHADOW: Parameter = parameter(
    "shadow",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "500, the paper",
    "sampled arrivals whose flows are remembered (b)",
)
.elsewhere(&["b", "shadow_size"]);
const SAMPLE: Parameter = parameter(
    "sample",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "5: 500 samples then cover 10 to 30 arrivals of each of 83 to 250 flows",
    "one in this many arrivals is sampled (s)",
)
.elsewhere(&["s"]);
const TARGET_QUEUE: Parameter = parameter(
    "target_queue",
    Domain::Packets,
    "limit / 6, the middle of tc(8)'s thresholds for RED",
    "queue length that the controller aims at (q_target)",
)
.elsewhere(&["q_target", "qtarget", "target"]);
const INTERVAL: Parameter = parameter(
    "interval",
    Domain::Duration,
    "6250us, the paper's 160 Hz",
    "time between updates of the fair share (T_s)",
)
.elsewhere(&["T_s"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let most = match limit {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() / avpkt.get(),
    };
    let shadow: u32 = r.take("shadow", Origin::Default("the paper"), 500)?;
    let sample = r.take("sample", Origin::Default("for about a hundred flows"), 5)?;
    // A limit is at most 2^40 bytes; a cast saturates.
    let target = Packets::new(u32::try_from(most / 6).unwrap_or(u32::MAX).clamp(1, crate::error::MAX_PACKETS));
    let target_queue = r.take("target_queue", Origin::Derived("limit / 6"), target)?;
    let interval = r.take("interval", Origin::Default("the paper's 160 Hz"), Duration::from_nanos(6_250_000))?;
    let memory = u64::from(shadow) * u64::from(sample);
    r.say(format!("a flow's rate is measured over about {memory} arrivals of all flows"));
    if u64::from(target_queue.get()) >= most {
        r.warn(format!(
            "target_queue {target_queue} is not below limit {limit}: the queue overflows before anything is dropped"
        ));
    }
    Ok(Config { limit, shadow, sample, target_queue, interval, avpkt })
}
