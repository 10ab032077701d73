//! The catalog: all that an agent has, as typed values.
//!
//! `recto-workspace` makes it from files; the assembler only reads it. What a
//! skill looks like on the page is rendered when the skill is created, so that
//! a turn shares those texts instead of building them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::item::{
    ContentSource, IncludeMode, ItemId, ItemKind, ItemOrigin, Priority, SessionItem,
};
use crate::memory::Memory;
use crate::remedy::Remedy;
use crate::text::Text;

/// The rules, skills, tools, memories and files that an agent has.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// SOUL, IDENTITY, AGENTS and USER, those that are there.
    pub system: SystemFiles,
    /// The text of TOOLS.md, if there is one.
    pub tools_doc: Option<WorkspaceFile>,
    /// What is remembered and may be seen, the newest first.
    pub memories: Vec<Memory>,
    /// The skills in merged order: by folder as searched, then by name.
    pub skills: Vec<Skill>,
    /// The rules, in order of name.
    pub rules: Vec<CatalogDocument>,
    /// The references, in order of name.
    pub references: Vec<CatalogDocument>,
    /// Built-in tools and those of MCP servers. A skill's tools travel with it.
    pub tools: Vec<ToolSpec>,
    /// Tools that are there and not offered: whoever asks for one is told why.
    pub off_tools: Vec<OffTool>,
    /// Files that could not be used. The turn goes on without them.
    pub notices: Vec<FileNotice>,
    /// Files that those who read along may not see.
    pub withheld: Vec<WorkspaceFile>,
}

/// A tool that is switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffTool {
    /// The identity of the tool.
    pub item: ItemId,
    /// Why it is off.
    pub why: OffReason,
}

/// Why a tool is switched off. Records keep the names of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffReason {
    /// The files of its skill changed since a person looked at them.
    SkillChanged,
    /// Nobody has looked at the files of its skill, which came with a project.
    SkillUntrusted,
    /// The files of its skill can't be read.
    SkillUnreadable,
    /// The store does not say whether its skill is the one that was here before.
    TrustUnreadable,
    /// Its skill declares it in a way in which it can't be run.
    Flawed,
    /// The config says so.
    Disabled,
    /// A person would have to be asked, and none is there.
    NeedsPerson,
}

impl OffReason {
    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            OffReason::SkillChanged => {
                "off: its skill's tools.json or a script changed, and nobody has looked at it since"
            }
            OffReason::SkillUntrusted => "off: nobody has looked at the files of its skill yet",
            OffReason::SkillUnreadable => "off: the files of its skill can't be read",
            OffReason::TrustUnreadable => "off: what is known of its skill can't be read",
            OffReason::Flawed => {
                "off: it can't be run as its skill's tools.json declares it, which a person has to mend"
            }
            OffReason::Disabled => "off: the config says so",
            OffReason::NeedsPerson => "off: a person would have to be asked, and none was there",
        }
    }
}

/// The files of the system layer. Blank files count as missing.
#[derive(Debug, Clone, Default)]
pub struct SystemFiles {
    /// SOUL.md: personality and name.
    pub soul: Option<WorkspaceFile>,
    /// IDENTITY.md: who the agent is, in facts.
    pub identity: Option<WorkspaceFile>,
    /// AGENTS.md: how the agent behaves.
    pub agents: Option<WorkspaceFile>,
    /// The AGENTS.md of the project that the agent works in.
    pub project: Option<WorkspaceFile>,
    /// USER.md: who the agent works for.
    pub user: Option<WorkspaceFile>,
}

/// A text file of the workspace, trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFile {
    /// The content without blanks around it.
    pub text: Text,
    /// Where it was read.
    pub source: ContentSource,
}

/// A rule or a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogDocument {
    /// Its name, unique among its kind.
    pub name: Arc<str>,
    /// What it is about.
    pub description: Option<Text>,
    /// Its place among the others.
    pub priority: Priority,
    /// When it is included.
    pub include: IncludeMode,
    /// The text without its frontmatter.
    pub text: Text,
    /// Where it was read.
    pub source: ContentSource,
}

/// A skill, with its two forms on the page.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its name, unique among skills.
    pub name: Arc<str>,
    /// When to use it.
    pub description: Option<Text>,
    /// When its body is included.
    pub include: IncludeMode,
    /// SKILL.md without its frontmatter.
    pub body: Text,
    /// What stands before the body when it is shown in full.
    pub heading: Text,
    /// Its line in the list of skills.
    pub entry: Text,
    /// The tools that travel with it.
    pub tools: Vec<ToolSpec>,
    /// Where its SKILL.md was read.
    pub source: ContentSource,
}

impl Skill {
    /// A skill whose description, if any, is one trimmed text.
    pub fn new(name: impl Into<Arc<str>>, description: Option<&str>, body: Text) -> Self {
        let name = name.into();
        let description = description.map(str::trim).filter(|text| !text.is_empty());
        let heading = match description {
            Some(description) => format!("## {name}\n{description}\n\n"),
            None => format!("## {name}\n"),
        };
        let entry = format!("- **{name}**: {}", description.unwrap_or("(no description)"));
        Skill {
            name,
            description: description.map(Text::from),
            include: IncludeMode::Always,
            body,
            heading: heading.into(),
            entry: entry.into(),
            tools: Vec::new(),
            source: ContentSource::BuiltIn,
        }
    }
}

