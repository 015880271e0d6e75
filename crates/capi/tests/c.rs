//! The library, used from C.

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use common::{CRATE, Outcome, compile, installed, run, text};
use fairlane_qdisc::{BoxQdisc, DropSink, Host, Kind, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time};

fn checks(name: &str, flags: &[&str]) -> Result<PathBuf, Box<dyn std::error::Error>> {
    compile(&Path::new(CRATE).join("tests/checks.c"), name, flags)
}

/// The course of a queue, as `checks.c` sums it up.
#[derive(Default)]
struct Course {
    random: u64,
    sum: u64,
    drops: u64,
    marks: u64,
}

impl Course {
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    fn add(&mut self, value: u64) {
        self.sum = (self.sum ^ value).wrapping_mul(1_099_511_628_211);
    }

    fn event(&mut self, handle: u64, reason: Reason, marked: u64) {
        self.add(handle);
        self.add(2 * (reason.index() as u64 + 1) + marked);
    }
}

impl DropSink<SimplePacket> for Course {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.drops += 1;
        self.event(packet.id, reason, 0);
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        self.marks += 1;
        self.event(packet.id, reason, 1);
    }
}

/// Does in Rust what `checks.c` does, and returns the line that it prints.
fn course(kind: Kind, burst: u64) -> Result<String, Box<dyn std::error::Error>> {
    let host = Host { rate: Rate::from_bits_per_second(10_000_000), seed: Seed::new(7) };
    let mut queue: BoxQdisc<SimplePacket> = QdiscParameters::new(kind).build(&host)?;
    let mut course = Course { random: 1, ..Course::default() };
    let (mut now, mut latest, mut handle) = (0, 0, 0);
    for step in 0..60_000_u64 {
        now += course.next() % 900_000;
        // The library takes a time before an earlier one for that.
        latest = if step % 100 == 99 && now > 5_000_000 { now - 5_000_000 } else { now }.max(latest);
        let at = Time::from_nanos(latest);
        if step % 10_000 == 9999 {
            queue.link_rate(Rate::from_bits_per_second(5_000_000 + step));
        }
        let count = if burst > 0 { 1 + step % burst } else { 1 };
        let arrives = course.next() % 9 < 5;
        // The caller sees a burst after all of its events.
        let (mut arriving, mut leaving) = (Vec::new(), Vec::new());
        for _ in 0..count {
            if !arrives {
                leaving.extend(queue.dequeue(at, &mut course));
                continue;
            }
            handle += 1;
            let flow = course.next() % 50;
            let bytes = 40 + (course.next() % 1461) as u32;
            let tos = course.next() as u8;
            // 0 stands for a host of the flow.
            let mut host = || Some(course.next() % 5).filter(|host| *host > 0).unwrap_or(flow) as u32;
            let mut packet = SimplePacket::new(flow, bytes).with_id(handle).with_hosts(host(), host()).with_class(tos);
            (packet.ecn_capable, packet.l4s) = (tos & 3 != 0, tos & 1 != 0);
            packet = packet.with_label(course.next() % 1_000_000);
            packet.responsive = !course.next().is_multiple_of(4);
            arriving.push(packet);
        }
        for packet in arriving {
            queue.enqueue(at, packet, &mut course);
        }
        for packet in leaving {
            let tos = packet.class | if packet.marked { 3 } else { 0 };
            for value in [packet.id, tos.into(), packet.label, packet.bytes.into()] {
                course.add(value);
            }
        }
    }
    let Course { sum, drops, marks, .. } = course;
    Ok(format!("{kind} {sum:016x} drops {drops} marks {marks} left {}\n", queue.packets()))
}

/// Would catch a handle that is lost or told twice, and any difference between C and Rust: in what leaves, when, and in
/// which order.
#[test]
fn every_discipline_does_the_same_as_in_rust() -> Outcome {
    let program = checks("all", &[])?;
    for (mode, burst) in [("all", 0), ("bursts", 8)] {
        let expected = Kind::ALL.iter().map(|kind| course(*kind, burst)).collect::<Result<String, _>>()?;
        assert!(Kind::ALL.len() >= 42 && expected.contains("choke "), "{expected}");
        assert_eq!(run(&program, mode)?, expected);
    }
    Ok(())
}

/// Would catch queues that lose packets when they are freed or purged, and threads that disturb each other.
#[test]
fn many_queues_and_two_threads() -> Outcome {
    let program = checks("many", &[])?;
    assert_eq!(run(&program, "many")?, "twice or never 0\n");
    let line = course("choke".parse()?, 0)?;
    assert_eq!(run(&program, "threads")?, line.repeat(2));
    Ok(())
}

const ERRORS: &str = "\
NULL: there is no text: the pointer is NULL
: kind: there is no discipline; begin with its name, as in \"choke limit=300p\"
chok: kind: there is no queue discipline \"chok\"; did you mean \"choke\"?
choke limits=3p: limits: choke has no parameter \"limits\": did you mean \"limit\"? it has limit, mi
choke limit=-1p: limit: a number of packets cannot be \"-1p\": it must start with a number that is
choke: choke bandwidth: the link has no rate, which the average's idle clock needs: wr
choke,limit=300p,min=400p: choke min: 400p is above max, which is 75p: min must not be above max
\u{fffd}: the text is not UTF-8
NULL error: 1
little room: kind: t
full: 0
full: 0
full: 1
change: -1 choke min: 2p is above max, which is 1p: min must not be above max
changed: 0, in the queue 100
reasons: -1 -1
names: limit purged 1 1
NULL: -1 -1 -1 -1
NULL: 0 0 0 1
NULL: -1 -1 0 -1 1
NULL: -1 -1 1
explain: 1 choke
explain: -1, 1
classify: 0 60 185 5 1
classify: 1 -1 -1
classify: -1 -1
";

