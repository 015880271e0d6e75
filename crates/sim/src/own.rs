//! Which discipline stands at a link: the scenario's, or one that the caller brings.

use fairlane_qdisc::{AnyQdisc, Counters, Fate, Host, ParameterError, Qdisc, Time};
use fairlane_scenario::QdiscConfig;

use crate::Packet;

/// Where a run takes its disciplines from.
pub(crate) trait Disciplines {
    /// The type of all of them.
    type Discipline: Qdisc<Packet>;

    /// The caller's discipline, with its name in outcomes, for the link that `link` names; mostly there is none.
    fn own(
        &mut self,
        link: impl FnOnce() -> String,
        host: impl FnOnce(&str) -> Host,
    ) -> Option<(&'static str, Self::Discipline)>;

    /// The discipline that the scenario asks for.
    fn scenarios(&self, config: &QdiscConfig, host: &Host) -> Result<Self::Discipline, ParameterError>;
}

/// All disciplines are the scenario's.
pub(crate) struct FromScenario;

impl Disciplines for FromScenario {
    type Discipline = AnyQdisc<Packet>;

    fn own(
        &mut self,
        _link: impl FnOnce() -> String,
        _host: impl FnOnce(&str) -> Host,
    ) -> Option<(&'static str, Self::Discipline)> {
        None
    }

    fn scenarios(&self, config: &QdiscConfig, host: &Host) -> Result<Self::Discipline, ParameterError> {
        config.build(host)
    }
}

/// The caller is asked for each link first.
pub(crate) struct Own<F>(pub(crate) F);

impl<D: Qdisc<Packet>, F: FnMut(&str, &Host) -> Option<(&'static str, D)>> Disciplines for Own<F> {
    type Discipline = Either<D>;

    fn own(
        &mut self,
        link: impl FnOnce() -> String,
        host: impl FnOnce(&str) -> Host,
    ) -> Option<(&'static str, Self::Discipline)> {
        let link = link();
        self.0(&link, &host(&link)).map(|(name, discipline)| (name, Either::Own(discipline)))
    }

    fn scenarios(&self, config: &QdiscConfig, host: &Host) -> Result<Self::Discipline, ParameterError> {
        config.build(host).map(Either::Scenarios)
    }
}

/// A discipline of either.
#[allow(clippy::large_enum_variant, reason = "there is one a link, in the box of what the link manages")]
pub(crate) enum Either<D> {
    Own(D),
    Scenarios(AnyQdisc<Packet>),
}

impl<D: Qdisc<Packet>> Qdisc<Packet> for Either<D> {
    fn enqueue(&mut self, now: Time, packet: Packet, fate: &mut impl Fate<Packet>) {
        match self {
            Self::Own(queue) => queue.enqueue(now, packet, fate),
            Self::Scenarios(queue) => queue.enqueue(now, packet, fate),
        }
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<Packet>) -> Option<Packet> {
        match self {
            Self::Own(queue) => queue.dequeue(now, fate),
            Self::Scenarios(queue) => queue.dequeue(now, fate),
        }
    }
    fn packets(&self) -> usize {
        match self {
            Self::Own(queue) => queue.packets(),
            Self::Scenarios(queue) => queue.packets(),
        }
    }
    fn bytes(&self) -> u64 {
        match self {
            Self::Own(queue) => queue.bytes(),
            Self::Scenarios(queue) => queue.bytes(),
        }
    }
    fn counters(&self) -> &Counters {
        match self {
            Self::Own(queue) => queue.counters(),
            Self::Scenarios(queue) => queue.counters(),
        }
    }
    fn average(&self) -> Option<f64> {
        match self {
            Self::Own(queue) => queue.average(),
            Self::Scenarios(queue) => queue.average(),
        }
    }
    fn probability(&self) -> Option<f64> {
        match self {
            Self::Own(queue) => queue.probability(),
            Self::Scenarios(queue) => queue.probability(),
        }
    }
    fn ready_at(&self) -> Option<Time> {
        match self {
            Self::Own(queue) => queue.ready_at(),
            Self::Scenarios(queue) => queue.ready_at(),
        }
    }
}
