//! Execution with rights that the caller does not have.
#![allow(unsafe_code, reason = "nix has no getauxval")]

use nix::libc;

/// The folders of system programs, in place of the caller's `PATH`.
pub(crate) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns `true` if this program has rights by its file: a set-user-ID bit or capabilities (`AT_SECURE`,
/// getauxval(3)). The caller's environment decides nothing then.
pub(crate) fn has_rights_by_file() -> bool {
    // SAFETY: takes a number and returns a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
