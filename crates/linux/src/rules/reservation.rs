//! Reservations of interfaces and queues.

use std::io;

use fairlane_qdisc::Duration;

use super::RuleError;
use crate::sys::lock_file::Lock;

/// The time that an ending router has to release its reservations.
const ENDING: Duration = Duration::from_millis(2000);

/// Interfaces and the number of a queue, reserved for a router while this exists.
#[derive(Debug)]
pub struct Reservation {
    interfaces: Vec<(String, Lock)>,
    queues: Vec<Lock>,
}

impl Reservation {
    /// Reserves `interfaces`, and the queues with these numbers. No other router can reserve them while the result
    /// exists.
    ///
    /// # Errors
    /// Another router has reserved one of them for two seconds.
    pub fn new(interfaces: &[String], queues: &[u16]) -> Result<Self, RuleError> {
        let mut reservation = Self { interfaces: Vec::new(), queues: Vec::new() };
        reservation.add(interfaces)?;
        for &queue in queues {
            let lock = Lock::wait(&name_of(queue), ENDING);
            let lock = lock.map_err(|error| reason(error, format!("queue {queue}"), RuleError::QueueInUse(queue)))?;
            reservation.queues.push(lock);
        }
        Ok(reservation)
    }

    /// Reserves `interfaces` as well.
    ///
    /// # Errors
    /// Another router has reserved one of them for two seconds. Nothing has changed then.
    pub fn add(&mut self, interfaces: &[String]) -> Result<(), RuleError> {
        let mut added = Vec::new();
        // In order, so that of two routers with the same interfaces one gets all.
        let mut names: Vec<&String> = interfaces.iter().filter(|name| !self.has(name)).collect();
        names.sort();
        names.dedup();
        for name in names {
            let lock = Lock::wait(&format!("interface-{name}"), ENDING);
            let lock = lock.map_err(|error| reason(error, format!("\"{name}\""), RuleError::InUse(name.clone())))?;
            added.push((name.clone(), lock));
        }
        self.interfaces.append(&mut added);
        Ok(())
    }

    /// Gives up all interfaces but `interfaces`.
    pub fn keep(&mut self, interfaces: &[String]) {
        self.interfaces.retain(|(name, _)| interfaces.contains(name));
    }

    fn has(&self, interface: &str) -> bool {
        self.interfaces.iter().any(|(name, _)| name == interface)
    }
}

/// Returns `true` if no router has reserved the queue. If that cannot be found out, the queue is not free.
pub(super) fn is_free(queue: u16) -> bool {
    Lock::new(&name_of(queue)).is_ok()
}

fn name_of(queue: u16) -> String {
    format!("queue-{queue}")
}

fn reason(error: io::Error, what: String, in_use: RuleError) -> RuleError {
    match error.kind() {
        io::ErrorKind::WouldBlock => in_use,
        _ => RuleError::CannotReserve(what, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch an interface that a reload takes although another router has it, one that it keeps without need, and
    /// one that a refused reload keeps.
    #[test]
    fn interfaces_come_and_go_one_by_one() {
        let names =
            |all: &[&str]| -> Vec<String> { all.iter().map(|name| format!("{name}-{}", std::process::id())).collect() };
        let free = |name: &str| Lock::new(&format!("interface-{}", names(&[name])[0])).is_ok();
        let mut one = Reservation::new(&names(&["a", "b"]), &[]).unwrap();
        let other = Reservation::new(&names(&["d"]), &[]).unwrap();
        assert!(matches!(one.add(&names(&["a", "c", "d"])), Err(RuleError::InUse(name)) if name == names(&["d"])[0]));
        assert_eq!(["a", "b", "c", "d"].map(free), [false, false, true, false]);
        drop(other);
        one.add(&names(&["a", "c", "d", "d"])).unwrap();
        assert_eq!(["a", "b", "c", "d"].map(free), [false; 4]);
        one.keep(&names(&["a", "c"]));
        assert_eq!(["a", "b", "c", "d"].map(free), [false, true, false, true]);
    }
}
