//! `recto skills`, `recto rules` and `recto references`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use recto_context::{
    Catalog, Counter, Document, Include, ItemKind, Skill, Source, Tokens, nearest,
};
use recto_workspace::{Effect, Problem, Severity, SkipReason, Skipped, Snapshot};
use serde_json::{Value, json};

use crate::cli::ItemCommand;
use crate::config::Settings;
use crate::draw::Table;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::{print, print_json, print_text, tame, tell};
use crate::setup;

/// A kind of items that can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelf {
    Skills,
    Rules,
    References,
}

impl Shelf {
    fn kind(self) -> ItemKind {
        match self {
            Shelf::Skills => ItemKind::Skill,
            Shelf::Rules => ItemKind::Rule,
            Shelf::References => ItemKind::Reference,
        }
    }

    /// The folder that such items live in.
    fn folder(self) -> &'static str {
        match self {
            Shelf::Skills => "skills",
            Shelf::Rules => "rules",
            Shelf::References => "references",
        }
    }
}

pub(crate) fn run(home: &Home, shelf: Shelf, command: &ItemCommand) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let snapshot = setup::read_workspace(&settings)?;
    let view = View { shelf, folders: folders(&settings, shelf), settings, snapshot };
    match command {
        ItemCommand::List(format) => list(&view, format.json),
        ItemCommand::Show { name, json } => show(&view, name, json.json),
        ItemCommand::Check(format) => check(&view, format.json),
    }
}

/// What is looked at.
struct View {
    shelf: Shelf,
    /// Where items of this kind are searched.
    folders: Vec<PathBuf>,
    settings: Settings,
    snapshot: Arc<Snapshot>,
}

fn folders(settings: &Settings, shelf: Shelf) -> Vec<PathBuf> {
    let mut folders = vec![settings.agent.workspace.join(shelf.folder())];
    if shelf == Shelf::Skills {
        folders.push(settings.skills.directory.clone());
        folders.extend(settings.skills.extra_dirs.iter().cloned());
    }
    folders
}

/// One item, whatever its kind.
struct Entry<'a> {
    name: &'a str,
    description: Option<&'a str>,
    include: Include,
    priority: Option<u16>,
    tokens: Tokens,
    text: &'a str,
    source: &'a Source,
    tools: Vec<&'a str>,
}

fn entries(catalog: &Catalog, shelf: Shelf) -> Vec<Entry<'_>> {
    match shelf {
        Shelf::Skills => {
            let mut skills: Vec<&Skill> = catalog.skills.iter().collect();
            skills.sort_by(|a, b| a.name.cmp(&b.name));
            skills.into_iter().map(skill_entry).collect()
        }
        Shelf::Rules => catalog.rules.iter().map(document_entry).collect(),
        Shelf::References => catalog.references.iter().map(document_entry).collect(),
    }
}

fn skill_entry(skill: &Skill) -> Entry<'_> {
    let counter = Counter::estimated();
    Entry {
        name: &skill.name,
        description: skill.description.as_deref(),
        include: skill.include,
        priority: None,
        tokens: counter.text(&skill.heading) + counter.text(&skill.body),
        text: &skill.body,
        source: &skill.source,
        tools: skill.tools.iter().map(|tool| &*tool.id.name).collect(),
    }
}

fn document_entry(document: &Document) -> Entry<'_> {
    Entry {
        name: &document.name,
        description: document.description.as_deref(),
        include: document.include,
        priority: Some(document.priority.get()),
        tokens: Counter::estimated().text(&document.text),
        text: &document.text,
        source: &document.source,
        tools: Vec::new(),
    }
}

fn entry_json(entry: &Entry<'_>) -> Value {
    json!({
        "name": entry.name,
        "description": entry.description,
        "include": entry.include,
        "priority": entry.priority,
        "tokens": entry.tokens,
        "tools": entry.tools,
        "source": entry.source.to_string(),
    })
}

