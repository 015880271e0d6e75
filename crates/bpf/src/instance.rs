//! Attached disciplines: each has its own object, and a directory in the BPF file system that is named like its
//! kind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::time::SystemTime;

use fairlane_linux::interface_name;
use fairlane_linux::rtnetlink::{QdiscEntry, ROOT, RouteSocket};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, ProgramMut};
use nix::net::if_::if_nametoindex;

use crate::arriving;
use crate::{Error, Instance, Program, Settings, State};

/// Where the links and maps are pinned.
const FOLDER: &str = "/sys/fs/bpf/fairlane";

/// The prefix of the names of all kinds.
const PREFIX: &str = "fl_";

/// The pin of the program that hands arriving packets to the IFB device.
const REDIRECTION: &str = "arriving";

/// A function that the kernel has for queue disciplines in BPF only.
const REQUIRED: &str = "bpf_qdisc_skb_drop";

/// The most disciplines attached at a time.
const MOST: u32 = 10_000;

/// The names of the objects.
const NAMES: [&str; 3] = ["choke", "gchoke", "red"];

/// The objects, as `build.rs` compiled them; none where there was no clang.
#[cfg(has_programs)]
const OBJECTS: [&[u8]; 3] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/choke.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/gchoke.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/red.bpf.o")),
];
#[cfg(not(has_programs))]
const OBJECTS: [&[u8]; 0] = [];

/// Attaches a discipline to a device, in place of the one that it has for packets of the same direction.
///
/// Packets queued in the old discipline are dropped, as with `tc qdisc replace`. If anything fails the old one stays.
/// For arriving packets there is an IFB device `flifbN` from now on, N being the index of `device`.
///
/// # Errors
/// There is no such device, or the kernel does not take the program. For arriving packets, the device has no Ethernet
/// headers, or the kernel has no IFB devices.
pub fn attach(device: &str, program: &Program) -> Result<Attached, Error> {
    let of = ifindex(device)?;
    if OBJECTS.is_empty() {
        return Err(Error::NoPrograms);
    }
    let _lock = lock()?;
    sweep()?;
    let had_one = arriving::at(of).is_some();
    let at = if program.arriving { arriving::prepare(device, of)? } else { of };
    let kind = reserve(program.name)?;
    let attached = register(&kind, of, at, program).and_then(|()| {
        change(device, |socket| socket.replace_root(at, &kind))?;
        Attached::new(device, of, at)
    });
    if attached.is_err() && program.arriving && !had_one {
        // The first error is the one to report.
        let _ = change(device, |socket| socket.remove_interface(at));
    }
    // Removes the discipline that was replaced, or this one if it could not be attached.
    let swept = sweep();
    attached.and_then(|attached| swept.map(|()| attached))
}

/// Detaches the disciplines of a device, which gets the kernel's default. Disciplines that others have attached stay.
///
/// # Errors
/// There is no such device, or it has no discipline of ours.
pub fn detach(device: &str) -> Result<(), Error> {
    let (leaving, ifb) = (Attached::at(device), arriving::at(ifindex(device)?));
    match (leaving, Attached::arriving_by(device), ifb) {
        (Err(error), None, None) => Err(error),
        (leaving, None, Some(ifb)) => {
            leaving.map_or(Ok(()), |attached| attached.detach())?;
            // It is left of an attachment that failed, or has lost its discipline.
            let _lock = lock()?;
            change(device, |socket| socket.remove_interface(ifb))?;
            sweep()
        }
        (leaving, arriving, _) => leaving.into_iter().chain(arriving).try_for_each(|attached| attached.detach()),
    }
}

/// Returns all attached disciplines with their counters, also those of other network namespaces.
///
/// # Errors
/// The pinned maps or the disciplines of the devices cannot be read.
pub fn status() -> Result<Vec<Instance>, Error> {
    let roots = roots().map_err(|source| Error::Netlink { device: "any device".to_owned(), source })?;
    let instance = |kind: String| {
        let state = state(&kind)?;
        let device = roots.iter().find(|root| root.kind == kind).and_then(|root| interface_name(root.ifindex));
        let of = device.as_deref().and_then(arriving::device_of);
        Some(Instance { arriving: of.is_some(), device: of.and_then(interface_name).or(device), kind, state })
    };
    Ok(kinds()?.into_iter().filter_map(instance).collect())
}

