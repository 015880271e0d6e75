//! Keys of a sweep that stand for others: a dumbbell's round trip, and the sizes of its queue in bandwidth-delay
//! products.

use std::sync::Arc;

use fairlane_qdisc::Duration;

use crate::document::Document;
use crate::error::{Origin, ScenarioError};
use crate::model::{Access, Scenario};
use crate::vary::Point;

/// The propagation delay of a round trip over a dumbbell.
const ROUND_TRIP: &str = "rtt";

/// The queue whose sizes may be given in bandwidth-delay products.
const QUEUE: &str = "bottleneck.queue";

/// The unit of such a size: one bandwidth-delay product.
const PRODUCT: &str = "bdp";

impl Document {
    /// Sets the keys of a point of a sweep. Two of its values follow from the others, in any order:
    ///
    /// * `rtt`, the propagation delay of a round trip over `[bottleneck]`, sets `access.delay`, of which a round trip
    ///   has four, after twice the bottleneck's own delay;
    /// * a size of the bottleneck's queue in bandwidth-delay products, such as `bottleneck.queue.limit` = `1.5bdp`, is
    ///   that many times the link's rate and the longest round trip, in whole packets of the largest size, at least 1;
    ///   from `0.01bdp` to `1000bdp`.
    ///
    /// # Errors
    /// The errors of [`set`](Self::set), for the option `--vary key=value`; there is no `[bottleneck]`, or `rtt` is
    /// shorter than twice its delay.
    pub fn set_point(&mut self, point: &Point) -> Result<(), ScenarioError> {
        let of_queue = |key: &str| key.strip_prefix(QUEUE).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let (queue, others): (Vec<_>, Vec<_>) = point.settings().iter().partition(|(key, _)| of_queue(key));
        let (round_trip, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(key, _)| key == ROUND_TRIP);
        for (key, value) in others {
            self.vary(key, value, value)?;
        }
        for (key, value) in round_trip {
            let delay = self.access_delay(value).map_err(|(why, help)| self.refused(key, value, &why, &help))?;
            self.vary_as("access.delay", key, value, &delay.to_string())?;
        }
        let mut product = None;
        for (key, value) in queue {
            match products(value) {
                Some(products) => {
                    let one = match product {
                        Some(one) => one,
                        None => *product.insert(self.product(key, value)?),
                    };
                    self.vary(key, value, &format!("{}p", (products * one).floor().max(1.0)))?;
                }
                None => self.vary(key, value, value)?,
            }
        }
        Ok(())
    }

    fn vary(&mut self, key: &str, value: &str, meant: &str) -> Result<(), ScenarioError> {
        self.vary_as(key, key, value, meant)
    }

    fn vary_as(&mut self, place: &str, key: &str, value: &str, meant: &str) -> Result<(), ScenarioError> {
        self.assign(place, meant, &option(key, value))
    }

    /// The delay of each host's link with which a round trip takes `round_trip`; otherwise the problem and the remedy.
    fn access_delay(&self, round_trip: &str) -> Result<Duration, (String, String)> {
        let (wanted, own) = (read(round_trip)?, self.bottleneck_delay()?);
        let rest = wanted.as_nanos().checked_sub(2 * own.as_nanos()).ok_or_else(|| {
            let why = format!("a round trip of {wanted} is shorter than twice the bottleneck's delay of {own}");
            (why, "lower bottleneck.delay".to_owned())
        })?;
        Ok(Duration::from_nanos(rest / 4))
    }

    fn bottleneck_delay(&self) -> Result<Duration, (String, String)> {
        if self.get("bottleneck").is_none() {
            return Err(no_dumbbell());
        }
        let delay = self.get("bottleneck.delay");
        delay.as_ref().and_then(toml::Value::as_str).map_or(Ok(Duration::from_millis(1)), read)
    }

    /// The packets of one bandwidth-delay product.
    fn product(&self, key: &str, value: &str) -> Result<f64, ScenarioError> {
        if self.get("bottleneck").is_none() {
            let (why, help) = no_dumbbell();
            return Err(self.refused(key, value, &why, &help));
        }
        Ok(packets(&self.scenario()?))
    }

    fn refused(&self, key: &str, value: &str, why: &str, help: &str) -> ScenarioError {
        ScenarioError::new(&self.source, &Origin::Given(option(key, value)), "", why).with_help(help)
    }
}

fn option(key: &str, value: &str) -> Arc<str> {
    format!("--vary {key}={value}").into()
}

fn no_dumbbell() -> (String, String) {
    let why = "there is no [bottleneck], so that a round trip has no length of its own";
    (why.to_owned(), "vary the delays of `links`, and sizes in packets or bytes".to_owned())
}

