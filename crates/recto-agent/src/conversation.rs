//! What a conversation's memories are filed under: one name for each place, and
//! never one for two. Pure.
//!
//! The form is `{surface}@{account}-{name}`, with `@{user}` behind the account
//! where each user has a session of their own. A surface with a single account,
//! such as the terminal, calls it [`SOLE_ACCOUNT`], and there the form is plain:
//! `{surface}-{name}`. So it is the account's name alone that decides which form
//! holds, whatever other accounts there are or come to be.
//!
//! Every part but the last has its `@`, `-` and `%` escaped. Hence the first of `@`
//! and `-` says which form it is, the first `-` ends what is escaped, and the rest
//! is the conversation's own name, byte for byte.

/// The account of a surface that has only one.
pub const SOLE_ACCOUNT: &str = "local";

/// The name that the memories of a conversation are filed under.
pub(crate) fn conversation_scope(
    surface: &str,
    account: &str,
    user: Option<&str>,
    name: &str,
) -> String {
    let surface = escape(surface);
    match user {
        None if account == SOLE_ACCOUNT => format!("{surface}-{name}"),
        None => format!("{surface}@{}-{name}", escape(account)),
        Some(user) => format!("{surface}@{}@{}-{name}", escape(account), escape(user)),
    }
}

/// The name of the conversation that a scope is of: the first `-` ends its place, which has none.
pub fn name_in_scope(scope: &str) -> &str {
    scope.split_once('-').map_or(scope, |(_, name)| name)
}

/// Whether a scope is of a conversation in which each user has a session of their own.
pub(crate) fn is_of_user(scope: &str) -> bool {
    scope.split_once('-').is_some_and(|(place, _)| place.matches('@').count() == 2)
}

fn escape(part: &str) -> String {
    part.replace('%', "%25").replace('@', "%40").replace('-', "%2D")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_place_reads_like_this() {
        let places = [
            (("terminal", "local", None, "default"), "terminal-default"),
            (("terminal", "local", None, "my-notes@home"), "terminal-my-notes@home"),
            (("telegram", "recto_bot", None, "-4711"), "telegram@recto_bot--4711"),
            (("telegram", "recto_bot", Some("42"), "4711"), "telegram@recto_bot@42-4711"),
            (("discord", "local", Some("42"), "1"), "discord@local@42-1"),
            (("a-b", "c@d%", None, "e"), "a%2Db@c%40d%25-e"),
        ];
        for ((surface, account, user, name), scope) in places {
            assert_eq!(conversation_scope(surface, account, user, name), scope);
            assert_eq!((name_in_scope(scope), is_of_user(scope)), (name, user.is_some()));
        }
    }

    /// Promise: `conversations-stay-apart`
    #[test]
    fn no_two_places_have_one_name() {
        let parts = ["", "local", "a", "-", "@", "a-", "-a", "a@", "@a", "%2D", "%40", "local-a"];
        let mut seen = HashMap::new();
        for surface in parts {
            for account in parts {
                for user in parts.map(Some).into_iter().chain([None]) {
                    for name in parts {
                        let place = (surface, account, user, name);
                        let scope = conversation_scope(surface, account, user, name);
                        assert_eq!(seen.insert(scope, place), None, "{place:?}");
                    }
                }
            }
        }
    }
}
