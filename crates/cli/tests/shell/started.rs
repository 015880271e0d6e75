//! Shells as an ordinary user.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::common::Place;

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Returns the user of the shells.
pub(crate) fn user() -> u32 {
    if geteuid().is_root() { NOBODY } else { geteuid().as_raw() }
}

/// Returns a folder to which that user can write.
pub(crate) fn place() -> Place {
    let place = Place::new();
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    place
}

fn command(options: &[&str], inside: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_fairlane");
    let mut command = if geteuid().is_root() {
        let mut command = Command::new("setpriv");
        let id = NOBODY.to_string();
        command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups", program]);
        command
    } else {
        Command::new(program)
    };
    command
        .arg("shell")
        .args(options)
        .arg("--")
        .args(inside)
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

/// Runs `inside` in a shell with these options; `None` if users may not have namespaces here.
pub(crate) fn shell(options: &[&str], inside: &[&str]) -> Option<Output> {
    shell_in(options, inside, &[])
}

/// Runs `inside` with these variables.
pub(crate) fn shell_in(options: &[&str], inside: &[&str], environment: &[(&str, &str)]) -> Option<Output> {
    if !possible() {
        return None;
    }
    let mut command = command(options, inside);
    command.envs(environment.iter().copied());
    Some(command.output().unwrap())
}

/// Returns true if this user may have namespaces; else the test is skipped.
#[track_caller]
fn possible() -> bool {
    if geteuid().is_root() && Command::new("setpriv").arg("--version").output().is_err() {
        skip::because("setpriv", "there is no setpriv");
        return false;
    }
    let output = command(&["--quiet", "lab-fig3"], &["true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(2) && said.contains("this user may not create one") {
        skip::because("userns", said);
        return false;
    }
    assert!(output.status.success(), "{output:?}");
    true
}

/// Returns the numbers that a program inside has told.
pub(crate) fn answers(output: &Output) -> Vec<f64> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix("answer: ")).map(|number| number.parse().unwrap()).collect()
}

/// Returns true if a process has ended and was not buried.
pub(crate) fn is_dead(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with(['Z', 'X']) || rest.is_empty())
}

/// A shell that runs.
pub(crate) struct Started {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Started {
    pub(crate) fn new(options: &[&str], inside: &[&str]) -> Option<Self> {
        Self::with(options, inside, &[])
    }

    pub(crate) fn with(options: &[&str], inside: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        if !possible() {
            return None;
        }
        let mut command = command(options, inside);
        let mut child = command.envs(environment.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, out })
    }

    /// Waits until the program inside prints this line.
    pub(crate) fn wait_for(&mut self, line: &str) {
        let mut heard = String::new();
        while heard.trim() != line {
            heard.clear();
            assert!(self.out.read_line(&mut heard).unwrap() > 0, "it has ended without {line:?}");
        }
    }

    /// Sends a signal to the shell.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Kills one of its processes.
    pub(crate) fn kill(&self, process: i32) {
        kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    }

    /// Returns the shell and the processes that it has started, each before those that it has started.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mut all = vec![self.child.id() as i32];
        let mut at = 0;
        while at < all.len() {
            let tasks = format!("/proc/{}/task", all[at]);
            for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                all.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
            }
            at += 1;
        }
        all
    }

    /// Waits for the end of the shell, and returns its exit code, or 128 and the signal that ended it.
    pub(crate) fn code(&mut self) -> i32 {
        let status = self.child.wait().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
        status.code().or(signal).unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
