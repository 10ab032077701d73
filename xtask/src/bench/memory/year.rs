//! A year of use, made up: what somebody wrote down and what was said. The same in
//! every run, but for the day on which the year ends.
//!
//! Sentences are drawn from lists, with invented names and numbers in between: as in
//! real texts, a few words are frequent and many are rare, which decides what a search
//! by words costs. How well a search finds is measured elsewhere, on real texts.

use std::collections::HashSet;
use std::fmt::Write;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::words::{self, ANSWERS, FACTS, NOTES, QUERIES, QUESTIONS};

pub(super) const DAYS: usize = 365;
pub(super) const MEMORIES: usize = 1_000;
pub(super) const SESSIONS: usize = 500;
/// Messages in each session of the year.
pub(super) const MESSAGES: usize = 100;

/// Every so many memories one is marked.
const IMPORTANT: usize = 125;
const SHARED: usize = 40;

const SYLLABLES: [&str; 20] = [
    "ba", "ter", "lo", "min", "ka", "ri", "sen", "do", "pa", "vel", "tu", "gar", "ne", "shi", "mo",
    "cal", "or", "wyn", "fe", "zu",
];

/// A file of memories: its path in the folder `memory`, and its text.
pub(super) type YearFile = (String, String);

/// A conversation of the year.
pub(super) struct YearTalk {
    pub(super) number: usize,
    pub(super) messages: Vec<YearMessage>,
}

/// A message: a person's and the model's take turns.
pub(super) struct YearMessage {
    pub(super) text: String,
    pub(super) at: Timestamp,
}

/// All files of memories of the year that ends on a day.
pub(super) fn files(last: Date) -> Vec<YearFile> {
    let first = last.saturating_sub((DAYS as i64 - 1).days());
    let mut files = vec![("MEMORY.md".to_owned(), memories(first))];
    files.extend(notes(first));
    files.extend(others(first));
    files
}

fn memories(first: Date) -> String {
    let (mut dice, mut known) = (Dice::new(1), HashSet::new());
    let (mut text, mut last) = (String::from("# Memory\n"), None);
    for number in 0..MEMORIES {
        let day = first.saturating_add(((number * DAYS / MEMORIES) as i64).days());
        if last.replace(day) != Some(day) {
            let _ = write!(text, "\n## {day}\n\n");
        }
        let mark = match number {
            _ if number % IMPORTANT == 7 => "[important] ",
            _ if number % SHARED == 11 => "[shared] ",
            _ => "",
        };
        let fact = dice.unlike(&FACTS, &mut known);
        let (hour, minute) = (8 + dice.below(12), dice.below(60));
        let _ = writeln!(text, "- {mark}{fact} (added at {day}T{hour:02}:{minute:02}:00Z)");
    }
    text
}

fn notes(first: Date) -> impl Iterator<Item = YearFile> {
    let (mut dice, mut known) = (Dice::new(2), HashSet::new());
    (0..DAYS).map(move |number| {
        let day = first.saturating_add((number as i64).days());
        let mut text = format!("# {day}\n\n");
        for _ in 0..3 + dice.below(4) {
            let _ = writeln!(text, "- {}", dice.unlike(&NOTES, &mut known));
        }
        (format!("{day}.md"), text)
    })
}

/// What is known of a few people and in a few conversations.
fn others(first: Date) -> impl Iterator<Item = YearFile> {
    let mut dice = Dice::new(3);
    let people = ["owner", "anna", "boris"].map(|name| format!("people/{name}.md"));
    let talks = ["telegram-4711", "telegram-815"].map(|name| format!("conversations/{name}.md"));
    people.into_iter().chain(talks).map(move |path| {
        let mut text = format!("# Memory\n\n## {first}\n\n");
        for _ in 0..10 {
            let _ = writeln!(text, "- {}", dice.sentence(&FACTS, &TalkScene::default()));
        }
        (path, text)
    })
}

/// The conversations of the year that ends on a day, the oldest first.
pub(super) fn talks(last: Date) -> impl Iterator<Item = YearTalk> {
    let first = last.saturating_sub((DAYS as i64 - 1).days());
    let mut dice = Dice::new(4);
    (0..SESSIONS).map(move |number| {
        let day = first.saturating_add(((number * DAYS / SESSIONS) as i64).days());
        let hour = 7 + dice.below(12) as i8;
        let begun = day.at(hour, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC);
        let begun = begun.map(|begun| begun.timestamp()).unwrap_or_default();
        let scene = TalkScene::new(&mut dice);
        let message = |index: usize| {
            let text = match index.is_multiple_of(2) {
                true => dice.spoken(&scene),
                false => dice.answer(&scene),
            };
            let at = begun.saturating_add((index as i64 * 90).seconds()).unwrap_or(begun);
            YearMessage { text, at }
        };
        YearTalk { number, messages: (0..MESSAGES).map(message).collect() }
    })
}

/// Things to recall, each only once.
pub(super) fn queries(count: usize) -> Vec<String> {
    let (mut dice, mut known) = (Dice::new(5), HashSet::new());
    (0..count).map(|_| dice.unlike(&QUERIES, &mut known)).collect()
}

