//! An archive of files in cpio's "newc" format, from which the kernel makes its first file system.
//!
//! Source: Linux, `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::collections::BTreeMap;

/// The files of a guest. Equal files give equal bytes: they are sorted, and belong to root.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    entries: BTreeMap<String, Entry>,
    bytes: u64,
}

#[derive(Debug)]
enum Entry {
    Folder,
    File(FileEntry),
    /// Where a symbolic link leads.
    Link(String),
}

impl Entry {
    const fn bytes(&self) -> u64 {
        if let Self::File(file) = self { file.data.len() as u64 } else { 0 }
    }
}

/// A file of the archive.
#[derive(Debug)]
pub(crate) struct FileEntry {
    pub(crate) data: Vec<u8>,
    /// The permissions: the lowest nine bits of the mode (inode(7)).
    pub(crate) mode: u32,
    /// The time of its last change, in seconds since 1970.
    pub(crate) changed_s: u32,
}

impl Archive {
    /// Adds an executable file of no time and the folders above it, or replaces it.
    pub(crate) fn file(&mut self, path: &str, data: Vec<u8>) {
        self.entry(path, FileEntry { data, mode: 0o755, changed_s: 0 });
    }

    /// Adds a file and the folders above it, or replaces it.
    pub(crate) fn entry(&mut self, path: &str, file: FileEntry) {
        self.insert(path, Entry::File(file));
    }

    /// Adds a symbolic link to `target` and the folders above it.
    pub(crate) fn link(&mut self, path: &str, target: String) {
        self.insert(path, Entry::Link(target));
    }

    /// Adds a folder and those above it.
    pub(crate) fn folder(&mut self, path: &str) {
        self.insert(path, Entry::Folder);
    }

    /// Returns true if there is a file, a folder or a link of this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_start_matches('/'))
    }

    /// Returns true if there is a folder of this path, which is not a link.
    pub(crate) fn has_folder(&self, path: &str) -> bool {
        matches!(self.entries.get(path.trim_start_matches('/')), Some(Entry::Folder))
    }

    /// The bytes of all files.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of all files with one of `length` bytes at `path`.
    pub(crate) fn bytes_with(&self, path: &str, length: u64) -> u64 {
        self.bytes + length - self.entries.get(path.trim_start_matches('/')).map_or(0, Entry::bytes)
    }

    fn insert(&mut self, path: &str, entry: Entry) {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            self.entries.entry(path[..end].to_owned()).or_insert(Entry::Folder);
        }
        self.bytes += entry.bytes();
        let replaced = self.entries.insert(path.to_owned(), entry);
        self.bytes -= replaced.map_or(0, |entry| entry.bytes());
    }

    /// The archive as the kernel reads it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for ((path, entry), inode) in self.entries.iter().zip(1..) {
            match entry {
                Entry::Folder => write(&mut bytes, inode, path, (0o040_755, 0), &[]),
                Entry::Link(target) => write(&mut bytes, inode, path, (0o120_777, 0), target.as_bytes()),
                Entry::File(FileEntry { data, mode, changed_s }) => {
                    let mode = 0o100_000 | (*mode & 0o777) as usize;
                    write(&mut bytes, inode, path, (mode, *changed_s as usize), data);
                }
            }
        }
        write(&mut bytes, 0, "TRAILER!!!", (0, 0), &[]);
        bytes
    }
}

/// Appends a header of fourteen numbers of eight hexadecimal digits, the name and the data, each padded to four bytes.
fn write(bytes: &mut Vec<u8>, inode: usize, name: &str, (mode, time): (usize, usize), data: &[u8]) {
    let (user, group, links, device, checksum) = (0, 0, 1, 0, 0);
    bytes.extend(b"070701");
    let head = [inode, mode, user, group, links, time, data.len(), device, device, device, device];
    for number in head.into_iter().chain([name.len() + 1, checksum]) {
        bytes.extend(format!("{number:08x}").as_bytes());
    }
    bytes.extend(name.as_bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend(data);
    pad(bytes);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn archive() -> Archive {
        let mut archive = Archive::default();
        archive.file("/sbin/init", b"first".to_vec());
        archive.file("a", vec![7; 4097]);
        archive.folder("proc");
        archive.link("links/one", "../a".to_owned());
        archive.entry("plain", FileEntry { data: b"text".to_vec(), mode: 0o100_640, changed_s: 1_577_836_800 });
        archive
    }

    /// The header of buffer-format.rst, by hand, for the first entry: the file "a".
    #[test]
    fn a_header_is_as_described() {
        let mut archive = Archive::default();
        archive.file("a", b"xyz".to_vec());
        let bytes = archive.to_bytes();
        let head = "07070100000001000081ed00000000000000000000000100000000000000030000000000000000000000000000000000000002\
                    00000000";
        assert_eq!(&bytes[..110], head.as_bytes());
        assert_eq!(&bytes[110..116], b"a\0xyz\0");
        assert_eq!(&bytes[116..122], b"070701");
        assert_eq!(bytes.len() % 4, 0);
    }

    /// cpio(1) finds the same files in the archive.
    #[test]
    fn others_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let cpio = Command::new("cpio")
            .args(["--extract", "--quiet", "--make-directories"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut cpio) = cpio else {
            skip::because("cpio", "there is no cpio(1)");
            return;
        };
        cpio.stdin.take().expect("a pipe").write_all(&archive().to_bytes()).expect("it reads");
        assert!(cpio.wait().expect("it ends").success());
        assert_eq!(std::fs::read(folder.path().join("a")).expect("a file"), vec![7; 4097]);
        assert_eq!(std::fs::read(folder.path().join("sbin/init")).expect("a file"), b"first");
        assert!(folder.path().join("proc").is_dir());
        assert_eq!(std::fs::read_link(folder.path().join("links/one")).expect("a link").to_str(), Some("../a"));
        let plain = std::fs::metadata(folder.path().join("plain")).expect("a file");
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&plain.permissions()) & 0o777, 0o640);
    }
}
