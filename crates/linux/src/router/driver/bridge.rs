//! The driver of a bridge. Frames of one direction wait in our memory; those of the other are forwarded at once, or by
//! another driver.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_qdisc::Duration;
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;

use super::Driver;
use crate::bridge::{BridgeError, FrameStore, GsoFrame, IncomingFrame, Interface, LONGEST, Port, PortUse, VIRTIO};
use crate::nfqueue::{Decision, Verdict};
use crate::packet::classifier::Classifier;
use crate::packet::exempt::Exempt;
use crate::router::config::{BridgeConfig, BridgeDirections};
use crate::router::report::{BridgeCounts, DirectionCounts, Report};
use crate::shaper::queued_packet::QueuedPacket;

/// The number of frames of the link read from one ring before the other has its turn. A GSO frame counts as its
/// segments.
const BATCH: usize = 64;

/// The most batches that wait in a ring.
const MOST_BATCHES: usize = 4096 / BATCH + 1;

/// The interval between attempts to send on an interface that did not accept frames.
const RETRY: Duration = Duration::from_millis(1);

/// The interval at which an interface that is down is looked for, since it may have been removed.
const LOOK: Duration = Duration::from_millis(500);

/// The number of attempts when a port is left.
const LAST_TRIES: usize = 100;

/// The two interfaces of a bridge, opened.
pub(crate) struct BridgeDriver {
    /// Receives the frames for the discipline.
    from: Port,
    /// Sends them.
    to: Port,
    /// The length of the longest frame that `from` sends, without the tag that the kernel removes.
    longest_from: usize,
    /// Forwards the frames of the other direction too.
    both: bool,
    waiting: FrameStore,
    /// The addresses of frames that are forwarded at once although their direction is queued.
    exempt: Exempt,
    /// A buffer for a GSO frame that is forwarded at once.
    buffer: Vec<u8>,
    /// `true` if the frames for the discipline come in from the far side.
    arriving: bool,
    /// The counts of the other direction.
    reverse: DirectionCounts,
}

impl BridgeDriver {
    /// Opens both interfaces. From now on the frames that we forward wait for us.
    pub(crate) fn open(config: &BridgeConfig) -> Result<Self, BridgeError> {
        let (from, to, uses) = roles(config)?;
        let (longest_from, longest_to) = (from.longest(), to.longest());
        let longest = longest_from.max(longest_to);
        Ok(Self {
            from: Port::open(from, longest, uses[0])?,
            to: Port::open(to, longest, uses[1])?,
            longest_from,
            both: config.directions == BridgeDirections::Both,
            waiting: FrameStore::new(longest_to, config.gso),
            exempt: config.exempt.clone(),
            arriving: config.directions == BridgeDirections::In,
            buffer: vec![0; VIRTIO + LONGEST],
            reverse: DirectionCounts::default(),
        })
    }

