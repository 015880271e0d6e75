//! The kernel's own discipline that corresponds to one of the library's, in the words of tc(8).

use std::fmt::Display;

use fairlane_qdisc::discipline::cake::{AckFilter, Diffserv, Isolation};
use fairlane_qdisc::discipline::choke::{self, Candidates, Draw};
use fairlane_qdisc::discipline::codel::CodelParameters;
use fairlane_qdisc::discipline::droptail::Drop;
use fairlane_qdisc::discipline::dualpi2::Laqm;
use fairlane_qdisc::discipline::pi2::PiParameters;
use fairlane_qdisc::discipline::pie::{self, PieParameters};
use fairlane_qdisc::discipline::red::{RedParameters, Uniformize};
use fairlane_qdisc::discipline::sfb::{BinConfig, DecrementAt, DropOnOver};
use fairlane_qdisc::discipline::sfq::Admission;
use fairlane_qdisc::discipline::{cake, droptail, dualpi2, fq_codel, fq_pie, red, sfb, sfq};
use fairlane_qdisc::{AnyConfig, Duration, Rate, Size};

/// The largest exponent of RED's weight that tc(8) tries.
const MAX_EXPONENT: u32 = 31;

/// The largest burst that is tried for a weight. It gives 2^-20 and smaller with any usual threshold.
const MAX_BURST: u32 = 1 << 22;

/// The most packets of a flow in sch_sfq (`SFQ_MAX_DEPTH`).
const SFQ_DEPTH: u32 = 127;

/// The length of an Ethernet header, which the kernel counts as a part of the packet unless it is told not to.
const ETHERNET: u32 = 14;

/// A discipline of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDiscipline {
    /// The words of tc(8), such as `choke limit 300 …`.
    pub words: String,
    /// The discipline holds packets back to the link's rate itself.
    pub shapes: bool,
    /// The differences between this discipline and the library's with its parameters, a sentence for each.
    pub differences: Vec<String>,
}

impl KernelDiscipline {
    /// Translates `config`, for a link of `rate` with packets of `packet` bytes. Returns `None` if the kernel has no
    /// such discipline.
    #[must_use]
    pub fn new(config: &AnyConfig, rate: Rate, packet: u64) -> Option<Self> {
        let mut tc = Translation { words: Vec::new(), differences: Vec::new(), rate, packet: packet.max(1) };
        match config {
            AnyConfig::DropTail(config) => tc.droptail(config)?,
            AnyConfig::Red(config) => tc.red(config),
            AnyConfig::Choke(config) => tc.choke(config)?,
            AnyConfig::Sfb(config) => tc.sfb(config),
            AnyConfig::Sfq(config) => tc.sfq(config),
            AnyConfig::Codel(config) => {
                tc.word("codel");
                tc.limit(config.limit);
                tc.codel(&config.codel);
            }
            AnyConfig::FqCodel(config) => tc.fq_codel(config),
            AnyConfig::Pie(config) => tc.pie(config),
            AnyConfig::FqPie(config) => tc.fq_pie(config),
            AnyConfig::Cake(config) => tc.cake(config),
            AnyConfig::DualPi2(config) => tc.dualpi2(config),
            _ => return None,
        }
        let shapes = matches!(config, AnyConfig::Cake(_));
        Some(Self { words: tc.words.join(" "), shapes, differences: tc.differences })
    }

    /// Returns the commands, without the word `tc`, that put it at the root of `interface`, on a link of `rate`. One
    /// that does not hold packets back stands below a token bucket with a burst of `burst` bytes, which cuts packets
    /// that offload has joined to more than that: the discipline counts those of the link. Packets count from their IP
    /// header, as in the simulator.
    #[must_use]
    pub fn commands(&self, interface: &str, rate: Rate, burst: u64) -> Vec<String> {
        if self.shapes {
            return vec![format!("qdisc replace dev {interface} root handle 2: {}", self.words)];
        }
        let rate = rate.bits_per_second();
        // The discipline limits the queue; tbf's own limit must not.
        vec![
            format!(
                "qdisc replace dev {interface} root handle 1: stab overhead -{ETHERNET} linklayer ethernet \
                 tbf rate {rate}bit burst {burst}b limit 1gb"
            ),
            format!("qdisc replace dev {interface} parent 1:1 handle 2: {}", self.words),
        ]
    }
}

/// A translation in progress.
struct Translation {
    words: Vec<String>,
    differences: Vec<String>,
    rate: Rate,
    packet: u64,
}

impl Translation {
    fn word(&mut self, word: &str) {
        self.words.push(word.to_owned());
    }

