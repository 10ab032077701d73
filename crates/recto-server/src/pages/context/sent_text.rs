//! The exact text of a request, part by part in the order in which servers read it: the schemas of
//! tools, then the messages. The margin says which layer a part belongs to, and whether it was
//! cached.

use maud::{Markup, html};
use recto_agent::CacheSource;
use recto_context::{
    CachedShare, ChangeCause, ChatMessage, ContentPart, ContentPiece, ContentSource, Image,
    ItemKind, ItemUse, Layer, OfferedTool, Part, PartReason, Tokens, ToolCalls, grouped_digits,
};

use super::columns::{ColumnOptions, memory_label};
use super::view::{RequestView, badge_class, badge_text, short_source};

/// The most characters of a text that its folded line shows.
const FIRST_WORDS: usize = 120;

/// All that a model reads of a request, under a title.
pub(crate) fn sent_text(view: &RequestView, title: &str, options: ColumnOptions<'_>) -> Markup {
    let groups = SentGroups::collect(view);
    html! {
        section.sent aria-labelledby={ (options.prefix) "text-title" } {
            div.row {
                h2.grow id={ (options.prefix) "text-title" } { (title) }
                button.btn.plain type="button" data-unfold hidden { "Unfold all " kbd { "f" } }
                span.q.wide { "tokens" } span.q.n.at { "first byte" }
            }
            @for group in &groups.groups {
                h3.msgno { span { (group.title) } span.n { (group.tokens()) } }
                @for row in &group.rows {
                    @if row.begins_change { (change_mark(view, row.first_byte, options.prefix)) }
                    (part_row(row, options))
                }
            }
        }
    }
}

/// The parts of a request under the headings that they stand below.
struct SentGroups<'a> {
    groups: Vec<SentGroup<'a>>,
}

struct SentGroup<'a> {
    title: String,
    rows: Vec<SentTextRow<'a>>,
}

/// A part or a tool's schema.
struct SentTextRow<'a> {
    layer: Layer,
    /// Whether it is the first of its layer, which links lead to.
    is_first: bool,
    label: SentLabel<'a>,
    item: Option<&'a ItemUse>,
    reason: &'a PartReason,
    source: &'a ContentSource,
    /// The number of the part on the page; a schema has none.
    part: Option<usize>,
    text: &'a str,
    /// The same without what Recto put in front of it.
    words: &'a str,
    /// What stands behind the text and is none: calls and images.
    message: Option<&'a ChatMessage>,
    tokens: Tokens,
    cached: Tokens,
    first_byte: usize,
    begins_change: bool,
}

