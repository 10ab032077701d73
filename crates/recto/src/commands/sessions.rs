//! `recto sessions`: what was said, kept, moved and found.

mod delete;
mod effective;
mod redact;
mod status;
mod stop;
mod summaries;
mod transfer;

#[cfg(any(test, fuzzing))]
pub(crate) use transfer::fuzzing;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use recto_agent::{
    GuestBook, SessionSettings, compaction_json, describe_answered, list_open_turns,
    message_hit_json, name_in_scope, session_json, stored_answer_text, summary_json,
    transcript_json, turn_json,
};
use recto_context::{
    Audience, AudienceKind, ContentPart, Message, MessageBody, byte_words, visible_text,
};
use recto_store::{
    MessageHit, Moment, SessionFilter, SessionHolder, SessionName, SessionSummary, Store,
    StoredMessage, StoredRetraction, StoredSession, StoredTurn, TurnId,
};
use serde_json::json;

use crate::cli::{AgentArg, SessionArgs, SessionCommand};
use crate::commands::approvals::person_words;
use crate::config::LoadedConfig;
use crate::draw::{self, PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, list_json, print, print_json, tame, tame_lines, tell};
use crate::setup::{self, TERMINAL};

use delete::Confirmation;
pub(crate) use delete::forget_elsewhere;
pub(crate) use effective::{EffectiveSetting, EffectiveSettings, SettingSource};
use status::SessionDescriber;
pub(crate) use status::effective_settings;
pub(crate) use stop::stop_text;
use transfer::ExportContent;
pub(crate) use transfer::resume_from_file;

pub(crate) fn run(home: &RectoHome, args: &SessionArgs) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    let settings = setup::asked_settings(&config, &args.agent)?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(settings).await?;
        // A deletion that was cut short is finished by whoever looks next.
        store.wipe_deleted().await?;
        let find = async |name| {
            find(&store, &setup::meant_agent(&config, &args.agent, name), &args.agent, name).await
        };
        match &args.command {
            SessionCommand::List { all, tasks, json } => {
                let filter = list_filter(*all, *tasks);
                list(&store, &config, &args.agent, filter, json.json).await
            }
            SessionCommand::Show { name, json } => {
                show(&store, &config, find(name).await?, json.json).await
            }
            SessionCommand::Rename { name, new } => rename(&store, find(name).await?, new).await,
            SessionCommand::Archive { name } => archive(&store, find(name).await?).await,
            SessionCommand::Delete { name, yes } => {
                let confirmation = if *yes { Confirmation::Given } else { Confirmation::Asked };
                delete::run(home, &store, find(name).await?, confirmation).await
            }
            SessionCommand::Redact { text, yes, json } => {
                let confirmation = if *yes { Confirmation::Given } else { Confirmation::Asked };
                redact::run(home, &config, &store, text, confirmation, json.json).await
            }
            SessionCommand::Export { name, out, format, records } => {
                let content = if *records { ExportContent::Records } else { ExportContent::Talk };
                let session = find(name).await?;
                transfer::export(&store, session, out.as_deref(), *format, content).await
            }
            SessionCommand::Import { file, name } => {
                transfer::import(&store, settings, file, name.as_deref()).await
            }
            SessionCommand::Expand { name } => {
                let session = find(name).await?;
                let settings = setup::session_settings(&config, &session)?;
                summaries::expand(home, settings, store.clone(), session).await
            }
            SessionCommand::Stop { name, json } => {
                stop::stop(&store, &find(name).await?, json.json).await
            }
            SessionCommand::Search { query, limit, json } => {
                search(&store, query, *limit, json.json).await
            }
        }
    })
}

