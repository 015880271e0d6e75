//! Random losses, marks, duplicates and delays, of data and of acknowledgements.

use fairlane_qdisc::Seed;
use fairlane_scenario::Congestion::{Bbr, Cubic, Dctcp, NewReno, Reno, Sack, Tahoe, Vegas};
use fairlane_scenario::{Congestion, Tcp};
use proptest::prelude::{Strategy, any, prop, proptest};

use super::path::{Fate, Path, ms};

/// How likely each mishap is, in percent.
#[derive(Clone, Debug)]
struct Weather {
    lost: u32,
    marked: u32,
    twice: u32,
    late: u32,
}

impl Weather {
    fn fates(&self, seed: u64, name: &str) -> impl FnMut(u32, u32) -> Fate + 'static {
        let mut random = Seed::new(seed).stream(name);
        let (lost, marked) = (self.lost, self.lost + self.marked);
        let (twice, late) = (marked + self.twice, marked + self.twice + self.late);
        move |_, _| match random.below(100) {
            draw if draw < lost => Fate::Lost,
            draw if draw < marked => Fate::Marked,
            draw if draw < twice => Fate::Twice,
            draw if draw < late => Fate::Late(ms(u64::from(random.below(300)))),
            _ => Fate::Arrives,
        }
    }

    fn in_order(&self) -> bool {
        self.twice == 0 && self.late == 0
    }
}

fn weather() -> impl Strategy<Value = Weather> {
    let orderly = (0_u32..40, 0_u32..20).prop_map(|(lost, marked)| Weather { lost, marked, twice: 0, late: 0 });
    let stormy = (0_u32..40, 0_u32..20, 0_u32..20, 0_u32..20).prop_map(|(lost, marked, twice, late)| Weather {
        lost,
        marked,
        twice,
        late,
    });
    prop::strategy::Union::new([orderly.boxed(), stormy.boxed()])
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let congestion: Vec<Congestion> = vec![Tahoe, Reno, NewReno, Sack, Vegas, Cubic, Dctcp, Bbr];
    let flags = any::<[bool; 7]>();
    (prop::sample::select(congestion), any::<bool>(), flags, 1_u32..40, 1_u32..12).prop_map(
        |(congestion, modern, [limited, timestamps, ecn, ecn_timeout, pacing, hystart, counting], window, initial)| {
            let mut tcp = if modern { Tcp::modern(congestion, window) } else { Tcp::ns2_1999(congestion, window) };
            (tcp.limited_transmit, tcp.timestamps, tcp.ecn, tcp.initial_window) = (limited, timestamps, ecn, initial);
            (tcp.ecn_timeout, tcp.pacing, tcp.hystart) = (ecn_timeout, pacing, hystart);
            tcp.byte_counting = counting;
            tcp
        },
    )
}

/// New data goes out only where the window, or the pipe, has room.
fn check_window(path: &Path, tcp: &Tcp, in_order: bool) {
    let allowed = path.sender.cwnd() as u32 + if tcp.limited_transmit { 2 } else { 0 };
    let used = match tcp.congestion {
        // What has arrived beyond a hole has left the pipe. The network itself tells how full it is, unless segments
        // overtake each other or a timeout has written off what is still on its way.
        _ if !tcp.congestion.uses_sack() => path.sender.flight(),
        _ if in_order && path.sender.timeouts() == 0 => path.on_the_way(),
        _ => 0,
    };
    assert!(used <= allowed, "{used} of {allowed}\n{}", path.table());
    assert!(path.sender.flight() <= tcp.window, "{}\n{}", path.sender.flight(), path.table());
}

proptest! {
    /// All that was sent arrives and is acknowledged, whatever happens on the way; nothing is sent outside the window,
    /// and in the end nothing is left to wait for.
    #[test]
    fn everything_arrives(
        tcp in tcp(),
        there in weather(),
        back in weather(),
        round_trip in 1_u64..400,
        seed in any::<u64>(),
    ) {
        let mut path = Path::new(&tcp, ms(round_trip))
            .deciding(there.fates(seed, "data"))
            .deciding_acks(back.fates(seed, "acks"));
        path.start();
        let mut turns = 0;
        while path.next_time().is_some() {
            let segments = path.segments();
            path.turn();
            if path.segments() > segments {
                check_window(&path, &tcp, there.in_order() && back.in_order());
            }
            if path.segments() >= 150 {
                path.sender.stop();
            }
            turns += 1;
            assert!(turns < 100_000, "no end:\n{}", path.table());
        }
        assert!(path.segments() >= 150 && path.complete(), "{}", path.table());
        assert_eq!(path.receiver.next(), path.segments());
        assert_eq!((path.sender.acknowledged(), path.sender.flight()), (path.segments(), 0));
    }
}
