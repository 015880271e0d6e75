//! The settings of a report.

use std::num::NonZeroU32;
use std::str::FromStr;

use fairlane_qdisc::{Duration, Kind, QdiscParameters, Rate, Size};

/// The size of a packet in bytes.
pub(crate) const PACKET: f64 = 1500.0;

/// The settings of a report. RFC 7928 fixes neither rates nor packets nor durations, so that they must be disclosed.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The rate of the bottleneck.
    pub rate: Rate,
    /// The round trip without queues.
    pub rtt: Duration,
    /// The buffer of the bottleneck (section 3.2).
    pub buffer: Buffer,
    /// TCP uses ECN in all sections, not only in the one about it.
    pub ecn: bool,
    /// One or few cases of each section, 30 s and three runs.
    pub quick: bool,
    /// Runs of each case; `None` for ten, or three if quick.
    pub runs: Option<NonZeroU32>,
    /// The sections by their ids; all if empty.
    pub only: Vec<String>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: Rate::from_bits_per_second(10_000_000),
            rtt: Duration::from_millis(100),
            buffer: Buffer::default(),
            ecn: false,
            quick: false,
            runs: None,
            only: Vec::new(),
            seed: 1,
        }
    }
}

impl Settings {
    /// Returns the number of runs of each case.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs.map_or(if self.quick { 3 } else { 10 }, NonZeroU32::get)
    }

    /// Returns the bandwidth-delay product in packets, at least one.
    #[must_use]
    pub fn bdp(&self) -> u32 {
        let bits = self.rate.bits_per_second() as f64 * self.rtt.as_secs();
        (bits / 8.0 / PACKET).floor().max(1.0) as u32
    }

    /// Returns the size of the buffer in packets.
    #[must_use]
    pub fn buffer_packets(&self) -> u32 {
        match self.buffer {
            Buffer::Products(products) => (f64::from(self.bdp()) * products).max(1.0) as u32,
            Buffer::Packets(packets) => packets.max(1),
        }
    }

    /// Returns the number of flows whose projected drop rate under DropTail is `loss`: l = 0.76 N² / S², where S is the
    /// bandwidth-delay product and the buffer in packets (RFC 7928, section 8.2.1; Morris 2000, equation 3).
    #[must_use]
    pub fn flows_for_loss(&self, loss: f64) -> u32 {
        let outstanding = f64::from(self.bdp() + self.buffer_packets());
        libm::round(outstanding * libm::sqrt(loss / 0.76)).max(1.0) as u32
    }

    /// Returns the time in seconds that is left out of averages, and the duration in seconds.
    pub(crate) const fn times(&self) -> (f64, f64) {
        if self.quick { (10.0, 30.0) } else { (30.0, 300.0) }
    }
}

/// The size of a buffer, as text `bdp`, `2bdp` or `200p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// In bandwidth-delay products, 0.01 to 1000.
    Products(f64),
    /// In packets, at least 1.
    Packets(u32),
}

impl Default for Buffer {
    /// Returns one bandwidth-delay product.
    fn default() -> Self {
        Self::Products(1.0)
    }
}

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(products) = text.trim().strip_suffix("bdp") {
            let products = if products.is_empty() { Some(1.0) } else { products.parse().ok() };
            let products = products.filter(|products| (0.01..=1000.0).contains(products));
            return products.map(Self::Products).ok_or_else(|| "write 0.01bdp to 1000bdp".to_owned());
        }
        match text.parse() {
            Ok(Size::Packets(packets)) if packets.get() > 0 => Ok(Self::Packets(packets.get())),
            _ => Err("write bdp, 2bdp, or packets, 200p".to_owned()),
        }
    }
}

/// A discipline to characterise.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name in tables and figures.
    pub label: String,
    /// The discipline with the parameters that were given; the limit is the buffer.
    pub parameters: QdiscParameters,
    /// The measured cost of a packet in words, if it is known.
    pub cost: Option<String>,
}

impl Subject {
    /// Returns the discipline under the name of its kind.
    #[must_use]
    pub fn new(parameters: QdiscParameters) -> Self {
        Self { label: parameters.kind().name().to_owned(), parameters, cost: None }
    }

    /// Returns DropTail, the reference of every section.
    #[must_use]
    pub fn droptail() -> Self {
        Self::new(QdiscParameters::new(Kind::DropTail))
    }

    /// Returns true if it has a parameter of this name.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.parameters.kind().parameters().iter().any(|parameter| parameter.key == key)
    }

    /// Returns true if the parameter was given.
    pub(crate) fn gives(&self, key: &str) -> bool {
        self.parameters.given().any(|(given, _)| given == key)
    }
}
