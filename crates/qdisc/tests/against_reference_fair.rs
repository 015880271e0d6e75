//! Comparison of the fair queueing disciplines with their slow references, decision by decision, under random scripts.

#[path = "reference/cbq.rs"]
mod cbq;
#[path = "reference/drr.rs"]
mod drr;
#[path = "reference/fair.rs"]
mod fair;
#[path = "reference/ties.rs"]
mod ties;

use fairlane_qdisc::testing::{Event, Recorder};
use fairlane_qdisc::{Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};
use proptest::prelude::*;

const RATE: u64 = 1_000_000;

const SEED: Seed = Seed::new(1);

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue {
        flow: u64,
        bytes: u32,
        class: u8,
    },
    Dequeue,
    Wait(Duration),
    /// Waits until a packet that is held back is ready.
    UntilReady,
}

/// Arrivals of a heavy flow and others, departures, and waiting times from nothing to days. Whole milliseconds make
/// virtual times equal, so that ties are tried too.
fn step() -> impl Strategy<Value = Step> {
    let flow = prop_oneof![3 => Just(0_u64), 4 => 1_u64..9, 1 => Just(u64::MAX)];
    let bytes = prop::sample::select(vec![40_u32, 250, 500, 1000, 1000, 1500, 9000]);
    prop_oneof![
        12 => (flow, bytes, prop_oneof![2 => Just(0_u8), 1 => any::<u8>()])
            .prop_map(|(flow, bytes, class)| Step::Enqueue { flow, bytes, class }),
        7 => Just(Step::Dequeue),
        1 => Just(Step::UntilReady),
        2 => (0_u64..40).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
        2 => (1_u64..40_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        1 => (500_u64..400_000_000).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
    ]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..500)
}

/// A limit as text and as a number, and whether it is in bytes.
fn limit() -> impl Strategy<Value = (String, u64, bool)> {
    prop_oneof![
        (0_u64..40).prop_map(|packets| (format!("{packets}p"), packets, false)),
        (0_u64..40_000).prop_map(|bytes| (format!("{bytes}b"), bytes, true)),
    ]
}

/// A slow reference.
trait Slow {
    fn enqueue(&mut self, now: Time, packet: SimplePacket);
    fn dequeue(&mut self, now: Time);
    fn backlog(&self) -> (usize, u64);
    fn events(&self) -> &[Event];
    fn ready_at(&self) -> Option<Time> {
        None
    }
}

