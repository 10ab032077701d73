//! When items are included: what says so, in which order, and what becomes of skills of which
//! nothing says anything. Pure.
//!
//! A skill is always there unless something else is said: people write one so that it is
//! used. That serves a few; of many long ones the page would hold the first by name. So when
//! the bodies of all such skills together are too long for every page, all of them come when
//! they fit the message instead: none is preferred for its name.

use std::collections::BTreeMap;

use recto_context::{
    ContentSource, FileNotice, IncludeMode, ItemId, ItemKind, Remedy, Skill, TokenCounter, Tokens,
};

use crate::options::WorkspaceOptions;

/// What says when an item is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncludeSource {
    /// The config, for this item.
    Config {
        /// What the item's own file says, which the config wins over.
        in_file: Option<IncludeMode>,
    },
    /// The item's own file.
    OwnFile,
    /// The config, for all items of the kind.
    Kind,
    /// Nothing: it is as is usual for the kind.
    Usual,
    /// Nothing, and the skills of which that is so are too long for every page.
    TooLong,
}

/// Skills that come when they fit because they are too long to be always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongSkills {
    /// How many they are.
    pub count: usize,
    /// What their bodies would cost on every page, as estimated.
    pub tokens: Tokens,
    /// What they may cost.
    pub limit: Tokens,
}

/// The include mode of an item, and what says it. The config's word for the item wins, then
/// its own file's, then the config's word for its kind.
pub(crate) fn choose_include(
    item: &ItemId,
    declared: Option<IncludeMode>,
    usual: IncludeMode,
    options: &WorkspaceOptions,
) -> (IncludeSource, IncludeMode) {
    let set = options.overrides(item.kind, &item.name).include;
    let of_kind = options.kind_includes.get(&item.kind).copied();
    let set = set.map(|set| (IncludeSource::Config { in_file: declared }, set));
    set.or(declared.map(|include| (IncludeSource::OwnFile, include)))
        .or(of_kind.map(|include| (IncludeSource::Kind, include)))
        .unwrap_or((IncludeSource::Usual, usual))
}

impl LongSkills {
    /// What a person is told of them.
    pub fn notice(&self) -> FileNotice {
        let LongSkills { count, tokens, limit } = self;
        let [skills, come, are] = match count {
            1 => ["skill comes", "it fits", "it is"],
            _ => ["skills come", "they fit", "they are"],
        };
        let problem = format!(
            "{count} {skills} only when {come} the message: nothing says when {are} included, and \
             {tokens} tokens of bodies are too much for every page (`skills.always_tokens` is \
             {limit}); say what you want, for all skills or for one"
        );
        let remedy = Remedy::SetSkillIncludes;
        FileNotice::new(ContentSource::BuiltIn, problem).with_remedy(remedy)
    }

    /// Lets the skills of which nothing is said come when they fit, if they are too long
    /// together. Estimated counts decide, so that no model's tokenizer changes what there is.
    pub(crate) fn hold_back(
        skills: &mut [Skill],
        sources: &mut BTreeMap<ItemId, IncludeSource>,
        limit: Tokens,
    ) -> Option<Self> {
        let counter = TokenCounter::estimated();
        let id = |skill: &Skill| ItemId::new(ItemKind::Skill, skill.name.clone());
        let is_usual = |skill: &Skill| sources.get(&id(skill)) == Some(&IncludeSource::Usual);
        let usual: Vec<&mut Skill> = skills.iter_mut().filter(|skill| is_usual(skill)).collect();
        let cost = |skill: &&mut Skill| counter.text(&skill.heading) + counter.text(&skill.body);
        let (count, tokens) = (usual.len(), usual.iter().map(cost).sum::<Tokens>());
        if tokens <= limit {
            return None;
        }
        for skill in usual {
            skill.include = IncludeMode::Agent;
            sources.insert(id(skill), IncludeSource::TooLong);
        }
        Some(LongSkills { count, tokens, limit })
    }
}
