//! What *View context* shows of a request, recorded or only looked at: layers with what was cached
//! of them, and the items on the page in columns. Pure: no store, no clock.

use recto_agent::{CacheSource, cached_prefix, recorded_cause};
use recto_context::{
    CachedPrefix, CachedShare, CachedShares, ChangeCause, ContentSource, IncludeMode, ItemId,
    ItemKind, ItemPlacement, ItemReading, ItemStanding, Layer, Part, PartReason, Pick, Priority,
    RequestContext, Scores, Tokens, ToolCalls, own_words,
};
use recto_store::RequestRecord;

/// A request, with what was cached of each of its parts.
#[derive(Debug)]
pub(crate) struct RequestView {
    pub(crate) context: RequestContext,
    /// How many bytes of it agree with the request before, where there was one.
    pub(crate) agreed_bytes: Option<usize>,
    /// Why no more of them do, as far as that was recorded.
    pub(crate) cause: Option<ChangeCause>,
    pub(crate) shares: CachedShares,
    pub(crate) cache_source: CacheSource,
}

/// What a layer takes, and how much of it was cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerShare {
    pub(crate) layer: Layer,
    pub(crate) tokens: Tokens,
    pub(crate) cached: Tokens,
}

impl RequestView {
    /// The view of a request of which this much is known to be cached.
    pub(crate) fn new(context: RequestContext, prefix: &CachedPrefix) -> Self {
        RequestView {
            shares: context.cached_shares(prefix),
            cache_source: CacheSource::from_prefix(prefix),
            agreed_bytes: prefix.agreed_bytes,
            cause: None,
            context,
        }
    }

    /// The view of a request as it was recorded.
    pub(crate) fn of_record(context: RequestContext, request: &RequestRecord) -> Self {
        let cause = recorded_cause(request);
        RequestView { cause, ..RequestView::new(context, &cached_prefix(request)) }
    }

    /// What was cached of a part or a tool.
    pub(crate) fn cached(&self, share: &CachedShare) -> Tokens {
        match self.cache_source {
            CacheSource::Server => share.served,
            CacheSource::RequestBefore => share.agreed,
            CacheSource::Nobody => Tokens::ZERO,
        }
    }

    /// All layers, in order, also those with nothing in them.
    pub(crate) fn layers(&self) -> Vec<LayerShare> {
        Layer::ALL.into_iter().map(|layer| self.layer(layer)).collect()
    }

    fn layer(&self, layer: Layer) -> LayerShare {
        let parts = self.context.parts.iter().zip(&self.shares.parts);
        let parts = parts.filter(|(part, _)| part.layer == layer);
        let mut cached: Tokens = parts.map(|(_, share)| self.cached(share)).sum();
        if layer == Layer::Tools && self.context.tool_calls == ToolCalls::Native {
            cached += self.shares.tools.iter().map(|share| self.cached(share)).sum();
        }
        let tokens = self.context.layer_tokens(layer);
        LayerShare { layer, tokens, cached: cached.min(tokens) }
    }

    /// What was cached of the whole prompt.
    pub(crate) fn cached_tokens(&self) -> Tokens {
        self.layers().iter().map(|share| share.cached).sum()
    }

    /// The items on the page that are of a kind, in the order in which people look for them.
    pub(crate) fn items(&self, kind: ItemKind) -> Vec<ItemRow<'_>> {
        let standings = self.context.item_standings();
        let of_kind = standings.into_iter().filter(|standing| standing.item.kind == kind);
        let mut rows: Vec<ItemRow<'_>> = of_kind.filter_map(|item| self.item_row(item)).collect();
        match kind {
            ItemKind::Rule | ItemKind::Reference => {
                let last = (true, Priority::LAST);
                rows.sort_by(|a, b| {
                    let place = |row: &ItemRow<'_>| row.priority.map_or(last, |own| (false, own));
                    place(a).cmp(&place(b)).then_with(|| a.id.name.cmp(&b.id.name))
                });
            }
            ItemKind::Tool | ItemKind::Skill => {
                rows.sort_by(|a, b| (&a.id.server, &a.id.name).cmp(&(&b.id.server, &b.id.name)));
            }
            // As they stand on the page, the most important first.
            ItemKind::Memory => {}
        }
        rows
    }

    fn item_row(&self, standing: ItemStanding) -> Option<ItemRow<'_>> {
        let place = standing.status.place()?.clone();
        let shows = |part: &&Part| part.item.as_ref().is_some_and(|it| it.id == standing.item);
        let part = self.context.parts.iter().find(shows);
        let tool = self.context.tools.iter().find(|tool| tool.spec.id == standing.item);
        let source = part.map(|part| &part.source).or(tool.map(|tool| &tool.spec.source));
        let scores = part.and_then(|part| part.item.as_ref()?.scores);
        let scores = scores.or(tool.and_then(|tool| tool.item.scores));
        let found = place.found.as_ref().map(|pick| pick.scores);
        Some(ItemRow {
            priority: part.and_then(|part| part.item.as_ref()?.priority),
            description: self
                .context
                .description(&standing.item)
                .map(|words| own_words(&standing.item, words).to_owned()),
            source,
            day: part
                .filter(|part| part.layer == Layer::Memory)
                .and_then(|part| memory_day(&part.lead)),
            scores: found.or(scores),
            id: standing.item,
            tokens: standing.tokens,
            place,
            read: standing.read,
        })
    }
}

