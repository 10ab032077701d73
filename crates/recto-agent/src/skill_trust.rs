//! Which skills may run programs, and to which the rights of the config belong. This is the only
//! place that decides it; what a person looked at is kept in the store.
//!
//! A person trusts one thing: these files, in this folder, under this name. Whatever differs in
//! one of the three is another thing, and has neither the trust nor the rights. So
//!
//! - a skill whose files or name changed is off;
//! - a second skill of a name is off, wherever it lies: the name belongs to the first. Where both
//!   lie in one folder of skills, that one is on the page as well ([`TrustRecords::name_owners`]);
//! - files that were off stay off, moved, copied or renamed as they may be;
//! - a skill that is new runs, unless a project brings it. Rights that the config has for its name
//!   become its own when a person was shown it, at its first call or by trusting it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_context::{ContentHash, ContentSource, FileNotice, Remedy};
use recto_store::TrustUpdate;
use recto_tools::{SkillLook, TrustedSkill};
use recto_workspace::folder_hash;

/// A skill that declares tools: its files, its folder and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillIdentity {
    /// The name that it gives itself.
    pub name: Arc<str>,
    /// The folder of its files.
    pub folder: PathBuf,
    /// The hash of its declaration and scripts.
    pub files: ContentHash,
}

/// Where a skill comes from, as far as it matters for trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillOrigin {
    /// The agent's own folders.
    Agent,
    /// A project that somebody else may have written.
    Project,
}

impl SkillOrigin {
    /// The origin of what lies in a folder.
    pub fn of(folder: &Path, project: Option<&Path>) -> Self {
        match project.is_some_and(|project| folder.starts_with(project)) {
            true => SkillOrigin::Project,
            false => SkillOrigin::Agent,
        }
    }
}

/// What is known of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillStanding {
    /// A person has looked at it as it is now.
    LookedAt,
    /// It is as it was when it was first seen, and nobody has looked at it.
    Seen,
    /// Nothing is known of it.
    New,
    /// It comes with a project, and nobody has looked at it.
    OfProject,
    /// Its files or its name changed since.
    Changed,
    /// Its files were off in another place or under another name.
    WasOff,
    /// Its name belongs to a skill in another place.
    NameTaken,
}

impl SkillStanding {
    /// Whether a person has looked at it, where its tools are on.
    pub fn look(self) -> Option<SkillLook> {
        match self {
            SkillStanding::LookedAt => Some(SkillLook::LookedAt),
            SkillStanding::Seen | SkillStanding::New => Some(SkillLook::FirstSeen),
            SkillStanding::OfProject
            | SkillStanding::Changed
            | SkillStanding::WasOff
            | SkillStanding::NameTaken => None,
        }
    }

    /// What a person is told of a skill whose tools are off.
    pub fn notice(self, source: ContentSource, skill: &str) -> Option<FileNotice> {
        let why = match self {
            SkillStanding::LookedAt | SkillStanding::Seen | SkillStanding::New => return None,
            SkillStanding::Changed => {
                "its tools.json, a script or its name changed; look at it, then trust it again"
            }
            SkillStanding::OfProject => {
                "it comes with the project, and nobody has trusted it yet; look at its tools.json \
                 and scripts, then trust it"
            }
            SkillStanding::WasOff => {
                "the same tools.json and scripts were off in another place, and nobody has looked \
                 at them since; look at them, then trust it"
            }
            SkillStanding::NameTaken => {
                "another skill had this name first, in another folder, and its trust and rights \
                 are not for this one; look at it, then trust it, or give it a name of its own"
            }
        };
        let problem = format!("the tools of skill `{skill}` are off: {why}");
        let remedy = Remedy::TrustSkill { skill: skill.to_owned() };
        Some(FileNotice::new(source, problem).with_remedy(remedy))
    }
}

/// What the keys of names begin with.
const NAME: &str = "name ";

/// Rows for the store, with what they do to those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct TrustRows {
    pub rows: Vec<(String, ContentHash)>,
    pub update: TrustUpdate,
}

