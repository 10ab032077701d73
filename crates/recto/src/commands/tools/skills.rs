//! Skills that declare tools: whether they are as they were when a person last
//! looked at them, and what they ask for.
//!
//! What is off is remembered wherever it is seen, so that it stays off under another name. All else
//! is for those who run a tool, or were told to.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_agent::{
    SkillIdentity, SkillOrigin, SkillStanding, TrustRecords, TrustRows, keep_names_of_looked_at,
};
use recto_context::{Catalog, ContentSource, FileNotice, Skill};
use recto_store::Moment;
use recto_tools::{ToolPermission, TrustedSkills, trust_hash};
use serde_json::Value;

use crate::config::{GrantSettings, ItemKind, ItemSettings, Settings};
use crate::failure::CliResult;
use crate::remedy_words::with_command;
use crate::setup;

/// The largest declaration that is looked at.
const MAX_DECLARATION: u64 = 1 << 20;

/// A skill that declares tools.
pub(in crate::commands) struct DeclaringSkill {
    pub(in crate::commands) name: Arc<str>,
    pub(in crate::commands) folder: PathBuf,
    pub(in crate::commands) trust: SkillTrust,
    /// What is to be stored of it when it is used.
    pub(in crate::commands) unstored: Option<TrustRows>,
}

/// What is known of a skill's files.
pub(in crate::commands) enum SkillTrust {
    /// They were compared with what a person last saw of them.
    Known(SkillIdentity, SkillStanding),
    /// They can't be read.
    Unreadable(io::Error),
}

impl DeclaringSkill {
    /// Says why its tools are off, if they are.
    pub(in crate::commands) fn why_off(&self) -> Option<String> {
        match &self.trust {
            SkillTrust::Known(_, standing) => {
                let notice = standing.notice(ContentSource::file(&self.folder), &self.name)?;
                Some(with_command(&*notice.problem, notice.remedy.as_ref()))
            }
            SkillTrust::Unreadable(error) => {
                Some(format!("the tools of skill `{}` are off: {error}", self.name))
            }
        }
    }

    /// Whether any of its tools asks for the network.
    pub(in crate::commands) fn asks_for_network(&self) -> bool {
        let declared = read(&self.folder.join("tools.json")).unwrap_or_default();
        let executions = declared["execution"].as_array().map(Vec::as_slice).unwrap_or_default();
        executions.iter().any(|execution| execution["network"] == true)
    }

    /// The rights that the config gives to its name, each in a few words.
    pub(in crate::commands) fn configured_rights(&self, settings: &Settings) -> Vec<String> {
        let is_own =
            |item: &&ItemSettings| item.kind == ItemKind::Skill && *item.name == *self.name;
        let permission = settings.items.iter().find(is_own).and_then(|item| item.permission);
        let free =
            (permission == Some(ToolPermission::Allow)).then(|| "runs without asking".to_owned());
        free.into_iter().chain(setup::granted_to(&self.grants(settings)).describe()).collect()
    }

    /// The rights that the config grants it.
    pub(in crate::commands) fn grants(&self, settings: &Settings) -> GrantSettings {
        let own = settings
            .items
            .iter()
            .find(|item| item.kind == ItemKind::Skill && *item.name == *self.name);
        own.map(|item| item.grants.clone()).unwrap_or_default()
    }
}

/// The skills that declare tools, in the order of the catalog.
pub(in crate::commands) async fn declaring(
    settings: &Settings,
    catalog: &Catalog,
) -> CliResult<Vec<DeclaringSkill>> {
    let declaring: Vec<(&Skill, PathBuf)> = catalog
        .skills
        .iter()
        .filter(|skill| !skill.tools.is_empty())
        .filter_map(|skill| Some((skill, folder_of(skill)?)))
        .collect();
    if declaring.is_empty() {
        return Ok(Vec::new());
    }
    let known = trust_records(settings).await?;
    let with_trust = |(skill, folder): (&Skill, PathBuf)| {
        let name = skill.name.clone();
        let (trust, unstored) = match trust_hash(&folder) {
            Err(error) => (SkillTrust::Unreadable(error), None),
            Ok(files) => {
                let origin = SkillOrigin::of(&folder, settings.project.as_deref());
                let identity = SkillIdentity { name: name.clone(), folder: folder.clone(), files };
                let standing = known.judge(&identity, origin);
                let unstored = known.rows_to_store(&identity, standing);
                (SkillTrust::Known(identity, standing), unstored)
            }
        };
        DeclaringSkill { name, folder, trust, unstored }
    };
    let declaring: Vec<DeclaringSkill> = declaring.into_iter().map(with_trust).collect();
    remember_off(settings, &declaring).await;
    Ok(declaring)
}

/// Stores which skills are off. Where that fails, they are off all the same.
async fn remember_off(settings: &Settings, declaring: &[DeclaringSkill]) {
    let is_off = |skill: &&DeclaringSkill| match &skill.trust {
        SkillTrust::Known(_, standing) => standing.look().is_none(),
        SkillTrust::Unreadable(_) => false,
    };
    let rows = declaring.iter().filter(is_off).filter_map(|skill| skill.unstored.clone());
    let rows: Vec<TrustRows> = rows.collect();
    // Looking must not make a store.
    if rows.is_empty() || !setup::has_store(settings) {
        return;
    }
    let Ok(store) = setup::store(settings) else { return };
    for TrustRows { rows, update } in rows {
        _ = store.trust(&settings.agent.name, rows, update, Moment::now()).await;
    }
}

/// The skills whose programs may run, as those who run them know them.
pub(in crate::commands) fn trusted(declaring: &[DeclaringSkill]) -> TrustedSkills {
    let trusted = |skill: &DeclaringSkill| match &skill.trust {
        SkillTrust::Known(identity, standing) => {
            Some((skill.folder.clone(), identity.trusted(standing.look()?)))
        }
        SkillTrust::Unreadable(_) => None,
    };
    declaring.iter().filter_map(trusted).collect()
}

/// The catalog as a turn has it, in which the names of tools are those of skills that a person has
/// looked at; and the notices of tools that gave way.
pub(in crate::commands) fn name_tools(
    catalog: &Catalog,
    declaring: &[DeclaringSkill],
) -> (Catalog, Vec<FileNotice>) {
    let mut catalog = catalog.clone();
    let known = catalog.notices.len();
    keep_names_of_looked_at(&mut catalog, &trusted(declaring));
    let notices = catalog.notices.split_off(known);
    (catalog, notices)
}

/// What is known of skills. Looking must not make a store.
async fn trust_records(settings: &Settings) -> CliResult<TrustRecords> {
    if !setup::has_store(settings) {
        return Ok(TrustRecords::default());
    }
    let store = setup::store(settings)?;
    Ok(TrustRecords::new(store.trusted(&settings.agent.name).await?))
}

/// The folder of a skill that was read from a file.
pub(in crate::commands) fn folder_of(skill: &Skill) -> Option<PathBuf> {
    match &skill.source {
        ContentSource::File(path) => path.parent().map(Path::to_path_buf),
        _ => None,
    }
}

/// The text of a declaration, if it is a plain file of reasonable size.
pub(in crate::commands) fn read_text(path: &Path) -> io::Result<String> {
    // A pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_DECLARATION + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_DECLARATION {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(text)
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&read_text(path).ok()?).ok()
}
