//! The parameters of a program: a discipline's configuration in the fixed-point numbers of `bpf/parameters.h`.

use fairlane_qdisc::discipline::choke::{self, Candidates, Draw};
use fairlane_qdisc::discipline::red::{self, RedParameters, Uniformize};
use fairlane_qdisc::{AnyConfig, QdiscConfig, Rate, Size};

use crate::Error;

/// The first places of the ring: `FIRST_PLACES` of `bpf/ring.h`.
const FIRST_PLACES: u64 = 16;

/// The most slots of a ring, each of 64 bytes.
const MAX_SLOTS: u64 = 1 << 20;

/// The smallest packet, where the limit is in bytes: an IPv4 header and its Ethernet header.
const SMALLEST: u64 = 34;

/// The link time that a burst may make up for after a late timer, in nanoseconds.
const CREDIT: u64 = 1_000_000;

/// The number of parameters.
const PARAMETERS: usize = 28;

/// One as a fixed-point number.
const ONE: f64 = 4_294_967_296.0;

/// A program for the kernel, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The discipline, as its object is named.
    pub(crate) name: &'static str,
    /// The parameters in the order of `struct parameters`.
    pub(crate) parameters: Vec<u64>,
    /// The slots of the ring.
    pub(crate) slots: u32,
    /// RED marks packets.
    pub(crate) marks: bool,
    /// Its packets arrive by the device.
    pub(crate) arriving: bool,
}

/// The settings of a running program: those of its queue and its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rate of the link; 0 if the device sets the pace.
    pub rate: Rate,
    /// The limit of the queue.
    pub limit: Size,
    /// The lower threshold of the average.
    pub min: Size,
    /// The upper threshold of the average.
    pub max: Size,
}

impl Settings {
    /// Reads the parameters of a program; `None` if they are not of this version's programs.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let numbers: &[[u8; 8]; PARAMETERS] = numbers.try_into().ok()?;
        let number = |at: usize| u64::from_ne_bytes(numbers[at]);
        let size = |number: u64, in_bytes: u64| match in_bytes {
            0 => Size::packets(u32::try_from(number).unwrap_or(u32::MAX)),
            _ => Size::bytes(number),
        };
        Some(Self {
            limit: size(number(0), number(1)),
            min: size(number(4) >> 32, number(3)),
            max: size(number(5) >> 32, number(3)),
            rate: Rate::from_bits_per_second(number(25)),
        })
    }
}

/// The parameters of the comparison, in addition to RED's.
struct Comparison {
    draw: u64,
    candidates: u64,
    compare_above_max: bool,
    count_matches: bool,
}

impl Program {
    /// Returns the program of a discipline for a link of `rate`; a rate of 0 leaves the pace to the device.
    ///
    /// # Errors
    /// There is no program for the discipline, or it does not have one of the parameters.
    pub fn new(config: &QdiscConfig, rate: Rate) -> Result<Self, Error> {
        match config.config() {
            AnyConfig::Red(red) => Self::red(red, rate),
            AnyConfig::Choke(choke) => Self::choke(choke, rate),
            _ => Err(Error::NoProgram(config.kind())),
        }
    }

    /// Makes it a program for packets that arrive by a device, instead of those that leave by it. They wait at an IFB
    /// device, which [`attach`](crate::attach) makes.
    #[must_use]
    pub fn for_arriving(self) -> Self {
        Self { arriving: true, ..self }
    }

    fn red(config: &red::Config, rate: Rate) -> Result<Self, Error> {
        if config.probability_weight < 1.0 {
            return Err(Error::unsupported("probability_weight", "the kernel's RED does not filter its probability"));
        }
        let none = Comparison { draw: 0, candidates: 0, compare_above_max: false, count_matches: false };
        Self::build("red", config.limit, &config.red, &none, rate)
    }

