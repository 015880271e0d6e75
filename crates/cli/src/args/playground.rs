//! The options of `fairlane playground`.

use clap::Args;

/// Show a link packet by packet in a browser
///
/// Example: fairlane playground
///
/// The command serves the page of the playground on 127.0.0.1, which no other machine reaches, until Ctrl-C, and prints
/// its address. The simulator runs in the browser; the page loads nothing from elsewhere.
#[derive(Debug, Args)]
pub(crate) struct PlaygroundArgs {
    /// Port; 0 is any free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
}
