//! How the context was used, as people read it: turns and tokens, layers, the time in
//! days, weeks or months, items, what search chose, and what nothing uses.

use std::fmt::Write as _;

use jiff::civil::{Date, Weekday};
use recto_agent::{ReportedItem, UsageReport, seen_uses};
use recto_context::{Layer, grouped_digits};
use recto_store::{
    EndingCounts, ItemCounts, LastUse, SELECTION_BINS, SelectionBin, SessionUsage, TokenCounts,
};

use super::TextTable;
use super::wrap::PageWidth;
use crate::output::{counted, prompt_words, tame};

/// How many items are listed on a terminal.
const LISTED: usize = 40;

/// How many items are listed: what goes into a pipe or a file is not cut.
fn most_listed(width: PageWidth) -> usize {
    width.columns().map_or(usize::MAX, |_| LISTED)
}

/// What each table counts, in lines that fit a page.
const LAYERS: &str = "What the pages were made of, in tokens as Recto counts them.";
const PERIODS: &str = "Turns, the tokens of their prompts as the model's server counted them, and how\n\
     many items they took, offered, left and used.";
const ITEMS: &str = "In how many turns an item was taken (on the page with its text), offered (to be\n\
     called, or read by its name), left (considered, and not on the page) and used\n\
     (called, read by its name or recalled; of a rule or a reference on the page it\n\
     can't be seen).\n\
     It was last used by the last turn that took it or used it.";

/// What stands for tokens where the model's server told none.
const NOT_COUNTED: &str = "not counted";

/// Draws a report, or says why there is nothing to draw.
pub(crate) fn usage(report: &UsageReport, width: PageWidth) -> String {
    let mut out = heading(report);
    if report.totals.endings.all() == 0 {
        return out + &nothing(report);
    }
    out.push_str(&turns(&report.totals.endings, &report.totals.tokens));
    out.push_str(&refused(report.totals.refused_calls));
    if let Some(session) = &report.session {
        out.push_str(&session_usage(session));
    }
    for (caption, table) in [
        (LAYERS, layers(&report.totals.tokens)),
        (PERIODS, periods(report)),
        (ITEMS, items(report, most_listed(width))),
    ] {
        let _ = write!(out, "\n{caption}\n{}", table.draw(width));
    }
    let more = report.items.len().saturating_sub(most_listed(width));
    if more > 0 {
        let _ = writeln!(out, "and {more} more");
    }
    out.push_str(&selection(&report.totals.selection, width));
    out.push_str(&unused(report, width));
    out
}

/// The day of the last use, in the person's own time zone.
pub(crate) fn last_used(last: Option<LastUse>) -> String {
    match last {
        Some(last) => {
            let zoned = last.at.timestamp().to_zoned(jiff::tz::TimeZone::system());
            zoned.strftime("%Y-%m-%d").to_string()
        }
        None => "never".to_owned(),
    }
}

fn heading(report: &UsageReport) -> String {
    let agent = tame(&report.agent);
    let since = match (report.since, report.totals.first_day) {
        // What was asked for goes further back than what was counted.
        (Some(since), Some(first)) if since > first => format!(" since {since}"),
        (_, Some(first)) => format!(" since {first}, when counting began"),
        (_, None) => String::new(),
    };
    let damaged = match report.totals.damaged_days {
        0 => String::new(),
        days => format!("; the counts of {} can't be read", counted(days, "day")),
    };
    format!("agent {agent}{since}{damaged}\n")
}

fn nothing(report: &UsageReport) -> String {
    match report.totals.first_day {
        Some(_) => "no turn ended in this time; `--since all` shows all that was counted\n".into(),
        None => {
            "no turn was counted yet; each counts when it ends, so `recto chat` begins\n".into()
        }
    }
}

/// The line that tells of calls which nobody allowed.
fn refused(calls: u64) -> String {
    match calls {
        0 => String::new(),
        calls => format!(
            "refused   {}, none of them counted as a use\n",
            counted(calls as usize, "call")
        ),
    }
}

