//! The packets of a script: `< . 1:1(0) ack 1001 win 257 <sack 2001:3001,nop,nop>`.

use fairlane_sim::endpoint::Ecn;

/// A packet that comes (`<`) or is expected (`>`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The packet as it was written.
    pub(crate) text: String,
    /// The packet comes from the peer.
    pub(crate) inbound: bool,
    /// The ECN code point; `None`: not given.
    pub(crate) codepoint: Option<Ecn>,
    /// The TCP flags.
    pub(crate) flags: Flags,
    /// The first sequence number.
    pub(crate) start: u32,
    /// The number of bytes of data.
    pub(crate) length: u32,
    /// The acknowledgement number.
    pub(crate) ack: Option<u32>,
    /// The window, not scaled.
    pub(crate) window: Option<u32>,
    /// The TCP options.
    pub(crate) options: Options,
}

/// The flags of TCP's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) rst: bool,
    pub(crate) ack: bool,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    pub(crate) urg: bool,
    /// The flag or the counter of accurate ECN (RFC 9768).
    pub(crate) accurate: bool,
}

/// TCP's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// True if the script leaves them open (`<...>`).
    pub(crate) any: bool,
    pub(crate) mss: Option<u32>,
    pub(crate) sack_permitted: bool,
    pub(crate) window_scale: Option<u32>,
    /// The timestamp and the echoed one.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
    /// The first option that is not known.
    pub(crate) other: Option<String>,
}

impl Packet {
    /// Reads a packet, which is one line.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let mut packet = Self { text: line.split_whitespace().collect::<Vec<_>>().join(" "), ..Self::default() };
        packet.inbound = line.starts_with('<');
        let mut rest = line.get(1..).unwrap_or_default().trim_start();
        if let Some(inside) = rest.strip_prefix('[') {
            let (info, after) = inside.split_once(']').ok_or("[ without ]")?;
            packet.codepoint = codepoint(info)?;
            rest = after.trim_start();
        }
        let (header, options) = match rest.split_once('<') {
            Some((header, options)) => {
                (header, Some(options.trim_end().strip_suffix('>').ok_or("the options < have no >")?))
            }
            None => (rest, None),
        };
        let mut words = header.split_whitespace();
        packet.flags = flags(words.next().unwrap_or_default())?;
        let sequence = words.next().unwrap_or_default();
        (packet.start, packet.length) = range(sequence)?;
        while let Some(word) = words.next() {
            let number = words.next().and_then(|number| number.parse::<u32>().ok());
            let number = number.ok_or_else(|| format!("`{word}` has no number"))?;
            match word {
                "ack" => packet.ack = Some(number),
                "win" => packet.window = Some(number),
                "urg" => packet.flags.urg = true,
                _ => return Err(format!("`{word}` is neither ack, win nor urg")),
            }
        }
        if packet.flags.ack != packet.ack.is_some() {
            return Err("a packet with the flag `.` has an acknowledgement number, and no other".to_owned());
        }
        if let Some(list) = options {
            packet.options = Options::parse(list)?;
        }
        Ok(packet)
    }

    /// Returns the sequence number behind the data.
    pub(crate) fn end(&self) -> u32 {
        self.start.saturating_add(self.length)
    }
}

/// Reads what is known of the IP header.
fn codepoint(info: &str) -> Result<Option<Ecn>, String> {
    let mut found = None;
    for word in info.split([',', ' ']).filter(|word| !word.is_empty()) {
        found = Some(match word {
            "noecn" => Ecn::NotEct,
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            "ce" => Ecn::Ce,
            _ => return Err(format!("[{info}] of the IP header is not known, only noecn, ect0, ect1 and ce")),
        });
    }
    Ok(found)
}

/// Reads flags: `S`, `P.`, `SEW`.
fn flags(word: &str) -> Result<Flags, String> {
    let mut flags = Flags::default();
    if word.is_empty() {
        return Err("the packet has no flags".to_owned());
    }
    for letter in word.chars() {
        match letter {
            'S' => flags.syn = true,
            'F' => flags.fin = true,
            'R' => flags.rst = true,
            'P' | '-' => {}
            '.' => flags.ack = true,
            'E' => flags.ece = true,
            'W' => flags.cwr = true,
            'U' => flags.urg = true,
            'A' | '0'..='7' => flags.accurate = true,
            _ => return Err(format!("`{word}` are not TCP flags")),
        }
    }
    Ok(flags)
}

