//! Prefetches memory that will be read soon, on processors that support it.
//!
//! A read that misses all caches takes about a hundred nanoseconds, the time of several hundred instructions. A program
//! that knows its next reads early can prefetch the memory, go on with other work, and find the data in the cache.
//! Prefetching changes nothing but time.

/// Returns true if the processor can be asked: if it is an x86-64. On others [`prefetch`] does nothing.
#[must_use]
#[inline(always)]
pub const fn is_available() -> bool {
    cfg!(all(target_arch = "x86_64", target_feature = "sse", not(miri)))
}

/// The bytes that a cache of these processors loads at once.
const LINE: usize = 64;

/// Prefetches each cache line of `item`, without the targets of its pointers; does nothing without an item. Most
/// processors load some twenty lines at a time: if more are asked for, the next instructions wait.
///
/// ```
/// use fairlane_qdisc::prefetch::prefetch;
///
/// let (order, items) = ([2, 0, 1], [10, 20, 30]);
/// let mut sum = 0;
/// for (place, index) in order.iter().enumerate() {
///     // Load the item after the next one meanwhile.
///     prefetch(order.get(place + 2).and_then(|next| items.get(*next)));
///     sum += items[*index];
/// }
/// assert_eq!(sum, 60);
/// ```
#[inline(always)]
pub fn prefetch<T>(item: Option<&T>) {
    let Some(item) = item else { return };
    let first = core::ptr::from_ref(item).cast::<i8>();
    let mut offset = 0;
    while offset < size_of::<T>() {
        ask(first.wrapping_add(offset));
        offset += LINE;
    }
    // An item that begins within a line may end on one line more.
    if align_of::<T>() < LINE.min(size_of::<T>()) {
        ask(first.wrapping_add(size_of::<T>() - 1));
    }
}

#[inline(always)]
#[allow(unsafe_code, reason = "the only instruction that loads ahead without waiting is an unsafe function")]
fn ask(address: *const i8) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the function requires the feature `sse`, which the target has. It dereferences nothing: PREFETCHT0 is
        // a hint that reads and writes no value and raises no exception at any address (Intel SDM, volume 2, PREFETCHh;
        // AMD64 APM, volume 3, PREFETCHlevel).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse", not(miri))))]
    let _ = address;
}