fn turns(endings: &EndingCounts, tokens: &TokenCounts) -> String {
    let all = endings.all();
    let otherwise = [
        (endings.failed, "failed"),
        (endings.stopped, "stopped"),
        (endings.interrupted, "interrupted"),
        (endings.handed_out, "handed to a client"),
    ];
    let otherwise = otherwise.iter().filter(|(count, _)| *count > 0);
    let otherwise: String =
        otherwise.map(|(count, how)| format!(", {} {how}", grouped_digits(*count))).collect();
    let seconds = endings.milliseconds as f64 / 1_000.0 / all.max(1) as f64;
    let mut out = format!("turns     {}", grouped_digits(all));
    let _ = writeln!(out, ": {} done{otherwise}", grouped_digits(endings.done));
    let _ = writeln!(out, "time      {seconds:.1} s a turn");
    let _ =
        writeln!(out, "requests  {}; {}", grouped_digits(tokens.requests), server_tokens(tokens));
    let _ = writeln!(
        out,
        "fresh     {} tokens differed from the request before",
        grouped_digits(tokens.fresh)
    );
    out
}

/// What servers have counted, in words.
fn server_tokens(tokens: &TokenCounts) -> String {
    if is_uncounted(tokens) {
        return format!("tokens {NOT_COUNTED} by the model's server");
    }
    let cached = tokens.cached_share().map(|_| tokens.cached);
    let written = grouped_digits(tokens.completion);
    format!("{}, {written} written", prompt_words(tokens.prompt, cached))
}

/// Whether requests were made to servers that tell no tokens, as the scripted model does.
fn is_uncounted(tokens: &TokenCounts) -> bool {
    tokens.requests > 0 && tokens.prompt == 0 && tokens.completion == 0
}

/// The line that tells of one session.
pub(crate) fn session_usage(session: &SessionUsage) -> String {
    let turns = counted(session.turns as usize, "turn");
    format!("session   {turns}; {}\n", server_tokens(&session.tokens))
}

fn layers(tokens: &TokenCounts) -> TextTable {
    let mut table = TextTable::new(["layer", "tokens a request", "share"]);
    table.align_right(1);
    table.align_right(2);
    let total: u64 = tokens.layers.values().sum();
    for layer in Layer::ALL {
        let Some(cost) = tokens.layers.get(&layer) else { continue };
        table.row([
            layer.name().to_owned(),
            short(cost / tokens.pages.max(1)),
            percent(*cost, total),
        ]);
    }
    table
}

/// Days that are shown as one line.
struct UsagePeriod {
    label: String,
    turns: u64,
    tokens: TokenCounts,
    items: ItemCounts,
}

fn periods(report: &UsageReport) -> TextTable {
    let mut table =
        TextTable::new(["when", "turns", "prompt", "cached", "taken", "offered", "left", "used"]);
    (1..8).for_each(|column| table.align_right(column));
    for UsagePeriod { label, turns, tokens, items } in grouped(report) {
        let cached = tokens.cached_share().map(|share| format!("{:.0}%", share * 100.0));
        table.row([
            label,
            short(turns),
            if is_uncounted(&tokens) { NOT_COUNTED.to_owned() } else { short(tokens.prompt) },
            cached.unwrap_or_default(),
            short(items.taken),
            short(items.offered),
            short(items.left),
            short(items.used),
        ]);
    }
    table
}

/// The days of a report, put together so that they fit on a page: a fortnight by
/// days, a quarter by weeks, more by months.
fn grouped(report: &UsageReport) -> Vec<UsagePeriod> {
    let days = &report.totals.days;
    let length = match (days.first(), days.last()) {
        (Some(first), Some(last)) => last.day.duration_since(first.day).as_hours() / 24 + 1,
        _ => 0,
    };
    let label = |day: Date| match length {
        ..=14 => day.to_string(),
        15..=92 => format!("week of {}", monday(day)),
        _ => day.strftime("%Y-%m").to_string(),
    };
    let mut periods: Vec<UsagePeriod> = Vec::new();
    for day in days {
        let label = label(day.day);
        if periods.last().is_none_or(|last| last.label != label) {
            let (tokens, items) = (TokenCounts::default(), ItemCounts::default());
            periods.push(UsagePeriod { label, turns: 0, tokens, items });
        }
        if let Some(last) = periods.last_mut() {
            last.turns += day.endings.all();
            last.tokens.add(&day.tokens);
            last.items.add(day.items);
        }
    }
    periods
}

