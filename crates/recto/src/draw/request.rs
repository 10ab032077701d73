//! A request as people read it: mode and room, a bar of layers, the items with
//! why they are there, and what was left out.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use recto_context::{
    ContentSource, DroppedEntry, Image, ItemId, ItemKind, ItemReading, ItemStanding, ItemStatus,
    ItemUse, Layer, OfferedTool, Part, PartReason, RequestContext, RespelledWord, Scores, Tokens,
    byte_words,
};

use super::TextTable;
use super::wrap::{PageWidth, labelled};
use crate::output::{counted, tame};
use crate::remedy_words::with_command;

/// Columns of the bar, where there is room for them.
const BAR: usize = 72;

/// Draws a request: heading, bar of layers, items, and what was left out.
pub(crate) fn request(request: &RequestContext, width: PageWidth) -> String {
    let mut out = heading(request, width);
    out.push('\n');
    out.push_str(&bar(request, width));
    out.push('\n');
    out.push_str(&items(request).draw(width));
    if let Some(dropped) = dropped(request) {
        let _ = write!(out, "\n{}", dropped.draw(width));
    }
    let standings = request.item_standings();
    for (what, describe) in [
        ("read by the model", read as fn(&RequestContext, &ItemStanding) -> Option<String>),
        ("not taken", not_taken),
        ("left for likeness", alike),
        ("not in the session", absent),
    ] {
        let described = standings.iter().filter_map(|standing| describe(request, standing));
        let described: Vec<String> = described.collect();
        if let Some(listed) = listed(&described, width) {
            out.push_str(&format!("\n{what}: {listed}\n"));
        }
    }
    out
}

/// How many items that are not on the page are named on a terminal.
const NAMED: usize = 12;

