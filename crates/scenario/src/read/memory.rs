//! Back CHOKe with memory drops every flow that it remembers: it must remember fewer than there are.

use fairlane_qdisc::Kind;

use crate::error::ScenarioError;
use crate::field::{Field, Reader};
use crate::model::{FlowGroup, Hop, Link, LinkSide, Traffic};

/// Rejects `mloc-choke` with a `memory` for all flows: after that many packets it would drop everything.
pub(crate) fn check(root: &Reader<'_>, links: &[Link], flows: &[FlowGroup]) -> Result<(), ScenarioError> {
    for (index, link) in links.iter().enumerate() {
        for (side, reverse) in [(&link.forward, false), (&link.reverse, true)] {
            let Some(memory) = memory(side) else { continue };
            let crossing = crossing(flows, Hop { link: index, reverse });
            if crossing > 0 && memory >= crossing {
                let message = format!(
                    "{crossing} flows pass here and mloc-choke remembers {memory}: once each \
                     has had a packet nothing would pass"
                );
                let error =
                    place(root, index, reverse).map_or_else(|| root.error(&message), |field| field.error(&message));
                return Err(error.with_help("make `memory` less than the number of flows"));
            }
        }
    }
    Ok(())
}

/// Returns the number of flows in the memory of a queue of mloc-choke.
fn memory(side: &LinkSide) -> Option<u64> {
    let explained = side.queue.explanation();
    let memory =
        explained.parameters.iter().find(|parameter| explained.kind == Kind::MlocChoke && parameter.key == "memory");
    memory?.value.parse().ok()
}

/// The flows whose packets or acknowledgements take `hop`.
fn crossing(flows: &[FlowGroup], hop: Hop) -> u64 {
    let passes = |group: &&FlowGroup| {
        let acknowledged = !matches!(group.traffic, Traffic::Udp(_));
        group.path.contains(&hop) || acknowledged && group.back.contains(&hop)
    };
    flows.iter().filter(passes).map(|group| u64::from(group.count)).sum()
}

/// Returns the place where the queue of a link was written.
fn place<'a>(root: &Reader<'a>, index: usize, reverse: bool) -> Option<Field<'a>> {
    let link = match root.get("links") {
        Some(links) => links.tables().ok()?.into_iter().nth(index)?,
        None => root.get("bottleneck")?.table().ok()?,
    };
    let side = if reverse { link.get("reverse")?.table().ok()? } else { link };
    let queue = side.get("queue")?;
    queue.table().ok()?.get("memory").or(Some(queue))
}
