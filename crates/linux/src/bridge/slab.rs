//! Storage for the frames that wait.

/// The size of one allocation, which is filled with zeros while packets wait: that of a mebibyte took milliseconds.
const CHUNK_BYTES: usize = 64 << 10;

/// The maximum total size of each of the two pools. Far above the limit of any queue, so that the discipline decides
/// about drops.
const MAX_BYTES: usize = 256 << 20;

/// The memory that is left to the rest of the program, and the part of it for each slot: the queue of a discipline has
/// an entry of some hundred bytes for each frame, and doubles when it grows. Unlike the slots, it cannot do without.
const SPARE_BYTES: usize = 1 << 20;
const SPARE_BYTES_PER_SLOT: usize = 256;

/// The size of a cache line. The size of a slot is an odd number of lines, so that slots do not all begin in the same
/// few sets of the cache.
const LINE: usize = 64;

/// A bit in the numbers of GSO frames.
const LONG: u32 = 1 << 31;

/// Frames, identified by number.
pub(crate) struct Slab {
    short: SlotPool,
    /// The slots of GSO frames.
    long: SlotPool,
    /// The number of frames stored so far.
    came: u64,
}

/// Slots of one size. Memory is allocated as it is needed, up to a limit, and reused.
struct SlotPool {
    /// The size of a slot in bytes.
    room: usize,
    /// The number of slots in a chunk.
    per_chunk: usize,
    chunks: Vec<Box<[u8]>>,
    /// By number: the length and the order of arrival of the frame in the slot.
    frames: Vec<Slot>,
    free: Vec<u32>,
}

/// The state of a slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The length of the frame; 0 if the slot is free.
    bytes: usize,
    /// The number of frames stored before.
    order: u64,
}

impl Slab {
    /// Creates storage with slots for up to `short` bytes, and slots for up to `long` bytes.
    pub(crate) fn new(short: usize, long: usize) -> Self {
        Self { short: SlotPool::new(short), long: SlotPool::new(long), came: 0 }
    }

    /// Lets `write` fill a slot of at least `bytes` bytes and return the length written. Returns the frame's number;
    /// `None` if there is no memory, the limit is reached or no slot is so long.
    pub(crate) fn put(&mut self, bytes: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Option<u32> {
        let order = self.came;
        let number = if bytes <= self.short.room {
            self.short.put(order, write)
        } else if bytes <= self.long.room {
            self.long.put(order, write).map(|number| number | LONG)
        } else {
            None
        }?;
        self.came += 1;
        Some(number)
    }

    /// Returns the frame `number`; an empty slice if it was removed.
    pub(crate) fn get(&mut self, number: u32) -> &mut [u8] {
        self.places(number).get(number & !LONG)
    }

    /// Removes the frame `number`.
    pub(crate) fn remove(&mut self, number: u32) {
        self.places(number).remove(number & !LONG);
    }

    /// Returns the numbers of all frames in their order of arrival.
    pub(crate) fn waiting(&self) -> Vec<u32> {
        let long = self.long.waiting().map(|(order, number)| (order, number | LONG));
        let mut waiting: Vec<(u64, u32)> = self.short.waiting().chain(long).collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, number)| number).collect()
    }

    const fn places(&mut self, number: u32) -> &mut SlotPool {
        if number & LONG == 0 { &mut self.short } else { &mut self.long }
    }
}

impl SlotPool {
    fn new(longest: usize) -> Self {
        let room = LINE * (longest.div_ceil(LINE) | 1);
        let per_chunk = (CHUNK_BYTES / room).max(1);
        Self { room, per_chunk, chunks: Vec::new(), frames: Vec::new(), free: Vec::new() }
    }

    fn put(&mut self, order: u64, write: impl FnOnce(&mut [u8]) -> usize) -> Option<u32> {
        if self.free.is_empty() {
            self.grow();
        }
        let number = self.free.pop()?;
        let bytes = write(self.place(number));
        self.frames[number as usize] = Slot { bytes, order };
        Some(number)
    }

    fn get(&mut self, number: u32) -> &mut [u8] {
        let bytes = self.frames.get(number as usize).map_or(0, |entry| entry.bytes);
        if bytes == 0 { &mut [] } else { &mut self.place(number)[..bytes] }
    }

    fn remove(&mut self, number: u32) {
        if let Some(entry) = self.frames.get_mut(number as usize).filter(|entry| entry.bytes > 0) {
            entry.bytes = 0;
            self.free.push(number);
        }
    }

