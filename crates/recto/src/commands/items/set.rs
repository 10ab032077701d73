//! `recto rules set` and its like: an item's include mode, written into the
//! config.

use std::io::ErrorKind;
use std::path::Path;

use recto_context::{IncludeMode, ItemKind};
use recto_fs::{FolderClaim, replace};

use super::entry::{ItemMatch, ListedItem};
use super::{ItemView, entry, find};
use crate::cli::{AgentArg, SetArgs};
use crate::config::{self, ItemsTable};
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
    let entries = view.entries();
    let before = find(view, &entries, &args.name)?;
    let keys = keys(before, &entries);
    let file = home.path().join("config.toml");
    let entries_of = ItemsTable { agent: agent.agent.as_deref(), kind: before.id.kind };
    write(home, &file, entries_of, &keys, wanted)?;
    // Read again: what holds is what the next turn finds.
    let after = ItemView::open(home, view.kind, agent)?;
    let entries = after.entries();
    let ItemMatch::One(now) = entry::find(&entries, &keys[0]) else {
        return Err(CliFailure::new(format!("{} is gone", tame(&before.id.to_string()))));
    };
    print(&describe_change(before, now, wanted, &file))?;
    warn(&after, now, wanted);
    Ok(())
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

/// Writes the setting under the first of the names, and takes it away from the
/// others.
fn write(
    home: &RectoHome,
    file: &Path,
    table: ItemsTable<'_>,
    keys: &[String],
    wanted: Option<IncludeMode>,
) -> CliResult {
    let _claim = FolderClaim::take(file);
    let sources = setup::sources(home, Vec::new());
    let text = config::read_config_file(&sources).map_err(|problems| {
        CliFailure::new(format!("the config can't be changed\n\n{problems}"))
    })?;
    let mut edited = Some(text.clone());
    for (index, key) in keys.iter().enumerate() {
        let wanted = wanted.filter(|_| index == 0);
        edited = edited.and_then(|text| config::set_include(&text, table, key, wanted));
    }
    let by_hand = || {
        let table = format!("[{table}.{}]", toml_edit::Key::new(&keys[0]));
        match wanted {
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
            _ => failure.hint(by_hand()),
        }
    })
}

/// Says what holds now, by whom, and from when.
fn describe_change(
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
        (Some(_), _) => format!("set in {}", file.display()),
        (None, ItemKind::Tool) => "nothing in the config says otherwise".to_owned(),
        (None, _) => format!("as {} has it", tame(&now.source.to_string())),
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
    if now.include == IncludeMode::Agent && !view.settings.search.enabled {
        tell(&"warning: search is off, so nothing brings it\n  hint: set `search.enabled = true`");
    }
    if view.kind == ItemKind::Skill && now.include != IncludeMode::Always && !now.tools.is_empty() {
        tell(&"note: its tools come no sooner than it does");
    }
    tell(&"note: a Recto that is running keeps the config that it began with");
}
