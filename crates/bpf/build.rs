//! Compiles the BPF programs with clang, and leaves the objects where `include_bytes!` finds them.
//!
//! Without clang the crate compiles too, so that the workspace does; it has no programs then, says so, and `attach`
//! fails.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 3] = ["choke", "gchoke", "red"];

/// The oldest clang whose type information tells the kernel that a map owns packets (btf_type_tag).
const OLDEST_CLANG: u32 = 16;

/// The newest clang that is looked for under a name with its number, as Debian has them next to an older `clang`.
const NEWEST_CLANG: u32 = 24;

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-env-changed=BPF_CLANG");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(has_programs)");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let Some(clang) = clang() else {
        println!(
            "cargo::warning=fairlane-bpf is built without its BPF programs: there is no clang {OLDEST_CLANG} or newer; install it \
             (apt install clang-{OLDEST_CLANG}), or name it in BPF_CLANG"
        );
        return;
    };
    // libbpf's headers, as libbpf-sys installs them.
    let (Some(out), Some(headers)) = (env::var_os("OUT_DIR"), env::var_os("DEP_BPF_INCLUDE")) else {
        println!("cargo::error=OUT_DIR or DEP_BPF_INCLUDE is missing: build this crate with cargo");
        return;
    };
    for program in PROGRAMS {
        let source = PathBuf::from(format!("src/bpf/{program}.bpf.c"));
        let object = Path::new(&out).join(format!("{program}.bpf.o"));
        let mut compile = Command::new(&clang);
        compile.args([
            "-g",
            "-O2",
            "-mcpu=v3",
            "-target",
            "bpf",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
        ]);
        compile.arg("-I").arg(&headers).arg("-c").arg(&source).arg("-o").arg(&object);
        match compile.status() {
            Ok(status) if status.success() => {}
            Ok(status) => println!("cargo::error=clang cannot compile {}: {status}", source.display()),
            Err(error) => println!("cargo::error=clang cannot compile {}: {error}", source.display()),
        }
    }
    println!("cargo::rustc-cfg=has_programs");
}

/// Returns the clang to use: that of BPF_CLANG, or the first that is new enough.
fn clang() -> Option<String> {
    let named = (OLDEST_CLANG..=NEWEST_CLANG).rev().map(|number| format!("clang-{number}"));
    let mut candidates = match env::var("BPF_CLANG") {
        Ok(clang) => vec![clang],
        Err(_) => std::iter::once("clang".to_owned()).chain(named).collect(),
    }
    .into_iter();
    candidates.find(|clang| version(clang).is_some_and(|version| version >= OLDEST_CLANG))
}

/// Returns the major version of `clang`; `None` if there is no such program.
fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split('.').next()?.trim().parse().ok()
}
