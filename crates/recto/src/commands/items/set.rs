//! `recto rules set` and its like: the include mode of an item, or of all of its kind,
//! written into the config.

use std::io::ErrorKind;
use std::path::Path;

use recto_agent::ListedItem;
use recto_context::{IncludeMode, ItemId, ItemKind};
use recto_fs::{FolderClaim, replace};
use recto_workspace::IncludeSource;

use super::entry::ItemMatch;
use super::{ItemView, entry, find, plural};
use crate::cli::{AgentArg, SetArgs};
use crate::config::{self, IncludeScope, IncludeTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print, tame, tell};
use crate::setup;

pub(super) fn run(
    home: &RectoHome,
    view: &ItemView,
    agent: &AgentArg,
    args: &SetArgs,
) -> CliResult {
    let wanted = args.include.map(IncludeMode::from);
    match &args.name {
        Some(name) => set_item(home, view, agent, name, wanted),
        None => set_kind(home, view, agent, wanted),
    }
}

fn set_item(
    home: &RectoHome,
    view: &ItemView,
    agent: &AgentArg,
    name: &str,
    wanted: Option<IncludeMode>,
) -> CliResult {
    let entries = view.entries();
    let before = find(view, &entries, name)?;
    let file = home.path().join("config.toml");
    let keys = write_item(home, agent, before, &entries, wanted)?;
    // Read again: what holds is what the next turn finds.
    let after = ItemView::open(home, view.kind, agent)?;
    let entries = after.entries();
    let ItemMatch::One(now) = entry::find(&entries, &keys[0]) else {
        return Err(CliFailure::new(format!("{} is gone", tame(&before.id.to_string()))));
    };
    print(&describe_change(&after, before, now, wanted, &file))?;
    warn(&after, now, wanted);
    Ok(())
}

/// Writes the include mode of an item into the config, as `recto rules set` does.
pub(in crate::commands) fn set_item_include(
    home: &RectoHome,
    agent: &AgentArg,
    item: &ItemId,
    include: Option<IncludeMode>,
) -> CliResult {
    let view = ItemView::open(home, item.kind, agent)?;
    let entries = view.entries();
    let known = find(&view, &entries, &item.key())?;
    write_item(home, agent, known, &entries, include).map(drop)
}

/// Writes the include mode of all tools of an MCP server into the config.
pub(in crate::commands) fn set_server_include(
    home: &RectoHome,
    server: &str,
    include: Option<IncludeMode>,
) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    if !settings.servers.iter().any(|known| known.name == server) {
        let names = settings.servers.iter().map(|known| known.name.as_str());
        return Err(CliFailure::no_such("MCP server", server).hint_nearest(
            server,
            names,
            "`recto mcp list` lists those of the config",
        ));
    }
    let file = home.path().join("config.toml");
    write(home, &file, IncludeTable::Servers, &[(IncludeScope::Item(server), include)])
}

/// Writes the include mode of an item, and gives the names under which the config has it.
fn write_item(
    home: &RectoHome,
    agent: &AgentArg,
    item: &ListedItem<'_>,
    entries: &[ListedItem<'_>],
    include: Option<IncludeMode>,
) -> CliResult<Vec<String>> {
    let keys = keys(item, entries);
    let table = IncludeTable::Items { agent: agent.agent.as_deref(), kind: item.id.kind };
    let others = keys[1..].iter().map(|key| (IncludeScope::Item(key), None));
    let changes: Vec<_> =
        [(IncludeScope::Item(&keys[0]), include)].into_iter().chain(others).collect();
    write(home, &home.path().join("config.toml"), table, &changes)?;
    Ok(keys)
}

/// The names under which the config may have the item, the one to write first. A
/// skill's tool is also meant by its plain name, which counts only while it is
/// nobody else's.
fn keys(item: &ListedItem<'_>, entries: &[ListedItem<'_>]) -> Vec<String> {
    let plain = item.id.name.to_string();
    let is_its_own =
        item.id.server.is_some() && matches!(entry::find(entries, &plain), ItemMatch::One(_));
    [item.key()].into_iter().chain(is_its_own.then_some(plain)).collect()
}

/// Sets what holds for all items of the kind of which nothing else is said.
fn set_kind(
    home: &RectoHome,
    view: &ItemView,
    agent: &AgentArg,
    wanted: Option<IncludeMode>,
) -> CliResult {
    let file = home.path().join("config.toml");
    let table = IncludeTable::Items { agent: agent.agent.as_deref(), kind: view.kind };
    write(home, &file, table, &[(IncludeScope::Kind, wanted)])?;
    let after = ItemView::open(home, view.kind, agent)?;
    let (kinds, entries) = (plural(view.kind), after.entries());
    let told = match wanted {
        Some(include) => {
            let follow = entries.iter().filter(|entry| after.follows_kind(&entry.id)).count();
            let others = match entries.len() - follow {
                0 => String::new(),
                others => format!("; {others} as set for themselves"),
            };
            let how = format!("{include} where nothing else is said");
            format!("{kinds}: {how} ({follow} of them{others}); set in {}\n", file.display())
        }
        None => format!("{kinds}: as usual where nothing else is said\n"),
    };
    print(&told)?;
    if wanted == Some(IncludeMode::Agent) {
        warn_of_search(&after);
    }
    tell(&RUNNING);
    Ok(())
}