    /// Reads frames and passes them to the discipline.
    fn receive_queued(&mut self, classifier: &Classifier, mut arrive: impl FnMut(QueuedPacket)) -> io::Result<bool> {
        let Self { from, to, waiting, exempt, arriving, buffer, .. } = self;
        let mut taken = 0;
        while taken < BATCH {
            let frames = from.receive(|frame| -> io::Result<usize> {
                if !is_exempt(frame, exempt, *arriving) {
                    return Ok(waiting.take(frame, classifier, &mut arrive));
                }
                let passed = pass(frame, waiting.longest, to, buffer, &mut waiting.counts)?;
                waiting.counts.exempt += u64::from(passed.is_some());
                Ok(passed.unwrap_or(1))
            });
            match frames.transpose()? {
                Some(frames) => taken += frames,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Forwards frames of the other direction.
    fn forward_reverse(&mut self) -> io::Result<bool> {
        let Self { from, to, longest_from, reverse, buffer, .. } = self;
        let mut passed = 0;
        while passed < BATCH {
            let taken = to.receive(|frame| pass(frame, *longest_from, from, buffer, reverse));
            let Some(segments) = taken.transpose()? else { break };
            passed += segments.unwrap_or(1);
        }
        from.flush()?;
        Ok(passed >= BATCH)
    }

    /// Lets the kernel send the frames that it has not accepted yet, and gives up after a while.
    fn flush(&mut self) -> io::Result<()> {
        for _ in 0..LAST_TRIES {
            self.to.flush()?;
            self.from.flush()?;
            if self.retry().is_none() {
                break;
            }
            // Waits for the time alone. An interrupted wait is shorter, which is harmless.
            let _ = ppoll(&mut [], Some(TimeSpec::new(0, RETRY.as_nanos() as i64)), None);
        }
        Ok(())
    }
}

/// Returns `true` if the frame has one of these addresses at the far side.
fn is_exempt(frame: &IncomingFrame<'_>, exempt: &Exempt, arriving: bool) -> bool {
    let hosts = if exempt.is_empty() { None } else { frame.hosts() };
    hosts.is_some_and(|(source, destination)| exempt.contains(if arriving { source } else { destination }))
}

/// Forwards a frame to `to` at once. Returns the number of frames of the link that it is; `None` if it cannot be sent.
fn pass(
    frame: &IncomingFrame<'_>,
    longest: usize,
    to: &mut Port,
    buffer: &mut [u8],
    counts: &mut DirectionCounts,
) -> io::Result<Option<usize>> {
    counts.received += 1;
    let segments = if frame.is_gso() {
        counts.gso_frames += 1;
        GsoFrame::that_fits(frame, longest).map(|joined| joined.segments())
    } else {
        frame.fits(longest).then_some(1)
    };
    if segments.is_none() {
        *(if frame.is_truncated() { &mut counts.no_memory } else { &mut counts.unfit }) += 1;
        return Ok(None);
    }
    let put = if frame.is_gso() {
        let length = frame.write(buffer);
        to.send_gso(&buffer[..length])?
    } else {
        to.put(|slot| frame.write(slot))?
    };
    *(if put { &mut counts.forwarded } else { &mut counts.refused }) += 1;
    Ok(segments)
}

/// Returns the interface that receives the frames for the discipline, the one that sends them, and what each is open
/// for.
fn roles(config: &BridgeConfig) -> Result<(Interface, Interface, [PortUse; 2]), BridgeError> {
    let [inside, outside] = Interface::pair([&config.inside, &config.outside])?;
    Ok(match config.directions {
        BridgeDirections::Both => (inside, outside, [PortUse::Both; 2]),
        BridgeDirections::Out => (inside, outside, [PortUse::Receive, PortUse::Send]),
        BridgeDirections::In => (outside, inside, [PortUse::Receive, PortUse::Send]),
    })
}

/// The interfaces to which a bridge moves; `None` for one that stays.
pub(crate) struct NewPorts {
    from: Option<Port>,
    to: Option<Port>,
    longest_from: usize,
    longest_to: usize,
    exempt: Exempt,
}

impl Driver for BridgeDriver {
    type Buffer = ();
    type Successor = NewPorts;

    fn buffer(&self) {}

    fn receive(&mut self, (): &mut (), classifier: &Classifier, arrive: impl FnMut(QueuedPacket)) -> io::Result<bool> {
        let more = self.receive_queued(classifier, arrive)?;
        Ok(self.both && self.forward_reverse()? || more)
    }

    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        for Verdict { id, decision, .. } in verdicts {
            match decision {
                Decision::Drop => self.waiting.remove(id),
                Decision::Change(change) => {
                    self.waiting.change(id, change);
                    self.waiting.send(id, &mut self.to)?;
                }
                // Frames have no firewall mark, and their bytes are here.
                Decision::Accept | Decision::Mark(_) | Decision::Rewrite(_) => {
                    self.waiting.send(id, &mut self.to)?;
                }
            }
        }
        self.to.flush()
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.from.as_fd(), self.to.as_fd()].into_iter()
    }

    fn retry(&self) -> Option<Duration> {
        let pending = (self.from.is_pending() || self.to.is_pending()).then_some(RETRY);
        pending.or(self.may_be_gone().then_some(LOOK))
    }

    fn may_be_gone(&self) -> bool {
        self.from.is_down() || self.to.is_down()
    }

    fn clear_errors(&mut self) -> io::Result<()> {
        self.from.clear_errors()?;
        self.to.clear_errors()
    }

    fn close(&mut self) -> io::Result<()> {
        self.from.close()
    }

    fn prepare(&self, bridge: &BridgeConfig) -> Result<NewPorts, BridgeError> {
        let (from, to, uses) = roles(bridge)?;
        let (longest_from, longest_to) = (from.longest(), to.longest());
        let longest = longest_from.max(longest_to);
        let from = self.from.successor(from, longest, uses[0])?;
        let to = self.to.successor(to, longest, uses[1])?;
        Ok(NewPorts { from, to, longest_from, longest_to, exempt: bridge.exempt.clone() })
    }

    fn move_to(
        &mut self,
        new: NewPorts,
        classifier: &Classifier,
        mut arrive: impl FnMut(QueuedPacket),
    ) -> io::Result<()> {
        for port in
            [new.from.is_some().then_some(&self.from), new.to.is_some().then_some(&self.to)].into_iter().flatten()
        {
            // One that cannot be closed is left all the same.
            let _ = port.close();
        }
        for _ in 0..MOST_BATCHES {
            if !self.receive(&mut (), classifier, &mut arrive)? {
                break;
            }
        }
        self.flush()?;
        new.from.into_iter().for_each(|from| self.from.replace(from));
        new.to.into_iter().for_each(|to| self.to.replace(to));
        (self.longest_from, self.waiting.longest) = (new.longest_from, new.longest_to);
        self.exempt = new.exempt;
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        for number in self.waiting.waiting() {
            self.waiting.send(number, &mut self.to)?;
        }
        self.flush()
    }

    fn fill_report(&mut self, report: &mut Report) {
        let dropped = |way: DirectionCounts, port: &mut Port| DirectionCounts { kernel_dropped: port.dropped(), ..way };
        let (forward, reverse) = (self.waiting.counts, self.reverse);
        report.bridge = Some(BridgeCounts {
            forward: dropped(forward, &mut self.from),
            reverse: if self.both { dropped(reverse, &mut self.to) } else { reverse },
        });
    }
}
