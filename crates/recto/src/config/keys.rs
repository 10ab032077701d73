//! What a key of the config is: which values it takes, what holds without it, how
//! it is spelled, and which keys and tables stand in which table.
//!
//! The keys themselves are declared in [`settings`](super::settings).

use std::fmt;

use super::choices::{ItemGroup, ItemKind, NamedChoice, item_kind};
pub use super::settings::KEYS;

/// A key that the config accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfigKey {
    /// The dotted path. `<name>` stands for any name, `<kind>` for a kind of
    /// items, `<group>` for kinds that are searched together, `<number>` for the
    /// place in a list of tables, and `<variable>` or `<channel>`, at the end, for a key
    /// whose name is a person's own.
    pub path: &'static str,
    /// Which values it takes.
    pub kind: KeyKind,
    /// What holds when it is not set.
    pub fallback: KeyFallback,
    /// Another spelling of the last part, beside the camelCase one that every
    /// key has.
    pub alias: Option<&'static str>,
    /// A value in TOML, other than the default.
    pub example: &'static str,
    /// What it does, as a sentence.
    pub doc: &'static str,
}

/// What values a key takes. `Display` says it in words: `must be …`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "`min` and `max` say it")]
pub enum KeyKind {
    /// Any text that is not blank.
    Text,
    /// A program: a name, or a path.
    Program,
    /// A path; `~` is the person's home, relative ones start at Recto's home.
    Path,
    /// The address of a server, below which there are others.
    Address,
    /// An address that is used as it is, up to its last slash.
    Endpoint,
    /// The address of a database on a server.
    Database,
    /// The name of an environment variable.
    Variable,
    /// A list of names of environment variables.
    Variables,
    /// `true` or `false`, without quotes.
    Bool,
    /// A whole number within bounds, both included.
    Integer { min: u32, max: u32 },
    /// A number within bounds, both included.
    Float { min: f64, max: f64 },
    /// One of these words, in either spelling.
    Choice(&'static [&'static str]),
    /// A list of strings; one may be empty.
    TextList,
    /// A list of paths, each as [`KeyKind::Path`].
    PathList,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyKind::Text | KeyKind::Program => f.write_str("a string"),
            KeyKind::Path => f.write_str("a path"),
            KeyKind::Address | KeyKind::Endpoint => {
                f.write_str("an address that starts with `http://` or `https://`")
            }
            KeyKind::Database => {
                f.write_str("an address of the form `postgres://USER@HOST:PORT/DATABASE`")
            }
            KeyKind::Variable => f.write_str("the name of an environment variable"),
            KeyKind::Variables => f.write_str("a list of names of environment variables"),
            KeyKind::Bool => f.write_str("`true` or `false`"),
            KeyKind::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            KeyKind::Float { min, max } => write!(f, "a number from {min} to {max}"),
            KeyKind::Choice(names) => {
                write!(f, "one of {}", super::problem::listed(names.iter().copied()))
            }
            KeyKind::TextList => f.write_str("a list of strings"),
            KeyKind::PathList => f.write_str("a list of paths"),
        }
    }
}

