//! Sub-agents: specialists that the agent can give a task to. Each is a folder in `agents/` of
//! the workspace with an `agent.toml` and up to four texts that say who it is.
//!
//! A folder that holds nothing but a `memory.md` is none: agents keep what they remember there.

use std::path::Path;
use std::sync::Arc;

use recto_context::{WorkspaceFile, nearest_name, one_line};
use toml::{Table, Value};

use crate::fields::FileReport;
use crate::problem::WorkspaceProblem;

/// The longest id of a sub-agent: it is the name of a file, and of what it remembers.
const LONGEST_ID: usize = 32;

/// The keys that an `agent.toml` can have.
const KEYS: [&str; 5] = ["name", "description", "model", "enabled", "tools"];

/// A specialist that the agent can give a task to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    /// What it is called by: the name of its folder.
    pub id: Arc<str>,
    /// The folder with its files.
    pub folder: Arc<Path>,
    /// What its `agent.toml` says.
    pub config: SubAgentConfig,
    /// soul.md: personality and name.
    pub soul: Option<WorkspaceFile>,
    /// mood.md: the tone of its answers.
    pub mood: Option<WorkspaceFile>,
    /// memory.md: what it remembers.
    pub memory: Option<WorkspaceFile>,
    /// skill.md: what it can do.
    pub skill: Option<WorkspaceFile>,
    /// What keeps it from being given a task, if something does.
    pub fault: Option<String>,
}

/// What an `agent.toml` says. Everything in it can be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentConfig {
    /// The name that people read.
    pub name: Option<String>,
    /// When to give it a task, as the model reads it.
    pub description: Option<String>,
    /// The model entry that answers for it; without one, that of whoever gives the task.
    pub model: Option<String>,
    /// Whether it can be given tasks.
    pub enabled: bool,
    /// The tools that it may call, by their names. Without any it has none.
    pub tools: Vec<String>,
}

impl Default for SubAgentConfig {
    fn default() -> Self {
        let (name, description, model) = (None, None, None);
        SubAgentConfig { name, description, model, enabled: true, tools: Vec::new() }
    }
}

impl SubAgent {
    /// One of which nothing is known yet but its folder.
    pub(crate) fn new(folder: &Path) -> Self {
        let id = folder.file_name().unwrap_or_default().to_string_lossy();
        SubAgent {
            fault: find_id_fault(&id),
            id: id.as_ref().into(),
            folder: folder.into(),
            config: SubAgentConfig::default(),
            soul: None,
            mood: None,
            memory: None,
            skill: None,
        }
    }

    /// The name that people read.
    pub fn name(&self) -> &str {
        self.config.name.as_deref().unwrap_or(&self.id)
    }

    /// The texts that say who it is, in the order in which a model reads them.
    pub fn texts(&self) -> impl Iterator<Item = &WorkspaceFile> {
        [&self.soul, &self.mood, &self.memory, &self.skill].into_iter().flatten()
    }

    /// Whether a task can be given to it.
    pub fn takes_tasks(&self) -> bool {
        self.fault.is_none() && self.config.enabled
    }

    /// Finds out whether it can be used once all its files were read.
    pub(crate) fn check(&mut self) -> Option<WorkspaceProblem> {
        if self.fault.is_none() && self.texts().next().is_none() {
            self.fault = Some("has no text in soul.md, mood.md, memory.md or skill.md".to_owned());
        }
        let fault = self.fault.clone()?;
        Some(WorkspaceProblem::error(&self.folder, format!("no tasks for this sub-agent: {fault}")))
    }
}

fn find_id_fault(id: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_good = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(is_plain);
    (!is_good).then(|| {
        format!("its folder's name has to be at most {LONGEST_ID} letters, digits, `_` and `-`")
    })
}

/// Reads an `agent.toml`; `None` where a sub-agent must not go by it.
pub(crate) fn read_config(content: &str, report: &mut FileReport<'_>) -> Option<SubAgentConfig> {
    let table: Table = match content.parse() {
        Ok(table) => table,
        Err(error) => {
            let error: toml::de::Error = error;
            let line = error.span().map(|span| line_of(content, span.start));
            report.refuse(line, one_line(error.message()));
            return None;
        }
    };
    let before = report.problems.len();
    let config = ConfigReader { report, table: &table }.read();
    (report.problems.len() == before).then_some(config)
}