    /// Returns the order of arrival and the number of each frame.
    fn waiting(&self) -> impl Iterator<Item = (u64, u32)> {
        let entries = self.frames.iter().zip(0..).filter(|(entry, _)| entry.bytes > 0);
        entries.map(|(entry, number)| (entry.order, number))
    }

    fn place(&mut self, number: u32) -> &mut [u8] {
        let (chunk, at) = (number as usize / self.per_chunk, number as usize % self.per_chunk * self.room);
        &mut self.chunks[chunk][at..at + self.room]
    }

    /// Adds a chunk, unless the limit is reached or the system has no memory for it.
    fn grow(&mut self) {
        let bytes = self.per_chunk * self.room;
        let spare_bytes = SPARE_BYTES + SPARE_BYTES_PER_SLOT * (self.frames.len() + self.per_chunk);
        let (mut chunk, mut spare) = (Vec::new(), Vec::<u8>::new());
        let refused = self.chunks.try_reserve(1).is_err()
            || self.frames.try_reserve(self.per_chunk).is_err()
            || self.free.try_reserve(self.per_chunk).is_err()
            || chunk.try_reserve_exact(bytes).is_err()
            || spare.try_reserve_exact(spare_bytes).is_err();
        drop(spare);
        if refused || (self.chunks.len() + 1) * bytes > MAX_BYTES {
            return;
        }
        chunk.resize(bytes, 0);
        self.chunks.push(chunk.into());
        let first = self.frames.len();
        self.frames.resize(first + self.per_chunk, Slot::default());
        // The slot with the lowest number is used first.
        self.free.extend((first as u32..(first + self.per_chunk) as u32).rev());
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    fn put(slab: &mut Slab, bytes: &[u8]) -> Option<u32> {
        slab.put(bytes.len(), |place| {
            place[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        })
    }

    /// A random script, compared with a plain list. Would catch a slot that two frames share, a wrong order, and memory
    /// that is not reused.
    #[test]
    fn frames_are_stored_in_order() {
        let mut random = Seed::new(1).stream("slab");
        let mut slab = Slab::new(1538, 65_000);
        let mut list: Vec<(u32, Vec<u8>)> = Vec::new();
        for _ in 0..20_000 {
            if list.len() < 2000 && random.below(5) < 3 {
                // One frame in 16 is a GSO frame.
                let (least, span) = if random.below(16) == 0 { (1601, 63_000) } else { (1, 64) };
                let bytes = vec![random.bits() as u8; least + random.below(span) as usize];
                list.push((put(&mut slab, &bytes).unwrap(), bytes));
            } else if !list.is_empty() {
                let (number, bytes) = list.remove(random.below(list.len() as u32) as usize);
                assert_eq!(slab.get(number), bytes);
                slab.remove(number);
                assert_eq!(slab.get(number), [0; 0]);
                // Removing it again is harmless.
                slab.remove(number);
            }
        }
        assert!(list.len() > 1000);
        assert_eq!(slab.waiting(), list.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        list.iter().for_each(|(number, bytes)| assert_eq!(slab.get(*number), bytes));
        // 1538 bytes take 25 lines, 40 slots to a chunk, so at most 2000 frames take 50 chunks. 65,000 bytes take 1017
        // lines, one slot to a chunk.
        assert!(slab.short.room == 25 * 64 && (40..=50).contains(&slab.short.chunks.len()));
        assert!(
            slab.long.room == 1017 * 64 && (64..=256).contains(&slab.long.chunks.len()),
            "{}",
            slab.long.chunks.len()
        );
        // No slot is so long.
        assert_eq!(put(&mut slab, &[1; 66_000]), None);
    }

    /// Jumbo frames. Would catch a limit that is not 256 MB, and one that does not end when a frame is removed.
    #[test]
    fn memory_has_a_bound() {
        let mut slab = Slab::new(9000 + 18 + 10, 65_000);
        // 9028 bytes take 142 lines; the next odd number is 143.
        let room = 143 * 64;
        assert_eq!(slab.short.room, room);
        let most = (0..).take_while(|_| put(&mut slab, &[1]).is_some()).count();
        let chunk = (64 << 10) / room;
        assert_eq!(most, (256 << 20) / (chunk * room) * chunk);
        slab.remove(7);
        assert_eq!((put(&mut slab, &[1]), put(&mut slab, &[1])), (Some(7), None));
        slab.remove(u32::MAX);
    }
}
