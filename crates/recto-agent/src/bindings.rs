//! Which agent answers where: a table of bindings, the first that fits decides.
//! Pure, and the only place that decides it.

use std::fmt;

/// A place whose agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindingQuery<'a> {
    /// The name of the surface, such as `telegram`.
    pub surface: &'a str,
    /// The bot or token that people talk to there.
    pub account: &'a str,
    /// The conversation's name there.
    pub conversation: &'a str,
}

/// An agent, and the places where it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentBinding {
    /// The surfaces.
    pub surface: NamePattern,
    /// The accounts there.
    pub account: NamePattern,
    /// The conversations there.
    pub conversation: NamePattern,
    /// The agent that answers.
    pub agent: String,
}

/// A name, or with `*`, which stands for any characters or none, many names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(String);

/// The agent that answers, and which binding says so: its index, or none where no
/// binding fits and it is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundAgent<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The binding that led to it.
    pub binding: Option<usize>,
}

/// The agent that answers at a place: that of the first binding that fits, or else
/// the default.
pub fn find_bound_agent<'a>(
    bindings: &'a [AgentBinding],
    default: &'a str,
    place: BindingQuery<'_>,
) -> BoundAgent<'a> {
    let found = bindings.iter().enumerate().find(|(_, binding)| binding.fits(place));
    match found {
        Some((index, binding)) => BoundAgent { agent: &binding.agent, binding: Some(index) },
        None => BoundAgent { agent: default, binding: None },
    }
}

/// The binding before this one that fits wherever this one does, if there is one:
/// then this one never decides anything.
pub fn find_shadowing(bindings: &[AgentBinding], index: usize) -> Option<usize> {
    let binding = bindings.get(index)?;
    bindings[..index].iter().position(|before| before.covers(binding))
}

impl AgentBinding {
    fn fits(&self, place: BindingQuery<'_>) -> bool {
        self.surface.matches(place.surface)
            && self.account.matches(place.account)
            && self.conversation.matches(place.conversation)
    }

    fn covers(&self, other: &AgentBinding) -> bool {
        self.surface.covers(&other.surface)
            && self.account.covers(&other.account)
            && self.conversation.covers(&other.conversation)
    }
}

impl NamePattern {
    /// The pattern that this text spells.
    pub fn new(text: impl Into<String>) -> Self {
        NamePattern(text.into())
    }

    /// The pattern that every name fits.
    pub fn any() -> Self {
        NamePattern::new("*")
    }

    /// Whether it is the one that every name fits.
    pub fn is_any(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte == b'*')
    }

    /// Whether a name fits.
    pub fn matches(&self, name: &str) -> bool {
        matches_wildcards(self.0.as_bytes(), name.as_bytes())
    }

    /// Whether every name that fits the other one fits this one. A `*` of the other
    /// stands for anything, so that only a `*` of this one can meet it: it is read as
    /// a character that no name has.
    fn covers(&self, other: &NamePattern) -> bool {
        matches_wildcards(self.0.as_bytes(), other.0.replace('*', "\0").as_bytes())
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a text fits a pattern. Each `*` first takes as little as it can, and more
/// when what follows does not fit; going back to the last one is enough, so that no
/// pattern takes longer than the product of both lengths.
fn matches_wildcards(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut last_star = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                last_star = Some((at, read));
                at += 1;
            }
            Some(byte) if *byte == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star, from)) = last_star else { return false };
                last_star = Some((star, from + 1));
                at = star + 1;
                read = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Bindings as `surface account conversation agent`, one a line.
    fn table(text: &str) -> Vec<AgentBinding> {
        let binding = |line: &str| {
            let [surface, account, conversation, agent] =
                line.split_whitespace().collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            AgentBinding {
                surface: NamePattern::new(surface),
                account: NamePattern::new(account),
                conversation: NamePattern::new(conversation),
                agent: agent.to_owned(),
            }
        };
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(binding).collect()
    }

    const TABLE: &str = "
        telegram work_bot *        work
        telegram *        -100*    groups
        discord  *        dev-*-42 coder
        *        *        secret   vault
    ";

    #[track_caller]
    fn check(places: &[&str], expected: &Expect) {
        let bindings = table(TABLE);
        let line = |place: &&str| {
            let [surface, account, conversation] = place.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{place}")
            };
            let found = find_bound_agent(
                &bindings,
                "main",
                BindingQuery { surface, account, conversation },
            );
            let by = found.binding.map_or_else(String::new, |index| format!(" by {index}"));
            format!("{place}: {}{by}\n", found.agent)
        };
        expected.assert_eq(&places.iter().map(line).collect::<String>());
    }

    #[test]
    fn the_first_binding_that_fits_decides_and_else_the_default() {
        check(
            &[
                "telegram work_bot 4711",
                "telegram work_bot -1007",
                "telegram home_bot -1007",
                "telegram home_bot 1007",
                "telegram home_bot -100",
                "telegram Work_bot 4711",
                "discord b dev-x-42",
                "discord b dev--42",
                "discord b dev-42",
                "discord b dev-42-421",
                "discord b dev-42-42",
                "terminal local secret",
                "terminal local default",
                "telegram work_bot secret",
            ],
            &expect![[r#"
                telegram work_bot 4711: work by 0
                telegram work_bot -1007: work by 0
                telegram home_bot -1007: groups by 1
                telegram home_bot 1007: main
                telegram home_bot -100: groups by 1
                telegram Work_bot 4711: main
                discord b dev-x-42: coder by 2
                discord b dev--42: coder by 2
                discord b dev-42: main
                discord b dev-42-421: main
                discord b dev-42-42: coder by 2
                terminal local secret: vault by 3
                terminal local default: main
                telegram work_bot secret: work by 0
            "#]],
        );
    }

    #[test]
    fn a_binding_is_shadowed_by_an_earlier_one_that_fits_wherever_it_does() {
        let covers = |wide: &str, narrow: &str| {
            find_shadowing(&table(&format!("{wide} a\n{narrow} b")), 1) == Some(0)
        };
        assert!(covers("s * *", "s a b"));
        assert!(covers("s * a*", "s * ab*"));
        assert!(covers("s * a*c", "s * ab*bc"));
        assert!(covers("s * **", "s * *"));
        assert!(covers("* * *", "* * *"));
        assert!(!covers("s * ab*", "s * a*"));
        assert!(!covers("s x *", "s * *"));
        assert!(!covers("s * a*b", "s * a*"));
        assert!(!covers("s * *", "t * *"));
        assert!(!covers("s * a", "s * *"));
        assert_eq!(find_shadowing(&table(TABLE), 0), None);
        assert_eq!(find_shadowing(&table(TABLE), 9), None);
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = NamePattern::new("*a".repeat(2_000) + "b");
        assert!(!pattern.matches(&"a".repeat(20_000)));
    }
}
