//! The C of the programs, compiled for user space, decides as the library does: for the conformance vectors, and for
//! random operations with other parameters.
//!
//! Decisions are equal packet by packet, given the same random numbers. The average is in fixed point, with a weight
//! rounded to 2^-33 and products that lose up to 2^-32. A sample thus adds an error of at most 2^-32 + Q 2^-33 for a
//! queue of at most Q, which decays by 1 - w each sample: the sum is below (1 + Q/2) 2^-32 / w. An idle time multiplies
//! the average by (1 - w)^m, whose error by repeated squaring is below 4 * 2^-32 / w. Together: (1 + 5 Q) 2^-32 / w.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

use fairlane_qdisc::testing::{Event, Operation, Vector, replay};
use fairlane_qdisc::{AnyConfig, Host, Kind, QdiscConfig, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time};

use crate::program::Program;

type Outcome = Result<(), Box<dyn Error>>;

const REASONS: [Reason; 5] = [Reason::Limit, Reason::Early, Reason::Forced, Reason::MatchArrival, Reason::MatchVictim];

/// The place of the number of candidates in the parameters.
const CANDIDATES: usize = 22;

/// The actions of the C program in one step.
struct Step {
    events: Vec<Event>,
    packets: u64,
    bytes: u64,
    average: f64,
    span: u64,
}