    fn pair(&mut self, key: &str, value: impl Display) {
        self.words.extend([key.to_owned(), value.to_string()]);
    }

    fn switch(&mut self, name: &str, on: bool) {
        if on {
            self.word(name);
        }
    }

    fn time(&mut self, key: &str, time: Duration) {
        self.pair(key, format!("{}us", time.as_nanos() / 1_000));
    }

    /// Notes a difference if `differs`.
    fn differs(&mut self, differs: bool, sentence: &str) {
        if differs {
            self.differences.push(sentence.to_owned());
        }
    }

    fn in_packets(&self, size: Size) -> u64 {
        match size {
            Size::Packets(packets) => packets.get().into(),
            Size::Bytes(bytes) => (bytes.get() / self.packet).max(1),
        }
    }

    fn in_bytes(&self, size: Size) -> u64 {
        match size {
            Size::Packets(packets) => u64::from(packets.get()) * self.packet,
            Size::Bytes(bytes) => bytes.get(),
        }
    }

    fn limit(&mut self, limit: Size) {
        self.pair("limit", self.in_packets(limit));
    }

    fn droptail(&mut self, config: &droptail::Config) -> Option<()> {
        match (config.drop, config.limit) {
            (Drop::Tail, Size::Packets(_)) => self.word("pfifo"),
            (Drop::Tail, Size::Bytes(_)) => self.word("bfifo"),
            (Drop::Front, Size::Packets(_)) => self.word("pfifo_head_drop"),
            (Drop::Front, Size::Bytes(_)) | (Drop::Random, _) => return None,
        }
        self.pair("limit", config.limit.number());
        Some(())
    }

    fn red(&mut self, config: &red::Config) {
        let RedParameters { min, max, ref avpkt, .. } = config.red;
        self.word("red");
        self.pair("limit", self.in_bytes(config.limit));
        self.pair("min", self.in_bytes(min));
        self.pair("max", self.in_bytes(max));
        let min = self.in_bytes(min) as f64 / avpkt.get().max(1) as f64;
        self.red_parameters(&config.red, min);
        self.switch("harddrop", config.red.harddrop);
        self.differs(config.probability_weight < 1.0, "sch_red does not filter the probability");
    }

    fn choke(&mut self, config: &choke::Config) -> Option<()> {
        if matches!(config.draw, Draw::Front | Draw::Back) || !matches!(config.candidates, Candidates::Fixed(_)) {
            return None;
        }
        let (min, max) = (self.in_packets(config.red.min), self.in_packets(config.red.max));
        self.word("choke");
        self.limit(config.limit);
        self.pair("min", min);
        self.pair("max", max);
        self.red_parameters(&config.red, min as f64);
        self.differs(
            config.draw != Draw::Linux,
            "sch_choke draws three times over its ring with the holes in it, and then takes the head",
        );
        self.differs(config.candidates != Candidates::Fixed(1), "sch_choke compares with one packet");
        self.differs(!config.compare_above_max, "sch_choke compares above max too");
        self.differs(config.count_matches, "sch_choke does not count an arrival that matched between RED's signals");
        self.differs(config.drop_bit, "sch_choke removes a match at once");
        Some(())
    }

    /// Adds the common parameters of red and choke; `min` is in mean packets.
    fn red_parameters(&mut self, red: &RedParameters, min: f64) {
        self.pair("avpkt", red.avpkt.get());
        let exponent = (-red.weight.log2()).round().clamp(1.0, f64::from(MAX_EXPONENT)) as u32;
        self.differs(
            (red.weight - power_of_half(exponent)).abs() > 1e-12,
            &format!("the kernel's weight of a sample is 2^-{exponent}, the nearest to {}", red.weight),
        );
        match burst_for(exponent, min) {
            Some(burst) => self.pair("burst", burst),
            None => self.differs(true, "tc(8) has no burst for this weight, and takes its default"),
        }
        self.pair("probability", red.probability);
        let bandwidth = red.bandwidth.unwrap_or(self.rate);
        self.pair("bandwidth", format!("{}bit", bandwidth.bits_per_second()));
        self.switch("ecn", red.ecn);
        self.differs(red.gentle, "the kernel's RED is not gentle");
        self.differs(red.uniformize != Uniformize::Count, "the kernel's RED spaces its signals by count");
        self.differs(red.spare, "the kernel's RED spares no packet");
        self.differs(red.byte_drop, "the kernel's RED does not look at a packet's size");
    }

