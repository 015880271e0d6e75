//! The bits of the firewall mark that our rules use, and their choice among those that nobody else uses.

use std::fmt;

use super::RuleError;

/// Two bits of the firewall mark. A packet has them only between its verdict and the next rule, which clears them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkBits {
    /// The packet has left the discipline.
    pub(crate) passed: u32,
    /// The discipline has marked it: a rule sets Congestion Experienced.
    pub(crate) ce: u32,
}

/// A program that uses bits of firewall marks, known by names in its rules.
struct MarkUser {
    name: &'static str,
    /// The beginning of a chain's or a table's name.
    sign: &'static str,
    bits: u32,
}

/// By their documentation: zapret `DESYNC_MARK` and `DESYNC_MARK_POSTNAT`, Calico `IptablesMarkMask`, Tailscale's
/// bypass and subnet route marks, mwan3 `mmx_mask`, Cilium's magic marks and identities, kube-proxy's masquerade and
/// drop bits, and sqm-scripts' `IPT_MASK`.
const USERS: [MarkUser; 8] = [
    MarkUser { name: "zapret", sign: "nfqws", bits: 0x6000_0000 },
    MarkUser { name: "zapret", sign: "zapret", bits: 0x6000_0000 },
    MarkUser { name: "Calico", sign: "cali-", bits: 0xffff_0000 },
    MarkUser { name: "Tailscale", sign: "ts-", bits: 0x00ff_0000 },
    MarkUser { name: "mwan3", sign: "mwan3_", bits: 0x0000_3f00 },
    MarkUser { name: "Cilium", sign: "CILIUM_", bits: 0xffff_ff00 },
    MarkUser { name: "kube-proxy", sign: "KUBE-", bits: 0x0000_c000 },
    MarkUser { name: "sqm-scripts", sign: "QOS_MARK_", bits: 0x0000_00ff },
];

/// Bits in the order in which they are tried: those that no program of the list uses without Calico and Cilium, which
/// take half of a mark, come first; bits in common use come last.
const ORDER: [u32; 32] = [
    28, 27, 26, 25, 24, 31, 29, 30, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    0,
];

impl MarkBits {
    /// Returns the two bits of `mask`, the lower one for packets that have left the discipline.
    ///
    /// # Errors
    /// `mask` has another number of bits.
    pub const fn new(mask: u32) -> Result<Self, RuleError> {
        if mask.count_ones() != 2 {
            return Err(RuleError::NotTwoBits(mask));
        }
        let passed = mask & mask.wrapping_neg();
        Ok(Self { passed, ce: mask ^ passed })
    }

    /// Returns two bits that are in no firewall mark of `rules`, the text of what the tools list, nor in `routed`, the
    /// firewall marks of policy routing; `None` if there are not two.
    pub(crate) fn choose(rules: &str, routed: &[u32]) -> Option<Self> {
        let of_rules = rules.lines().map(|line| marks(line) | user(line).map_or(0, |user| user.bits));
        let taken = of_rules.chain(routed.iter().copied()).fold(0, |taken, bits| taken | bits);
        let mut free = ORDER.iter().map(|at| 1 << at).filter(|bit| taken & bit == 0);
        Self::new(free.next()? | free.next()?).ok()
    }

    /// Returns both bits.
    #[must_use]
    pub const fn mask(self) -> u32 {
        self.passed | self.ce
    }

    /// Returns the bit that tells a rule to set Congestion Experienced, as [`Marking::ByRule`](crate::Marking::ByRule)
    /// needs it.
    #[must_use]
    pub const fn ce(self) -> u32 {
        self.ce
    }

    /// Returns a line of `rules` that uses one of the bits, or the program that does.
    pub(crate) fn used_in(self, rules: &str) -> Option<String> {
        let by = |bits: u32| bits & self.mask() != 0;
        let known = |line: &str| user(line).filter(|user| by(user.bits)).map(|user| user.name.to_owned());
        rules.lines().find_map(|line| known(line).or_else(|| by(marks(line)).then(|| line.trim().to_owned())))
    }
}

impl fmt::Display for MarkBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.mask())
    }
}

/// Returns the program whose name is in a line: `:cali-FORWARD - [0:0]`, `-A OUTPUT -j ts-output`, `table inet zapret`.
fn user(line: &str) -> Option<&'static MarkUser> {
    let words = || line.split(|c: char| c.is_whitespace() || c == ':');
    USERS.iter().find(|user| words().any(|word| word.starts_with(user.sign)))
}