/// What a person says in a turn, never the same twice.
pub(super) fn messages(count: usize) -> Vec<String> {
    let (mut dice, mut known) = (Dice::new(6), HashSet::new());
    (0..count).map(|_| dice.unlike(&QUESTIONS[..16], &mut known)).collect()
}

/// What a conversation keeps coming back to.
#[derive(Default)]
struct TalkScene {
    fixed: Vec<(&'static str, String)>,
}

impl TalkScene {
    fn new(dice: &mut Dice) -> Self {
        let fixed = ["person", "project", "place", "topic", "name"];
        TalkScene { fixed: fixed.map(|blank| (blank, dice.draw(blank))).into() }
    }
}

/// Dice that fall the same in every run.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below another.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    /// What a blank is filled with.
    fn draw(&mut self, blank: &str) -> String {
        match (blank, words::list(blank)) {
            (_, Some(list)) => list[self.below(list.len())].to_owned(),
            ("name", _) => self.name(),
            ("hour", _) => format!("{}:{:02}", 7 + self.below(14), self.below(4) * 15),
            _ => (2 + self.below(900)).to_string(),
        }
    }

    /// An invented name, hardly ever the same twice.
    fn name(&mut self) -> String {
        let count = 2 + self.below(2);
        let name: String = (0..count).map(|_| SYLLABLES[self.below(SYLLABLES.len())]).collect();
        name[..1].to_uppercase() + &name[1..]
    }

    /// One of the sentences, its blanks filled: half of them by what the scene is about.
    fn sentence(&mut self, sentences: &[&str], scene: &TalkScene) -> String {
        let mut rest = sentences[self.below(sentences.len())];
        let mut text = String::new();
        while let Some((before, behind)) = rest.split_once('{') {
            let (blank, behind) = behind.split_once('}').unwrap_or((behind, ""));
            let fixed = scene.fixed.iter().find(|(known, _)| *known == blank);
            let word = match fixed.filter(|_| self.below(2) == 0) {
                Some((_, word)) => word.clone(),
                None => self.draw(blank),
            };
            text += before;
            text += &word;
            rest = behind;
        }
        text + rest
    }

    /// A sentence that was not there yet.
    fn unlike(&mut self, sentences: &[&str], known: &mut HashSet<String>) -> String {
        loop {
            let sentence = self.sentence(sentences, &TalkScene::default());
            if known.insert(sentence.clone()) {
                return sentence;
            }
        }
    }

    /// What a person says: mostly a sentence, at times three.
    fn spoken(&mut self, scene: &TalkScene) -> String {
        let count = [1, 1, 1, 1, 1, 2, 2, 3][self.below(8)];
        self.sentences(count, &QUESTIONS, scene)
    }

    /// What a model answers: a sentence or two, a paragraph, at times half a page.
    fn answer(&mut self, scene: &TalkScene) -> String {
        let count = [1, 1, 2, 2, 3, 4, 4, 5, 6, 12][self.below(10)];
        self.sentences(count, &ANSWERS, scene)
    }

    fn sentences(&mut self, count: usize, of: &[&str], scene: &TalkScene) -> String {
        (0..count).map(|_| self.sentence(of, scene)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_year_is_as_large_as_promised_and_the_same_each_time() {
        let last = date(2026, 11, 15);
        let year = files(last);
        assert_eq!(year, files(last));
        assert_eq!(year.len(), 1 + DAYS + 5);
        let bullets = |text: &str| text.lines().filter(|line| line.starts_with("- ")).count();
        assert_eq!(bullets(&year[0].1), MEMORIES);
        assert!(year[1..=DAYS].iter().all(|(_, note)| (3..=6).contains(&bullets(note))));
        assert_eq!((&*year[1].0, &*year[DAYS].0), ("2025-11-16.md", "2026-11-15.md"));
        assert!(year.iter().all(|(_, text)| !text.contains(['{', '}'])));
    }

    #[test]
    fn talks_go_on_in_order_and_differ() {
        let talks: Vec<YearTalk> = talks(date(2026, 11, 15)).take(3).collect();
        let texts: HashSet<&str> =
            talks.iter().flat_map(|talk| &talk.messages).map(|said| &*said.text).collect();
        assert!(texts.len() > 3 * MESSAGES * 9 / 10, "{} differ", texts.len());
        assert!(talks.iter().all(|talk| talk.messages.len() == MESSAGES));
        assert!(talks.iter().all(|talk| talk.messages.is_sorted_by_key(|said| said.at)));
    }

    #[test]
    fn every_blank_has_its_words() {
        let all = [&FACTS[..], &NOTES, &QUESTIONS, &ANSWERS, &QUERIES].concat();
        for sentence in all {
            for blank in sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
                let is_drawn = ["name", "count", "hour"].contains(&blank.0);
                assert!(is_drawn || words::list(blank.0).is_some(), "{sentence}");
            }
        }
    }
}
