//! RED's parameters as every discipline on top of RED resolves them: whose defaults hold, and what contradicts.

use alloc::format;
use alloc::string::ToString;

use super::resolver::Resolver;
use super::{Origin, ParameterError};
use crate::red::{RedSettings, Uniformize};
use crate::{Bytes, Duration, Packets, Rate, Size};

/// Whose defaults RED takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// ns-2 of the papers' time: a threshold was given.
    Ns2,
    /// tc(8): only the limit was.
    Tc,
    /// ns-2's automatic configuration.
    Automatic,
}

/// RED's thresholds, as sizes of the same unit.
#[derive(Clone, Copy)]
pub(crate) struct Thresholds {
    min: Size,
    max: Size,
}

impl Resolver<'_> {
    /// RED's part: ns-2's defaults when a threshold was given, else tc's.
    pub(crate) fn red(&mut self, limit: Size) -> Result<RedSettings, ParameterError> {
        let given = self.given::<Size>("min")?.is_some() || self.given::<Size>("max")?.is_some();
        self.red_of(limit, if given { Era::Ns2 } else { Era::Tc }, false)
    }

    /// RED's part, with the defaults of `era`.
    pub(crate) fn red_of(&mut self, limit: Size, era: Era, gentle: bool) -> Result<RedSettings, ParameterError> {
        let avpkt = self.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
        let bandwidth = self.bandwidth("the average's idle clock")?;
        let thresholds = match era {
            Era::Automatic => self.automatic_thresholds(avpkt, bandwidth)?,
            Era::Ns2 | Era::Tc => self.thresholds(limit, avpkt)?,
        };
        let ns2 = era != Era::Tc;
        let by_era = |papers: &'static str, tc: &'static str| Origin::Default(if ns2 { papers } else { tc });
        let probability = self.take("probability", by_era("as ns-2", "as tc(8)"), if ns2 { 0.1 } else { 0.02 })?;
        let weight = self.weight(era, thresholds, avpkt, bandwidth)?;
        let gentle =
            self.take("gentle", Origin::Default(if gentle { "Floyd 2001" } else { "as ns-2 before 2001" }), gentle)?;
        let uniformize =
            match self.take("uniformize", by_era("as ns-2", "as tc(8)"), if ns2 { "wait" } else { "count" })? {
                "none" => Uniformize::None,
                "count" => Uniformize::Count,
                _ => Uniformize::Wait,
            };
        let spare = self.take("spare", by_era("as ns-2", "as tc(8)"), ns2)?;
        let byte_drop = self.take("byte_drop", Origin::Default("as ns-2 before 2004"), false)?;
        let ecn = self.take("ecn", Origin::Default("senders must agree"), false)?;
        let harddrop = self.take("harddrop", Origin::Default("as tc(8)"), false)?;
        if harddrop && !ecn {
            self.warn("harddrop changes nothing without ecn".to_string());
        }
        self.judge(limit, thresholds, avpkt, gentle);
        self.say_average(weight, avpkt, bandwidth);
        let (min, max) = (number(thresholds.min), number(thresholds.max));
        let slot = bandwidth.transmission(avpkt.get()).as_nanos().max(1);
        let in_bytes = matches!(thresholds.max, Size::Bytes(_));
        Ok(RedSettings {
            min,
            max,
            in_bytes,
            probability,
            weight,
            gentle,
            uniformize,
            spare,
            byte_drop,
            avpkt: avpkt.get(),
            slot,
            ecn,
            harddrop,
        })
    }

    /// tc's rule: `max` is a quarter of `limit` and `min` a third of `max`, whichever was not given.
    fn thresholds(&mut self, limit: Size, avpkt: Bytes) -> Result<Thresholds, ParameterError> {
        let min = self.given::<Size>("min")?;
        let unit = min.unwrap_or(limit);
        // A queue of a few packets would otherwise get thresholds of zero, which let nothing through.
        let floor = |size: Size, packets: u32| at_least(size, packets, avpkt);
        let max = match self.given::<Size>("max")? {
            Some(max) => {
                self.note("max", max.to_string(), Origin::Given);
                max
            }
            None if same_unit(unit, limit) => {
                let max = floor(part(limit, 4), 3);
                self.note("max", max.to_string(), Origin::Derived("limit / 4, as tc(8)"));
                max
            }
            None => {
                let message =
                    format!("it cannot follow from limit {limit}, which has another unit than min {unit}: give it too");
                return Err(ParameterError::new("max", message));
            }
        };
        let min = match min {
            Some(min) => {
                self.note("min", min.to_string(), Origin::Given);
                min
            }
            None => {
                let min = smaller(floor(part(max, 3), 1), max);
                self.note("min", min.to_string(), Origin::Derived("max / 3, as tc(8)"));
                min
            }
        };
        ordered(min, max)
    }

    /// ns-2's automatic thresholds: half the target delay at the link's rate, but at least five packets; three times that.
    fn automatic_thresholds(&mut self, avpkt: Bytes, bandwidth: Rate) -> Result<Thresholds, ParameterError> {
        let target = self.take("target", Origin::Default("as ns-2"), Duration::from_millis(5))?;
        let rule = Origin::Derived("half of target at bandwidth, at least 5 packets, as ns-2");
        let given_max = self.given::<Size>("max")?;
        let derived = match given_max {
            Some(max) => part(max, 3),
            None => {
                let per_second = bandwidth.bits_per_second() as f64 / (8.0 * avpkt.get() as f64);
                // A cast saturates.
                packets(((0.5 * target.as_secs() * per_second) as u32).clamp(5, crate::buffer::MAX_PACKETS / 3))
            }
        };
        let rule = if given_max.is_some() { Origin::Derived("max / 3, as ns-2") } else { rule };
        let min = self.take("min", rule, derived)?;
        let max = self.take("max", Origin::Derived("3 min, as ns-2"), times(min, 3))?;
        ordered(min, max)
    }

    /// The average's weight: given, from tc's burst, or by the era.
    fn weight(
        &mut self,
        era: Era,
        thresholds: Thresholds,
        avpkt: Bytes,
        bandwidth: Rate,
    ) -> Result<f64, ParameterError> {
        let weight = self.given::<f64>("weight")?;
        let burst = self.given::<Packets>("burst")?;
        match (weight, burst) {
            (Some(_), Some(_)) => {
                let message = "weight is given too, and each of the two decides the other: give one".to_string();
                Err(ParameterError::new("burst", message))
            }
            (Some(weight), None) => {
                self.note("weight", weight.to_string(), Origin::Given);
                self.note("burst", "unused".to_string(), Origin::Derived("weight is given"));
                Ok(weight)
            }
            (None, Some(burst)) => {
                self.note("burst", burst.to_string(), Origin::Given);
                let exponent = ewma_exponent(thresholds.min, burst, avpkt).ok_or_else(|| {
                    let message = format!(
                        "{burst} is no burst for min {}: no weight lets it through; it must be above min and not too large",
                        thresholds.min
                    );
                    ParameterError::new("burst", message)
                })?;
                Ok(self.weight_of(exponent))
            }
            (None, None) => Ok(self.default_weight(era, thresholds, avpkt, bandwidth)),
        }
    }

    /// The weight where neither it nor the burst was given.
    fn default_weight(&mut self, era: Era, thresholds: Thresholds, avpkt: Bytes, bandwidth: Rate) -> f64 {
        if era == Era::Tc {
            let burst = default_burst(thresholds, avpkt);
            if let Some(exponent) = ewma_exponent(thresholds.min, burst, avpkt) {
                self.note("burst", burst.to_string(), Origin::Derived("(2 min + max) / 3 packets, as tc(8)"));
                return self.weight_of(exponent);
            }
        }
        self.note("burst", "unused".to_string(), Origin::Derived("it was not given"));
        let (weight, origin) = if era == Era::Automatic {
            let per_second = bandwidth.bits_per_second() as f64 / (8.0 * avpkt.get() as f64);
            let weight = -libm::expm1(-1.0 / per_second);
            (weight, Origin::Derived("1 - exp(-1/C) for a link of C mean packets a second, as ns-2"))
        } else {
            (0.002, Origin::Default("as ns-2 and Floyd and Jacobson"))
        };
        self.note("weight", weight.to_string(), origin);
        weight
    }

    /// The weight 2^-`exponent`.
    fn weight_of(&mut self, exponent: u32) -> f64 {
        let weight = 1.0 / (1_u64 << exponent) as f64;
        let origin = Origin::Derived("the largest power of 1/2 that lets burst packets through (tc(8)'s Wlog)");
        self.note("weight", weight.to_string(), origin);
        weight
    }

    /// Warns of thresholds that do little good.
    pub(crate) fn judge(&mut self, limit: Size, Thresholds { min, max }: Thresholds, avpkt: Bytes, gentle: bool) {
        if number(max) < 2.0 * number(min) {
            self.warn(format!("max {max} is below twice min {min}: the average cannot settle between them"));
        }
        let in_bytes = |size: Size| match size {
            Size::Packets(packets) => u64::from(packets.get()) * avpkt.get(),
            Size::Bytes(bytes) => bytes.get(),
        };
        let top = if gentle { 2 * in_bytes(max) } else { in_bytes(max) };
        if in_bytes(limit) < top {
            let what = if gentle { "twice max" } else { "max" };
            self.warn(format!("limit {limit} is below {what} {max}: the queue overflows before RED acts"));
        }
    }

    pub(crate) fn say_average(&mut self, weight: f64, avpkt: Bytes, bandwidth: Rate) {
        if weight < 1.0 {
            let packets = -1.0 / libm::log1p(-weight);
            let time = packets * bandwidth.transmission(avpkt.get()).as_secs();
            self.say(format!("the average reacts in {packets:.1} packets, {:.3} ms", 1e3 * time));
        }
    }
}

