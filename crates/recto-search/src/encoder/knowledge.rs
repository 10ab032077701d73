//! How many words of a text an encoder knows, and whether that tells another language.

use crate::lexical;
use crate::spelling::one_slip_from;

/// From which share of strange words on a text is in a language that the model does not know. Of
/// English messages one word in twelve is strange, of German, French or Spanish ones every second.
const STRANGE: f32 = 0.34;

/// How many words it takes to tell: a name or a typo is strange in every language.
const ENOUGH_WORDS: usize = 4;

/// From which share of common English words on a text is English, whose strange words are slips
/// where they are near to known ones. In other languages, too, one word in five is.
const COMMON: f32 = 0.5;

/// The shortest word that may be a slip, and the shortest that it may be a slip of. Shorter ones are
/// near to too many.
const SHORTEST_SLIP: usize = 4;
const SHORTEST_MEANT: usize = 3;

/// The longest word that is looked at, in bytes.
const LONGEST: usize = 32;

/// The words of a text, and how many of them an encoder knows in pieces only, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordKnowledge {
    /// How many words there are.
    pub words: usize,
    /// How many of them the encoder does not know as words.
    pub strange: usize,
    /// How many of the strange ones are one slip away from a word that it knows. Like the next
    /// number it is counted where so many are strange that it matters.
    slips: usize,
    /// How many words are common in English, as they are typed or but for a slip.
    common: usize,
}

impl WordKnowledge {
    /// Counts words, each with whether it is strange. `is_known` says of a word in small letters
    /// whether the encoder knows it.
    pub(super) fn count(typed: &[(&str, bool)], is_known: impl Fn(&str) -> bool) -> Self {
        let strange = typed.iter().filter(|(_, is_strange)| *is_strange).count();
        let mut counted = WordKnowledge { words: typed.len(), strange, ..Self::default() };
        if counted.has_too_many(strange) {
            for (word, is_strange) in typed {
                let word = word.to_lowercase();
                let meant = meant_by(&word, *is_strange, &is_known);
                counted.slips += usize::from(!meant.is_empty());
                let is_common = |word: &str| word.is_ascii() && lexical::is_common(word);
                let is_common = is_common(&word) || meant.iter().any(|word| is_common(word));
                counted.common += usize::from(is_common);
            }
        }
        counted
    }

    /// Whether there are enough words to tell the language by.
    pub fn is_telling(self) -> bool {
        self.words >= ENOUGH_WORDS
    }

    /// Whether the text is in a language that the encoder does not know, as far as words tell.
    /// Misspelt English has many strange words, too: but those are near to words, and stand among
    /// common ones.
    pub fn is_foreign(self) -> bool {
        let is_misspelt = self.common as f32 >= COMMON * self.words as f32
            && !self.has_too_many(self.strange.saturating_sub(self.slips));
        self.has_too_many(self.strange) && !is_misspelt
    }

    fn has_too_many(self, strange: usize) -> bool {
        self.is_telling() && strange as f32 >= STRANGE * self.words as f32
    }
}

/// The known words that a strange one may have been meant to be.
fn meant_by(word: &str, is_strange: bool, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_strange || !is_plain || !(SHORTEST_SLIP..=LONGEST).contains(&word.len()) {
        return Vec::new();
    }
    let near = one_slip_from(word).into_iter();
    near.filter(|meant| meant.len() >= SHORTEST_MEANT && is_known(meant)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> WordKnowledge {
        let known = ["which", "helmet", "children", "need", "on", "tour", "do", "often", "the"];
        let is_known = |word: &str| known.contains(&word);
        let typed: Vec<(&str, bool)> =
            text.split(' ').map(|word| (word, !is_known(word))).collect();
        WordKnowledge::count(&typed, is_known)
    }

    #[test]
    fn misspelt_english_is_no_other_language() {
        let misspelt = count("wich hlemet do chilren need on toru");
        assert_eq!((misspelt.words, misspelt.strange, misspelt.slips), (7, 4, 4));
        assert!(!misspelt.is_foreign(), "{misspelt:?}");
        // One word may be near to an English one by chance.
        let german = count("welche Rechnungen sind noch offen");
        assert_eq!(german.slips, 1);
        assert!(german.is_foreign(), "{german:?}");
        // Near to words, and yet none of them common.
        let names = WordKnowledge { words: 4, strange: 4, slips: 4, common: 1 };
        assert!(names.is_foreign());
        assert!(!count("xq zzzz").is_foreign(), "too few to tell");
    }

    #[test]
    fn what_is_no_plain_word_is_no_slip() {
        let is_known = |_: &str| true;
        for word in ["hélmet", "g12", "xlm", "日本語", ""] {
            assert_eq!(meant_by(word, true, is_known), [""; 0], "{word}");
        }
        assert_eq!(meant_by("hlemet", false, is_known), [""; 0]);
        assert!(meant_by("hlemet", true, |word| word == "helmet") == ["helmet"]);
    }
}
