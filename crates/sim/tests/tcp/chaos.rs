//! Random losses, marks, duplicates and delays, of data and of acknowledgements.

use fairlane_qdisc::Seed;
use fairlane_scenario::Congestion::{Bbr, Bbr3, Cubic, Dctcp, NewReno, Prague, Reno, Sack, Tahoe, Vegas};
use fairlane_scenario::{AfterIdle, Congestion, LossRecovery, SlowStart, Tcp};
use proptest::prelude::{Strategy, any, prop, proptest};

use super::path::{Passage, Path, ms};

/// The probability of each impairment in percent.
#[derive(Clone, Debug)]
struct Impairments {
    lost: u32,
    marked: u32,
    twice: u32,
    late: u32,
}

impl Impairments {
    fn passages(&self, seed: u64, name: &str) -> impl FnMut(u32, u32) -> Passage + 'static {
        let mut random = Seed::new(seed).stream(name);
        let (lost, marked) = (self.lost, self.lost + self.marked);
        let (twice, late) = (marked + self.twice, marked + self.twice + self.late);
        move |_, _| match random.below(100) {
            draw if draw < lost => Passage::Lost,
            draw if draw < marked => Passage::Marked,
            draw if draw < twice => Passage::Twice,
            draw if draw < late => Passage::Late(ms(u64::from(random.below(300)))),
            _ => Passage::Arrives,
        }
    }

    fn in_order(&self) -> bool {
        self.twice == 0 && self.late == 0
    }
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let in_order = (0_u32..40, 0_u32..20).prop_map(|(lost, marked)| Impairments { lost, marked, twice: 0, late: 0 });
    let any = (0_u32..40, 0_u32..20, 0_u32..20, 0_u32..20).prop_map(|(lost, marked, twice, late)| Impairments {
        lost,
        marked,
        twice,
        late,
    });
    prop::strategy::Union::new([in_order.boxed(), any.boxed()])
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let congestion: Vec<Congestion> = vec![Tahoe, Reno, NewReno, Sack, Vegas, Cubic, Dctcp, Bbr, Bbr3, Prague];
    let flags = any::<[bool; 6]>();
    let recovery = prop::sample::select(LossRecovery::CHOICES.to_vec());
    let slow_start = prop::sample::select(SlowStart::ALL.to_vec());
    let after_idle = prop::sample::select(AfterIdle::ALL.to_vec());
    (prop::sample::select(congestion), any::<bool>(), (recovery, slow_start, after_idle), flags, 1_u32..40, 1_u32..12)
        .prop_map(
            |(congestion, modern, kind, [limited, timestamps, ecn, ecn_timeout, pacing, counting], window, initial)| {
                let mut tcp = if modern { Tcp::modern(congestion, window) } else { Tcp::ns2_1999(congestion, window) };
                (tcp.limited_transmit, tcp.timestamps, tcp.ecn, tcp.initial_window) =
                    (limited, timestamps, ecn, initial);
                (tcp.ecn_timeout, tcp.pacing, tcp.slow_start) = (ecn_timeout, pacing, kind.1);
                tcp.recovery = congestion.recovery_or_own(kind.0);
                (tcp.byte_counting, tcp.after_idle) = (counting, kind.2);
                tcp
            },
        )
}

/// Checks that new data is sent only if the window, or the pipe, has room.
fn check_window(path: &Path, tcp: &Tcp, in_order: bool) {
    // Added before it is cut, as the sender does: six sixths on top of 6 are less than 7, and with 2 they are 9.
    let limited = if tcp.limited_transmit { 2.0 } else { 0.0 };
    // A probe of the tail is sent regardless of the window (RFC 8985, section 7.3).
    let probe = if tcp.recovery == LossRecovery::Rack { 1.0 } else { 0.0 };
    let window = path.sender.cwnd();
    // Pacing allows for the fraction of Prague's window.
    let window = if tcp.congestion == Prague { window.ceil() } else { window };
    let allowed = (window + limited + probe) as u32;
    let used = if !tcp.uses_sack() {
        path.sender.flight()
    } else if in_order && path.sender.timeouts() == 0 {
        // Segments that have arrived beyond a hole have left the pipe. The path knows the number in flight, unless
        // segments overtake each other or a timeout has written off segments in flight.
        path.in_flight()
    } else {
        0
    };
    assert!(used <= allowed, "{used} of {allowed}\n{}", path.table());
    assert!(path.sender.flight() <= tcp.window, "{}\n{}", path.sender.flight(), path.table());
}

proptest! {
    /// Would catch a segment that is never delivered or acknowledged, one that is sent outside the window, and a timer
    /// that remains at the end, for any sequence of impairments.
    #[test]
    fn everything_arrives(
        tcp in tcp(),
        there in impairments(),
        back in impairments(),
        round_trip in 1_u64..400,
        seed in any::<u64>(),
    ) {
        let mut path = Path::new(&tcp, ms(round_trip))
            .deciding(there.passages(seed, "data"))
            .deciding_acks(back.passages(seed, "acks"));
        path.start();
        let mut steps = 0;
        while path.next_time().is_some() {
            let segments = path.segments();
            path.step();
            if path.segments() > segments {
                check_window(&path, &tcp, there.in_order() && back.in_order());
            }
            if path.segments() >= 150 {
                path.sender.stop();
            }
            steps += 1;
            assert!(steps < 100_000, "no end:\n{}", path.table());
        }
        assert!(path.segments() >= 150 && path.complete(), "{}", path.table());
        assert_eq!(path.receiver.next(), path.segments());
        assert_eq!((path.sender.acknowledged(), path.sender.flight()), (path.segments(), 0));
    }
}
