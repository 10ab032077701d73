//! Where text goes: data to standard output, everything else to standard error.
//!
//! Data for programs goes out byte for byte. What is drawn for people may have
//! colours, which only a terminal gets to see. Files and messages are written by
//! others: what would move the cursor or reverse the text is made visible before
//! a person's terminal sees it.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use recto_agent::UsageTotals;
use recto_context::{Reveal, counted_noun, grouped_digits, reveal, reveal_json};
use serde_json::{Value, json};

use crate::draw::{PageWidth, cut_to, exact_line, wrap_words};
use crate::failure::{CliFailure, CliResult};

/// Prints lines for people. A terminal gets none that is wider than it is: what is too wide is
/// broken here, between words. Only lines that hang in another way are laid out before.
pub(crate) fn print(lines: &str) -> CliResult {
    print_drawn(&wrap_words(lines, 2, PageWidth::of_stdout()))
}

/// Prints what was laid out for the terminal already, line by line or piece by piece. Colours are
/// taken out unless a terminal shows them.
pub(crate) fn print_drawn(drawing: &str) -> CliResult {
    written(|| {
        let mut out = anstream::stdout().lock();
        out.write_all(drawing.as_bytes())?;
        out.flush()
    })
}

/// Prints data: as it is, but tame where a person looks.
pub(crate) fn print_data(data: &str) -> CliResult {
    print_bytes(data.as_bytes())
}

/// Prints bytes: as they are, but tame where a person looks.
pub(crate) fn print_bytes(data: &[u8]) -> CliResult {
    match io::stdout().is_terminal() {
        // With an end, so that the shell's prompt stands on a line of its own.
        true => write_out((tame_lines(&String::from_utf8_lossy(data)) + "\n").as_bytes()),
        false => write_out(data),
    }
}

/// Prints data for programs.
pub(crate) fn print_json(value: &Value) -> CliResult {
    print_json_text(&format!("{value:#}\n"))
}

/// Prints a text of JSON. Where a person looks, what can't be seen is written out in the way of
/// JSON, so that it is the same value.
fn print_json_text(json: &str) -> CliResult {
    match io::stdout().is_terminal() {
        true => write_out(reveal_json(json).as_bytes()),
        false => write_out(json.as_bytes()),
    }
}

fn write_out(data: &[u8]) -> CliResult {
    written(|| {
        let mut out = io::stdout().lock();
        out.write_all(data)?;
        out.flush()
    })
}

/// Prints one thing in one of its two forms: as data, or drawn for people.
pub(crate) fn print_as(
    as_json: bool,
    json: impl FnOnce() -> Value,
    draw: impl FnOnce() -> String,
) -> CliResult {
    if as_json { print_json(&json()) } else { print(&draw()) }
}

/// A list as data for programs. It stands in an object, under the name of what is listed, so
/// that more can be said beside it one day.
pub(crate) fn list_json(things: &str, list: impl IntoIterator<Item = Value>) -> Value {
    json!({things: list.into_iter().collect::<Value>()})
}

/// Prints a list as data, or drawn for people, who are told in words when it is empty.
pub(crate) fn print_list<T>(
    as_json: bool,
    things: &str,
    list: &[T],
    json: impl Fn(&T) -> Value,
    draw: impl FnOnce() -> String,
    nothing: &dyn Display,
) -> CliResult {
    if list.is_empty() && !as_json {
        tell(nothing);
        return Ok(());
    }
    print_as(as_json, || list_json(things, list.iter().map(json)), draw)
}

/// Prints data for programs that read line by line.
pub(crate) fn print_json_line(value: &impl serde::Serialize) -> CliResult {
    let line = serde_json::to_string(value)
        .map_err(|error| CliFailure::new("cannot write an event as JSON").because(&error))?;
    print_json_text(&(line + "\n"))
}

/// Prints a text of a file.
pub(crate) fn print_text(text: &str) -> CliResult {
    print_data(text)
}

/// Who reads standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorReader {
    /// A person, who gets lines of text.
    Person,
    /// A program, which gets an object on each line.
    Program,
}

/// Who reads standard error, as the command line says. It is the process that has one standard
/// error, so this is said once for all that is told.
static ERROR_READER: OnceLock<ErrorReader> = OnceLock::new();

/// Says for the rest of the process who reads standard error.
pub(crate) fn set_error_reader(reader: ErrorReader) {
    // Said once, by whoever reads the command line.
    let _ = ERROR_READER.set(reader);
}

