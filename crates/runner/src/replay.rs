//! Captured packets through a queue.

use std::fs;
use std::path::Path;

use fairlane_capture::{Capture, FlowName, Flows, FlowsBy, Late, Network, Packet};
use fairlane_outcome::Outcome;
use fairlane_qdisc::{Kind, ParameterError, QdiscParameters, Rate, Seed, Time, Value};
use fairlane_sim::{Control, Replay, ReplayFlow};

use crate::Error;
pub use crate::captured::{Captured, Frame};
use crate::machine::CostMeter;

/// The number of packets between two checks of the control.
const LOOK_EVERY: u64 = 1 << 12;

/// The packets of a capture that are sent, and their flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// The packets that count as one flow.
    pub flows: FlowsBy,
    /// The network where the packets come from; `None`: all packets are sent.
    pub from: Option<Network>,
}

impl Selection {
    fn has(&self, packet: &Packet<'_>) -> bool {
        let from = |network: Network| {
            let hosts = packet.headers.by(self.flows, packet.data).hosts();
            hosts.is_some_and(|(source, _)| network.contains(source))
        };
        self.from.is_none_or(from)
    }
}

impl From<FlowsBy> for Selection {
    fn from(flows: FlowsBy) -> Self {
        Self { flows, from: None }
    }
}

/// Properties of a capture that decide how its replay is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Findings {
    /// The packets that were out of order.
    pub late: Late,
    /// The network where one direction of the TCP connections begins, if both directions were sent.
    pub first_direction: Option<Network>,
}

/// Receives the packets that leave the link; `()` ignores them.
pub trait Departures {
    /// The error that it can return.
    type Error: From<Error>;

    /// Returns true if packets are to keep their bytes.
    fn keeps(&self) -> bool {
        false
    }

    /// Called before a packet arrives.
    ///
    /// # Errors
    /// The replay is to end.
    fn expect(&mut self, packet: &Packet<'_>) -> Result<(), Self::Error>;

    /// Called when the link begins to send a packet.
    fn departed(&mut self, at: Time, packet: &Captured);
}

impl Departures for () {
    type Error = Error;
    fn expect(&mut self, _packet: &Packet<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn departed(&mut self, _at: Time, _packet: &Captured) {}
}

/// Checks that `file` is a capture that can be read several times.
///
/// # Errors
/// The file is not on disk, or no capture.
pub fn check(file: &Path) -> Result<(), Error> {
    // The capture is read once for each discipline, so it cannot be a pipe.
    if fs::metadata(file).is_ok_and(|file| !file.is_file()) {
        let message = format!("{} is not a file on disk", file.display());
        return Err(Error::new(message, "store the capture in a file first"));
    }
    Capture::open(file).map(drop).map_err(Error::plain)
}

/// Returns the disciplines `kinds`, each with those of `parameters` that it has.
///
/// # Errors
/// A parameter that none of them has, or a value that one of them cannot take.
pub fn configs(kinds: &[Kind], parameters: &[(&str, Value)]) -> Result<Vec<QdiscParameters>, Error> {
    let has = |kind: Kind, key: &str| kind.parameters().iter().any(|parameter| parameter.key == key);
    let known = |key: &str| kinds.iter().any(|kind| has(*kind, key));
    let config = |kind: &Kind| {
        let own = parameters.iter().filter(|(key, _)| has(*kind, key) || !known(key));
        let mut config = QdiscParameters::new(*kind);
        let set = own.into_iter().try_for_each(|(key, value)| config.set(key, value.clone()));
        set.map(|()| config).map_err(|error: ParameterError| Error::plain(format!("{kind} {error}")))
    };
    kinds.iter().map(config).collect()
}

/// Makes an empty queue of `config` before a link of `rate`.
///
/// # Errors
/// The parameters contradict each other.
pub fn build(queue: &QdiscParameters, rate: Rate, seed: u64) -> Result<Replay<Captured>, Error> {
    Replay::new(queue, rate, Seed::new(seed))
        .map_err(|error| Error::plain(format!("--queue {}: {error}", queue.kind())))
}

/// Sends the packets of `file` that `selection` has through one discipline. Returns the outcome, unless `control`
/// has stopped the work before its begin, and what is to be known of the capture.
///
/// # Errors
/// The file cannot be read, the queue cannot be built, or `departures` ends it.
pub fn pass<D: Departures>(
    file: &Path,
    (queue, rate, seed): (&QdiscParameters, Rate, u64),
    selection: impl Into<Selection>,
    control: &Control,
    departures: &mut D,
) -> Result<(Option<Outcome>, Findings), D::Error> {
    let make = || build(queue, rate, seed).map_err(D::Error::from);
    pass_through(file, (make, seed), selection, control, departures)
}

/// Sends the packets of `file` through the queue that `make` returns, as [`pass`] does.
///
/// # Errors
/// The file cannot be read, or `make` or `departures` end it.
pub fn pass_through<D: Departures>(
    file: &Path,
    (make, seed): (impl FnOnce() -> Result<Replay<Captured>, D::Error>, u64),
    selection: impl Into<Selection>,
    control: &Control,
    departures: &mut D,
) -> Result<(Option<Outcome>, Findings), D::Error> {
    if control.stopped() {
        return Ok((None, Findings::default()));
    }
    let (meter, selection) = (CostMeter::start(), selection.into());
    let mut replay = make()?;
    let mut capture = Capture::open(file).map_err(Error::plain)?;
    let (mut flows, mut partial) = (Flows::by(selection.flows), false);
    while let Some(packet) = capture.next_packet().map_err(Error::plain)? {
        if packet.number.is_multiple_of(LOOK_EVERY) && control.stopped() {
            partial = true;
            break;
        }
        if !selection.has(&packet) {
            continue;
        }
        departures.expect(&packet)?;
        let captured = Captured::new(&packet, &mut flows, departures.keeps());
        replay.arrive(packet.time, captured.flow, captured, &mut |at, packet| departures.departed(at, &packet));
    }
    if let Some(network) = selection.from.filter(|_| !partial && flows.all().is_empty()) {
        return Err(Error::plain(format!("{}: there is no packet from {network}", file.display())).into());
    }
    partial = partial || replay.drain(control, &mut |at, packet| departures.departed(at, &packet));
    let mut run = replay.run(&name(file), seed, &names(&flows), partial);
    meter.measure(&mut run.cost);
    let findings = Findings { late: capture.late(), first_direction: flows.first_direction() };
    Ok((Outcome::from_runs([run]), findings))
}

/// Returns the name of the replay in outcomes: the file's name.
fn name(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn names(flows: &Flows) -> Vec<ReplayFlow> {
    let named = |flow: &FlowName| ReplayFlow {
        name: flow.to_string(),
        group: flow.protocol_name().to_owned(),
        kind: flow.protocol_name(),
    };
    flows.all().iter().map(named).collect()
}
