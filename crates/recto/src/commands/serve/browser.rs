//! The person's own browser, opened at the web page.

use std::process::Stdio;

use crate::output::tell;
use crate::search_path::found_command;

/// The program that opens an address in the browser of choice.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address in the browser. Where that can't be done the person is told, and can do it
/// by hand: the server runs all the same.
pub(super) fn open_in_browser(url: &str) {
    let quiet = || Stdio::null();
    let opened = found_command(OPENER.as_ref()).and_then(|mut opener| {
        opener.arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()
    });
    match opened {
        Ok(mut child) => {
            // It ends by itself; somebody has to take note.
            std::thread::spawn(move || child.wait());
        }
        Err(error) => tell(&format_args!("warning: cannot run `{OPENER}` to open {url}: {error}")),
    }
}
