//! `recto tools trust`: a person has looked at a skill's tools.json and scripts,
//! and takes them as they are now.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use recto_agent::{SkillStanding, TrustRows, bare_item_name, name_means_item};
use recto_context::{ItemId, ItemKind, byte_words};
use recto_store::Moment;
use serde_json::json;

use super::skills::{self, DeclaringSkill, SkillTrust};
use crate::commands::items::ItemView;
use crate::commands::sessions::local;
use crate::failure::{CliFailure, CliResult};
use crate::output::{print_as, tame};
use crate::setup;

/// The most files that are listed.
const MOST_FILES: usize = 1_000;

pub(super) fn run(view: &ItemView, name: &str, as_json: bool) -> CliResult {
    setup::runtime()?.block_on(async {
        let declaring = skills::declaring(&view.settings, &view.catalog).await?;
        let skill = find(&declaring, name)?;
        // Listed after they were hashed: what changes in between is not trusted.
        let files = files(&skill.folder);
        let (identity, was) = match &skill.trust {
            SkillTrust::Known(identity, standing) => (identity, describe_standing(*standing)),
            SkillTrust::Unreadable(error) => {
                let what = format!("the skill `{}` can't be read", tame(&skill.name));
                return Err(CliFailure::new(what).because(error));
            }
        };
        let TrustRows { rows, update } = identity.looked_at_rows();
        let store = setup::store(&view.settings)?;
        let agent = &view.settings.agent.name;
        store.trust(agent, rows, update, Moment::now()).await?;
        let paths = || files.iter().map(|file| &file.path).collect::<Vec<_>>();
        let (name, sum) = (&*skill.name, identity.files.to_string());
        let rights = skill.configured_rights(&view.settings);
        print_as(
            as_json,
            || json!({"skill": name, "was": was, "hash": sum, "files": paths(), "rights": rights}),
            || describe_trust(skill, was, &files, &rights),
        )
    })
}

fn find<'a>(declaring: &'a [DeclaringSkill], name: &str) -> CliResult<&'a DeclaringSkill> {
    let is_meant = |skill: &&DeclaringSkill| {
        name_means_item(name, &ItemId::new(ItemKind::Skill, skill.name.clone()))
    };
    let named = declaring.iter().find(|skill| *skill.name == *name);
    if let Some(skill) = named.or_else(|| declaring.iter().find(is_meant)) {
        return Ok(skill);
    }
    let failure = CliFailure::no_such("skill", name).add_words(" that brings tools");
    let names = declaring.iter().map(|skill| &*skill.name);
    let otherwise = "`recto tools list` shows which skill brings a tool, as its server";
    Err(failure.hint_nearest(bare_item_name(name), names, otherwise))
}

/// What a skill was before a person trusted it, in a few words.
fn describe_standing(standing: SkillStanding) -> &'static str {
    match standing {
        SkillStanding::New | SkillStanding::OfProject => "seen for the first time",
        SkillStanding::Seen | SkillStanding::LookedAt => "as it was",
        SkillStanding::Changed => "changed",
        SkillStanding::WasOff => "off in another place",
        SkillStanding::NameTaken => "the second of its name",
    }
}

/// A file that decides what the skill's tools do.
struct TrustedFile {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
}

/// The declaration and the scripts, those that changed last first.
fn files(folder: &Path) -> Vec<TrustedFile> {
    let mut paths = vec![folder.join("tools.json")];
    let mut folders = vec![folder.join("scripts")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => paths.push(entry.path()),
            }
            if paths.len() > MOST_FILES {
                folders.clear();
                break;
            }
        }
    }
    let mut files: Vec<TrustedFile> = paths.into_iter().map(deciding).collect();
    files.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    files
}

fn deciding(path: PathBuf) -> TrustedFile {
    let metadata = fs::symlink_metadata(&path).ok();
    TrustedFile {
        bytes: metadata.as_ref().map_or(0, fs::Metadata::len),
        changed: metadata.and_then(|metadata| metadata.modified().ok()),
        path,
    }
}

fn describe_trust(
    skill: &DeclaringSkill,
    was: &str,
    files: &[TrustedFile],
    rights: &[String],
) -> String {
    let mut page = format!("skill {} ({was}) is trusted as it is now:\n", tame(&skill.name));
    for file in files {
        let changed = match file.changed.and_then(|time| time.try_into().ok()) {
            Some(time) => format!(", changed {}", local(Moment::new(time))),
            None => String::new(),
        };
        let path = tame(&file.path.to_string_lossy());
        page.push_str(&format!("  {path} ({}{changed})\n", byte_words(file.bytes)));
    }
    if !rights.is_empty() {
        page.push_str(&format!("the config gives it: {}\n", tame(&rights.join(", "))));
    }
    page
}
