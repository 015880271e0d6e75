//! `fairlane shell --in guest`: commands behind links in virtual time.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the programs inside use clocks")]

mod common;
#[path = "shell/inside.rs"]
mod inside;

use std::fs;
use std::hint::spin_loop;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::prelude::CommandCargoExt;
use common::Place;
use common::guest::kernel;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A link that loses packets, so that a seed makes a difference.
const LINK: &str = r#"
duration = "20s"
seed = 7
[bottleneck]
rate = "5mbit"
delay = "10ms"
loss = 0.03
queue = { kind = "choke", limit = "100p", min = "20p", max = "40p" }
[bottleneck.reverse]
rate = "1mbit"
delay = "10ms"
[[flows]]
name = "a"
kind = "tcp"
"#;

/// A folder with a scenario, in which the shells of a test run.
struct Folder(Place);

impl Folder {
    fn new() -> Self {
        let place = Place::new();
        place.write("link.toml", LINK);
        Self(place)
    }

    fn shell(&self, options: &[&str], command: &[&str]) -> Output {
        let mut shell = Command::cargo_bin("fairlane").unwrap();
        shell.current_dir(self.0.path("")).args(["shell", "link.toml"]).args(options).arg("--").args(command);
        shell.env("LC_TIME", "C").output().unwrap()
    }