/// Tells something that is not data: a person as text, a program as a note.
pub(crate) fn tell(what: &dyn Display) {
    let text = match ERROR_READER.get() {
        Some(ErrorReader::Program) => {
            json!({"note": {"message": what.to_string().trim()}}).to_string()
        }
        Some(ErrorReader::Person) | None => {
            wrap_words(&tame_lines(&what.to_string()), 2, PageWidth::of_stderr())
        }
    };
    // Nobody is left to be told when standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells a line with words of a model in it, so that these can't pass for further lines.
pub(crate) fn tell_exactly(line: &str) {
    let width = match ERROR_READER.get() {
        Some(ErrorReader::Program) => PageWidth::Unlimited,
        Some(ErrorReader::Person) | None => PageWidth::of_stderr(),
    };
    tell(&exact_line(line, width));
}

/// Tells of the failure of a command, in the form for whoever reads it.
pub(crate) fn tell_failure(failure: &CliFailure) {
    match ERROR_READER.get() {
        Some(ErrorReader::Program) => {
            let _ = writeln!(io::stderr(), "{}", failure.json());
        }
        Some(ErrorReader::Person) | None => tell(failure),
    }
}

/// A name or path on one line, with everything visible that is not text.
pub(crate) fn tame(text: &str) -> String {
    reveal(text, Reveal::Line)
}

/// A text of several lines, with everything visible that is not text.
pub(crate) fn tame_lines(text: &str) -> String {
    reveal(text, Reveal::Lines)
}

/// As much of a text as fits into so many columns, on one line.
pub(crate) fn one_line(text: &str, columns: usize) -> String {
    cut_to(&recto_context::one_line(text), columns)
}

/// The same where it is data: cut where it stands beside others on a terminal, and whole for
/// programs.
pub(crate) fn shown_line(text: &str, columns: usize) -> String {
    one_line(text, if io::stdout().is_terminal() { columns } else { usize::MAX })
}

/// What a model's server read, in words: `945 prompt tokens (578 from cache)`.
pub(crate) fn prompt_words(prompt: u64, cached: Option<u64>) -> String {
    let prompt = grouped_digits(prompt);
    match cached {
        Some(cached) => format!("{prompt} prompt tokens ({} from cache)", grouped_digits(cached)),
        None => format!("{prompt} prompt tokens"),
    }
}

/// What a model's server counted of a request, in words, one piece for each: what it read, and
/// what it wrote.
pub(crate) fn usage_words(
    prompt: Option<u32>,
    cached: Option<u32>,
    completion: Option<u32>,
) -> Vec<String> {
    let prompt = prompt.map(|prompt| match cached {
        None => prompt_words(prompt.into(), cached.map(u64::from)) + " (cache unknown)",
        Some(_) => prompt_words(prompt.into(), cached.map(u64::from)),
    });
    let written = completion.map(|count| format!("{} written", grouped_digits(count.into())));
    prompt.into_iter().chain(written).collect()
}

/// What a turn's requests cost, in words, one piece for each. Of several requests it is said how
/// many there were, and what the largest read: each reads again what the one before it had read.
pub(crate) fn turn_usage_words(usage: &UsageTotals) -> Vec<String> {
    let UsageTotals { requests, counted: told, largest, completion, .. } = *usage;
    let read = largest.map(|largest| largest.prompt);
    let mut words = usage_words(read, largest.and_then(|largest| largest.cached), completion);
    if requests < 2 {
        return words;
    }
    let made = counted(requests as usize, "request");
    match words.first_mut().filter(|_| read.is_some()) {
        Some(read) if told == requests => *read = format!("{made}, at most {read}"),
        Some(read) if told == 1 => *read = format!("{made}, 1 counted: {read}"),
        Some(read) => *read = format!("{made}, {told} counted: at most {read}"),
        None => words.insert(0, made),
    }
    words
}

/// A number of things, in words: `1 entry`, `2 entries`, `2 days`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let count = count as u64;
    format!("{} {}", grouped_digits(count), counted_noun(count, what))
}

fn written(write: impl FnOnce() -> io::Result<()>) -> CliResult {
    match write() {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(CliFailure::new("cannot write to standard output").because(&error)),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use recto_agent::PromptUsage;

    use super::*;

    #[test]
    fn a_turn_tells_of_no_prompt_that_was_not_sent() {
        let one = UsageTotals {
            requests: 1,
            counted: 1,
            prompt: Some(945),
            cached: Some(578),
            completion: Some(12),
            largest: Some(PromptUsage { prompt: 945, cached: Some(578) }),
        };
        let words = |usage: UsageTotals| turn_usage_words(&usage).join(" · ");
        assert_eq!(words(one), "945 prompt tokens (578 from cache) · 12 written");
        let largest = Some(PromptUsage { prompt: 1_204, cached: Some(1_000) });
        let three = UsageTotals { requests: 3, counted: 3, prompt: Some(3_100), largest, ..one };
        let expected = "3 requests, at most 1,204 prompt tokens (1,000 from cache) · 12 written";
        assert_eq!(words(three), expected);
        // One that was stopped, or whose server does not count, has told nothing.
        let two = UsageTotals { counted: 2, ..three };
        let expected = "3 requests, 2 counted: at most 1,204 prompt tokens (1,000 from cache) · 12 \
                        written";
        assert_eq!(words(two), expected);
        let first = UsageTotals { requests: 2, ..one };
        let expected = "2 requests, 1 counted: 945 prompt tokens (578 from cache) · 12 written";
        assert_eq!(words(first), expected);
        let none = UsageTotals { requests: 2, ..UsageTotals::default() };
        assert_eq!((words(none), words(UsageTotals::default())), ("2 requests".into(), "".into()));
    }
}
