//! Boots a guest and waits for its result.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::archive::Archive;
use crate::result::{Heard, hear};
use crate::{GuestError, Kernel, clock, copies, inside, programs};

const QEMU: &str = "qemu-system-x86_64";

/// Instructions a guest's clock counts as 2^SHIFT nanoseconds each: a processor of 500 million instructions a second.
const SHIFT: u32 = 1;

/// The words for the kernel. Its clock is the counter of instructions, and its random numbers come from the seed.
const KERNEL_WORDS: &str =
    "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable random.trust_cpu=on rdinit=/fairlane";

/// How often its words are read.
const LOOK: Duration = Duration::from_millis(50);

/// The resources that a guest may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the guest in MiB, in addition to twice that of its files.
    pub memory_mib: u32,
    /// Seconds of processor time on the machine outside.
    pub cpu_s: u64,
}

/// A machine that is ready to boot.
#[derive(Debug)]
pub struct Guest {
    qemu: PathBuf,
    kernel: PathBuf,
    /// The words for the kernel, which passes those behind `--` to the first process.
    words: String,
    files: Archive,
    limits: Limits,
}

impl Guest {
    /// Packs the running program, `programs` of this machine with their libraries, and the kernel's `modules` with
    /// those that they need. Modules that the kernel does not have are left out: they may be part of it.
    ///
    /// # Errors
    /// QEMU or a program is missing, or a file cannot be read.
    pub fn new(
        kernel: &Kernel,
        programs: &[(&str, &'static str)],
        modules: &[&str],
        limits: Limits,
    ) -> Result<Self, GuestError> {
        let qemu = programs::find(QEMU, "qemu-system-x86")?;
        let mut files = Archive::default();
        let own = env::current_exe().map_err(|source| GuestError::Host("this program's own file", source))?;
        programs::add_stripped(&mut files, &own, "/fairlane")?;
        for (name, package) in programs {
            programs::add(&mut files, &programs::find(name, package)?, &format!("{}/{name}", inside::PROGRAMS))?;
        }
        let mut order = String::new();
        for module in kernel.modules.with_what_they_need(modules)? {
            order += &format!("{}\n", module.name);
            files.file(&format!("{}/{}", inside::MODULES, module.name), module.data);
        }
        files.file(&format!("{}/order", inside::MODULES), order.into_bytes());
        inside::FOLDERS.iter().for_each(|folder| files.folder(folder));
        Ok(Self { qemu, kernel: kernel.image.clone(), words: KERNEL_WORDS.to_owned(), files, limits })
    }

    /// Adds the file or folder of this machine at `path`, at the same place: programs with the libraries that they
    /// load, scripts with their interpreters. Symbolic links stay links, and bring the files to which they lead.
    ///
    /// # Errors
    /// A file cannot be read, or they are too many.
    pub fn add(&mut self, path: &Path) -> Result<(), GuestError> {
        copies::add(&mut self.files, path)
    }

    /// Adds a file at `path`, or replaces it.
    pub fn add_file(&mut self, path: &str, data: Vec<u8>) {
        self.files.file(path, data);
    }

    /// Adds the program of this machine at `path` as [`add`](Self::add) does, without its debugging information.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_program(&mut self, path: &Path) -> Result<(), GuestError> {
        programs::add_stripped(&mut self.files, path, &path.to_string_lossy())
    }

    /// Returns the program `name` of the first folder of `PATH` that has it; a `name` with a slash is a path.
    #[must_use]
    pub fn find_program(name: &Path) -> Option<PathBuf> {
        let is_path = name.as_os_str().as_encoded_bytes().contains(&b'/');
        if is_path { Some(name.to_owned()) } else { programs::on_path(name) }
    }

    /// Returns the interpreter of the script at `path` that is missing on this machine; `None` for all other files.
    #[must_use]
    pub fn missing_interpreter(path: &Path) -> Option<PathBuf> {
        copies::missing_interpreter(path)
    }

    /// Starts the first process with `arguments`, which contain no spaces; without this it has none.
    pub fn set_arguments(&mut self, arguments: &[&str]) {
        self.words = format!("{KERNEL_WORDS} -- {}", arguments.join(" "));
    }

    /// Boots it with `job`, which [`inside::serve`] gets, and returns what that answers. `heard` is called again and
    /// again with the progress in seconds of the guest's clock, and stops the guest when it returns false.
    ///
    /// # Errors
    /// QEMU fails, or the guest ends without an answer, or uses more than its limits.
    pub fn run(&self, job: &[u8], seed: u64, heard: &mut dyn FnMut(f64) -> bool) -> Result<Vec<u8>, GuestError> {
        let host = |what| move |source| GuestError::Host(what, source);
        let folder = tempfile::tempdir().map_err(host("a folder for its files"))?;
        let place = |name: &str| folder.path().join(name);
        let mut archive = self.files.to_bytes();
        let mut with = Archive::default();
        with.file(inside::JOB, job.to_vec());
        // The kernel takes several archives one after the other.
        archive.extend(with.to_bytes());
        fs::write(place("initramfs"), archive).map_err(host("its first file system"))?;
        let (console, said) = (place("console"), place("said"));
        fs::write(place("clock.so"), clock::still()).map_err(host("its clock"))?;
        for file in [&console, &said] {
            File::create(file).map_err(host("a file for its words"))?;
        }
        let mut command = self.command(&place("initramfs"), &console, &said, seed);
        let mut running = Running(command.env("LD_PRELOAD", place("clock.so")).spawn().map_err(host("start QEMU"))?);
        let mut words = Words { file: File::open(&said).map_err(host("read its words"))?, bytes: Vec::new() };
        loop {
            let ended = running.0.try_wait().map_err(host("wait for QEMU"))?;
            match hear(words.now().map_err(host("read its words"))?) {
                Heard::Result(result) => return Ok(result.to_vec()),
                Heard::Progress(seconds) => {
                    if !heard(seconds.unwrap_or(0.0)) {
                        return Err(GuestError::Interrupted);
                    }
                }
            }
            match ended {
                Some(_) if running.used_up() => return Err(GuestError::TooLong(self.limits.cpu_s)),
                Some(_) => return Err(GuestError::NoResult(last_words(&console))),
                None => wait(),
            }
        }
    }

    fn command(&self, initramfs: &Path, console: &Path, said: &Path, seed: u64) -> Command {
        // QEMU ends with this program, also by SIGKILL. The limit of processor time holds for QEMU itself.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "prlimit"]);
        command.arg(format!("--cpu={}", self.limits.cpu_s)).arg("--").arg(&self.qemu);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-M", "q35"]);
        // QEMU 7.2 may leave wrong flags behind the instruction cmpxchg16b when a timer is due there, which ends in a
        // double fault (seen with Linux 6.12). Without it the kernel allocates memory in another way.
        command.args(["-cpu", "max,-cx16"]);
        // The kernel has the files twice for a moment.
        let files_mib = (self.files.bytes() >> 20) as u32;
        command.arg("-m").arg((self.limits.memory_mib + 2 * files_mib).to_string());
        // While QEMU records, its main loop and the processor take turns. Otherwise the main loop may move the clock on
        // while the processor is about to halt, and has not accounted for its last instructions. The record itself is
        // not needed.
        command.arg("-icount").arg(format!("shift={SHIFT},sleep=off,rr=record,rrfile=/dev/null"));
        command.args(["-rtc", "base=2020-01-01,clock=vm", "-seed"]).arg(seed.to_string());
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(initramfs).arg("-append").arg(&self.words);
        for port in [console, said] {
            command.arg("-serial").arg(format!("file:{}", port.display()));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

#[expect(clippy::disallowed_methods, reason = "QEMU writes into a file, and nothing tells when")]
fn wait() {
    thread::sleep(LOOK);
}

/// QEMU, which ends when this is dropped.
struct Running(Child);

impl Running {
    /// Returns true if it ended because of its limit of processor time.
    fn used_up(&mut self) -> bool {
        let status = self.0.wait().ok();
        status
            .and_then(|status| status.signal())
            .is_some_and(|signal| [nix::libc::SIGXCPU, nix::libc::SIGKILL].contains(&signal))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file that grows.
struct Words {
    file: File,
    bytes: Vec<u8>,
}

impl Words {
    fn now(&mut self) -> io::Result<&[u8]> {
        self.file.seek(SeekFrom::Start(self.bytes.len() as u64))?;
        self.file.read_to_end(&mut self.bytes)?;
        Ok(&self.bytes)
    }
}

/// Words of the kernel before the description of a fault.
const FAULTS: [&str; 4] = ["PANIC:", "BUG:", "Oops:", "Kernel panic"];

/// The first words about a fault on the console, or its last three lines.
fn last_words(console: &Path) -> String {
    let text = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let fault = lines.iter().position(|line| FAULTS.iter().any(|fault| line.contains(fault)));
    let from = fault.unwrap_or(lines.len().saturating_sub(3));
    lines.iter().skip(from).take(3).copied().collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a fault whose registers are told instead of its name.
    #[test]
    fn a_fault_is_told_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |text: &str| {
            let console = folder.path().join("console");
            fs::write(&console, text).expect("it can be written");
            last_words(&console)
        };
        assert_eq!(said("a\nb\n\nc\nd\n"), "b / c / d");
        let fault = "a\n[1.0] traps: PANIC: double fault\n[1.1] Oops: double fault\nRIP: x\nRAX: 0\nKernel panic - not syncing\n";
        assert_eq!(said(fault), "[1.0] traps: PANIC: double fault / [1.1] Oops: double fault / RIP: x");
        assert_eq!(said(""), "");
    }
}
