//! A shell in a guest: the same command line, in virtual time.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairlane_console::{Failure, Stopwatch};
use fairlane_guest::inside::Progress;
use fairlane_guest::{Guest, GuestError, Kernel, Limits};
use fairlane_linux::rtnetlink::RouteSocket;
use fairlane_outcome::output_target;
use fairlane_runner::files;
use fairlane_shell::ShellError;
use nix::mount::{MsFlags, mount};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::{INTERRUPTED, ShellCommand, cannot_execute};
use crate::args::shared::Place;
use crate::args::shell::ShellArgs;
use crate::commands::guest::{CONGESTION_CONTROLS, GuestJob, cpu_limit};
use crate::progress::VirtualSeconds;
use crate::{output, progress, shared};

/// The kernel module that a shell needs, apart from congestion controls.
const VETH: &str = "veth";

/// Memory for programs, in addition to that for files.
const MEMORY_MIB: u32 = 768;

/// The most bytes that come back.
const MOST_BACK: usize = 128 << 20;

/// The folders that a guest mounts.
const MOUNTED: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];

/// The variables of the environment that a command in a guest has, and the beginning of others.
const VARIABLES: [&str; 7] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "LD_LIBRARY_PATH"];
const LOCALE: &str = "LC_";

/// Options that are for the outside alone; each has a value.
const OUTSIDE: [&str; 3] = ["--in", "--with", "--kernel"];

/// Files by which names become users and addresses, unless `--with` brings others.
const NAMES: [(&str, &str); 4] = [
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("/etc/nsswitch.conf", "hosts: files\n"),
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
];

/// The seconds for a command if the scenario has no duration.
const USUAL_S: f64 = 60.0;

/// How often the first process looks at the command.
const LOOK: Duration = Duration::from_millis(50);

/// The job of a guest.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShellJob {
    /// The command line, without the program's name and what is for the outside.
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: OsString,
    /// The text of the scenario, and its file; `None` for standard input.
    scenario: String,
    file: Option<OsString>,
    /// The files that come back.
    outputs: Vec<OsString>,
    limit_s: f64,
}

/// The first line of the answer, before the files.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    end: End,
    /// The lengths of standard output, standard error and the outputs; `None` for one that is not there.
    lengths: Vec<Option<u64>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum End {
    Code(u8),
    TooLong,
    TooMuch,
    Failed(String),
}

/// Runs the command of `args` in a guest. All that can be refused is refused before it boots.
pub(crate) fn execute(args: &ShellArgs) -> Result<(), Failure> {
    refuse(args)?;
    let document = shared::document(Some(&args.file), &args.overrides)?;
    let checked = ShellCommand::with_document(args, &document)?;
    let scenario = document.links_alone()?;
    let each_s = if document.has("duration") { scenario.duration.as_secs() } else { USUAL_S };
    let limit_s = each_s * checked.shells.len() as f64;
    let programs = programs(args)?;
    let folder = args.guest.kernel.clone().unwrap_or_else(Kernel::usual_folder);
    let kernel = Kernel::below(&folder).map_err(Failure::plain)?;
    let limits = Limits { memory_mib: MEMORY_MIB, cpu_s: cpu_limit(limit_s) };
    let modules = [&[VETH][..], &CONGESTION_CONTROLS].concat();
    let mut guest = Guest::new(&kernel, &[], &modules, limits).map_err(Failure::plain)?;
    NAMES.iter().for_each(|(path, text)| guest.add_file(path, text.as_bytes().to_vec()));
    programs.iter().try_for_each(|path| guest.add(path)).map_err(Failure::plain)?;
    let traces = document.files();
    for path in args.with.iter().chain(&traces) {
        add(&mut guest, path)?;
    }
    let outputs = checked.outputs.paths().filter(|path| matches!(output_target(path), Ok(Some(_))));
    let outputs: Vec<PathBuf> = outputs.collect();
    let is_file = fs::metadata(&args.file).is_ok_and(|file| file.is_file());
    let is_bundled = !is_file && !args.file.exists() && args.file != Path::new("-");
    let job = ShellJob {
        arguments: inner_arguments(env::args_os().skip(1), (!is_file && !is_bundled).then_some(&args.file)),
        environment: environment(env::vars_os()),
        folder: env::current_dir().map_err(|error| Failure::plain(format!("this folder: {error}")))?.into(),
        scenario: if is_bundled { String::new() } else { document.text().to_owned() },
        file: is_file.then(|| args.file.clone().into()),
        outputs: outputs.iter().map(|path| path.clone().into()).collect(),
        limit_s,
    };
    let job = serde_json::to_vec(&GuestJob::Shell(job)).map_err(Failure::plain)?;
    let control = progress::control_of("nothing is kept")?;
    let answer = {
        let bar = VirtualSeconds::new(limit_s, 1, false);
        guest.run(&job, scenario.seed, &mut |seconds| {
            bar.set(0, seconds);
            !control.stopped()
        })
    };
    match answer {
        Ok(answer) => deliver(&answer, &outputs, limit_s),
        Err(GuestError::Interrupted) => Err(Failure::Ended(INTERRUPTED)),
        Err(error) => Err(Failure::plain(error)),
    }
}

