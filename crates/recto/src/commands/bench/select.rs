//! `recto bench select`: items ranked for queries, and what a turn would take.
//!
//! The items of a file stand in for those of a workspace. They are indexed once, memories
//! by themselves, and every query is embedded, ranked and chosen from as a message
//! is, with the options of the config: by words alone where it names nothing, and memories by
//! their age, too, without those that say the same. No memory stands on the page anyway.
//! With `--scope`, what is searched are chats, of which all is ranked. How good that is, others
//! score.

mod uses;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_agent::{MemoryRanking, asks_for_memories, by_probability};
use recto_context::mode::words;
use recto_context::{
    ItemId, ItemKind, ListEntry, ListLimits, POSSIBLE_HEADING, Pick, Text, TokenCounter, Tokens,
    write_list,
};
use recto_search::{
    ChoiceOptions, Embedding, Encoder, EncoderError, EncoderSource, GroupChoice, MissingVector,
    PackedVector, SearchEntry, SearchIndex, SearchMessage, SearchOptions, SearchQuery, UseEvidence,
    best_probability, choose_listed,
};
use serde::Deserialize;
use serde_json::json;

use super::lines;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{tame, tell};
use crate::remedy_words::with_command;
use crate::setup;
use crate::terminal::status::StatusLine;
use uses::{BenchUses, UseLine};

/// The most items that a line of the result names.
const RANKED: usize = 100;

/// The number of texts embedded at once: enough to be fast, few enough to tell
/// how far it is.
const BATCH: usize = 512;

/// How often progress is shown, and how often it is told where nobody watches.
const SHOWN: Duration = Duration::from_millis(100);
const TOLD: Duration = Duration::from_secs(5);

/// The items that are candidates for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateSet {
    All,
    /// Those of the query's own scope.
    Scope,
}

#[derive(Deserialize)]
struct ItemLine {
    id: String,
    kind: ItemKind,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    scope: Option<Arc<str>>,
    #[serde(default)]
    server: Option<Arc<str>>,
    /// When it was said: a day, perhaps with the hour before it (`1:56 pm on 8 May, 2023`).
    #[serde(default)]
    time: Option<String>,
}

#[derive(Deserialize)]
struct QueryLine {
    id: String,
    query: String,
    /// What the same person said before.
    #[serde(default)]
    before: Option<String>,
    #[serde(default)]
    scope: Option<Arc<str>>,
    /// The day on which it is said; where there is none, that of the newest item.
    #[serde(default)]
    now: Option<String>,
}

/// Reads two files, ranks the items of one for each query of the other, and writes a third.
pub(super) fn run(
    home: &RectoHome,
    [items_file, queries_file, out_file]: [&Path; 3],
    uses_file: Option<&Path>,
    among: CandidateSet,
) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    let items = lines::read::<ItemLine>(items_file)?;
    let queries = lines::read::<QueryLine>(queries_file)?;
    lines::check_ids(items_file, items.iter().map(|(line, item)| (*line, &*item.id)))?;
    lines::check_ids(queries_file, queries.iter().map(|(line, query)| (*line, &*query.id)))?;
    if among == CandidateSet::Scope {
        check_scopes(queries_file, &queries)?;
    }
    let failed = |error: io::Error| {
        CliFailure::new(format!("cannot write {}", out_file.display())).because(&error)
    };
    let mut out = BufWriter::new(File::create(out_file).map_err(failed)?);
    let parts = setup::search_parts(&settings);
    let encoder = encoder(parts.encoder.as_ref().map(|encoder| encoder.source()));
    let list_tokens = Tokens::new(settings.search.list_tokens);
    let mut bench = SelectBench::index_items(items, encoder, parts.options, list_tokens);
    if let Some(uses_file) = uses_file {
        bench.add_uses(lines::read::<UseLine>(uses_file)?);
    }
    let begun = Instant::now();
    let mut summary = BenchSummary::default();
    let mut progress = BenchProgress::new();
    for (index, (_, query)) in queries.iter().enumerate() {
        let answer = bench.ask(query, among);
        summary.add(&answer);
        writeln!(out, "{}", answer.line(&query.id)).map_err(failed)?;
        progress.show(index + 1, queries.len(), "queries");
    }
    progress.end();
    out.flush().map_err(failed)?;
    tell(&format_args!("{summary} in {:.1} s", begun.elapsed().as_secs_f64()));
    Ok(())
}

