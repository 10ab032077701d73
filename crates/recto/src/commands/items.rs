//! `recto skills`, `recto rules` and `recto references`, and what `recto tools` has
//! in common with them.

pub(crate) mod entry;
pub(in crate::commands) mod set;
pub(super) mod usage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use recto_agent::{
    FlawedTool, ListedItem, bare_item_name, find_flawed_tools, list_items, name_means_item,
};
use recto_context::{Catalog, ItemId, ItemKind, ToolSpec, reading_tools};
use recto_workspace::{
    IncludeSource, ProblemEffect, Severity, SkipReason, SkippedItem, WorkspaceProblem,
    WorkspaceSnapshot,
};
use serde_json::{Value, json};

use crate::check_report::{CheckProblem, CheckReport};
use crate::cli::{AgentArg, ItemArgs, ItemCommand};
use crate::config::{ItemSettings, ServerSettings, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, list_json, print_json, print_list, print_text, tame, tell};
use crate::project::FOLDER;
use crate::remedy_words::with_command;
use crate::setup;
use entry::ItemMatch;
use usage::UsageTable;

pub(crate) fn run(home: &RectoHome, kind: ItemKind, args: &ItemArgs) -> CliResult<ExitCode> {
    run_command(home, kind, &args.agent, &args.command)
}

