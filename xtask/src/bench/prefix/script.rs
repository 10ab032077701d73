//! What happens in a session, turn by turn: what the person says, what search
//! brings, what the model is made to call. The same in every run.

use recto_context::{ItemId, ItemKind, Mode, Pick, Scores};

/// What the person says: one message a line.
const MESSAGES: &str = include_str!("messages.txt");

/// What tools give back, with empty lines between.
const RESULTS: &str = include_str!("results.txt");

/// What search brings, until there is a search: the items in turn.
const PICKS: [(ItemKind, &str); 8] = [
    (ItemKind::Rule, "returns"),
    (ItemKind::Reference, "reading-club"),
    (ItemKind::Rule, "children"),
    (ItemKind::Reference, "shipping"),
    (ItemKind::Rule, "gift-cards"),
    (ItemKind::Reference, "market-stall"),
    (ItemKind::Rule, "press"),
    (ItemKind::Reference, "used-books"),
];

/// The skill that brings a tool along which was not offered before.
const WITH_TOOL: &str = "forecast";

/// A turn of the script: the message, and what happens in it.
#[derive(Debug, Clone)]
pub(super) struct ScriptedTurn {
    pub(super) message: &'static str,
    pub(super) picks: Vec<Pick>,
    pub(super) mode: Mode,
    /// How often the model calls a tool before it answers.
    pub(super) rounds: usize,
    /// Whether a person edits a file before it.
    pub(super) edit: FileEdit,
}

/// Whether a file of the workspace is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileEdit {
    Nothing,
    File,
}

/// A session of nothing but talk: no tools, no picks, no edits.
pub(super) fn talk() -> Vec<ScriptedTurn> {
    let turn = |message| ScriptedTurn {
        message,
        picks: Vec::new(),
        mode: Mode::Full,
        rounds: 0,
        edit: FileEdit::Nothing,
    };
    MESSAGES.lines().map(turn).collect()
}

/// The session of talk, with one or two picks in every turn.
pub(super) fn with_picks() -> Vec<ScriptedTurn> {
    let mut turns = talk();
    for (index, turn) in turns.iter_mut().enumerate() {
        // Runs through the list at two speeds, so that pairs change.
        let second = (index % 2 == 1).then(|| pick(index * 3 + 1));
        turn.picks = std::iter::once(pick(index)).chain(second).collect();
    }
    turns
}

/// The session of talk, with everything that happens to a session: picks in every third
/// turn, calls in every sixth, a tool that is new, two turns in minimal mode,
/// an edited file.
pub(super) fn mixed() -> Vec<ScriptedTurn> {
    let mut turns = talk();
    for (number, turn) in (1..).zip(&mut turns) {
        if number % 3 == 0 {
            turn.picks = vec![pick(number)];
        }
        if number % 6 == 0 {
            turn.rounds = 1 + number / 6 % 2;
        }
        match number {
            14 => turn.picks.push(found(ItemKind::Skill, WITH_TOOL)),
            16 | 22 | 40 => (turn.mode, turn.rounds) = (Mode::Minimal, 1),
            32 => turn.edit = FileEdit::File,
            _ => {}
        }
    }
    turns
}

/// What the call with this number in its session gives back.
pub(super) fn result(call: usize) -> &'static str {
    let results: Vec<&str> = RESULTS.trim_end().split("\n\n").collect();
    results[call % results.len()]
}

fn pick(place: usize) -> Pick {
    let (kind, name) = PICKS[place % PICKS.len()];
    found(kind, name)
}

fn found(kind: ItemKind, name: &str) -> Pick {
    let scores = Scores { probability: Some(0.8), ..Scores::default() };
    Pick::new(ItemId::new(kind, name), scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_fifty_turns_with_the_same_messages() {
        for turns in [talk(), with_picks(), mixed()] {
            assert_eq!(turns.len(), 50);
            assert!(turns.iter().zip(talk()).all(|(turn, talk)| turn.message == talk.message));
        }
        assert!(with_picks().iter().all(|turn| !turn.picks.is_empty()));
    }

    #[test]
    fn everything_happens_in_the_mixed_session() {
        let turns = mixed();
        let count = |is: fn(&ScriptedTurn) -> bool| turns.iter().filter(|turn| is(turn)).count();
        assert_eq!(count(|turn| turn.mode == Mode::Minimal), 3);
        assert_eq!(count(|turn| turn.edit == FileEdit::File), 1);
        assert_eq!(count(|turn| turn.rounds > 0), 11);
        assert_eq!(count(|turn| turn.picks.iter().any(|pick| &*pick.item.name == WITH_TOOL)), 1);
        assert_eq!(count(|turn| !turn.picks.is_empty()), 17);
    }

    #[test]
    fn results_come_round_again() {
        assert_eq!(result(0), result(5));
        assert!(result(1).starts_with("events/"));
    }
}
