//! Command lines: typed bare, in backticks, behind "run", or copied with their prompt.
//!
//! It recognises that someone wants a command run. It knows the names of common programs, not what
//! they do or whether they are installed, and a command that is only asked about is none.

use super::grammar::is_verb;
use super::lex::{self, Sentence, TokenGap, TokenKind, WordToken};
use super::request::{self, PeeledRequest};
use super::{MessageReading, MessageSign, MessageVerdict, lists};

/// A line that was copied from a terminal with its prompt: `$ ls -la`.
pub(super) fn prompt_line(message: &str) -> Option<MessageReading> {
    let lines = message.lines().map(str::trim_start);
    let mut commands = lines.filter_map(|line| line.strip_prefix("$ "));
    let command = commands.find(|command| command.starts_with(|c: char| c.is_alphabetic()))?;
    let matched = command.split_whitespace().take(2).map(str::to_owned).collect();
    Some(MessageReading { verdict: MessageVerdict::Tools, sign: MessageSign::CommandLine, matched })
}

/// A command in the sentence that is wanted run, not explained.
pub(super) fn command_line(sentence: &Sentence) -> Option<MessageReading> {
    let request = request::peel(&sentence.tokens);
    if asks_for_meaning(&request) {
        return None;
    }
    let is_command_token = |token: &&WordToken| match token.kind {
        TokenKind::Flag => token.typed.starts_with("--"),
        TokenKind::Code => is_command_text(token.typed),
        _ => false,
    };
    if let Some(token) = sentence.tokens.iter().find(is_command_token) {
        return Some(MessageReading::work(MessageSign::CommandLine, &[token]));
    }
    let rest = request.rest;
    let told_to_run = rest.first().is_some_and(|verb| is_verb(verb, &lists::RUN_VERBS));
    let command = if told_to_run { &rest[1..] } else { rest };
    let wanted = !sentence.asks || told_to_run;
    (wanted && is_command(command)).then(|| {
        let words: Vec<_> = command.iter().take(2).collect();
        MessageReading::work(MessageSign::CommandLine, &words)
    })
}

/// "what does … do", "explain …": the command is the subject of a question, unless it misbehaves.
fn asks_for_meaning(request: &PeeledRequest) -> bool {
    let Some(head) = request.rest.first() else { return false };
    let asks = lists::QUESTION_WORDS.has(head.stem()) || lists::EXPLAIN_VERBS.has(&head.lower);
    let trouble = |token: &WordToken| lists::TROUBLE_WORDS.has(&token.lower);
    asks && !request.rest.iter().any(trouble)
}

/// Whether text in backticks is a command: its only line begins like one.
fn is_command_text(code: &str) -> bool {
    if code.contains('\n') {
        return false;
    }
    lex::sentences(code).first().is_some_and(|sentence| is_command(&sentence.tokens))
}

fn is_command(tokens: &[WordToken]) -> bool {
    let Some(program) = tokens.first().filter(|token| token.kind == TokenKind::Word) else {
        return false;
    };
    let argument = tokens.get(1).filter(|token| token.gap == TokenGap::Space);
    let plain = lists::PROGRAMS.has(&program.lower);
    match argument {
        None => plain && tokens.len() == 1,
        Some(WordToken {
            kind: TokenKind::Flag | TokenKind::FileName | TokenKind::Path, ..
        }) => plain || lists::PROGRAMS_THAT_ARE_WORDS.has(&program.lower),
        Some(argument) if lists::SUBCOMMANDS.has(&argument.lower) => {
            plain && !tokens.iter().any(|token| token.is("vs") || token.is("is"))
        }
        Some(argument) => {
            let prose = lists::FUNCTION_WORDS.has(&argument.lower) || tokens.len() > 5;
            plain && !prose && !lists::CREATIVE_NOUNS.has_noun(&argument.lower)
        }
    }
}
