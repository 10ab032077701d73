//! Items that are variants of each other: their names differ in one word, as `vat-spain` and
//! `vat-portugal` do.
//!
//! Who names one of them means that one, whatever else speaks for the other: what was said or used
//! before may be about the other.

use std::collections::{HashMap, HashSet};

use recto_context::ItemId;

use crate::lexical;

/// The words of an item's name, stemmed.
pub(crate) struct NameWords(HashSet<String>);

impl NameWords {
    /// Reads an item's name, and that of what brings it. Behind the `#` of a memory's stand digits
    /// that nobody types.
    pub(crate) fn new(item: &ItemId) -> NameWords {
        let key = item.key();
        let name = key.split_once('#').map_or(key.as_str(), |(name, _)| name);
        // An identifier is a word of its own beside its parts, which differs where one of them does.
        NameWords(lexical::words(&name.replace('_', " ")).into_iter().collect())
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// Whether any of these words is in the name.
    pub(crate) fn has_any(&self, words: &HashSet<String>) -> bool {
        self.0.iter().any(|word| words.contains(word))
    }

    /// The word that sets a name apart from another one, and that one's; nothing where they differ
    /// in more, or have nothing in common.
    pub(crate) fn difference<'a>(&'a self, other: &'a NameWords) -> Option<(&'a str, &'a str)> {
        let only = |one: &'a NameWords, other: &NameWords| {
            let mut own = one.0.iter().filter(|word| !other.has(word));
            own.next().filter(|_| own.next().is_none())
        };
        let is_variant = self.0.len() > 1 && self.0.len() == other.0.len();
        let (own, others) =
            is_variant.then(|| Some((only(self, other)?, only(other, self)?)))??;
        Some((own, others))
    }
}

/// Reads what was said before with the names of a message in place of those that it replaces:
/// "what VAT do we charge in Germany?" as about Spain, where the message is "and for Spain?" and
/// items differ in just that. Nothing where there are no such items.
pub(crate) fn replace_names(message: &str, before: &str, items: &[NameWords]) -> Option<String> {
    let [said, new]: [HashSet<String>; 2] =
        [before, message].map(|text| lexical::words(text).into_iter().collect());
    let mut replaced: HashMap<&str, HashSet<&str>> = HashMap::new();
    for one in items.iter().filter(|one| one.has_any(&said)) {
        for other in items.iter().filter(|other| other.has_any(&new)) {
            if let Some((old, named)) = one.difference(other)
                && (said.contains(old) && !new.contains(old))
                && (new.contains(named) && !said.contains(named))
            {
                replaced.entry(old).or_default().insert(named);
            }
        }
    }
    let in_place_of = |word: &str| {
        let named = lexical::words(word).iter().find_map(|stem| replaced.get(stem.as_str()))?;
        let is_named =
            |typed: &&str| lexical::words(typed).iter().any(|stem| named.contains(stem.as_str()));
        Some(runs(message).filter(is_named).collect::<Vec<_>>().join(" "))
    };
    let read: String =
        runs(before).map(|run| in_place_of(run).unwrap_or_else(|| run.to_owned())).collect();
    (!replaced.is_empty()).then_some(read)
}

/// A text in runs of letters and digits, and of what stands between them.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_of_word = rest.chars().next()?.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != is_of_word).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        rest = behind;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use recto_context::ItemKind;

    use super::*;

    fn names(names: &[&str]) -> Vec<NameWords> {
        names.iter().map(|name| NameWords::new(&ItemId::new(ItemKind::Rule, *name))).collect()
    }

    #[test]
    fn variants_differ_in_one_word() {
        let [germany, spain, rates, plain, one, other] =
            &names(&["vat-germany", "vat-spain", "vat-spain-rates", "vat", "germany", "spain"])[..]
        else {
            unreachable!()
        };
        assert_eq!(germany.difference(spain), Some(("germani", "spain")));
        assert_eq!(germany.difference(rates), None);
        assert_eq!(germany.difference(plain), None);
        assert_eq!(germany.difference(germany), None);
        assert_eq!(one.difference(other), None, "they have nothing in common");
        let tool =
            |server: &str| NameWords::new(&ItemId::tool(Some(server.into()), "find_customer"));
        assert_eq!(tool("crm-lyon").difference(&tool("crm-graz")), Some(("lyon", "graz")));
    }

    #[test]
    fn what_a_message_names_stands_in_place_of_what_was_named() {
        let items =
            names(&["vat-germany", "vat-spain", "vat-portugal", "deploy-stage", "deploy-live"]);
        let read = |message: &str, before: &str| replace_names(message, before, &items);
        let before = "What VAT do we charge in Germany?";
        for message in ["and for Spain?", "sorry, I meant Spain", "no, in Spain"] {
            let expected = "What VAT do we charge in Spain?";
            assert_eq!(read(message, before).as_deref(), Some(expected), "{message}");
        }
        let both = read("and for Spain and Portugal?", "what VAT, GERMANY's?");
        assert_eq!(both.as_deref(), Some("what VAT, Spain Portugal's?"));
        assert_eq!(
            read("live too", "how do I deploy to stage?").as_deref(),
            Some("how do I deploy to live?")
        );
        for (message, before) in [
            ("and for Norway?", before),
            ("and for Germany?", before),
            ("and for Spain?", "what VAT do we charge in Norway?"),
            ("and for Spain?", "what VAT in Germany, not in Spain?"),
            ("and live?", before),
            ("", ""),
        ] {
            assert_eq!(read(message, before), None, "{message}: {before}");
        }
    }
}
