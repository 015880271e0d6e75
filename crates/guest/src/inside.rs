//! The first process of a guest.

use std::error::Error;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use crate::result::{progress, result};

/// The folder of programs, where one without `PATH` looks.
pub(crate) const PROGRAMS: &str = "/bin";
/// The folder of modules, with a list of their names in the order in which they are loaded.
pub(crate) const MODULES: &str = "/modules";
/// The job.
pub(crate) const JOB: &str = "/job";
/// Folders for file systems.
pub(crate) const FOLDERS: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];

/// The port through which the guest speaks.
const PORT: &str = "/dev/ttyS1";

/// The progress of a job, for the one who waits outside.
#[derive(Debug)]
pub struct Progress<'a> {
    port: &'a mut File,
    said: f64,
}

impl Progress<'_> {
    /// Tells that `seconds` of the job are over; each second is told once.
    pub fn tell(&mut self, seconds: f64) {
        if seconds >= self.said + 1.0 {
            self.said = seconds.floor();
            // It is for the eye; the result tells whether the port works.
            let _ = progress(&mut self.port, self.said);
        }
    }
}

/// Returns true if this process is the first one of a guest, so that it has to call [`serve`] and nothing else.
#[must_use]
pub fn is_here() -> bool {
    std::process::id() == 1 && Path::new(JOB).is_file() && Path::new(MODULES).is_dir()
}

/// Mounts the file systems, loads the modules, lets `work` answer the job, writes the answer, and switches the guest
/// off. Failures are written to the console.
pub fn serve(work: impl FnOnce(&[u8], &mut Progress<'_>) -> Vec<u8>) {
    if let Err(error) = try_serve(work) {
        println!("fairlane in the guest: {error}");
    }
    let Err(error) = reboot(RebootMode::RB_POWER_OFF);
    println!("fairlane in the guest: cannot switch off: {error}");
}

fn try_serve(work: impl FnOnce(&[u8], &mut Progress<'_>) -> Vec<u8>) -> Result<(), Box<dyn Error>> {
    // Nothing is mounted on /tmp: programs of this machine that were added may be there, and would not be found.
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| format!("mount {place}: {error}"))?;
    }
    // A kernel without BPF has no such place.
    let _ = mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), None::<&str>);
    for name in fs::read_to_string(format!("{MODULES}/order"))?.lines() {
        let file = File::open(format!("{MODULES}/{name}"))?;
        finit_module(file, &CString::default(), ModuleInitFlags::empty())
            .map_err(|error| format!("module {name}: {error}"))?;
    }
    let mut port = OpenOptions::new().write(true).open(PORT).map_err(|error| format!("{PORT}: {error}"))?;
    // Otherwise the terminal changes the ends of lines.
    let mut settings = tcgetattr(&port)?;
    cfmakeraw(&mut settings);
    tcsetattr(&port, SetArg::TCSANOW, &settings)?;
    let answer = work(&fs::read(JOB)?, &mut Progress { port: &mut port, said: 0.0 });
    result(&mut port, &answer)?;
    nix::sys::termios::tcdrain(&port)?;
    port.flush()?;
    Ok(())
}