    fn script(&self, name: &str, text: &str) {
        self.0.write(name, text);
        fs::set_permissions(self.0.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a command in a guest, without the report.
    fn in_guest(&self, kernel: &str, options: &[&str], command: &[&str]) -> (Option<i32>, String, String) {
        said(&self.shell(&[&["--in", "guest", "--kernel", kernel, "--quiet"], options].concat(), command))
    }
}

/// Copies this program into `place` without what a debugger needs, and returns its path.
fn stripped(place: &Place) -> String {
    let (own, copy) = (std::env::current_exe().unwrap(), place.name("program"));
    let strip = Command::new("strip").arg("--strip-debug").arg("-o").arg(&copy).arg(&own).status();
    if !strip.is_ok_and(|status| status.success()) {
        fs::copy(own, &copy).unwrap();
    }
    copy
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Would catch an exit code, a stream, a folder or a variable that is not the command's own, a command that waits for
/// input, a signal that is lost, and a file that does not come back.
#[test]
fn a_command_ends_as_it_does_outside() {
    let Some(kernel) = kernel() else { return };
    let folder = Folder::new();
    let script = "cat; echo out; echo err >&2; pwd; echo $LC_TIME $(date +%Y-%m-%d) > /dev/stdout; exit 7";
    let options = "--with cat --with date --json j.json --pcap p.pcap --html h.html --series s.csv --flent f.flent.gz \
                   --report r.txt --out dir";
    let options: Vec<&str> = options.split(' ').collect();
    let (code, out, err) = folder.in_guest(kernel, &options, &["sh", "-c", script]);
    let here = fs::canonicalize(folder.0.path("")).unwrap();
    assert_eq!((code, err.as_str()), (Some(7), "err\n"), "{out}");
    assert_eq!(out, format!("out\n{}\nC 2020-01-01\n", here.display()));
    let files = "j.json p.pcap h.html s.queues.csv s.flows.csv f.flent.gz r.txt dir/outcomes.json dir/queues.csv";
    for file in files.split(' ') {
        assert!(folder.0.path(file).exists(), "{file}");
    }
    let (code, out, err) = folder.in_guest(kernel, &[], &["sh", "-c", "echo up; kill -TERM $$"]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(128 + 15), "up\n", ""));
}

/// Would catch links that become files, scripts without their interpreter, names with spaces that are split, and a file
/// that others may read or execute though they may not.
#[test]
fn a_folder_comes_along() {
    let Some(kernel) = kernel() else { return };
    let folder = Folder::new();
    fs::create_dir(folder.0.path("a b")).unwrap();
    folder.script(
        "a b/run",
        "#!/usr/bin/env -S sh -e\ncat \"$(dirname \"$0\")/link\" \"$1\"\nstat -c %a \"$1\"\n./text || echo $?\n",
    );
    folder.0.write("a b/text", "text\n");
    folder.0.write("text", "no program\n");
    fs::set_permissions(folder.0.path("text"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("text", folder.0.path("a b/link")).unwrap();
    symlink("..", folder.0.path("a b/up")).unwrap();
    let options = ["--with", "a b", "--with", "cat", "--with", "dirname", "--with", "stat", "--with", "text"];
    let (code, out, err) = folder.in_guest(kernel, &options, &["a b/run", "a b/up/text"]);
    assert_eq!((code, out.as_str()), (Some(0), "text\nno program\n600\n126\n"), "{err}");
}

/// Would catch a guest that is booted for nothing, and a message without the name or the remedy.
#[test]
fn what_is_missing_is_named() {
    let folder = Folder::new();
    folder.script("lost", "#!/no/such/interpreter\n");
    symlink("/proc/version", folder.0.path("hidden")).unwrap();
    let nowhere = folder.0.name("no-kernel");
    for (command, code, part) in [
        (&["no-such-program"][..], 127, "cannot execute no-such-program: No such file"),
        (&["./no such program"], 127, "cannot execute ./no such program: No such file"),
        (&["./lost"], 127, "cannot execute ./lost: its interpreter /no/such/interpreter is missing"),
        (&["/"], 126, "cannot execute /: Permission denied"),
        (&["/proc/self/exe"], 2, "/proc/self/exe: a guest has its own /proc"),
        (&["./hidden"], 2, "hidden: a guest has its own /proc"),
        (&["true"], 2, "there is no kernel in"),
    ] {
        let (is, _, err) = folder.in_guest(&nowhere, &[], command);
        assert!(is == Some(code) && err.contains(part), "{command:?}: {is:?} {err}");
    }
    let Some(kernel) = kernel() else { return };
    let (code, _, err) = folder.in_guest(kernel, &[], &["sh", "-c", "no-such-program"]);
    assert!(code == Some(127) && err.contains("no-such-program: not found") && err.contains("--with"), "{err}");
}

/// Would catch an option that is ignored without a word.
#[test]
fn what_a_guest_cannot_do_is_refused() {
    let Some(kernel) = kernel() else { return };
    let folder = Folder::new();
    for (options, command, part) in [
        (&["--listen", "8080:80"][..], &["true"][..], "--listen opens a port of this machine"),
        (&["--with", "/proc/self"], &["true"], "a guest has its own /proc"),
        (&["--with", "/"], &["true"], "a guest has its own /dev"),
        (&["--with", "no/such file"], &["true"], "no: No such file"),
        (&["--server", "/proc/self/exe"], &["true"], "a guest has its own /proc"),
        (&["--server", "no-such-server"], &["true"], "cannot execute no-such-server: No such file"),
        (&["--json", "link.toml"], &["true"], "--json would overwrite link.toml"),
        (&[], &[], "a guest has no terminal"),
    ] {
        let (code, _, err) = folder.in_guest(kernel, options, command);
        assert!(code == Some(2) && err.contains(part), "{options:?}: {code:?} {err}");
    }
    let (code, _, err) = said(&folder.shell(&["--with", "x"], &["true"]));
    assert!(code == Some(2) && err.contains("add --in guest"), "{err}");
}

/// Would catch a command that runs for ever, and what it has said until then.
#[test]
fn a_command_has_the_time_of_the_scenario() {
    let Some(kernel) = kernel() else { return };
    let options = ["--with", "sleep", "--set", "duration=2s", "--json", "out.json"];
    let folder = Folder::new();
    let (code, out, err) = folder.in_guest(kernel, &options, &["sh", "-c", "echo up; sleep 1000"]);
    assert_eq!((code, out.as_str()), (Some(2), "up\n"), "{err}");
    assert!(err.contains("had not ended after 2 s") && err.contains("--set duration="), "{err}");
    assert!(!folder.0.path("out.json").exists());
}

/// Would catch a clock or a random number of the machine outside: with the same seed, a client's times for 20 files and
/// what the link counted are equal to the last byte, alone and next to busy processors. With another seed other packets
/// are lost.
#[test]
fn a_seed_names_a_run() {
    let Some(kernel) = kernel() else { return };
    let folder = Folder::new();
    let program = stripped(&folder.0);
    let [_, others @ ..] = inside::command();
    let server = format!("env 'FAIRLANE_INSIDE=serve-files 8000' {program} {}", others.join(" "));
    let client = [&["env", "FAIRLANE_INSIDE=fetch gateway:8000 20", &program][..], &others].concat();
    let run = |name: &str, seed: &str| {
        let [json, pcap] = ["json", "pcap"].map(|end| format!("{name}.{end}"));
        let options = ["--with", &program, "--server", &server, "--seed", seed, "--json", &json, "--pcap", &pcap];
        let (code, out, err) = folder.in_guest(kernel, &options, &client);
        assert_eq!(code, Some(0), "{err}");
        let [json, pcap] = [json, pcap].map(|file| fs::read(folder.0.path(&file)).unwrap());
        (out, err, json, pcap)
    };
    let idle = run("a", "1");
    let done = AtomicBool::new(false);
    let (busy, other) = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let runs = [("b", "1"), ("c", "2")].map(|(name, seed)| scope.spawn(move || run(name, seed)));
        let runs = runs.map(thread::ScopedJoinHandle::join);
        done.store(true, Ordering::Relaxed);
        let [busy, other] = runs.map(|run| run.expect("it ends"));
        (busy, other)
    });
    assert_eq!((&idle.0, &idle.1), (&busy.0, &busy.1));
    assert!(idle == busy, "the outcomes or the captures differ");
    let answers = |out: &str| -> Vec<f64> {
        out.lines().filter_map(|line| line.strip_prefix("answer: ")?.parse().ok()).collect()
    };
    let (here, there) = (answers(&idle.0), answers(&other.0));
    // The length of each file, and its time in ms.
    for (number, (one, two)) in (1..=20).zip(here.chunks(2).zip(there.chunks(2))) {
        assert_eq!((one[0], two[0]), (f64::from(3000 * number), f64::from(3000 * number)));
        // A round trip for the handshake, one for the file, and the time of its bytes at 5 Mbit/s.
        assert!(one[1] > 40.0 + one[0] * 8.0 / 5e3, "{one:?}");
    }
    assert_ne!(here, there);
    let outcome = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap()["outcomes"][0].clone();
    let (here, there) = (outcome(&idle.2), outcome(&other.2));
    assert_eq!((&here["engine"], &here["queues"][0]["kind"]), (&"shell".into(), &"choke".into()));
    assert_ne!(here["flows"], there["flows"]);
}

/// The programs inside.
#[test]
fn inside() {
    inside::run();
}

/// Would catch a machine that goes on for minutes after the program was killed.
#[test]
fn a_guest_ends_with_the_program() {
    let Some(kernel) = kernel() else { return };
    let folder = Folder::new();
    let mut shell = Command::cargo_bin("fairlane").unwrap();
    shell.current_dir(folder.0.path("")).args(["shell", "link.toml", "--in", "guest", "--kernel", kernel]);
    let mut running = shell.args(["--", "sh", "-c", "while :; do :; done"]).spawn().unwrap();
    let tasks = format!("/proc/{}/task", running.id());
    let children = || -> Vec<i32> {
        let tasks = fs::read_dir(&tasks).into_iter().flatten().flatten();
        let all: String = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect();
        all.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    let is_machine = |child: &i32| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.starts_with("qemu-system"))
    };
    let until = |seconds: u64, mut found: Box<dyn FnMut() -> bool + '_>| {
        let end = Instant::now() + Duration::from_secs(seconds);
        while !found() {
            assert!(Instant::now() < end, "it takes too long");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let mut machine = None;
    until(
        60,
        Box::new(|| {
            machine = children().into_iter().find(is_machine);
            machine.is_some()
        }),
    );
    running.kill().unwrap();
    running.wait().unwrap();
    let machine = Pid::from_raw(machine.unwrap());
    // Its boot alone takes longer.
    until(5, Box::new(|| kill(machine, None::<Signal>).is_err()));
}
