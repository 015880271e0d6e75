//! CAKE's filter of acknowledgements as a slow reference, from sch_cake.

use fairlane_qdisc::{Sack, SimplePacket, TcpHeader};

use super::delay::Queue;

/// Returns the place of the acknowledgement that goes when the last packet of `queue` has come, by the rules of
/// sch_cake. A packet's label is the number of its TCP header among `headers`.
pub(crate) fn goes(filter: &str, queue: &Queue, headers: &[Option<TcpHeader>]) -> Option<usize> {
    let tcp = |p: &SimplePacket| headers.get(p.label as usize).copied().flatten();
    let (new, before) = queue.split_last()?;
    let new = tcp(&new.0).filter(|new| new.acknowledges && filter != "none")?;
    let same = |old: &TcpHeader| old.connection == new.connection;
    let of_connection: Vec<(usize, TcpHeader)> =
        (0..).zip(before).filter_map(|(at, (p, _))| Some((at, tcp(p).filter(same)?))).collect();
    let flags = |tcp: &TcpHeader| (tcp.ece, tcp.cwr);
    let mut eligible: Vec<(usize, TcpHeader)> = Vec::new();
    for (at, old) in of_connection {
        if eligible.first().is_some_and(|(_, first)| flags(first) != flags(&old)) {
            eligible.clear();
        }
        if may_go(&old, &new) {
            eligible.push((at, old));
        }
        if eligible.len() == 2 {
            return Some(eligible[0].0);
        }
    }
    let &(at, old) = eligible.first()?;
    (filter == "aggressive" && at + 1 == before.len() && flags(&old) == flags(&new)).then_some(at)
}

/// Tells whether nothing is lost with `old` once `new` has come. Numbers are counted from the acknowledged one of
/// `old`, so that they do not wrap; those more than half of the circle ahead are behind.
fn may_go(old: &TcpHeader, new: &TcpHeader) -> bool {
    let from = |start: u32, number: u32| i64::from(number.wrapping_sub(start) as i32);
    let (value, echo) = new.timestamps.unwrap_or((0, 0));
    let in_time = old.timestamps.is_none_or(|(v, e)| from(v, value) >= 0 && from(e, echo) >= 0);
    let blocks = |tcp: &TcpHeader| match &tcp.sack {
        Sack::Blocks(blocks) => {
            blocks.blocks().iter().map(|b| (from(old.number, b.0), from(old.number, b.1))).collect()
        }
        _ => Vec::new(),
    };
    let (olds, news) = (blocks(old), blocks(new));
    let covered = olds.iter().all(|a| a.0 >= 0 && news.iter().any(|b| b.0 <= a.0 && a.1 <= b.1));
    let size = |blocks: &[(i64, i64)]| blocks.iter().map(|b| b.1 - b.0).sum::<i64>();
    let more = match (old.sack, new.sack) {
        (Sack::None, sack) => sack != Sack::None,
        (Sack::Blocks(_), Sack::Blocks(_)) => size(&news) > size(&olds),
        _ => false,
    };
    let shown = old.sack == Sack::None || matches!((old.sack, new.sack), (Sack::Blocks(_), Sack::Blocks(_)));
    let ahead = from(old.number, new.number);
    old.pure && in_time && shown && covered && (ahead > 0 || ahead == 0 && more)
}