fn check_scopes(path: &Path, queries: &[(usize, QueryLine)]) -> CliResult {
    match queries.iter().find(|(_, query)| query.scope.is_none()) {
        None => Ok(()),
        Some((line, query)) => {
            let what =
                format!("{}:{line}: the query `{}` has no scope", path.display(), tame(&query.id));
            Err(CliFailure::new(what).hint("leave --scope out to search among all items"))
        }
    }
}

/// The encoder, or word of why the search goes by words alone, as a turn's would.
fn encoder(source: Option<&EncoderSource>) -> Option<Encoder> {
    let tell_problem = |error: EncoderError| match error {
        EncoderError::Missing { .. } => tell(
            &"by words alone: there is no embedding model\n  hint: run `recto models pull minilm`",
        ),
        error => {
            let hint = with_command(error.hint(), error.remedy().as_ref());
            tell(&format_args!("by words alone: {error}\n  hint: {hint}"));
        }
    };
    source?.load().map_err(tell_problem).ok()
}

/// The items of the file, indexed and ready to be ranked.
struct SelectBench {
    index: SearchIndex,
    memories: SearchIndex,
    /// Since when each memory is known.
    known_since: HashMap<ItemId, Option<i64>>,
    encoder: Option<Encoder>,
    options: SearchOptions,
    list_tokens: Tokens,
    items: HashMap<ItemId, BenchItem>,
    /// What was used for messages of before, if there are any.
    uses: Option<BenchUses>,
}

/// An item of the file, with what search does not see of it.
struct BenchItem {
    id: String,
    scope: Option<Arc<str>>,
    tokens: Tokens,
    /// What a list says of it.
    description: String,
}

impl SelectBench {
    fn index_items(
        lines: Vec<(usize, ItemLine)>,
        encoder: Option<Encoder>,
        options: SearchOptions,
        list_tokens: Tokens,
    ) -> Self {
        let mut items = HashMap::new();
        let (mut entries, mut memories) = (Vec::with_capacity(lines.len()), Vec::new());
        let mut known_since = HashMap::new();
        let counter = TokenCounter::estimated();
        for (_, line) in lines {
            let entry = line.entry(&items);
            let tokens = counter.text(&entry.text) + counter.text(&header(&entry));
            let description = entry.description.as_deref().unwrap_or(&entry.text).to_owned();
            let since = line.time.as_deref().and_then(day).map(|day| day.as_second());
            let item = BenchItem { id: line.id, scope: line.scope, tokens, description };
            items.insert(entry.item.clone(), item);
            if entry.item.kind == ItemKind::Memory {
                known_since.insert(entry.item.clone(), since);
                memories.push(entry);
            } else {
                entries.push(entry);
            }
        }
        let [index, memories] =
            [entries, memories].map(|entries| indexed(entries, encoder.as_ref()));
        let uses = None;
        SelectBench { index, memories, known_since, encoder, options, list_tokens, items, uses }
    }

    /// Has messages of before speak for what they needed.
    fn add_uses(&mut self, lines: Vec<(usize, UseLine)>) {
        let items = self.items.iter().map(|(item, line)| (line.id.as_str(), item)).collect();
        self.uses = Some(BenchUses::index_messages(lines, &items, self.encoder.as_ref()));
    }

