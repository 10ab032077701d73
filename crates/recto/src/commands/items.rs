//! `recto skills`, `recto rules` and `recto references`, and what `recto tools` has
//! in common with them.

pub(super) mod entry;
mod set;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use recto_context::{Catalog, ItemKind, nearest};
use recto_workspace::{Effect, Problem, Severity, SkipReason, Skipped, Snapshot};
use serde_json::{Value, json};

use crate::cli::ItemCommand;
use crate::config::Settings;
use crate::draw::Table;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::{print, print_json, print_text, tame, tell};
use crate::setup;
use entry::{Entry, Found};

/// A kind of items that can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelf {
    Skills,
    Rules,
    References,
    Tools,
}

impl Shelf {
    fn kind(self) -> ItemKind {
        match self {
            Shelf::Skills => ItemKind::Skill,
            Shelf::Rules => ItemKind::Rule,
            Shelf::References => ItemKind::Reference,
            Shelf::Tools => ItemKind::Tool,
        }
    }

    /// The command that looks at such items.
    fn name(self) -> &'static str {
        match self {
            Shelf::Skills => "skills",
            Shelf::Rules => "rules",
            Shelf::References => "references",
            Shelf::Tools => "tools",
        }
    }

    /// The folder that such items live in. Tools come with skills.
    fn folder(self) -> &'static str {
        match self {
            Shelf::Tools => Shelf::Skills.name(),
            shelf => shelf.name(),
        }
    }
}

pub(crate) fn run(home: &Home, shelf: Shelf, command: &ItemCommand) -> Result<ExitCode, Failure> {
    let view = View::open(home, shelf)?;
    match command {
        ItemCommand::List(format) => list(&view, format.json),
        ItemCommand::Show { name, json } => show(&view, name, json.json),
        ItemCommand::Check(format) => check(&view, format.json),
        ItemCommand::Set(args) => set::run(home, &view, args),
    }
}

/// What is looked at.
pub(super) struct View {
    shelf: Shelf,
    /// Where items of this kind are searched.
    folders: Vec<PathBuf>,
    pub(super) settings: Settings,
    pub(super) snapshot: Arc<Snapshot>,
    /// The snapshot's, with the tools that no skill brings.
    pub(super) catalog: Catalog,
}

impl View {
    pub(super) fn open(home: &Home, shelf: Shelf) -> Result<Self, Failure> {
        let settings = setup::load(home, Vec::new())?;
        let snapshot = setup::read_workspace(&settings)?;
        let catalog = setup::whole_catalog(home, &settings, &snapshot);
        Ok(View { shelf, folders: folders(&settings, shelf), settings, snapshot, catalog })
    }

    pub(super) fn entries(&self) -> Vec<Entry<'_>> {
        entry::all(&self.catalog, self.shelf)
    }
}

fn folders(settings: &Settings, shelf: Shelf) -> Vec<PathBuf> {
    let mut folders = vec![settings.agent.workspace.join(shelf.folder())];
    if shelf.folder() == Shelf::Skills.name() {
        folders.push(settings.skills.directory.clone());
        folders.extend(settings.skills.extra_dirs.iter().cloned());
    }
    folders
}

fn list(view: &View, as_json: bool) -> Result<ExitCode, Failure> {
    let shelf = view.shelf;
    let entries = view.entries();
    let problems = concerning(view).count();
    if as_json {
        print_json(&entries.iter().map(Entry::json).collect())?;
    } else if entries.is_empty() {
        tell(&format_args!("there are no {}", shelf.name()));
    } else {
        print(&entry_table(&entries, shelf).to_string())?;
    }
    if problems > 0 {
        tell(&format_args!("{}; see `recto {} check`", counted(problems), shelf.name()));
    }
    Ok(ExitCode::SUCCESS)
}