/// Would catch undefined behaviour where the header promises an answer, and errors without text.
#[test]
fn mistakes_have_answers() -> Outcome {
    let program = checks("errors", &[])?;
    let output = Command::new(&program).arg("errors").output()?;
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), ERRORS);
    Ok(())
}

/// Would catch reads and writes outside of memory that is there, and memory that nobody frees.
#[test]
fn valgrind_finds_nothing() -> Outcome {
    if Command::new("valgrind").arg("--version").output().is_err() {
        skip::because("valgrind", "there is no valgrind");
        return Ok(());
    }
    let program = checks("valgrind", &[])?;
    for mode in ["many", "errors", "threads"] {
        let found = Command::new("valgrind")
            .args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"])
            .arg(&program)
            .arg(mode)
            .output()?;
        assert!(found.status.success(), "{mode}: {}", String::from_utf8_lossy(&found.stderr));
    }
    Ok(())
}

/// Would catch the same on all disciplines, and undefined behaviour in the program's part.
#[test]
fn sanitizers_find_nothing() -> Outcome {
    let program = checks("sanitized", &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])?;
    for mode in ["all", "bursts", "many", "threads", "errors"] {
        let output = Command::new(&program).arg(mode).output()?;
        assert!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Would catch a document whose program does not compile as printed, or does not relay.
#[test]
fn the_program_of_the_document_relays() -> Outcome {
    let document = include_str!("../../../docs/c.md");
    let program = document.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no program")?;
    let folder = env::current_exe()?.parent().ok_or("a program is in a folder")?.to_owned();
    // Other programs may have the ports of the document.
    let into = UdpSocket::bind("127.0.0.1:0")?;
    let free = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
    let program =
        program.replace("7000", &free.port().to_string()).replace("7001", &into.local_addr()?.port().to_string());
    let source = folder.join("relay.c");
    fs::write(&source, program)?;
    let program = compile(&source, "relay", &[])?;
    let error = Command::new(&program).arg("chok").output()?;
    assert!(String::from_utf8_lossy(&error.stderr).contains("did you mean \"choke\"?"));
    let mut relay = Command::new(&program).arg("droptail limit=10p").stderr(Stdio::piped()).spawn()?;
    let outcome = relayed(&into, free);
    relay.kill()?;
    let errors = relay.wait_with_output()?.stderr;
    let received = outcome?;
    let dropped = String::from_utf8_lossy(&errors).lines().filter(|line| *line == "dropped: limit").count();
    // The link sends one of 1028 bytes in 0.8 ms, so of 60 at once most find the queue full.
    assert!((11..60).contains(&received), "{received}");
    assert_eq!(received + dropped, 60);
    Ok(())
}

/// Sends 60 datagrams at once to a relay at `to`, once it is there, and returns how many come out of it.
fn relayed(into: &UdpSocket, to: SocketAddr) -> std::io::Result<usize> {
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    let mut data = [0; 2000];
    into.set_read_timeout(Some(Duration::from_millis(50)))?;
    for _ in 0..200 {
        sender.send_to(b"there?", to)?;
        if into.recv(&mut data).is_ok() {
            break;
        }
    }
    into.set_read_timeout(Some(Duration::from_secs(1)))?;
    while into.recv(&mut data).is_ok() {}
    // A socket has room for so many.
    for _ in 0..60 {
        sender.send_to(&[0; 1000], to)?;
    }
    let mut received = 0;
    while into.recv(&mut data).is_ok() {
        received += 1;
    }
    Ok(received)
}

/// Would catch a library that is installed without a part, and functions that the header or the man page lacks.
#[test]
fn an_installed_library_can_be_used() -> Outcome {
    let Some(prefix) = installed("capi-installed")? else { return Ok(()) };
    let options = Command::new("pkg-config")
        .args(["--cflags", "--libs", "fairlane"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output()?;
    let program = prefix.join("checks");
    let compiled = Command::new("cc")
        .arg(Path::new(CRATE).join("tests/checks.c"))
        .args(text(options)?.split_whitespace())
        .args(["-lpthread", "-o"])
        .arg(&program)
        .output()?;
    text(compiled)?;
    let many = Command::new(&program).arg("many").env("LD_LIBRARY_PATH", prefix.join("lib")).output()?;
    assert_eq!(text(many)?, "twice or never 0\n");
    let header = fs::read_to_string(prefix.join("include/fairlane.h"))?;
    let page = fs::read_to_string(prefix.join("share/man/man3/libfairlane.3"))?;
    let library = prefix.join("lib/libfairlane.so");
    let symbols = text(Command::new("nm").args(["-D", "--defined-only"]).arg(library).output()?)?;
    let names = symbols.lines().filter_map(|line| line.split_whitespace().last());
    let names: Vec<&str> = names.filter(|name| name.starts_with("fl_")).collect();
    assert_eq!(names.len(), 22, "{names:?}");
    for name in names {
        assert!(header.contains(&format!("{name}(")) && page.contains(&format!(".Fn {name} ")), "{name}");
    }
    Ok(())
}

/// Would catch a header that C++ does not read.
#[test]
fn the_header_is_one_of_c_plus_plus() -> Outcome {
    let header = Path::new(CRATE).join("include/fairlane.h");
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let command = Command::new(compiler).args(["-Wall", "-Werror", "-fsyntax-only", "-x", "c++"]).arg(header).output();
    match command {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => skip::because("cxx", error.to_string()),
    }
    Ok(())
}
