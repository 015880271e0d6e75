//! The kernel of a guest: where it is, and how to fetch one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::GuestError;
use crate::modules::Modules;

/// Suites of Debian whose kernels have everything, the preferred first.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];

/// The packages of a kernel for virtual machines begin with one of these: the image, or the image with its modules.
const IMAGES: [&str; 2] = ["linux-binary-unsigned-", "linux-image-unsigned-"];
const FLAVOUR: &str = "-cloud-amd64";

/// The folder of Debian's keys.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A kernel for x86-64 with its modules.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) image: PathBuf,
    pub(crate) modules: Modules,
    version: String,
}

impl Kernel {
    /// Looks below `folder` for an image, `vmlinuz*`, and for modules next to the image or below. Of several images,
    /// the one with the newest version is taken.
    ///
    /// # Errors
    /// There is no image, or the folder cannot be read.
    pub fn below(folder: &Path) -> Result<Self, GuestError> {
        let mut images = Vec::new();
        let mut folders = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() && !path.is_symlink() && name != "kernel" && depth < 6 {
                    folders.push((path, depth + 1));
                } else if name.starts_with("vmlinuz") && path.is_file() {
                    images.push((version_of(&path), path));
                }
            }
        }
        let newest = images.into_iter().max_by_key(|(version, path)| (numbers(version), path.clone()));
        let (version, image) = newest.ok_or_else(|| GuestError::NoKernel(folder.to_owned()))?;
        Ok(Self { modules: Modules::below(folder)?, image, version })
    }

    /// Returns the kernel [below](Self::below) `folder`, which is [fetched](Self::fetch) into it if there is none.
    ///
    /// # Errors
    /// The folder cannot be read, or there is no kernel and none can be fetched.
    pub fn below_or_fetched(folder: &Path) -> Result<Self, GuestError> {
        match Self::below(folder) {
            Err(GuestError::NoKernel(_)) => Self::fetch(folder),
            found => found,
        }
    }

    /// The version, such as `7.3.4+deb13-cloud-amd64`; empty if neither the image's name nor its folder tells it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folder in the user's cache where [`fetch`](Self::fetch) puts kernels.
    #[must_use]
    pub fn usual_folder() -> PathBuf {
        // Never a folder that others may have made, as one in /tmp: the kernel there is booted.
        let set = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = set.or_else(|| env::home_dir().map(|home| home.join(".cache")));
        cache.unwrap_or_else(|| PathBuf::from("/var/cache")).join("fairlane/guest")
    }

    /// Fetches Debian's newest kernel for virtual machines with apt(8) into `folder`, with separate lists: neither
    /// the machine's packages nor its lists change, and root is not needed. Some 40 MB.
    ///
    /// # Errors
    /// There is no apt, no Debian mirror among its sources, or it fails.
    pub fn fetch(folder: &Path) -> Result<Self, GuestError> {
        let host = |source| GuestError::Host("a folder for the kernel", source);
        fs::create_dir_all(folder).map_err(host)?;
        let work = tempfile::tempdir_in(folder).map_err(host)?;
        let apt = Apt::new(work.path())?;
        let (image, version) = apt.newest()?;
        let unpacked = work.path().join("unpacked");
        let mut names = vec![format!("{image}{version}{FLAVOUR}")];
        if image == IMAGES[0] {
            names.push(format!("linux-modules-{version}{FLAVOUR}"));
        }
        apt.unpack(&names, &unpacked)?;
        let place = folder.join(format!("{version}{FLAVOUR}"));
        if place.exists() {
            fs::remove_dir_all(&place).map_err(host)?;
        }
        // The folder appears when it is whole.
        fs::rename(&unpacked, &place).map_err(host)?;
        Self::below(&place)
    }
}

/// The version in `vmlinuz-VERSION`, or the name of the folder of `vmlinuz`.
fn version_of(image: &Path) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name(image).strip_prefix("vmlinuz-") {
        Some(version) => version.to_owned(),
        None => image
            .parent()
            .map(name)
            .filter(|folder| folder.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or_default(),
    }
}

