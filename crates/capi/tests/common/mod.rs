//! Programs in C with the library under test.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the program that `source` becomes with `flags`, next to the libraries under test.
pub(crate) fn compile(source: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = env::current_exe()?.parent().ok_or("a program is in a folder")?.to_owned();
    let program = folder.join(format!("capi-{name}"));
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags.iter().take_while(|flag| !flag.starts_with("-l")))
        .arg(format!("-I{CRATE}/include"))
        .arg(folder.join("libfairlane_capi.a"))
        .args(flags.iter().skip_while(|flag| !flag.starts_with("-l")))
        .args(["-lpthread", "-ldl", "-lm"])
        .output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}

pub(crate) fn text(output: Output) -> Result<String, Box<dyn std::error::Error>> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {errors}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

pub(crate) fn run(program: &Path, mode: &str) -> Result<String, Box<dyn std::error::Error>> {
    text(Command::new(program).arg(mode).output()?)
}

/// Installs the library and returns the folder; `None` without pkg-config, which programs find it with.
pub(crate) fn installed(name: &str) -> Result<Option<PathBuf>, Box<dyn std::error::Error>> {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        skip::because("pkg-config", "there is no pkg-config");
        return Ok(None);
    }
    let folder = env::current_exe()?.parent().ok_or("a program is in a folder")?.to_owned();
    let prefix = folder.join(name);
    text(Command::new(Path::new(CRATE).join("install")).arg(&prefix).env("BUILT", &folder).output()?)?;
    Ok(Some(prefix))
}