    fn sfb(&mut self, config: &sfb::Config) {
        let sfb::Config { limit, bins, increment, decrement, decrement_at, freeze, harddrop } = config;
        let BinConfig { levels, bins: on_a_level, bin_size, drop_on_over, rehash, jitter, warmup, .. } = *bins;
        self.word("sfb");
        self.limit(*limit);
        self.pair("target", bin_size.get());
        self.pair(
            "max",
            match drop_on_over {
                DropOnOver::All { bin_max } => bin_max.get(),
                DropOnOver::Any => bin_size.get(),
            },
        );
        self.pair("increment", increment);
        self.pair("decrement", decrement);
        // tc(8) takes milliseconds here, contrary to its manual page.
        self.pair("rehash", rehash.as_nanos() / 1_000_000);
        self.pair("db", warmup.as_nanos() / 1_000_000);
        let bits = 8 * self.packet;
        self.pair("penalty_rate", (bins.penalty_rate.bits_per_second() / bits).max(1));
        self.pair("penalty_burst", (bins.penalty_burst.get() / self.packet).max(1));
        self.differs((levels, on_a_level) != (8, 16), "sch_sfb has 8 levels of 16 bins");
        self.differs(
            drop_on_over == DropOnOver::Any,
            "sch_sfb drops when all bins of a flow are full, not any of them",
        );
        self.differs(*decrement_at != DecrementAt::Arrival, "sch_sfb lowers a probability at arrivals");
        self.differs(freeze.is_some(), "sch_sfb changes a probability at each arrival");
        self.differs(jitter, "sch_sfb moves its hash at even times");
        self.differs(!harddrop, "sch_sfb drops a part of the packets that it could mark, from a probability of 1/2 on");
        self.differs(!bins.ecn, "sch_sfb marks packets that can be marked");
    }

    fn sfq(&mut self, config: &sfq::Config) {
        self.word("sfq");
        self.limit(config.limit);
        self.pair("divisor", config.flows.next_power_of_two());
        // The queues of tc's `divisor` are ours; its `flows` are those that may hold packets at a time.
        self.pair("flows", config.flows);
        self.pair("depth", SFQ_DEPTH);
        self.pair("quantum", self.in_bytes(config.quantum));
        let perturb = config.perturb.unwrap_or(Duration::ZERO);
        self.pair("perturb", perturb.as_secs().ceil() as u64);
        self.switch("headdrop", config.headdrop);
        self.differs(
            self.in_packets(config.limit) > SFQ_DEPTH.into(),
            &format!("sch_sfq holds at most {SFQ_DEPTH} packets of a flow"),
        );
        self.differs(config.admission != Admission::Steal, "sch_sfq admits a packet and drops from the longest queue");
    }

    fn codel(&mut self, codel: &CodelParameters) {
        self.time("target", codel.target);
        self.time("interval", codel.interval);
        self.word(if codel.ecn { "ecn" } else { "noecn" });
        if let Some(threshold) = codel.ce_threshold {
            self.time("ce_threshold", threshold);
        }
    }

    fn fq_codel(&mut self, config: &fq_codel::Config) {
        self.word("fq_codel");
        self.limit(config.limit);
        self.pair("flows", config.flows);
        self.pair("quantum", config.quantum.get());
        self.pair("memory_limit", config.memory_limit.get());
        self.pair("drop_batch", config.drop_batch);
        self.codel(&config.codel);
    }

    fn pie(&mut self, config: &pie::Config) {
        self.word("pie");
        self.limit(config.limit);
        self.pie_parameters(&config.pie);
        self.differs(config.onoff, "sch_pie is always on");
        self.differs(config.pie.ecn && config.pie.ecn_prob != 10, "sch_pie marks up to a probability of 10 %");
    }

    fn fq_pie(&mut self, config: &fq_pie::Config) {
        self.word("fq_pie");
        self.limit(config.limit);
        self.pair("flows", config.flows);
        self.pair("quantum", config.quantum.get());
        self.pair("memory_limit", config.memory_limit.get());
        self.pair("ecn_prob", config.pie.ecn_prob);
        self.pie_parameters(&config.pie);
    }

    fn pie_parameters(&mut self, pie: &PieParameters) {
        self.time("target", pie.target);
        self.time("tupdate", pie.tupdate);
        self.pair("alpha", pie.alpha);
        self.pair("beta", pie.beta);
        self.word(if pie.ecn { "ecn" } else { "noecn" });
        self.word(if pie.bytemode { "bytemode" } else { "nobytemode" });
        self.word(if pie.dq_rate_estimator { "dq_rate_estimator" } else { "no_dq_rate_estimator" });
        self.differs(pie.max_burst != Duration::from_millis(150), "the kernel's PIE lets bursts of 150 ms through");
    }

