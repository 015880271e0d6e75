//! The schema says what the reader does.

use fairlane_scenario::{Document, Scenario};
use serde_json::Value;

const FILE: &str = r#"duration = "10s"

[tcp]
preset = "ns2-1999"

[bottleneck]
rate = "10mbit"
delay = "1ms"
loss = { p = 0.1, r = 0.5 }
shaper = { rate = "8mbit" }
aggregation = { packets = 2, access = "1ms" }
reverse = { rate = "1mbit" }

[access]
rate = "1gbit"

"#;

/// Groups that have all keys with defaults.
const GROUPS: [&str; 11] = [
    "kind = \"tcp\"",
    "kind = \"tcp\"\nsource = \"transfers\"\nsize = \"1p\"",
    "kind = \"tcp\"\nsource = \"web\"\nsize = \"1p\"\nobjects = 1\nconnections = 1",
    "kind = \"tcp\"\nsource = \"video\"",
    "kind = \"udp\"\nrate = \"1mbit\"",
    "kind = \"udp\"\nrate = \"1mbit\"\nscore = \"voip\"",
    "kind = \"udp\"\nrate = \"1mbit\"\nsource = \"pareto\"\non = \"1s\"\noff = \"1s\"",
    "kind = \"udp\"\nrate = \"1mbit\"\nsource = \"geometric\"\nslot = \"1ms\"",
    "kind = \"udp\"\nrate = \"1mbit\"\nsource = \"ssmp\"\nslot = \"1ms\"",
    "kind = \"tfrc\"",
    "kind = \"endpoint\"",
];

/// A valid file whose group has these keys.
fn file(group: &str) -> Document {
    let text = format!("{FILE}[[flows]]\nname = \"a\"\n{group}\n");
    Document::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(document: &Document) -> Scenario {
    document.scenario().unwrap_or_else(|error| panic!("{error}"))
}

/// Sets each key under `table` to its default. Returns those that the reader takes, after it has been checked that
/// they change nothing.
fn taken(document: &Document, table: &str, properties: &Value) -> Vec<String> {
    let properties = properties.as_object().expect("a table has keys");
    let defaults = properties.iter().filter_map(|(key, schema)| Some((key, schema.get("default")?)));
    let takes = |key: &str, default: &Value| {
        let mut changed = document.clone();
        let written = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        let read = changed.set(key, &written).and_then(|()| changed.scenario()).ok()?;
        assert!(read == scenario(document), "{key} = {written} is not the default");
        Some(key.to_owned())
    };
    defaults.filter_map(|(key, default)| takes(&format!("{table}{key}"), default)).collect()
}

/// Would catch a default that is not that of the reader.
#[test]
fn the_defaults_are_right() {
    let schema = fairlane_scenario::schema();
    let of = |name: &str| &schema["definitions"][name]["properties"];
    let tables = [
        ("", &schema["properties"], 3),
        ("bottleneck.", of("bottleneck"), 2),
        ("bottleneck.loss.", of("loss"), 2),
        ("bottleneck.shaper.", of("shaper"), 4),
        ("bottleneck.aggregation.", of("aggregation"), 1),
        ("bottleneck.reverse.", of("reverse"), 3),
        ("access.", of("access"), 1),
        ("tcp.", of("tcp"), 5),
    ];
    for (table, properties, least) in tables {
        let taken = taken(&file(GROUPS[0]), table, properties);
        assert!(taken.len() >= least, "{table} {taken:?}");
    }
    let all = &schema["definitions"]["flow"]["allOf"][0]["properties"];
    let taken = GROUPS.iter().flat_map(|group| taken(&file(group), "flows.a.", all)).collect::<Vec<_>>();
    let defaults = all.as_object().expect("keys").iter().filter(|(_, schema)| schema.get("default").is_some());
    for (key, _) in defaults {
        assert!(taken.contains(&format!("flows.a.{key}")), "no group of this test takes the default of {key}");
    }
}

/// Would catch a table that the schema names and does not have, and one that nobody needs.
#[test]
fn what_it_refers_to_is_there() {
    let schema = fairlane_scenario::schema();
    let text = schema.to_string();
    for name in schema["definitions"].as_object().expect("a table").keys() {
        assert!(text.contains(&format!("\"#/definitions/{name}\"")), "nobody refers to {name}");
    }
}
