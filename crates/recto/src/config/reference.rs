//! The reference page of the config, made from the table of keys, so that it
//! can't tell of keys that aren't there, nor leave one out.

use std::fmt::Write as _;

use super::keys::{AGENT, AGENT_TABLES, ConfigKey, KEYS, KeyFallback};
use super::settings::ABOUT_TABLES;

const INTRO: &str = "\
# Configuration

Recto reads `config.toml` in its home, which is `~/.recto` unless `RECTO_HOME` or `--home` says \
otherwise. No key needs to be set but a model's `provider` and, unless it is scripted, its `model`, \
the `command` or `url` of an MCP server, the `workspace` of each agent but the first, and the \
`surface` and `agent` of a binding; without a file, all defaults hold.

What is set in several places counts in this order, the last one winning: the file, environment \
variables, flags of the command line. `recto config show` prints what holds and where it comes \
from.

- **Names.** Every key is accepted in camelCase as well (`maxTokens` for `max_tokens`), and so are \
  the words that a key takes. Unknown keys are errors, not ignored.
- **Paths.** `~` is your home directory. Relative paths start at Recto's home, wherever Recto was \
  started.
- **Variables.** A variable is `RECTO_` and the key's path in upper case, with `_` between the \
  parts. Lists of paths are separated as in `PATH` (`:`, on Windows `;`), other lists by commas. An \
  empty variable counts as not set. Tables with names, such as `[models.<name>]`, have no \
  variables.
- **Secrets.** Keys of servers never stand in the file: `api_key_env` names the variable that \
  holds one.
";

/// The reference page: every key by table, with its type, default, variable and
/// other spellings. The same on every call.
pub fn markdown() -> String {
    let mut page = INTRO.to_owned();
    let mut table = None;
    for key in KEYS {
        if table != Some(key.table()) {
            table = Some(key.table());
            push_section(&mut page, key.table());
        }
        push_key(&mut page, key);
    }
    page
}

/// Writing to a string can't fail, so the results are not looked at.
fn push_section(page: &mut String, table: &str) {
    let title = match (table, list_name(table)) {
        ("", _) => "Top level".to_owned(),
        (_, Some(list)) => format!("`[[{list}]]`"),
        (table, None) => format!("`[{table}]`"),
    };
    let _ = write!(page, "\n## {title}\n\n{}", about(table));
    if table == AGENT {
        let tables: Vec<String> =
            AGENT_TABLES.iter().map(|table| format!("`[{AGENT}.{table}]`")).collect();
        let _ = write!(
            page,
            "An agent can have these tables, with what stands in them: {}.\n\n",
            tables.join(", ")
        );
    }
    let _ = write!(page, "```toml\n{}```\n", example(table));
}

fn push_key(page: &mut String, key: &ConfigKey) {
    let _ = write!(page, "\n### `{}`\n\n{}\n\n- type: {}\n", key.path, key.doc, key.kind);
    let _ = writeln!(page, "- default: {}", default(key));
    if let Some(variable) = key.variable() {
        let _ = writeln!(page, "- variable: `{variable}`");
    }
    if let Some(path) = key.agent_path() {
        let _ = writeln!(page, "- for one agent: `{path}`");
    }
    let spellings: Vec<String> =
        key.spellings().iter().map(|spelling| format!("`{spelling}`")).collect();
    if !spellings.is_empty() {
        let _ = writeln!(page, "- also written: {}", spellings.join(", "));
    }
}

fn default(key: &ConfigKey) -> String {
    match key.fallback {
        KeyFallback::Value("") => "empty".to_owned(),
        KeyFallback::Value(text) => format!("`{text}`"),
        KeyFallback::Prose(text) | KeyFallback::Required(text) => text.to_owned(),
    }
}

/// The name of a list of tables that this is one of, if it is.
fn list_name(table: &str) -> Option<&str> {
    table.strip_suffix(".<number>")
}

/// What a table needs to have said about it before its keys.
fn about(table: &str) -> String {
    let is_meant = |(prefix, _): &&(&str, &str)| prefix.trim_end_matches('.') == table;
    match ABOUT_TABLES.iter().find(is_meant) {
        Some((_, text)) if !text.is_empty() => format!("{}\n\n", text.trim_start()),
        _ => String::new(),
    }
}

