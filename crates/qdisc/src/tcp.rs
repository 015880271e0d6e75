//! The parts of a TCP header that a filter of acknowledgements looks at.

/// The parts of a packet's TCP header (RFC 9293) that a filter of acknowledgements looks at; see
/// [`Packet::tcp`](crate::Packet::tcp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Identifies the connection and the direction: the same for packets with the same addresses and ports, and for no
    /// others.
    pub connection: u64,
    /// The packet has the flag ACK and not the flag SYN, so that `number` tells the received data.
    pub acknowledges: bool,
    /// The acknowledgement number.
    pub number: u32,
    /// The packet does nothing but acknowledge, and may be dropped if a later one says the same: it has no data, no
    /// flags but ACK, ECE and CWR, and no options but timestamps, SACK and MD5 signatures.
    pub pure: bool,
    /// The flag ECE (RFC 3168).
    pub ece: bool,
    /// The flag CWR (RFC 3168).
    pub cwr: bool,
    /// TSval and TSecr (RFC 7323); `None` without the option.
    pub timestamps: Option<(u32, u32)>,
    /// The data that was received beyond `number`.
    pub sack: Sack,
}

impl TcpHeader {
    /// Returns the header of a pure acknowledgement on `connection` without options.
    #[must_use]
    pub const fn ack(connection: u64, number: u32) -> Self {
        Self {
            connection,
            acknowledges: true,
            number,
            pure: true,
            ece: false,
            cwr: false,
            timestamps: None,
            sack: Sack::None,
        }
    }
}

/// The selective acknowledgements of a packet (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sack {
    /// There are none.
    None,
    /// These.
    Blocks(SackBlocks),
    /// There are some, which the packet does not tell. Such an acknowledgement is never dropped.
    Hidden,
}

/// The blocks of a SACK option, of which there are at most four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); Self::MOST],
    count: usize,
}

impl SackBlocks {
    /// The most blocks that fit into a TCP header.
    pub const MOST: usize = 4;

    /// Creates an option of `blocks`, each with its first sequence number and the one behind its last. Blocks beyond
    /// the fourth are left out.
    #[must_use]
    pub fn new(blocks: &[(u32, u32)]) -> Self {
        let count = blocks.len().min(Self::MOST);
        let mut all = [(0, 0); Self::MOST];
        all[..count].copy_from_slice(&blocks[..count]);
        Self { blocks: all, count }
    }

    /// Returns the blocks.
    #[must_use]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count]
    }
}