/// Finds the session of that name or number: the agent's, or, unless one was asked
/// for, that of the only other agent that has one.
pub(crate) async fn find(
    store: &Store,
    agent: &str,
    asked: &AgentArg,
    name: &str,
) -> CliResult<StoredSession> {
    let owner = SessionHolder::owner();
    match store.find_session(agent, &owner, name).await? {
        // A number is that of any agent's session.
        Some(session) if asked.agent.is_some() && session.agent != agent => {
            return Err(not_of(&session, agent));
        }
        Some(session) => return Ok(session),
        None => {}
    }
    let others = match asked.agent {
        Some(_) => Vec::new(),
        None => store.sessions_named(&owner, name).await?,
    };
    match <[StoredSession; 1]>::try_from(others) {
        Ok([session]) => Ok(session),
        Err(several) if !several.is_empty() => Err(ambiguous(name, &several)),
        Err(_) => Err(not_found(store, name).await?),
    }
}

async fn not_found(store: &Store, name: &str) -> CliResult<CliFailure> {
    let all = store.sessions(SessionFilter::All).await?;
    let labels: Vec<String> = all.iter().map(|summary| summary.session.label()).collect();
    let failure = CliFailure::no_such("session", name);
    // Names are those of whom a session is held with.
    let others: Vec<&SessionSummary> =
        all.iter().filter(|summary| summary.session.label() == name.trim()).collect();
    if let [summary, ..] = others[..] {
        let id = summary.session.id;
        return Ok(failure.hint(format!("session {id} of somebody else has that name: say `{id}`")));
    }
    let otherwise = "`recto sessions list --all` lists those that are there";
    // A number next to another is no misspelling of it.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let names = labels.iter().map(String::as_str).filter(|label| !is_number(label));
    Ok(match is_number(name.trim()) {
        true => failure.hint(otherwise),
        false => failure.hint_nearest(name, names, otherwise),
    })
}

/// The failure of whoever asks one agent for the session of another.
pub(crate) fn not_of(session: &StoredSession, agent: &str) -> CliFailure {
    let (label, owner) = (tame(&session.label()), tame(&session.agent));
    let what = format!("session {label} belongs to the agent `{owner}`, not to `{agent}`");
    CliFailure::new(what).hint(format!("say `--agent {owner}`, or leave --agent out"))
}

/// The failure of a name that sessions of several agents have.
pub(crate) fn ambiguous(name: &str, several: &[StoredSession]) -> CliFailure {
    let agents: Vec<String> =
        several.iter().map(|session| format!("`{}`", tame(&session.agent))).collect();
    let what = format!("several agents have a session `{}`", tame(name));
    CliFailure::new(what).hint(format!("choose one with --agent: {}", agents.join(", ")))
}

async fn list(
    store: &Store,
    config: &LoadedConfig,
    asked: &AgentArg,
    filter: SessionFilter,
    json: bool,
) -> CliResult {
    let mut sessions = store.sessions(filter).await?;
    let is_asked = |summary: &SessionSummary| {
        asked.agent.as_ref().is_none_or(|agent| summary.session.agent == *agent)
    };
    sessions.retain(is_asked);
    if json {
        let describer = SessionDescriber::new(store, config).await?;
        let mut described = Vec::new();
        for summary in &sessions {
            let mut json = summary_json(summary);
            describer.describe(&summary.session, &mut json).await?;
            described.push(json);
        }
        return print_json(&list_json("sessions", described));
    }
    match (sessions.is_empty(), filter) {
        (true, SessionFilter::Tasks) => tell(&"no sub-agent has been given a task yet"),
        (true, _) => tell(&"there are no sessions yet; `recto chat` begins one"),
        (false, _) => {
            let open = draw_open_turns(store, &sessions).await?;
            let guests = load_guests(store, &sessions).await?;
            print(&(table(&sessions, &config.settings.agent.name, &guests) + &open))?;
        }
    }
    if filter == SessionFilter::Open {
        let tasks = store.sessions(SessionFilter::Tasks).await?;
        match tasks.iter().filter(|summary| is_asked(summary)).count() {
            0 => {}
            tasks => tell(&format_args!(
                "beside them {} of sub-agents; `recto sessions list --tasks` lists them",
                counted(tasks, "task")
            )),
        }
    }
    Ok(())
}

