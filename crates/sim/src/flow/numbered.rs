//! Flows with consecutive numbers.

use std::ops::Range;

/// The flows of a run, or of a part of it, where the numbers need not begin with 0.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    first: u32,
    items: Vec<T>,
}

impl<T> Numbered<T> {
    /// Returns items of which the first one has number `first`.
    pub(crate) const fn new(first: u32, items: Vec<T>) -> Self {
        Self { first, items }
    }

    /// Returns number `id`; `None` if it is not among these.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.items.get(id.wrapping_sub(self.first) as usize)
    }

    /// As [`get`](Self::get).
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.items.get_mut(id.wrapping_sub(self.first) as usize)
    }

    /// Passes number `id`, if it is among these, to `handle`.
    #[inline]
    pub(crate) fn with(&mut self, id: u32, handle: impl FnOnce(&mut T)) {
        if let Some(flow) = self.get_mut(id) {
            handle(flow);
        }
    }

    /// Returns their numbers.
    pub(crate) fn numbers(&self) -> Range<u32> {
        self.first..self.first + self.items.len() as u32
    }

    /// Returns all in the order of their numbers.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// As [`iter`](Self::iter).
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Removes and returns those from number `first` on.
    pub(crate) fn split_off(&mut self, first: u32) -> Self {
        let kept = (first.saturating_sub(self.first) as usize).min(self.items.len());
        Self { first, items: self.items.split_off(kept) }
    }

    /// Adds `later`, whose numbers follow; there may be none.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.items.append(&mut later.items);
    }
}