/// `min` and `max` if they can be thresholds.
pub(crate) fn ordered(min: Size, max: Size) -> Result<Thresholds, ParameterError> {
    if !same_unit(min, max) {
        let message = format!("it is {max} and min is {min}: both must be packets or both bytes");
        return Err(ParameterError::new("max", message));
    }
    if number(min) > number(max) {
        let message = format!("{min} is above max, which is {max}: min must not be above max");
        return Err(ParameterError::new("min", message));
    }
    Ok(Thresholds { min, max })
}

/// tc's burst: (2 min + max) / 3 in mean packets.
fn default_burst(Thresholds { min, max }: Thresholds, avpkt: Bytes) -> Packets {
    let burst = match (min, max) {
        (Size::Bytes(min), Size::Bytes(max)) => (2 * min.get() + max.get()) / 3 / avpkt.get(),
        _ => (2 * count(min) + count(max)) / 3,
    };
    Packets::new(u32::try_from(burst).unwrap_or(u32::MAX))
}

/// tc's rule for the weight 2^-W: the smallest W with `burst + 1 - min <= (1 - (1 - 2^-W)^burst) / 2^-W`.
fn ewma_exponent(min: Size, burst: Packets, avpkt: Bytes) -> Option<u32> {
    let min = match min {
        Size::Packets(packets) => f64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() as f64 / avpkt.get() as f64,
    };
    let burst = f64::from(burst.get());
    let excess = burst + 1.0 - min;
    if excess < 1.0 {
        return None;
    }
    (1..32).find(|&exponent| {
        let weight = 1.0 / (1_u64 << exponent) as f64;
        excess <= -libm::expm1(burst * libm::log1p(-weight)) / weight
    })
}