    /// Ranks as a turn does.
    fn ask(&self, query: &QueryLine, among: CandidateSet) -> AnswerLine<'_> {
        let begun = Instant::now();
        let typed = SearchMessage::new(&query.query, query.before.as_deref());
        // Where nothing is named, a turn goes by words.
        let encoder = self.encoder.as_ref().filter(|_| !words::names_nothing(typed.whole()));
        let as_typed = embed_message(encoder, &typed);
        let weigh = |uses: &BenchUses| uses.weigh(&query.id, &typed, &typed.query(&as_typed));
        let uses = self.uses.as_ref().map(weigh).unwrap_or_default();
        let in_scope = |id: &ItemId| match among {
            CandidateSet::All => true,
            CandidateSet::Scope => self.items.get(id).is_some_and(|item| item.scope == query.scope),
        };
        let mut found = BenchFindings::default();
        for index in [&self.index, &self.memories] {
            let read = index.read(&typed, encoder, in_scope);
            let embeddings = read.as_ref().map(|read| embed_message(encoder, read));
            let embeddings = embeddings.as_ref().unwrap_or(&as_typed);
            let asked = read.as_ref().unwrap_or(&typed).query(embeddings);
            let is_turn = among == CandidateSet::All;
            if is_turn && std::ptr::eq(index, &self.memories) {
                found.add_memories(self.rank_memories(query, &asked), &uses, &self.options);
                continue;
            }
            for (group, picks) in index.rank_groups(&asked, in_scope, usize::MAX) {
                found.add(picks, &uses, self.options.for_group(group));
            }
        }
        // For these, a turn does not search.
        if words::is_courtesy(&query.query) {
            found = BenchFindings { groups: found.groups, ..BenchFindings::default() };
        }
        let BenchFindings { groups, mut taken, left, best } = found;
        let ranked = merge_groups(groups);
        taken.sort_by(by_probability);
        let milliseconds = begun.elapsed().as_secs_f64() * 1_000.0;
        let listed = self.listed(best, &left);
        let probabilities = ranked.iter().map(|pick| pick.scores.probability).collect();
        let (ranked, picked) = (self.known(&ranked), self.known(&taken));
        AnswerLine { ranked, probabilities, picked, listed, milliseconds }
    }

    /// The memories as a turn ranks them, on the day on which the message is sent.
    fn rank_memories(&self, query: &QueryLine, asked: &SearchQuery<'_>) -> Vec<Pick> {
        let texts = self.items.iter().filter(|(id, _)| id.kind == ItemKind::Memory);
        if !asks_for_memories(&query.query, texts.map(|(_, item)| &*item.description)) {
            return Vec::new();
        }
        let newest = || self.known_since.values().copied().flatten().max();
        let newest = || newest().and_then(|newest| Timestamp::from_second(newest).ok());
        let now = query.now.as_deref().and_then(day).or_else(newest).unwrap_or_default();
        MemoryRanking::of_entries(&self.memories, asked, &self.known_since, now).best
    }

    /// What a turn lists by name, within the lines and tokens that it has for that.
    fn listed(&self, best: f32, left: &[Pick]) -> BenchList<'_> {
        let chosen = choose_listed(best, left, &self.options.list);
        let known = chosen.into_iter().filter_map(|pick| self.items.get_key_value(&pick.item));
        let known: Vec<(&ItemId, &BenchItem)> = known.collect();
        let entries =
            known.iter().map(|(id, item)| ListEntry { item: id, description: &item.description });
        let limits = ListLimits { lines: self.options.list.lines, tokens: self.list_tokens };
        let lines = write_list(&POSSIBLE_HEADING, &entries.collect::<Vec<_>>(), limits);
        let items = known.into_iter().map(|(_, item)| item).take(lines.len()).collect();
        let mut list: Vec<String> = lines.iter().map(|line| line.as_str().to_owned()).collect();
        list.insert(0, POSSIBLE_HEADING.as_str().to_owned());
        let tokens = match lines.is_empty() {
            true => Tokens::ZERO,
            false => TokenCounter::estimated().text(&list.join("\n").into()),
        };
        BenchList { items, tokens }
    }

    fn known(&self, picks: &[Pick]) -> Vec<&BenchItem> {
        picks.iter().filter_map(|pick| self.items.get(&pick.item)).collect()
    }
}

