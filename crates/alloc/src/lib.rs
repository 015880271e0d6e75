#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// The [allocator of the system](System), with huge pages for large allocations.
///
/// Allocations are those of the system. Only two things change: memory takes less time to read, and it comes in larger
/// pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

/// The bytes of an allocation that is large. On x86-64 it holds a huge page wherever it begins.
const LARGE: usize = 4 << 20;

/// The bytes of the largest page that is not huge. The kernel takes advice about whole pages only.
#[cfg(target_os = "linux")]
const PAGE: usize = 64 << 10;

#[allow(unsafe_code, reason = "the trait of allocators is unsafe")]
// SAFETY: it passes each call to the allocator of the system and returns the result, so it keeps that allocator's
// guarantees. It calls nothing that allocates or panics.
unsafe impl GlobalAlloc for HugePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the requirements of the system's allocator.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; the system has allocated `memory`.
        advised(unsafe { System.realloc(memory, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns `memory` of `size` bytes, after it has asked for huge pages if it is large.
#[inline(always)]
fn advised(memory: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE {
        advise(memory, size);
    }
    memory
}

/// Asks the kernel for huge pages. It need not give any, so nothing depends on its answer.
#[cold]
#[inline(never)]
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "some kinds of advice change memory")]
fn advise(memory: *mut u8, size: usize) {
    use std::ptr::NonNull;

    use nix::sys::mman::{MmapAdvise, madvise};

    let before = memory.align_offset(PAGE);
    let start = NonNull::new(memory).and_then(|memory| NonNull::new(memory.as_ptr().wrapping_add(before)));
    let (Some(start), Some(size)) = (start, size.checked_sub(before)) else { return };
    // SAFETY: this kind of advice changes neither memory nor mappings, at any address (madvise(2), `MADV_HUGEPAGE`).
    let _ = unsafe { madvise(start.cast(), size, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_memory: *mut u8, _size: usize) {}