/// `count` packets.
pub(crate) const fn packets(count: u32) -> Size {
    Size::Packets(Packets::new(count))
}

/// The number in `size`, whatever its unit.
fn count(size: Size) -> u64 {
    match size {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get(),
    }
}

/// The same as a float: sizes stay below 2^53.
pub(crate) fn number(size: Size) -> f64 {
    count(size) as f64
}

/// Whether both count the same thing.
pub(crate) const fn same_unit(a: Size, b: Size) -> bool {
    matches!((a, b), (Size::Packets(_), Size::Packets(_)) | (Size::Bytes(_), Size::Bytes(_)))
}

/// The `divisor`-th part of `size`.
pub(crate) fn part(size: Size, divisor: u32) -> Size {
    match size {
        Size::Packets(packets) => Size::Packets(Packets::new(packets.get() / divisor)),
        Size::Bytes(bytes) => Size::Bytes(Bytes::new(bytes.get() / u64::from(divisor))),
    }
}

/// `factor` times `size`.
pub(crate) fn times(size: Size, factor: u32) -> Size {
    match size {
        Size::Packets(packets) => Size::Packets(Packets::new(packets.get().saturating_mul(factor))),
        Size::Bytes(bytes) => Size::Bytes(Bytes::new(bytes.get().saturating_mul(u64::from(factor)))),
    }
}

/// `size`, but not less than `least` mean packets.
pub(crate) fn at_least(size: Size, least: u32, avpkt: Bytes) -> Size {
    match size {
        Size::Packets(packets) => Size::Packets(packets.max(Packets::new(least))),
        Size::Bytes(bytes) => Size::Bytes(bytes.max(Bytes::new(u64::from(least) * avpkt.get()))),
    }
}

/// The smaller of two sizes of the same unit.
fn smaller(a: Size, b: Size) -> Size {
    if count(a) <= count(b) { a } else { b }
}