/// The first of some things, and how many more there are; all of them where nothing is cut;
/// `None` for none.
fn listed(things: &[String], width: PageWidth) -> Option<String> {
    let most = width.columns().map_or(things.len(), |_| NAMED);
    let mut named: Vec<String> = things.iter().take(most).cloned().collect();
    let more = things.len().saturating_sub(most);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

/// An item as people call it, safe for a terminal; where no line has to fit one, a memory says all
/// that it says.
fn shown_id(request: &RequestContext, id: &ItemId) -> String {
    tame(&match PageWidth::of_stdout().columns() {
        Some(_) => request.describe_item(id),
        None => request.describe_item_whole(id),
    })
}

/// An item that the model has loaded by its name, with when it did.
fn read(request: &RequestContext, standing: &ItemStanding) -> Option<String> {
    let when = match standing.read? {
        ItemReading::ThisTurn => "in this turn",
        ItemReading::EarlierTurn => "in an earlier turn",
    };
    Some(format!("{} ({when})", shown_id(request, &standing.item)))
}

/// An item that search looked at, with why it was not taken. What stands on the page by its
/// name alone is told there.
fn not_taken(request: &RequestContext, standing: &ItemStanding) -> Option<String> {
    let why = match &standing.status {
        ItemStatus::NotTaken { candidate } => {
            format!("{}{}", candidate.describe_refusal(), search_words(&candidate.scores))
        }
        ItemStatus::LeftOut { reason, candidate, .. } if reason.is_full_list() => {
            let tokens = counted(standing.tokens.get() as usize, "token");
            let refusal = candidate.as_ref().map(|candidate| {
                format!("{}{}; ", candidate.describe_refusal(), search_words(&candidate.scores))
            });
            format!(
                "{}{}, where it would take {tokens}",
                refusal.unwrap_or_default(),
                reason.describe()
            )
        }
        _ => return None,
    };
    // What it read before is the likelier reason that it does not stand in the list.
    let read = standing.read.map(|read| format!("; {}", read.describe())).unwrap_or_default();
    Some(format!("{} ({why}{read})", shown_id(request, &standing.item)))
}

/// An item that nobody wanted for the page, with what keeps it out. What the model has read by its
/// name is there.
fn absent(request: &RequestContext, standing: &ItemStanding) -> Option<String> {
    if standing.read.is_some() {
        return None;
    }
    Some(format!("{} ({})", shown_id(request, &standing.item), standing.status.absence_name()?))
}

fn alike(request: &RequestContext, standing: &ItemStanding) -> Option<String> {
    let ItemStatus::SaysTheSame { of, .. } = &standing.status else { return None };
    let (item, of) = (shown_id(request, &standing.item), shown_id(request, of));
    Some(format!("{item} (says the same as {of})"))
}

/// Why something is there; of what search brought, also how surely it fits.
fn why(reason: &PartReason, item: Option<&ItemUse>) -> String {
    let scores = item.and_then(|item| item.scores).unwrap_or_default();
    let query = search_words(&scores);
    match (reason, scores.probability) {
        (
            PartReason::Found | PartReason::FoundInTurn(_) | PartReason::StandsAbove(_),
            Some(probability),
        ) => {
            format!("{}, probability {probability:.2}{query}", reason.describe())
        }
        (PartReason::Possible, Some(probability)) => {
            let rank = scores.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
            format!("{}, probability {probability:.2}{rank}{query}", reason.describe())
        }
        _ => reason.describe(),
    }
}

/// How the message was searched for, where not as it is, and what was used before.
fn search_words(scores: &Scores) -> String {
    let words = scores.describe_query().into_iter().chain(scores.describe_use());
    words.map(|words| format!(", {words}")).collect()
}

fn heading(request: &RequestContext, width: PageWidth) -> String {
    let RequestContext { mode, window, budget, .. } = request;
    let used = request.prompt_tokens();
    let room = budget.messages + budget.tools;
    let mut lines = vec![
        ("model", tame(&request.model)),
        ("mode", format!("{}: {}", mode.chosen.name(), tame(&mode.describe()))),
        ("window", format!("{} tokens, {}", window.tokens, window.describe_source())),
        (
            "prompt",
            format!(
                "{used} of {room} tokens ({}), {} kept for the reply",
                percent(used, room),
                budget.reply
            ),
        ),
        ("counted", request.counted.describe().to_owned()),
    ];
    lines.extend(request.tool_choice.describe().map(|words| ("calls", tame(&words))));
    lines.extend(put_right(request).map(|words| ("typos", tame(&words))));
    lines.iter().map(|(label, text)| labelled(label, text, width)).collect()
}

/// The misspelt words of the message that were put right for the search, with what they were read
/// as: for items and memories alike.
fn put_right(request: &RequestContext) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let picks = request.found.iter().chain(&request.candidates);
    for word in picks.flat_map(|pick| pick.put_right.iter()).map(RespelledWord::describe) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    (!words.is_empty()).then(|| format!("read {} for the search", words.join(", ")))
}

fn percent(part: Tokens, whole: Tokens) -> String {
    let whole = u64::from(whole.get().max(1));
    format!("{}%", (u64::from(part.get()) * 100 + whole / 2) / whole)
}

/// The layers as one bar, a letter each, and a line for each that holds
/// something.
fn bar(request: &RequestContext, width: PageWidth) -> String {
    let layers: Vec<(Layer, Tokens)> = Layer::ALL
        .into_iter()
        .map(|layer| (layer, request.layer_tokens(layer)))
        .filter(|(_, tokens)| *tokens > Tokens::ZERO)
        .collect();
    let mut out = String::new();
    for ((layer, _), columns) in layers.iter().zip(columns(&layers, width)) {
        let (letter, style) = layer_mark(*layer);
        let _ = write!(out, "{style}{}{style:#}", letter.to_string().repeat(columns));
    }
    out.push('\n');
    let total = request.prompt_tokens();
    for (layer, tokens) in layers {
        let (letter, style) = layer_mark(layer);
        let share = percent(tokens, total);
        let _ = writeln!(
            out,
            "{style}{letter}{style:#} {:<10} {:>9}  {share:>4}",
            layer.name(),
            tokens.to_string()
        );
    }
    out
}