/// The sessions that somebody wants to see in a list.
fn list_filter(all: bool, tasks: bool) -> SessionFilter {
    match (tasks, all) {
        (true, _) => SessionFilter::Tasks,
        (false, true) => SessionFilter::All,
        (false, false) => SessionFilter::Open,
    }
}

/// How the open turns of sessions stand, one a line.
async fn draw_open_turns(store: &Store, sessions: &[SessionSummary]) -> CliResult<String> {
    let mut lines = String::new();
    for open in list_open_turns(store).await? {
        if sessions.iter().any(|summary| summary.session.id == open.turn.session) {
            let (session, standing) = (tame(&open.session), draw::open_turn(&open));
            let _ = write!(lines, "\nsession {session}: turn {} {standing}", open.turn.id);
        }
    }
    Ok(if lines.is_empty() { lines } else { lines + "\n" })
}

/// The sessions, one a line.
///
/// The agent is told where it is not always the usual one.
pub(crate) fn table(sessions: &[SessionSummary], usual_agent: &str, guests: &GuestBook) -> String {
    let mut table = TextTable::new(["number", "name", "messages", "turns", "last", "begins with"]);
    for column in [0, 2, 3] {
        table.align_right(column);
    }
    let has_several = sessions.iter().any(|summary| summary.session.agent != usual_agent);
    for summary in sessions {
        let session = &summary.session;
        let name = match (&session.name, guests.find(session)) {
            (Some(name), Some(guest)) => format!("{name} with {guest}"),
            (None, Some(guest)) => format!("({}) with {guest}", session.surface),
            (Some(name), None) => name.to_string(),
            // Nobody has named it: where it is held tells it apart.
            (None, None) if session.surface != TERMINAL => {
                format!("({})", held_where(session, guests))
            }
            (None, None) => String::new(),
        };
        let archived = if session.archived.is_some() { " (archived)" } else { "" };
        table.row([
            session.id.to_string(),
            match has_several {
                true => format!("{name} ({}){archived}", session.agent),
                false => format!("{name}{archived}"),
            },
            summary.messages.to_string(),
            summary.turns.to_string(),
            local(summary.last),
            summary.opening.clone().unwrap_or_default(),
        ]);
    }
    table.draw(PageWidth::of_stdout())
}

/// With whom sessions are held that stand in a list.
pub(crate) async fn load_guests(
    store: &Store,
    sessions: &[SessionSummary],
) -> CliResult<GuestBook> {
    let guests = GuestBook::load(store).await?;
    Ok(guests.with_members(store, sessions.iter().map(|summary| &summary.session)).await?)
}

/// Where a session is held, and with whom, where that is no guest.
fn held_where(session: &StoredSession, guests: &GuestBook) -> String {
    let surface = &session.surface;
    let Audience { who, conversation, .. } =
        SessionSettings::from_store(&session.settings).holders();
    match (who, conversation) {
        (AudienceKind::Owner, _) => format!("{surface}, the owner"),
        (AudienceKind::Group, Some(scope)) => {
            let member = guests.find_member(session);
            let member = member.map(|name| format!("{name} in ")).unwrap_or_default();
            format!("{surface}, {member}group {}", name_in_scope(&scope))
        }
        _ => surface.clone(),
    }
}

