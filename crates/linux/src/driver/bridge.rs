//! Frames between two interfaces: what goes one way waits in our memory, what comes back passes at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_capture::{Headers, LinkType, mark_ce};
use fairlane_qdisc::Duration;
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;

use super::{Driver, Reading};
use crate::bridge::{BridgeError, Incoming, Interface, Joined, LONGEST, Port, Slab, VIRTIO, is_joined};
use crate::nfqueue::{Decision, Verdict};
use crate::packet::Held;
use crate::report::{BridgeCounts, Report, WayCounts};
use crate::router::BridgeConfig;

/// How many frames are taken from a ring before the other has its turn.
const BATCH: usize = 64;

/// After how long an interface is tried again that did not take what we gave it.
const RETRY: Duration = Duration::from_millis(1);

/// How often it is tried at the end.
const LAST_TRIES: usize = 100;

/// Two interfaces that are open.
pub(crate) struct BridgeDriver {
    inside: Port,
    outside: Port,
    /// The longest frames that they send.
    longest_inside: usize,
    longest_outside: usize,
    waiting: Slab,
    /// Joined frames are not cut on their way to the discipline.
    gso: bool,
    /// Room for one that passes at once.
    buffer: Vec<u8>,
    counts: BridgeCounts,
}

impl BridgeDriver {
    /// Opens both interfaces: from now on their frames wait for us.
    pub(crate) fn open(config: &BridgeConfig) -> Result<Self, BridgeError> {
        let [inside, outside] = Interface::pair([&config.inside, &config.outside])?;
        let (longest_inside, longest_outside) = (inside.longest(), outside.longest());
        let longest = longest_inside.max(longest_outside);
        Ok(Self {
            inside: Port::open(inside, longest)?,
            outside: Port::open(outside, longest)?,
            longest_inside,
            longest_outside,
            waiting: Slab::new(VIRTIO + longest_outside, VIRTIO + LONGEST),
            gso: config.gso,
            buffer: vec![0; VIRTIO + LONGEST],
            counts: BridgeCounts::default(),
        })
    }

    /// Takes in what is for the discipline.
    fn take_in(&mut self, reading: &Reading, mut arrive: impl FnMut(Held)) -> bool {
        let Self { inside, waiting, longest_outside, gso, counts: BridgeCounts { forth, .. }, .. } = self;
        let mut entrance = Entrance { waiting, longest: *longest_outside, gso: *gso, counts: forth };
        let mut taken = 0;
        while taken < BATCH {
            match inside.receive(|frame| entrance.take(frame, reading, &mut arrive)) {
                Some(frames) => taken += frames,
                None => return false,
            }
        }
        true
    }

    /// Lets through what comes the other way.
    fn pass_back(&mut self) -> io::Result<bool> {
        let Self { inside, outside, longest_inside, counts: BridgeCounts { back, .. }, buffer, .. } = self;
        let mut passed = 0;
        while passed < BATCH {
            let taken = outside.receive(|frame| -> io::Result<()> {
                let fits = if frame.is_joined() {
                    back.joined += 1;
                    joined(frame, *longest_inside).is_some()
                } else {
                    frame.fits(*longest_inside)
                };
                if !fits {
                    *(if frame.is_cut_off() { &mut back.no_memory } else { &mut back.unfit }) += 1;
                    return Ok(());
                }
                let put = if frame.is_joined() {
                    let length = frame.write(buffer);
                    inside.send_joined(&buffer[..length])?
                } else {
                    inside.put(|slot| frame.write(slot))?
                };
                *(if put { &mut back.forwarded } else { &mut back.refused }) += 1;
                Ok(())
            });
            let Some(result) = taken else { break };
            result?;
            passed += 1;
        }
        back.received += passed as u64;
        inside.flush()?;
        Ok(passed == BATCH)
    }

    /// Sends the frame `number`, marked or as it came.
    fn send(&mut self, number: u32, marked: bool) -> io::Result<()> {
        let stored = self.waiting.get(number);
        if marked && let Some(frame) = stored.get_mut(VIRTIO..) {
            let headers = Headers::read(LinkType::Ethernet, frame, frame.len() as u32);
            headers.ip_at.into_iter().for_each(|at| mark_ce(frame, at));
        }
        let put = if is_joined(stored) {
            self.outside.send_joined(stored)?
        } else {
            self.outside.put(|slot| {
                slot[..stored.len()].copy_from_slice(stored);
                stored.len()
            })?
        };
        let forth = &mut self.counts.forth;
        *(if put { &mut forth.forwarded } else { &mut forth.refused }) += 1;
        self.waiting.remove(number);
        Ok(())
    }
}

