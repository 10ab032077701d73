//! Hides the values of variables that a person granted to a skill and which are secrets, by their
//! names or by what they look like. Its programs need them; models and records must not see them.
//!
//! Only the value as it stands is found. A program that turns it into something
//! else before it writes it is not stopped by this.

use crate::options::{Grants, holds_a_secret};
use crate::process::CapturedOutput;

/// Shorter values are no keys, and would take half of the output with them.
const SHORTEST: usize = 6;

/// What stands for a value.
const HIDDEN: &str = "…";

/// The values that must not be told, the longest first.
#[derive(Debug)]
pub(super) struct GrantedSecrets<'a>(Vec<&'a str>);

impl<'a> GrantedSecrets<'a> {
    pub(super) fn from_grants(grants: &'a Grants) -> Self {
        let secret = grants.set_variables().filter(|(name, value)| holds_a_secret(name, value));
        let values = secret.map(|(_, value)| value.trim());
        let mut values: Vec<_> = values.filter(|value| value.chars().count() >= SHORTEST).collect();
        // One may be a part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        GrantedSecrets(values)
    }

    /// A text without the values.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, value| text.replace(value, HIDDEN))
    }

    /// What a program wrote, without the values; also without the parts of them
    /// where it was cut.
    pub(super) fn hide_in(&self, captured: &CapturedOutput) -> String {
        let hidden = |bytes: &[u8]| self.hide(&String::from_utf8_lossy(bytes));
        let (mut head, mut tail) = (hidden(&captured.head), hidden(&captured.tail));
        if captured.left_out > 0 {
            let cut = self.longest(|value| start_at_end(value, &head));
            if cut > 0 {
                head.truncate(head.len() - cut);
                head.push_str(HIDDEN);
            }
            let cut = self.longest(|value| end_at_start(value, &tail));
            if cut > 0 {
                tail.replace_range(..cut, HIDDEN);
            }
        }
        let (head, tail) = (head.into_bytes(), tail.into_bytes());
        CapturedOutput { head, tail, left_out: captured.left_out }.text()
    }

    fn longest(&self, part: impl Fn(&str) -> usize) -> usize {
        self.0.iter().map(|value| part(value)).max().unwrap_or_default()
    }
}

/// How much of the value's beginning the text ends with.
fn start_at_end(value: &str, text: &str) -> usize {
    let cuts = value.char_indices().map(|(at, _)| at).rev();
    cuts.filter(|at| text.ends_with(&value[..*at])).max().unwrap_or_default()
}

/// How much of the value's end the text begins with.
fn end_at_start(value: &str, text: &str) -> usize {
    let cuts = value.char_indices().map(|(at, _)| &value[at..]).skip(1);
    cuts.filter(|end| text.starts_with(end)).map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(values: &[&str]) -> Grants {
        let environment =
            values.iter().map(|value| ("X_TOKEN".to_owned(), Some((*value).to_owned())));
        Grants { environment: environment.collect(), ..Grants::default() }
    }

    #[test]
    fn values_are_replaced_unless_they_are_short() {
        let grants = grants(&["hunter22", "hunter22-and-more\n", "abcde", ""]);
        let secrets = GrantedSecrets::from_grants(&grants);
        let text = "a hunter22 b:hunter22-and-more, hunter22hunter22 abcde";
        assert_eq!(secrets.hide(text), "a … b:…, …… abcde");
    }

    /// A name says nothing of what a person put there.
    #[test]
    fn a_key_under_an_innocent_name_is_hidden() {
        let named = |name: &str, value: &str| {
            let environment = [(name.to_owned(), Some(value.to_owned()))].into();
            let grants = Grants { environment, ..Grants::default() };
            GrantedSecrets::from_grants(&grants).hide(&format!("it is {value}."))
        };
        assert_eq!(named("LANDING", "ghp_16C7e42F292c6912E7"), "it is ….");
        assert_eq!(
            named("TZ", "America/Argentina/Buenos_Aires"),
            "it is America/Argentina/Buenos_Aires."
        );
    }

    #[test]
    fn a_cut_leaves_no_part_of_a_value() {
        let grants = grants(&["sëcret-words"]);
        let secrets = GrantedSecrets::from_grants(&grants);
        let hidden = |head: &str, tail: &str, left_out| {
            secrets.hide_in(&CapturedOutput { head: head.into(), tail: tail.into(), left_out })
        };
        assert_eq!(hidden("a së", "words b", 7), "a …\n[… 7 bytes left out …]\n… b");
        assert_eq!(hidden("a x", "y b", 7), "a x\n[… 7 bytes left out …]\ny b");
        assert_eq!(hidden("is së", "", 0), "is së");
        assert_eq!(hidden("is sëcret-words", "", 0), "is …");
    }
}
