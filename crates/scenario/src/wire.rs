//! The parts of a link around its queue: a policer, a shaper, changes of its rate, loss and jitter.

use fairlane_link::Loss;
use fairlane_qdisc::{Bytes, Duration, Rate};

use crate::shaper::Shaper;

/// Everything on a link but its queue, a constant rate and a constant delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wire {
    /// The policer in front of the queue; `None`: all packets reach the queue.
    pub policer: Option<Policer>,
    /// The shaper between the queue and the link; `None`: the link itself empties the queue.
    pub shaper: Option<Shaper>,
    /// Packet loss; `None`: no losses.
    pub loss: Option<Loss>,
    /// Changes of the probability of independent losses; `None`: [`loss`](Self::loss) is constant. It holds at the end
    /// of a packet's transmission.
    pub losses: Option<Steps<f64>>,
    /// Changes of the delay, of which the least is the link's; `None`: the delay is constant. It holds at the end of a
    /// packet's transmission.
    pub delays: Option<Steps<Duration>>,
    /// Each packet's delay is drawn uniformly from the link's delay ± this; at most the delay.
    pub jitter: Duration,
    /// Packets may overtake each other; otherwise one that would waits for the one before it.
    pub reorder: bool,
    /// Changes of the rate; `None`: the link's rate is constant.
    pub rates: Option<RateSteps>,
    /// Packets are sent in frames of several; `None`: one by one.
    pub aggregation: Option<Aggregation>,
}

/// A policer: a token bucket without a queue (RFC 2475, section 2.3.3.4; `police` of tc(8)). A packet for which the
/// bucket has tokens passes, any other is dropped. The bucket is full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// The rate at which the bucket is filled.
    pub rate: Rate,
    /// The size of the bucket.
    pub burst: Bytes,
}

/// Frames of several packets, as of a wireless link (IEEE 802.11n's A-MPDU). A frame waits for access to the medium,
/// then takes the queued packets, up to its limits. All of them arrive with its last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The most packets of a frame, at least 1.
    pub packets: u32,
    /// A frame that takes this time or more to send, without its access, takes no further packet; `None`: no limit.
    pub time: Option<Duration>,
    /// The time from the end of a frame, or from an arrival at a link without one, to the start of the next.
    pub access: Duration,
    /// Of the acknowledgements of a flow in a frame only the last one is sent, except for those with SACK blocks or
    /// other ECN flags.
    pub thin_acks: bool,
}

impl Wire {
    /// Returns the rate at which the queue of a link of `rate` is emptied: that of the shaper, if there is one.
    pub(crate) fn queue_rate(&self, rate: Rate) -> Rate {
        self.shaper.as_ref().map_or(rate, |shaper| shaper.rate)
    }
}

/// A value that changes at given times: the first at time zero, then in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T> {
    steps: Vec<(Duration, T)>,
    every: Option<Duration>,
}

impl<T: Copy> Steps<T> {
    /// Creates steps that meet the conditions of the type; the caller has checked them.
    pub(crate) const fn new(steps: Vec<(Duration, T)>, every: Option<Duration>) -> Self {
        Self { steps, every }
    }

    /// Each value, with the time from which it holds.
    #[must_use]
    pub fn steps(&self) -> &[(Duration, T)] {
        &self.steps
    }

    /// The period after which the steps repeat; `None`: the last value stays.
    #[must_use]
    pub const fn every(&self) -> Option<Duration> {
        self.every
    }

    /// Returns the value at `time` after the start.
    #[must_use]
    pub fn at(&self, time: Duration) -> T {
        let within = match self.every {
            Some(every) => Duration::from_nanos(time.as_nanos() % every.as_nanos().max(1)),
            None => time,
        };
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        self.steps[next.saturating_sub(1)].1
    }
}

/// A rate that changes at given times: the first at time zero, then in order; at least one rate is above zero, and so
/// is the last one unless all is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps {
    steps: Vec<(Duration, Rate)>,
    every: Option<Duration>,
    opportunities: Vec<Opportunity>,
}