/// Where frames come in that are for the discipline.
struct Entrance<'d> {
    waiting: &'d mut Slab,
    /// The longest frame of the link.
    longest: usize,
    /// Joined frames are not cut.
    gso: bool,
    counts: &'d mut WayCounts,
}

impl Entrance<'_> {
    /// Takes a frame in; how many it is for the discipline.
    fn take(&mut self, frame: &Incoming<'_>, reading: &Reading, arrive: &mut impl FnMut(Held)) -> usize {
        if !frame.is_joined() {
            let fits = frame.fits(self.longest);
            let number = fits.then(|| self.waiting.put(frame.length(), |place| frame.write(place)));
            match number {
                Some(number) => self.came(number, reading, &mut *arrive),
                None => self.cannot(frame),
            }
            return 1;
        }
        self.counts.joined += 1;
        match joined(frame, self.longest) {
            None => self.cannot(frame),
            Some(joined) if self.gso => {
                let number = self.waiting.put(frame.length(), |place| frame.write(place));
                let taken = joined.wire_bytes(reading.layer);
                self.came(number, reading, |held| arrive(held.taking(taken)));
            }
            Some(joined) => {
                for segment in 0..joined.segments() {
                    let number = self.waiting.put(VIRTIO + joined.longest(), |place| joined.write(segment, place));
                    self.came(number, reading, &mut *arrive);
                }
                return joined.segments();
            }
        }
        1
    }

    /// Tells `arrive` of what waits by `number`; without one it found no room.
    fn came(&mut self, number: Option<u32>, reading: &Reading, arrive: impl FnOnce(Held)) {
        self.counts.received += 1;
        match number {
            Some(number) => arrive(Held::of_frame(number, &self.waiting.get(number)[VIRTIO..], reading)),
            None => self.counts.no_memory += 1,
        }
    }

    /// It cannot be sent.
    fn cannot(&mut self, frame: &Incoming<'_>) {
        self.counts.received += 1;
        *(if frame.is_cut_off() { &mut self.counts.no_memory } else { &mut self.counts.unfit }) += 1;
    }
}

/// The segments of a joined frame, if an interface can send them whose frames have `longest` bytes at most.
fn joined<'f>(frame: &Incoming<'f>, longest: usize) -> Option<Joined<'f>> {
    Some(frame).filter(|frame| frame.is_whole()).and_then(Joined::read).filter(|joined| joined.longest() <= longest)
}

impl Driver for BridgeDriver {
    type Batch = ();

    fn batch(&self) {}

    fn receive(&mut self, (): &mut (), reading: &Reading, arrive: impl FnMut(Held)) -> io::Result<bool> {
        let more = self.take_in(reading, arrive);
        Ok(self.pass_back()? || more)
    }

    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        for Verdict { id, decision } in verdicts {
            match decision {
                Decision::Drop => self.waiting.remove(id),
                Decision::Mark(_) => self.send(id, true)?,
                Decision::Accept | Decision::Rewrite(_) => self.send(id, false)?,
            }
        }
        self.outside.flush()
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.inside.as_fd(), self.outside.as_fd()].into_iter()
    }

    fn retry(&self) -> Option<Duration> {
        (self.inside.is_pending() || self.outside.is_pending()).then_some(RETRY)
    }

    fn mend(&mut self) -> io::Result<()> {
        self.inside.mend()?;
        self.outside.mend()
    }

    fn close(&mut self) -> io::Result<()> {
        self.inside.close()
    }

    fn release(&mut self) -> io::Result<()> {
        for number in self.waiting.waiting() {
            self.send(number, false)?;
        }
        for _ in 0..LAST_TRIES {
            self.outside.flush()?;
            self.inside.flush()?;
            if self.retry().is_none() {
                break;
            }
            // A wait for nothing but the time; one that is interrupted is a short one.
            let _ = ppoll(&mut [], Some(TimeSpec::new(0, RETRY.as_nanos() as i64)), None);
        }
        Ok(())
    }

    fn tell(&mut self, report: &mut Report) {
        let dropped = |way: WayCounts, port: &mut Port| WayCounts { kernel_dropped: port.dropped(), ..way };
        let BridgeCounts { forth, back } = self.counts;
        report.bridge =
            Some(BridgeCounts { forth: dropped(forth, &mut self.inside), back: dropped(back, &mut self.outside) });
    }
}