/// Writes a moment as people read it, in their own time zone.
pub(crate) fn local(moment: Moment) -> String {
    let zoned = moment.timestamp().to_zoned(jiff::tz::TimeZone::system());
    zoned.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The same with the name of the zone.
pub(crate) fn local_with_zone(moment: Moment) -> String {
    let zoned = moment.timestamp().to_zoned(jiff::tz::TimeZone::system());
    zoned.strftime("%Y-%m-%d %H:%M %Z").to_string()
}

async fn show(
    store: &Store,
    config: &LoadedConfig,
    session: StoredSession,
    json: bool,
) -> CliResult {
    let messages = store.messages(session.id, None).await?;
    let turns = store.turns(session.id).await?;
    let compactions = store.compactions(session.id).await?;
    let retractions = store.retractions(session.id).await?;
    if json {
        let asked = store.open_approvals(Moment::now()).await?;
        let question = |turn: &StoredTurn| asked.iter().find(|approval| approval.turn == turn.id);
        let mut described = session_json(&session);
        SessionDescriber::new(store, config).await?.describe(&session, &mut described).await?;
        return print_json(&json!({
            "session": described,
            "messages": transcript_json(&messages, &retractions),
            "compactions": compactions.iter().map(compaction_json).collect::<Vec<_>>(),
            "turns": turns.iter().map(|turn| turn_json(turn, question(turn))).collect::<Vec<_>>(),
        }));
    }
    let mut out = format!("session {}, begun {}\n", tame(&session.label()), local(session.created));
    let answers = AnswerWords::read(store, &messages).await?;
    for stored in &messages {
        let retraction = find_retraction(stored, &retractions);
        let _ = write!(out, "\n{}", message_text(stored, retraction, &answers));
        out.push_str(&summaries::behind(stored.message.id, &compactions));
    }
    for turn in turns.iter().filter(|turn| turn.first_message.is_none()) {
        let text = turn.inbound.as_deref().map(visible_text).unwrap_or_default();
        let _ = write!(out, "\nturn {}, not sent:\n{}\n", turn.id, tame_lines(&text));
    }
    let open = list_open_turns(store).await?;
    for open in open.iter().filter(|open| open.turn.session == session.id) {
        let _ = writeln!(out, "\nturn {} {}", open.turn.id, draw::open_turn(open));
    }
    print(&out)
}

/// What transcripts say of answered questions, with the owner as "you": whoever looks is the owner.
struct AnswerWords(HashMap<(TurnId, String), String>);

impl AnswerWords {
    async fn read(store: &Store, messages: &[StoredMessage]) -> CliResult<Self> {
        let asking = messages.iter().filter(|stored| is_answer(&stored.message));
        let turns: BTreeSet<TurnId> = asking.filter_map(|stored| stored.turn).collect();
        let mut words = HashMap::new();
        for turn in turns {
            let approvals = store.approvals_of(turn).await?;
            words.extend(approvals.iter().filter_map(|approval| {
                let shown = describe_answered(approval, person_words)?;
                Some(((turn, stored_answer_text(approval)?), shown))
            }));
        }
        Ok(AnswerWords(words))
    }

    /// What is shown of a message that tells of an answer.
    fn get(&self, stored: &StoredMessage) -> Option<&str> {
        let MessageBody::Approval(text) = &stored.message.body else { return None };
        self.0.get(&(stored.turn?, text.as_str().to_owned())).map(String::as_str)
    }
}

fn is_answer(message: &Message) -> bool {
    matches!(message.body, MessageBody::Approval(_))
}

/// A message as people read it: who, when and in which turn, then what.
fn message_text(
    stored: &StoredMessage,
    retraction: Option<&StoredRetraction>,
    answers: &AnswerWords,
) -> String {
    let bold = anstyle::Style::new().bold();
    let turn = match (stored.turn, stored.brought_by) {
        (Some(turn), _) => format!(", turn {turn}"),
        (None, Some(turn)) => format!(", brought by the client of turn {turn}"),
        (None, None) => String::new(),
    };
    let taken_back = retraction.map_or_else(String::new, |retraction| {
        let see = retraction.replaced_by;
        let see = see.map_or_else(String::new, |turn| format!(", see turn {turn}"));
        format!(", taken back by /{}{see}", retraction.reason.name())
    });
    let speaker = tame(&speaker(&stored.message));
    let mut out = format!("{bold}{speaker}{bold:#} ({}{turn}{taken_back})\n", local(stored.at));
    match answers.get(stored) {
        Some(words) => out.push_str(&(tame_lines(words) + "\n")),
        None => out.push_str(&body_text(&stored.message)),
    }
    out
}

/// The text of a message: what it says, and what it calls.
pub(crate) fn body_text(message: &Message) -> String {
    shown_lines(message).iter().map(|line| tame_lines(line) + "\n").collect()
}

fn speaker(message: &Message) -> String {
    match &message.body {
        MessageBody::User(user) => match &user.speaker {
            Some(name) => format!("user {name}"),
            None => "user".to_owned(),
        },
        MessageBody::Assistant { .. } => "assistant".to_owned(),
        MessageBody::Tool { name, .. } => format!("result of {name}"),
        MessageBody::Error(_) => "error".to_owned(),
        MessageBody::Approval(_) => "approval".to_owned(),
    }
}

fn shown_lines(message: &Message) -> Vec<String> {
    let notes = match &message.body {
        MessageBody::Error(text) | MessageBody::Approval(text) => Some(text.as_str().to_owned()),
        _ => None,
    };
    let parts = message.content().iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.as_str().to_owned()),
        ContentPart::Image(image) => {
            let name = image.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            let bytes = byte_words(image.size() as u64);
            Some(format!("[image{name}, {}, {bytes}]", image.media_type))
        }
        ContentPart::File(file) => {
            Some(format!("[file {}, {}]", file.name(), byte_words(file.text().len() as u64)))
        }
        ContentPart::Opaque(_) => None,
    });
    let calls = message.calls().iter();
    let calls =
        calls.map(|call| format!("[calls {} {}]", tame(&call.name), call.arguments.as_str()));
    notes.into_iter().chain(parts).chain(calls).collect()
}