/// What holds when a key is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFallback {
    /// This value, written as in a variable.
    Value(&'static str),
    /// Nothing here; others decide, and this says how.
    Prose(&'static str),
    /// Nothing can be used: the key must be set, and this says so.
    Required(&'static str),
}

impl ConfigKey {
    pub(super) const fn new(path: &'static str, kind: KeyKind) -> Self {
        let fallback = KeyFallback::Prose("");
        ConfigKey { path, kind, fallback, alias: None, example: "", doc: "" }
    }

    /// The table that the key stands in; empty for the top level.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// The last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The name of the key that a person calls `name`: its own, or that very
    /// name where people choose it.
    pub(super) fn name_for<'a>(&self, name: &'a str) -> &'a str {
        if self.is_free() { name } else { self.name() }
    }

    /// A name that the key can have in a config: its own, or one that a person may choose.
    pub(super) fn example_name(&self) -> &'static str {
        match self.name() {
            "<channel>" => "1234567890",
            _ => self.name_for("LANG"),
        }
    }

    /// Whether people choose the key's name.
    fn is_free(&self) -> bool {
        self.name().starts_with('<')
    }

    /// Every spelling but the name itself.
    pub fn spellings(&self) -> Vec<String> {
        let camel = camel_case(self.name());
        let camel = (camel != self.name()).then_some(camel);
        self.alias.map(str::to_owned).into_iter().chain(camel).collect()
    }

    /// The path of the key in the tables of a single agent, if it can stand there.
    pub fn agent_path(&self) -> Option<String> {
        let first = self.path.split('.').next().filter(|_| self.path.contains('.'));
        let is_agents = first.is_some_and(|table| AGENT_TABLES.contains(&table));
        is_agents.then(|| format!("{AGENT}.{}", self.path))
    }

    /// The environment variable that sets the key. Keys of named tables have
    /// none: a name in a variable could not be told from the key.
    pub fn variable(&self) -> Option<String> {
        let has_names = self.path.contains('<');
        (!has_names).then(|| format!("RECTO_{}", self.path.replace('.', "_").to_uppercase()))
    }

    fn accepts(&self, name: &str) -> bool {
        let is_spelling = || self.spellings().iter().any(|spelling| spelling == name);
        self.is_free() || self.name() == name || is_spelling()
    }

    // The methods below build the table; each sets one field.

    pub(super) const fn kind(self, kind: KeyKind) -> Self {
        ConfigKey { kind, ..self }
    }

    pub(super) const fn range(self, min: u32, max: u32) -> Self {
        self.kind(KeyKind::Integer { min, max })
    }

    pub(super) const fn default(self, text: &'static str) -> Self {
        ConfigKey { fallback: KeyFallback::Value(text), ..self }
    }

    pub(super) const fn prose(self, text: &'static str) -> Self {
        ConfigKey { fallback: KeyFallback::Prose(text), ..self }
    }

    pub(super) const fn required(self, text: &'static str) -> Self {
        ConfigKey { fallback: KeyFallback::Required(text), ..self }
    }

    pub(super) const fn alias(self, alias: &'static str) -> Self {
        ConfigKey { alias: Some(alias), ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        ConfigKey { example, ..self }
    }

    /// Takes the text of a doc comment, which begins with a space.
    pub(super) const fn doc(self, doc: &'static str) -> Self {
        ConfigKey { doc: doc.trim_ascii_start(), ..self }
    }
}

/// The table of an agent.
pub(super) const AGENT: &str = "agents.<name>";

/// The tables of the top level that an agent can have for itself, with all that
/// stands in them. What is left out is one for all agents: where things are kept
/// (`store`, `sessions`), and what there is on this machine (`models`, `mcp`).
pub(super) const AGENT_TABLES: &[&str] =
    &["context", "history", "memory", "delegate", "skills", "tools", "search", "items"];

/// The key of exactly this path.
pub fn find_key(path: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.path == path)
}

/// The camelCase spelling of a `snake_case` name.
pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// What a name means in a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TableChild {
    Key(&'static ConfigKey),
    Table {
        /// Its path as in [`KEYS`].
        path: String,
        /// The name itself, brought to the form that we use.
        name: String,
    },
}

/// What `name` means in the table of that path (as in [`KEYS`], or of an agent).
pub(super) fn child(table: &str, name: &str) -> Option<TableChild> {
    own_child(table, name).or_else(|| match table_for_all(table)? {
        "" if !AGENT_TABLES.contains(&name) => None,
        for_all => Some(match child(for_all, name)? {
            TableChild::Table { path, name } => {
                TableChild::Table { path: format!("{AGENT}.{path}"), name }
            }
            key => key,
        }),
    })
}