/// The day in front of a memory, as its page has it: `- [2026-03-01] `.
fn memory_day(lead: &str) -> Option<&str> {
    let (day, _) = lead.split_once('[')?.1.split_once(']')?;
    day.starts_with(|c: char| c.is_ascii_digit()).then_some(day)
}

/// An item on the page, as its column shows it.
#[derive(Debug)]
pub(crate) struct ItemRow<'a> {
    pub(crate) id: ItemId,
    pub(crate) priority: Option<Priority>,
    pub(crate) description: Option<String>,
    pub(crate) source: Option<&'a ContentSource>,
    pub(crate) scores: Option<Scores>,
    pub(crate) tokens: Tokens,
    /// Where it stands, how it came in and why.
    pub(crate) place: ItemPlacement,
    /// When the model loaded it by its name, if it did.
    pub(crate) read: Option<ItemReading>,
    /// The day of a memory, where it has one.
    pub(crate) day: Option<&'a str>,
}

impl ItemRow<'_> {
    /// The text of its badge, as the terminal would write it: `[Agent - 0.87]`.
    pub(crate) fn badge(&self) -> String {
        badge_text(&self.place.reason, self.place.include, self.scores.as_ref())
    }

    /// The class of its badge.
    pub(crate) fn badge_class(&self) -> &'static str {
        badge_class(&self.place.reason, self.place.include)
    }

    /// What stands before its name: `001`, `database.`, the file of a memory.
    pub(crate) fn lead(&self) -> Option<String> {
        match (self.id.kind, &self.id.server, self.priority) {
            (ItemKind::Tool, Some(server), _) => Some(format!("{server}.")),
            (ItemKind::Rule | ItemKind::Reference, _, Some(priority)) => Some(priority.to_string()),
            _ => None,
        }
    }
}

/// The text of an include badge. What search brought or listed has its score behind it: the
/// probability, or else the cosine.
pub(crate) fn badge_text(
    reason: &PartReason,
    include: IncludeMode,
    scores: Option<&Scores>,
) -> String {
    let word = if is_only_listed(reason, include) { "Listed" } else { include_word(include) };
    let score = scores.and_then(|scores| scores.probability.or(scores.cosine));
    match (include, score) {
        (IncludeMode::Agent, Some(score)) => format!("[{word} - {}]", two_decimals(score)),
        _ => format!("[{word}]"),
    }
}

/// The class of an include badge: what is only listed looks like what search brought, and hollow.
pub(crate) fn badge_class(reason: &PartReason, include: IncludeMode) -> &'static str {
    if is_only_listed(reason, include) { "listed" } else { include.name() }
}

/// Whether search decides about an item, and only its name and description stand on the page.
fn is_only_listed(reason: &PartReason, include: IncludeMode) -> bool {
    match reason {
        PartReason::Possible => true,
        PartReason::Listed
        | PartReason::ListedForRoom
        | PartReason::ListedByRender
        | PartReason::ListedInMinimal => include == IncludeMode::Agent,
        _ => false,
    }
}

/// A score as people read it. What is next to nothing has no sign.
pub(crate) fn two_decimals(score: f32) -> String {
    let shown = format!("{score:.2}");
    if shown == "-0.00" { "0.00".to_owned() } else { shown }
}

/// The text of the badge of an item's own include mode.
pub(crate) fn include_badge(include: IncludeMode) -> String {
    format!("[{}]", include_word(include))
}

/// An include mode as badges and switches write it.
pub(crate) fn include_word(include: IncludeMode) -> &'static str {
    match include {
        IncludeMode::Always => "Always",
        IncludeMode::Manual => "Manual",
        IncludeMode::Agent => "Agent",
    }
}

