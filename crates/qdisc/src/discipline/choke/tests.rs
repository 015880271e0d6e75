use super::*;
use crate::SimplePacket;

fn refused(config: Config) -> Option<alloc::string::String> {
    Choke::<SimplePacket>::new(config, Seed::new(1)).err().map(|error| error.key().into())
}

/// Would catch later members whose constructors accept values that are refused as text.
#[test]
fn later_members_refuse_what_cannot_work() {
    fn key<Q>(built: Result<Q, ParameterError>) -> Option<alloc::string::String> {
        built.err().map(|error| error.key().into())
    }
    type P = SimplePacket;
    let seed = Seed::new(1);
    let memory = mloc::Config { memory: 65_537, ..mloc::Config::default() };
    assert_eq!(key(mloc::MlocChoke::<P>::new(memory, seed)).as_deref(), Some("memory"));
    let order = chokew::Config { min: Size::packets(176), ..chokew::Config::default() };
    assert_eq!(key(chokew::Chokew::<P>::new(order, seed)).as_deref(), Some("min"));
    let unit = choker::Config { band: Size::bytes(1), ..choker::Config::default() };
    assert_eq!(key(choker::Choker::<P>::new(unit, seed)).as_deref(), Some("band"));
    let table = xchoke::Config { table_size: 0, ..xchoke::Config::default() };
    assert_eq!(key(xchoke::Xchoke::<P>::new(table, seed)).as_deref(), Some("table_size"));
    let most = choked::Config { max_candidates: 65, ..choked::Config::default() };
    assert_eq!(key(choked::Choked::<P>::new(most, seed)).as_deref(), Some("max_candidates"));
    let share = sac::Config { share: 1.5, ..sac::Config::default() };
    assert_eq!(key(sac::Sac::<P>::new(share, seed)).as_deref(), Some("share"));
    let cap = rechoke::Config { hit_cap: 2, ..rechoke::Config::default() };
    assert_eq!(key(rechoke::Rechoke::<P>::new(cap, seed)).as_deref(), Some("hits"));
    let limit = Size::packets(u32::MAX);
    for refused in [
        key(mloc::MlocChoke::<P>::new(mloc::Config { limit, ..mloc::Config::default() }, seed)),
        key(chokew::Chokew::<P>::new(chokew::Config { limit, ..chokew::Config::default() }, seed)),
        key(xchoke::Xchoke::<P>::new(xchoke::Config { limit, ..xchoke::Config::default() }, seed)),
        key(choked::Choked::<P>::new(choked::Config { limit, ..choked::Config::default() }, seed)),
        key(sac::Sac::<P>::new(sac::Config { limit, ..sac::Config::default() }, seed)),
        key(rechoke::Rechoke::<P>::new(rechoke::Config { limit, ..rechoke::Config::default() }, seed)),
    ] {
        assert_eq!(refused.as_deref(), Some("limit"));
    }
}

/// Would catch hits that are never halved because the link's rate is not used.
#[test]
fn xchoke_follows_the_links_rate() {
    let config = xchoke::Config::default();
    let mbit = Rate::from_bits_per_second(1_000_000);
    assert_eq!(config.age_at(None), None);
    // 1250 packets of 1000 bytes take 10 s at 1 Mbit/s.
    assert_eq!(config.age_at(Some(mbit)), Some(crate::Duration::from_secs(10.0)));
}

/// Would catch a constructor that accepts values that are refused as text.
#[test]
fn what_cannot_work_is_refused() {
    let red = red::RedParameters { min: Size::packets(201), ..red::RedParameters::default() };
    assert_eq!(refused(Config { red, ..Config::default() }).as_deref(), Some("min"));
    let none = Config { candidates: Candidates::Fixed(0), ..Config::default() };
    assert_eq!(refused(none).as_deref(), Some("candidates"));
    let regions = Config { candidates: Candidates::Regions { regions: 33, rule: Rule::Double }, ..Config::default() };
    assert_eq!(refused(regions).as_deref(), Some("regions"));
    let limit = Config { limit: Size::packets(u32::MAX), ..Config::default() };
    assert_eq!(refused(limit).as_deref(), Some("limit"));
    assert_eq!(refused(Config::default()), None);
}