/// The keys that can't stand beside the others of their table, or are for
/// another kind of items: the table, the lines above them, and their names.
const APART: &[(&str, &str, &[&str])] = &[
    (
        "agents.<name>",
        "[agents.work]\nworkspace = \"~/agents/work\"\nsearch.preset = \"conservative\"\n\
         skills.disabled = [\"weather\"]\n\n[agents.work.items.rule.style]\ninclude = \"always\"",
        &[],
    ),
    (
        "models.<name>",
        "[models.small]\nprovider = \"embedded\"\nmodel = \"smollm2\"\n\n\
         [models.demo]\nprovider = \"scripted\"",
        &["script"],
    ),
    (
        "items.<kind>.<name>",
        "[items.skill.weather]",
        &["permission", "network", "read", "write", "env"],
    ),
    ("mcp.<name>", "[mcp.docs]", &["url", "api_key_env"]),
];

/// All keys of a table, as one may write them.
fn example(table: &str) -> String {
    let header = match table {
        "" => String::new(),
        "bindings.<number>" => "[[bindings]]\n".to_owned(),
        "items.<kind>" => "[items.skill]\n".to_owned(),
        "items.<kind>.<name>" => "[items.rule.style]\n".to_owned(),
        "search.<group>" => "[search.documents]\n".to_owned(),
        table => format!("[{}]\n", table.replace("<name>", example_name(table))),
    };
    let apart = APART.iter().find(|(of, ..)| *of == table);
    let is_apart = |key: &ConfigKey| apart.is_some_and(|(.., names)| names.contains(&key.name()));
    let keys = KEYS.iter().filter(|key| key.table() == table);
    let (others, together): (Vec<_>, Vec<_>) = keys.partition(|key| is_apart(key));
    let text = together.into_iter().fold(header, push_line);
    match apart {
        Some((_, above, _)) => others.into_iter().fold(format!("{text}\n{above}\n"), push_line),
        None => text,
    }
}

/// A name that a person may choose in a table.
fn example_name(table: &str) -> &'static str {
    match table.split('.').next() {
        Some("agents") => "main",
        Some("models") => "qwen3",
        _ => "files",
    }
}

fn push_line(mut text: String, key: &ConfigKey) -> String {
    let _ = writeln!(text, "{} = {}", key.example_name(), key.example);
    text
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigSources, load_text, raw};
    use super::*;

    /// The texts of all TOML blocks on the page.
    fn examples(page: &str) -> Vec<&str> {
        let blocks = page.split("```toml\n").skip(1);
        blocks.map(|block| block.split("```").next().unwrap()).collect()
    }

    /// Promise: `examples-run`
    #[test]
    fn every_example_on_the_page_is_accepted() {
        let page = markdown();
        let examples = examples(&page);
        assert_eq!(examples.len(), 25);
        for example in &examples {
            let raw = raw::read("config.toml", example);
            assert_eq!(raw.problems, [], "{example}");
        }
        let mut sources = ConfigSources::new("/home/me/.recto");
        sources.user_home = Some("/home/me".into());
        let loaded = load_text(&examples.concat(), &sources).unwrap();
        assert_eq!(loaded.warnings, []);
    }

    #[test]
    fn every_key_is_on_the_page_once() {
        let page = markdown();
        for key in KEYS {
            assert_eq!(page.matches(&format!("\n### `{}`\n", key.path)).count(), 1);
        }
        assert_eq!(page, markdown());
    }

    #[test]
    fn a_key_reads_like_this() {
        let page = markdown();
        let start = page.find("### `skills.render`").unwrap();
        let end = page[start..].find("\n### `skills.always_tokens`").unwrap();
        expect_test::expect![[r#"
            ### `skills.render`

            How skills are shown: with their bodies, as a list with a tool that reads one, or as a list alone.

            - type: one of `full`, `read_on_demand`, `description`
            - default: as `context.preset` has it: `full`, for `layered` `description`
            - variable: `RECTO_SKILLS_RENDER`
            - for one agent: `agents.<name>.skills.render`
            - also written: `contextMode`
        "#]].assert_eq(&page[start..start + end]);
    }
}
