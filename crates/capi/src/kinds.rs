//! Names: of disciplines, of reasons, and of parameters.

use std::ffi::{CString, c_char};
use std::fmt::Write;
use std::ptr;
use std::sync::OnceLock;

use fairlane_qdisc::{Kind, Origin, QdiscParameters, Rate, Reason};

use crate::packet::FL_REASON_PURGED;
use crate::text;

/// The version of the interface of this header: 0 until the first release, then one more with each change after which
/// programs have to be compiled again.
pub const FL_ABI_VERSION: u32 = 0;

/// Returns the version of the library's interface, which should be FL_ABI_VERSION of the header.
#[unsafe(no_mangle)]
pub extern "C" fn fl_abi_version() -> u32 {
    FL_ABI_VERSION
}

/// Returns the name of discipline number `index`, from 0; NULL after the last one. It is valid forever.
#[unsafe(no_mangle)]
pub extern "C" fn fl_kinds(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| Kind::ALL.iter().map(|kind| text::for_c(kind.name())).collect());
    names.get(index).map_or(ptr::null(), |name| name.as_ptr())
}

/// Returns the name of a reason, such as match_victim; NULL for a number that is none. It is valid forever. A program
/// that counts by reason asks for 1, 2, 3 … until there is none.
#[unsafe(no_mangle)]
pub extern "C" fn fl_reason_name(reason: u32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    if reason == FL_REASON_PURGED {
        return c"purged".as_ptr();
    }
    let names = NAMES.get_or_init(|| Reason::ALL.iter().map(|reason| text::for_c(reason.name())).collect());
    let index = (reason as usize).wrapping_sub(1);
    names.get(index).map_or(ptr::null(), |name| name.as_ptr())
}

/// Writes to `out`, which has `room` bytes, each parameter of the discipline that `text` describes as it will be used
/// on a link of `rate` bit/s (0: not known), one on a line, with its meaning and where its value comes from; then
/// consequences and warnings. Returns the length of the whole text without the zero at its end, which may be more than
/// fits; or -1 for a mistake in `text`, which `out` then has.
///
/// # Safety
/// `text` is NULL, or ends with a zero; `out` is NULL, or points to `room` bytes that can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_explain(text: *const c_char, rate: u64, out: *mut c_char, room: usize) -> i64 {
    // SAFETY: the caller promises it.
    let explained = unsafe { text::read(text) }.and_then(|text| text::caught(|| explanation(text, rate)));
    match explained {
        // SAFETY: the caller promises it.
        Ok(lines) => unsafe { text::write(&lines, out, room) as i64 },
        Err(error) => {
            // SAFETY: the caller promises it.
            unsafe { text::write(&error, out, room) };
            -1
        }
    }
}

fn explanation(text: &str, rate: u64) -> Result<String, String> {
    let parameters: QdiscParameters = text.parse().map_err(|error| format!("{error}"))?;
    let explained = parameters.explain(Rate::from_bits_per_second(rate)).map_err(|error| format!("{error}"))?;
    let mut lines = format!("{}\n", explained.kind);
    for parameter in &explained.parameters {
        let origin = match parameter.origin {
            Origin::Given => "given",
            Origin::Default(reason) | Origin::Derived(reason) => reason,
        };
        let _ = writeln!(lines, "{}={}: {} ({origin})", parameter.key, parameter.value, parameter.meaning);
    }
    for line in &explained.consequences {
        let _ = writeln!(lines, "{line}");
    }
    for line in &explained.warnings {
        let _ = writeln!(lines, "warning: {line}");
    }
    Ok(lines)
}
