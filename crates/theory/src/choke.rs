//! CHOKe with one unresponsive flow among many TCP flows.
//!
//! The leaky buffer of Wang, Tang and Low 2003 and Tang, Wang and Low 2004 (`docs/theory.md` derives it in full). The
//! unresponsive flow arrives at `a` times the link's rate. TCP keeps the queue full, and each of its many flows has so
//! little of it that it never meets itself. A part `h` of the queue belongs to the unresponsive flow, and RED drops a
//! part `r` of the packets that were compared and did not match. Then the unresponsive flow
//!
//! * is admitted at `a (1 - h) (1 - r)`;
//! * leaks while it waits: each arrival of it hits each of its packets with the same probability, so that of its
//!   packets that entered a part `z = exp(-L)` leaves at the head;
//! * keeps `h` of the queue: what leaks is what matches, `h = (1 - h) (1 - r) (1 - z)`;
//! * shares the link: its share is `s = a (1 - h) (1 - r) z`, and TCP, which does not leak, has its `1 - h` of the
//!   queue pass at `1 - s`, so a packet waits `(1 - h) / (1 - s)` times the time that the link takes for a whole queue,
//!   and `L = a (1 - h) / (1 - s)`.
//!
//! All follows from `L`, with `g = (1 - r) (1 - z)`: `h = g / (1 + g)`, `s = z L (1 - r) / (1 + z L (1 - r))` and
//! `a = L (1 + g) / (1 + z L (1 - r))`. The load increases with `L`, so each load has one equilibrium.
//!
//! Without RED's part the share is largest at `L = 1`: `1 / (e + 1)`, 26.9 % of the link, at a load of
//! `(2e - 1) / (e + 1)`, 1.19; with more load it falls to nothing, while `h` rises to 1/2.
//!
//! The papers let RED drop before the comparison. Then `r` only scales the load, `a (1 - r)` in place of `a`, since
//! what RED has dropped hits no packets. Here, as in the CHOKe paper and in Linux, the comparison comes first, and `r`
//! lowers the share: at a load of 2 and `r = 0.1` it is 0.230, against 0.257 in the other order.

use crate::check::{Error, below_one, positive};
use crate::profile::Profile;
use crate::solve::increasing;

/// CHOKe in equilibrium with one unresponsive flow and many TCP flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choke {
    load: f64,
    early: f64,
    leak: f64,
}

impl Choke {
    /// An unresponsive flow of `load` times the link's rate, 1e-12 to 1e12, and a part `early` of unmatched arrivals
    /// that RED drops, from 0 to less than 1.
    ///
    /// # Errors
    /// When either is out of its range.
    pub fn at_load(load: f64, early: f64) -> Result<Self, Error> {
        positive("load", load)?;
        below_one("early-drops", early)?;
        // a / 2 < L <= a: for r = 0 as exp(L) - 1 >= L, and r lies between.
        let leak = increasing(|leak| Self { load, early, leak }.load_of_leak(), load, load / 2.0, load);
        Ok(Self { load, early, leak })
    }

    /// Returns the equilibrium with the largest share without early drops: `L = 1`.
    #[must_use]
    pub fn peak() -> Self {
        let peak = Self { load: 1.0, early: 0.0, leak: 1.0 };
        Self { load: peak.load_of_leak(), ..peak }
    }

    /// Sending rate of the unresponsive flow as a part of the link's rate, `a`.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Its part of the queue, `h`, below 1/2.
    #[must_use]
    pub fn buffer_share(&self) -> f64 {
        let g = self.matched_odds();
        g / (1.0 + g)
    }

    /// Its share of the link, `s`.
    #[must_use]
    pub fn share(&self) -> f64 {
        let y = self.share_odds();
        y / (1.0 + y)
    }

    /// The part of its packets that is dropped: on arrival, later as a victim or early by RED, `2h + (1 - h) r`.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let h = self.buffer_share();
        // Where almost everything is dropped, rounding could lead above 1.
        (2.0 * h + (1.0 - h) * self.early).min(1.0)
    }

    /// Returns the flow's part of the queue from the tail to the head.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let admitted = self.load * (1.0 - self.early) * (1.0 - self.buffer_share());
        Profile::new(admitted, self.load, 1.0 - self.share())
    }

    /// `h / (1 - h)`.
    fn matched_odds(&self) -> f64 {
        -(1.0 - self.early) * libm::expm1(-self.leak)
    }

    /// `s / (1 - s)`.
    fn share_odds(&self) -> f64 {
        (1.0 - self.early) * self.leak * libm::exp(-self.leak)
    }

    fn load_of_leak(&self) -> f64 {
        self.leak * (1.0 + self.matched_odds()) / (1.0 + self.share_odds())
    }
}
