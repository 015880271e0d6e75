//! The links that can be emulated in real time.

use fairlane_scenario::{Link, LinkSide};

use crate::error::Unsupported;

/// The name of the link in the dumbbell shorthand.
const BOTTLENECK: &str = "bottleneck";

/// Checks that `link` can be emulated in real time, by a [`Chain`](crate::Chain).
///
/// # Errors
/// The first key that cannot.
pub fn check_link(link: &Link) -> Result<(), Unsupported> {
    [("", &link.forward), ("reverse.", &link.reverse)].into_iter().try_for_each(|(before, side)| {
        let refuse = |key: &str, message: &str, help: &str| {
            Err(Unsupported::new(&of_link(link, &format!("{before}{key}")), message, help))
        };
        if side.wire.shaper.is_some() {
            let help = "leave it out here, or simulate it: fairlane run";
            return refuse("shaper", "an emulated link has no shaper in front of it", help);
        }
        if side.wire.aggregation.is_some_and(|frames| frames.thin_acks) {
            return refuse("aggregation.thin_acks", "an emulated link sends all acknowledgements", "set it to false");
        }
        Ok(())
    })
}

/// Checks that the link of a discipline of the kernel can be `side`.
pub(crate) fn check_kernel_side(link: &Link, LinkSide { wire, .. }: &LinkSide) -> Result<(), Unsupported> {
    let keys = [
        ("rate", wire.rates.is_some(), "has one rate"),
        ("policer", wire.policer.is_some(), "has no policer"),
        ("aggregation", wire.aggregation.is_some(), "sends packets one by one"),
    ];
    let Some((key, _, why)) = keys.into_iter().find(|(_, there, _)| *there) else { return Ok(()) };
    let help = "measure the library's discipline, or simulate it: fairlane run";
    Err(Unsupported::new(&of_link(link, key), format!("a link with a discipline of the kernel {why}"), help))
}

/// Returns the place of a link's key in the scenario file.
pub(crate) fn of_link(link: &Link, key: &str) -> String {
    if link.name == BOTTLENECK { format!("{BOTTLENECK}.{key}") } else { format!("links.{}.{key}", link.name) }
}
