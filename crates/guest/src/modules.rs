//! The kernel's modules, with the modules that each needs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::GuestError;

/// The modules below a folder, by their names with underscores.
#[derive(Clone, Debug)]
pub(crate) struct Modules {
    files: BTreeMap<String, PathBuf>,
}

/// A module, ready for the kernel.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
}

impl Modules {
    /// Looks for `*.ko` and `*.ko.xz` below `folder`.
    pub(crate) fn below(folder: &Path) -> Result<Self, GuestError> {
        let mut files = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let read = |source| GuestError::Read { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(read)? {
                let entry = entry.map_err(read)?;
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                if entry.file_type().map_err(read)?.is_dir() {
                    folders.push(path);
                } else if let Some(name) = name.strip_suffix(".xz").unwrap_or(&name).strip_suffix(".ko") {
                    files.insert(underscored(name), path);
                }
            }
        }
        Ok(Self { files })
    }

    /// Returns the modules `wanted` and those that they need, each behind what it needs. One that is not there is taken
    /// for a part of the kernel itself.
    pub(crate) fn with_what_they_need(&self, wanted: &[&str]) -> Result<Vec<Module>, GuestError> {
        let mut modules = Vec::new();
        wanted.iter().try_for_each(|name| self.add(&underscored(name), &mut modules))?;
        Ok(modules)
    }

    fn add(&self, name: &str, modules: &mut Vec<Module>) -> Result<(), GuestError> {
        let Some(path) = self.files.get(name) else { return Ok(()) };
        if modules.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let data = read(path)?;
        for needed in needed(&data) {
            self.add(&needed, modules)?;
        }
        modules.push(Module { name: name.to_owned(), data });
        Ok(())
    }
}

fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

/// Reads a module, and unpacks it if it is packed.
fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    let data = fs::read(path).map_err(|source| GuestError::Read { path: path.to_owned(), source })?;
    if path.extension().is_none_or(|end| end != "xz") {
        return Ok(data);
    }
    let mut unpacked = Vec::new();
    lzma_rs::xz_decompress(&mut Cursor::new(data), &mut unpacked)
        .map_err(|error| GuestError::Invalid { path: path.to_owned(), why: format!("not packed by xz: {error:?}") })?;
    Ok(unpacked)
}

/// The names after `depends=` in the section `.modinfo`, whose entries end with a zero byte.
fn needed(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(start) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else { return Vec::new() };
    let names = module[start + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(names);
    names.split(',').filter(|name| !name.is_empty()).map(underscored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module needs those that it names, and these come first, once; a missing one is part of the kernel.
    #[test]
    fn each_follows_what_it_needs() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, data: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, data).expect("it can be written");
        };
        write("net/xt_A.ko", b"\x7fELF..\0license=GPL\0depends=x-tables,builtin\0name=xt_A\0");
        write("net/deep/x_tables.ko", b"..\0depends=\0");
        let mut packed = Vec::new();
        lzma_rs::xz_compress(&mut Cursor::new(b"..\0depends=xt_A,x_tables\0"), &mut packed).expect("it packs");
        write("nft-b.ko.xz", &packed);
        write("notes.txt", b"\0depends=none\0");
        let modules = Modules::below(folder.path()).expect("they are read");
        let order = |wanted: &[&str]| -> Vec<String> {
            let all = modules.with_what_they_need(wanted).expect("they are there");
            all.into_iter().map(|module| module.name).collect()
        };
        assert_eq!(order(&["nft_b", "xt_A"]), ["x_tables", "xt_A", "nft_b"]);
        assert_eq!(order(&["builtin"]), [""; 0]);
        fs::write(folder.path().join("nft-b.ko.xz"), b"no archive").expect("it can be written");
        let error = modules.with_what_they_need(&["nft_b"]).expect_err("it is no archive").to_string();
        assert!(error.contains("nft-b.ko.xz: not packed by xz"), "{error}");
    }
}
