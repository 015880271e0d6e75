//! Parts of the program that only some builds have.

use fairlane_console::Failure;

/// The features of this build, in the order of Cargo.toml.
const HERE: [(&str, bool); 11] = [
    ("bpf", cfg!(feature = "bpf")),
    ("html", cfg!(feature = "html")),
    ("lab", cfg!(feature = "lab")),
    ("manual", cfg!(feature = "manual")),
    ("papers", cfg!(feature = "papers")),
    ("parquet", cfg!(feature = "parquet")),
    ("pdf", cfg!(feature = "pdf")),
    ("playground", cfg!(feature = "playground")),
    ("router", cfg!(feature = "router")),
    ("shell", cfg!(feature = "shell")),
    ("top", cfg!(feature = "top")),
];

/// Makes the error of a `part` that needs a `feature` which this build does not have, with the command that has it.
#[cfg_attr(
    all(
        feature = "bpf",
        feature = "html",
        feature = "lab",
        feature = "manual",
        feature = "papers",
        feature = "parquet",
        feature = "pdf",
        feature = "playground",
        feature = "router",
        feature = "shell",
        feature = "top"
    ),
    allow(dead_code, reason = "this build has every feature")
)]
pub(crate) fn missing(part: &str, feature: &str) -> Failure {
    let message = format!("this build has no {part}; that needs the feature {feature}");
    Failure::new(message, remedy(feature))
}

/// The command with `feature` in addition, and that with everything.
pub(crate) fn remedy(feature: &str) -> String {
    let mut features: Vec<&str> = HERE.iter().filter(|(_, here)| *here).map(|(name, _)| *name).collect();
    features.push(feature);
    with_features(&features.join(","), std::env::var_os("CARGO").is_some())
}

/// The command that has `features`: under `cargo run` the same command with them, otherwise an installation.
fn with_features(features: &str, under_cargo: bool) -> String {
    if under_cargo {
        let arguments: Vec<String> = command_line().into_iter().skip(1).collect();
        format!("run: cargo run --release --features {features} -- {}", quoted(&arguments))
    } else {
        // `full` leaves out what needs tools in addition to Rust's.
        let everything = if features.split(',').any(|feature| feature == "bpf") {
            "--features full,bpf for everything; bpf needs clang 16 or later and the headers of libelf and zlib"
        } else {
            "--features full for everything"
        };
        format!("install it: cargo install --profile dist --path crates/cli --features {features}, or {everything}")
    }
}

/// The given command, quoted for a shell.
#[cfg(feature = "html")]
pub(crate) fn command() -> String {
    quoted(&command_line())
}

fn command_line() -> Vec<String> {
    let given = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("fairlane".to_owned()).chain(given).collect()
}

fn quoted(words: &[String]) -> String {
    // Only a word with a zero byte cannot be quoted, and no argument has one.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a remedy that cannot be pasted into a shell.
    #[test]
    fn the_remedy_is_a_command() {
        let run = with_features("html,parquet", true);
        assert!(run.starts_with("run: cargo run --release --features html,parquet -- "), "{run}");
        let install = with_features("html", false);
        assert!(
            install.starts_with("install it: cargo install --profile dist --path crates/cli --features html"),
            "{install}"
        );
        assert!(install.ends_with(", or --features full for everything"), "{install}");
        // Would catch a remedy that leaves out the very feature.
        let bpf = with_features("html,bpf", false);
        assert!(bpf.contains("--features html,bpf, or --features full,bpf for everything; bpf needs clang"), "{bpf}");
    }
}