/// Refuses options of a guest outside of one, and what a guest does not have.
fn refuse(args: &ShellArgs) -> Result<(), Failure> {
    if args.command.is_empty() {
        return Err(Failure::new("a guest has no terminal for a shell", "give a command: -- COMMAND"));
    }
    if args.top.is_some() {
        let message = "--top shows what a link does now, and a guest has a time of its own";
        return Err(Failure::new(message, "leave out --in guest, or write --series"));
    }
    if !args.listen.is_empty() {
        let message = "--listen opens a port of this machine, and a guest has no network outside";
        return Err(Failure::new(message, "leave out --in guest, or run the other end in the guest with --server"));
    }
    Ok(())
}

/// Refuses `--with` outside of a guest.
pub(super) fn refuse_outside(args: &ShellArgs) -> Result<(), Failure> {
    if args.guest.place == Place::Host && !args.with.is_empty() {
        return Err(Failure::new("--with copies files into a guest", "add --in guest, or leave it out"));
    }
    Ok(())
}

/// Returns where the programs of the command and of the server are.
fn programs(args: &ShellArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut programs = Vec::new();
    if let Some(name) = args.command.first() {
        let path = program(name).map_err(|(reason, code)| cannot_execute(name, &reason, code))?;
        programs.push(visible(&path)?);
    }
    for name in args.server.iter().filter_map(|server| server.first()) {
        let failed = |(reason, _)| ShellError::Server(format!("cannot execute {}: {reason}", name.to_string_lossy()));
        programs.push(visible(&program(name).map_err(failed).map_err(Failure::plain)?)?);
    }
    Ok(programs)
}

/// Returns where a program is, as a shell finds it, or the reason and the exit code of shells for it.
fn program(name: &OsStr) -> Result<PathBuf, (String, u8)> {
    let because = |number| io::Error::from_raw_os_error(number).to_string();
    let path = Guest::find_program(Path::new(name)).filter(|path| path.exists());
    let path = path.ok_or_else(|| (because(nix::libc::ENOENT), 127))?;
    if path.is_dir() {
        return Err((because(nix::libc::EACCES), 126));
    }
    match Guest::missing_interpreter(&path) {
        Some(interpreter) => Err((format!("its interpreter {} is missing", interpreter.display()), 127)),
        None => Ok(path),
    }
}

/// Adds a file, a folder, or a program by its name.
fn add(guest: &mut Guest, path: &Path) -> Result<(), Failure> {
    let named = if path.exists() { None } else { Guest::find_program(path) };
    guest.add(&visible(named.as_deref().unwrap_or(path))?).map_err(Failure::plain)
}

