//! `recto show`: a turn's request by layer, the page as the model reads it, its exact bytes, or
//! all as JSON.

use recto_agent::{
    Actor, ActorRole, OpenTurn, OpenTurnStanding, RecordReader, RequestPurpose, TurnRecord,
    UsageTotals, find_open_turn, recorded_cause, recorded_notices, restore_request, sampling_words,
};
use recto_context::{MessageId, grouped_digits};
use recto_store::{
    RequestRecord, RequestUsage, Store, StoredDelegation, StoredRetraction, StoredSession,
    StoredTurn, TurnRetractions, TurnStatus,
};

use super::text;
use crate::cli::ShowArgs;
use crate::commands::approvals::answer_text;
use crate::commands::sessions::local;
use crate::draw::{self, PageWidth, labelled, labelled_exactly, wrap_words};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print_bytes, print_json, tame, turn_usage_words, usage_words};
use crate::setup;
use crate::terminal::pager::{self, PagerChoice};

pub(crate) fn run(home: &RectoHome, args: &ShowArgs) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&settings).await?;
        let actor = setup::actor();
        let record = RecordReader::new(&store, &actor).find_turn(&args.turn).await?;
        if args.json {
            return print_json(&record.json(args.request).await?);
        }
        let choice = if args.no_pager { PagerChoice::Never } else { PagerChoice::Usual };
        if args.text {
            let text = text::draw(&store, &record, args.request, PageWidth::of_stdout()).await?;
            return pager::show(&text, choice);
        }
        if args.body {
            return print_bytes(&record.body(args.request).await?);
        }
        let drawn = draw_turn(&store, &record, args.request).await?;
        pager::show(&wrap_words(&drawn, 2, PageWidth::of_stdout()), choice)
    })
}

/// Draws a turn with one of its requests: that of the number, or the last page.
async fn draw_turn(
    store: &Store,
    record: &TurnRecord<'_>,
    number: Option<u32>,
) -> CliResult<String> {
    let request = record.request_or_page(number).await?;
    let turn = record.turn();
    let context = restore_request(store, &request).await?;
    let width = PageWidth::of_stdout();
    let session = store.session(turn.session).await?;
    let open = find_open_turn(store, turn).await?;
    let mut out = heading(turn, open.as_ref(), session.as_ref(), &request, width);
    out.push_str(&all_requests(store, turn, width).await?);
    out.push_str(&notice_lines(&request, width));
    out.push_str(&open.as_ref().map(|open| standing(open, width)).unwrap_or_default());
    out.push_str(&retraction_lines(&store.retractions_of_turn(turn.id).await?, width));
    out.push_str(&delegation_lines(store, turn, width).await?);
    out.push_str(&approvals(store, turn, width).await?);
    out.push_str(&draw::request(&context, width));
    out.push_str(&reply(store, turn, &request, width).await?);
    Ok(out)
}

