//! What can be typed behind `recto serve`.

use clap::Args;

/// The arguments of `recto serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Listen on this address and port; port 0 takes a free one [default: `server.listen`]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Open the web page in the browser
    #[arg(long)]
    pub open: bool,
}