/// The compiled C; `None`, with a word, where there is no compiler.
fn compile(folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let (program, source) = (folder.join("replay"), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay.c"));
    let arguments = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsanitize=undefined"];
    let compiled =
        Command::new("cc").args(arguments).arg("-fno-sanitize-recover").arg(source).arg("-o").arg(&program).output();
    let Ok(compiled) = compiled else {
        skip::because("cc", "there is no C compiler (cc)");
        return Ok(None);
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Ok(Some(program))
}

/// Gives the operations to the C.
fn run(
    replay: &Path,
    config: &QdiscConfig,
    host: &Host,
    operations: &[Operation],
) -> Result<Vec<Step>, Box<dyn Error>> {
    let program = Program::new(config, host.rate)?;
    let numbers = |name: &str, count: usize| {
        let mut stream = host.seed.stream(name);
        let all: Vec<String> = (0..count).map(|_| (stream.bits() >> 32).to_string()).collect();
        format!("{count} {}\n", all.join(" "))
    };
    let all = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let mut text = format!("{} {} {}\n", program.name, program.parameters.len(), all(&program.parameters));
    text += &numbers("red", operations.len());
    // A candidate takes two throws where half of the ring is holes, and a few more where candidates must be distinct.
    text += &numbers("choke", (8 + 2 * program.parameters[CANDIDATES].min(64) as usize) * operations.len());
    for operation in operations {
        match operation {
            Operation::Enqueue(at, SimplePacket { id, flow, bytes, ecn_capable, .. }) => {
                writeln!(text, "enqueue {} {id} {flow} {bytes} {}", at.as_nanos(), u8::from(*ecn_capable))?;
            }
            Operation::Dequeue(at) => writeln!(text, "dequeue {}", at.as_nanos())?,
        }
    }
    let mut child = Command::new(replay).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let writing = thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    writing.join().map_err(|_| "the writer panicked")??;
    assert!(output.status.success(), "{}", config.kind());
    String::from_utf8(output.stdout)?.lines().map(step).collect()
}

fn step(line: &str) -> Result<Step, Box<dyn Error>> {
    let (events, after) = line.split_once("= ").ok_or("no result")?;
    let words: Vec<&str> = events.split_whitespace().collect();
    let event = |words: &[&str]| -> Result<Event, Box<dyn Error>> {
        let (id, reason) = (words[1].parse()?, words[2].parse::<usize>()?);
        Ok(match words[0] {
            "departed" => Event::Departed(id),
            "marked" => Event::Marked(id, REASONS[reason - 1]),
            _ => Event::Dropped(id, REASONS[reason - 1]),
        })
    };
    let after = after.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let [packets, bytes, average, span] = after[..] else { return Err("not four numbers".into()) };
    let events = words.chunks(3).map(event).collect::<Result<_, _>>()?;
    Ok(Step { events, packets, bytes, average: average as f64 / 4_294_967_296.0, span })
}

/// Returns the bound of the average's error.
fn bound(config: &QdiscConfig) -> f64 {
    let (AnyConfig::Red(fairlane_qdisc::discipline::red::Config { limit, red, .. })
    | AnyConfig::Choke(fairlane_qdisc::discipline::choke::Config { limit, red, .. })) = config.config()
    else {
        panic!("{} has no program", config.kind());
    };
    // A packet has at most 1500 bytes here.
    let most = limit.number() as f64 * if limit.has_unit_of(red.max) { 1.0 } else { 1500.0 };
    (1.0 + 5.0 * most) / 4_294_967_296.0 / red.weight
}

/// Compares the C with the library.
fn compare(
    name: &str,
    program: &Path,
    config: &QdiscConfig,
    host: &Host,
    operations: &[Operation],
    expected: &[fairlane_qdisc::testing::Step],
) -> Outcome {
    let steps = run(program, config, host, operations)?;
    assert_eq!(steps.len(), operations.len(), "{name}");
    let bound = bound(config);
    let program_slots = u64::from(Program::new(config, host.rate)?.slots);
    for (at, (got, expected)) in steps.iter().zip(expected).enumerate() {
        let averages = (got.average, expected.average);
        assert_eq!(got.events, expected.events, "{name}, operation {at}: {:?}, averages {averages:?}", operations[at]);
        assert_eq!((got.packets, got.bytes), (expected.packets, expected.bytes), "{name}, operation {at}");
        let error = (got.average - expected.average.unwrap_or(0.0)).abs();
        assert!(error <= bound, "{name}, operation {at}: the average is off by {error}, more than {bound}");
        let places = program_slots.min(2 * got.packets + 8);
        assert!(got.span <= places, "{name}, operation {at}: {} slots for {} packets", got.span, got.packets);
    }
    Ok(())
}

/// Would catch any difference between the kernel's decisions and those of the slow references, which wrote these
/// vectors.
#[test]
fn the_programs_decide_as_the_vectors_say() -> Outcome {
    let folder = tempfile::tempdir()?;
    let Some(program) = compile(folder.path())? else { return Ok(()) };
    for name in ["choke", "front-choke", "back-choke", "gchoke", "red"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../conformance/vectors/{name}.jsonl"));
        let vector = Vector::parse(&fs::read_to_string(file)?)?;
        let config = vector.parameters.resolve(vector.host.rate)?;
        compare(name, &program, &config, &vector.host, &vector.operations, &vector.expected)?;
    }
    Ok(())
}

/// Returns arrivals of a heavy and of light flows at changing rates, with pauses, and departures.
fn operations(seed: Seed, count: u64) -> Vec<Operation> {
    let mut script = seed.stream("script");
    let mut now = 1_000_000_000;
    let mut operations = Vec::new();
    for id in 0..count {
        // Phases of twice, twelve times and half the link's rate; a pause between them.
        let phase = id / 400 % 3;
        let departures = [1, 1, 2][phase as usize];
        for _ in 0..departures {
            now += u64::from(script.below(4_000_000));
            if phase != 1 || id % 6 == 0 {
                operations.push(Operation::Dequeue(Time::from_nanos(now)));
            }
        }
        if id % 1200 == 1199 {
            // The queue runs empty, and the link is idle.
            for _ in 0..200 {
                now += 8_000_000;
                operations.push(Operation::Dequeue(Time::from_nanos(now)));
            }
            now += u64::from(script.below(2_000_000_000));
        }
        let flow = if script.below(3) > 0 { 0 } else { 1 + u64::from(script.below(10)) };
        let mut packet = SimplePacket::new(flow, 40 + script.below(1461)).with_id(id);
        packet.ecn_capable = script.below(2) > 0;
        now += 1000;
        operations.push(Operation::Enqueue(Time::from_nanos(now), packet));
    }
    operations
}

/// Parameters that take every path: each way to draw, several candidates, sizes in bytes, each spacing, Linux's
/// reading.
const PARAMETERS: [(Kind, &str); 14] = [
    (Kind::Choke, "limit=300p min=100p max=200p weight=0.002"),
    (Kind::Choke, "limit=100p min=20p max=60p candidates=3 weight=0.02 probability=0.5"),
    (Kind::Choke, "limit=100p min=20p max=60p candidates=64 weight=0.02 ecn=true harddrop=true"),
    (Kind::Choke, "limit=100p min=10p max=30p candidates=5 sampling=replacement weight=0.05"),
    (
        Kind::Choke,
        "limit=300p min=100p max=200p weight=0.015625 probability=0.02 uniformize=count spare=false count_matches=false sampling=linux",
    ),
    (Kind::Choke, "limit=60p min=5p max=15p candidates=4 sampling=linux weight=0.1 compare_above_max=false"),
    (Kind::Choke, "limit=60000b min=10000b max=30000b weight=0.02 candidates=2"),
    (Kind::Choke, "limit=40p min=3000b max=9000b weight=0.3 byte_drop=true uniformize=count"),
    (Kind::Gchoke, "limit=100p min=20p max=60p maxcomp=5 weight=0.02"),
    (Kind::FrontChoke, "limit=100p min=20p max=60p candidates=4 weight=0.02"),
    (Kind::BackChoke, "limit=100p min=20p max=60p candidates=4 weight=0.02 gentle=true"),
    (Kind::Red, "limit=300p min=30p max=90p weight=0.002 gentle=true ecn=true"),
    (Kind::Red, "limit=50p min=5p max=15p weight=1 uniformize=none byte_drop=true"),
    (Kind::Red, "limit=200p min=30p max=30p weight=0.01 probability=1 uniformize=wait"),
];

/// Would catch a path of the C that the vectors do not take and that differs from the library, a ring that outgrows its
/// slots, and an average that drifts.
#[test]
fn the_programs_decide_as_the_library_does() -> Outcome {
    let folder = tempfile::tempdir()?;
    let Some(program) = compile(folder.path())? else { return Ok(()) };
    for (number, (kind, text)) in (0..).zip(PARAMETERS) {
        let mut parameters = QdiscParameters::new(kind);
        for (key, value) in text.split(' ').filter_map(|setting| setting.split_once('=')) {
            parameters.set(key, value.into())?;
        }
        let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(number) };
        let config = parameters.resolve(host.rate)?;
        let operations = operations(host.seed, 3600);
        let expected = replay(&mut *config.build(&host)?, &operations);
        compare(text, &program, &config, &host, &operations, &expected)?;
    }
    Ok(())
}
