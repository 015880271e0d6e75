//! The kernel of guests, for tests.

use std::path::Path;
use std::sync::OnceLock;

use fairlane_guest::Kernel;

use super::fairlane;

/// Where the kernel is kept from one test run to the next.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guest");

/// A scenario of a tenth of a second, which boots and ends.
const NOTHING: &str = r#"
duration = "100ms"
[bottleneck]
rate = "1mbit"
[[flows]]
name = "cbr"
kind = "udp"
rate = "500kbit"
"#;

/// The missing requirement, and the reason.
type Missing = (&'static str, String);

/// Returns the folder of a kernel for guests, which is fetched once; `None`, with a message, where guests cannot run.
pub(crate) fn kernel() -> Option<&'static str> {
    static KERNEL: OnceLock<Result<&'static str, Missing>> = OnceLock::new();
    let kernel = KERNEL.get_or_init(|| fetch().and_then(|_| boots()));
    kernel.as_ref().map_err(|(requirement, reason)| skip::because(requirement, reason)).ok().copied()
}

/// Returns the kernel, without booting it.
pub(crate) fn fetched() -> Option<Kernel> {
    fetch().map_err(|(requirement, reason)| skip::because(requirement, reason)).ok()
}

fn fetch() -> Result<Kernel, Missing> {
    let fetched = Kernel::below_or_fetched(Path::new(FOLDER));
    fetched.map_err(|error| ("guest-kernel", format!("there is no kernel for guests: {error}")))
}

/// Boots a guest. One that cannot boot for want of a program is skipped; everything else is an error.
fn boots() -> Result<&'static str, Missing> {
    let place = super::Place::new();
    let file = place.write("nothing.toml", NOTHING);
    let output = fairlane(&["lab", &file, "--in", "guest", "--kernel", FOLDER]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("which is missing: install") {
        return Err(("qemu", stderr.into_owned()));
    }
    Ok(FOLDER)
}