/// Returns the absolute path of a file or folder. Refuses one that a folder of the guest's own would hide.
fn visible(path: &Path) -> Result<PathBuf, Failure> {
    let path = absolute(path).map_err(|error| Failure::plain(format!("{}: {error}", path.display())))?;
    let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
    let hides =
        |own: &&&str| [&path, &target].iter().any(|path| path.starts_with(own) || Path::new(own).starts_with(path));
    if let Some(own) = MOUNTED.iter().find(hides) {
        let message = format!("{}: a guest has its own {own}", path.display());
        return Err(Failure::new(message, "copy it into another folder, and name that"));
    }
    Ok(path)
}

/// Returns the arguments for the inside. A scenario from `stream` comes on standard input there.
fn inner_arguments(words: impl Iterator<Item = OsString>, stream: Option<&PathBuf>) -> Vec<OsString> {
    let (mut words, mut kept) = (words, Vec::new());
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            kept.push(word);
            break;
        }
        match OUTSIDE.iter().find_map(|option| text.strip_prefix(option)) {
            Some("") => drop(words.next()),
            Some(rest) if rest.starts_with('=') => {}
            _ if stream.is_some_and(|stream| word == *stream) => kept.push("-".into()),
            _ => kept.push(word),
        }
    }
    kept.into_iter().chain(words).collect()
}

fn environment(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let is_passed =
        |name: &OsStr| VARIABLES.iter().any(|passed| name == *passed) || name.to_string_lossy().starts_with(LOCALE);
    let mut passed: Vec<_> = all.filter(|(name, _)| is_passed(name)).collect();
    passed.sort_unstable();
    passed
}

/// The answer of a guest.
#[derive(Debug)]
struct ShellAnswer<'a> {
    end: End,
    /// Standard output and standard error.
    said: [&'a [u8]; 2],
    outputs: Vec<Option<&'a [u8]>>,
}

impl<'a> ShellAnswer<'a> {
    /// Reads what [`encoded`] made.
    fn read(bytes: &'a [u8]) -> Result<Self, Failure> {
        let broken = || Failure::plain("the guest's answer is broken");
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
        let (head, mut rest) = bytes.split_at(end + 1);
        let Head { end, lengths } = serde_json::from_slice(head).map_err(Failure::plain)?;
        let mut parts = Vec::new();
        for length in lengths {
            let part = rest.split_at_checked(length.unwrap_or(0) as usize).ok_or_else(broken)?;
            parts.push(length.map(|_| part.0));
            rest = part.1;
        }
        let (said, outputs) = parts.split_first_chunk().ok_or_else(broken)?;
        Ok(Self { end, said: said.map(Option::unwrap_or_default), outputs: outputs.to_vec() })
    }
}

/// Writes what has come back.
fn deliver(answer: &[u8], outputs: &[PathBuf], limit_s: f64) -> Result<(), Failure> {
    let ShellAnswer { end, said: [said_out, said_err], outputs: files } = ShellAnswer::read(answer)?;
    let printed = io::stdout().lock().write_all(said_out).and_then(|()| io::stdout().flush());
    // Without standard error nobody can be told.
    let _ = io::stderr().lock().write_all(said_err);
    let code = match end {
        End::Code(code) => code,
        End::TooLong => {
            let message = format!("the command had not ended after {limit_s} s of the guest");
            return Err(Failure::new(message, "give it more time: --set duration=TIME"));
        }
        End::TooMuch => {
            let message = format!("the command's output and files have more than {} MiB", MOST_BACK >> 20);
            return Err(Failure::new(message, "let the command write less, or into /dev/null"));
        }
        End::Failed(reason) => return Err(Failure::plain(format!("the guest: {reason}"))),
    };
    for (path, file) in outputs.iter().zip(files) {
        file.map_or(Ok(()), |bytes| files::write(path, bytes, fairlane_outcome::Extent::Whole))?;
    }
    printed.map_err(|error| Failure::print(&error))?;
    if code == 127 {
        output::tell(
            "note: exit code 127 tells of a program that the guest does not have: it has the command with its libraries, \
             and what --with PATH copies\n",
        );
    }
    if code == 0 { Ok(()) } else { Err(Failure::Ended(code)) }
}