/// Writes the settings, each of them or none.
fn write(
    home: &RectoHome,
    file: &Path,
    table: IncludeTable<'_>,
    changes: &[(IncludeScope<'_>, Option<IncludeMode>)],
) -> CliResult {
    let _claim = FolderClaim::take(file).map_err(|locked| {
        CliFailure::folder_locked(format!("can't change {}", file.display()), &locked)
    })?;
    let sources = setup::sources(home, Vec::new());
    let text = config::read_config_file(&sources).map_err(|problems| {
        CliFailure::new(format!("the config can't be changed\n\n{problems}"))
    })?;
    let mut edited = Some(text.clone());
    for (scope, include) in changes {
        edited = edited.and_then(|text| config::set_include(&text, table, *scope, *include));
    }
    let by_hand = || {
        let table = match changes.first() {
            Some((IncludeScope::Item(name), _)) => {
                format!("[{table}.{}]", toml_edit::Key::new(*name))
            }
            _ => format!("[{table}]"),
        };
        match changes.first().and_then(|(_, include)| *include) {
            Some(include) => format!("edit it by hand: {table} with include = \"{include}\""),
            None => format!("edit it by hand: {table} without `include`"),
        }
    };
    let Some(edited) = edited else {
        let what = format!("{} can't be changed without harm", file.display());
        return Err(CliFailure::new(what).hint(by_hand()));
    };
    if edited == text {
        return Ok(());
    }
    replace(file, &edited).map_err(|error| {
        let failure = CliFailure::new(format!("cannot write {}", file.display())).because(&error);
        match error.kind() {
            ErrorKind::NotFound => failure.hint("`recto init` sets up a home"),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                failure.code("full").hint("make room on the disk")
            }
            _ => failure.hint(by_hand()),
        }
    })
}

/// Says what holds now, by whom, and from when.
fn describe_change(
    view: &ItemView,
    before: &ListedItem<'_>,
    now: &ListedItem<'_>,
    wanted: Option<IncludeMode>,
    file: &Path,
) -> String {
    let was = match before.include == now.include {
        true => ", as before".to_owned(),
        false => format!(" (was {})", before.include),
    };
    let by = match (wanted, now.id.kind) {
        (Some(_), _) => format!("set in {}{}", file.display(), overruled(view, now)),
        (None, ItemKind::Tool) => "nothing in the config says otherwise".to_owned(),
        (None, _) => match view.snapshot.include_sources.get(&now.id) {
            Some(IncludeSource::Kind) => format!("as the config has it for all {}s", now.id.kind),
            Some(IncludeSource::TooLong) => {
                "as skills are of which nothing is said, together too long for every page"
                    .to_owned()
            }
            Some(IncludeSource::Usual) => format!("as is usual for {}s", now.id.kind),
            _ => format!("as {} has it", tame(&now.source.to_string())),
        },
    };
    let when = match now.include {
        IncludeMode::Always => {
            "new sessions begin with it; open ones get it with their next turn, unless it was \
             removed there"
        }
        IncludeMode::Manual => "it comes into a session by `/add`; sessions that have it keep it",
        IncludeMode::Agent => {
            "from the next turn on it comes when search finds that it fits; sessions that have it \
             keep it"
        }
    };
    format!("{}: {}{was}; {by}\n{when}\n", tame(&now.id.to_string()), now.include)
}

/// What the item's own file says, where that is something else.
fn overruled(view: &ItemView, now: &ListedItem<'_>) -> String {
    match view.snapshot.include_sources.get(&now.id) {
        Some(IncludeSource::Config { in_file: Some(own) }) if *own != now.include => {
            let file = tame(&now.source.to_string());
            format!(", which wins over `include: {own}` in {file}")
        }
        _ => String::new(),
    }
}

/// What a person should know who changes the config.
const RUNNING: &str = "note: a Recto that is running keeps the config that it began with";

/// Tells why it may not do what was meant.
fn warn(view: &ItemView, now: &ListedItem<'_>, wanted: Option<IncludeMode>) {
    if let (Some(wanted), Some(skill)) = (wanted, &now.id.server)
        && now.include != wanted
    {
        tell(&format_args!(
            "note: the skill `{}` is {}, and its tools come no sooner than it does",
            tame(skill),
            now.include
        ));
    }
    if now.include == IncludeMode::Agent {
        warn_of_search(view);
    }
    if view.kind == ItemKind::Skill && now.include != IncludeMode::Always && !now.tools.is_empty() {
        tell(&"note: its tools come no sooner than it does");
    }
    tell(&RUNNING);
}

fn warn_of_search(view: &ItemView) {
    if !view.settings.search.enabled {
        tell(&"warning: search is off, so nothing brings it\n  hint: set `search.enabled = true`");
    }
}
