//! CAKE's configuration, and the values that follow from it and the rate.

use super::ack_filter::AckFilter;
use super::diffserv::{Diffserv, TinShare};
use super::tin::TinSettings;
use crate::discipline::cobalt::CobaltSettings;
use crate::error::{MAX_BYTES, check};
use crate::rate::link_clock::Pace;
use crate::{Duration, ParameterError, Rate, Size};

/// The configuration of [`Cake`](super::Cake).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: `None`, four times the bytes that
    /// `bandwidth`, or else the link's rate, carries in `rtt`, at least 4 MiB, as sch_cake; 4 MiB while no rate is
    /// known.
    pub limit: Option<Size>,
    /// The rate to which packets are held back, above 0; quanta, shares of the tins and the least target follow from
    /// it. Default: `None`, nothing is held back and the rest follows from the link's rate
    /// ([`Qdisc::link_rate`](crate::Qdisc::link_rate)). While that is not known either, quanta are 1514 bytes and the
    /// target is a twentieth of `rtt`, as on a fast link.
    pub bandwidth: Option<Rate>,
    /// The tins. Default: [`Diffserv::Diffserv3`], as tc-cake(8).
    pub diffserv: Diffserv,
    /// The hosts and flows among which a tin is fair. Default: [`Isolation::TripleIsolate`], as tc-cake(8).
    pub isolation: Isolation,
    /// A common round-trip time, above 0: COBALT's interval and twenty times its target. Default: 100 ms,
    /// [`Preset::Internet`], as tc-cake(8).
    pub rtt: Duration,
    /// Manages a link behind which CAKE stands, such as a downlink that feeds it: dropped packets count as sent, as
    /// they have used the link already, and COBALT leaves each bulk flow at least two packets. Default: `false`, as
    /// tc-cake(8).
    pub ingress: bool,
    /// Clears the DSCP of packets that leave, as a network does that does not trust it. Default: `false`, as
    /// tc-cake(8).
    pub wash: bool,
    /// The TCP acknowledgements dropped because later ones in their queue make them superfluous, for links that carry
    /// much less in the direction of the acknowledgements than in that of the data. Packets have to tell their
    /// [TCP headers](crate::Packet::tcp). Default: [`AckFilter::None`], as tc-cake(8).
    pub ack_filter: AckFilter,
    /// Hosts are those behind network address translation on this machine. The caller has to look them up and return
    /// them from [`Packet::source_host`](crate::Packet::source_host). The discipline itself does not change. Default:
    /// `false`, as tc-cake(8).
    pub nat: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: None,
            bandwidth: None,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Preset::default().rtt(),
            ingress: false,
            wash: false,
            ack_filter: AckFilter::default(),
            nat: false,
        }
    }
}

/// The hosts and flows among which a tin is fair, as tc-cake(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Isolation {
    /// Flows; those of one host share the quantum of a single flow, where the host is the sender or the receiver,
    /// whichever has more bulk flows.
    #[default]
    TripleIsolate,
    /// Flows; those of one sender share the quantum of a single flow.
    DualSrcHost,
    /// Flows; those of one receiver share the quantum of a single flow.
    DualDstHost,
    /// Flows, each with its own quantum.
    Flows,
    /// Senders: all packets of one are one flow.
    SrcHost,
    /// Receivers: all packets to one are one flow.
    DstHost,
    /// Pairs of a sender and a receiver: all packets of one pair are one flow.
    Hosts,
    /// None: all packets of a tin are one flow.
    FlowBlind,
}

/// A kind of network, which stands for a round-trip time; names and times as tc-cake(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Preset {
    /// 100 us.
    Datacentre,
    /// 1 ms.
    Lan,
    /// 10 ms.
    Metro,
    /// 30 ms.
    Regional,
    /// 100 ms.
    #[default]
    Internet,
    /// 300 ms.
    Oceanic,
    /// 1 s.
    Satellite,
}

impl Preset {
    /// Returns the round-trip time, for [`Config::rtt`].
    #[must_use]
    pub const fn rtt(self) -> Duration {
        Duration::from_nanos(match self {
            Self::Datacentre => 100_000,
            Self::Lan => 1_000_000,
            Self::Metro => 10_000_000,
            Self::Regional => 30_000_000,
            Self::Internet => 100_000_000,
            Self::Oceanic => 300_000_000,
            Self::Satellite => 1_000_000_000,
        })
    }
}

/// The largest packet that targets are made for: an Ethernet frame.
const MTU: u32 = 1514;

impl Config {
    /// Checks every value.
    pub(super) fn validate(&self) -> Result<(), ParameterError> {
        if let Some(limit) = self.limit {
            check::size("limit", limit)?;
        }
        if let Some(bandwidth) = self.bandwidth {
            check::rate("bandwidth", bandwidth)?;
        }
        check::duration("rtt", self.rtt)
    }

    /// Returns the limit at `rate`, which is `None` while it is not known.
    pub(crate) fn limit_at(&self, rate: Option<Rate>) -> Size {
        self.limit.unwrap_or_else(|| {
            let bits = rate.map_or(0, Rate::bits_per_second);
            let in_rtt = u128::from(bits) * u128::from(self.rtt.as_nanos()) / 8_000_000_000;
            Size::bytes((4 * in_rtt).clamp(4 << 20, u128::from(MAX_BYTES)) as u64)
        })
    }

    /// Returns the parameters of each tin at `rate`, which is `None` while it is not known.
    pub(super) fn tins_at(&self, rate: Option<Rate>) -> impl Iterator<Item = TinSettings> {
        let config = *self;
        self.diffserv.tins().iter().map(move |share| config.tin_at(rate, *share))
    }

    /// Returns the name, COBALT's target and the quantum of a flow, in bytes, of each tin at `rate`.
    pub(crate) fn targets_and_quanta(&self, rate: Rate) -> impl Iterator<Item = (&'static str, Duration, u64)> {
        let names = self.diffserv.tins().iter().map(|tin| tin.name);
        names.zip(self.tins_at(Some(rate))).map(|(name, tin)| (name, tin.cobalt.target, tin.flow_quantum))
    }

    /// Returns the parameters of the tin with `share`. COBALT's target is at least the time of a packet and a half.
    pub(super) fn tin_at(&self, rate: Option<Rate>, share: TinShare) -> TinSettings {
        let rate = rate.map_or(u64::MAX, Rate::bits_per_second);
        let bits = share.part.of(rate).max(1);
        let pace = Pace::new(Rate::from_bits_per_second(bits));
        let packet = pace.duration(MTU).as_nanos();
        let wanted = (self.rtt.as_nanos() / 20).max(1);
        let target = wanted.max(packet.saturating_add(packet / 2));
        let interval = self.rtt.as_nanos().saturating_add(target - wanted).max(target.saturating_mul(2));
        let cobalt = CobaltSettings {
            target: Duration::from_nanos(target),
            interval: Duration::from_nanos(interval),
            floor: Duration::from_nanos(packet.saturating_mul(4)),
            blue_threshold: Duration::from_nanos(u64::MAX),
            ecn: true,
        };
        TinSettings {
            cobalt,
            packet: Duration::from_nanos(packet),
            ingress: self.ingress,
            flow_quantum: ((bits / 8) >> 12).clamp(300, u64::from(MTU)),
            pace,
            tin_quantum: share.quantum.into(),
            by_source: matches!(self.isolation, Isolation::TripleIsolate | Isolation::DualSrcHost),
            by_destination: matches!(self.isolation, Isolation::TripleIsolate | Isolation::DualDstHost),
        }
    }
}
