//! The guest's commands, and a router's answers.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

pub(crate) type Checked<T = ()> = Result<T, Box<dyn Error>>;

/// The log of the router that was started last.
pub(crate) const LOG: &str = "/tmp/log";

/// Starts a router whose log is [`LOG`].
pub(crate) fn start(fairlane: &str, words: &str) -> Checked<Child> {
    Ok(Command::new(fairlane).args(words.split(' ')).stderr(fs::File::create(LOG)?).spawn()?)
}

pub(crate) fn tell(router: &Child, signal: Signal) -> Checked {
    Ok(kill(Pid::from_raw(i32::try_from(router.id())?), signal)?)
}

/// Ends a router, which must leave nothing at its interface.
pub(crate) fn end(mut router: Child, interface: &str) -> Checked {
    tell(&router, Signal::SIGTERM)?;
    let status = router.wait()?;
    ensure(status.success(), || format!("the router ended with {status}"))?;
    let left = run("tc", &format!("qdisc show dev {interface}"))?;
    ensure(!left.contains("fl_"), || format!("the discipline is still there: {left}"))
}

/// Returns the number of disciplines whose objects are pinned.
pub(crate) fn pinned() -> Checked<usize> {
    Ok(fs::read_dir("/sys/fs/bpf/fairlane")?.count())
}

/// Returns the state, whose books must be balanced.
pub(crate) fn balanced() -> Checked<Value> {
    state().and_then(checked)
}

/// Returns `state`, whose books must be balanced.
pub(crate) fn checked(state: Value) -> Checked<Value> {
    let number = |place: &str| state[place]["packets"].as_u64().unwrap_or_default();
    let reasons = state["dropped"].as_object().into_iter().flat_map(|reasons| reasons.values());
    let dropped: u64 = reasons.filter_map(|count| count["packets"].as_u64()).sum();
    let sum = number("departed") + dropped + number("flushed") + number("backlog");
    ensure(number("arrived") == sum && sum > 1000, || format!("{sum} of {state:#}"))?;
    Ok(state)
}

pub(crate) fn state() -> Checked<Value> {
    Ok(serde_json::from_str(&get("/state")?)?)
}

/// Returns the body of an answer.
pub(crate) fn get(place: &str) -> Checked<String> {
    let mut stream = TcpStream::connect("127.0.0.1:9277")?;
    write!(stream, "GET {place} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("there is no body")?;
    Ok(body.to_owned())
}

pub(crate) fn run(program: &str, words: &str) -> Checked<String> {
    let output = Command::new(program).args(words.split(' ')).stdin(Stdio::null()).output()?;
    ensure(output.status.success(), || format!("{program} {words}: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Asks again and again for up to twenty seconds of the guest.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> Checked<T> {
    for _ in 0..200 {
        if let Some(found) = found() {
            return Ok(found);
        }
        sleep(Duration::from_millis(100));
    }
    Err(format!("waited in vain: {what}").into())
}

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