/// A discipline of ours at a device. Its counters can be read even after another one has replaced it.
#[derive(Debug)]
pub struct Attached {
    /// The index of the device whose packets it queues.
    of: u32,
    /// The index of the device that has it at its root: the same one, or for arriving packets the IFB device.
    at: u32,
    kind: String,
    state: MapHandle,
}

impl Attached {
    /// Returns the discipline for the packets that leave by a device.
    ///
    /// # Errors
    /// There is no such device, its discipline is not one of ours, or its counters cannot be read.
    pub fn at(device: &str) -> Result<Self, Error> {
        let of = ifindex(device)?;
        Self::new(device, of, of)
    }

    /// Returns the discipline for the packets that arrive by a device; `None` if there is none of ours.
    #[must_use]
    pub fn arriving_by(device: &str) -> Option<Self> {
        let of = ifindex(device).ok()?;
        Self::new(device, of, arriving::at(of)?).ok()
    }

    fn new(device: &str, of: u32, at: u32) -> Result<Self, Error> {
        let kind = kind_at(device, at)?;
        let not_ours = || Error::NotOurs { device: device.to_owned(), kind: kind.clone() };
        let state = state_map(&kind).ok_or_else(not_ours)?;
        Ok(Self { of, at, kind, state })
    }

    /// Tells whether the device still has the discipline.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.state().is_ok_and(|state| state.in_use) && interface_name(self.of).is_some()
    }

    /// Detaches the discipline. The device gets the kernel's default; if it has another discipline by now, that one
    /// stays.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn detach(&self) -> Result<(), Error> {
        let _lock = lock()?;
        let detached = match interface_name(self.at) {
            Some(device) if kind_at(&device, self.at).is_ok_and(|kind| kind == self.kind) => {
                change(&device, |socket| {
                    if self.at == self.of {
                        return socket.remove_root(self.at);
                    }
                    // From here on packets pass, instead of being lost at a device that vanishes.
                    let _ = fs::remove_file(self.folder().join(REDIRECTION));
                    socket.remove_interface(self.at)
                })
            }
            _ => Ok(()),
        };
        // Also removes leftovers of other devices.
        let swept = sweep();
        detached.and(swept)
    }

    /// Returns the kind, as `tc qdisc` shows it.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the discipline: `choke`, also for front and back CHOKe, `gchoke` or `red`.
    #[must_use]
    pub fn discipline(&self) -> &str {
        self.kind.trim_start_matches(PREFIX).trim_end_matches(|last: char| last.is_ascii_digit())
    }

    /// Returns the rate of the link, and the limit and thresholds of the queue.
    ///
    /// # Errors
    /// The pinned parameters cannot be read, or belong to another version of Fairlane.
    pub fn settings(&self) -> Result<Settings, Error> {
        let path = self.folder().join("parameters");
        let map = MapHandle::from_pinned_path(&path).map_err(Error::Load)?;
        let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(Error::Load)?;
        let settings = bytes.and_then(|bytes| Settings::parse(&bytes));
        settings.ok_or_else(|| pins(path)(io::ErrorKind::InvalidData.into()))
    }

    /// Returns the time when it was attached.
    ///
    /// # Errors
    /// Its directory cannot be read.
    pub fn since(&self) -> Result<SystemTime, Error> {
        let folder = self.folder();
        fs::metadata(&folder).and_then(|about| about.modified()).map_err(pins(folder))
    }

    fn folder(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.kind)
    }

    /// Returns the counters and the average.
    ///
    /// # Errors
    /// The pinned state belongs to another version of Fairlane.
    pub fn state(&self) -> Result<State, Error> {
        read_state(&self.state).ok_or_else(|| pins(self.folder())(io::ErrorKind::InvalidData.into()))
    }
}

