//! The parameters of RED with a penalty box.

use alloc::format;

use crate::discipline::red_penalty_box::{Config, penalty_rate_for};
use crate::params::shared::red_and;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Packets, Rate};

pub(crate) const INFO: Info = Info {
    name: "red-penalty-box",
    summary: "RED; flows whose drops show that they send too much share one small rate",
    source: "Floyd, Fall: Promoting the Use of End-to-End Congestion Control in the Internet, IEEE/ACM ToN 7(4)",
    year: Some(1999),
    needs: "the average, a log of `history` drops and the flows in the box",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: red_and!(HISTORY, PERIOD, RTT, MTU, PENALTY_RATE, PENALTY_BURST),
};

const HISTORY: Parameter = parameter(
    "history",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "256",
    "drops in the log; a period ends early after as many drops (D)",
)
.elsewhere(&["D", "log"]);
const PERIOD: Parameter =
    parameter("interval", Domain::Duration, "5s", "longest duration of a period (T)").elsewhere(&["T", "period"]);
const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "40ms, as red-pd",
    "round-trip time of the TCP whose sending rate a flow may not exceed (R)",
)
.elsewhere(&["R"]);
const MTU: Parameter =
    parameter("mtu", Domain::Bytes, "1500b, Ethernet's", "largest packet of that TCP (B)").elsewhere(&["B"]);
const PENALTY_RATE: Parameter = parameter(
    "penalty_rate",
    Domain::Rate,
    "5 % of `bandwidth`",
    "rate that the flows in the box get together, by a token bucket",
)
.elsewhere(&["box_rate"]);
const PENALTY_BURST: Parameter = parameter(
    "penalty_burst",
    Domain::Packets,
    "20p, as tc-sfb(8)",
    "mean packets that the flows in the box may send at once",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let history = r.take("history", Origin::Default("a part of 1 % is two or three drops"), 256)?;
    let interval = r.take("interval", Origin::Default("long against round-trip times"), Duration::from_millis(5000))?;
    let rtt = r.take("rtt", Origin::Default("as red-pd"), Duration::from_millis(40))?;
    let mtu = r.take("mtu", Origin::Default("Ethernet's"), Bytes::new(1500))?;
    let bandwidth = red.bandwidth.unwrap_or(r.rate());
    let rate = r.take("penalty_rate", Origin::Derived("5 % of bandwidth"), penalty_rate_for(bandwidth))?;
    let penalty_burst = r.take("penalty_burst", Origin::Default("as tc-sfb(8)"), Packets::new(20))?;
    if rate >= bandwidth {
        r.warn(format!("penalty_rate {rate} is not below bandwidth {bandwidth}: the box holds no flow back"));
    }
    if u64::from(penalty_burst.get()) * red.avpkt.get() < mtu.get() {
        r.warn(format!("penalty_burst {penalty_burst} is less than mtu {mtu}: such packets never pass the box"));
    }
    if interval <= rtt {
        r.warn(format!("interval {interval} is not above rtt {rtt}: too short to measure what flows send"));
    }
    let penalty_rate = r.given::<Rate>("penalty_rate")?;
    let config = Config { limit, red, history, interval, rtt, mtu, penalty_rate, penalty_burst };
    r.say(format!("at a drop rate of 1 % a flow may send {:.0} kB/s", config.friendly_rate(0.01) / 1000.0));
    Ok(config)
}
