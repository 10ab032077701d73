//! Settings of items that are not there: most are slips of the pen.
//!
//! What might be there all the same is let pass: the tool of a server that was never asked, an
//! item whose file is broken or left out. Of those another notice tells.

use recto_context::{Catalog, ContentSource, FileNotice, ItemId, ItemKind, nearest_name};
use recto_workspace::{ProblemEffect, WorkspaceProblem, WorkspaceSnapshot};

/// The items that a config speaks of.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredItems(pub Vec<ConfiguredItem>);

/// An item that a config speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfiguredItem {
    /// What the config says it is.
    pub kind: ItemKind,
    /// Its name. A tool of a skill or server has both names with a dot.
    pub name: String,
    /// What is said of it.
    pub setting: ItemSetting,
}

/// What a config says of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemSetting {
    /// It has settings of its own.
    Own,
    /// It is not wanted.
    Disabled,
}

/// An item that a config speaks of and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownItem {
    /// What the config says.
    pub item: ConfiguredItem,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

impl UnknownItem {
    /// What a person is told of it in a turn. Where settings are written, only a surface knows.
    pub(crate) fn notice(&self) -> FileNotice {
        let ConfiguredItem { kind, name, setting } = &self.item;
        let said = match setting {
            ItemSetting::Own => format!("there are settings for the {kind} `{name}`"),
            ItemSetting::Disabled => format!("the {kind} `{name}` is disabled"),
        };
        let problem = format!("{said}, but no such {kind}; {}", self.hint());
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
    /// Tells of each item that is not there, with the nearest that is. Tools that were disabled are
    /// missing on purpose.
    pub fn find_unknown(
        &self,
        catalog: &Catalog,
        snapshot: &WorkspaceSnapshot,
        disabled_tools: &[String],
    ) -> Vec<UnknownItem> {
        // A tool that is off is there, and of why it is off people are told otherwise.
        let off = catalog.off_tools.iter().map(|off| off.item.clone());
        let known: Vec<ItemId> = catalog.items().map(|(id, _)| id).chain(off).collect();
        let is_disabled = |item: &ConfiguredItem| {
            item.setting == ItemSetting::Own
                && item.kind == ItemKind::Tool
                && disabled_tools.contains(&item.name)
        };
        let unknown = self.0.iter().filter(|item| {
            !is_disabled(item)
                && !is_there(item, &known)
                && !is_left_out(item, snapshot)
                && !may_come(item, &known)
        });
        unknown
            .map(|item| UnknownItem { item: item.clone(), nearest: nearest(item, &known) })
            .collect()
    }
}

fn is_there(item: &ConfiguredItem, known: &[ItemId]) -> bool {
    let ConfiguredItem { kind, name, .. } = item;
    known.iter().any(|id| id.kind == *kind && (*id.name == **name || id.key() == *name))
}

/// Whether its file is there and was left out, of which people are told otherwise.
fn is_left_out(item: &ConfiguredItem, snapshot: &WorkspaceSnapshot) -> bool {
    let ConfiguredItem { kind, name, .. } = item;
    let is_file = |problem: &WorkspaceProblem| {
        let parts = [Some(&*problem.path), problem.path.parent()];
        let mut stems = parts.into_iter().flatten().filter_map(|path| path.file_stem());
        problem.effect == ProblemEffect::LeftOut && stems.any(|stem| *stem == **name)
    };
    snapshot.skipped.iter().any(|it| it.item.kind == *kind && *it.item.name == **name)
        || snapshot.problems.iter().any(is_file)
}

/// Whether it may be a tool of a skill or server whose tools are not known.
fn may_come(item: &ConfiguredItem, known: &[ItemId]) -> bool {
    let is_tool = item.kind == ItemKind::Tool;
    let Some((server, _)) = item.name.split_once('.').filter(|_| is_tool) else {
        return false;
    };
    known.iter().all(|id| id.server.as_deref() != Some(server))
}

fn nearest(item: &ConfiguredItem, known: &[ItemId]) -> Option<String> {
    let of_kind = known.iter().filter(|id| id.kind == item.kind);
    let names: Vec<String> = of_kind.flat_map(|id| [id.name.to_string(), id.key()]).collect();
    nearest_name(&item.name, names.iter().map(String::as_str)).map(str::to_owned)
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
        check_setting(ItemSetting::Own, kind, name, told);
    }

    #[track_caller]
    fn check_setting(setting: ItemSetting, kind: ItemKind, name: &str, told: &[&str]) {
        let item = ConfiguredItem { kind, name: name.to_owned(), setting };
        let configured = ConfiguredItems(vec![item]);
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

    /// Promise: `typos-are-told`
    #[test]
    fn what_is_disabled_and_is_not_there_is_told() {
        let check = |kind, name, told: &[&str]| {
            check_setting(ItemSetting::Disabled, kind, name, told);
        };
        let file = "the tool `raed_file` is disabled, but no such tool; did you mean `read_file`?";
        check(ItemKind::Tool, "raed_file", &[file]);
        let skill = "the skill `ntoes` is disabled, but no such skill; did you mean `notes`?";
        check(ItemKind::Skill, "ntoes", &[skill]);
        check(ItemKind::Tool, "git.log", &[]);
    }

    #[test]
    fn what_is_there_or_may_be_is_let_pass() {
        check(ItemKind::Skill, "notes", &[]);
        for tool in ["read_file", "log", "git.log", "write_file", "server.never_asked"] {
            check(ItemKind::Tool, tool, &[]);
        }
    }
}
