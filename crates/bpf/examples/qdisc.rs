//! Attaches, detaches and shows disciplines: `qdisc attach eth0 choke 10000000 limit=300p`, `qdisc detach eth0`,
//! `qdisc status`.

use std::error::Error;

use fairlane_bpf::{Program, attach, detach, status};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["attach", device, kind, bits, ref parameters @ ..] => {
            let mut given = QdiscParameters::new(kind.parse::<Kind>()?);
            for (key, value) in parameters.iter().filter_map(|parameter| parameter.split_once('=')) {
                given.set(key, value.into())?;
            }
            let rate = Rate::from_bits_per_second(bits.parse()?);
            println!("{}", attach(device, &Program::new(&given.resolve(rate)?, rate)?)?.kind());
        }
        ["detach", device] => detach(device)?,
        ["status"] => {
            for instance in status()? {
                println!("{instance:#?}");
                println!("balanced {}", instance.state.is_balanced());
            }
        }
        _ => return Err("write attach DEVICE KIND BITS KEY=VALUE…, detach DEVICE, or status".into()),
    }
    Ok(())
}