/// Checks that this build has the programs, and that the kernel can run queue disciplines in BPF.
///
/// # Errors
/// The build has no programs, or the kernel's types cannot be read or lack queue disciplines in BPF.
pub fn check() -> Result<(), Error> {
    if OBJECTS.is_empty() {
        return Err(Error::NoPrograms);
    }
    let types = Btf::from_vmlinux().map_err(Error::Load)?;
    types.type_by_name::<Func<'_>>(REQUIRED).map(drop).ok_or(Error::OldKernel)
}

/// Asks the kernel for a change at a device.
fn change(device: &str, change: impl FnOnce(&RouteSocket) -> io::Result<()>) -> Result<(), Error> {
    let changed = RouteSocket::open().and_then(|socket| change(&socket));
    changed.map_err(|source| Error::Netlink { device: device.to_owned(), source })
}

/// Returns the kind of the discipline of a device if it is one of ours.
fn kind_at(device: &str, ifindex: u32) -> Result<String, Error> {
    let netlink = |source| Error::Netlink { device: device.to_owned(), source };
    let root = roots().map_err(netlink)?.into_iter().find(|root| root.ifindex == ifindex);
    let kind = root.map_or_else(|| "no queue discipline".to_owned(), |root| root.kind);
    if is_ours(&kind) { Ok(kind) } else { Err(Error::NotOurs { device: device.to_owned(), kind }) }
}

/// Returns the disciplines at the roots of all devices of this network namespace.
fn roots() -> io::Result<Vec<QdiscEntry>> {
    let mut entries = RouteSocket::open()?.qdiscs()?;
    entries.retain(|entry| entry.parent == ROOT);
    Ok(entries)
}

/// Tells whether a kind is one of ours: `fl_`, the discipline, a number.
fn is_ours(kind: &str) -> bool {
    let name = kind.strip_prefix(PREFIX).map(|rest| rest.trim_end_matches(|last: char| last.is_ascii_digit()));
    name.is_some_and(|name| NAMES.contains(&name))
}

fn ifindex(device: &str) -> Result<u32, Error> {
    if_nametoindex(device).map_err(|_| Error::NoDevice(device.to_owned()))
}

fn pins(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    let path = path.into();
    |source| Error::Pins { path, source }
}

/// Waits until no other process attaches or detaches. The kernel frees the lock of a process that was killed.
fn lock() -> Result<File, Error> {
    match fs::create_dir(FOLDER) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(pins(FOLDER)(error)),
        _ => Ok(()),
    }?;
    let folder = File::open(FOLDER).map_err(pins(FOLDER))?;
    folder.lock().map_err(pins(FOLDER))?;
    Ok(folder)
}

/// Returns the kinds that are pinned, in the order of their numbers.
fn kinds() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(pins(FOLDER))?,
    };
    let mut kinds: Vec<_> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    kinds.retain(|kind| is_ours(kind));
    kinds.sort_by_key(|kind| (kind.len(), kind.clone()));
    Ok(kinds)
}

/// Removes the pins of disciplines that no device has. The lock must be held.
fn sweep() -> Result<(), Error> {
    for kind in kinds()? {
        if is_in_use(&kind) {
            continue;
        }
        let folder = Path::new(FOLDER).join(&kind);
        for pin in fs::read_dir(&folder).map_err(pins(&folder))?.flatten() {
            fs::remove_file(pin.path()).map_err(pins(pin.path()))?;
        }
        fs::remove_dir(&folder).map_err(pins(folder))?;
    }
    Ok(())
}

/// Tells whether a device has a kind. The state of another version counts as in use, since nothing is known of it.
fn is_in_use(kind: &str) -> bool {
    state_map(kind).is_some() && state(kind).is_none_or(|state| state.in_use)
}

fn state_map(kind: &str) -> Option<MapHandle> {
    MapHandle::from_pinned_path(Path::new(FOLDER).join(kind).join("state")).ok()
}

/// Returns the state of a kind; `None` if it was pinned incompletely, or by another version.
fn state(kind: &str) -> Option<State> {
    read_state(&state_map(kind)?)
}

fn read_state(map: &MapHandle) -> Option<State> {
    // Packets that come while the counters are copied can unbalance them; reading once more helps.
    let read = || State::parse(&map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??);
    let mut state = read()?;
    for _ in 0..16 {
        if state.is_balanced() {
            break;
        }
        state = read()?;
    }
    Some(state)
}