/// What an agent's store knows of skills: of each place what it was, of each name where it is,
/// and which files were off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustRecords(BTreeMap<String, ContentHash>);

impl TrustRecords {
    /// The records as the store has them.
    pub fn new(rows: Vec<(String, ContentHash)>) -> Self {
        TrustRecords(rows.into_iter().collect())
    }

    /// The folder that each name belongs to, as the hash of its path.
    pub fn name_owners(&self) -> BTreeMap<String, ContentHash> {
        let owner = |(key, place): (&String, &ContentHash)| {
            Some((key.strip_prefix(NAME)?.to_owned(), *place))
        };
        self.0.iter().filter_map(owner).collect()
    }

    /// Decides what a skill is to the agent.
    pub fn judge(&self, skill: &SkillIdentity, origin: SkillOrigin) -> SkillStanding {
        let name_is_taken =
            self.0.get(&skill.name_key()).is_some_and(|place| *place != skill.place_hash());
        match self.0.get(&skill.place_key()) {
            Some(known) if *known == skill.looked_at() => SkillStanding::LookedAt,
            // Before names counted, only the files did.
            Some(known) if *known == skill.seen() || *known == skill.files => SkillStanding::Seen,
            Some(_) => SkillStanding::Changed,
            None if origin == SkillOrigin::Project => SkillStanding::OfProject,
            None if self.0.contains_key(&skill.off_key()) => SkillStanding::WasOff,
            None if name_is_taken => SkillStanding::NameTaken,
            None => SkillStanding::New,
        }
    }

    /// What is to be stored of a skill that stands like this; nothing where it is known already.
    pub fn rows_to_store(
        &self,
        skill: &SkillIdentity,
        standing: SkillStanding,
    ) -> Option<TrustRows> {
        let place = (skill.place_key(), skill.seen());
        let name = (skill.name_key(), skill.place_hash());
        match standing {
            SkillStanding::New => {
                Some(TrustRows { rows: vec![place, name], update: TrustUpdate::First })
            }
            SkillStanding::Seen if self.0.get(&place.0) != Some(&place.1) => {
                Some(TrustRows { rows: vec![place, name], update: TrustUpdate::Again })
            }
            SkillStanding::LookedAt | SkillStanding::Seen => None,
            SkillStanding::OfProject
            | SkillStanding::Changed
            | SkillStanding::WasOff
            | SkillStanding::NameTaken => {
                let off = (skill.off_key(), skill.files);
                let is_known = self.0.contains_key(&off.0);
                (!is_known).then(|| TrustRows { rows: vec![off], update: TrustUpdate::First })
            }
        }
    }

    /// Adds what was stored.
    pub fn add(&mut self, TrustRows { rows, update }: TrustRows) {
        for (key, hash) in rows {
            match update {
                TrustUpdate::First => drop(self.0.entry(key).or_insert(hash)),
                TrustUpdate::Again => drop(self.0.insert(key, hash)),
            }
        }
    }
}

impl SkillIdentity {
    /// What is stored when a person has looked at the skill as it is now.
    pub fn looked_at_rows(&self) -> TrustRows {
        let rows = vec![(self.place_key(), self.looked_at()), (self.name_key(), self.place_hash())];
        TrustRows { rows, update: TrustUpdate::Again }
    }

    /// The skill as those who run its programs know it.
    pub fn trusted(&self, look: SkillLook) -> TrustedSkill {
        TrustedSkill { name: self.name.clone(), files: self.files, look }
    }

    fn seen(&self) -> ContentHash {
        ContentHash::of_bytes(format!("seen {} {:?}", self.files, self.name).as_bytes())
    }

    fn looked_at(&self) -> ContentHash {
        ContentHash::of_bytes(format!("looked at {} {:?}", self.files, self.name).as_bytes())
    }

    fn place_hash(&self) -> ContentHash {
        folder_hash(&self.folder)
    }

    /// Folders are absolute, so no other key is one.
    fn place_key(&self) -> String {
        self.folder.to_string_lossy().into_owned()
    }

    fn name_key(&self) -> String {
        format!("{NAME}{}", self.name)
    }