/// What a part is called.
enum SentLabel<'a> {
    Code(&'a str),
    Name(String),
    /// A message of this role, of which the first words are shown.
    Role(&'static str),
    Quiet(String),
}

impl SentGroup<'_> {
    fn tokens(&self) -> Tokens {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

impl<'a> SentGroups<'a> {
    fn collect(view: &'a RequestView) -> Self {
        let context = &view.context;
        let mut groups = Vec::new();
        let mut byte = 0;
        if context.tool_calls == ToolCalls::Native && !context.tools.is_empty() {
            let tools = context.tools.iter().zip(&view.shares.tools);
            let rows = tools.map(|(tool, share)| tool_row(view, tool, share, &mut byte)).collect();
            let count = context.tools.len();
            let schemas = if count == 1 { "schema" } else { "schemas" };
            groups.push(SentGroup { title: format!("tools: {count} {schemas}"), rows });
        }
        let places = context.part_places();
        for (index, message) in context.messages.iter().enumerate() {
            let rows: Vec<SentTextRow<'a>> = message
                .spans
                .iter()
                .filter_map(|span| {
                    let part = context.parts.get(span.part)?;
                    let text = first_text(message).get(places.get(span.part)?.bytes.clone())?;
                    let is_last = Some(span) == message.spans.last();
                    Some(SentTextRow {
                        layer: part.layer,
                        is_first: false,
                        label: part_label(part, message),
                        item: part.item.as_ref(),
                        reason: &part.reason,
                        source: &part.source,
                        part: Some(span.part),
                        text,
                        words: part.text(),
                        message: is_last.then_some(message),
                        tokens: part.tokens,
                        cached: view.cached(view.shares.parts.get(span.part)?),
                        first_byte: byte + places.get(span.part)?.bytes.start,
                        begins_change: false,
                    })
                })
                .collect();
            byte += message.compared_bytes();
            push_message(&mut groups, index, message, rows);
        }
        let mut collected = SentGroups { groups };
        collected.mark_layers();
        collected.mark_change(view.agreed_bytes, byte);
        collected
    }

    fn rows(&mut self) -> impl Iterator<Item = &mut SentTextRow<'a>> {
        self.groups.iter_mut().flat_map(|group| &mut group.rows)
    }

    fn mark_layers(&mut self) {
        let mut known = Vec::new();
        for row in self.rows() {
            row.is_first = !known.contains(&row.layer);
            known.push(row.layer);
        }
    }

    /// Marks the first part that is not wholly as it was in the request before.
    fn mark_change(&mut self, agreed: Option<usize>, length: usize) {
        let Some(agreed) = agreed.filter(|agreed| *agreed < length) else { return };
        let starts: Vec<usize> = self.rows().map(|row| row.first_byte).collect();
        // The part in which the byte is, or the one behind, where it ends a part.
        let changed = starts.iter().rposition(|start| *start <= agreed);
        if let Some(row) = changed.and_then(|at| self.rows().nth(at)) {
            row.begins_change = true;
        }
    }
}

/// Adds a message's rows: messages of history stand under one heading, others each under its own.
fn push_message<'a>(
    groups: &mut Vec<SentGroup<'a>>,
    index: usize,
    message: &ChatMessage,
    rows: Vec<SentTextRow<'a>>,
) {
    let number = index + 1;
    let layer = rows.first().map(|row| row.layer);
    let together = layer.filter(|layer| matches!(layer, Layer::History | Layer::Rounds));
    let goes_on = |group: &&mut SentGroup<'a>| {
        together.is_some() && group.rows.first().map(|row| row.layer) == together
    };
    match (groups.last_mut().filter(goes_on), together) {
        (Some(group), Some(layer)) => {
            let first = number - group.messages();
            group.title = format!("messages {first} to {number}: {layer}");
            group.rows.extend(rows);
        }
        (_, Some(layer)) => {
            groups.push(SentGroup { title: format!("message {number}: {layer}"), rows });
        }
        (_, None) => {
            let role = message.role.name();
            groups.push(SentGroup { title: format!("message {number}: {role}"), rows });
        }
    }
}

impl SentGroup<'_> {
    /// How many messages stand in it.
    fn messages(&self) -> usize {
        self.rows.iter().filter(|row| row.message.is_some()).count()
    }
}

fn tool_row<'a>(
    view: &RequestView,
    tool: &'a OfferedTool,
    share: &CachedShare,
    byte: &mut usize,
) -> SentTextRow<'a> {
    let first_byte = *byte;
    *byte += tool.spec.schema.len();
    SentTextRow {
        layer: Layer::Tools,
        is_first: false,
        label: SentLabel::Code(&tool.spec.called),
        item: Some(&tool.item),
        reason: &tool.reason,
        source: &tool.spec.source,
        part: None,
        text: &tool.spec.schema,
        words: "",
        message: None,
        tokens: tool.tokens,
        cached: view.cached(share),
        first_byte,
        begins_change: false,
    }
}

fn part_label<'a>(part: &Part, message: &ChatMessage) -> SentLabel<'a> {
    match part.layer {
        Layer::Message if part.kind() == "message" => {
            SentLabel::Quiet("the message, behind its stamp".to_owned())
        }
        _ if part.kind() == "message" => SentLabel::Role(message.role.name()),
        _ if part.reason == PartReason::Heading => SentLabel::Quiet("heading".to_owned()),
        _ if part.item.as_ref().is_some_and(is_memory) => {
            SentLabel::Name(memory_label(&part.name()).to_owned())
        }
        _ => SentLabel::Name(part.name()),
    }
}

fn is_memory(item: &ItemUse) -> bool {
    item.id.kind == ItemKind::Memory
}

fn first_text(message: &ChatMessage) -> &str {
    message.content.first().and_then(ContentPiece::as_text).unwrap_or_default()
}

fn change_mark(view: &RequestView, first_byte: usize, prefix: &str) -> Markup {
    let agreed = view.agreed_bytes.unwrap_or(first_byte);
    let byte = grouped_digits(agreed as u64);
    let cached = view.cached_tokens();
    html! {
        p.break id={ (prefix) "first-change" } {
            @match (agreed, view.cause) {
                (0, Some(ChangeCause::ModelChanged)) => {
                    b { "Nothing agrees with the request before:" } " another model reads it."
                },
                (0, _) => b { "Nothing agrees with the request before." },
                _ => {
                    b { "First byte that changed: " (byte) } " "
                    "Up to here the request agrees with the one before."
                },
            }
            // The server's cache may have ended before this byte.
            @if view.cache_source == CacheSource::Server {
                " The server had " (cached) " tokens in its cache."
            }
        }
    }
}

