//! Small builders and a compact notation for pages.

use std::sync::Arc;

use recto_context::mode::{self, ModeQuestion};
use recto_context::{
    Bootstrap, CallId, Catalog, CatalogDocument, ChatMessage, ContentPart, ContentSource,
    ContextMode, IncludeMode, ItemId, ItemKind, Memory, Message, MessageBody, MessageId,
    ModeDecision, Pick, Priority, RequestContext, Scores, Skill, SystemFiles, ToolCall, ToolSpec,
    WorkspaceFile,
};
use serde_json::json;

pub(crate) fn file(name: &str, text: &str) -> Option<WorkspaceFile> {
    Some(WorkspaceFile { text: text.into(), source: ContentSource::file(name) })
}

/// A workspace with a file of every kind.
pub(crate) fn catalog() -> Catalog {
    Catalog {
        system: SystemFiles {
            soul: file("SOUL.md", "You are Ada."),
            identity: None,
            agents: file("AGENTS.md", "Be exact."),
            project: None,
            user: file("USER.md", "The user is Kim."),
        },
        tools_doc: file("TOOLS.md", "Prefer read_file over guessing."),
        memories: vec![
            memory("MEMORY.md:4", Some("2026-11-02"), "Kim likes brief answers."),
            memory("MEMORY.md:2", None, "The cat is called Turing."),
        ],
        skills: vec![
            skill("notes", Some("Create and search notes."), "Use `notes add`.", &["add_note"]),
            skill("git", Some("Look at history."), "Use `git log`.", &[]),
        ],
        rules: vec![
            rule("tone", 10, IncludeMode::Always, "Stay calm."),
            rule("dates", 5, IncludeMode::Always, "Write dates as ISO 8601."),
        ],
        references: vec![rule("api", 500, IncludeMode::Always, "GET /v1/things lists things.")],
        tools: vec![tool(None, "read_file")],
        off_tools: Vec::new(),
        notices: Vec::new(),
        withheld: Vec::new(),
    }
}

pub(crate) fn memory(name: &str, day: Option<&str>, text: &str) -> Memory {
    let source = ContentSource::file("memory/MEMORY.md");
    Memory { name: name.into(), source, ..Memory::new("MEMORY.md", text, day) }
}

pub(crate) fn rule(name: &str, priority: u16, include: IncludeMode, text: &str) -> CatalogDocument {
    CatalogDocument {
        name: name.into(),
        description: None,
        priority: Priority::new(priority).unwrap(),
        include,
        text: text.into(),
        source: ContentSource::file(format!("rules/{name}.md")),
    }
}

pub(crate) fn skill(name: &str, description: Option<&str>, body: &str, tools: &[&str]) -> Skill {
    Skill {
        tools: tools.iter().map(|tool_name| tool(Some(name), tool_name)).collect(),
        source: ContentSource::file(format!("skills/{name}/SKILL.md")),
        ..Skill::new(name, description, body.into())
    }
}

pub(crate) fn tool(server: Option<&str>, name: &str) -> ToolSpec {
    let id = ItemId::tool(server.map(Arc::from), name);
    let parameters = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where."}},
        "required": ["path"]
    });
    ToolSpec::new(id, format!("Does {name}."), parameters)
}

pub(crate) fn pick(kind: ItemKind, name: &str, probability: f32) -> Pick {
    Pick::new(
        ItemId::new(kind, name),
        Scores { probability: Some(probability), ..Scores::default() },
    )
}

pub(crate) fn bootstrap() -> Bootstrap {
    Bootstrap {
        agent: "main".into(),
        version: "0.1.0".into(),
        workspace: "/w".into(),
        system: "linux".into(),
        day: "2026-11-15".into(),
        surface: "terminal".into(),
    }
}

/// Messages in a small notation, one after the other, separated by ` / `:
/// `user: hi`, `model: hello`, `model: call time{}`, `tool: 12:00` (answers the
/// oldest open call), `error: …`.
pub(crate) fn talk(notation: &str) -> Vec<Arc<Message>> {
    let mut open: Vec<(CallId, Arc<str>)> = Vec::new();
    let mut messages = Vec::new();
    for (index, line) in notation.split(" / ").filter(|line| !line.is_empty()).enumerate() {
        let id = index as u64 + 1;
        let (who, text) = line.trim().split_once(": ").expect("`who: text`");
        let content = vec![ContentPart::Text(text.into())];
        let body = match who {
            "user" => return_user(text),
            "model" if text.starts_with("call ") => {
                let calls = calls(text, id);
                open.extend(calls.iter().map(|call| (call.id.clone(), call.name.clone())));
                MessageBody::Assistant { content: Vec::new(), calls }
            }
            "model" => MessageBody::Assistant { content, calls: Vec::new() },
            "tool" if open.is_empty() => {
                MessageBody::Tool { call: CallId("none".into()), name: "gone".into(), content }
            }
            "tool" => {
                let (call, name) = open.remove(0);
                MessageBody::Tool { call, name, content }
            }
            "error" => MessageBody::Error(text.into()),
            other => panic!("unknown speaker {other}"),
        };
        messages.push(Arc::new(Message { id: MessageId(id), body }));
    }
    messages
}

fn return_user(text: &str) -> MessageBody {
    Message::user(0, text).body
}

/// `call a{…} b{…}`.
fn calls(text: &str, message: u64) -> Vec<ToolCall> {
    let calls = text.trim_start_matches("call ").split_inclusive("} ").enumerate();
    calls
        .map(|(index, call)| {
            let (name, arguments) = call.trim().split_once('{').expect("`name{…}`");
            ToolCall {
                id: CallId(format!("{message}-{index}").into()),
                name: name.into(),
                arguments: format!("{{{arguments}").into(),
            }
        })
        .collect()
}

/// The mode as a model set to `mode` would get it for `message`.
pub(crate) fn mode(setting: ContextMode, message: &str) -> ModeDecision {
    let setting = mode::resolve(Some(setting), Default::default()).unwrap();
    mode::decide(&ModeQuestion {
        setting: setting.setting,
        uncertain: Default::default(),
        mark: None,
        has_tools: true,
        found: None,
        message,
    })
}

/// The messages of a request, one block each.
pub(crate) fn page(request: &RequestContext) -> String {
    request.messages.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn show(message: &ChatMessage) -> String {
    let calls: Vec<String> =
        message.calls.iter().map(|call| format!(" → {}{}", call.name, call.arguments)).collect();
    let answers = message.answers.as_ref().map(|(call, _)| format!(" ← {}", call.0));
    format!(
        "── {}{}{}\n{}",
        message.role.name(),
        calls.concat(),
        answers.unwrap_or_default(),
        message.text()
    )
}

/// What was dropped, one line each.
pub(crate) fn drops(request: &RequestContext) -> Vec<String> {
    let line = |dropped: &recto_context::DroppedEntry| {
        format!("{}: {} ({})", dropped.layer, dropped.what, dropped.reason.describe())
    };
    request.dropped.iter().map(line).collect()
}