fn entry_table(entries: &[Entry<'_>], shelf: Shelf) -> Table {
    let third = match shelf {
        Shelf::Skills => "tools",
        Shelf::Rules | Shelf::References => "priority",
        Shelf::Tools => "server",
    };
    let mut table = Table::new(["name", "include", third, "tokens", "description"]);
    table.align_right(3);
    for entry in entries {
        let third = match shelf {
            Shelf::Skills => entry.tools.join(", "),
            Shelf::Rules | Shelf::References => entry.priority.unwrap_or_default().to_string(),
            Shelf::Tools => entry.id.server.as_deref().unwrap_or_default().to_owned(),
        };
        table.row([
            entry.id.name.to_string(),
            entry.include.to_string(),
            third,
            entry.tokens.to_string(),
            entry.description.unwrap_or_default().to_owned(),
        ]);
    }
    table
}

fn show(view: &View, name: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let entries = view.entries();
    let entry = find(view, &entries, name)?;
    if as_json {
        let mut value = entry.json();
        value["text"] = (*entry.text).into();
        print_json(&value)?;
    } else {
        tell(&format_args!(
            "{} · {} · {} tokens · {}",
            tame(&entry.id.to_string()),
            entry.include,
            entry.tokens,
            tame(&entry.source.to_string())
        ));
        print_text(&format!("{}\n", entry.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The item that is meant by a name.
pub(super) fn find<'e, 'c>(
    view: &View,
    entries: &'e [Entry<'c>],
    name: &str,
) -> Result<&'e Entry<'c>, Failure> {
    match entry::find(entries, name) {
        Found::One(entry) => Ok(entry),
        Found::Several(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", tame(name))).collect();
            let what = format!("there are several tools `{}`", tame(name));
            Err(Failure::new(what).hint(format!("name one of {}", names.join(", "))))
        }
        Found::None => Err(not_there(view, entries, name)),
    }
}

/// Names the nearest item, or says why the one that was asked for is left out.
fn not_there(view: &View, entries: &[Entry<'_>], name: &str) -> Failure {
    let shelf = view.shelf;
    let skipped = view
        .snapshot
        .skipped
        .iter()
        .find(|skipped| skipped.item.kind == shelf.kind() && *skipped.item.name == *name);
    let failure = Failure::new(format!("there is no {} `{}`", shelf.kind(), tame(name)));
    if let Some(skipped) = skipped {
        let path = tame(&skipped.path.to_string_lossy());
        return failure.hint(format!("{path}: {}", why_skipped(skipped)));
    }
    if let Some(problem) = view.snapshot.problems.iter().find(|problem| is_of(problem, name)) {
        return failure.hint(problem.to_string());
    }
    if shelf == Shelf::Tools && view.settings.tools.disabled.iter().any(|off| off == name) {
        return failure.hint("`tools.disabled` in the config leaves it out");
    }
    let names = entry::names(entries);
    match nearest(name, names.iter().map(String::as_str)) {
        Some(nearest) => failure.hint(format!("did you mean `{}`?", tame(nearest))),
        None => failure.hint(format!("`recto {} list` lists those there are", shelf.name())),
    }
}

/// Whether a problem left out the item whose file or folder has this name.
fn is_of(problem: &Problem, name: &str) -> bool {
    let is_named = |path: &Path| path.file_stem().is_some_and(|stem| stem == name);
    let of_folder =
        problem.path.ends_with("SKILL.md") && problem.path.parent().is_some_and(is_named);
    problem.effect == Effect::LeftOut && (of_folder || is_named(&problem.path))
}

pub(super) fn why_skipped(skipped: &Skipped) -> String {
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

/// Problems of the files that items of this shelf are made of, and of the
/// workspace as a whole.
pub(super) fn concerning(view: &View) -> impl Iterator<Item = &Problem> {
    // Of the files of a skill, only one has to do with tools.
    let is_read = |path: &Path| view.shelf != Shelf::Tools || path.ends_with("tools.json");
    let concerns = move |problem: &&Problem| {
        let in_folder = view.folders.iter().any(|folder| problem.path.starts_with(folder));
        (in_folder && is_read(&problem.path))
            || view.settings.agent.workspace.starts_with(&*problem.path)
    };
    view.snapshot.problems.iter().filter(concerns)
}

fn check(view: &View, as_json: bool) -> Result<ExitCode, Failure> {
    let View { shelf, snapshot, .. } = view;
    let problems: Vec<&Problem> = concerning(view).collect();
    let skipped = snapshot.skipped.iter().filter(|skipped| skipped.item.kind == shelf.kind());
    if as_json {
        let skipped: Vec<Value> = skipped.map(skipped_json).collect();
        let problems: Vec<Value> = problems.iter().map(|problem| problem_json(problem)).collect();
        print_json(&json!({"problems": problems, "skipped": skipped}))?;
    } else {
        for problem in &problems {
            print(&format!("{}: {problem}\n", severity(problem)))?;
        }
        for item in skipped {
            let (name, path) = (item.item.to_string(), item.path.to_string_lossy());
            let why = why_skipped(item);
            print(&format!("skipped: {} ({}): {why}\n", tame(&name), tame(&path)))?;
        }
        let count = view.entries().len();
        tell(&format_args!("{}: {count} in use, {}", shelf.name(), counted(problems.len())));
    }
    let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(crate) fn counted(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

pub(crate) fn severity(problem: &Problem) -> &'static str {
    match problem.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

pub(crate) fn problem_json(problem: &Problem) -> Value {
    json!({
        "path": problem.path.to_string_lossy(),
        "line": problem.line,
        "what": problem.what,
        "hint": problem.hint,
        "severity": severity(problem),
    })
}

pub(super) fn skipped_json(skipped: &Skipped) -> Value {
    json!({
        "name": &*skipped.item.name,
        "path": skipped.path.to_string_lossy(),
        "reason": why_skipped(skipped),
    })
}