/// Where a text comes from, in few words: of a file its folder and its name.
pub(crate) fn short_source(source: &ContentSource) -> String {
    let ContentSource::File(path) = source else { return source.to_string() };
    let folder = path.parent().and_then(|folder| folder.file_name());
    match folder {
        Some(folder) => format!("{}/{}", folder.to_string_lossy(), source.name()),
        None => source.name(),
    }
}

/// What search said of an item, a line each.
pub(crate) fn score_lines(scores: &Scores) -> Vec<String> {
    let number = |name: &str, value: Option<f32>| {
        value.map(|value| format!("{name} {}", two_decimals(value)))
    };
    let both = [number("cosine", scores.cosine), number("words", scores.lexical)];
    let both: Vec<String> = both.into_iter().flatten().collect();
    let lines = [
        number("probability", scores.probability),
        (!both.is_empty()).then(|| both.join(", ")),
        number("by its age", scores.recency),
        scores.rank.map(|rank| format!("rank {rank} of this message's search")),
        scores.describe_query().map(|query| format!("searched for {query}")),
        scores.describe_use(),
    ];
    lines.into_iter().flatten().collect()
}

/// The refusal that all candidates share, or else how many there are of them.
pub(crate) fn refusal_summary(candidates: &[&Pick]) -> String {
    let count = candidates.len();
    let items = if count == 1 { "1 item".to_owned() } else { format!("{count} items") };
    let floors: Vec<Option<f32>> = candidates.iter().map(|pick| pick.scores.floor).collect();
    match floors.first().copied().flatten() {
        Some(floor) if floors.iter().all(|other| *other == Some(floor)) => {
            format!("Search did not take {items}: below the floor of {floor:.2}")
        }
        _ => format!("Search did not take {items}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(probability: Option<f32>, cosine: Option<f32>) -> Scores {
        Scores { probability, cosine, ..Scores::default() }
    }

    #[test]
    fn a_memory_is_known_by_its_day() {
        assert_eq!(memory_day("- [2026-03-01] "), Some("2026-03-01"));
        assert_eq!(memory_day("- "), None);
        assert_eq!(memory_day("- [important] "), None);
    }

    #[test]
    fn badges_read_as_in_the_terminal() {
        let both = scores(Some(0.874), Some(0.7));
        let text =
            |include, scores: Option<&Scores>| badge_text(&PartReason::Found, include, scores);
        assert_eq!(text(IncludeMode::Agent, Some(&both)), "[Agent - 0.87]");
        assert_eq!(text(IncludeMode::Agent, Some(&scores(None, Some(0.7)))), "[Agent - 0.70]");
        assert_eq!(text(IncludeMode::Agent, None), "[Agent]");
        // Only what search brought has a score of it.
        assert_eq!(text(IncludeMode::Always, Some(&both)), "[Always]");
        let listed = badge_text(&PartReason::Possible, IncludeMode::Agent, Some(&both));
        assert_eq!(listed, "[Listed - 0.87]");
        let by_name = |include| badge_text(&PartReason::Listed, include, None);
        assert_eq!(by_name(IncludeMode::Agent), "[Listed]");
        assert_eq!(by_name(IncludeMode::Always), "[Always]");
        assert_eq!([-0.001, 0.004, -0.25].map(two_decimals), ["0.00", "0.00", "-0.25"]);
    }

    #[test]
    fn a_file_is_told_by_its_folder_and_name() {
        let short = |path: &str| short_source(&ContentSource::file(path));
        assert_eq!(short("/home/mara/agent/rules/tone.md"), "rules/tone.md");
        assert_eq!(short("SOUL.md"), "SOUL.md");
        assert_eq!(short_source(&ContentSource::BuiltIn), "built-in");
    }

    #[test]
    fn scores_are_told_where_they_were_measured() {
        let all = Scores { lexical: Some(5.114), rank: Some(2), ..scores(Some(0.5), Some(0.4)) };
        let lines =
            ["probability 0.50", "cosine 0.40, words 5.11", "rank 2 of this message's search"];
        assert_eq!(score_lines(&all), lines);
        assert!(score_lines(&Scores::default()).is_empty());
    }

    #[test]
    fn a_floor_is_named_where_all_are_below_it() {
        let pick = |floor| {
            Pick::new(ItemId::new(ItemKind::Rule, "a"), Scores { floor, ..Scores::default() })
        };
        let (below, beaten) = (&pick(Some(0.4)), &pick(None));
        let of_two = "Search did not take 2 items";
        assert_eq!(refusal_summary(&[below, below]), format!("{of_two}: below the floor of 0.40"));
        assert_eq!(refusal_summary(&[below, beaten]), of_two);
        assert_eq!(refusal_summary(&[beaten]), "Search did not take 1 item");
    }
}
