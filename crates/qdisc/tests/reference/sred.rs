//! A slow reference of SRED, from Ott, Lakshman, Wong, "SRED: Stabilized RED", INFOCOM 1999, sections II to IV.

use fairlane_qdisc::{Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};

/// The configuration, under the paper's names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    pub(crate) p_max: f64,
    pub(crate) m: usize,
    pub(crate) overwrite: f64,
    pub(crate) alpha: f64,
    pub(crate) full: bool,
    pub(crate) ecn: bool,
}

/// SRED with a plain list of packets.
pub(crate) struct Sred {
    s: Settings,
    line: Line,
    z: Vec<u64>,
    p: f64,
    zombie: Stream,
    red: Stream,
}

impl Sred {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            line: Line::new(s.limit),
            z: Vec::new(),
            p: 0.0,
            zombie: seed.stream("zombie"),
            red: seed.stream("red"),
        }
    }
}

impl Slow for Sred {
    fn enqueue(&mut self, _now: Time, packet: SimplePacket) {
        let mut hit = 0.0;
        if self.z.len() < self.s.m {
            self.z.push(packet.flow);
        } else {
            let at = self.zombie.below(self.s.m as u32) as usize;
            if self.z[at] == packet.flow {
                hit = 1.0;
            } else if self.zombie.unit() < self.s.overwrite {
                self.z[at] = packet.flow;
            }
        }
        self.p = (1.0 - self.s.alpha) * self.p + self.s.alpha * hit;
        let (q, b) = self.line.fill();
        let psred = if q < b / 6.0 {
            0.0
        } else if q < b / 3.0 {
            self.s.p_max / 4.0
        } else {
            self.s.p_max
        };
        let over = 1.0 / (256.0 * self.p);
        let few = if self.p > 0.0 { (over * over).min(1.0) } else { 1.0 };
        let mut pzap = psred * few;
        if self.s.full && hit > 0.0 {
            pzap = (pzap * (1.0 + hit / self.p)).min(1.0);
        }
        // A signal that is impossible draws nothing.
        if pzap > 0.0 && self.red.unit() < pzap {
            if self.s.ecn && packet.ecn_capable {
                self.line.admit(packet, Some(Reason::Early));
            } else {
                self.line.drop(packet, Reason::Early);
            }
        } else {
            self.line.admit(packet, None);
        }
    }

    fn dequeue(&mut self, _now: Time) {
        self.line.pop();
    }

    fn line(&self) -> &Line {
        &self.line
    }
}