    fn off_key(&self) -> String {
        format!("off {}", self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, folder: &str, files: &str) -> SkillIdentity {
        let files = ContentHash::of_bytes(files.as_bytes());
        SkillIdentity { name: name.into(), folder: folder.into(), files }
    }

    /// What became of a skill that is come upon, as a turn would.
    fn meet(records: &mut TrustRecords, skill: &SkillIdentity) -> SkillStanding {
        let standing = records.judge(skill, SkillOrigin::Agent);
        if let Some(rows) = records.rows_to_store(skill, standing) {
            records.add(rows);
        }
        standing
    }

    /// Promise: `trust-follows-content`
    #[test]
    fn trust_is_for_files_place_and_name_together() {
        let (mut records, notes) = (TrustRecords::default(), skill("notes", "/s/notes", "a"));
        assert_eq!(meet(&mut records, &notes), SkillStanding::New);
        assert_eq!(meet(&mut records, &notes), SkillStanding::Seen);
        records.add(notes.looked_at_rows());
        assert_eq!(meet(&mut records, &notes), SkillStanding::LookedAt);

        assert_eq!(meet(&mut records, &skill("notes", "/s/notes", "b")), SkillStanding::Changed);
        assert_eq!(meet(&mut records, &skill("mail", "/s/notes", "a")), SkillStanding::Changed);
        // What a person looked at is still the same.
        assert_eq!(meet(&mut records, &notes), SkillStanding::LookedAt);
    }

    /// Promise: `trust-follows-content`
    #[test]
    fn a_second_skill_of_a_name_has_nothing() {
        let (mut records, notes) = (TrustRecords::default(), skill("notes", "/s/notes", "a"));
        meet(&mut records, &notes);
        let second = skill("notes", "/t/notes", "b");
        assert_eq!(meet(&mut records, &second), SkillStanding::NameTaken);
        let copy = skill("notes", "/t/copy", "a");
        assert_eq!(meet(&mut records, &copy), SkillStanding::NameTaken);
        assert_eq!(records.name_owners()["notes"], folder_hash(Path::new("/s/notes")));
        // Once a person has looked at it, the name is its own, and the first keeps what it had.
        records.add(second.looked_at_rows());
        assert_eq!(meet(&mut records, &second), SkillStanding::LookedAt);
        assert_eq!(records.name_owners()["notes"], folder_hash(Path::new("/t/notes")));
        assert_eq!(meet(&mut records, &notes), SkillStanding::Seen);
    }

    /// Promise: `trust-follows-content`
    #[test]
    fn what_was_off_stays_off_wherever_it_goes() {
        let mut records = TrustRecords::default();
        meet(&mut records, &skill("notes", "/s/notes", "a"));
        assert_eq!(meet(&mut records, &skill("notes", "/s/notes", "bad")), SkillStanding::Changed);
        for moved in [skill("notes", "/s/moved", "bad"), skill("other", "/s/other", "bad")] {
            assert_eq!(meet(&mut records, &moved), SkillStanding::WasOff);
        }
        let brought = skill("tidy", "/project/skills/tidy", "c");
        assert_eq!(records.judge(&brought, SkillOrigin::Project), SkillStanding::OfProject);
        let rows = records.rows_to_store(&brought, SkillStanding::OfProject).unwrap();
        records.add(rows);
        assert_eq!(meet(&mut records, &skill("tidy", "/s/tidy", "c")), SkillStanding::WasOff);
        // Moved and changed at once, it is a second one of its name.
        let both = skill("notes", "/s/both", "worse");
        assert_eq!(meet(&mut records, &both), SkillStanding::NameTaken);
    }

    #[test]
    fn what_was_known_by_its_files_alone_is_bound_to_its_name() {
        let notes = skill("notes", "/s/notes", "a");
        let mut records = TrustRecords::new(vec![("/s/notes".to_owned(), notes.files)]);
        assert_eq!(meet(&mut records, &notes), SkillStanding::Seen);
        assert_eq!(meet(&mut records, &skill("mail", "/s/notes", "a")), SkillStanding::Changed);
    }
}
