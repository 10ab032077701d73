//! A summary as text: a line for whoever said something, oldest first, and then lists of
//! what did not fit as sentences.

use super::choose::SummaryChoice;
use super::facts::FactKind;
use super::material::{Statement, SummaryMaterial, TurnSpeaker};

/// What stands before what a person said.
pub(super) const USER: &str = "User: ";

/// What stands before what a model said.
pub(super) const ASSISTANT: &str = "Assistant: ";

/// What stands before each list.
pub(super) const LISTS: [(FactKind, &str); 4] = [
    (FactKind::Name, "Also named: "),
    (FactKind::Number, "Also numbers: "),
    (FactKind::Reference, "Also references: "),
    (FactKind::Quote, "Also quoted: "),
];

/// What parts the entries of a list.
pub(super) const PARTED: &str = "; ";

/// The text of a choice.
pub(super) fn render(material: &SummaryMaterial, choice: &SummaryChoice) -> String {
    let mut lines: Vec<(&Statement, String)> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    for &at in &choice.statements {
        let statement = &material.statements[at];
        let (sentence, clause) = statement.place;
        let goes_on = last == Some((sentence, clause.wrapping_sub(1)));
        last = Some(statement.place);
        // What stands without the beginning of its sentence shows that.
        let cut = if clause > 0 && !goes_on { "… " } else { "" };
        let said = format!("{cut}{}", statement.text);
        match lines.last_mut() {
            Some((first, line)) if is_same_voice(first, statement) => {
                if !goes_on {
                    close(line);
                }
                line.push(' ');
                line.push_str(&said);
            }
            _ => lines.push((statement, said)),
        }
    }
    let spoken = lines.into_iter().map(|(first, mut line)| {
        close(&mut line);
        format!("{}{line}", statement_lead(first))
    });
    let lists = LISTS.iter().filter_map(|(kind, label)| {
        let entries = choice.listed.iter().map(|&at| &material.facts[at].fact);
        let entries: Vec<String> = entries
            .filter(|fact| fact.kind == *kind)
            .map(|fact| entry(*kind, &fact.text))
            .collect();
        (!entries.is_empty()).then(|| format!("{label}{}", entries.join(PARTED)))
    });
    spoken.chain(lists).collect::<Vec<_>>().join("\n")
}

/// A fact in a list. What would look like the next entry is taken out of it.
pub(super) fn entry(kind: FactKind, text: &str) -> String {
    let text = text.replace(PARTED, " ");
    if kind == FactKind::Quote { format!("\"{text}\"") } else { text }
}

/// What stands before what somebody said.
pub(super) fn statement_lead(statement: &Statement) -> String {
    let name = statement.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    mark(statement.speaker).to_owned() + &name
}

fn is_same_voice(one: &Statement, other: &Statement) -> bool {
    one.speaker == other.speaker && one.name == other.name
}

pub(super) fn mark(speaker: TurnSpeaker) -> &'static str {
    match speaker {
        TurnSpeaker::User => USER,
        TurnSpeaker::Assistant => ASSISTANT,
        TurnSpeaker::Nobody | TurnSpeaker::Tool => "",
    }
}

/// Ends a line as a sentence ends.
fn close(line: &mut String) {
    let is_closed = line.ends_with(['.', '!', '?', '。', '！', '？', '"', '”', '」', '…']);
    if !is_closed {
        let end = line.trim_end_matches([',', ';', ':', ' ', '—', '–']).len();
        line.truncate(end);
        line.push('.');
    }
}