impl Slow for cbq::Reference {
    fn enqueue(&mut self, _now: Time, packet: SimplePacket) {
        self.enqueue(packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.dequeue(now);
    }
    fn backlog(&self) -> (usize, u64) {
        (self.packets(), self.bytes())
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
    fn ready_at(&self) -> Option<Time> {
        self.ready_at()
    }
}

impl Slow for drr::Reference {
    fn enqueue(&mut self, _now: Time, packet: SimplePacket) {
        self.enqueue(packet);
    }
    fn dequeue(&mut self, _now: Time) {
        self.dequeue();
    }
    fn backlog(&self) -> (usize, u64) {
        (self.packets(), self.bytes())
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
}

impl Slow for fair::Reference {
    fn enqueue(&mut self, now: Time, packet: SimplePacket) {
        self.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Time) {
        self.dequeue(now);
    }
    fn backlog(&self) -> (usize, u64) {
        (self.packets(), self.bytes())
    }
    fn events(&self) -> &[Event] {
        &self.events
    }
}

fn parameters(kind: Kind, given: &[(&str, &str)]) -> Result<QdiscParameters, ParameterError> {
    given.iter().try_fold(QdiscParameters::new(kind), |parameters, &(key, text)| parameters.with(key, text))
}

/// Runs `script` on the discipline and on its reference, and compares them after each step.
fn compare(
    parameters: Result<QdiscParameters, ParameterError>,
    mut slow: impl Slow,
    script: Vec<Step>,
) -> Result<(), TestCaseError> {
    let host = Host { rate: Rate::from_bits_per_second(RATE), seed: SEED };
    let mut queue =
        parameters.and_then(|given| given.build(&host)).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut recorder = Recorder::default();
    let mut now = Time::ZERO;
    for (id, step) in script.into_iter().enumerate() {
        match step {
            Step::Enqueue { flow, bytes, class } => {
                let packet = SimplePacket::new(flow, bytes).with_id(id as u64).with_class(class);
                recorder.enqueue(&mut queue, now, packet);
                slow.enqueue(now, packet);
            }
            Step::Dequeue => {
                recorder.dequeue(&mut queue, now);
                slow.dequeue(now);
            }
            Step::Wait(time) => now += time,
            Step::UntilReady => now = now.max(queue.ready_at().unwrap_or(now)),
        }
        prop_assert_eq!(&recorder.events[..], slow.events());
        prop_assert_eq!((queue.packets(), queue.bytes()), slow.backlog());
        prop_assert_eq!(queue.ready_at(), slow.ready_at());
    }
    recorder.check_counters(&queue);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch a turn that is lost or taken twice, a deficit counter kept by an empty queue, a drop of the wrong
    /// packet, and skipped rounds that differ from rounds taken one by one.
    #[test]
    fn drr_decides_as_the_reference(
        (limit, number, limit_in_bytes) in limit(),
        quantum in prop::sample::select(vec![1_u64, 37, 250, 1000, 1500, 9000]),
        drop_front in any::<bool>(),
        weighted in any::<bool>(),
        script in script(),
    ) {
        let drop = if drop_front { "front" } else { "tail" };
        let quantum_text = format!("{quantum}b");
        let given = [("limit", &limit[..]), ("quantum", &quantum_text), ("drop", drop), ("weighted", &weighted.to_string())];
        let settings = drr::Settings { limit: number, limit_in_bytes, quantum, drop_front, weighted };
        compare(parameters(Kind::Drr, &given), drr::Reference::new(settings, SEED), script)?;
    }

    /// Would catch a tag that differs by one unit where it decides, virtual time that misses the end of a flow, a tie
    /// that goes to another flow, and state that is kept over an idle time.
    #[test]
    fn fair_queueing_decides_as_the_reference(
        (kind, clock) in prop::sample::select(vec![
            (Kind::Wfq, fair::Clock::Wfq), (Kind::Scfq, fair::Clock::Scfq), (Kind::Stfq, fair::Clock::Stfq),
        ]),
        (limit, number, limit_in_bytes) in limit(),
        weighted in any::<bool>(),
        script in script(),
    ) {
        let given = [("limit", &limit[..]), ("weighted", &weighted.to_string())];
        let settings = fair::Settings { clock, limit: number, limit_in_bytes, weighted, rate: RATE };
        compare(parameters(kind, &given), fair::Reference::new(settings, SEED), script)?;
    }

    /// Would catch an average that differs, a class that borrows although it is bounded or although another is below
    /// its share, a priority or a turn that is passed over, and a class that is ready too early or too late.
    #[test]
    fn cbq_decides_as_the_reference(
        (limit, number, limit_in_bytes) in limit(),
        (shares, prio) in classes(),
        bounded in 0_u8..=255,
        maxburst in prop::sample::select(vec![1_u32, 20, 256]),
        extradelay in prop::option::of(1_u64..30),
        script in script(),
    ) {
        let bounded: Vec<bool> = (0..shares.len()).map(|k| bounded & 1 << k != 0).collect();
        let text = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(",");
        let mut given = vec![
            ("limit", limit),
            ("shares", text(&mut shares.iter().map(f64::to_string))),
            ("prio", text(&mut prio.iter().map(u8::to_string))),
            ("maxburst", format!("{maxburst}p")),
        ];
        given.extend(extradelay.map(|millis| ("extradelay", format!("{millis}ms"))));
        if bounded.contains(&true) {
            let mut list = (0..bounded.len()).filter(|&k| bounded[k]).map(|k| k.to_string());
            given.push(("bounded", text(&mut list)));
        }
        let given: Vec<_> = given.iter().map(|(key, text)| (*key, text.as_str())).collect();
        let extradelay = extradelay.map_or(0.0, |millis| millis as f64 * 1e6);
        let rate = RATE as f64;
        let settings =
            cbq::Settings { limit: number, limit_in_bytes, shares, prio, bounded, maxburst, extradelay, rate };
        compare(parameters(Kind::Cbq, &given), cbq::Reference::new(settings), script)?;
    }
}

/// Shares and priorities of one to eight classes.
fn classes() -> impl Strategy<Value = (Vec<f64>, Vec<u8>)> {
    prop_oneof![
        prop::sample::select(vec![vec![1.0], vec![0.5, 0.25], vec![0.125; 8], vec![0.3, 0.1, 0.6], vec![0.01, 0.99]]),
        prop::collection::vec(0.01..0.125_f64, 1..=8),
    ]
    .prop_flat_map(|shares| (Just(shares.clone()), prop::collection::vec(1_u8..4, shares.len())))
}
