//! Labelled messages: the public sets and the repository's own.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use recto_context::{ItemId, ItemKind};
use recto_search::{ItemGroup, SearchEntry};
use serde_json::Value;

use crate::Result;

/// Items, and messages of which it is known what fits them.
pub(super) struct LabelledSet {
    pub(super) name: String,
    pub(super) group: ItemGroup,
    /// How much it counts beside the others of its group.
    pub(super) weight: f64,
    /// What it is asked about.
    pub(super) purpose: SetPurpose,
    /// Whether the encoder has learnt from it. Its cosines then flatter: no weight of the order or
    /// the decision that counts cosines rests on them, and the correction a little.
    pub(super) is_taught: bool,
    /// The person's workspace that it is a part of, by its place among them.
    pub(super) world: Option<usize>,
    pub(super) entries: Vec<SearchEntry>,
    pub(super) messages: Vec<FitMessage>,
}

/// A message of a set, with the items that fit it.
pub(super) struct FitMessage {
    pub(super) text: String,
    /// What the same person said before, where the message can't stand by itself.
    pub(super) before: Option<String>,
    pub(super) fits: HashSet<ItemId>,
    /// Those of them that only help.
    pub(super) helps: HashSet<ItemId>,
    /// Whether the message asks for anything, of this group or of another one.
    pub(super) asks: bool,
    /// Items that look as if they fitted, and don't. What else may fit is not known.
    pub(super) near_misses: HashSet<ItemId>,
}

/// What a set says something about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SetPurpose {
    /// The order of items, and which of them are taken.
    OrderAndDecision,
    /// The order alone: its messages name one of hundreds of items that would do, which is not
    /// how somebody's own workspace is.
    Order,
}

/// The sets with their folder, their group, and how much they count: one is small.
const PUBLIC: [(&str, ItemGroup, f64); 4] = [
    ("metatool", ItemGroup::Tools, 1.0),
    ("livemcp", ItemGroup::Tools, 0.3),
    ("bfcl", ItemGroup::Tools, 1.0),
    ("skills", ItemGroup::Skills, 1.0),
];

/// The sets that `scripts/fit-adapter` teaches the encoder, beside its own sketches.
const TAUGHT: [&str; 3] = ["metatool", "bfcl", "own"];

/// The workspaces of people of other trades, in `sets/worlds`, which the encoder has never seen.
pub(super) const WORLDS: [&str; 7] =
    ["bistro", "boxoffice", "builder", "clinic", "school", "translator", "windfarm"];

/// How much a world counts in each group: together they are worth two public sets.
const WORLD_WEIGHT: f64 = 0.3;

/// All sets. Messages that fit nothing in one of them are asked of every set but the worlds,
/// which have their own.
pub(super) fn read(root: &Path) -> Result<Vec<LabelledSet>> {
    let public = env::var_os("RECTO_BENCH_SETS").map(PathBuf::from);
    let public = public.unwrap_or_else(|| root.join("../shared/bench"));
    if !public.is_dir() {
        let why = "the public sets are not there; set RECTO_BENCH_SETS to their folder";
        return Err(format!("{}: {why}", public.display()).into());
    }
    let own = root.join("crates/recto-search/sets");
    let mut sets = Vec::new();
    for (name, group, weight) in PUBLIC {
        sets.push(read_set(name, group, weight, &public.join(name))?);
    }
    sets.push(read_set("own", ItemGroup::Documents, 1.0, &own)?);
    let mut nothing = Vec::new();
    for folder in [public.join("metatool"), own.clone()] {
        nothing.extend(lines(&folder.join("none.jsonl"))?.iter().map(|line| text(line, "query")));
    }
    for set in &mut sets {
        set.messages.extend(nothing.iter().map(|text| FitMessage::nothing(text.clone(), None)));
    }
    for (world, name) in WORLDS.iter().enumerate() {
        sets.extend(read_world(world, name, &own.join("worlds").join(name))?);
    }
    Ok(sets)
}

impl FitMessage {
    /// A message that needs nothing, whatever was said before it.
    fn nothing(text: String, before: Option<String>) -> FitMessage {
        let none = HashSet::new;
        let (fits, helps, near_misses) = (none(), none(), none());
        FitMessage { text, before, fits, helps, asks: false, near_misses }
    }
}