/// The table for all agents whose keys an agent's own table has: `search` for
/// `agents.<name>.search`.
fn table_for_all(table: &str) -> Option<&str> {
    match table.strip_prefix(AGENT)? {
        "" => Some(""),
        below => below.strip_prefix('.'),
    }
}

/// Whether a table is a list of tables: `[[table]]`.
pub(super) fn is_list(table: &str) -> bool {
    let starts = |key: &ConfigKey| matches!(part_below(table, key), Some(("<number>", _)));
    KEYS.iter().any(starts)
}

/// The table that `name` means where a person may choose names of tables beside keys: one may
/// choose the name of a key.
pub(super) fn named_table(table: &str, name: &str) -> Option<TableChild> {
    let for_all = table_for_all(table).unwrap_or(table);
    let is_named =
        |key: &ConfigKey| matches!(part_below(for_all, key), Some(("<name>", PathPart::Table)));
    let path = format!("{table}.<name>");
    KEYS.iter().any(is_named).then(|| TableChild::Table { path, name: name.to_owned() })
}

fn own_child(table: &str, name: &str) -> Option<TableChild> {
    KEYS.iter().find_map(|key| match part_below(table, key)? {
        (_, PathPart::Last) => key.accepts(name).then_some(TableChild::Key(key)),
        (part, PathPart::Table) => {
            let name = canonical_table(part, name)?;
            let path = if table.is_empty() { part.to_owned() } else { format!("{table}.{part}") };
            Some(TableChild::Table { path, name })
        }
    })
}

