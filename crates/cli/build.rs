//! Compiles the page of the playground in: the files of the folder `FAIRLANE_PLAYGROUND`, which `make web` has built.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDER: &str = "FAIRLANE_PLAYGROUND";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={FOLDER}");
    let mut files = Vec::new();
    if let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        println!("cargo::rerun-if-changed={}", Path::new(&folder).display());
        let listed = fs::read_dir(&folder).map_err(|error| format!("{FOLDER}={}: {error}", folder.display()))?;
        files = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
        files.retain(|file| file.is_file());
        files.sort();
        if !files.iter().any(|file| file.ends_with("index.html")) {
            return Err(format!("{FOLDER}={}: there is no index.html", folder.display()).into());
        }
    }
    let mut text = "const FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text += &format!("    ({name:?}, include_bytes!({:?})),\n", fs::canonicalize(&file)?);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("Cargo sets OUT_DIR")?);
    fs::write(out.join("playground.rs"), text + "];\n")?;
    Ok(())
}