impl ItemLine {
    /// The item as search sees it. Names that files use more than once are told
    /// apart by what an item stands in, or at last by its id.
    fn entry(&self, others: &HashMap<ItemId, BenchItem>) -> SearchEntry {
        let server = self.server.clone().or_else(|| self.scope.clone());
        let mut item = ItemId { kind: self.kind, name: self.name.as_str().into(), server };
        if others.contains_key(&item) {
            item.server = Some(self.id.as_str().into());
        }
        let description = self.description.as_deref().map(str::trim);
        let day = self.time.as_deref().map(|time| time.rsplit(" on ").next().unwrap_or(time));
        SearchEntry {
            item,
            description: description.filter(|text| !text.is_empty()).map(Into::into),
            text: self.text.as_deref().unwrap_or_default().into(),
            thread: self.scope.clone(),
            when: day.map(Into::into),
        }
    }
}

/// What was found for a query.
#[derive(Default)]
struct BenchFindings {
    /// All that was ranked.
    groups: Vec<Vec<Pick>>,
    taken: Vec<Pick>,
    left: Vec<Pick>,
    /// The probability of the best of all.
    best: f32,
}

impl BenchFindings {
    fn add(&mut self, mut picks: Vec<Pick>, uses: &UseEvidence, options: &ChoiceOptions) {
        uses.raise(&mut picks);
        let choice = GroupChoice::among(picks.iter().cloned(), options);
        self.best = self.best.max(best_probability(choice.taken.iter().chain(&choice.left)));
        self.taken.extend(choice.taken);
        self.left.extend(choice.left);
        self.groups.push(picks);
    }

    /// Adds memories, the best of which counts wherever its age puts it.
    fn add_memories(&mut self, picks: Vec<Pick>, uses: &UseEvidence, options: &SearchOptions) {
        self.add(picks, uses, &MemoryRanking::options(options));
        self.best = self.best.max(self.groups.last().map_or(0.0, best_probability));
    }
}

/// All groups as one ranking: the more probable one first, and within a group the order stays.
fn merge_groups(groups: Vec<Vec<Pick>>) -> Vec<Pick> {
    let mut groups: Vec<VecDeque<Pick>> = groups.into_iter().map(VecDeque::from).collect();
    let mut ranked = Vec::new();
    while ranked.len() < RANKED {
        let head = |group: &VecDeque<Pick>| group.front()?.scores.probability;
        let best = groups
            .iter_mut()
            .filter(|group| !group.is_empty())
            .max_by(|a, b| head(a).unwrap_or(0.0).total_cmp(&head(b).unwrap_or(0.0)));
        match best.and_then(VecDeque::pop_front) {
            Some(pick) => ranked.push(pick),
            None => break,
        }
    }
    ranked
}

/// What stands before the text of an item, on the page or in a schema.
fn header(entry: &SearchEntry) -> Text {
    match &entry.description {
        Some(description) => format!("{}: {description}", entry.item.name).into(),
        None => entry.item.name.to_string().into(),
    }
}

/// An index that holds these entries, with their vectors where there is an encoder.
fn indexed(entries: Vec<SearchEntry>, encoder: Option<&Encoder>) -> SearchIndex {
    let mut index = SearchIndex::default();
    index.update(entries);
    if let Some(encoder) = encoder {
        index.set_space(encoder.space().clone());
        embed(&mut index, encoder);
    }
    index
}

/// The embeddings of a message's texts; none without an encoder.
fn embed_message(encoder: Option<&Encoder>, message: &SearchMessage) -> Vec<Embedding> {
    let texts = encoder.map(|encoder| message.texts().map(move |text| encoder.encode_query(text)));
    texts.into_iter().flatten().collect()
}