fn read(text: &str) -> Result<Duration, (String, String)> {
    text.parse().map_err(|error: <Duration as std::str::FromStr>::Err| (error.to_string(), "write 80ms".to_owned()))
}

/// The number before `bdp`; 1 without a number.
fn products(value: &str) -> Option<f64> {
    match value.trim().strip_suffix(PRODUCT)?.trim() {
        "" => Some(1.0),
        number => number.parse().ok().filter(|products: &f64| (0.01..=1000.0).contains(products)),
    }
}

/// The packets of one product of a dumbbell: its rate times the longest round trip, in packets of the largest size.
fn packets(scenario: &Scenario) -> f64 {
    let Some(link) = scenario.links.first() else { return 0.0 };
    let hosts = |group: &crate::model::FlowGroup| {
        let delay = |access: &Option<Access>| access.as_ref().map_or(0.0, |access| access.delay.as_secs());
        2.0 * (delay(&group.source) + delay(&group.sink))
    };
    let hosts = scenario.flows.iter().map(hosts).fold(0.0, f64::max);
    let round_trip = link.forward.delay.as_secs() + link.reverse.delay.as_secs() + hosts;
    let largest = scenario.flows.iter().map(|group| group.packet.get()).max().unwrap_or(1).max(1);
    link.forward.rate.bits_per_second() as f64 * round_trip / (8.0 * largest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = \"9s\"\n[bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
        queue = { kind = \"red\", limit = \"300p\", min = \"50p\", max = \"100p\" }\n\
        [[flows]]\nname = \"ftp\"\nkind = \"tcp\"\npacket = \"1500b\"\n";

    fn at(settings: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Document::parse("mine.toml", TEXT)?.at(&Point::of(settings))
    }

    fn shown(scenario: &Scenario) -> (f64, String) {
        let delay = scenario.flows[0].source.as_ref().map_or(0.0, |access| access.delay.as_secs());
        let queue = scenario.links[0].forward.queue.parameters();
        let limit = queue.given().find(|(key, _)| *key == "limit").map(|(_, value)| value.to_string());
        (delay, limit.unwrap_or_default())
    }

    /// 12 Mbit/s × 80 ms = 120 000 bytes = 80 packets of 1500 bytes. Would catch a rate or a round trip of before the
    /// point's, and one that counts the bottleneck once or the hosts' links twice only.
    #[test]
    fn a_size_follows_from_the_points_rate_and_round_trip() -> Result<(), ScenarioError> {
        let sized = [("bottleneck.queue.limit", "2bdp"), ("rtt", "80ms"), ("bottleneck.rate", "12mbit")];
        assert_eq!(shown(&at(&sized)?), (0.0175, "160p".to_owned()));
        let half = [("rtt", "80ms"), ("bottleneck.rate", "12mbit"), ("bottleneck.queue.limit", "0.5bdp")];
        let droptail = [&half[..], &[("bottleneck.queue", "droptail")]].concat();
        assert_eq!(shown(&at(&droptail)?).1, "40p");
        // Without `rtt`: 2 · 5 ms + 4 · 1 ms at 10 Mbit/s are 17 500 bytes, and a queue has one packet at least.
        assert_eq!(shown(&at(&[("bottleneck.queue", "droptail"), ("bottleneck.queue.limit", "bdp")])?).1, "11p");
        assert_eq!(shown(&at(&[("bottleneck.queue", "droptail"), ("bottleneck.queue.limit", "0.01bdp")])?).1, "1p");
        Ok(())
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (settings, words) in [
            ([("rtt", "9ms"), ("seed", "1")], "--vary rtt=9ms: a round trip of 9ms is shorter than twice"),
            ([("rtt", "9 parsecs"), ("seed", "1")], "--vary rtt=9 parsecs: "),
            ([("rtt", "9s"), ("bottleneck.queue.limit", "-1bdp")], "--vary bottleneck.queue.limit=-1bdp: "),
            ([("rtt", "9s"), ("bottleneck.queue", "chok")], "did you mean \"choke\""),
        ] {
            let error = at(&settings).err().map(|error| format!("{error} {}", error.help().unwrap_or_default()));
            assert!(error.as_ref().is_some_and(|error| error.contains(words)), "{error:?}");
        }
        let links = "duration = \"9s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n";
        let document = Document::parse("links.toml", links);
        let point = Point::of(vec![("rtt".to_owned(), "80ms".to_owned())]);
        let error = document.and_then(|document| document.at(&point)).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("there is no [bottleneck]")), "{error:?}");
    }
}
