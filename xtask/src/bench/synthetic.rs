//! A large workspace, a long conversation and a model, made up from a small vocabulary.
//! The same on every machine and in every run.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use recto_agent::ModelEntry;
use recto_context::mode::{ModeSetting, UncertainMode};
use recto_context::{ContextLimits, Message, PageLayout, Tokens};
use recto_llm::{CallOptions, ClientOptions, FeatureSupport, ModelClient, Provider};
use serde_json::json;

use crate::Result;

pub(super) const SKILLS: usize = 100;
/// Every fourth skill brings a tool.
pub(super) const TOOLS: usize = SKILLS / 4;
pub(super) const MEMORIES: usize = 1_000;
pub(super) const RULES: usize = 50;
/// How many of the rules are always included.
pub(super) const RULES_ALWAYS: usize = 10;

const WORDS: [&str; 32] = [
    "the", "report", "of", "last", "week", "needs", "a", "second", "look", "before", "we", "send",
    "it", "to", "our", "garden", "club", "and", "library", "because", "train", "times", "changed",
    "again", "in", "march", "with", "three", "new", "stations", "north", "bridge",
];

/// Writes the workspace into `folder`.
pub(super) fn write_workspace(folder: &Path) -> io::Result<()> {
    for (index, name) in ["SOUL", "IDENTITY", "AGENTS", "USER", "TOOLS"].iter().enumerate() {
        let text = format!("# {name}\n\n{}\n", paragraphs(index, 3));
        fs::write(folder.join(name).with_extension("md"), text)?;
    }
    for index in 0..SKILLS {
        write_skill(folder, index)?;
    }
    fs::create_dir_all(folder.join("rules"))?;
    for (path, text) in rules() {
        fs::write(folder.join(path), text)?;
    }
    fs::create_dir_all(folder.join("memory"))?;
    fs::write(folder.join("memory/MEMORY.md"), memories())
}

/// A conversation of `count` messages in turn: user, assistant, user, …
pub(super) fn conversation(count: usize) -> Vec<Arc<Message>> {
    let message = |index: usize| {
        let (id, text) = (index as u64 + 1, words(index * 7, 40));
        if index.is_multiple_of(2) { Message::user(id, text) } else { Message::assistant(id, text) }
    };
    (0..count).map(|index| Arc::new(message(index))).collect()
}

/// About 2 KB of SKILL.md, and for every fourth skill a tools.json.
fn write_skill(workspace: &Path, index: usize) -> io::Result<()> {
    let name = format!("skill-{index:03}");
    let folder = workspace.join("skills").join(&name);
    fs::create_dir_all(&folder)?;
    let description = words(index, 12);
    let body = paragraphs(index, 5);
    let text =
        format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{body}\n");
    fs::write(folder.join("SKILL.md"), text)?;
    if index.is_multiple_of(SKILLS / TOOLS) {
        fs::write(folder.join("tools.json"), tools_json(index))?;
    }
    Ok(())
}

fn tools_json(index: usize) -> String {
    let tool = format!("tool_{index:03}");
    json!({
        "tools": [{
            "name": tool,
            "description": words(index * 3, 15),
            "parameters": {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": words(index, 8) },
                    "count": { "type": "integer", "description": words(index + 9, 8) }
                },
                "required": ["path"]
            }
        }],
        "allowlist": { "echo": ["show"] },
        "execution": [{
            "tool": tool,
            "binary": "echo",
            "subcommand": "show",
            "args": [{ "param": "path" }, { "param": "count", "kind": "flag", "optional": true }]
        }]
    })
    .to_string()
}

/// The workspace's rules: their paths in it, and their texts.
pub(super) fn rules() -> impl Iterator<Item = (String, String)> {
    (0..RULES).map(|index| (format!("rules/rule-{index:02}.md"), rule(index)))
}

fn rule(index: usize) -> String {
    let include = if index < RULES_ALWAYS { "always" } else { "agent" };
    let description = words(index, 8);
    let body = words(index * 5, 40);
    format!("---\ndescription: {description}\npriority: {index}\ninclude: {include}\n---\n{body}\n")
}

/// Ten memories a day over a hundred days.
fn memories() -> String {
    let mut text = String::from("# Memory\n");
    for index in 0..MEMORIES {
        let (day, hour) = (index / 10, index % 10);
        let date = format!("2026-{:02}-{:02}", day / 25 + 1, day % 25 + 1);
        if hour == 0 {
            text += &format!("\n## {date}\n\n");
        }
        // The number keeps entries apart: one that repeats another may be dropped.
        text += &format!("- {index}: {} (added at {date}T{hour:02}:30:00Z)\n", words(index, 14));
    }
    text
}

/// Paragraphs of 75 words, about 390 bytes each.
fn paragraphs(seed: usize, count: usize) -> String {
    let each: Vec<String> = (0..count).map(|index| words(seed * 11 + index, 75)).collect();
    each.join("\n\n")
}

/// `count` words that `seed` decides on.
fn words(seed: usize, count: usize) -> String {
    let word = |index: usize| WORDS[(seed * 13 + index * (seed % 7 + 3)) % WORDS.len()];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// A model without a server that answers at once by repeating what was said.
pub(super) fn echo(window: u32) -> Result<ModelEntry> {
    Ok(ModelEntry {
        name: "echo".into(),
        chosen: "there is no other".into(),
        client: ModelClient::new(ClientOptions::new(Provider::Scripted))?,
        call: CallOptions { model: "echo".to_owned(), ..CallOptions::default() },
        window: Some(Tokens::new(window)),
        mode: ModeSetting::default(),
        uncertain: UncertainMode::default(),
        layout: PageLayout::default(),
        limits: ContextLimits::default(),
        images: FeatureSupport::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_the_promised_size() {
        let folder = tempfile::tempdir().unwrap();
        write_workspace(folder.path()).unwrap();
        let count = |name| fs::read_dir(folder.path().join(name)).unwrap().count();
        assert_eq!((count("skills"), count("rules")), (SKILLS, RULES));
        let skill = fs::metadata(folder.path().join("skills/skill-007/SKILL.md")).unwrap();
        assert!((1_500..2_500).contains(&skill.len()), "{} bytes", skill.len());
        assert_eq!(memories().lines().filter(|line| line.starts_with("- ")).count(), MEMORIES);
    }

    #[test]
    fn a_conversation_alternates() {
        let messages = conversation(3);
        assert!(messages[0].is_user() && !messages[1].is_user() && messages[2].is_user());
        assert!(messages.is_sorted_by_key(|message| message.id));
    }
}
