//! What can be typed behind `recto models`.

use clap::Subcommand;
use recto_models::Checksum;

use super::JsonArg;

/// The commands of `recto models`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List the model entries of the config, and the models on disk
    List(JsonArg),
    /// Ask servers whether they have the models, with what window, and whether they take tools;
    /// and load the encoder that `search.encoder` names
    Check {
        /// The entry [default: all]
        name: Option<String>,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Get models that run without a server, and print where their files are
    Pull {
        /// Names that Recto knows, the addresses or paths of files, or the folders of encoders
        /// [default: smollm2 minilm]
        #[arg(value_name = "NAME|URL|PATH")]
        names: Vec<String>,
        /// The SHA-256 that the file must have, or the weights of a folder
        #[arg(long, value_name = "HEX")]
        sha256: Option<Checksum>,
        /// What to call the model here [default: the name of its file or folder]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Tell nothing but errors
        #[arg(short, long)]
        quiet: bool,
        /// How to print what was pulled
        #[command(flatten)]
        json: JsonArg,
    },
    /// Remove a model from disk
    Remove {
        /// The model's name, as `recto models list` shows it
        name: String,
    },
}