/// Returns the bits of the marks in a rule, as iptables-save(8) and nft(8) write them: `--mark V/M`, `--set-xmark V/M`,
/// `--ctmask M`, `meta mark & M == V`, `ct mark set V`. A mask of all bits only tells that a whole mark is copied.
fn marks(line: &str) -> u32 {
    if !line.contains("mark") {
        return 0;
    }
    // Comments and names are between quotation marks.
    let unquoted = line.split('"').step_by(2);
    let (mut of_mark, mut bits) = (false, 0);
    for word in unquoted.flat_map(|part| part.split([' ', '\t', '/', ',', '{', '}'])).filter(|word| !word.is_empty()) {
        match number(word) {
            Some(number) if of_mark && number != u32::MAX => bits |= value(number),
            Some(_) => {}
            None => {
                let joins = ["!", "&", "|", "and", "or", "xor", "^", "==", "!=", "set", "meta", "ct"].contains(&word);
                of_mark = word.ends_with("mark") || word.ends_with("mask") || of_mark && joins;
            }
        }
    }
    bits
}

/// Returns the bits of a mark or of a mask; none of a mask that clears bits: those that it leaves out.
const fn value(number: u32) -> u32 {
    if number.count_ones() > 24 { !number } else { number }
}

fn number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("0x");
    digits.map_or_else(|| word.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_have_an_order() {
        let bits = MarkBits::new(0x1800_0000).unwrap();
        assert_eq!((bits.passed, bits.ce(), bits.mask()), (0x0800_0000, 0x1000_0000, 0x1800_0000));
        for mask in [0, 1, 7, u32::MAX] {
            assert!(matches!(MarkBits::new(mask), Err(RuleError::NotTwoBits(_))), "{mask}");
        }
    }

    /// Lines of iptables-save(8) and nft(8), with the bits that they set or test.
    #[test]
    fn bits_of_rules_are_read() {
        for (line, bits) in [
            ("-A OUTPUT -p udp -m mark ! --mark 0x40000000/0x40000000 -j ACCEPT", 0x4000_0000),
            ("-A PREROUTING -j MARK --set-xmark 0x105/0xffffffff", 0x105),
            ("-A PREROUTING -j CONNMARK --restore-mark --nfmask 0xffffffff --ctmask 0xffffffff", 0),
            ("-A PREROUTING -j CONNMARK --restore-mark --nfmask 0x3f00 --ctmask 0x3f00", 0x3f00),
            ("-A FORWARD -j MARK --set-xmark 0x0/0x10000000", 0x1000_0000),
            ("-A FORWARD -p tcp -m multiport --dports 80,443 -j ACCEPT", 0),
            ("-A FORWARD -m comment --comment \"mark 7\" -p tcp --dport 80 -j DROP", 0),
            ("\t\toifname \"eth0\" meta mark & 0x20000000 == 0x20000000 accept", 0x2000_0000),
            ("\t\tmeta mark set meta mark & 0xbfffffff", 0x4000_0000),
            ("\t\tct mark set 0x00000162 tcp dport 443", 0x162),
            ("\t\tmeta mark { 0x1, 0x4 } tcp dport 65535", 5),
        ] {
            assert_eq!(marks(line), bits, "{line}: {:#x}", marks(line));
        }
    }

    /// Would catch a bit of a program that is there, of a policy route, or of a rule.
    #[test]
    fn free_bits_are_chosen() {
        assert_eq!(MarkBits::choose("", &[]).unwrap().mask(), 0x1800_0000);
        assert_eq!(MarkBits::choose("", &[0x1000_0000]).unwrap().mask(), 0x0c00_0000);
        let calico = ":cali-FORWARD - [0:0]\n-A FORWARD -j cali-FORWARD\n";
        assert_eq!(MarkBits::choose(calico, &[0x8000]).unwrap().mask(), 0x6000);
        let rule = "-A OUTPUT -j MARK --set-xmark 0x18000000/0x18000000\n";
        assert_eq!(MarkBits::choose(rule, &[]).unwrap().mask(), 0x0600_0000);
        assert_eq!(MarkBits::choose(":CILIUM_OUTPUT - [0:0]\n:QOS_MARK_eth0 - [0:0]\n", &[]), None);
    }

    #[test]
    fn another_use_is_named() {
        let bits = MarkBits::new(0x4800_0000).unwrap();
        let foreign = "-A OUTPUT -j MARK --set-xmark 0x40000000/0x40000000";
        assert_eq!(bits.used_in(&format!("*mangle\n{foreign}\nCOMMIT\n")).as_deref(), Some(foreign));
        assert_eq!(bits.used_in(":nfqws_post - [0:0]\n").as_deref(), Some("zapret"));
        assert_eq!(bits.used_in("-A OUTPUT -j MARK --set-xmark 0x1/0xffffffff\n"), None);
    }
}