/// Reads the keys of an `agent.toml`, and notes all that is wrong with them.
struct ConfigReader<'a, 'b> {
    report: &'a mut FileReport<'b>,
    table: &'a Table,
}

impl ConfigReader<'_, '_> {
    fn read(mut self) -> SubAgentConfig {
        for key in self.table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let hint = match nearest_name(key, KEYS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", KEYS.join(", ")),
            };
            self.refuse(format!("unknown key `{key}`"), hint);
        }
        SubAgentConfig {
            name: self.text("name"),
            description: self.text("description"),
            model: self.text("model"),
            enabled: self.enabled(),
            tools: self.tools(),
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.table.get(key)? {
            Value::String(text) if !text.trim().is_empty() => Some(one_line(text)),
            Value::String(_) => None,
            other => {
                let what = format!("`{key}` is {}", other.type_str());
                self.refuse(what, format!("write it as text: {key} = \"…\""));
                None
            }
        }
    }

    fn enabled(&mut self) -> bool {
        match self.table.get("enabled") {
            None => true,
            Some(Value::Boolean(enabled)) => *enabled,
            Some(other) => {
                let what = format!("`enabled` is {}", other.type_str());
                self.refuse(what, "write true or false");
                false
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let named = match self.table.get("tools") {
            None => return Vec::new(),
            Some(Value::Array(named)) => named,
            Some(other) => {
                let what = format!("`tools` is {}", other.type_str());
                self.refuse(what, "write a list: tools = [\"read_file\"]");
                return Vec::new();
            }
        };
        let mut tools = Vec::new();
        for tool in named {
            match tool.as_str().map(str::trim) {
                Some(name) if name.contains('*') => {
                    let what = format!("`tools` has the pattern `{name}`");
                    self.refuse(what, "name each tool that it may call");
                }
                Some(name) if !name.is_empty() => tools.push(name.to_owned()),
                _ => self.refuse("`tools` has an entry that is no name", "name each as text"),
            }
        }
        tools
    }

    fn refuse(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        let problem = WorkspaceProblem::error(self.report.path(), what).hint(hint);
        self.report.add(problem);
    }
}

fn line_of(content: &str, at: usize) -> usize {
    content.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(content: &str, expected: &Expect) {
        let path: Arc<Path> = Path::new("agents/a/agent.toml").into();
        let mut report = FileReport::new(&path);
        let config = read_config(content, &mut report);
        let mut out = match config {
            Some(config) => format!("{config:?}\n"),
            None => "refused\n".to_owned(),
        };
        for problem in &report.problems {
            out.push_str(&format!("{problem}\n"));
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn all_that_an_agent_toml_can_say() {
        check(
            "name = 'Ada'\ndescription = 'Counts\n'\n",
            &expect![[r#"
                refused
                agents/a/agent.toml:3: key with no value, expected `=`
            "#]],
        );
        check(
            "name = 'Ada'\nmodel = 'small'\nenabled = false\ntools = ['read_file', 'notes.find']",
            &expect![[r#"
                SubAgentConfig { name: Some("Ada"), description: None, model: Some("small"), enabled: false, tools: ["read_file", "notes.find"] }
            "#]],
        );
        check(
            "",
            &expect![[r#"
                SubAgentConfig { name: None, description: None, model: None, enabled: true, tools: [] }
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_told_all_at_once() {
        check(
            "modle = 'x'\nenabled = 'yes'\ntools = ['*', 3]\nname = 7",
            &expect![[r#"
                refused
                agents/a/agent.toml: unknown key `modle`; did you mean `model`?
                agents/a/agent.toml: `name` is integer; write it as text: name = "…"
                agents/a/agent.toml: `enabled` is string; write true or false
                agents/a/agent.toml: `tools` has the pattern `*`; name each tool that it may call
                agents/a/agent.toml: `tools` has an entry that is no name; name each as text
            "#]],
        );
    }
}
