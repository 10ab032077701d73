//! Which of the ranked items a turn takes, and which it only lists by name.

use std::collections::HashMap;

use recto_context::{ItemId, ItemKind, Pick};
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

    /// What the preset stands for where items are only listed.
    pub fn list_options(self) -> ListOptions {
        let (floor, opening) = match self {
            SearchPreset::Conservative => (0.05, 0.4),
            SearchPreset::Normal => (0.02, 0.25),
            SearchPreset::Aggressive => (0.01, 0.15),
        };
        ListOptions { lines: 12, floor, opening }
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

/// The limits that decide which candidates are listed by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListOptions {
    /// How many items the list has room for.
    pub lines: usize,
    /// The least probability with which a candidate is listed.
    pub floor: f32,
    /// The least probability that the best of all has, taken or not: below it the message asks
    /// for nothing that is there, and nothing is listed.
    pub opening: f32,
}

impl ListOptions {
    /// The same for a list of so many items.
    pub fn with_lines(self, lines: usize) -> Self {
        ListOptions { lines, ..self }
    }
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
    /// What is listed by name, across all groups.
    pub list: ListOptions,
    /// Whether what the person used before in messages like this one speaks for items.
    pub own_use: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        let preset = SearchPreset::default();
        let [documents, skills, tools, memories] = [preset.options(); 4];
        let list = preset.list_options();
        SearchOptions { enabled: true, documents, skills, tools, memories, list, own_use: true }
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
        // What is there only for its earlier use comes on top: it takes nothing from others.
        let (mut own, mut by_use) = (0, 0);
        for (place, mut pick) in ranked.into_iter().enumerate() {
            let earlier = pick.scores.earlier_use;
            let is_looked_at = place < options.top_k;
            if !is_looked_at && earlier.is_none() {
                continue;
            }
            let is_close = is_looked_at
                && pick.scores.cosine.is_some_and(|cosine| cosine >= options.include_score);
            let fits = pick.scores.probability.is_some_and(|found| found >= options.floor);
            let needs_use = !is_looked_at || earlier.is_some_and(|it| it.without < options.floor);
            let count = if needs_use { &mut by_use } else { &mut own };
            if is_close || (fits && *count < options.top_n) {
                *count += 1;
                choice.taken.push(pick);
            } else {
                pick.scores.floor = (!fits).then_some(options.floor);
                choice.left.push(pick);
            }
        }
        choice
    }
}

/// The share of a list that one group may have before others have had their lines, and the one
/// that the tools of one server may.
const GROUP_SHARE: f32 = 0.5;
const SERVER_SHARE: f32 = 0.25;

/// What a cosine counts for the order of a list, beside the logarithm of the odds: among what is
/// improbable anyway, being near in meaning tells more than it does of what is taken.
const LIST_COSINE: f32 = 3.0;

/// Chooses which of the items that were left are listed by name: the likelier first, and
/// none where even the best of all is improbable. What goes beyond the share of its group or
/// server comes behind what others have. There may be more than the list has room for: some may
/// stand on the page for another reason.
///
/// `best` is the probability of the best of all, wherever it stands.
pub fn choose_listed<'a>(best: f32, left: &'a [Pick], options: &ListOptions) -> Vec<&'a Pick> {
    if options.lines == 0 || best < options.opening {
        return Vec::new();
    }
    let mut possible: Vec<&Pick> =
        left.iter().filter(|pick| probability(pick) >= options.floor).collect();
    possible.sort_by(|a, b| listing_score(b).total_cmp(&listing_score(a)));
    let mut shares = ListShares::new(options.lines);
    let (mut listed, beyond): (Vec<&Pick>, Vec<&Pick>) =
        possible.into_iter().partition(|pick| shares.take(&pick.item));
    listed.extend(beyond);
    listed
}

/// The probability of the best of all.
pub fn best_probability<'a>(picks: impl IntoIterator<Item = &'a Pick>) -> f32 {
    picks.into_iter().map(probability).fold(0.0, f32::max)
}

/// What the lines of a list are ordered by.
fn listing_score(pick: &Pick) -> f32 {
    let known = probability(pick).clamp(f32::EPSILON, 1.0 - f32::EPSILON);
    (known / (1.0 - known)).ln() + LIST_COSINE * pick.scores.cosine.unwrap_or(0.0)
}

fn probability(pick: &Pick) -> f32 {
    pick.scores.probability.unwrap_or(0.0)
}

