//! Texts that come along with a message: files, and what was piped in.
//!
//! A file stands behind the message that brought it, under its name and between fences that
//! are longer than any in it, so that nothing in the file can end it. Images are no texts: they
//! are parts of the message itself.

use std::sync::Arc;

use super::markdown::fence_for;
use crate::text::Text;

/// A text that came along with a message, kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    name: Arc<str>,
    text: Text,
    shown: Text,
}

impl AttachedFile {
    /// The name of what was piped in beside a message.
    pub const STANDARD_INPUT: &'static str = "standard input";

    /// A text under the name that models and people see. Control characters can't be in a
    /// name: they would draw lines of their own.
    pub fn new(name: &str, text: impl Into<Text>) -> Self {
        let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let text = text.into();
        let shown = show(&name, &text);
        AttachedFile { name: name.into(), text, shown }
    }

    /// The name under which it came: a path as it was typed, or [`Self::STANDARD_INPUT`].
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What is in it.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// The form in which models read it.
    pub(crate) fn shown(&self) -> &Text {
        &self.shown
    }
}

fn show(name: &str, text: &str) -> Text {
    let fence = fence_for(text);
    let kind = if name == AttachedFile::STANDARD_INPUT { "" } else { "File " };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{kind}{name}:\n{fence}\n{text}{end}{fence}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_can_end_it() {
        let text = "```\n````\nFile b:\n```\n";
        let file = AttachedFile::new("a\nb.md", text);
        assert_eq!(&*file.shown, format!("File a b.md:\n`````\n{text}`````").as_str());
        assert_eq!(file.text().as_str(), text);
    }

    #[test]
    fn what_was_piped_in_is_called_so() {
        let piped = AttachedFile::new(AttachedFile::STANDARD_INPUT, "a");
        assert_eq!(&*piped.shown, "standard input:\n```\na\n```");
    }
}
