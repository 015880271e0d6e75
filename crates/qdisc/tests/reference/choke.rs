//! The slow reference of CHOKe's comparisons and of its drop bit.

use fairlane_qdisc::testing::Event;
use fairlane_qdisc::{Reason, SimplePacket};

use super::{Algorithm, Reference};

impl Reference {
    /// Draws distinct candidates.
    fn candidates(&mut self, wanted: usize) -> Vec<usize> {
        let live: Vec<usize> = (0..self.queue.len()).filter(|&at| self.queue[at].is_some()).collect();
        match self.s.algorithm {
            Algorithm::Front { .. } => live.into_iter().take(wanted).collect(),
            Algorithm::Back { .. } => live.into_iter().rev().take(wanted).collect(),
            _ => {
                if self.s.replacement {
                    return (0..wanted).filter_map(|_| self.draw(false)).collect();
                }
                let mut chosen = Vec::new();
                while chosen.len() < wanted.min(live.len()) {
                    match self.draw(false) {
                        Some(at) if !chosen.contains(&at) => chosen.push(at),
                        _ => {}
                    }
                }
                chosen
            }
        }
    }

    /// Drops all candidates that match; tells whether there were any.
    pub(super) fn compare(&mut self, p: &SimplePacket) -> bool {
        if let Algorithm::Gchoke { maxcomp } = self.s.algorithm {
            let mut matched = 0;
            while matched < maxcomp {
                let Some(at) = self.draw(false) else { break };
                if self.queue[at].is_none_or(|v| v.flow != p.flow) {
                    break;
                }
                matched += 1;
                if self.drop_match(at) {
                    break;
                }
                self.tidy();
            }
            self.drop_doomed_head();
            return matched > 0;
        }
        let m = match self.s.algorithm {
            Algorithm::Choke { candidates } | Algorithm::Front { candidates } | Algorithm::Back { candidates } => {
                candidates
            }
            Algorithm::Adaptive { regions, twice, less } => {
                let place = f64::from(regions) * (self.avg - self.s.min) / (self.s.max - self.s.min);
                let region = (1 + place as u32).clamp(1, regions);
                (twice * region - less) as usize
            }
            Algorithm::Intermediate { thresholds, twice, less } => {
                let mut region = 1;
                // A threshold of zero stands for none.
                for threshold in thresholds {
                    if threshold > 0.0 && self.avg >= threshold {
                        region += 1;
                    }
                }
                (twice * region - less) as usize
            }
            Algorithm::Sac { .. } => self.sac_candidates(),
            _ => 1,
        };
        let chosen = match self.s.algorithm {
            Algorithm::Choked { most } => self.choked_candidates(most),
            _ => self.candidates(m),
        };
        let hits: Vec<usize> =
            chosen.into_iter().filter(|&at| self.queue[at].is_some_and(|v| v.flow == p.flow)).collect();
        for &at in &hits {
            self.drop_match(at);
        }
        self.tidy();
        self.drop_doomed_head();
        !hits.is_empty()
    }

    /// Drops a candidate that matched, or marks it; tells whether it was marked before.
    fn drop_match(&mut self, at: usize) -> bool {
        match self.queue[at] {
            Some(p) if self.s.drop_bit && self.doomed.contains(&p.id) => return true,
            Some(p) if self.s.drop_bit => self.doomed.push(p.id),
            _ => self.kill(at, Reason::MatchVictim),
        }
        false
    }

    /// Drops the marked packets that are the head.
    pub(super) fn drop_doomed_head(&mut self) {
        while let Some(Some(p)) = self.queue.first().filter(|p| p.is_some_and(|p| self.doomed.contains(&p.id))) {
            self.events.push(Event::Dropped(p.id, Reason::MatchVictim));
            self.queue.remove(0);
        }
    }
}
