//! Typed configurations as data.

use fairlane_qdisc::discipline::choke::{Candidates, Config};
use fairlane_qdisc::{AnyConfig, Kind, ParameterError, QdiscParameters, Rate, Size};

const RATE: Rate = Rate::from_bits_per_second(10_000_000);

/// Would catch a field or a choice that does not survive, and a unit whose text is not read back.
#[test]
fn every_configuration_survives() -> Result<(), ParameterError> {
    for kind in Kind::ALL {
        let config = QdiscParameters::new(kind).resolve(RATE)?.config().clone();
        let json = serde_json::to_string(&config).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let read: AnyConfig = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{kind}: {json}: {error}"));
        assert_eq!(read, config, "{kind}: {json}");
    }
    Ok(())
}

/// Would catch sizes without a unit, a default that is lost, and a misspelt key that is passed over.
#[test]
fn what_is_left_out_has_its_default() {
    let text = r#"{"limit": "60p", "candidates": {"fixed": 3}, "red": {"min": "10p", "max": "30p"}}"#;
    let config: Config = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((config.limit, config.candidates), (Size::packets(60), Candidates::Fixed(3)));
    assert_eq!((config.red.max, config.red.weight), (Size::packets(30), 0.002));
    assert!(serde_json::from_str::<Config>(r#"{"limit": 60}"#).is_err());
    let misspelt = serde_json::from_str::<Config>(r#"{"limti": "60p"}"#).map_err(|error| error.to_string());
    assert!(misspelt.is_err_and(|error| error.contains("limti") && error.contains("limit")));
}
