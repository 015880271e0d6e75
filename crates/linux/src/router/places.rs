//! Numbers for packets of several queues, each of which counts for itself.

/// The packets that have a number.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By their numbers: the queue, and the packet's own number there.
    taken: Vec<(usize, u32)>,
    free: Vec<u32>,
}

impl Places {
    /// A number for the packet `id` of `queue`, which no other has until it leaves.
    pub(super) fn take(&mut self, queue: usize, id: u32) -> u32 {
        if let Some(number) = self.free.pop() {
            self.taken[number as usize] = (queue, id);
            return number;
        }
        self.taken.push((queue, id));
        self.taken.len() as u32 - 1
    }

    /// The queue and the packet that have `number`, which is free from now on.
    pub(super) fn leave(&mut self, number: u32) -> (usize, u32) {
        self.free.push(number);
        self.taken[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of two queues with the same numbers. Would catch one that is taken for another, and places that grow with every packet.
    #[test]
    fn packets_of_two_queues_are_told_apart() {
        let mut places = Places::default();
        for id in 0..1000 {
            let (first, second) = (places.take(0, id), places.take(1, id));
            assert_ne!(first, second);
            let third = places.take(1, id + 1);
            assert_eq!(
                (places.leave(second), places.leave(first), places.leave(third)),
                ((1, id), (0, id), (1, id + 1))
            );
        }
        assert_eq!(places.taken.len(), 3);
    }
}
