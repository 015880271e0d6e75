//! Room for the frames that wait.

/// Bytes that are allocated together.
const CHUNK_BYTES: usize = 1 << 20;

/// The most bytes that frames may wait in. It is far above any queue's limit, so that the discipline decides what is dropped.
const MOST_BYTES: usize = 256 << 20;

/// A cache line. Places of an odd number of them do not all begin in the same few sets of a cache.
const LINE: usize = 64;

/// In the numbers of joined frames.
const LONG: u32 = 1 << 31;

/// Frames by their number.
pub(crate) struct Slab {
    short: Places,
    /// Those of joined frames.
    long: Places,
    /// How many have come.
    came: u64,
}

/// Places of a size. Memory is allocated as it is needed and used again, up to a bound.
struct Places {
    /// Bytes for one frame.
    room: usize,
    /// Places in a chunk.
    per_chunk: usize,
    chunks: Vec<Box<[u8]>>,
    /// By number: the bytes that are used, and when the frame came among the others.
    frames: Vec<Entry>,
    free: Vec<u32>,
}

/// What is known of a place.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// 0 while it is free.
    bytes: usize,
    /// Frames that came before.
    order: u64,
}

impl Slab {
    /// Places for up to `short` bytes each, and for up to `long`.
    pub(crate) fn new(short: usize, long: usize) -> Self {
        Self { short: Places::new(short), long: Places::new(long), came: 0 }
    }

    /// Lets `write` fill a place of `bytes` bytes, which says how many it has written; the number of what it wrote, or `None` if as
    /// much waits as may, or no place is so long.
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

    /// What was put there; nothing if it was taken away.
    pub(crate) fn get(&mut self, number: u32) -> &mut [u8] {
        self.places(number).get(number & !LONG)
    }

    /// Takes it away.
    pub(crate) fn remove(&mut self, number: u32) {
        self.places(number).remove(number & !LONG);
    }

    /// The numbers of all that wait, in the order in which they came.
    pub(crate) fn waiting(&self) -> Vec<u32> {
        let long = self.long.waiting().map(|(order, number)| (order, number | LONG));
        let mut waiting: Vec<(u64, u32)> = self.short.waiting().chain(long).collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, number)| number).collect()
    }

    const fn places(&mut self, number: u32) -> &mut Places {
        if number & LONG == 0 { &mut self.short } else { &mut self.long }
    }
}

impl Places {
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
        self.frames[number as usize] = Entry { bytes, order };
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

    /// When each came that waits, and its number.
    fn waiting(&self) -> impl Iterator<Item = (u64, u32)> {
        let entries = self.frames.iter().zip(0..).filter(|(entry, _)| entry.bytes > 0);
        entries.map(|(entry, number)| (entry.order, number))
    }

    fn place(&mut self, number: u32) -> &mut [u8] {
        let (chunk, at) = (number as usize / self.per_chunk, number as usize % self.per_chunk * self.room);
        &mut self.chunks[chunk][at..at + self.room]
    }

    /// Allocates another chunk, if there may be one.
    fn grow(&mut self) {
        let chunk = self.per_chunk * self.room;
        if (self.chunks.len() + 1) * chunk > MOST_BYTES {
            return;
        }
        self.chunks.push(vec![0; chunk].into());
        let first = self.frames.len();
        self.frames.resize(first + self.per_chunk, Entry::default());
        // The lowest is used first.
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

    /// Under a random script, against a plain list. Would catch a place that two frames have, an order that is not theirs, and
    /// memory that is not used again.
    #[test]
    fn frames_are_kept_as_they_came() {
        let mut random = Seed::new(1).stream("slab");
        let mut slab = Slab::new(1538, 65_000);
        let mut list: Vec<(u32, Vec<u8>)> = Vec::new();
        for _ in 0..20_000 {
            if list.len() < 2000 && random.below(5) < 3 {
                // One in 16 is a joined one.
                let (least, span) = if random.below(16) == 0 { (1601, 63_000) } else { (1, 64) };
                let bytes = vec![random.bits() as u8; least + random.below(span) as usize];
                list.push((put(&mut slab, &bytes).unwrap(), bytes));
            } else if !list.is_empty() {
                let (number, bytes) = list.remove(random.below(list.len() as u32) as usize);
                assert_eq!(slab.get(number), bytes);
                slab.remove(number);
                assert_eq!(slab.get(number), [0; 0]);
                // Once more does no harm.
                slab.remove(number);
            }
        }
        assert!(list.len() > 1000);
        assert_eq!(slab.waiting(), list.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        list.iter().for_each(|(number, bytes)| assert_eq!(slab.get(*number), bytes));
        // 1538 bytes take 25 lines: 655 to a chunk, so 2000 less some take three or four. 65,000 take 1017: 16 to a chunk.
        assert!(slab.short.room == 25 * 64 && (3..=4).contains(&slab.short.chunks.len()));
        assert!(
            slab.long.room == 1017 * 64 && (4..=16).contains(&slab.long.chunks.len()),
            "{}",
            slab.long.chunks.len()
        );
        // Nothing is so long.
        assert_eq!(put(&mut slab, &[1; 66_000]), None);
    }

    /// The largest frames of an interface with jumbo frames: as many as 256 MB hold, and then no more until one goes.
    #[test]
    fn memory_has_a_bound() {
        let mut slab = Slab::new(9000 + 18 + 10, 65_000);
        // 9028 bytes take 142 lines, and an odd number of them is 143.
        let room = 143 * 64;
        assert_eq!(slab.short.room, room);
        let most = (0..).take_while(|_| put(&mut slab, &[1]).is_some()).count();
        let chunk = (1 << 20) / room;
        assert_eq!(most, (256 << 20) / (chunk * room) * chunk);
        slab.remove(7);
        assert_eq!((put(&mut slab, &[1]), put(&mut slab, &[1])), (Some(7), None));
        slab.remove(u32::MAX);
    }
}