    fn choke(config: &choke::Config, rate: Rate) -> Result<Self, Error> {
        if config.drop_bit {
            return Err(Error::unsupported("drop_bit", "packets that match leave the kernel's queue at once"));
        }
        let (name, candidates) = match config.candidates {
            Candidates::Fixed(count) => ("choke", count),
            Candidates::WhileMatching(most) => ("gchoke", most),
            Candidates::Regions { .. } | Candidates::Intermediate { .. } => {
                let message =
                    "the kernel's CHOKe draws the same number at every average: choose choke with candidates=2";
                return Err(Error::unsupported("regions", message));
            }
        };
        let draw = match config.draw {
            Draw::Random => 0,
            Draw::WithReplacement => 1,
            Draw::Linux => 2,
            Draw::Front => 3,
            Draw::Back => 4,
        };
        let comparison = Comparison {
            draw,
            candidates: candidates.into(),
            compare_above_max: config.compare_above_max,
            count_matches: config.count_matches,
        };
        Self::build(name, config.limit, &config.red, &comparison, rate)
    }

    fn build(
        name: &'static str,
        limit: Size,
        red: &RedParameters,
        comparison: &Comparison,
        rate: Rate,
    ) -> Result<Self, Error> {
        let in_bytes = matches!(red.max, Size::Bytes(_));
        let packets = match limit {
            Size::Packets(packets) => u64::from(packets.get()),
            Size::Bytes(bytes) => bytes.get().div_ceil(SMALLEST),
        };
        let slots = (4 * packets).div_ceil(3).max(FIRST_PLACES).next_power_of_two();
        let slots = u32::try_from(slots).ok().filter(|&slots| u64::from(slots) <= MAX_SLOTS).ok_or_else(|| {
            Error::unsupported(
                "limit",
                &format!("{limit} is too large: the kernel's ring has at most {MAX_SLOTS} slots"),
            )
        })?;
        let (min, max) = (red.min.number(), red.max.number());
        if max >= 1 << 31 {
            return Err(Error::unsupported("max", "the kernel's average is below 2^31"));
        }
        let weight = fixed(red.weight);
        let slope = if max > min { red.probability / (max - min) as f64 } else { 0.0 };
        let gentle_slope = if max > 0 { (1.0 - red.probability) / max as f64 } else { 0.0 };
        let (slope, gentle_slope) = (scale(slope), scale(gentle_slope));
        let ticks = red.bandwidth.unwrap_or(rate);
        let slot = if ticks.bits_per_second() > 0 { ticks.transmission(red.avpkt.get()).as_nanos().max(1) } else { 0 };
        let spacing = match red.uniformize {
            Uniformize::None => 0,
            Uniformize::Count => 1,
            Uniformize::Wait => 2,
        };
        let parameters = vec![
            limit.number(),
            u64::from(matches!(limit, Size::Bytes(_))),
            u64::from(slots),
            u64::from(in_bytes),
            min << 32,
            max << 32,
            weight,
            (1 << 32) - weight,
            fixed(red.probability),
            slope.0,
            slope.1,
            gentle_slope.0,
            gentle_slope.1,
            fixed(1.0 / red.avpkt.get() as f64),
            slot,
            u64::from(red.gentle),
            spacing,
            u64::from(red.spare),
            u64::from(red.byte_drop),
            u64::from(red.ecn),
            u64::from(red.harddrop),
            comparison.draw,
            comparison.candidates,
            u64::from(comparison.compare_above_max),
            u64::from(comparison.count_matches),
            rate.bits_per_second(),
            CREDIT,
            0,
        ];
        Ok(Self { name, parameters, slots, marks: red.ecn, arriving: false })
    }

    /// Returns the parameters as the kernel reads them, for arriving packets with the index of the IFB device that has
    /// the discipline.
    pub(crate) fn bytes(&self, device: u32) -> Vec<u8> {
        let mut parameters = self.parameters.clone();
        if let (true, Some(arriving_at)) = (self.arriving, parameters.last_mut()) {
            *arriving_at = device.into();
        }
        parameters.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }
}

