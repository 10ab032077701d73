//! Which memory a person means who types a name, its digits, or the beginning of them.

use super::Memory;
use crate::item::ItemKind;

/// A memory's name as it was typed: `MEMORY.md#3fa9c2e1`, `3fa9`, `memory:3fa9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedMemory<'a> {
    /// What was typed, without the kind in front of it.
    whole: &'a str,
    file: Option<&'a str>,
    digits: &'a str,
}

impl<'a> TypedMemory<'a> {
    /// The fewest digits that say which memory is meant.
    pub const FEWEST_DIGITS: usize = 4;

    /// Reads what was typed, whatever it is.
    pub fn new(typed: &'a str) -> Self {
        let typed = typed.trim();
        let typed = typed.strip_prefix('@').unwrap_or(typed);
        let whole = match typed.split_once(':') {
            Some((kind, name)) if kind.eq_ignore_ascii_case(ItemKind::Memory.name()) => name.trim(),
            _ => typed,
        };
        let (file, digits) = match whole.rsplit_once('#') {
            Some((file, digits)) => (Some(file).filter(|file| !file.is_empty()), digits),
            None => (None, whole),
        };
        TypedMemory { whole, file, digits }
    }

    /// The file in front of the digits, if there is one.
    pub fn file(&self) -> Option<&'a str> {
        self.file
    }

    /// What stands where digits should.
    pub fn digits(&self) -> &'a str {
        self.digits
    }

    /// Whether it can be the name of a memory at all.
    pub fn is_name(&self) -> bool {
        self.is_hex() && self.digits.len() >= Self::FEWEST_DIGITS
    }

    /// Whether it only lacks digits.
    pub fn is_too_short(&self) -> bool {
        self.is_hex() && self.digits.len() < Self::FEWEST_DIGITS
    }

    /// All that it can mean. What has exactly this name is meant alone.
    pub fn among<'m>(&self, memories: &'m [Memory]) -> Vec<&'m Memory> {
        if let Some(exact) = memories.iter().find(|memory| *memory.name == *self.whole) {
            return vec![exact];
        }
        if !self.is_name() {
            return Vec::new();
        }
        let digits = self.digits.to_ascii_lowercase();
        let is_meant = |memory: &&Memory| {
            self.is_in(&memory.name) && memory.text.hash().to_string().starts_with(&digits)
        };
        memories.iter().filter(is_meant).collect()
    }

    /// Whether it is a memory's name, letter by letter.
    pub fn is_exactly(&self, name: &str) -> bool {
        self.whole == name
    }

    /// Whether a memory of this name can be meant, of which nothing else is known.
    pub fn can_mean(&self, name: &str) -> bool {
        let Some((_, known)) = name.rsplit_once('#') else { return false };
        let digits = self.digits.to_ascii_lowercase();
        // A name has only the first digits; whoever types more may still mean it.
        let is_same = known.starts_with(&digits) || digits.starts_with(known);
        self.is_name() && self.is_in(name) && is_same
    }

    fn is_in(&self, name: &str) -> bool {
        self.file.is_none_or(|file| name.rsplit_once('#').is_some_and(|(own, _)| own == file))
    }

    fn is_hex(&self) -> bool {
        self.digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_meant_by_its_name_or_the_beginning_of_its_digits() {
        let all = [("MEMORY.md", "a"), ("people/anna.md", "a"), ("MEMORY.md", "b")]
            .map(|(file, text)| Memory::new(file, text, None));
        let hash = all[0].text.hash().to_string();
        let found = |typed: &str| TypedMemory::new(typed).among(&all).len();
        assert_eq!(found(&all[0].name), 1);
        assert_eq!(found(&format!(" {} ", all[1].name)), 1);
        assert_eq!(found(&format!("@memory:{}", all[1].name)), 1);
        assert_eq!((found(&hash), found(&hash[..4]), found(&hash[..3])), (2, 2, 0));
        assert_eq!(found(&format!("#{}", hash[..8].to_uppercase())), 2);
        assert_eq!(found(&format!("people/anna.md#{}", &hash[..5])), 1);
        assert_eq!(found(&format!("people/ben.md#{}", &hash[..5])), 0);
        for nothing in ["", "#", "MEMORY.md", "MEMORY.md#", "zzzz", "é", "\u{1b}", "rule:abcd"] {
            assert_eq!(found(nothing), 0, "{nothing:?}");
        }
    }

    #[test]
    fn of_a_name_alone_its_digits_have_to_agree() {
        for typed in ["MEMORY.md#0123abcd", "0123", "#0123AB", "memory:0123", "@memory:0123abcdef"]
        {
            assert!(TypedMemory::new(typed).can_mean("MEMORY.md#0123abcd"), "{typed}");
        }
        for typed in ["012", "people/a.md#0123", "1234", "rule:0123", "MEMORY.md", "", "#", "é"] {
            assert!(!TypedMemory::new(typed).can_mean("MEMORY.md#0123abcd"), "{typed}");
        }
        assert!(!TypedMemory::new("1234").can_mean("1/2"));
    }

    #[test]
    fn what_is_too_short_is_told_from_what_is_no_name() {
        for typed in ["", "#", "ab", "MEMORY.md#abc"] {
            assert!(TypedMemory::new(typed).is_too_short(), "{typed:?}");
        }
        for typed in ["zz", "abcd", "é", "MEMORY.md"] {
            assert!(!TypedMemory::new(typed).is_too_short(), "{typed:?}");
        }
        assert!(TypedMemory::new("memory:abcd").is_name());
        assert!(!TypedMemory::new("tone").is_name());
    }
}
