//! The items on the page in columns: rules, references, tools, and skills and memories where a turn
//! has them. A row reads as a line of the terminal does, also when it is copied.

use maud::{Markup, html};
use recto_context::{ContentSource, IncludeMode, ItemKind, Tokens};

use super::view::{ItemRow, RequestView, score_lines, short_source};
use crate::pages::files::FileLink;

/// How many rows of a column are shown before the rest is folded.
const SHOWN: usize = 20;

/// What the columns need to know of the page that they stand on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnOptions<'a> {
    /// What ids on the page begin with.
    pub(crate) prefix: &'a str,
    /// Whether the reader may see the files that items come from.
    pub(crate) file_link: Option<FileLink<'a>>,
}

/// All columns of a request.
pub(crate) fn item_columns(view: &RequestView, options: ColumnOptions<'_>) -> Markup {
    let rows = |kind| view.items(kind);
    let (skills, memories) = (rows(ItemKind::Skill), rows(ItemKind::Memory));
    html! {
        div.cols {
            (column(ItemKind::Rule, &rows(ItemKind::Rule), options))
            div {
                (column(ItemKind::Reference, &rows(ItemKind::Reference), options))
                @if !skills.is_empty() { (column(ItemKind::Skill, &skills, options)) }
            }
            (column(ItemKind::Tool, &rows(ItemKind::Tool), options))
            @if !memories.is_empty() { (column(ItemKind::Memory, &memories, options)) }
        }
    }
}

fn column(kind: ItemKind, rows: &[ItemRow<'_>], options: ColumnOptions<'_>) -> Markup {
    let (shown, folded) = rows.split_at(rows.len().min(SHOWN));
    let tokens: Tokens = rows.iter().map(|row| row.tokens).sum();
    let ids = |at: usize| format!("{}t-{kind}-{at}", options.prefix);
    html! {
        section.kind {
            h3 { (kind_title(kind)) " "
                @if !rows.is_empty() { span.q.n { (rows.len()) " · " (tokens) " tokens" } }
            }
            @if rows.is_empty() { p.q { (nothing_of(kind)) } }
            @else {
                ul {
                    @for (at, row) in shown.iter().enumerate() { (item_row(row, &ids(at), options)) }
                }
            }
            @if !folded.is_empty() {
                details.fold {
                    summary { (folded.len()) " more" }
                    ul {
                        @for (at, row) in folded.iter().enumerate() {
                            (item_row(row, &ids(SHOWN + at), options))
                        }
                    }
                }
            }
        }
    }
}

/// The heading of a column.
pub(crate) fn kind_title(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Rule => "Rules",
        ItemKind::Reference => "References",
        ItemKind::Skill => "Skills",
        ItemKind::Tool => "Tools",
        ItemKind::Memory => "Memories",
    }
}

fn nothing_of(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Rule => "No rule was on the page.",
        ItemKind::Reference => "No reference was on the page.",
        ItemKind::Skill => "No skill was on the page.",
        ItemKind::Tool => "No tool was offered.",
        ItemKind::Memory => "No memory was on the page.",
    }
}

fn item_row(row: &ItemRow<'_>, id: &str, options: ColumnOptions<'_>) -> Markup {
    html! {
        li.item data-item=(row.id.key()) {
            span {
                @if let Some(lead) = row.lead() { span.id { (lead) } " • " }
                (item_name(row, id, options))
            }
            " " (badge(row, id)) " "
            @if row.read.is_some() { span.q { "read " } }
            span.n.q { (row.tokens) span.vh { " tokens" } }
            @if let Some(description) = &row.description { p { (description) } }
        }
    }
}

/// The name of an item, with what it says of itself, its source and why it is there in a tooltip.
fn item_name(row: &ItemRow<'_>, id: &str, options: ColumnOptions<'_>) -> Markup {
    let href = match (row.source, options.file_link) {
        (Some(ContentSource::File(path)), Some(link)) => Some(link.to_file(path)),
        _ => None,
    };
    let name = html! {
        @match row.id.kind {
            ItemKind::Tool => code { (row.id.name) },
            ItemKind::Memory => span.id { (row.day.unwrap_or(memory_label(&row.id.name))) },
            _ => (row.id.name),
        }
    };
    html! {
        span.tip {
            @if let Some(href) = href {
                a.name href=(href) aria-describedby=(id) { (name) }
            } @else {
                span.name tabindex="0" aria-describedby=(id) { (name) }
            }
            span role="tooltip" id=(id) {
                @if let Some(description) = &row.description { (description) br; }
                @if let Some(source) = row.source { (short_source(source)) ": " }
                (row.place.reason.describe())
                @if let Some(read) = row.read { "; " (read.describe()) }
            }
        }
    }
}

/// The file that a memory stands in: its text stands below.
pub(crate) fn memory_label(name: &str) -> &str {
    name.rsplit_once('#').map_or(name, |(file, _)| file)
}

/// How an item came in; what search said of it on hover and focus.
fn badge(row: &ItemRow<'_>, id: &str) -> Markup {
    let class = format!("badge {}", row.badge_class());
    let lines = row.scores.as_ref().map(score_lines).unwrap_or_default();
    let tip = format!("{id}-s");
    html! {
        @if lines.is_empty() || row.place.include != IncludeMode::Agent {
            span class=(class) { (row.badge()) }
        } @else {
            span.tip.end {
                span class=(class) tabindex="0" aria-describedby=(tip) { (row.badge()) }
                span role="tooltip" id=(tip) {
                    @for line in &lines { (line) br; }
                }
            }
        }
    }
}