/// Does a job, as the first process of a guest.
pub(crate) fn answer(job: &ShellJob, progress: &mut Progress<'_>) -> Vec<u8> {
    let (end, parts) = run(job, progress).unwrap_or_else(|error| failed(&error));
    encoded(end, parts)
}

/// Returns the end and the parts of an answer for a command that could not be run.
fn failed(error: &io::Error) -> (End, Vec<Option<Vec<u8>>>) {
    (End::Failed(error.to_string()), vec![None, None])
}

fn encoded(end: End, parts: Vec<Option<Vec<u8>>>) -> Vec<u8> {
    let lengths = parts.iter().map(|part| part.as_ref().map(|part| part.len() as u64)).collect();
    let mut answer = serde_json::to_vec(&Head { end, lengths }).unwrap_or_default();
    answer.push(b'\n');
    parts.into_iter().flatten().for_each(|part| answer.extend(part));
    answer
}

/// Runs the command line, and returns its standard output, its standard error, and the outputs that are there.
fn run(job: &ShellJob, progress: &mut Progress<'_>) -> io::Result<(End, Vec<Option<Vec<u8>>>)> {
    furnish(job)?;
    let input = "/run/input";
    fs::write(input, if job.file.is_none() { job.scenario.as_bytes() } else { &[] })?;
    let mut command = Command::new(env::current_exe()?);
    command.args(&job.arguments).current_dir(&job.folder).env_clear().envs(job.environment.iter().cloned());
    let mut child = command.stdin(File::open(input)?).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let said = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
    let end = wait(&mut child, job.limit_s, progress)?;
    let said = said.into_iter().flatten().map(|reader| reader.join().ok());
    let mut parts: Vec<Option<Vec<u8>>> = said.collect();
    let Some(room) = MOST_BACK.checked_sub(parts.iter().flatten().map(Vec::len).sum()) else {
        return Ok((End::TooMuch, vec![None, None]));
    };
    if matches!(end, End::Code(_)) {
        match outputs(job.outputs.iter().map(|path| Path::new(&job.folder).join(path)), room as u64) {
            Ok(outputs) => parts.extend(outputs),
            Err(end) => return Ok((end, parts)),
        }
    }
    Ok((end, parts))
}

/// Reads the outputs that are there, if all have at most `room` bytes.
fn outputs(paths: impl Iterator<Item = PathBuf>, mut room: u64) -> Result<Vec<Option<Vec<u8>>>, End> {
    let mut outputs = Vec::new();
    for path in paths {
        let failed = |error| End::Failed(format!("{}: {error}", path.display()));
        let length = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                outputs.push(None);
                continue;
            }
            file => file.map_err(failed)?.len(),
        };
        room = room.checked_sub(length).ok_or(End::TooMuch)?;
        outputs.push(Some(fs::read(&path).map_err(failed)?));
    }
    Ok(outputs)
}

/// Reads a pipe to its end, or more than may come back.
fn reader(pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error comes back.
        let _ = pipe.take(MOST_BACK as u64 + 1).read_to_end(&mut bytes);
        bytes
    })
}

