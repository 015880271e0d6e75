//! Requirements of tests on a machine. A test that lacks something calls [`because`] and returns: the skip is printed
//! and written down, and the test fails if the environment requires what is missing. [`Watch`] measures whether the
//! machine was busy.
//!
//! ```
//! if std::process::Command::new("nft").arg("-v").output().is_err() {
//!     skip::because("nft", "there is no nft");
//! }
//! ```

mod watch;

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::panic::Location;
use std::path::Path;
use std::thread::{self, JoinHandle};

pub use watch::{Waits, Watch};

/// The variable that lists requirements, separated by commas. A test that lacks one of them fails.
pub const REQUIRE: &str = "FAIRLANE_REQUIRE";

/// The variable that names the folder with the file `skips`, to which every skip adds a line. `make test` sets it.
pub const FOLDER: &str = "FAIRLANE_TESTED";

/// The words and what they mean.
const REQUIREMENTS: &str = include_str!("../requirements");

/// Says that the calling test is skipped, since `requirement` is missing here for `reason`. The test returns after it.
///
/// # Panics
///
/// If `FAIRLANE_REQUIRE` lists the requirement, or a word that is none, and if `requirement` is none.
#[track_caller]
pub fn because(requirement: &str, reason: impl AsRef<str>) {
    let reason = reason.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    let required = std::env::var(REQUIRE).unwrap_or_default();
    if let Err(error) = judge(requirement, &reason, &required) {
        panic!("{error}");
    }
    // Whoever starts tests in a guest looks for this word.
    println!("skipped: {reason} ({requirement})");
    if let Some(folder) = std::env::var_os(FOLDER) {
        let line = format!("{}\t{requirement}\t{reason}\n", test(Location::caller()));
        append(Path::new(&folder), &line).unwrap_or_else(|error| panic!("{FOLDER} {}: {error}", folder.display()));
    }
}

/// Starts a thread that has the name of this one, which is that of the test.
pub fn spawn<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let name = thread::current().name().unwrap_or("unknown").to_owned();
    thread::Builder::new().name(name).spawn(function).expect("the system starts a thread")
}

/// Returns an error if the requirement may not be missing.
fn judge(requirement: &str, reason: &str, required: &str) -> Result<(), String> {
    let is_known = |word: &str| words().any(|known| known == word);
    if !is_known(requirement) {
        return Err(format!("there is no requirement {requirement:?} in crates/skip/requirements"));
    }
    let mut required = required.split(',').map(str::trim).filter(|word| !word.is_empty());
    match required.clone().find(|word| !is_known(word)) {
        Some(word) => Err(format!("{REQUIRE} lists {word:?}; it may list {}", words().collect::<Vec<_>>().join(", "))),
        None if required.any(|word| word == requirement) => {
            Err(format!("{reason}: {REQUIRE} lists {requirement}, so that this test may not be skipped"))
        }
        None => Ok(()),
    }
}

fn words() -> impl Iterator<Item = &'static str> {
    REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next())
}

/// The name of the running test, after its program: that of the thread, or the place of the call where threads have
/// other names.
fn test(place: &Location<'_>) -> String {
    let program = std::env::current_exe().ok();
    let program =
        program.as_ref().and_then(|path| path.file_stem()).map_or(Cow::from("?"), |name| name.to_string_lossy());
    // cargo adds a hash to the name.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    match thread::current().name() {
        Some(name) if !matches!(name, "main" | "unknown") => format!("{program} {name}"),
        _ => format!("{program} {}:{}", place.file(), place.line()),
    }
}

/// Adds a line in one piece: tests of several programs run at the same time.
fn append(folder: &Path, line: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    File::options().create(true).append(true).open(folder.join("skips"))?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a requirement that is ignored, and a misspelt word, which would require nothing.
    #[test]
    fn what_is_required_may_not_be_missing() {
        assert_eq!(judge("nft", "there is no nft", ""), Ok(()));
        assert_eq!(judge("nft", "there is no nft", "root, tshark,"), Ok(()));
        let error = judge("nft", "there is no nft", "root, nft").unwrap_err();
        assert!(error.contains("there is no nft") && error.contains("lists nft"), "{error}");
        let error = judge("nft", "there is no nft", "root,ntf").unwrap_err();
        assert!(error.contains("\"ntf\"") && error.contains("netns, nfqueue, "), "{error}");
        assert!(judge("ntf", "there is no nft", "").unwrap_err().contains("no requirement"));
    }

    #[test]
    fn words_are_words() {
        assert!(words().count() > 30 && words().all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    /// Would catch a thread of a test whose skips have no name, and a line that takes the place of another.
    #[test]
    fn skips_are_written_down_with_the_name_of_the_test() {
        let named = spawn(|| test(Location::caller())).join().unwrap();
        assert_eq!(named, "skip tests::skips_are_written_down_with_the_name_of_the_test");
        let folder = std::env::temp_dir().join(format!("fairlane-skip-{}", std::process::id()));
        append(&folder, "one\n").unwrap();
        append(&folder, "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("skips")).unwrap(), "one\ntwo\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