/// Why a turn ended, on one line: what each of its lines says stands apart from the next, and
/// "because" is said by the line itself.
fn reason_words(detail: &str) -> String {
    let reason = detail.strip_prefix("ended because ").unwrap_or(detail);
    let lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// Draws what a turn was and how it ended, and how its request came about.
fn heading(
    turn: &StoredTurn,
    open: Option<&OpenTurn>,
    session: Option<&StoredSession>,
    request: &RequestRecord,
    width: PageWidth,
) -> String {
    // The store says that it runs until somebody has taken it up.
    let is_cut_short = open.is_some_and(|open| open.standing == OpenTurnStanding::CutShort);
    let status = if is_cut_short { "cut short".to_owned() } else { turn.status.to_string() };
    let session = session.map_or_else(|| turn.session.to_string(), StoredSession::label);
    let bytes = grouped_digits(request.body_length);
    let mut lines = vec![
        (
            "turn",
            format!(
                "{} of session {}, {status}, {}",
                turn.id,
                tame(&session),
                local(turn.accepted)
            ),
        ),
        (
            "request",
            format!(
                "{} ({}), {bytes} bytes by the {} wire",
                request.number,
                local(request.at),
                request.wire
            ),
        ),
    ];
    if let Some(detail) = &turn.detail {
        lines.insert(1, ("because", tame(&reason_words(detail))));
    }
    let Actor { name, role, .. } = Actor::from_store(&turn.actor);
    if role != ActorRole::Owner {
        lines.push(("from", format!("{} ({role})", tame(name.as_str()))));
    }
    if let Some(before) = turn.continues {
        lines.push(("goes on", format!("with turn {before}, with what its client brought")));
    }
    if let Some(at) = request.redacted {
        let what = "a text was taken out; the bytes are not those that were sent";
        lines.push(("redacted", format!("{}: {what}", local(at))));
    }
    if RequestPurpose::from_record(request) == RequestPurpose::Summary {
        lines.push(("purpose", "a summary of messages that leave the page".to_owned()));
    }
    if let Some(chosen) = request.notes["chosen"].as_str().filter(|chosen| !chosen.is_empty()) {
        lines.push(("chosen", tame(chosen)));
    }
    lines.extend(sampling_words(request).map(|words| ("sampling", tame(&words))));
    lines.extend(prefix_words(request).map(|words| ("prefix", words)));
    lines.iter().map(|(label, text)| labelled(label, text, width)).collect()
}

/// Draws what all requests of the turn cost, where there are several.
async fn all_requests(store: &Store, turn: &StoredTurn, width: PageWidth) -> CliResult<String> {
    let usage = UsageTotals::read(store, turn.id).await?;
    Ok(match usage.requests {
        0 | 1 => String::new(),
        _ => labelled("in all", &turn_usage_words(&usage).join(", "), width),
    })
}

/// Draws what a person was told of the request.
fn notice_lines(request: &RequestRecord, width: PageWidth) -> String {
    let notices = recorded_notices(request);
    notices.iter().map(|notice| labelled("notice", &tame(&notice.text), width)).collect()
}

/// How far a request begins as the one before it, in words.
fn prefix_words(request: &RequestRecord) -> Option<String> {
    let prefix = &request.notes["prefix"];
    let same = prefix["agreed_tokens"].as_u64()?;
    let fresh = prefix["fresh_tokens"].as_u64().unwrap_or_default();
    let cause = recorded_cause(request);
    let cause = cause.map(|cause| format!("; cause: {}", cause.describe())).unwrap_or_default();
    let [same, fresh] = [same, fresh].map(grouped_digits);
    Some(format!("same beginning as the request before: {same} tokens; new: {fresh}{cause}"))
}

/// Draws how a turn stands that has not ended.
fn standing(open: &OpenTurn, width: PageWidth) -> String {
    labelled("open", &format!("it {}", draw::open_turn(open)), width)
}

/// Draws what the turn has to do with exchanges that were taken back.
fn retraction_lines(retractions: &TurnRetractions, width: PageWidth) -> String {
    let mut out = String::new();
    if let Some(StoredRetraction { turn, reason, .. }) = &retractions.replaces {
        let before =
            turn.map_or_else(|| "what was imported".to_owned(), |turn| format!("turn {turn}"));
        out.push_str(&labelled(reason.name(), &format!("of {before}"), width));
    }
    if let Some(StoredRetraction { reason, at, replaced_by, .. }) = &retractions.taken_back {
        let see = replaced_by.map_or_else(String::new, |turn| format!(", see turn {turn}"));
        let text = format!("taken back by /{}, {}{see}", reason.name(), local(*at));
        out.push_str(&labelled("undone", &text, width));
    }
    out
}

/// Draws which tasks the turn gave to sub-agents, and whose task it does itself.
async fn delegation_lines(store: &Store, turn: &StoredTurn, width: PageWidth) -> CliResult<String> {
    let mut out = String::new();
    if let Some(StoredDelegation { agent, parent, .. }) = store.delegation_in(turn.session).await? {
        let agent = tame(&agent);
        let text = match parent {
            Some(parent) => format!("the task of sub-agent {agent}, given by turn {}", parent.turn),
            None => format!("the task of sub-agent {agent}"),
        };
        out.push_str(&labelled("task", &text, width));
    }
    for task in store.delegations_of(turn.id).await? {
        let done = task.turn.map_or_else(|| "not begun".to_owned(), |turn| format!("turn {turn}"));
        out.push_str(&labelled("delegated", &format!("to {}: {done}", tame(&task.agent)), width));
    }
    Ok(out)
}

/// Draws what was asked in the turn, with the answers.
async fn approvals(store: &Store, turn: &StoredTurn, width: PageWidth) -> CliResult<String> {
    let mut out = String::new();
    for approval in store.approvals_of(turn.id).await? {
        let (tool, title) = (approval.question.tool.key(), &approval.question.title);
        let answer = answer_text(&approval);
        let text = format!("{}: {}: {answer}", tame(&tool), tame(title));
        out.push_str(&labelled_exactly("asked", &text, width));
    }
    Ok(out)
}

/// Draws what came back for a request.
async fn reply(
    store: &Store,
    turn: &StoredTurn,
    request: &RequestRecord,
    width: PageWidth,
) -> CliResult<String> {
    let Some(answer) = &request.answer else {
        return Ok(match turn.status {
            TurnStatus::Ended(_) => "\nnothing came back\n".to_owned(),
            _ => "\nnothing has come back yet\n".to_owned(),
        });
    };
    let bold = anstyle::Style::new().bold();
    let RequestUsage { prompt, cached, completion } = answer.usage;
    let usage = match usage_words(prompt, cached, completion).join(", ") {
        words if words.is_empty() => words,
        // Recto's own count adds up part by part, and can be a little more.
        words => format!(": {words}, by the model's own count"),
    };
    let mut out = format!("\n{bold}reply{bold:#}{usage}\n");
    if let Some(error) = answer.result["error"]["message"].as_str() {
        out.push_str(&format!("error: {}\n", tame(error)));
    }
    if let Some(stamp) = answer.result["stamp_taken_off"].as_str() {
        let stamps: Vec<&str> =
            stamp.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        out.push_str(&format!("taken off its beginning: {}\n", tame(&stamps.join(" "))));
    }
    if let Some(id) = answer.reply
        && let Some(text) = message_text(store, turn, id).await?
    {
        out.push_str(&wrap_words(&text, 0, width));
    }
    Ok(out)
}

async fn message_text(
    store: &Store,
    turn: &StoredTurn,
    id: MessageId,
) -> CliResult<Option<String>> {
    let messages = store.messages_within(turn.session, id..=id).await?;
    Ok(messages.first().map(|stored| crate::commands::sessions::body_text(&stored.message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_turn_ended_reads_as_one_line() {
        let detail = "ended because the model asked for the same tool call 3 times\n\
                      hint: ask in other words, or choose another model\n";
        let told = "the model asked for the same tool call 3 times; hint: ask in other words, or \
                    choose another model";
        assert_eq!(reason_words(detail), told);
        assert_eq!(reason_words("stopped"), "stopped");
    }
}