/// The beginning of a day that is written as `2026-04-22`.
fn day(written: &str) -> Option<Timestamp> {
    let day: Date = written.parse().ok()?;
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Gives every text its vector.
fn embed(index: &mut SearchIndex, encoder: &Encoder) {
    let missing = index.missing(|_| true);
    let begun = Instant::now();
    let mut progress = BenchProgress::new();
    for (number, batch) in missing.chunks(BATCH).enumerate() {
        progress.show(number * BATCH, missing.len(), "texts embedded");
        let texts: Vec<&str> = batch.iter().map(|missing| &*missing.text).collect();
        let vectors = encoder.encode_documents(&texts);
        let key = |missing: &MissingVector| missing.key;
        index.supply(batch.iter().map(key).zip(vectors.iter().map(PackedVector::from)));
    }
    progress.end();
    let seconds = begun.elapsed().as_secs_f64();
    let (count, name) = (missing.len(), encoder.name());
    tell(&format_args!("{count} texts embedded in {seconds:.1} s by {}", tame(name)));
}

/// The display of how far something is: one line for a person, a line now and then for others.
struct BenchProgress {
    status: StatusLine,
    is_watched: bool,
    shown_at: Instant,
}

impl BenchProgress {
    fn new() -> Self {
        let is_watched = io::stderr().is_terminal();
        BenchProgress { status: StatusLine::new(), is_watched, shown_at: Instant::now() }
    }

    fn show(&mut self, done: usize, total: usize, what: &str) {
        let pause = if self.is_watched { SHOWN } else { TOLD };
        if self.shown_at.elapsed() < pause {
            return;
        }
        self.shown_at = Instant::now();
        let text = format!("{done} of {total} {what}");
        match self.is_watched {
            true => self.status.show(&text),
            false => tell(&text),
        }
    }

    fn end(&mut self) {
        self.status.clear();
    }
}

/// The items listed by name for a query, and what the list takes.
struct BenchList<'a> {
    items: Vec<&'a BenchItem>,
    tokens: Tokens,
}

/// The items ranked, picked and listed for a query, and the time that it took.
struct AnswerLine<'a> {
    ranked: Vec<&'a BenchItem>,
    /// Of each that is ranked.
    probabilities: Vec<Option<f32>>,
    picked: Vec<&'a BenchItem>,
    listed: BenchList<'a>,
    milliseconds: f64,
}

impl AnswerLine<'_> {
    fn tokens(&self) -> u64 {
        self.picked.iter().map(|item| u64::from(item.tokens.get())).sum()
    }

    fn line(&self, id: &str) -> serde_json::Value {
        let ids =
            |items: &[&BenchItem]| items.iter().map(|item| item.id.clone()).collect::<Vec<_>>();
        json!({
            "id": id,
            "ranked": ids(&self.ranked),
            "probabilities": self.probabilities,
            "picked": ids(&self.picked),
            "listed": ids(&self.listed.items),
            "list_tokens": self.listed.tokens.get(),
            "tokens": self.tokens(),
            "ms": (self.milliseconds * 1_000.0).round() / 1_000.0,
        })
    }
}

/// The totals over all answers.
#[derive(Default)]
struct BenchSummary {
    picked: usize,
    listed: usize,
    without: usize,
    tokens: u64,
    times: Vec<f64>,
}

impl BenchSummary {
    fn add(&mut self, answer: &AnswerLine<'_>) {
        self.picked += answer.picked.len();
        self.listed += answer.listed.items.len();
        self.without += usize::from(answer.picked.is_empty());
        self.tokens += answer.tokens();
        self.times.push(answer.milliseconds);
    }
}

impl std::fmt::Display for BenchSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.times.len().max(1);
        let mean = |sum: f64| sum / count as f64;
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (times.len() as f64 * share) as usize;
            times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        write!(
            f,
            "{} queries: {:.2} items and {:.0} tokens picked on average, none for {}; {:.2} listed; \
             {:.2} ms median, {:.2} ms at 99%",
            self.times.len(),
            mean(self.picked as f64),
            mean(self.tokens as f64),
            self.without,
            mean(self.listed as f64),
            at(0.5),
            at(0.99),
        )
    }
}
