//! Asks the processor for memory that will be read soon, where it can be asked.

/// The processor can be asked.
pub(crate) const PREFETCHES: bool = cfg!(all(target_arch = "x86_64", target_feature = "sse", not(miri)));

/// Asks for the item at `index`, so that it is in the cache when it is read; for nothing if there is no such item.
///
/// It changes nothing but time. On other processors than x86-64 it does nothing.
#[inline(always)]
#[allow(unsafe_code, reason = "the only instruction that loads ahead without waiting is an unsafe function")]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse", not(miri)))]
    if let Some(item) = items.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the function requires the feature `sse`, which the target has. It dereferences nothing: PREFETCHT0 is a hint that reads and
        // writes no value and raises no exception at any address (Intel SDM, volume 2, PREFETCHh; AMD64 APM, volume 3, PREFETCHlevel), and
        // the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse", not(miri))))]
    let _ = (items, index);
}
