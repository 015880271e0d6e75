//! Packets of IPsec, which pass the firewall twice by the same interface: as themselves, and encrypted.

use super::RuleError;

/// How often a packet that IPsec encrypts comes to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypted {
    /// As it is on the link: encrypted.
    Once,
    /// Before as well, since the firewall cannot tell such packets: its match of IPsec is missing.
    Twice,
}

/// Installs rules that queue encrypted packets once, or where those are refused, twice.
pub(super) fn once_if_possible(install: impl Fn(Encrypted) -> Result<(), RuleError>) -> Result<Encrypted, RuleError> {
    match install(Encrypted::Once) {
        Err(refused @ RuleError::Refused(..)) => {
            install(Encrypted::Twice).map(|()| Encrypted::Twice).map_err(|_| refused)
        }
        done => done.map(|()| Encrypted::Once),
    }
}
