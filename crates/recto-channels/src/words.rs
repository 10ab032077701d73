//! What Recto itself says in a chat, in Markdown: answers to commands, errors, greetings.

use recto_agent::{
    AgentError, AnsweredApproval, COMMANDS, CommandProblem, CommandReply, ItemChange,
    SessionSettings, StopOutcome, TurnContinues, UndoneExchange, session_setting_names,
};
use recto_context::{Layer, Remedy, RequestContext, counted_noun, grouped_digits};
use recto_store::{
    ApprovalAnswer, PAIRING_ROOM_MINUTES, PairingSubject, SessionSummary, StoreError, TokenCounts,
    describe_pairing_room,
};

use crate::content::{fenced, plain, with_code};

/// How many sessions a list names.
const MOST_SESSIONS: usize = 20;

/// What somebody is told who opens a chat with the agent.
pub(crate) fn greeting(agent: &str) -> String {
    format!("Hello! This is {}. Write what you want; /help lists the commands.", plain(agent))
}

/// What a stranger is told with their code.
pub(crate) fn pairing_words(
    kind: PairingSubject,
    code: &str,
    remedy_words: fn(&Remedy) -> String,
) -> String {
    let who = match kind {
        PairingSubject::Person => "I don't know you yet.",
        PairingSubject::Group => "I don't know this group yet.",
    };
    let command = remedy_words(&Remedy::ApprovePairing { pairing_code: code.to_owned() });
    let command = match kind {
        PairingSubject::Person => command.as_str(),
        // What is said behind it is how to let in oneself.
        PairingSubject::Group => first_code(&command),
    };
    format!(
        "{who} Tell this code to my owner, who can let you in within an hour:\n\n`{code}`\n\n\
         The owner uses {command}."
    )
}

/// A text up to the end of the first code in it.
fn first_code(text: &str) -> &str {
    match text.match_indices('`').nth(1) {
        Some((end, mark)) => &text[..end + mark.len()],
        None => text,
    }
}

/// What somebody is told who waits to be let in, and writes again.
pub(crate) const STILL_WAITING: &str =
    "I have not been told yet to let you in. I will say so when my owner has done it.";

/// What somebody is told who gets no code, because as many wait as may at once.
pub(crate) fn too_many_wait() -> String {
    format!(
        "Too many people wait to be let in right now, so I have no code for you yet. Write to me \
         again in {PAIRING_ROOM_MINUTES} minutes."
    )
}

/// The same for the owner, in the log.
pub(crate) fn too_many_wait_log() -> String {
    format!("as many wait to be let in as may at once: {}", describe_pairing_room())
}

/// What somebody is told whose message is of a kind that is not known here.
pub(crate) const UNKNOWN_KIND: &str =
    "I can't read this kind of message yet. Write it as text, or send it as a file.";

/// What somebody is told who named the bot and said nothing.
pub(crate) const NOTHING_SAID: &str =
    "I am here. Write what you want behind my name; /help lists the commands.";

/// What somebody is told once they are let in.
pub(crate) fn welcome(is_group: bool) -> &'static str {
    match is_group {
        true => {
            "This group is let in now: name me when you want something; /help lists the commands."
        }
        false => "You are let in now. Write what you want; /help lists the commands.",
    }
}

/// What somebody is told who named the bot in a way that keeps from it what they wrote.
pub(crate) const HIDDEN_MESSAGE: &str = "You have named my role, and Discord does not show me what you wrote then. Name me myself: of \
     the two entries with my name, pick the one that is a member. My owner can also switch on \
     Message Content Intent for me and set `context` or `all_messages`.";

/// What somebody is told whose message has to wait for the answer to a question.
pub(crate) fn question_first(tool: &str) -> String {
    format!(
        "A question is open here: may {} run? Answer that first, then I go on with this.",
        plain(tool)
    )
}