/// Reads `1:1001(1000)`; returns the first number and the length.
fn range(word: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{word}` is not of the form FIRST:END(LENGTH), where END is FIRST + LENGTH");
    let (start, rest) = word.split_once(':').ok_or_else(wrong)?;
    let (end, length) = rest.strip_suffix(')').and_then(|rest| rest.split_once('(')).ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (start, end, length) = (number(start)?, number(end)?, number(length)?);
    if start.checked_add(length) == Some(end) { Ok((start, length)) } else { Err(wrong()) }
}

impl Options {
    /// Reads a list of options.
    fn parse(list: &str) -> Result<Self, String> {
        let mut options = Self::default();
        if list.trim() == "..." {
            options.any = true;
            return Ok(options);
        }
        for option in list.split(',').map(str::trim) {
            let words: Vec<&str> = option.split_whitespace().collect();
            let number = |at: usize| {
                let word = words.get(at).copied().unwrap_or_default();
                word.parse::<u32>().map_err(|_| format!("the option `{option}` has no number"))
            };
            match words.first().copied() {
                None | Some("nop" | "eol") => {}
                Some("mss") => options.mss = Some(number(1)?),
                Some("sackOK") => options.sack_permitted = true,
                Some("wscale") => options.window_scale = Some(number(1)?.min(14)),
                Some("TS") if words.len() == 5 && words[1] == "val" && words[3] == "ecr" => {
                    options.timestamps = Some((number(2)?, number(4)?));
                }
                Some("sack") => {
                    for block in &words[1..] {
                        options.sack.push(sack_block(block)?);
                    }
                }
                Some(_) => options.other = options.other.or_else(|| Some(option.to_owned())),
            }
        }
        Ok(options)
    }
}

/// Reads `1001:2001`.
fn sack_block(block: &str) -> Result<(u32, u32), String> {
    let numbers = block.split_once(':').and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    numbers.ok_or_else(|| format!("`{block}` is not a SACK block FIRST:END"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a field that is read from the wrong place.
    #[test]
    fn reads_all_fields() {
        let line = "< [ce] EP. 1:1001(1000) ack 2001 win 257 <nop, nop, TS val 7 ecr 9, sack 3001:4001 5001:6001>";
        let packet = Packet::parse(line).expect("a packet");
        assert!(packet.inbound && packet.flags.ece && packet.flags.ack && !packet.flags.syn);
        assert_eq!((packet.start, packet.length, packet.end()), (1, 1000, 1001));
        assert_eq!((packet.ack, packet.window, packet.codepoint), (Some(2001), Some(257), Some(Ecn::Ce)));
        assert_eq!(packet.options.timestamps, Some((7, 9)));
        assert_eq!(packet.options.sack, [(3001, 4001), (5001, 6001)]);
        let syn = Packet::parse("> SEW 0:0(0) <mss 1460,sackOK,nop,wscale 8>").expect("a packet");
        assert!(!syn.inbound && syn.flags.syn && syn.flags.ece && syn.flags.cwr && syn.options.sack_permitted);
        assert_eq!((syn.options.mss, syn.options.window_scale), (Some(1460), Some(8)));
    }

    /// Would catch a packet that is misread without a word.
    #[test]
    fn refuses_what_is_malformed() {
        for (line, message) in [
            ("<", "the packet has no flags"),
            ("< x 1:1(0)", "`x` are not TCP flags"),
            ("> . 1:1001(10) ack 1", "`1:1001(10)` is not of the form FIRST:END(LENGTH), where END is FIRST + LENGTH"),
            ("> . 1:1(0) ack", "`ack` has no number"),
            ("> . 1:1(0)", "a packet with the flag `.` has an acknowledgement number, and no other"),
            ("< . 1:1(0) ack 1 <sack 1>", "`1` is not a SACK block FIRST:END"),
            ("< . 1:1(0) ack 1 <sack 1:2", "the options < have no >"),
            ("< [what] . 1:1(0) ack 1", "[what] of the IP header is not known, only noecn, ect0, ect1 and ce"),
        ] {
            assert_eq!(Packet::parse(line).expect_err(line), message);
        }
    }
}
