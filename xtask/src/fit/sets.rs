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
    pub(super) name: &'static str,
    pub(super) group: ItemGroup,
    /// How much it counts beside the others of its group.
    pub(super) weight: f64,
    pub(super) entries: Vec<SearchEntry>,
    pub(super) messages: Vec<FitMessage>,
}

/// A message of a set, with the items that fit it.
pub(super) struct FitMessage {
    pub(super) text: String,
    pub(super) fits: HashSet<ItemId>,
    /// Items that look as if they fitted, and don't. What else may fit is not known.
    pub(super) near_misses: HashSet<ItemId>,
}

/// The sets with their folder, their group, and how much they count: one is small.
const PUBLIC: [(&str, ItemGroup, f64); 4] = [
    ("metatool", ItemGroup::Tools, 1.0),
    ("livemcp", ItemGroup::Tools, 0.3),
    ("bfcl", ItemGroup::Tools, 1.0),
    ("skills", ItemGroup::Skills, 1.0),
];

/// All sets. Messages that fit nothing in one of them are asked of every set.
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
    for folder in [public.join("metatool"), own] {
        nothing.extend(lines(&folder.join("none.jsonl"))?.iter().map(|line| text(line, "query")));
    }
    for set in &mut sets {
        let none = nothing.iter().map(|text| FitMessage {
            text: text.clone(),
            fits: HashSet::new(),
            near_misses: HashSet::new(),
        });
        set.messages.extend(none);
    }
    Ok(sets)
}

fn read_set(
    name: &'static str,
    group: ItemGroup,
    weight: f64,
    folder: &Path,
) -> Result<LabelledSet> {
    let (mut ids, mut seen) = (HashMap::new(), HashSet::new());
    let mut entries = Vec::new();
    for line in lines(&folder.join("items.jsonl"))? {
        let kind = match &*text(&line, "kind") {
            "rule" => ItemKind::Rule,
            "reference" => ItemKind::Reference,
            "skill" => ItemKind::Skill,
            "tool" => ItemKind::Tool,
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
        let text = text(&line, "text").into();
        entries.push(SearchEntry { item, description, text, thread: None, when: None });
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
    let message = |line: &Value| FitMessage {
        text: text(line, "query"),
        fits: named(line, "relevant"),
        near_misses: named(line, "not_relevant"),
    };
    let messages = found.iter().map(message).collect();
    Ok(LabelledSet { name, group, weight, entries, messages })
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}