    fn dualpi2(&mut self, config: &dualpi2::Config) {
        let PiParameters { target, tupdate, alpha, beta, coupling_factor, drop_overload } = config.pi;
        self.word("dualpi2");
        self.limit(config.limit);
        self.time("target", target);
        self.time("tupdate", tupdate);
        self.pair("alpha", alpha);
        self.pair("beta", beta);
        self.pair("coupling_factor", coupling_factor.round());
        self.word(if drop_overload { "drop_on_overload" } else { "overflow" });
        if let Laqm::Step { threshold } = config.laqm {
            self.time("step_thresh", threshold);
        }
        self.pair("min_qlen_step", config.min_qlen_step);
        self.pair("classic_protection", config.classic_protection);
        self.differs(matches!(config.laqm, Laqm::Ramp { .. }), "sch_dualpi2 marks by a step, not by a ramp");
        self.differs(config.spare_mtus != 2, "sch_dualpi2's controller spares the last 3028 bytes: spare_mtus = 2");
        self.differs(coupling_factor.fract() != 0.0, "sch_dualpi2's coupling factor is a whole number");
    }

    fn cake(&mut self, config: &cake::Config) {
        self.word("cake");
        // The library's thresholds and quanta follow the link's rate; the kernel's follow their shaper's rate.
        let bandwidth = config.bandwidth.unwrap_or(self.rate);
        self.pair("bandwidth", format!("{}bit", bandwidth.bits_per_second()));
        // Given any overhead, it counts from behind the Ethernet header.
        self.pair("overhead", 0);
        self.word(match config.diffserv {
            Diffserv::Diffserv3 => "diffserv3",
            Diffserv::BestEffort => "besteffort",
            Diffserv::Diffserv4 => "diffserv4",
            Diffserv::Diffserv8 => "diffserv8",
            Diffserv::Precedence => "precedence",
        });
        self.word(match config.isolation {
            Isolation::TripleIsolate => "triple-isolate",
            Isolation::DualSrcHost => "dual-srchost",
            Isolation::DualDstHost => "dual-dsthost",
            Isolation::Flows => "flows",
            Isolation::SrcHost => "srchost",
            Isolation::DstHost => "dsthost",
            Isolation::Hosts => "hosts",
            Isolation::FlowBlind => "flowblind",
        });
        self.time("rtt", config.rtt);
        self.switch("ingress", config.ingress);
        self.switch("wash", config.wash);
        match config.ack_filter {
            AckFilter::None => {}
            AckFilter::Filter => self.word("ack-filter"),
            AckFilter::Aggressive => self.word("ack-filter-aggressive"),
        }
        self.switch("nat", config.nat);
        self.differs(
            config.ack_filter != AckFilter::None,
            "the kernel counts acknowledgements that sch_cake filters among the other drops of its AQM",
        );
        if let Some(limit) = config.limit {
            self.pair("memlimit", self.in_bytes(limit));
        }
        self.differs(true, "sch_cake counts a packet's memory in the kernel, not its bytes, against its limit");
    }
}

/// Returns the smallest burst for which tc(8) chooses the weight 2^-`exponent`: the first W of 1 and up with
/// `burst + 1 - min <= (1 - (1 - 2^-W)^burst) / 2^-W`. `min` is in mean packets.
fn burst_for(exponent: u32, min: f64) -> Option<u32> {
    let first = min.ceil().max(1.0) as u32;
    // The exponent rises with the burst.
    let (mut low, mut high) = (first, MAX_BURST);
    while low < high {
        let middle = low + (high - low) / 2;
        if exponent_of(middle, min).is_some_and(|found| found < exponent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (exponent_of(low, min) == Some(exponent)).then_some(low)
}

fn exponent_of(burst: u32, min: f64) -> Option<u32> {
    (1..=MAX_EXPONENT).find(|&exponent| {
        let weight = power_of_half(exponent);
        f64::from(burst) + 1.0 - min <= (1.0 - power(1.0 - weight, burst)) / weight
    })
}

/// Returns 2^-`exponent`.
fn power_of_half(exponent: u32) -> f64 {
    1.0 / (1_u64 << exponent) as f64
}

/// Returns `base` to the power of `exponent`, by squares.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power *= base;
        }
        base *= base;
        exponent /= 2;
    }
    power
}

#[cfg(test)]
mod tests;
