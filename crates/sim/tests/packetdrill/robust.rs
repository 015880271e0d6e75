//! Scripts that are damaged or make no sense: they are not comparable, or differ, but nothing panics or runs forever.

use std::sync::LazyLock;

use proptest::prelude::{any, prop, prop_assert, proptest};

use super::interpreter::run_folder;
use super::{STRICT, run, scripts};

/// The texts of the scripts.
static TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let lines = run_folder(&scripts(), STRICT).expect("the folder of scripts");
    lines.into_iter().map(|line| std::fs::read(scripts().join(line.name)).expect("a script")).collect()
});

/// Lines that a script can be made of.
const LINES: [&str; 20] = [
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 14>",
    "+0 > S. 0:0(0) ack 1 <...>",
    "+.1 < . 1:1(0) ack 1 win 65535",
    "+0 connect(3, ..., ...) = 0",
    "+0 > S 0:0(0) <mss 1460,sackOK,TS val 4294967295 ecr 0>",
    "+0 < S. 0:0(0) ack 1 win 65535 <mss 8,TS val 4294967295 ecr 7,sackOK>",
    "+0 write(4, ..., 4294967295) = 4294967295",
    "+0 write(4, ..., 20500) = 20500",
    "* > . 1:1001(1000) ack 1",
    "+.1 < . 1:1(0) ack 3001 win 65535 <sack 5001:7001 4001:5001,nop,nop>",
    "+.1 < E. 1:1(0) ack 4294967295 win 1 <sack 4294967295:1>",
    "+1000000 < P. 1:1001(1000) ack 1 win 65535 <nop,nop,TS val 0 ecr 4294967295>",
    "1000000 < [ce] WP. 4294966296:4294967295(999) ack 1 win 65535",
    "+.1~+.2 > . 1001:2001(1000) ack 1001 <sack 1:2,nop,nop>",
    "+0 %{ assert tcpi_snd_cwnd / 0 == 10 % 0, 'x' }%",
    "+0 %{ a = a = ( }%",
    "`sysctl -q net.ipv4.tcp_congestion_control=bbr net.ipv4.tcp_rto_min_us=0`",
    "// preset: ns2-1999 cc=vegas initial_window=4294967295 tick=0 min_rto=0 initial_rto=0 max_rto=0",
    "// preset: modern cc=prague window=4294967295 delayed_ack=0",
];

proptest! {
    /// Would catch a panic, or a run without end, for lines in any order.
    #[test]
    fn survives_lines_in_any_order(lines in prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..25)) {
        let text = lines.join("\n");
        run(&text, STRICT);
        let report = run(&format!("{}{text}", super::OPENING), STRICT);
        prop_assert!(report.compared <= lines.len() * 2);
    }

    /// Would catch a panic for any text.
    #[test]
    fn survives_any_text(text in "\\PC{0,200}") {
        run(&text, STRICT);
        run(&format!("{}+0 {text}", super::OPENING), STRICT);
        run(&format!("{}+0 > {text}", super::OPENING), STRICT);
        run(&format!("{}+0 %{{ assert {text} }}%", super::OPENING), STRICT);
    }

    /// Would catch a panic for a script in which some bytes are others.
    #[test]
    fn survives_damage(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 32_u8..127), 1..6),
    ) {
        let mut bytes = which.get(&TEXTS).clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        run(&String::from_utf8_lossy(&bytes), STRICT);
    }
}
