//! What can be typed about turns: `recto show`, `recto diff` and `recto replay`.

use clap::Args;

/// The arguments of `recto show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The turn, by number, or `last`
    #[arg(default_value = "last")]
    pub turn: String,
    /// Which of the turn's requests, from 1 [default: its last page; with --text all of them]
    #[arg(long, value_name = "N")]
    pub request: Option<u32>,
    /// Print the page as the model reads it, with the source of each part in the margin
    #[arg(long, conflicts_with_all = ["body", "json"])]
    pub text: bool,
    /// Print to the terminal even what is longer than the screen, instead of opening a pager
    #[arg(long, conflicts_with_all = ["body", "json"])]
    pub no_pager: bool,
    /// Print the request's body, the exact bytes that were sent
    #[arg(long, conflicts_with = "json")]
    pub body: bool,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A turn, by number, or `last`
    #[arg(default_value = "last")]
    pub first: String,
    /// Another turn [default: the one before it in its session]
    pub second: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The turn, by number, or `last`; with --verify alone, every turn
    pub turn: Option<String>,
    /// Which of the turn's requests, from 1 [default: its last page; with --verify all]
    #[arg(long, value_name = "N")]
    pub request: Option<u32>,
    /// Ask another model entry than the one that was asked
    #[arg(long, value_name = "NAME", conflicts_with = "verify")]
    pub model: Option<String>,
    /// Write the body anew from its parts and options, and fail unless it is the one sent
    #[arg(long)]
    pub verify: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
