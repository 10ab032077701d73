//! Skills that declare tools: whether they are as they were when a person last
//! looked at them, and what they ask for.
//!
//! Nothing is remembered here: that is for those who run a tool, or were told to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_agent::{skill_changed_notice, skill_untrusted_notice};
use recto_context::{Catalog, ContentHash, ContentSource, Skill};
use recto_tools::trust_hash;
use serde_json::Value;

use crate::config::{GrantSettings, ItemKind, Settings};
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
}

/// The state of a skill's files, compared with what a person last saw of them.
pub(in crate::commands) enum SkillTrust {
    /// Nothing is known yet.
    New(ContentHash),
    /// The same as when a person last looked at it.
    AsBefore(ContentHash),
    /// It comes with a project, and nobody has trusted it.
    Untrusted(ContentHash),
    /// Its declaration or a script changed.
    Changed { was: ContentHash, is: ContentHash },
    /// It can't be read.
    Unreadable(io::Error),
}

impl DeclaringSkill {
    /// Says why its tools are off, if they are.
    pub(in crate::commands) fn why_off(&self) -> Option<String> {
        match &self.trust {
            SkillTrust::New(_) | SkillTrust::AsBefore(_) => None,
            SkillTrust::Untrusted(_) => {
                let source = ContentSource::file(&self.folder);
                let notice = skill_untrusted_notice(source, &self.name);
                Some(with_command(&*notice.problem, notice.remedy.as_ref()))
            }
            SkillTrust::Changed { .. } => {
                let source = ContentSource::file(&self.folder);
                let notice = skill_changed_notice(source, &self.name);
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
    let known = trusted_hashes(settings).await?;
    let is_of_project = |folder: &Path| {
        settings.project.as_ref().is_some_and(|project| folder.starts_with(project))
    };
    let with_trust = |(skill, folder): (&Skill, PathBuf)| {
        let trust = match (trust_hash(&folder), known.get(&*folder.to_string_lossy())) {
            (Err(error), _) => SkillTrust::Unreadable(error),
            (Ok(is), None) if is_of_project(&folder) => SkillTrust::Untrusted(is),
            (Ok(is), None) => SkillTrust::New(is),
            (Ok(is), Some(was)) if is == *was => SkillTrust::AsBefore(is),
            (Ok(is), Some(was)) => SkillTrust::Changed { was: *was, is },
        };
        DeclaringSkill { name: skill.name.clone(), folder, trust }
    };
    Ok(declaring.into_iter().map(with_trust).collect())
}

/// The hashes of skills' folders that a person has seen. Looking must not make a store.
async fn trusted_hashes(settings: &Settings) -> CliResult<BTreeMap<String, ContentHash>> {
    if !settings.store.path.exists() {
        return Ok(BTreeMap::new());
    }
    let store = setup::store(settings)?;
    let known = store.trusted(&settings.agent.name).await?;
    Ok(known.into_iter().collect())
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