/// What somebody is told who wants something that has to wait for a turn to end.
const TURN_FIRST: &str = "A turn of this session is under way, and has to end first. Answer its question, wait for its \
     reply or send `/stop`; then send this again.";

/// What went wrong, and what can be done about it.
pub(crate) fn error_words(error: &AgentError) -> String {
    let told = |text: &str| with_code(&sentence(text));
    if let AgentError::Store(StoreError::Busy { .. }) = error {
        return TURN_FIRST.to_owned();
    }
    match error.hint() {
        Some(hint) => format!("{}\n\n{}", told(&error.to_string()), told(&hint)),
        None => told(&error.to_string()),
    }
}

/// What is wrong with a line that was meant as a command.
pub(crate) fn problem_words(problem: &CommandProblem) -> String {
    let told = |text: &str| with_code(&sentence(text));
    format!("{}\n\n{}", told(&problem.to_string()), told(&problem.hint()))
}

/// A text that begins like a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}

/// What a command answers; nothing where what happens shows by itself.
pub(crate) fn reply_words(reply: &CommandReply) -> Option<String> {
    Some(match reply {
        CommandReply::Help => help_words(),
        CommandReply::Began(renewal) => match &renewal.archived {
            Some(before) => format!(
                "A new session began; the one before is in the archive (number {}).",
                before.id
            ),
            None => "A new session began.".to_owned(),
        },
        CommandReply::Context(Some(request)) => context_words(request),
        CommandReply::Context(None) => NOTHING_SENT.to_owned(),
        CommandReply::Item(change) => item_words(change),
        CommandReply::Why(answers) if answers.is_empty() => NOTHING_SENT.to_owned(),
        CommandReply::Why(answers) => {
            let lines: Vec<String> =
                answers.iter().map(|answer| plain(&answer.to_string())).collect();
            lines.join("\n\n")
        }
        CommandReply::Usage(report) => {
            usage_words(report.totals.endings.all(), &report.totals.tokens)
        }
        CommandReply::SessionUsage(usage) => usage_words(usage.turns, &usage.tokens),
        CommandReply::Remembered(added) => {
            let already = if added.was_there { " already" } else { "" };
            format!("Remembered{already}: {}", plain(added.memory.text.as_str()))
        }
        CommandReply::Answered(answered) => answer_words(answered),
        CommandReply::Models { names, current } => model_words(names, current.as_deref()),
        CommandReply::Settings(settings) => settings_words(settings),
        CommandReply::Sessions(sessions) => session_words(sessions),
        CommandReply::Undone(undone) => undone_words(undone),
        CommandReply::Edit(message) => {
            format!(
                "Your last message was:\n\n{}\n\n/edit TEXT sends another in its place.",
                fenced(&message.text)
            )
        }
        CommandReply::Stopped(report) => match report.outcome {
            StopOutcome::Now => "Stopping.".to_owned(),
            StopOutcome::Elsewhere => "The process that runs it was asked to stop.".to_owned(),
            StopOutcome::Closed => "Stopped; the process that had it was gone.".to_owned(),
            StopOutcome::NothingRuns => "Nothing runs in this session.".to_owned(),
        },
        CommandReply::Resend(_) => return None,
    })
}

const NOTHING_SENT: &str = "Nothing has been sent in this session yet.";

fn help_words() -> String {
    let line =
        |help: &recto_agent::CommandHelp| format!("{}: {}", plain(&help.usage()), help.about);
    let lines: Vec<String> = COMMANDS.iter().map(line).collect();
    lines.join("\n")
}

/// The last request by layers, as the page has them.
fn context_words(request: &RequestContext) -> String {
    let (total, window) = (request.prompt_tokens(), request.budget.window);
    let mut lines = Vec::new();
    for layer in Layer::ALL {
        let tokens = request.layer_tokens(layer).get();
        if tokens > 0 {
            lines.push(format!("{:<10} {:>7}", layer.name(), grouped_digits(u64::from(tokens))));
        }
    }
    let mode = request.mode.chosen.name();
    format!(
        "The last request: {total} of {window} tokens, {mode}.\n\n{}",
        fenced(&lines.join("\n"))
    )
}