/// Reserves the first free kind of a discipline by creating its directory.
fn reserve(name: &str) -> Result<String, Error> {
    for number in 1..=MOST {
        let kind = format!("{PREFIX}{name}{number}");
        let folder = Path::new(FOLDER).join(&kind);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(kind),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(pins(folder)(error)),
        }
    }
    Err(pins(FOLDER)(io::ErrorKind::StorageFull.into()))
}

/// Loads a program for packets of the device `of` and registers it as a kind of queue discipline for the device `at`.
/// The pin keeps the object: when this process ends, the kernel removes objects without one, and [`sweep`] removes
/// pinned ones that are not in use.
fn register(kind: &str, of: u32, at: u32, program: &Program) -> Result<(), Error> {
    let mut object = load(kind, program, at).map_err(Error::Load)?;
    let folder = Path::new(FOLDER).join(kind);
    let hooks = [(program.marks, "mark", at, "marker"), (program.arriving, "arriving", of, REDIRECTION)];
    for (_, name, device, pin) in hooks.into_iter().filter(|(wanted, ..)| *wanted) {
        let name = format!("{}_{name}", program.name);
        for hook in object.progs_mut().filter(|program| program.name() == name.as_str()) {
            attach_tcx(&hook, device).and_then(|mut link| link.pin(folder.join(pin))).map_err(Error::Load)?;
        }
    }
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        let pin = match map_name.as_str() {
            name if name.ends_with(".bss") => "state",
            name if name.ends_with(".rodata") => "parameters",
            name if name == program.name => {
                map.attach_struct_ops().and_then(|mut link| link.pin(folder.join("link"))).map_err(Error::Load)?;
                continue;
            }
            _ => continue,
        };
        map.pin(folder.join(pin)).map_err(Error::Load)?;
    }
    Ok(())
}

/// Shows the packets that leave by a device to a program before its queue discipline sees them, or those that arrive
/// before anything else does.
#[allow(unsafe_code, reason = "libbpf-rs does not have this function of libbpf")]
fn attach_tcx(program: &ProgramMut<'_>, ifindex: u32) -> Result<Link, libbpf_rs::Error> {
    let index = ifindex.cast_signed();
    // SAFETY: the program is loaded, and libbpf takes no options for a null pointer.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null()) };
    let link = NonNull::new(link).ok_or_else(|| libbpf_rs::Error::from(io::Error::last_os_error()))?;
    // SAFETY: libbpf has just made the link, and no one else has it.
    Ok(unsafe { Link::from_ptr(link) })
}

fn load(kind: &str, program: &Program, at: u32) -> Result<Object, libbpf_rs::Error> {
    // A copy, so that it is aligned.
    let object = NAMES.iter().zip(OBJECTS).find(|(name, _)| **name == program.name);
    let bytes = object.map_or(Vec::new(), |(_, bytes)| bytes.to_vec());
    let mut object = ObjectBuilder::default().name(program.name)?.open_memory(&bytes)?;
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        match map_name.as_str() {
            "slots" => map.set_max_entries(program.slots)?,
            name if name.ends_with(".rodata") => map.set_initial_value(&program.bytes(at))?,
            name if name == program.name => {
                // `Qdisc_ops` begins with the kind: fifteen letters and a zero.
                let id = map.initial_value_mut().and_then(<[u8]>::first_chunk_mut::<16>);
                if let Some(id) = id {
                    id.fill(0);
                    id.iter_mut().zip(kind.bytes()).for_each(|(to, from)| *to = from);
                }
            }
            _ => {}
        }
    }
    object.load()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a `detach` that removes what others attached, and a kind that is too long for the kernel.
    #[test]
    fn kinds_are_recognised() {
        for name in NAMES {
            let longest = format!("{PREFIX}{name}{MOST}");
            assert!(longest.len() <= 15 && is_ours(&longest), "{longest}");
        }
        for other in ["choke", "fl_", "fl_choke1x", "fl_codel3", "fq_codel", "bpf_choke1"] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