/// A moment at which a link delivers, as in mahimahi's mm-link(1): data that arrived before it, up to this many packets
/// of [`BYTES`](Self::BYTES). The rest of the opportunity is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// The time since the start of the trace, above zero.
    pub at: Duration,
    /// The number of opportunities at this time.
    pub count: u32,
}

impl Opportunity {
    /// The bytes of one opportunity: the largest packet of mahimahi's link.
    pub const BYTES: u32 = 1504;
}

impl RateSteps {
    /// Creates steps that meet the conditions of the type; the caller has checked them.
    pub(crate) const fn new(steps: Vec<(Duration, Rate)>, every: Option<Duration>) -> Self {
        Self { steps, every, opportunities: Vec::new() }
    }

    /// Adds the opportunities of which these are the rates, in the order of time; the last one is at the end of the
    /// period.
    pub(crate) fn with_opportunities(self, opportunities: Vec<Opportunity>) -> Self {
        Self { opportunities, ..self }
    }

    /// Returns the opportunities to deliver, in the order of time; none if packets are sent at the rates. With
    /// opportunities the rates are those of the milliseconds before them.
    #[must_use]
    pub fn opportunities(&self) -> &[Opportunity] {
        &self.opportunities
    }

    /// Each rate, with the time from which it holds.
    #[must_use]
    pub fn steps(&self) -> &[(Duration, Rate)] {
        &self.steps
    }

    /// The period after which the steps repeat; `None`: the last rate stays.
    #[must_use]
    pub const fn every(&self) -> Option<Duration> {
        self.every
    }

    /// Returns the rate at `time` after the start.
    #[must_use]
    pub fn at(&self, time: Duration) -> Rate {
        let within = match self.every {
            Some(every) => Duration::from_nanos(time.as_nanos() % every.as_nanos().max(1)),
            None => time,
        };
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        next.checked_sub(1).map_or(Rate::default(), |step| self.steps[step].1)
    }

    /// Returns the mean rate in bit/s between two times after the start; that at `from` if they are the same.
    pub(crate) fn mean(&self, from: Duration, to: Duration) -> f64 {
        if to <= from {
            return self.at(from).bits_per_second() as f64;
        }
        (self.bits(to) - self.bits(from)) / (to.as_secs() - from.as_secs())
    }

    /// The bits that a link can carry until `time` after the start.
    fn bits(&self, time: Duration) -> f64 {
        let until = |time: Duration| {
            let ends = self.steps.iter().skip(1).map(|(at, _)| *at).chain([time]);
            let before = self.steps.iter().zip(ends).take_while(|((at, _), _)| *at < time);
            before
                .map(|((at, rate), end)| (end.min(time).as_secs() - at.as_secs()) * rate.bits_per_second() as f64)
                .sum::<f64>()
        };
        match self.every {
            None => until(time),
            Some(every) => {
                let (rounds, rest) =
                    (time.as_nanos() / every.as_nanos().max(1), time.as_nanos() % every.as_nanos().max(1));
                rounds as f64 * until(every) + until(Duration::from_nanos(rest))
            }
        }
    }

    /// The one rate that represents all: the mean if the steps repeat, else the highest; at least 1 bit/s.
    #[must_use]
    pub fn nominal(&self) -> Rate {
        let rates = self.steps.iter().map(|(_, rate)| rate.bits_per_second());
        let nominal = match self.every {
            None => rates.max().unwrap_or(0),
            Some(every) => {
                let ends = self.steps.iter().skip(1).map(|(at, _)| *at).chain([every]);
                let lasting = self.steps.iter().zip(ends).map(|((at, _), end)| end.as_nanos() - at.as_nanos());
                let work: u128 = rates.zip(lasting).map(|(rate, nanos)| u128::from(rate) * u128::from(nanos)).sum();
                (work / u128::from(every.as_nanos().max(1))) as u64
            }
        };
        Rate::from_bits_per_second(nominal.max(1))
    }
}
