//! Attaching, replacing and detaching under traffic leaves nothing behind: no object, no pinned file, no memory.

use std::error::Error;
use std::fs;
use std::thread;
use std::time::Duration;

use fairlane_bpf::{attach, detach, status};
use fairlane_qdisc::Kind;
use libbpf_rs::query::{BtfInfoIter, LinkInfoIter, MapInfoIter, ProgInfoIter};

use super::Checked;
use super::traffic::{DEVICE, Traffic, device, discipline, generated, prepare, start, statistic, stop};

/// The disciplines, one after the other. With `ecn` there is a second program in front of the device.
const DISCIPLINES: [(Kind, &str); 3] = [
    (Kind::Choke, "limit=300p min=100p max=200p"),
    (Kind::Gchoke, "limit=100p min=20p max=60p ecn=true"),
    (Kind::Red, "limit=100p min=20p max=60p"),
];

/// The first rounds fill the kernel's caches.
const FIRST: u64 = 2;

/// The bytes of memory that may be missing at the end: noise of the kernel's caches, and some for each round. A ring of
/// 512 slots alone has 32 kB.
const NOISE: i64 = 2 << 20;
const EACH_ROUND: i64 = 1 << 12;

/// The BPF objects in the kernel, and the files that are pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Objects {
    programs: usize,
    maps: usize,
    links: usize,
    types: usize,
    pinned: usize,
}

/// Attaches, replaces and detaches `rounds` times.
pub(super) fn check(rounds: u64) -> Checked {
    device()?;
    // 40 Mbit/s, four times the link.
    let steady = Traffic { packets: 0, flows: 20, bytes: [1000; 2], delay_ns: 200_000, ecn: true };
    prepare(&steady)?;
    let generator = thread::spawn(start);
    let churned = churn(rounds);
    stop()?;
    generator.join().map_err(|_| "the generator's thread panicked")??;
    let sent = (generated()?.packets, statistic("tx_packets")?);
    churned.map(|text| format!("{text}; {} packets came and {} passed meanwhile", sent.0, sent.1))
}

fn churn(rounds: u64) -> Checked {
    for round in 0..FIRST {
        one(round)?;
    }
    let (objects, memory) = (settled(None)?, available()?);
    for round in 0..rounds {
        one(round)?;
    }
    let after = settled(Some(&objects))?;
    if after != objects {
        return Err(format!("{objects:?} has become {after:?}").into());
    }
    let most = NOISE + EACH_ROUND * rounds as i64;
    let missing = missing(memory, most)?;
    if missing > most {
        return Err(format!("{missing} bytes of memory are missing").into());
    }
    Ok(format!("{after:?} as before, and {} kB of memory less", missing / 1024))
}

fn one(round: u64) -> Result<(), Box<dyn Error>> {
    let program = |round: u64| {
        let (kind, parameters) = DISCIPLINES[(round % DISCIPLINES.len() as u64) as usize];
        discipline(kind, parameters, 10)
    };
    attach(DEVICE, &program(round)?)?;
    wait(2);
    attach(DEVICE, &program(round + 1)?)?;
    wait(2);
    let instances = status()?;
    if instances.len() != 1 || instances[0].state.arrived.packets == 0 {
        return Err(format!("round {round}: {instances:?}").into());
    }
    Ok(detach(DEVICE)?)
}

/// Counts the objects until they are as `expected` or a second has passed: the kernel frees some of it later.
fn settled(expected: Option<&Objects>) -> Result<Objects, Box<dyn Error>> {
    for _ in 0..20 {
        wait(50);
        let now = objects()?;
        if expected == Some(&now) {
            return Ok(now);
        }
    }
    objects()
}

/// Returns the bytes that are missing of `memory`, when they are at most `most` or a second has passed.
fn missing(memory: i64, most: i64) -> Result<i64, Box<dyn Error>> {
    for _ in 0..20 {
        let missing = memory - available()?;
        if missing <= most {
            return Ok(missing);
        }
        wait(50);
    }
    Ok(memory - available()?)
}

fn objects() -> Result<Objects, Box<dyn Error>> {
    Ok(Objects {
        programs: ProgInfoIter::default().count(),
        maps: MapInfoIter::default().count(),
        links: LinkInfoIter::default().count(),
        types: BtfInfoIter::default().count(),
        pinned: fs::read_dir("/sys/fs/bpf/fairlane")?.count(),
    })
}

/// Returns the bytes of memory that are available, without caches that can be dropped.
fn available() -> Result<i64, Box<dyn Error>> {
    fs::write("/proc/sys/vm/drop_caches", "3")?;
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()).ok_or("there is no MemAvailable")?;
    Ok(kilobytes.parse::<i64>()? * 1024)
}

#[expect(clippy::disallowed_methods, reason = "time of the guest, in which the kernel works in the background")]
fn wait(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}
