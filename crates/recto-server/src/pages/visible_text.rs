//! Text of others in which nothing hides: characters that can't be seen, or that turn the order of
//! what stands around them, are written out.

use recto_context::{Reveal, reveal};

/// A text in which characters that can't be seen, or that change how others are seen, are
/// written out: what is read must be what is there.
pub(crate) fn show_controls(text: &str) -> String {
    reveal(text, Reveal::EveryCharacter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mislead_is_written_out() {
        assert_eq!(show_controls("rm\u{202e}fdp.exe\n\u{1b}[2J"), "rm\\u{202e}fdp.exe\n\\u{1b}[2J");
        assert_eq!(show_controls("größe\t✓"), "größe\t✓");
    }
}
