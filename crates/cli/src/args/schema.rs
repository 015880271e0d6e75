//! The options of `fairlane schema`.

use clap::Args;

/// Print the JSON Schema of scenario files, for editors
///
/// With it an editor completes, explains and checks the keys of a scenario. The line #:schema scenario.schema.json at
/// the top of a file names it for taplo, the language server of most editors: fairlane schema > scenario.schema.json
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {}