fn part_row(row: &SentTextRow<'_>, options: ColumnOptions<'_>) -> Markup {
    let is_old = row.cached == row.tokens && row.tokens > Tokens::ZERO;
    let class = format!("part l-{}{}", row.layer, if is_old { " old" } else { "" });
    let id = row.is_first.then(|| format!("{}{}", options.prefix, row.layer));
    // What is of this turn alone is what people look for.
    let is_open = matches!(row.layer, Layer::Picks | Layer::Message) && row.text.len() < 4_000;
    html! {
        details class=(class) id=[id] open[is_open] {
            summary {
                span.lay {
                    @if row.is_first { span.mono { (row.layer.letter()) } " " span.wide { (row.layer) } }
                    @else { span.vh { (row.layer) } }
                }
                span.src.cut { (label(row)) }
                span.n { (row.tokens) }
                span.n.q.at { (grouped_digits(row.first_byte as u64)) }
            }
            (source_line(row, options))
            @if !row.text.is_empty() { pre { (row.text) } }
            @if let Some(message) = row.message { (behind_text(message)) }
        }
    }
}

fn label(row: &SentTextRow<'_>) -> Markup {
    html! {
        @match &row.label {
            SentLabel::Code(name) => code { (name) },
            SentLabel::Name(name) => (name),
            SentLabel::Role(role) => { (role) span { (first_words(row)) } },
            SentLabel::Quiet(words) => (words),
        }
        @if let Some(item) = row.item {
            " " span class={ "badge " (badge_class(row.reason, item.include)) } {
                (badge_text(row.reason, item.include, item.scores.as_ref()))
            }
            // The name of a memory says nothing; its words do.
            @if is_memory(item) { span title=(row.source) { (first_words(row)) } }
            @else { span title=(row.source) { (short_source(row.source)) } }
        }
    }
}

/// The beginning of a message, or of the calls that it makes.
fn first_words(row: &SentTextRow<'_>) -> String {
    let calls = row.message.map(|message| &message.calls[..]).unwrap_or_default();
    let line = row.words.lines().find(|line| !line.trim().is_empty());
    match (line, calls.first()) {
        (None, Some(call)) => format!("calls {} {}", call.name, call.arguments.as_str()),
        (line, _) => line.unwrap_or_default().to_owned(),
    }
    .chars()
    .take(FIRST_WORDS)
    .collect()
}

/// The file that a part comes from, with the way to its place there.
fn source_line(row: &SentTextRow<'_>, options: ColumnOptions<'_>) -> Markup {
    let ContentSource::File(path) = row.source else { return html! {} };
    let Some(link) = options.file_link else { return html! {} };
    let href = match row.part {
        Some(part) => link.to_part(path, part),
        None => link.to_file(path),
    };
    html! { p.from { a href=(href) { (path.display()) } } }
}

/// The calls and images of a message, which are no text of its own.
fn behind_text(message: &ChatMessage) -> Markup {
    let others = message.content.iter().skip(1);
    html! {
        @for call in &message.calls {
            pre.call { b { (call.name) } " " (call.arguments.as_str()) }
        }
        @for piece in others {
            @match piece {
                ContentPiece::Text(text) => pre { (text) },
                ContentPiece::Other(ContentPart::Image(image)) => p.from { (image_words(image)) },
                ContentPiece::Other(_) => p.from { "a part that only the model's server can read" },
            }
        }
    }
}

fn image_words(image: &Image) -> String {
    let name = image.name.as_deref().unwrap_or("without a name");
    let (kind, bytes) = (&image.media_type, grouped_digits(image.size() as u64));
    format!("image {name}: {kind}, {bytes} bytes, hash {}", image.data.hash().short())
}

#[cfg(test)]
mod tests {
    use recto_context::{AssemblyInputs, CachedPrefix, Catalog};

    use super::*;

    #[test]
    fn where_nothing_agrees_it_is_said_why() {
        let mark = |agreed, cause| {
            let context = AssemblyInputs::new(&Catalog::default(), "hello").assemble().unwrap();
            let prefix = CachedPrefix { agreed_bytes: Some(agreed), served: None };
            let view = RequestView { cause, ..RequestView::new(context, &prefix) };
            change_mark(&view, agreed, "").into_string()
        };
        let model = mark(0, Some(ChangeCause::ModelChanged));
        assert!(model.contains("another model reads it") && !model.contains("Up to"), "{model}");
        assert!(!mark(0, None).contains("Up to"));
        assert!(mark(3, Some(ChangeCause::ItemChanged)).contains("Up to here"));
    }
}