/// What took a message back, if anything did.
fn find_retraction<'a>(
    stored: &StoredMessage,
    retractions: &'a [StoredRetraction],
) -> Option<&'a StoredRetraction> {
    retractions.iter().find(|retraction| retraction.range().contains(&stored.message.id))
}

async fn rename(store: &Store, session: StoredSession, new: &str) -> CliResult {
    let new = session_name(new)?;
    let renamed = store.rename(session.id, new).await?;
    tell(&format_args!("session {} is called {} now", session.id, renamed.label()));
    Ok(())
}

/// Checks that a session can have this name.
fn session_name(text: &str) -> CliResult<SessionName> {
    SessionName::new(text).map_err(|error| CliFailure::new(error.to_string()))
}

async fn archive(store: &Store, session: StoredSession) -> CliResult {
    store.archive(session.id, Moment::now()).await?;
    tell(&format_args!(
        "session {} is in the archive; `recto chat --session {}` takes it out again",
        session.label(),
        session.id
    ));
    Ok(())
}

async fn search(store: &Store, query: &str, limit: usize, json: bool) -> CliResult {
    let hits = store.search(query, limit).await?;
    if json {
        return print_json(&list_json("messages", hits.iter().map(message_hit_json)));
    }
    if hits.is_empty() {
        tell(&"no message has all of these words");
    }
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    for hit in &hits {
        let _ = writeln!(
            out,
            "{bold}{}{bold:#}, {} {} ({}{})\n    {}",
            tame(&hit_label(hit)),
            hit.role.name(),
            hit.message.0,
            local(hit.at),
            hit.taken_back.map_or("", |_| ", taken back"),
            snippet(hit)
        );
    }
    print(&out)
}

/// The text around a match, on one line, with the match underlined.
fn snippet(hit: &MessageHit) -> String {
    let line = |text: &str| tame(&text.replace(['\n', '\r', '\t'], " "));
    let found = hit.found.clone();
    let (before, rest) = hit.snippet.split_at_checked(found.start).unwrap_or((&hit.snippet, ""));
    let (found, after) = rest.split_at_checked(found.len()).unwrap_or((rest, ""));
    let underlined = anstyle::Style::new().underline();
    format!("{}{underlined}{}{underlined:#}{}", line(before), line(found), line(after))
}

/// The name of the session of a hit, or its number.
fn hit_label(hit: &MessageHit) -> String {
    hit.name.as_ref().map_or_else(|| hit.session.to_string(), ToString::to_string)
}
