//! The header for C.

use std::path::Path;
use std::{env, fs};

/// Would catch a header that is not that of the library. `UPDATE_HEADER=1` writes it.
#[test]
fn the_header_is_that_of_the_library() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let mut made = Vec::new();
    cbindgen::Builder::new().with_crate(folder).with_config(config).generate()?.write(&mut made);
    // A heading of Rust's documentation.
    let made = String::from_utf8(made)?.replace("\n # Safety\n", "\n Undefined unless:\n");
    let file = folder.join("include/fairlane.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&file, &made)?;
    }
    assert!(fs::read_to_string(&file)? == made, "{} is out of date: UPDATE_HEADER=1 writes it", file.display());
    Ok(())
}
