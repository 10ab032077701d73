//! Which of the ranked items a turn takes.

use recto_context::{ItemKind, Pick};
use serde::{Deserialize, Serialize};

/// A group of item kinds that are ranked and counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemGroup {
    /// Rules and references alike.
    Documents,
    /// Skills, by their whole SKILL.md.
    Skills,
    /// Tools, of Recto, skills and servers.
    Tools,
    /// Memories that the session may see.
    Memories,
}

impl ItemGroup {
    /// All groups, in their order.
    pub const ALL: [ItemGroup; 4] =
        [ItemGroup::Documents, ItemGroup::Skills, ItemGroup::Tools, ItemGroup::Memories];

    /// The group of a kind.
    pub fn of_kind(kind: ItemKind) -> ItemGroup {
        match kind {
            ItemKind::Rule | ItemKind::Reference => ItemGroup::Documents,
            ItemKind::Skill => ItemGroup::Skills,
            ItemKind::Tool => ItemGroup::Tools,
            ItemKind::Memory => ItemGroup::Memories,
        }
    }

    /// The name that the config uses.
    pub fn name(self) -> &'static str {
        match self {
            ItemGroup::Documents => "documents",
            ItemGroup::Skills => "skills",
            ItemGroup::Tools => "tools",
            ItemGroup::Memories => "memories",
        }
    }
}

/// A named measure of how many items a turn takes, and how sure search has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchPreset {
    /// Few, and only what fits surely.
    Conservative,
    /// What suits most agents.
    #[default]
    Normal,
    /// More, also what fits perhaps.
    Aggressive,
}

impl SearchPreset {
    /// What the preset stands for.
    pub fn options(self) -> ChoiceOptions {
        let (floor, top_n) = match self {
            SearchPreset::Conservative => (0.6, 3),
            SearchPreset::Normal => (0.4, 5),
            SearchPreset::Aggressive => (0.25, 8),
        };
        ChoiceOptions { top_k: 20, top_n, include_score: 0.7, floor }
    }
}

/// The limits that decide which candidates are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceOptions {
    /// How many candidates are looked at, and recorded.
    pub top_k: usize,
    /// How many are taken.
    pub top_n: usize,
    /// The cosine from which on a candidate is taken whatever else holds.
    pub include_score: f32,
    /// The least probability with which a candidate is taken.
    pub floor: f32,
}

/// The options of all groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// Whether search picks anything.
    pub enabled: bool,
    /// The options for rules and references.
    pub documents: ChoiceOptions,
    /// The options for skills.
    pub skills: ChoiceOptions,
    /// The options for tools.
    pub tools: ChoiceOptions,
    /// The options for memories.
    pub memories: ChoiceOptions,
}

impl Default for SearchOptions {
    fn default() -> Self {
        let options = SearchPreset::default().options();
        let [documents, skills, tools, memories] = [options; 4];
        SearchOptions { enabled: true, documents, skills, tools, memories }
    }
}

impl SearchOptions {
    /// The options of a group.
    pub fn for_group(&self, group: ItemGroup) -> &ChoiceOptions {
        match group {
            ItemGroup::Documents => &self.documents,
            ItemGroup::Skills => &self.skills,
            ItemGroup::Tools => &self.tools,
            ItemGroup::Memories => &self.memories,
        }
    }

    /// Changes the options of every group.
    pub fn set_all(&mut self, change: impl Fn(&mut ChoiceOptions)) {
        for group in ItemGroup::ALL {
            change(self.for_group_mut(group));
        }
    }

    /// The options of a group, to be changed.
    pub fn for_group_mut(&mut self, group: ItemGroup) -> &mut ChoiceOptions {
        match group {
            ItemGroup::Documents => &mut self.documents,
            ItemGroup::Skills => &mut self.skills,
            ItemGroup::Tools => &mut self.tools,
            ItemGroup::Memories => &mut self.memories,
        }
    }
}

/// The items that a turn takes of a group, and those it looked at and left.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupChoice {
    /// The items that are taken, best first.
    pub taken: Vec<Pick>,
    /// The items that are left, best first.
    pub left: Vec<Pick>,
}

impl GroupChoice {
    /// Chooses among ranked items, best first.
    pub fn among(ranked: impl IntoIterator<Item = Pick>, options: &ChoiceOptions) -> GroupChoice {
        let mut choice = GroupChoice::default();
        for mut pick in ranked.into_iter().take(options.top_k) {
            let is_close = pick.scores.cosine.is_some_and(|cosine| cosine >= options.include_score);
            let fits = pick.scores.probability.is_some_and(|found| found >= options.floor);
            if is_close || (fits && choice.taken.len() < options.top_n) {
                choice.taken.push(pick);
            } else {
                pick.scores.floor = (!fits).then_some(options.floor);
                choice.left.push(pick);
            }
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use recto_context::{ItemId, Scores};

    use super::*;

    fn ranked(scores: &[(f32, f32)]) -> Vec<Pick> {
        let pick = |(index, (cosine, probability)): (usize, &(f32, f32))| Pick {
            item: ItemId::new(ItemKind::Rule, format!("{index}")),
            scores: Scores {
                cosine: Some(*cosine),
                probability: Some(*probability),
                ..Scores::default()
            },
            best_chunk: None,
        };
        scores.iter().enumerate().map(pick).collect()
    }

    fn names(picks: &[Pick]) -> Vec<&str> {
        picks.iter().map(|pick| &*pick.item.name).collect()
    }

    #[test]
    fn a_message_that_nothing_fits_takes_nothing() {
        let choice =
            GroupChoice::among(ranked(&[(0.3, 0.39), (0.2, 0.1)]), &SearchPreset::Normal.options());
        assert_eq!(names(&choice.taken), [""; 0]);
        assert_eq!(names(&choice.left), ["0", "1"]);
    }

    #[test]
    fn close_ones_come_on_top_of_the_count() {
        let options = ChoiceOptions { top_k: 4, top_n: 1, include_score: 0.7, floor: 0.4 };
        let close = [(0.5, 0.9), (0.5, 0.8), (0.7, 0.1), (0.69, 0.9), (0.9, 0.9)];
        let choice = GroupChoice::among(ranked(&close), &options);
        assert_eq!(names(&choice.taken), ["0", "2"]);
        // The fifth is beyond those that are looked at.
        assert_eq!(names(&choice.left), ["1", "3"]);
    }
}
