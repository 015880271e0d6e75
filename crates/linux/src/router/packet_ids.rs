//! Identifiers for the packets of several NFQUEUEs, each of which numbers its packets independently.

/// The identifiers in use.
#[derive(Debug, Default)]
pub(super) struct PacketIds {
    /// By identifier: the index of the queue, and the packet's number there.
    packets: Vec<(usize, u32)>,
    free: Vec<u32>,
}

impl PacketIds {
    /// Returns an identifier for the packet `id` of `queue`, unique until it is released.
    pub(super) fn allocate(&mut self, queue: usize, id: u32) -> u32 {
        if let Some(number) = self.free.pop() {
            self.packets[number as usize] = (queue, id);
            return number;
        }
        self.packets.push((queue, id));
        self.packets.len() as u32 - 1
    }

    /// Releases the identifier `number` and returns its queue and the packet's number there.
    pub(super) fn release(&mut self, number: u32) -> (usize, u32) {
        self.free.push(number);
        self.packets[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of two queues with the same numbers. Would catch one that is taken for another, and a table that grows
    /// with every packet.
    #[test]
    fn packets_of_two_queues_are_told_apart() {
        let mut ids = PacketIds::default();
        for id in 0..1000 {
            let (first, second) = (ids.allocate(0, id), ids.allocate(1, id));
            assert_ne!(first, second);
            let third = ids.allocate(1, id + 1);
            assert_eq!((ids.release(second), ids.release(first), ids.release(third)), ((1, id), (0, id), (1, id + 1)));
        }
        assert_eq!(ids.packets.len(), 3);
    }
}
