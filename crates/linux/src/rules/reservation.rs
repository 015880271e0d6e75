//! Reservations of interfaces and queues.

use std::io;

use fairlane_qdisc::Duration;

use super::RuleError;
use crate::lock::Lock;

/// The time that a router which is ending has to release what it has reserved.
const ENDING: Duration = Duration::from_millis(2000);

/// Interfaces and the number of a queue, reserved for a router while this exists.
#[derive(Debug)]
pub struct Reservation(#[expect(dead_code, reason = "the locks are released when it is dropped")] Vec<Lock>);

impl Reservation {
    /// Reserves `interfaces`, and the queues with these numbers. No other router can reserve them while the result exists.
    ///
    /// # Errors
    /// Another router has reserved one of them for two seconds.
    pub fn new(interfaces: &[String], queues: &[u16]) -> Result<Self, RuleError> {
        let mut locks = Vec::new();
        // In order, so that of two routers with the same interfaces one gets all.
        let mut names: Vec<&String> = interfaces.iter().collect();
        names.sort();
        names.dedup();
        for name in names {
            let lock = Lock::wait(&format!("interface-{name}"), ENDING);
            locks.push(lock.map_err(|error| reason(error, format!("\"{name}\""), RuleError::InUse(name.clone())))?);
        }
        for &queue in queues {
            let lock = Lock::wait(&name_of(queue), ENDING);
            locks.push(lock.map_err(|error| reason(error, format!("queue {queue}"), RuleError::QueueInUse(queue)))?);
        }
        Ok(Self(locks))
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
