//! Makes names: those by which models call a server's tools, and those of a server's files.
//!
//! A name depends on the configured servers and on the tool alone, never on
//! which servers have been heard of so far. So a tool keeps its name when
//! another server joins late, and no call can reach another tool than the model
//! was told of.

use recto_context::ContentHash;

/// The longest name that model servers accept.
const LONGEST: usize = 64;

/// Digits of the hash that tells names apart.
const DIGITS: usize = 8;

/// Names of tools that come with Recto, which no server's tool may take.
const BUILT_IN: [&str; 9] = [
    "read_item",
    "read_skill",
    "remember",
    "recall",
    "forget",
    "delegate",
    "read_file",
    "write_file",
    "list_files",
];

/// The name by which models call a tool: `server_tool` in letters, digits, `_`
/// and `-`. Where that would be too long, another spelling, or what a tool of
/// another of the `servers` could be called, a hash of both names follows.
pub(super) fn model_name<'a>(
    server: &str,
    tool: &str,
    servers: impl IntoIterator<Item = &'a str>,
) -> String {
    let plain = format!("{server}_{tool}");
    let name = safe(&plain);
    // Of two servers `a` and `a_b`, the tools of `a` that begin with `b_` give way.
    let gives_way = |other: &str| other.len() > server.len() && starts_with_server(&name, other);
    let is_free = name == plain
        && name.len() <= LONGEST
        && !BUILT_IN.contains(&&*name)
        && !servers.into_iter().any(gives_way);
    if is_free { name } else { with_hash(&name, server, tool) }
}

/// The name of a server as part of a file's name: recognisable and its own.
pub(super) fn file_stem(server: &str) -> String {
    let name = safe(server);
    if name == server && name.len() <= LONGEST { name } else { with_hash(&name, server, "") }
}

/// The text in letters, digits, `_` and `-`.
fn safe(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(keep).collect()
}

fn starts_with_server(name: &str, server: &str) -> bool {
    name.strip_prefix(&*safe(server)).is_some_and(|rest| rest.starts_with('_'))
}

fn with_hash(name: &str, server: &str, tool: &str) -> String {
    let hash = ContentHash::of_bytes(format!("{server}\0{tool}").as_bytes()).to_string();
    let kept = &name[..name.len().min(LONGEST - DIGITS - 1)];
    format!("{kept}_{}", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn most_names_stay_as_people_expect_them() {
        assert_eq!(model_name("git", "git_status", ["git", "time"]), "git_git_status");
        assert_eq!(model_name("my_files", "read-file", ["my_files"]), "my_files_read-file");
    }

    #[test]
    fn names_are_safe_and_not_too_long() {
        let long = "t".repeat(300);
        for tool in ["a.b", "a b", "ä", "", "x\n", &*long, "a/b"] {
            let name = model_name("s.1", tool, ["s.1"]);
            assert!(name.len() <= LONGEST, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{name}");
        }
    }

    #[test]
    fn tools_that_could_be_mixed_up_are_told_apart() {
        let servers = ["a", "a_b", "a.b", "read", "long"];
        let long = "t".repeat(100);
        let tools = [
            ("a", "b_c".to_owned()),
            ("a_b", "c".to_owned()),
            ("a.b", "c".to_owned()),
            ("a", "x.y".to_owned()),
            ("a", "x_y".to_owned()),
            ("a", "x y".to_owned()),
            ("read", "file".to_owned()),
            ("long", long.clone()),
            ("long", long + "t"),
        ];
        let names: BTreeSet<_> =
            tools.iter().map(|(server, tool)| model_name(server, tool, servers)).collect();
        assert_eq!(names.len(), tools.len(), "{names:?}");
        assert!(!names.contains("read_file"), "{names:?}");
        assert!(names.contains("a_b_c") && names.contains("a_x_y"), "{names:?}");
    }

    #[test]
    fn a_name_does_not_depend_on_the_order_of_servers() {
        let names = |servers: [&str; 2]| {
            [("a", "b_c"), ("a_b", "c")].map(|(server, tool)| model_name(server, tool, servers))
        };
        assert_eq!(names(["a", "a_b"]), names(["a_b", "a"]));
    }

    #[test]
    fn files_of_servers_are_their_own() {
        assert_eq!(file_stem("time"), "time");
        assert!(file_stem("../x").starts_with("___x_"));
        assert_ne!(file_stem("a b"), file_stem("a.b"));
        assert_ne!(file_stem("Ü"), file_stem("Ö"));
    }
}