/// Returns a number from 0 to 1 as a fixed-point number, rounded to the nearest.
fn fixed(number: f64) -> u64 {
    (number * ONE).round() as u64
}

/// Returns mantissa and shift of a number from 0 to 1, so that 32 binary digits are significant.
fn scale(number: f64) -> (u64, u64) {
    let mut shift = 0;
    let mut mantissa = number;
    while mantissa > 0.0 && mantissa < 0.5 && shift < 63 {
        mantissa *= 2.0;
        shift += 1;
    }
    (fixed(mantissa), shift)
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Kind, QdiscParameters};

    use super::*;

    fn program(kind: Kind, text: &str) -> Result<Program, String> {
        let mut parameters = QdiscParameters::new(kind);
        for (key, value) in text.split_whitespace().filter_map(|setting| setting.split_once('=')) {
            parameters.set(key, value.into()).map_err(|error| error.to_string())?;
        }
        let rate = Rate::from_bits_per_second(10_000_000);
        let config = parameters.resolve(rate).map_err(|error| error.to_string())?;
        Program::new(&config, rate).map_err(|error| error.to_string())
    }

    fn refused(kind: Kind, text: &str) -> String {
        program(kind, text).err().unwrap_or_default()
    }

    /// Would catch a parameter that is silently ignored by the kernel.
    #[test]
    fn what_the_programs_cannot_do_is_refused() {
        assert!(refused(Kind::Choke, "drop_bit=true").starts_with("drop_bit: "));
        assert!(refused(Kind::ChokeAdaptive, "").starts_with("regions: "));
        assert!(refused(Kind::Red, "probability_weight=0.1").starts_with("probability_weight: "));
        assert!(refused(Kind::Choke, "limit=1000000p min=100p max=200p").starts_with("limit: "));
        assert!(refused(Kind::Codel, "").contains("there is no BPF program for codel"));
    }

    /// Would catch a setting read from another's place, and one in the wrong unit.
    #[test]
    fn settings_are_read_as_they_were_written() {
        for (text, limit, [min, max]) in [
            ("limit=300p min=100p max=200p", Size::packets(300), [100, 200].map(Size::packets)),
            ("limit=300p min=5000b max=9000b", Size::packets(300), [5000, 9000].map(Size::bytes)),
            ("limit=60000b min=5000b max=9000b", Size::bytes(60_000), [5000, 9000].map(Size::bytes)),
        ] {
            let bytes = program(Kind::Choke, text).map(|program| program.bytes(7)).unwrap_or_default();
            let expected = Settings { rate: Rate::from_bits_per_second(10_000_000), limit, min, max };
            assert_eq!(Settings::parse(&bytes), Some(expected), "{text}");
            assert_eq!(Settings::parse(&bytes[8..]), None, "another version");
        }
    }

    /// Would catch a ring that is too small for its limit: it holds four thirds of it, and 16 places at least.
    #[test]
    fn the_ring_has_room_for_the_limit_and_its_holes() {
        for (limit, slots) in [("1p", 16), ("12p", 16), ("13p", 32), ("300p", 512), ("384p", 512), ("385p", 1024)] {
            let program = program(Kind::Choke, &format!("limit={limit} min=1p max=1p"));
            assert_eq!(program.map(|program| program.slots), Ok(slots), "{limit}");
        }
    }

    /// Would catch a scale with fewer significant digits for small numbers, such as a slope per byte.
    #[test]
    fn scales_keep_32_digits() {
        for number in [1.0, 0.5, 0.02 / 100.0, 0.1 / 3e6, 1e-9] {
            let (mantissa, shift) = scale(number);
            let value = mantissa as f64 / ONE / (1_u64 << shift) as f64;
            assert!((value / number - 1.0).abs() <= 1.0 / ONE, "{number} became {value}");
        }
        assert_eq!(scale(0.0), (0, 0));
    }
}