/// Makes what the command expects of a machine.
fn furnish(job: &ShellJob) -> io::Result<()> {
    RouteSocket::open()?.set_up("lo", true)?;
    for (name, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(format!("/proc/self/{target}"), format!("/dev/{name}"))?;
    }
    fs::create_dir_all("/dev/shm")?;
    mount(Some("shm"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
    // All congestion controls of the guest may be chosen.
    let controls = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    fs::write(controls.replace("available", "allowed"), fs::read(controls)?)?;
    let home = job.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let folder = Path::new(&job.folder);
    let files = job.outputs.iter().chain(&job.file).map(|path| folder.join(path));
    let folders = files.filter_map(|file| file.parent().map(Path::to_owned));
    for folder in folders.chain([folder.to_owned()]).chain(home.map(Path::to_owned)) {
        fs::create_dir_all(folder)?;
    }
    job.file.as_ref().map_or(Ok(()), |file| fs::write(folder.join(file), &job.scenario))
}

/// Waits until the command line has ended, or its time is over.
#[expect(clippy::disallowed_methods, reason = "the clock is the guest's, and counts instructions")]
fn wait(child: &mut Child, limit_s: f64, progress: &mut Progress<'_>) -> io::Result<End> {
    let watch = Stopwatch::start();
    loop {
        if let Some(status) = child.try_wait()? {
            let killed = 128 + Signal::SIGKILL as u8;
            return Ok(End::Code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(killed)));
        }
        let elapsed = watch.elapsed_s();
        progress.tell(elapsed);
        if elapsed > limit_s {
            // With it ends all that it has started.
            child.kill()?;
            child.wait()?;
            return Ok(End::TooLong);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    /// Would catch a guest in a guest, and a command whose own options are lost.
    #[test]
    fn options_for_the_outside_stay_there() {
        let inner =
            |text, stream: Option<&str>| inner_arguments(words(text).into_iter(), stream.map(PathBuf::from).as_ref());
        let line = "shell a.toml --in guest --with b --kernel=c --json out --ecn -- env --in x --with y";
        assert_eq!(inner(line, None), words("shell a.toml --json out --ecn -- env --in x --with y"));
        assert_eq!(
            inner("shell /dev/fd/9 --in=guest -- cat /dev/fd/9", Some("/dev/fd/9")),
            words("shell - -- cat /dev/fd/9")
        );
    }

    /// Would catch the reason of a failure that is lost for what does not come back with it.
    #[test]
    fn an_answer_is_read_as_it_was_made() {
        let (end, lost) = failed(&io::Error::other("no room"));
        let answer = encoded(end, lost);
        let ShellAnswer { end, said, outputs } = ShellAnswer::read(&answer).expect("it is whole");
        assert_eq!((end, said, outputs), (End::Failed("no room".to_owned()), [&[][..]; 2], vec![]));
        let came = [Some("out\n"), Some("err"), None, Some(""), Some("{}")];
        let answer = encoded(End::Code(7), came.map(|part| part.map(|text| text.as_bytes().to_vec())).to_vec());
        let ShellAnswer { end, said, outputs } = ShellAnswer::read(&answer).expect("it is whole");
        assert_eq!((end, said), (End::Code(7), [&b"out\n"[..], b"err"]));
        assert_eq!(outputs, [None, Some(&b""[..]), Some(b"{}")]);
        assert!(ShellAnswer::read(&answer[..answer.len() - 1]).is_err());
    }

    /// Would catch a file that is read although it is too large, and one that is there and cannot be read.
    #[test]
    fn outputs_come_back_whole_or_the_reason_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, huge] = ["one", "huge"].map(|name| folder.path().join(name));
        fs::write(&one, [7; 600]).expect("it is written");
        File::create(&huge).and_then(|file| file.set_len(1 << 40)).expect("a file with a hole");
        let read = |paths: &[&Path]| outputs(paths.iter().map(|path| path.to_path_buf()), 1000);
        assert_eq!(read(&[&folder.path().join("none"), &one]), Ok(vec![None, Some(vec![7; 600])]));
        assert_eq!(read(&[&one, &one]), Err(End::TooMuch));
        assert_eq!(read(&[&huge]), Err(End::TooMuch));
        let below = one.join("below");
        let failed = End::Failed(format!("{}: {}", below.display(), io::Error::from_raw_os_error(nix::libc::ENOTDIR)));
        assert_eq!(read(&[&below]), Err(failed));
    }

    #[test]
    fn few_variables_are_passed() {
        let all = ["TZ", "SECRET", "LC_TIME", "PATH", "LCX"].map(|name| (name.into(), "x".into()));
        let names: Vec<OsString> = environment(all.into_iter()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["LC_TIME", "PATH", "TZ"]);
    }
}
