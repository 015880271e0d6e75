//! Captured packets through a queue.

use std::fs;
use std::path::Path;

use fairlane_capture::{Capture, FlowId, Flows, Late, Packet};
use fairlane_outcome::Outcome;
use fairlane_qdisc::{Kind, ParameterError, QdiscConfig, Rate, Seed, Time, Value};
use fairlane_sim::{Control, Replay, ReplayFlow};

use crate::Error;
pub use crate::captured::{Captured, Frame};
use crate::machine::{Watch, peak_rss_bytes, thread_cpu_s};

/// How many packets pass between two looks at whether to go on.
const LOOK_EVERY: u64 = 1 << 12;

/// Sees what leaves the link; `()` looks away.
pub trait Departures {
    /// What can go wrong with it.
    type Error: From<Error>;

    /// Whether packets are to keep their bytes.
    fn keeps(&self) -> bool {
        false
    }

    /// A packet is about to come.
    ///
    /// # Errors
    /// The replay is to end.
    fn expect(&mut self, packet: &Packet<'_>) -> Result<(), Self::Error>;

    /// The link has begun to send a packet.
    fn departed(&mut self, at: Time, packet: &Captured);
}

impl Departures for () {
    type Error = Error;
    fn expect(&mut self, _packet: &Packet<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn departed(&mut self, _at: Time, _packet: &Captured) {}
}

/// Makes sure that `file` can be read again and again, and is a capture.
///
/// # Errors
/// It cannot, or is none.
pub fn check(file: &Path) -> Result<(), Error> {
    // It is read once for each discipline, so it must be a file that can be.
    if fs::metadata(file).is_ok_and(|file| !file.is_file()) {
        let message = format!("{} is no file on disk", file.display());
        return Err(Error::new(message, "store the capture in a file first"));
    }
    Capture::open(file).map(drop).map_err(Error::plain)
}

/// The disciplines `kinds` with those of the parameters that they have.
///
/// # Errors
/// A parameter that none of them has, or a value that one of them cannot take.
pub fn configs(kinds: &[Kind], parameters: &[(&str, Value)]) -> Result<Vec<QdiscConfig>, Error> {
    let has = |kind: Kind, key: &str| kind.parameters().iter().any(|parameter| parameter.key == key);
    let known = |key: &str| kinds.iter().any(|kind| has(*kind, key));
    let config = |kind: &Kind| {
        let own = parameters.iter().filter(|(key, _)| has(*kind, key) || !known(key));
        let mut config = QdiscConfig::new(*kind);
        let set = own.into_iter().try_for_each(|(key, value)| config.set(key, value.clone()));
        set.map(|()| config).map_err(|error: ParameterError| Error::plain(format!("{kind} {error}")))
    };
    kinds.iter().map(config).collect()
}

/// A queue of `config` before a link of `rate`, to which nothing has come.
///
/// # Errors
/// The parameters contradict each other.
pub fn build(queue: &QdiscConfig, rate: Rate, seed: u64) -> Result<Replay<Captured>, Error> {
    Replay::new(queue, rate, Seed::new(seed))
        .map_err(|error| Error::plain(format!("--queue {}: {error}", queue.kind())))
}

/// Sends all of `file` through one discipline, and tells how many packets were out of order; nothing is measured once `control`
/// has said stop.
///
/// # Errors
/// The file cannot be read, the queue cannot be built, or `departures` ends it.
pub fn pass<D: Departures>(
    file: &Path,
    (queue, rate, seed): (&QdiscConfig, Rate, u64),
    control: &Control,
    departures: &mut D,
) -> Result<(Option<Outcome>, Late), D::Error> {
    if control.stopped() {
        return Ok((None, Late::default()));
    }
    let (watch, cpu_before) = (Watch::start(), thread_cpu_s());
    let mut replay = build(queue, rate, seed)?;
    let mut capture = Capture::open(file).map_err(Error::plain)?;
    let (mut flows, mut partial) = (Flows::new(), false);
    while let Some(packet) = capture.next_packet().map_err(Error::plain)? {
        if packet.number.is_multiple_of(LOOK_EVERY) && control.stopped() {
            partial = true;
            break;
        }
        departures.expect(&packet)?;
        let captured = Captured::new(&packet, &mut flows, departures.keeps());
        replay.arrive(packet.time, captured.flow, captured, &mut |at, packet| departures.departed(at, &packet));
    }
    partial = partial || replay.drain(control, &mut |at, packet| departures.departed(at, &packet));
    let mut run = replay.run(&name(file), seed, &names(&flows), partial);
    run.cost.cpu_s = thread_cpu_s() - cpu_before;
    run.cost.wall_s = watch.elapsed_s();
    run.cost.peak_rss_bytes = peak_rss_bytes();
    Ok((Outcome::from_runs(&[run]), capture.late()))
}

/// What outcomes call the replay: the file's name.
fn name(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn names(flows: &Flows) -> Vec<ReplayFlow> {
    let named = |flow: &FlowId| ReplayFlow {
        name: flow.to_string(),
        group: flow.protocol_name().to_owned(),
        kind: flow.protocol_name(),
    };
    flows.all().iter().map(named).collect()
}