fn list(view: &View, as_json: bool) -> Result<ExitCode, Failure> {
    let shelf = view.shelf;
    let entries = entries(&view.snapshot.catalog, shelf);
    let problems = concerning(view).count();
    if as_json {
        print_json(&entries.iter().map(entry_json).collect())?;
    } else if entries.is_empty() {
        tell(&format_args!("there are no {}", shelf.folder()));
    } else {
        print(&entry_table(&entries, shelf).to_string())?;
    }
    if problems > 0 {
        tell(&format_args!("{}; see `recto {} check`", counted(problems), shelf.folder()));
    }
    Ok(ExitCode::SUCCESS)
}

fn entry_table(entries: &[Entry<'_>], shelf: Shelf) -> Table {
    let third = if shelf == Shelf::Skills { "tools" } else { "priority" };
    let mut table = Table::new(["name", "include", third, "tokens", "description"]);
    table.align_right(3);
    for entry in entries {
        let third = entry
            .priority
            .map_or_else(|| entry.tools.join(", "), |priority| format!("{priority:03}"));
        table.row([
            entry.name.to_owned(),
            entry.include.to_string(),
            third,
            entry.tokens.to_string(),
            entry.description.unwrap_or_default().to_owned(),
        ]);
    }
    table
}

fn show(view: &View, name: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let entries = entries(&view.snapshot.catalog, view.shelf);
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        return Err(not_there(view, &entries, name));
    };
    if as_json {
        let mut value = entry_json(entry);
        value["text"] = entry.text.into();
        print_json(&value)?;
    } else {
        tell(&format_args!(
            "{} {} · {} · {} tokens · {}",
            view.shelf.kind(),
            tame(name),
            entry.include,
            entry.tokens,
            tame(&entry.source.to_string())
        ));
        print_text(&format!("{}\n", entry.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names the nearest item, or says why the one that was asked for is left out.
fn not_there(view: &View, entries: &[Entry<'_>], name: &str) -> Failure {
    let shelf = view.shelf;
    let skipped = view
        .snapshot
        .skipped
        .iter()
        .find(|skipped| skipped.item.kind == shelf.kind() && *skipped.item.name == *name);
    let failure = Failure::new(format!("there is no {} `{name}`", shelf.kind()));
    if let Some(skipped) = skipped {
        let path = tame(&skipped.path.to_string_lossy());
        return failure.hint(format!("{path}: {}", why_skipped(skipped)));
    }
    if let Some(problem) = view.snapshot.problems.iter().find(|problem| is_of(problem, name)) {
        return failure.hint(problem.to_string());
    }
    match nearest(name, entries.iter().map(|entry| entry.name)) {
        Some(nearest) => failure.hint(format!("did you mean `{}`?", tame(nearest))),
        None => failure.hint(format!("`recto {} list` lists those there are", shelf.folder())),
    }
}

/// Whether a problem left out the item whose file or folder has this name.
fn is_of(problem: &Problem, name: &str) -> bool {
    let is_named = |path: &Path| path.file_stem().is_some_and(|stem| stem == name);
    let of_folder =
        problem.path.ends_with("SKILL.md") && problem.path.parent().is_some_and(is_named);
    problem.effect == Effect::LeftOut && (of_folder || is_named(&problem.path))
}

fn why_skipped(skipped: &Skipped) -> String {
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
fn concerning(view: &View) -> impl Iterator<Item = &Problem> {
    let concerns = |problem: &&Problem| {
        view.folders.iter().any(|folder| problem.path.starts_with(folder))
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
        let count = entries(&snapshot.catalog, *shelf).len();
        tell(&format_args!("{}: {count} in use, {}", shelf.folder(), counted(problems.len())));
    }
    let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn counted(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

pub(crate) fn severity(problem: &Problem) -> &'static str {
    match problem.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn problem_json(problem: &Problem) -> Value {
    json!({
        "path": problem.path.to_string_lossy(),
        "line": problem.line,
        "what": problem.what,
        "hint": problem.hint,
        "severity": severity(problem),
    })
}

fn skipped_json(skipped: &Skipped) -> Value {
    json!({
        "name": &*skipped.item.name,
        "path": skipped.path.to_string_lossy(),
        "reason": why_skipped(skipped),
    })
}
