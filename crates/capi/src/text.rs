//! Text from and to C.

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the text at `text`, or what is wrong with it.
///
/// # Safety
/// `text` is NULL, or points to bytes that end with a zero.
pub(crate) unsafe fn read<'t>(text: *const c_char) -> Result<&'t str, String> {
    if text.is_null() {
        return Err("there is no text: the pointer is NULL".to_owned());
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| "the text is not UTF-8".to_owned())
}

/// Writes `text` to `out`, which has `room` bytes, as far as it fits, and ends it with a zero. Returns the bytes that
/// the whole text has, without the zero.
///
/// # Safety
/// `out` is NULL, or points to `room` bytes that can be written.
pub(crate) unsafe fn write(text: &str, out: *mut c_char, room: usize) -> usize {
    if !out.is_null() && room > 0 {
        let mut end = text.len().min(room - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: `end` is below `room`, and the caller promises so many bytes.
        unsafe {
            out.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), end);
            *out.add(end) = 0;
        }
    }
    text.len()
}

/// Returns the result of `read`; a panic is an error as well.
pub(crate) fn caught<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let failed = |_| Err("an error of the library: it panicked".to_owned());
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(failed)
}

/// Returns text for C, without what comes after a zero.
pub(crate) fn for_c(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