/// The numbers of a version, by which versions are compared.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// apt with its own lists.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn new(folder: &Path) -> Result<Self, GuestError> {
        let host = |source| GuestError::Host("a folder for apt", source);
        for part in ["lists/partial", "cache/archives/partial", "state"] {
            fs::create_dir_all(folder.join(part)).map_err(host)?;
        }
        let apt = Self { folder: folder.to_owned() };
        let format = "$(REPO_URI) $(ORIGIN) $(COMPONENT)";
        let targets = run(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
        let mirror = targets.lines().find_map(|line| line.strip_suffix(" Debian main"));
        let mirror = mirror.ok_or_else(|| {
            GuestError::Tool(
                "apt-get".to_owned(),
                "none of its sources is a Debian mirror; name a kernel by --kernel".to_owned(),
            )
        })?;
        let sources = SUITES.map(|suite| format!("deb [signed-by={KEYS}] {mirror} {suite} main\n")).concat();
        fs::write(folder.join("sources.list"), sources).map_err(host)?;
        run(apt.command("apt-get").args(["--quiet", "--quiet", "update"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folder = self.folder.display();
        for option in [
            format!("Dir::Etc::SourceList={folder}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::State={folder}/state"),
            format!("Dir::Cache={folder}/cache"),
            "APT::Architecture=amd64".to_owned(),
            "APT::Sandbox::User=".to_owned(),
        ] {
            command.arg("--option").arg(option);
        }
        command.current_dir(&self.folder);
        command
    }

    /// The beginning of the name of the newest image's package, and its version, of the first suite that has one.
    fn newest(&self) -> Result<(&'static str, String), GuestError> {
        let listed = run(self.command("apt-cache").args(["search", "--names-only", &format!("^linux-.*{FLAVOUR}$")]))?;
        let version = |line: &str| {
            let name = line.split(' ').next()?.strip_suffix(FLAVOUR)?;
            IMAGES.iter().find_map(|image| Some((*image, name.strip_prefix(image)?.to_owned())))
        };
        let newest = listed.lines().filter_map(version).max_by_key(|(_, version)| numbers(version));
        newest.ok_or_else(|| GuestError::Tool("apt-cache".to_owned(), format!("no package linux-*{FLAVOUR}")))
    }

    fn unpack(&self, names: &[String], to: &Path) -> Result<(), GuestError> {
        run(self.command("apt-get").args(["--quiet", "--quiet", "download"]).args(names))?;
        let host = |source| GuestError::Host("the packages of the kernel", source);
        for package in fs::read_dir(&self.folder).map_err(host)?.flatten().map(|entry| entry.path()) {
            if package.extension().is_some_and(|end| end == "deb") {
                run(Command::new("dpkg").arg("--extract").arg(&package).arg(to))?;
            }
        }
        Ok(())
    }
}

/// Runs a program of Debian and returns its output.
fn run(command: &mut Command) -> Result<String, GuestError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } =
        command.env("LC_ALL", "C.UTF-8").output().map_err(|_| GuestError::NoTool(name.clone(), "apt and dpkg"))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    Err(GuestError::Tool(name, last.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest image of a folder, by numbers and not by letters; its folder or its name tells the version.
    #[test]
    fn the_newest_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, b"MZ").expect("it can be written");
        };
        assert!(matches!(Kernel::below(folder.path()), Err(GuestError::NoKernel(_))));
        image("boot/vmlinuz-6.16.3-cloud-amd64");
        assert_eq!(Kernel::below(folder.path()).expect("one").version(), "6.16.3-cloud-amd64");
        image("usr/lib/modules/6.16.12-cloud-amd64/vmlinuz");
        image("usr/lib/modules/6.16.12-cloud-amd64/kernel/net/a.ko");
        // An existing kernel is not fetched.
        let kernel = Kernel::below_or_fetched(folder.path()).expect("the newest");
        assert_eq!(kernel.version(), "6.16.12-cloud-amd64");
        assert_eq!(kernel.modules.with_what_they_need(&["a"]).expect("it is there").len(), 1);
    }
}
