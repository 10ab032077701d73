//! Settings of items that are not there: most are slips of the pen.
//!
//! What might be there all the same is let pass: the tool of a server that was never asked, an
//! item whose file is broken or left out. Of those another notice tells.

use recto_context::{Catalog, ContentSource, FileNotice, ItemId, ItemKind, nearest_name};
use recto_workspace::{ProblemEffect, WorkspaceProblem, WorkspaceSnapshot};

/// The items that somebody made settings for, each by its kind and name. A tool of a skill or
/// server has both names with a dot.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredItems(pub Vec<(ItemKind, String)>);

/// An item that has settings and is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownItem {
    /// The kind that the settings are for.
    pub kind: ItemKind,
    /// The name that nothing has.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

impl UnknownItem {
    /// What a person is told of it in a turn. Where settings are written, only a surface knows.
    pub(crate) fn notice(&self) -> FileNotice {
        let UnknownItem { kind, name, .. } = self;
        let hint = self.hint();
        let problem =
            format!("there are settings for the {kind} `{name}`, but no such {kind}; {hint}");
        FileNotice::new(ContentSource::BuiltIn, problem)
    }

    /// The name that was probably meant, or what follows for the settings.
    pub fn hint(&self) -> String {
        match &self.nearest {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "the setting has no effect".to_owned(),
        }
    }
}

impl ConfiguredItems {
    /// Tells of each item that has settings and is not there, with the nearest that is. Tools
    /// that were disabled are missing on purpose.
    pub fn find_unknown(
        &self,
        catalog: &Catalog,
        snapshot: &WorkspaceSnapshot,
        disabled_tools: &[String],
    ) -> Vec<UnknownItem> {
        // A tool that is off is there, and of why it is off people are told otherwise.
        let off = catalog.off_tools.iter().map(|off| off.item.clone());
        let known: Vec<ItemId> = catalog.items().map(|(id, _)| id).chain(off).collect();
        let is_disabled = |kind, name| kind == ItemKind::Tool && disabled_tools.contains(name);
        let unknown = self.0.iter().filter(|(kind, name)| {
            !is_disabled(*kind, name)
                && !is_there(*kind, name, &known)
                && !is_left_out(*kind, name, snapshot)
                && !may_come(*kind, name, &known)
        });
        let unknown = unknown.map(|(kind, name)| UnknownItem {
            kind: *kind,
            name: name.clone(),
            nearest: nearest(*kind, name, &known),
        });
        unknown.collect()
    }
}

fn is_there(kind: ItemKind, name: &str, known: &[ItemId]) -> bool {
    known.iter().any(|id| id.kind == kind && (*id.name == *name || id.key() == name))
}

/// Whether its file is there and was left out, of which people are told otherwise.
fn is_left_out(kind: ItemKind, name: &str, snapshot: &WorkspaceSnapshot) -> bool {
    let is_file = |problem: &WorkspaceProblem| {
        let parts = [Some(&*problem.path), problem.path.parent()];
        let mut stems = parts.into_iter().flatten().filter_map(|path| path.file_stem());
        problem.effect == ProblemEffect::LeftOut && stems.any(|stem| stem == name)
    };
    snapshot.skipped.iter().any(|it| it.item.kind == kind && *it.item.name == *name)
        || snapshot.problems.iter().any(is_file)
}

/// Whether it may be a tool of a skill or server whose tools are not known.
fn may_come(kind: ItemKind, name: &str, known: &[ItemId]) -> bool {
    let Some((server, _)) = name.split_once('.').filter(|_| kind == ItemKind::Tool) else {
        return false;
    };
    known.iter().all(|id| id.server.as_deref() != Some(server))
}

fn nearest(kind: ItemKind, name: &str, known: &[ItemId]) -> Option<String> {
    let of_kind = known.iter().filter(|id| id.kind == kind);
    let names: Vec<String> = of_kind.flat_map(|id| [id.name.to_string(), id.key()]).collect();
    nearest_name(name, names.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use recto_context::{Skill, Text, ToolSpec};
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        let tool = |server: Option<&str>, name: &str| {
            ToolSpec::new(ItemId::tool(server.map(Into::into), name), "Does it.", json!({}))
        };
        let mut git = Skill::new("git", Some("History."), Text::from("body"));
        git.tools.push(tool(Some("git"), "log"));
        Catalog {
            skills: vec![git, Skill::new("notes", None, Text::from("body"))],
            tools: vec![tool(None, "read_file")],
            ..Catalog::default()
        }
    }

    #[track_caller]
    fn check(kind: ItemKind, name: &str, told: &[&str]) {
        let configured = ConfiguredItems(vec![(kind, name.to_owned())]);
        let disabled = ["write_file".to_owned()];
        let snapshot = WorkspaceSnapshot::default();
        let found = configured.find_unknown(&catalog(), &snapshot, &disabled);
        let found: Vec<_> = found.iter().map(|item| item.notice().problem.to_string()).collect();
        assert_eq!(found, told, "{kind} {name}");
    }

    /// Promise: `typos-are-told`
    #[test]
    fn a_setting_of_an_item_that_is_not_there_is_told_with_the_nearest_one() {
        let note = "there are settings for the skill `ntoes`, but no such skill; did you mean \
                    `notes`?";
        check(ItemKind::Skill, "ntoes", &[note]);
        let log = "there are settings for the tool `git.lgo`, but no such tool; did you mean \
                   `git.log`?";
        check(ItemKind::Tool, "git.lgo", &[log]);
        let rule = "there are settings for the rule `nope`, but no such rule; the setting has no \
                    effect";
        check(ItemKind::Rule, "nope", &[rule]);
    }

    #[test]
    fn what_is_there_or_may_be_is_let_pass() {
        check(ItemKind::Skill, "notes", &[]);
        for tool in ["read_file", "log", "git.log", "write_file", "server.never_asked"] {
            check(ItemKind::Tool, tool, &[]);
        }
    }
}
