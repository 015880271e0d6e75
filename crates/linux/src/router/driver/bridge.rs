//! The driver of a bridge. Frames of one direction wait in our memory; those of the other are forwarded at once, or by
//! another driver.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_qdisc::Duration;
use fairlane_qdisc::headers::{Headers, LinkType};
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;

use super::Driver;
use crate::bridge::{
    BridgeError, GsoFrame, IncomingFrame, Interface, LONGEST, Port, PortUse, Slab, TAG, VIRTIO, is_gso, is_sendable,
};
use crate::nfqueue::{ClassChange, Decision, Verdict};
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
    /// The lengths of the longest frames that they send, without the tag that the kernel removes.
    longest_from: usize,
    longest_to: usize,
    /// Forwards the frames of the other direction too.
    both: bool,
    waiting: Slab,
    /// Queues GSO frames whole.
    gso: bool,
    /// The addresses of frames that are forwarded at once although their direction is queued.
    exempt: Exempt,
    /// A buffer for a GSO frame that is forwarded at once.
    buffer: Vec<u8>,
    /// `true` if the frames for the discipline come in from the far side.
    arriving: bool,
    counts: BridgeCounts,
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
            longest_to,
            both: config.directions == BridgeDirections::Both,
            waiting: Slab::new(VIRTIO + longest_to + TAG, VIRTIO + LONGEST),
            gso: config.gso,
            exempt: config.exempt.clone(),
            arriving: config.directions == BridgeDirections::In,
            buffer: vec![0; VIRTIO + LONGEST],
            counts: BridgeCounts::default(),
        })
    }

    /// Reads frames and passes them to the discipline.
    fn receive_queued(&mut self, classifier: &Classifier, mut arrive: impl FnMut(QueuedPacket)) -> io::Result<bool> {
        let Self { from, to, waiting, longest_to, gso, exempt, arriving, buffer, counts, .. } = self;
        let mut intake = FrameIntake { waiting, longest: *longest_to, gso: *gso, counts: &mut counts.forward };
        let mut taken = 0;
        while taken < BATCH {
            let frames = from.receive(|frame| -> io::Result<usize> {
                if !is_exempt(frame, exempt, *arriving) {
                    return Ok(intake.take(frame, classifier, &mut arrive));
                }
                let passed = pass(frame, intake.longest, to, buffer, intake.counts)?;
                intake.counts.exempt += u64::from(passed.is_some());
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
        let Self { from, to, longest_from, counts: BridgeCounts { reverse, .. }, buffer, .. } = self;
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

    /// Sends the frame `number` with `change`.
    fn send(&mut self, number: u32, change: ClassChange) -> io::Result<()> {
        let stored = self.waiting.get(number);
        if change != ClassChange::default()
            && let Some(frame) = stored.get_mut(VIRTIO..)
        {
            let headers = Headers::read(LinkType::Ethernet, frame, frame.len() as u32);
            headers.ip_at.into_iter().for_each(|at| change.apply(frame, at));
        }
        let put = if is_gso(stored) {
            self.to.send_gso(stored)?
        } else if !is_sendable(stored, self.longest_to) {
            // The bridge has moved to an interface with a smaller MTU.
            false
        } else {
            self.to.put(|slot| {
                slot[..stored.len()].copy_from_slice(stored);
                stored.len()
            })?
        };
        let forward = &mut self.counts.forward;
        *(if put { &mut forward.forwarded } else { &mut forward.refused }) += 1;
        self.waiting.remove(number);
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

/// Stores frames for the discipline.
struct FrameIntake<'d> {
    waiting: &'d mut Slab,
    /// The length of the longest frame that can be sent, without the tag that the kernel removes.
    longest: usize,
    /// Stores GSO frames whole.
    gso: bool,
    counts: &'d mut DirectionCounts,
}

impl FrameIntake<'_> {
    /// Stores a frame and returns the number of packets that it is for the discipline.
    fn take(
        &mut self,
        frame: &IncomingFrame<'_>,
        classifier: &Classifier,
        arrive: &mut impl FnMut(QueuedPacket),
    ) -> usize {
        if !frame.is_gso() {
            let fits = frame.fits(self.longest);
            let number = fits.then(|| self.waiting.put(frame.length(), |place| frame.write(place)));
            match number {
                Some(number) => self.offer(number, classifier, &mut *arrive),
                None => self.count_unsendable(frame),
            }
            return 1;
        }
        self.counts.gso_frames += 1;
        match GsoFrame::that_fits(frame, self.longest) {
            None => self.count_unsendable(frame),
            Some(joined) if self.gso => {
                let number = self.waiting.put(frame.length(), |place| frame.write(place));
                let taken = joined.wire_bytes(classifier.layer);
                self.offer(number, classifier, |packet| arrive(packet.with_size(taken)));
            }
            Some(joined) => {
                for segment in 0..joined.segments() {
                    let number = self.waiting.put(VIRTIO + joined.longest(), |place| joined.write(segment, place));
                    self.offer(number, classifier, &mut *arrive);
                }
                return joined.segments();
            }
        }
        1
    }

    /// Passes the frame stored as `number` to `arrive`; `None` means not enough memory for it.
    fn offer(&mut self, number: Option<u32>, classifier: &Classifier, arrive: impl FnOnce(QueuedPacket)) {
        self.counts.received += 1;
        match number {
            Some(number) => arrive(QueuedPacket::from_frame(number, &self.waiting.get(number)[VIRTIO..], classifier)),
            None => self.counts.no_memory += 1,
        }
    }

    /// Counts a frame that cannot be sent.
    fn count_unsendable(&mut self, frame: &IncomingFrame<'_>) {
        self.counts.received += 1;
        *(if frame.is_truncated() { &mut self.counts.no_memory } else { &mut self.counts.unfit }) += 1;
    }
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
                Decision::Change(change) => self.send(id, change)?,
                // Frames have no firewall mark, and their bytes are here.
                Decision::Accept | Decision::Mark(_) | Decision::Rewrite(_) => self.send(id, ClassChange::default())?,
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
        (self.longest_from, self.longest_to) = (new.longest_from, new.longest_to);
        self.exempt = new.exempt;
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        for number in self.waiting.waiting() {
            self.send(number, ClassChange::default())?;
        }
        self.flush()
    }

    fn fill_report(&mut self, report: &mut Report) {
        let dropped = |way: DirectionCounts, port: &mut Port| DirectionCounts { kernel_dropped: port.dropped(), ..way };
        let BridgeCounts { forward, reverse } = self.counts;
        report.bridge = Some(BridgeCounts {
            forward: dropped(forward, &mut self.from),
            reverse: if self.both { dropped(reverse, &mut self.to) } else { reverse },
        });
    }
}