fn monday(day: Date) -> Date {
    let back = day.weekday().since(Weekday::Monday);
    day.saturating_sub(jiff::Span::new().days(back))
}

fn items(report: &UsageReport, most: usize) -> TextTable {
    let mut table = TextTable::new(["item", "taken", "offered", "left", "used", "last used"]);
    (1..5).for_each(|column| table.align_right(column));
    let mut items: Vec<&ReportedItem> = report.items.iter().collect();
    let on_page = |item: &ReportedItem| item.usage.counts.taken + item.usage.counts.offered;
    items.sort_by_key(|item| std::cmp::Reverse((item.usage.counts.used, on_page(item))));
    for item in items.into_iter().take(most) {
        let ItemCounts { taken, offered, left, .. } = item.usage.counts;
        let used = seen_uses(&item.usage).map_or_else(|| "-".to_owned(), short);
        let gone = if item.is_gone() { " (gone)" } else { "" };
        table.row([
            format!("{}{gone}", item.usage.item),
            short(taken),
            short(offered),
            short(left),
            used,
            last_used(item.usage.last_used),
        ]);
    }
    table
}

fn selection(bins: &[SelectionBin; SELECTION_BINS], width: PageWidth) -> String {
    let decided = |bin: &SelectionBin| bin.picked + bin.passed > 0;
    if !bins.iter().any(decided) {
        return String::new();
    }
    let mut table =
        TextTable::new(["probability", "picked", "used", "", "passed over", "used all the same"]);
    (1..6).for_each(|column| table.align_right(column));
    for (index, bin) in bins.iter().enumerate().rev().filter(|(_, bin)| decided(bin)) {
        let [from, to] = SelectionBin::edges(index);
        let share =
            if bin.picked > 0 { percent(bin.picked_used, bin.picked) } else { String::new() };
        table.row([
            format!("{from:.1} to {to:.1}"),
            short(bin.picked),
            short(bin.picked_used),
            share,
            short(bin.passed),
            short(bin.passed_used),
        ]);
    }
    format!(
        "\nWhat search chose, and what the turn then used. Only tools and skills are here: whether a \
         rule, a reference or a memory on the page was used can't be seen.\n{}",
        table.draw(width)
    )
}

fn unused(report: &UsageReport, width: PageWidth) -> String {
    let time = unused_time(report);
    if report.unused.is_empty() {
        return format!("\nno item is without use {time}\n");
    }
    let mut table = TextTable::new(["not used", "include", "offered", "left", "last used"]);
    table.align_right(2);
    table.align_right(3);
    for item in report.unused.iter().take(most_listed(width)) {
        let ItemCounts { offered, left, .. } = item.usage.counts;
        table.row([
            item.usage.item.to_string(),
            item.include.map(|include| include.to_string()).unwrap_or_default(),
            short(offered),
            short(left),
            last_used(item.usage.last_used),
        ]);
    }
    let more = match report.unused.len().saturating_sub(most_listed(width)) {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    let count = counted(report.unused.len(), "item");
    format!("\n{count} that nothing has used {time}:\n{}{more}", table.draw(width))
}

/// The time without use that makes an item unused, in words. What was used before
/// anything was counted is not known.
fn unused_time(report: &UsageReport) -> String {
    let days = report.query.unused_days;
    let limit = report.query.unused_limit().to_zoned(jiff::tz::TimeZone::UTC).date();
    match report.totals.first_day {
        Some(first) if first > limit => "since counting began".to_owned(),
        _ => format!("for {}", counted(usize::from(days), "day")),
    }
}

fn percent(part: u64, whole: u64) -> String {
    let whole = whole.max(1);
    format!("{}%", (part * 100 + whole / 2) / whole)
}

/// A number that fits into a column.
fn short(number: u64) -> String {
    match number {
        ..100_000 => grouped_digits(number),
        100_000..10_000_000 => format!("{} k", grouped_digits(number / 1_000)),
        _ => format!("{} M", grouped_digits(number / 1_000_000)),
    }
}

#[cfg(test)]
mod tests;