/// How many lines each group and each server has so far.
struct ListShares<'a> {
    of_group: usize,
    of_server: usize,
    groups: HashMap<ItemGroup, usize>,
    servers: HashMap<&'a str, usize>,
}

impl<'a> ListShares<'a> {
    fn new(lines: usize) -> Self {
        let share = |part: f32| ((lines as f32 * part).ceil() as usize).max(1);
        ListShares {
            of_group: share(GROUP_SHARE),
            of_server: share(SERVER_SHARE),
            groups: HashMap::new(),
            servers: HashMap::new(),
        }
    }

    /// Counts an item, if its group and its server have a line left.
    fn take(&mut self, item: &'a ItemId) -> bool {
        let group = self.groups.entry(ItemGroup::of_kind(item.kind)).or_default();
        let mut none = 0;
        let server = match &item.server {
            Some(server) => self.servers.entry(server).or_default(),
            None => &mut none,
        };
        let has_line = *group < self.of_group && *server < self.of_server;
        if has_line {
            *group += 1;
            *server += 1;
        }
        has_line
    }
}

#[cfg(test)]
mod tests {
    use recto_context::{ItemId, Scores};

    use super::*;

    fn ranked(scores: &[(f32, f32)]) -> Vec<Pick> {
        let pick = |(index, (cosine, probability)): (usize, &(f32, f32))| {
            Pick::new(
                ItemId::new(ItemKind::Rule, format!("{index}")),
                Scores {
                    cosine: Some(*cosine),
                    probability: Some(*probability),
                    ..Scores::default()
                },
            )
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

    fn found(kind: ItemKind, server: Option<&str>, name: &str, probability: f32) -> Pick {
        let item = ItemId { kind, name: name.into(), server: server.map(Into::into) };
        let scores = Scores { probability: Some(probability), ..Scores::default() };
        Pick::new(item, scores)
    }

    fn listed(taken: &[Pick], left: &[Pick], options: ListOptions) -> Vec<String> {
        let chosen = choose_listed(best_probability(taken.iter().chain(left)), left, &options);
        chosen.iter().map(|pick| pick.item.name.to_string()).collect()
    }

    const OPTIONS: ListOptions = ListOptions { lines: 4, floor: 0.02, opening: 0.25 };

    #[test]
    fn what_is_possible_is_listed_and_the_likeliest_stands_first() {
        let left = ranked(&[(0.5, 0.1), (0.5, 0.01), (0.5, 0.3), (0.5, 0.02)]);
        assert_eq!(listed(&[], &left, OPTIONS), ["2", "0", "3"]);
        assert_eq!(listed(&[], &left, OPTIONS.with_lines(0)), [""; 0]);
        // Of two that are about as probable, the nearer one.
        assert_eq!(listed(&[], &ranked(&[(0.2, 0.31), (0.4, 0.3)]), OPTIONS), ["1", "0"]);
    }

    #[test]
    fn nothing_is_listed_where_even_the_best_is_improbable() {
        let left = ranked(&[(0.5, 0.24), (0.5, 0.2)]);
        assert_eq!(listed(&[], &left, OPTIONS), [""; 0]);
        // What was taken counts: the message asks for something.
        assert_eq!(listed(&ranked(&[(0.5, 0.6)]), &left, OPTIONS), ["0", "1"]);
        let unknown = Pick { scores: Scores::default(), ..left[0].clone() };
        assert_eq!(listed(&ranked(&[(0.5, 0.6)]), &[unknown], OPTIONS), [""; 0]);
    }

    /// Promise: `list-not-crowded`
    #[test]
    fn no_group_and_no_server_crowds_the_others_out() {
        let tool = |name: &str, server: &str, probability| {
            found(ItemKind::Tool, Some(server), name, probability)
        };
        let mut left: Vec<Pick> = (0..6u8)
            .map(|n| tool(&format!("git-{n}"), "git", 0.3 - f32::from(n) / 100.0))
            .collect();
        left.push(tool("mail", "mail", 0.1));
        left.push(found(ItemKind::Rule, None, "tone", 0.05));
        left.push(found(ItemKind::Memory, None, "tea", 0.04));
        let chosen = listed(&[], &left, OPTIONS);
        assert_eq!(chosen[..4], ["git-0", "mail", "tone", "tea"]);
        // Where nobody else wants them, the lines are theirs.
        assert_eq!(listed(&[], &left[..6], OPTIONS)[..4], ["git-0", "git-1", "git-2", "git-3"]);
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
