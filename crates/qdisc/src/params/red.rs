//! RED's parameters, as every discipline on top of RED resolves them.

use alloc::format;
use alloc::string::ToString;

use super::resolver::Resolver;
use super::size::{at_least, number, part, smaller, times};
use super::{Origin, ParameterError};
use crate::discipline::ared;
use crate::discipline::red::{RedParameters, Uniformize, check_thresholds};
use crate::{Bytes, Duration, Packets, Rate, Size};

/// The source of RED's defaults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// ns-2 of the papers' time, where a threshold was given.
    Ns2,
    /// tc(8), where no threshold was given.
    Tc,
    /// ns-2's automatic configuration.
    Automatic,
}

/// RED's thresholds, as sizes of the same unit.
#[derive(Clone, Copy)]
pub(crate) struct RedThresholds {
    min: Size,
    max: Size,
}

impl Resolver<'_> {
    /// Resolves RED's part: with ns-2's defaults when a threshold was given, else with tc's.
    pub(crate) fn red(&mut self, limit: Size) -> Result<RedParameters, ParameterError> {
        let given = self.given::<Size>("min")?.is_some() || self.given::<Size>("max")?.is_some();
        self.red_of(limit, if given { Era::Ns2 } else { Era::Tc }, false)
    }

    /// Resolves RED's part with the defaults of `era`.
    pub(crate) fn red_of(&mut self, limit: Size, era: Era, gentle: bool) -> Result<RedParameters, ParameterError> {
        let avpkt = self.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
        let bandwidth = self.bandwidth("the average's idle clock")?;
        let thresholds = match era {
            Era::Automatic => self.automatic_thresholds(avpkt, bandwidth)?,
            Era::Ns2 | Era::Tc => self.thresholds(limit, avpkt)?,
        };
        let ns2 = era != Era::Tc;
        let source = Origin::Default(if ns2 { "as ns-2" } else { "as tc(8)" });
        let probability = self.take("probability", source, if ns2 { 0.1 } else { 0.02 })?;
        let weight = self.weight(era, thresholds, avpkt, bandwidth)?;
        let gentle =
            self.take("gentle", Origin::Default(if gentle { "Floyd 2001" } else { "as ns-2 before 2001" }), gentle)?;
        let RedThresholds { min, max } = thresholds;
        let red = RedParameters { min, max, probability, weight, avpkt, gentle, ..RedParameters::default() };
        let red = self.signalling(ns2, red)?;
        self.judge(limit, thresholds, avpkt, gentle);
        self.say_average(weight, avpkt, bandwidth);
        Ok(RedParameters { bandwidth: self.given("bandwidth")?, ..red })
    }

    /// Resolves how `red` spaces and gives its signals: with ns-2's defaults, else with tc's.
    pub(crate) fn signalling(&mut self, ns2: bool, red: RedParameters) -> Result<RedParameters, ParameterError> {
        let source = || Origin::Default(if ns2 { "as ns-2" } else { "as tc(8)" });
        let uniformize = match self.take("uniformize", source(), if ns2 { "wait" } else { "count" })? {
            "none" => Uniformize::None,
            "count" => Uniformize::Count,
            _ => Uniformize::Wait,
        };
        let spare = self.take("spare", source(), ns2)?;
        let byte_drop = self.take("byte_drop", Origin::Default("as ns-2 before 2004"), false)?;
        let ecn = self.take("ecn", Origin::Default("senders must agree"), false)?;
        let harddrop = self.take("harddrop", Origin::Default("as tc(8)"), false)?;
        if harddrop && !ecn {
            self.warn("harddrop changes nothing without ecn".to_string());
        }
        Ok(RedParameters { uniformize, spare, byte_drop, ecn, harddrop, ..red })
    }

    /// Resolves the thresholds by tc's rule: `max` is a quarter of `limit` and `min` a third of `max`, where not given.
    fn thresholds(&mut self, limit: Size, avpkt: Bytes) -> Result<RedThresholds, ParameterError> {
        let min = self.given::<Size>("min")?;
        let unit = min.unwrap_or(limit);
        // A queue of a few packets would otherwise get thresholds of zero, which let nothing through.
        let floor = |size: Size, packets: u32| at_least(size, packets, avpkt);
        let max = match self.given::<Size>("max")? {
            Some(max) => {
                self.note("max", max.to_string(), Origin::Given);
                max
            }
            None if unit.has_unit_of(limit) => {
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

    /// ns-2's automatic thresholds: half the target delay at the link's rate, but at least five packets; three times
    /// that.
    fn automatic_thresholds(&mut self, avpkt: Bytes, bandwidth: Rate) -> Result<RedThresholds, ParameterError> {
        let target = self.take("target", Origin::Default("as ns-2"), Duration::from_millis(5))?;
        let rule = Origin::Derived("half of target at bandwidth, at least 5 packets, as ns-2");
        let given_max = self.given::<Size>("max")?;
        let derived = match given_max {
            Some(max) => part(max, 3),
            None => Size::packets(ared::automatic_min(target, avpkt, bandwidth)),
        };
        let rule = if given_max.is_some() { Origin::Derived("max / 3, as ns-2") } else { rule };
        let min = self.take("min", rule, derived)?;
        let max = self.take("max", Origin::Derived("3 min, as ns-2"), times(min, 3))?;
        ordered(min, max)
    }

    /// Resolves the weight of the average: given, from tc's burst, or by the era.
    fn weight(
        &mut self,
        era: Era,
        thresholds: RedThresholds,
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

    /// Resolves the weight where neither it nor the burst was given.
    fn default_weight(&mut self, era: Era, thresholds: RedThresholds, avpkt: Bytes, bandwidth: Rate) -> f64 {
        if era == Era::Tc {
            let burst = default_burst(thresholds, avpkt);
            if let Some(exponent) = ewma_exponent(thresholds.min, burst, avpkt) {
                self.note("burst", burst.to_string(), Origin::Derived("(2 min + max) / 3 packets, as tc(8)"));
                return self.weight_of(exponent);
            }
        }
        self.note("burst", "unused".to_string(), Origin::Derived("it was not given"));
        let (weight, origin) = if era == Era::Automatic {
            let weight = ared::automatic_weight(avpkt, bandwidth);
            (weight, Origin::Derived("1 - exp(-1/C) for a link of C mean packets a second, as ns-2"))
        } else {
            (0.002, Origin::Default("as ns-2 and Floyd and Jacobson"))
        };
        self.note("weight", weight.to_string(), origin);
        weight
    }

    /// Returns the weight 2^-`exponent`, and notes it.
    fn weight_of(&mut self, exponent: u32) -> f64 {
        let weight = 1.0 / (1_u64 << exponent) as f64;
        let origin = Origin::Derived("the largest power of 1/2 that lets burst packets through (tc(8)'s Wlog)");
        self.note("weight", weight.to_string(), origin);
        weight
    }

    /// Warns of thresholds that are too close to each other or to the limit.
    pub(crate) fn judge(&mut self, limit: Size, RedThresholds { min, max }: RedThresholds, avpkt: Bytes, gentle: bool) {
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

/// Returns `min` and `max` if they can be thresholds.
pub(crate) fn ordered(min: Size, max: Size) -> Result<RedThresholds, ParameterError> {
    check_thresholds(["min", "max"], min, max)?;
    Ok(RedThresholds { min, max })
}

/// Returns tc's burst: (2 min + max) / 3 in mean packets.
fn default_burst(RedThresholds { min, max }: RedThresholds, avpkt: Bytes) -> Packets {
    let burst = match (min, max) {
        (Size::Bytes(min), Size::Bytes(max)) => (2 * min.get() + max.get()) / 3 / avpkt.get(),
        _ => (2 * min.number() + max.number()) / 3,
    };
    Packets::new(u32::try_from(burst).unwrap_or(u32::MAX))
}

/// Returns W of the weight 2^-W by tc's rule: the smallest W with `burst + 1 - min <= (1 - (1 - 2^-W)^burst) / 2^-W`.
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