/// The declaration of a tool that a model can call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its identity; the server is the skill or MCP server that brings it.
    pub id: ItemId,
    /// The name by which models call it: its own, unless that would be taken or
    /// is none that their servers accept.
    pub called: Arc<str>,
    /// What it does, as the model reads it; nothing is sent where nobody said it.
    pub description: Option<Arc<str>>,
    /// The JSON schema of its parameters.
    pub parameters: Arc<Value>,
    /// The tool as compact JSON, about as wires carry it: what is counted, compared and kept in
    /// records. It holds the description and the parameters as they stand above.
    pub schema: Text,
    /// When it is offered.
    pub include: IncludeMode,
    /// Where it was declared.
    pub source: ContentSource,
}

impl ToolSpec {
    /// A tool that is always offered, and called by its own name.
    pub fn new(id: ItemId, description: impl Into<Arc<str>>, parameters: Value) -> Self {
        let called = id.name.clone();
        let description =
            Some(description.into()).filter(|text: &Arc<str>| !text.trim().is_empty());
        ToolSpec {
            schema: schema_of(&called, description.as_deref(), &parameters),
            id,
            called,
            description,
            parameters: Arc::new(parameters),
            include: IncludeMode::Always,
            source: ContentSource::BuiltIn,
        }
    }

    /// The same tool, called by another name.
    pub fn with_called(self, called: impl Into<Arc<str>>) -> Self {
        let called = called.into();
        let schema = schema_of(&called, self.description.as_deref(), &self.parameters);
        ToolSpec { called, schema, ..self }
    }

    /// The tool that a schema made by [`ToolSpec::new`] describes; `None` for any other text.
    pub(crate) fn from_schema(id: ItemId, schema: Text) -> Option<Self> {
        let mut value: Value = serde_json::from_str(&schema).ok()?;
        let function = value.get_mut("function")?;
        let called = function.get("name")?.as_str()?.into();
        let description = match function.get("description") {
            Some(text) => Some(text.as_str()?.into()),
            None => None,
        };
        let parameters = Arc::new(function.get_mut("parameters")?.take());
        let (include, source) = (IncludeMode::Always, ContentSource::BuiltIn);
        Some(ToolSpec { id, called, description, parameters, schema, include, source })
    }
}

fn schema_of(called: &str, description: Option<&str>, parameters: &Value) -> Text {
    let mut function = serde_json::Map::new();
    function.insert("name".to_owned(), called.into());
    if let Some(description) = description {
        function.insert("description".to_owned(), description.into());
    }
    function.insert("parameters".to_owned(), parameters.clone());
    serde_json::json!({"type": "function", "function": function}).to_string().into()
}

/// A file that could not be used as it stands, for the record and the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNotice {
    /// The file that the notice is about.
    pub source: ContentSource,
    /// What is wrong with it, in one sentence.
    pub problem: Arc<str>,
    /// What Recto can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

impl FileNotice {
    /// A notice of something that Recto itself can do nothing about.
    pub fn new(source: ContentSource, problem: impl Into<Arc<str>>) -> Self {
        FileNotice { source, problem: problem.into(), remedy: None }
    }

    /// The same, with what Recto can do about it.
    pub fn with_remedy(self, remedy: impl Into<Option<Remedy>>) -> Self {
        FileNotice { remedy: remedy.into(), ..self }
    }
}

/// A skill's tools come no sooner than the skill itself, and each no sooner than it says.
fn tools_of(skill: &Skill) -> impl Iterator<Item = (ItemId, IncludeMode)> + '_ {
    skill.tools.iter().map(|tool| (tool.id.clone(), tool.include.max(skill.include)))
}

impl Catalog {
    /// The items that a new session begins with: those included always.
    pub fn session_at_start(&self) -> Vec<SessionItem> {
        self.items()
            .filter(|(_, include)| *include == IncludeMode::Always)
            .map(|(item, _)| SessionItem { item, joined: ItemOrigin::AtStart })
            .collect()
    }

    /// Whether a tool is switched off.
    pub(crate) fn is_off(&self, tool: &ItemId) -> bool {
        self.off_tools.iter().any(|off| off.item == *tool)
    }

    /// Every item that a session can hold, with its include mode.
    pub fn items(&self) -> impl Iterator<Item = (ItemId, IncludeMode)> + '_ {
        let documents = self.documents().map(|(id, document)| (id, document.include));
        let skills = self.skills.iter();
        let skills =
            skills.map(|skill| (ItemId::new(ItemKind::Skill, skill.name.clone()), skill.include));
        let tools = self.tools.iter().map(|tool| (tool.id.clone(), tool.include));
        let of_skills = self.skills.iter().flat_map(tools_of);
        documents.chain(skills).chain(tools).chain(of_skills)
    }

    /// The rules, then the references, with their identities.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (ItemId, &CatalogDocument)> {
        let rules = self.rules.iter().map(|rule| (ItemKind::Rule, rule));
        let references = self.references.iter().map(|reference| (ItemKind::Reference, reference));
        let documents = rules.chain(references);
        documents.map(|(kind, document)| (ItemId::new(kind, document.name.clone()), document))
    }

    /// Built-in and server tools, then those of the skills, in a fixed order.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().chain(self.skills.iter().flat_map(|skill| &skill.tools))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Promise: `request-kept-as-sent`
    #[test]
    fn a_description_that_was_sent_empty_stays_so_in_its_record() {
        let schema = |description: &str| {
            format!(
                r#"{{"type":"function","function":{{"name":"now"{description},"parameters":{{}}}}}}"#
            )
        };
        for (written, description) in [(r#","description":"""#, Some("")), ("", None)] {
            let text = Text::from(schema(written));
            let spec = ToolSpec::from_schema(ItemId::tool(None, "now"), text).unwrap();
            assert_eq!(spec.description.as_deref(), description);
        }
    }
}