/// How many columns each layer gets: its share, but at least one.
fn columns(layers: &[(Layer, Tokens)], width: PageWidth) -> Vec<usize> {
    let total: u64 = layers.iter().map(|(_, tokens)| u64::from(tokens.get())).sum();
    let bar = match width {
        PageWidth::Columns(columns) => columns.min(BAR),
        PageWidth::Unlimited => BAR,
    };
    let room = bar.saturating_sub(layers.len()) as u64;
    let share = |tokens: Tokens| 1 + (u64::from(tokens.get()) * room / total.max(1)) as usize;
    layers.iter().map(|(_, tokens)| share(*tokens)).collect()
}

/// A letter that tells the layer without colour, and its colour.
pub(super) fn layer_mark(layer: Layer) -> (char, Style) {
    let colour = match layer {
        Layer::System => AnsiColor::Blue,
        Layer::Bootstrap => AnsiColor::BrightBlack,
        Layer::Memory => AnsiColor::Magenta,
        Layer::Skills => AnsiColor::Cyan,
        Layer::Tools => AnsiColor::BrightCyan,
        Layer::Items => AnsiColor::Yellow,
        Layer::History => AnsiColor::Green,
        Layer::Picks => AnsiColor::BrightMagenta,
        Layer::Message => AnsiColor::BrightGreen,
        Layer::Rounds => AnsiColor::BrightYellow,
    };
    (layer.letter(), colour.on_default())
}

/// Every item with why it is there; the history as one line.
fn items(request: &RequestContext) -> TextTable {
    let mut table = TextTable::new(["layer", "item", "include", "tokens", "why"]);
    table.align_right(3);
    table.set_key(1);
    for layer in Layer::ALL {
        match layer {
            Layer::History => history_row(&mut table, request),
            Layer::Tools => tool_rows(&mut table, request),
            _ => request.layer(layer).filter(|part| shown(part)).for_each(|part| {
                table.row(part_row(request, part));
                part.images().for_each(|image| table.row(image_row(part, image)));
            }),
        }
        heading_row(&mut table, request, layer);
    }
    table
}

/// What the headings of a layer cost, so that its rows add up to what it costs.
fn heading_row(table: &mut TextTable, request: &RequestContext, layer: Layer) {
    let headings = request.layer(layer).filter(|part| part.reason == PartReason::Heading);
    let tokens: Tokens = headings.map(|part| part.tokens).sum();
    if tokens > Tokens::ZERO {
        let name = "headings".to_owned();
        let why = "what stands above and between the items".to_owned();
        table.row([layer.to_string(), name, String::new(), tokens.to_string(), why]);
    }
}

/// Whether a part has a row of its own: tools that stand on the page as text have theirs among
/// the tools.
fn shown(part: &Part) -> bool {
    let is_tool = part.item.as_ref().is_some_and(|item| item.id.kind == ItemKind::Tool);
    part.reason != PartReason::Heading && !(is_tool && part.layer == Layer::Tools)
}

fn part_row(request: &RequestContext, part: &Part) -> [String; 5] {
    let include = part.item.as_ref().map(|item| item.include.to_string()).unwrap_or_default();
    let why = why(&part.reason, part.item.as_ref());
    [part.layer.to_string(), part_name(request, part), include, part.tokens.to_string(), why]
}

/// What a part is called that Recto itself wrote; no file has such a name.
pub(super) const WRITTEN_BY_RECTO: &str = "(Recto)";

/// What people call a part: `SOUL.md`, `rule units (priority 500)`, `user 12`.
fn part_name(request: &RequestContext, part: &Part) -> String {
    match (part.kind(), &part.item) {
        ("built_in", _) => WRITTEN_BY_RECTO.to_owned(),
        ("attachment", _) => format!("file {}", part.name()),
        (_, Some(item)) => match item.priority {
            Some(priority) => format!("{} (priority {})", item.id, priority.get()),
            None => shown_id(request, &item.id),
        },
        _ => part.name(),
    }
}

/// What stands on the page about tools, and every tool once.
fn tool_rows(table: &mut TextTable, request: &RequestContext) {
    let parts = request.layer(Layer::Tools).filter(|part| shown(part));
    parts.for_each(|part| table.row(part_row(request, part)));
    request.tools.iter().for_each(|tool| table.row(tool_row(request, tool)));
}