fn item_words(change: &ItemChange) -> String {
    format!("{}.", change.change.describe(&plain(&change.item.to_string())))
}

fn usage_words(turns: u64, tokens: &TokenCounts) -> String {
    let [turns, prompt, cached, completion] =
        [turns, tokens.prompt, tokens.cached, tokens.completion].map(grouped_digits);
    format!("{turns} turns: {prompt} prompt tokens ({cached} from cache), {completion} of replies.")
}

/// What follows from an answer to a question.
pub(crate) fn answer_words(answered: &AnsweredApproval) -> String {
    let answer = answered.approval.answer.as_ref().map(|decision| decision.answer);
    let decided = answer.map_or("answered", ApprovalAnswer::describe);
    match answered.goes_on {
        TurnContinues::Here => format!("{}.", sentence(decided)),
        TurnContinues::Elsewhere => {
            format!("{}. The turn goes on in the process that runs it.", sentence(decided))
        }
        TurnContinues::WhenAllAreAnswered => {
            format!("{}. Other questions of the turn are open.", sentence(decided))
        }
    }
}

fn model_words(names: &[String], current: Option<&str>) -> String {
    let line = |name: &String| match Some(name.as_str()) == current {
        true => format!("- **{}** (answers here)", plain(name)),
        false => format!("- {}", plain(name)),
    };
    let lines: Vec<String> = names.iter().map(line).collect();
    match lines.is_empty() {
        true => "There are no models.".to_owned(),
        false => lines.join("\n"),
    }
}

fn settings_words(settings: &SessionSettings) -> String {
    let own = serde_json::to_value(settings).unwrap_or_default();
    let names: Vec<&str> = session_setting_names().collect();
    let own = own.as_object().into_iter().flatten();
    let own: Vec<String> = own
        .filter(|(name, _)| names.contains(&name.as_str()))
        .map(|(name, value)| format!("- {} = {}", plain(name), plain(&value.to_string())))
        .collect();
    match own.is_empty() {
        true => "This session has the settings of its agent.".to_owned(),
        false => format!("Set for this session:\n{}", own.join("\n")),
    }
}

fn session_words(sessions: &[SessionSummary]) -> String {
    let line = |listed: &SessionSummary| {
        let opening = listed.opening.as_deref().unwrap_or("nothing said yet");
        let label = plain(&listed.session.label());
        let messages = listed.messages;
        let noun = counted_noun(messages, "message");
        format!("- **{label}** ({messages} {noun}): {}", plain(opening))
    };
    let mut lines: Vec<String> = sessions.iter().take(MOST_SESSIONS).map(line).collect();
    if sessions.len() > MOST_SESSIONS {
        lines.push(format!("- and {} more", sessions.len() - MOST_SESSIONS));
    }
    match lines.is_empty() {
        true => "There are no sessions.".to_owned(),
        false => lines.join("\n"),
    }
}

fn undone_words(undone: &UndoneExchange) -> String {
    let mut words = format!("Taken back: {}", plain(&undone.text));
    if !undone.stays_done.is_empty() {
        words.push_str("\n\nWhat its tools did stays done:");
        for call in &undone.stays_done {
            words.push_str(&format!("\n- {} {}", plain(&call.tool), plain(&call.arguments)));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_not_offered_to_be_the_owner() {
        let words = |_: &Remedy| "`let in CODE` (and `--owner`, to let in oneself)".to_owned();
        let told = |kind| pairing_words(kind, "CODE", words);
        assert!(told(PairingSubject::Person).ends_with("`--owner`, to let in oneself)."));
        assert!(told(PairingSubject::Group).ends_with("The owner uses `let in CODE`."));
    }
}