pub(super) fn run_command(
    home: &RectoHome,
    kind: ItemKind,
    agent: &AgentArg,
    command: &ItemCommand,
) -> CliResult<ExitCode> {
    let view = ItemView::open(home, kind, agent)?;
    match command {
        ItemCommand::List(format) => list(&view, format.json)?,
        ItemCommand::Show { name, json } => show(&view.with_reading_tools(), name, json.json)?,
        ItemCommand::Check(format) => return check(&view, format.json),
        ItemCommand::Set(args) => set::run(home, &view, agent, args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that looks at items of a kind, and the folder that they live in.
fn plural(kind: ItemKind) -> String {
    format!("{kind}s")
}

/// The items of one kind, with the settings and the files that they come from.
pub(super) struct ItemView {
    kind: ItemKind,
    /// Where items of this kind are searched.
    folders: Vec<PathBuf>,
    pub(super) settings: Settings,
    pub(super) snapshot: Arc<WorkspaceSnapshot>,
    /// The snapshot's, with the tools that no skill brings.
    pub(super) catalog: Catalog,
    /// Those of its tools that can't be run as they are declared.
    pub(super) flawed: Vec<FlawedTool>,
}

impl ItemView {
    pub(super) fn open(home: &RectoHome, kind: ItemKind, agent: &AgentArg) -> CliResult<Self> {
        let settings = setup::load_agent(home, Vec::new(), agent)?;
        let snapshot = setup::read_workspace(&settings)?;
        let catalog = setup::declared_catalog(home, &settings, &snapshot);
        let flawed = find_flawed_tools(&catalog);
        let folders = folders(&settings, kind);
        Ok(ItemView { kind, folders, settings, snapshot, catalog, flawed })
    }

    /// The same with the tools that load what pages name, where those are on: they come with the
    /// lists of a page, and nothing can be set for them but that they are off.
    pub(super) fn with_reading_tools(mut self) -> Self {
        let off = &self.settings.tools.disabled;
        let is_on = |spec: &&ToolSpec| off.iter().all(|name| **name != *spec.id.name);
        let reading = reading_tools().into_iter().filter(is_on).cloned();
        self.catalog.tools.extend(reading);
        self
    }

    /// The flaw for which a tool is off.
    pub(super) fn find_flawed(&self, item: &ItemId) -> Option<&FlawedTool> {
        self.flawed.iter().find(|flawed| flawed.item == *item)
    }

    pub(super) fn entries(&self) -> Vec<ListedItem<'_>> {
        list_items(&self.catalog, self.kind)
    }

    /// Whether an item's include mode is the one that the config has for all of its kind.
    fn follows_kind(&self, item: &ItemId) -> bool {
        match self.snapshot.include_sources.get(item) {
            Some(source) => *source == IncludeSource::Kind,
            // A tool that nothing is set for, neither by itself nor with its server.
            None => {
                let is_set = |settings: &ItemSettings| {
                    settings.kind == item.kind
                        && settings.include.is_some()
                        && (settings.name == item.key() || settings.name == *item.name)
                };
                let of_server = |server: &ServerSettings| {
                    server.include.is_some() && item.server.as_deref() == Some(&server.name)
                };
                !self.settings.items.iter().any(is_set)
                    && !self.settings.servers.iter().any(of_server)
            }
        }
    }
}

fn folders(settings: &Settings, kind: ItemKind) -> Vec<PathBuf> {
    // Tools come with skills.
    let kind = if kind == ItemKind::Tool { ItemKind::Skill } else { kind };
    let mut folders = vec![settings.agent.workspace.join(plural(kind))];
    let project = settings.project.iter();
    folders.extend(project.map(|folder| folder.join(FOLDER).join(plural(kind))));
    if kind == ItemKind::Skill {
        folders.push(settings.skills.directory.clone());
        folders.extend(settings.skills.extra_dirs.iter().cloned());
    }
    folders
}

fn list(view: &ItemView, as_json: bool) -> CliResult {
    let entries = view.entries();
    let usage = setup::runtime()?.block_on(UsageTable::read(&view.settings));
    let json = |entry: &ListedItem<'_>| usage.extend_json(&entry.id, entry.json());
    let draw = || entry_table(&entries, view.kind, &usage).draw(PageWidth::of_stdout());
    let nothing = format!("there are no {}", plural(view.kind));
    print_list(as_json, &plural(view.kind), &entries, json, draw, &nothing)?;
    tell_of_long_skills(view);
    tell_of_check(view);
    Ok(())
}

/// Tells why skills of which nothing is said are not always there, and how one settles it.
fn tell_of_long_skills(view: &ItemView) {
    let notice = view.snapshot.long_skills.map(|long| long.notice());
    if let Some(notice) = notice.filter(|_| view.kind == ItemKind::Skill) {
        tell(&format_args!("note: {}", with_command(&*notice.problem, notice.remedy.as_ref())));
    }
}

/// Tells how many problems there are, if any, and what shows them.
pub(super) fn tell_of_check(view: &ItemView) {
    let flawed = match view.kind {
        ItemKind::Skill | ItemKind::Tool => view.flawed.len(),
        _ => 0,
    };
    let problems = concerning(view).count() + flawed;
    if problems > 0 {
        let problems = counted(problems, "problem");
        tell(&format_args!("{problems}; see `recto {} check`", plural(view.kind)));
    }
}

/// The skills, rules or references, one a line. Tools have a table of their own.
fn entry_table(entries: &[ListedItem<'_>], kind: ItemKind, usage: &UsageTable) -> TextTable {
    let third = if kind == ItemKind::Skill { "tools" } else { "priority" };
    let mut table =
        TextTable::new(["name", "include", third, "tokens", "last used", "description"]);
    table.align_right(3);
    for entry in entries {
        let third = match kind {
            ItemKind::Skill => entry.tools.join(", "),
            _ => entry.priority.unwrap_or_default().to_string(),
        };
        table.row([
            entry.id.name.to_string(),
            entry.include.to_string(),
            third,
            entry.tokens.to_string(),
            usage.last_used(&entry.id),
            entry.description.unwrap_or_default().to_owned(),
        ]);
    }
    table
}

fn show(view: &ItemView, name: &str, as_json: bool) -> CliResult {
    let entries = view.entries();
    let entry = find(view, &entries, name)?;
    let flawed = view.find_flawed(&entry.id);
    if as_json {
        let mut value = entry.json();
        value["text"] = (*entry.text).into();
        if let Some(flawed) = flawed {
            value["off"] = (*flawed.notice().problem).into();
        }
        return print_json(&value);
    }
    tell(&format_args!(
        "{} · {} · {} tokens · {}",
        tame(&entry.id.to_string()),
        if flawed.is_some() { "off" } else { entry.include.name() },
        entry.tokens,
        tame(&entry.source.to_string())
    ));
    if let Some(flawed) = flawed {
        tell(&tame(&flawed.notice().problem));
    }
    print_text(&format!("{}\n", entry.text))
}

/// The item that is meant by a name.
pub(super) fn find<'e, 'c>(
    view: &ItemView,
    entries: &'e [ListedItem<'c>],
    name: &str,
) -> CliResult<&'e ListedItem<'c>> {
    match entry::find(entries, name) {
        ItemMatch::One(entry) => Ok(entry),
        ItemMatch::Several(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", tame(name))).collect();
            let what = format!("there are several tools `{}`", tame(name));
            Err(CliFailure::new(what).hint(format!("name one of {}", names.join(", "))))
        }
        ItemMatch::None => Err(not_there(view, entries, name)),
    }
}

/// Names the nearest item, or says why the one that was asked for is left out.
fn not_there(view: &ItemView, entries: &[ListedItem<'_>], name: &str) -> CliFailure {
    let ItemView { kind, snapshot, .. } = view;
    let is_it = |skipped: &&SkippedItem| {
        skipped.item.kind == *kind
            && (*skipped.item.name == *name || name_means_item(name, &skipped.item))
    };
    let failure = CliFailure::no_such(&kind.to_string(), name);
    // What else can be said goes by the name alone.
    let name = bare_item_name(name);
    if let Some(skipped) = snapshot.skipped.iter().find(is_it) {
        let path = tame(&skipped.path.to_string_lossy());
        return failure.hint(format!("{path}: {}", why_skipped(skipped)));
    }
    if let Some(problem) = snapshot.problems.iter().find(|problem| leaves_out_item(problem, name)) {
        return failure.hint(with_command(problem.to_string(), problem.remedy.as_ref()));
    }
    if *kind == ItemKind::Tool && view.settings.tools.disabled.iter().any(|off| off == name) {
        return failure.hint("`tools.disabled` in the config leaves it out");
    }
    let names = entry::names(entries);
    let otherwise = format!("`recto {} list` lists those there are", plural(*kind));
    failure.hint_nearest(name, names.iter().map(String::as_str), otherwise)
}

/// Whether a problem left out the item whose file or folder has this name.
fn leaves_out_item(problem: &WorkspaceProblem, name: &str) -> bool {
    let is_named = |path: &Path| path.file_stem().is_some_and(|stem| stem == name);
    let of_folder =
        problem.path.ends_with("SKILL.md") && problem.path.parent().is_some_and(is_named);
    problem.effect == ProblemEffect::LeftOut && (of_folder || is_named(&problem.path))
}

pub(super) fn why_skipped(skipped: &SkippedItem) -> String {
    match &skipped.reason {
        SkipReason::Disabled => "disabled in the config".to_owned(),
        SkipReason::Overwritten { by } => {
            format!("overwritten by {}", tame(&by.to_string_lossy()))
        }
        SkipReason::MissingPrograms(programs) => {
            let programs = tame(&programs.join(", "));
            format!("left out because these programs are missing: {programs}")
        }
    }
}

/// Problems of the files that items of this kind are made of, and of the
/// workspace as a whole.
pub(super) fn concerning(view: &ItemView) -> impl Iterator<Item = &WorkspaceProblem> {
    // Of the files of a skill, only one has to do with tools.
    let is_read = |path: &Path| view.kind != ItemKind::Tool || path.ends_with("tools.json");
    let concerns = move |problem: &&WorkspaceProblem| {
        let in_folder = view.folders.iter().any(|folder| problem.path.starts_with(folder));
        (in_folder && is_read(&problem.path))
            || view.settings.agent.workspace.starts_with(&*problem.path)
    };
    view.snapshot.problems.iter().filter(concerns)
}

fn check(view: &ItemView, as_json: bool) -> CliResult<ExitCode> {
    let ItemView { kind, snapshot, .. } = view;
    let mut problems: Vec<CheckProblem> = concerning(view).map(CheckProblem::of_file).collect();
    if *kind == ItemKind::Skill {
        problems.extend(view.flawed.iter().map(flawed_problem));
    }
    let skipped = || snapshot.skipped.iter().filter(|skipped| skipped.item.kind == *kind);
    let verdict = in_use(view, view.entries().len(), problems.len());
    let report = CheckReport {
        beside: list_json("skipped", skipped().map(skipped_json)),
        remarks: skipped().map(describe_skipped).collect(),
        ..CheckReport::new(problems, verdict)
    };
    report.print(as_json)
}

/// A tool that a skill brings and that can't be run.
fn flawed_problem(FlawedTool { path, flaw, .. }: &FlawedTool) -> CheckProblem {
    CheckProblem::of_declaration(Severity::Error, path, Some(flaw.line), &flaw.what)
}

/// How many items are in use, and how many problems their files have.
pub(super) fn in_use(view: &ItemView, count: usize, problems: usize) -> String {
    format!("{}: {count} in use, {}", plural(view.kind), counted(problems, "problem"))
}

fn describe_skipped(skipped: &SkippedItem) -> String {
    let (name, path) = (skipped.item.to_string(), skipped.path.to_string_lossy());
    format!("skipped: {} ({}): {}\n", tame(&name), tame(&path), why_skipped(skipped))
}

fn skipped_json(skipped: &SkippedItem) -> Value {
    json!({
        "name": &*skipped.item.name,
        "path": skipped.path.to_string_lossy(),
        "reason": why_skipped(skipped),
    })
}
