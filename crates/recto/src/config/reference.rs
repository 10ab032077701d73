//! The reference page of the config, made from the table of keys, so that it
//! can't tell of keys that aren't there, nor leave one out.

use std::fmt::Write as _;

use super::keys::{Fallback, KEYS, Key};

const INTRO: &str = "\
# Configuration

Recto reads `config.toml` in its home, which is `~/.recto` unless `RECTO_HOME` or `--home` says \
otherwise. No key needs to be set but a model's `provider` and, unless it is scripted, its `model`, \
and the `command` or `url` of an MCP server; without a file, all defaults hold.

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
    let title = if table.is_empty() { "Top level".to_owned() } else { format!("`[{table}]`") };
    let _ = write!(page, "\n## {title}\n\n{}", about(table));
    let _ = write!(page, "```toml\n{}```\n", example(table));
}

fn push_key(page: &mut String, key: &Key) {
    let _ = write!(page, "\n### `{}`\n\n{}\n\n- type: {}\n", key.path, key.doc, key.kind);
    let _ = writeln!(page, "- default: {}", default(key));
    if let Some(variable) = key.variable() {
        let _ = writeln!(page, "- variable: `{variable}`");
    }
    let spellings: Vec<String> =
        key.spellings().iter().map(|spelling| format!("`{spelling}`")).collect();
    if !spellings.is_empty() {
        let _ = writeln!(page, "- also written: {}", spellings.join(", "));
    }
}

fn default(key: &Key) -> String {
    match key.fallback {
        Fallback::Value("") => "empty".to_owned(),
        Fallback::Value(text) => format!("`{text}`"),
        Fallback::Prose(text) => text.to_owned(),
        Fallback::Required => "none; it must be set".to_owned(),
    }
}

/// What a table needs to have said about it before its keys.
fn about(table: &str) -> &'static str {
    match table {
        "agents.<name>" => {
            "The first agent of the file is used. Without any there is one, named `main`.\n\n"
        }
        "models.<name>" => {
            "One table for each model; the name is yours to choose. Without any, Recto looks for a \
             model by itself: Ollama where `OLLAMA_HOST` says it is, or on its usual port, then the \
             embedded models that were pulled. `recto doctor` shows what it finds.\n\n"
        }
        "search" => {
            "Which of the items with `include = \"agent\"` come with a message. Candidates are ranked \
             in four groups, each by itself; what is set for a group wins over what is set here, \
             which wins over the preset.\n\n"
        }
        "search.<group>" => {
            "The same for one group: `documents` (rules and references together), `skills`, `tools` \
             or `memories`.\n\n"
        }
        "mcp.<name>" => {
            "One table for each MCP server; the name is yours to choose, of at most 32 letters, \
             digits, `_` and `-`. A server is a program, which Recto starts when its tools are \
             first needed, or an address. People see its tools as `server.tool`, and set them by \
             that name: `[items.tool.\"files.read_file\"]`. What a server runs as has all the rights \
             that you have: the guards around the programs of skills don't hold for it.\n\n"
        }
        "mcp.<name>.env" => {
            "Variables for the program of a server. Values are shown nowhere. What is secret is \
             named in `pass_env` instead and stands in Recto's own environment.\n\n"
        }
        "items.<kind>.<name>" => {
            "Settings of single items, which win over those in the item's own file. The kind is \
             `rule`, `reference`, `skill` or `tool`, in singular or plural. A skill's own tool goes \
             by both names, `[items.tool.\"clock.utc_time\"]`, and so does one of an MCP server. \
             `recto rules set`, and the same for the other kinds, writes these tables.\n\n"
        }
        _ => "",
    }
}

/// Models that need no server: beside their keys, others can't stand.
const WITHOUT_SERVER: &str = "
[models.small]
provider = \"embedded\"
model = \"smollm2\"

[models.demo]
provider = \"scripted\"
script = \"answers.jsonl\"
";

/// The keys that can't stand beside the others of their table, or are for
/// another kind of items; each with the table that shows it.
const APART: &[(&str, &[&str])] = &[
    ("[items.skill.weather]", &["permission", "network", "read", "write", "env"]),
    ("[mcp.docs]", &["url", "api_key_env"]),
];

/// All keys of a table, as one may write them.
fn example(table: &str) -> String {
    let (header, apart) = match table {
        "" => (String::new(), None),
        "agents.<name>" => ("[agents.main]\n".to_owned(), None),
        "models.<name>" => ("[models.qwen3]\n".to_owned(), None),
        "items.<kind>.<name>" => ("[items.rule.style]\n".to_owned(), APART.first()),
        "mcp.<name>" => ("[mcp.files]\n".to_owned(), APART.get(1)),
        "mcp.<name>.env" => ("[mcp.files.env]\n".to_owned(), None),
        "search.<group>" => ("[search.documents]\n".to_owned(), None),
        table => (format!("[{table}]\n"), None),
    };
    let keys = || KEYS.iter().filter(|key| key.table() == table);
    let is_apart = |key: &Key| apart.is_some_and(|(_, names)| names.contains(&key.name()));
    let script = "models.<name>.script";
    let together = keys().filter(|key| !is_apart(key) && key.path != script);
    let text = together.fold(header, push_line);
    match (apart, table) {
        (Some((other, _)), _) => {
            keys().filter(|key| is_apart(key)).fold(format!("{text}\n{other}\n"), push_line)
        }
        (None, "models.<name>") => text + WITHOUT_SERVER,
        (None, _) => text,
    }
}

fn push_line(mut text: String, key: &Key) -> String {
    let _ = writeln!(text, "{} = {}", key.name_for("LANG"), key.example);
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Sources, load_text, raw};
    use super::*;

    /// The texts of all TOML blocks on the page.
    fn examples(page: &str) -> Vec<&str> {
        let blocks = page.split("```toml\n").skip(1);
        blocks.map(|block| block.split("```").next().unwrap()).collect()
    }

    #[test]
    fn every_example_on_the_page_is_accepted() {
        let page = markdown();
        let examples = examples(&page);
        assert_eq!(examples.len(), 16);
        for example in &examples {
            let raw = raw::read("config.toml", example);
            assert_eq!(raw.problems, [], "{example}");
        }
        let mut sources = Sources::new("/home/me/.recto");
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
        let end = page[start..].find("\n### `skills.allow_scripts`").unwrap();
        expect_test::expect![[r#"
            ### `skills.render`

            How skills are shown: with their bodies, as a list with a tool that reads one, or as a list alone.

            - type: one of `full`, `read_on_demand`, `description`
            - default: as `context.preset` has it: `full`, for `layered` `description`
            - variable: `RECTO_SKILLS_RENDER`
            - also written: `contextMode`
        "#]].assert_eq(&page[start..start + end]);
    }
}