/// The names that a table knows, each with every spelling of it, in order.
pub(super) fn children(table: &str) -> Vec<(&'static str, Vec<String>)> {
    let mut children: Vec<(&'static str, Vec<String>)> = Vec::new();
    for key in KEYS {
        let (names, spellings) = match part_below(table, key) {
            Some((name, PathPart::Last)) => (vec![name], key.spellings()),
            Some(("<kind>", _)) => (ItemKind::NAMES.to_vec(), Vec::new()),
            Some(("<group>", _)) => (ItemGroup::NAMES.to_vec(), Vec::new()),
            Some((table, _)) => (vec![table], Vec::new()),
            None => continue,
        };
        for name in names {
            if children.iter().all(|(known, _)| *known != name) {
                children.push((name, spellings.clone()));
            }
        }
    }
    children.extend(match table_for_all(table) {
        None => Vec::new(),
        Some("") => AGENT_TABLES.iter().map(|table| (*table, Vec::new())).collect(),
        Some(for_all) => self::children(for_all),
    });
    children
}

#[derive(Clone, Copy)]
enum PathPart {
    Table,
    Last,
}

/// The part of the key's path that comes directly below `table`, if the key
/// stands there at all.
fn part_below(table: &str, key: &ConfigKey) -> Option<(&'static str, PathPart)> {
    let rest = match table {
        "" => key.path,
        table => key.path.strip_prefix(table)?.strip_prefix('.')?,
    };
    Some(match rest.split_once('.') {
        Some((part, _)) => (part, PathPart::Table),
        None => (rest, PathPart::Last),
    })
}

/// The name of a table as we use it, or `None` if `part` does not allow it.
fn canonical_table(part: &str, name: &str) -> Option<String> {
    match part {
        "<name>" => Some(name.to_owned()),
        "<kind>" => item_kind(name).map(|kind| kind.name().to_owned()),
        "<group>" => ItemGroup::from_name(name).map(|group| group.name().to_owned()),
        // Its tables have no names; whoever reads the list counts them.
        "<number>" => None,
        part => (part == name).then(|| part.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::value;
    use super::*;

    #[test]
    fn every_key_is_described() {
        for key in KEYS {
            assert!(key.doc.ends_with('.'), "{}", key.path);
            assert!(!key.example.is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn every_default_fits_its_kind() {
        for key in KEYS {
            if let KeyFallback::Value(text) = key.fallback {
                assert!(value::from_text(key.kind, text).is_ok(), "{}", key.path);
            }
        }
    }

    #[test]
    fn no_two_keys_share_a_spelling_or_a_variable() {
        let mut seen = BTreeSet::from(["RECTO_HOME".to_owned()]);
        for key in KEYS {
            let mut spellings = key.spellings();
            spellings.push(key.name().to_owned());
            for spelling in spellings {
                assert!(seen.insert(format!("{}.{spelling}", key.table())), "{}", key.path);
            }
            if let Some(variable) = key.variable() {
                assert!(seen.insert(variable), "{}", key.path);
            }
        }
    }

    #[test]
    fn variables_are_the_path_in_upper_case() {
        let variable = |path| find_key(path).unwrap().variable();
        assert_eq!(variable("context.preset").as_deref(), Some("RECTO_CONTEXT_PRESET"));
        assert_eq!(variable("model").as_deref(), Some("RECTO_MODEL"));
        assert_eq!(variable("models.<name>.window"), None);
    }

    #[test]
    fn names_are_found_in_their_table_only() {
        let found = |table, name| match child(table, name) {
            Some(TableChild::Key(key)) => key.path.to_owned(),
            Some(TableChild::Table { path, name }) => format!("{path} {name}"),
            None => "nothing".to_owned(),
        };
        assert_eq!(found("", "model"), "model");
        assert_eq!(found("", "models"), "models models");
        assert_eq!(found("models", "qwen3"), "models.<name> qwen3");
        assert_eq!(found("models.<name>", "topP"), "models.<name>.top_p");
        assert_eq!(found("items", "rules"), "items.<kind> rule");
        assert_eq!(found("items", "memories"), "nothing");
        assert_eq!(found("search", "topN"), "search.top_n");
        assert_eq!(found("search", "memories"), "search.<group> memories");
        assert_eq!(found("search", "rules"), "nothing");
        assert_eq!(found("search.<group>", "floor"), "search.<group>.floor");
        assert_eq!(found("skills", "contextMode"), "skills.render");
        assert_eq!(found("context", "max_messages"), "nothing");
        assert_eq!(found("context.preset", "x"), "nothing");
        assert_eq!(found("bindings", "1"), "nothing");
        assert_eq!(found("bindings.<number>", "agent"), "bindings.<number>.agent");
        assert_eq!(found("mcp.<name>", "env"), "mcp.<name>.env env");
        assert_eq!(found("mcp.<name>.env", "ANY"), "mcp.<name>.env.<variable>");
        assert_eq!(found("agents.<name>", "model"), "agents.<name>.model");
        assert_eq!(found("agents.<name>", "search"), "agents.<name>.search search");
        assert_eq!(found("agents.<name>", "reload"), "nothing");
        assert_eq!(found("agents.<name>", "models"), "nothing");
        assert_eq!(found("agents.<name>.search", "topN"), "search.top_n");
        let items = "agents.<name>.items";
        assert_eq!(found(items, "rules"), format!("{items}.<kind> rule"));
        assert_eq!(found(&format!("{items}.<kind>"), "x"), format!("{items}.<kind>.<name> x"));
    }

    #[test]
    fn what_an_agent_can_have_for_itself() {
        let path = |path| find_key(path).unwrap().agent_path();
        assert_eq!(path("search.top_n").as_deref(), Some("agents.<name>.search.top_n"));
        assert_eq!(
            path("search.<group>.floor").as_deref(),
            Some("agents.<name>.search.<group>.floor")
        );
        for for_all in
            ["model", "reload", "store.path", "agents.<name>.workspace", "mcp.<name>.url"]
        {
            assert_eq!(path(for_all), None);
        }
        for table in AGENT_TABLES {
            assert!(KEYS.iter().any(|key| key.path.starts_with(&format!("{table}."))), "{table}");
        }
    }
}