/// A tool, with what its schema costs and what is said of it on the page.
fn tool_row(request: &RequestContext, tool: &OfferedTool) -> [String; 5] {
    let is_its = |part: &&Part| part.item.as_ref().is_some_and(|item| item.id == tool.item.id);
    let as_text: Tokens = request.layer(Layer::Tools).filter(is_its).map(|part| part.tokens).sum();
    [
        Layer::Tools.to_string(),
        tool.spec.id.to_string(),
        tool.item.include.to_string(),
        (tool.tokens + as_text).to_string(),
        why(&tool.reason, Some(&tool.item)),
    ]
}

/// An image, whose tokens are in the row of its message.
fn image_row(part: &Part, image: &Image) -> [String; 5] {
    let name = image.name.as_deref().unwrap_or("without a name");
    let (kind, hash) = (&image.media_type, image.data.hash().short());
    let why = format!("sent along: {kind}, {}, hash {hash}", byte_words(image.size() as u64));
    [part.layer.to_string(), format!("image {name}"), String::new(), String::new(), why]
}

fn history_row(table: &mut TextTable, request: &RequestContext) {
    let parts = request.layer(Layer::History).filter(|part| shown(part));
    let (summaries, parts): (Vec<&Part>, Vec<&Part>) = parts.partition(|part| is_summary(part));
    for part in summaries {
        let tokens = part.tokens.to_string();
        let why = part.reason.describe();
        table.row([Layer::History.to_string(), "summary".to_owned(), String::new(), tokens, why]);
    }
    let messages = parts.iter().filter(|part| part.kind() == "message").count();
    if messages == 0 {
        return;
    }
    let name = counted(messages, "message");
    let tokens = parts.iter().map(|part| part.tokens).sum::<Tokens>().to_string();
    let is_of_client = |part: &&&Part| part.reason == PartReason::ClientHistory;
    let why = match parts.iter().find(is_of_client) {
        Some(part) => part.reason.describe(),
        None => PartReason::Recent.describe(),
    };
    table.row([Layer::History.to_string(), name, String::new(), tokens, why]);
}

fn is_summary(part: &Part) -> bool {
    matches!(part.reason, PartReason::Summary { .. })
}

fn dropped(request: &RequestContext) -> Option<TextTable> {
    // What the list of names had no room for is told with what search did not take.
    let dropped = request.dropped.iter().filter(|dropped| !dropped.reason.is_full_list());
    let mut dropped = dropped.peekable();
    if dropped.peek().is_none() && request.notices.is_empty() {
        return None;
    }
    let mut table = TextTable::new(["layer", "left out", "tokens", "why"]);
    table.align_right(2);
    table.set_key(1);
    for dropped in dropped {
        let DroppedEntry { what, layer, before, after, reason, .. } = dropped;
        let tokens = match *after {
            Tokens::ZERO => before.to_string(),
            after => format!("{before} → {after}"),
        };
        let memory = dropped.item.as_ref().filter(|item| item.kind == ItemKind::Memory);
        let what = memory.map_or_else(|| what.clone(), |item| shown_id(request, item));
        table.row([layer.to_string(), what, tokens, reason.describe()]);
    }
    for notice in &request.notices {
        // What is about no file names what it is about itself.
        let (kind, source) = match &notice.source {
            ContentSource::BuiltIn => ("note", String::new()),
            source => ("file", source.to_string()),
        };
        let problem = with_command(&*notice.problem, notice.remedy.as_ref());
        table.row([kind.to_owned(), source, String::new(), problem]);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_a_pipe_names_all_items() {
        let things: Vec<String> = (0..20).map(|number| format!("rule r{number}")).collect();
        let on_terminal = listed(&things, PageWidth::Columns(80)).unwrap();
        assert!(on_terminal.ends_with("rule r11, and 8 more"), "{on_terminal}");
        let in_pipe = listed(&things, PageWidth::Unlimited).unwrap();
        assert!(in_pipe.ends_with("rule r18, rule r19"), "{in_pipe}");
        assert_eq!(listed(&[], PageWidth::Unlimited), None);
    }
}