/// The groups of a world, each as a set of its own with all messages.
fn read_world(world: usize, name: &str, folder: &Path) -> Result<Vec<LabelledSet>> {
    let whole = read_set(name, ItemGroup::Documents, WORLD_WEIGHT, folder)?;
    let nothing = lines(&folder.join("none.jsonl"))?;
    let of_group = |group: ItemGroup| {
        let is_in = |id: &ItemId| ItemGroup::of_kind(id.kind) == group;
        let only = |ids: &HashSet<ItemId>| ids.iter().filter(|id| is_in(id)).cloned().collect();
        let messages = whole.messages.iter().map(|message| FitMessage {
            text: message.text.clone(),
            before: message.before.clone(),
            fits: only(&message.fits),
            helps: only(&message.helps),
            asks: true,
            near_misses: HashSet::new(),
        });
        // Who talks has asked for something before: going on from it is no request yet.
        let before = whole.messages.iter().map(|message| Some(message.text.clone())).cycle();
        let nothing = nothing.iter().zip(before);
        let nothing =
            nothing.map(|(line, before)| FitMessage::nothing(text(line, "query"), before));
        LabelledSet {
            name: format!("{name} {}", group.name()),
            group,
            weight: WORLD_WEIGHT,
            purpose: SetPurpose::OrderAndDecision,
            is_taught: false,
            world: Some(world),
            entries: whole.entries.iter().filter(|entry| is_in(&entry.item)).cloned().collect(),
            messages: messages.chain(nothing).collect(),
        }
    };
    Ok(ItemGroup::ALL.map(of_group).into())
}

fn read_set(name: &str, group: ItemGroup, weight: f64, folder: &Path) -> Result<LabelledSet> {
    let (mut ids, mut seen) = (HashMap::new(), HashSet::new());
    let mut entries = Vec::new();
    for line in lines(&folder.join("items.jsonl"))? {
        let kind = match &*text(&line, "kind") {
            "rule" => ItemKind::Rule,
            "reference" => ItemKind::Reference,
            "skill" => ItemKind::Skill,
            "tool" => ItemKind::Tool,
            "memory" => ItemKind::Memory,
            other => return Err(format!("{name}: unknown kind `{other}`").into()),
        };
        let (id, mut item) = (text(&line, "id"), ItemId::new(kind, text(&line, "name")));
        if !seen.insert(item.clone()) {
            // Names can stand twice; ids can't.
            item = ItemId::new(kind, id.clone());
        }
        ids.insert(id, item.clone());
        let description = Some(text(&line, "description")).filter(|text| !text.trim().is_empty());
        let description = description.map(Into::into);
        let when = Some(text(&line, "time")).filter(|time| !time.is_empty()).map(Into::into);
        let text = text(&line, "text").into();
        entries.push(SearchEntry { item, description, text, thread: None, when });
    }
    let mut found = lines(&folder.join("queries.jsonl"))?;
    let negatives = folder.join("negatives.jsonl");
    if negatives.is_file() {
        found.extend(lines(&negatives)?);
    }
    let named = |line: &Value, key: &str| -> HashSet<ItemId> {
        let named = line[key].as_array().into_iter().flatten();
        named.filter_map(|id| ids.get(id.as_str()?).cloned()).collect()
    };
    let names: HashMap<&ItemId, &String> = ids.iter().map(|(id, item)| (item, id)).collect();
    let message = |line: &Value| FitMessage {
        text: text(line, "query"),
        before: Some(text(line, "before")).filter(|before| !before.is_empty()),
        helps: named(line, "relevant")
            .into_iter()
            .filter(|id| names.get(id).is_some_and(|id| line["grade"][id].as_u64() == Some(1)))
            .collect(),
        asks: line["relevant"].as_array().is_some_and(|relevant| !relevant.is_empty()),
        fits: named(line, "relevant"),
        near_misses: named(line, "not_relevant"),
    };
    let messages = found.iter().map(message).collect();
    let purpose = match group {
        ItemGroup::Skills => SetPurpose::Order,
        _ => SetPurpose::OrderAndDecision,
    };
    let (name, is_taught) = (name.to_owned(), TAUGHT.contains(&name));
    Ok(LabelledSet { name, group, weight, purpose, is_taught, world: None, entries, messages })
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}
