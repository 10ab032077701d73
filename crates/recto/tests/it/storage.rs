//! What a long conversation costs on disk.

use rusqlite::Connection;

use crate::support::*;

/// Words without meaning that compress about as well as prose does: drawn from a
/// vocabulary, by a generator of its own so that every run has the same.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A text of about so many bytes.
    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            // One of 65,536 words of four to nine letters.
            let mut word = Words(self.next() % 65_536);
            let length = 4 + word.next() % 6;
            text.extend((0..length).map(|_| char::from(b'a' + (word.next() % 26) as u8)));
            text.push(' ');
        }
        text.trim_end().to_owned()
    }
}

/// What a session has added to the store.
#[derive(Debug)]
struct Cost {
    /// Bytes of the record of every request: documents, hashes, parts and keys.
    record: usize,
    /// Bytes of the transcript.
    transcript: usize,
    /// Bytes of the file, with all else in it.
    file: usize,
    /// Copies of the prefix among the parts.
    prefixes: usize,
}

impl Cost {
    fn of(home: &Home) -> Self {
        let database = Connection::open(home.path("data/recto.db")).unwrap();
        let number = |statement: &str| -> usize {
            let number: i64 = database.query_row(statement, [], |row| row.get(0)).unwrap();
            usize::try_from(number).unwrap()
        };
        Cost {
            record: number(
                "SELECT (SELECT sum(length(document) + length(body_hash)) FROM requests)
                      + (SELECT sum(length(key) + length(data)) FROM parts)",
            ),
            transcript: number("SELECT sum(length(body)) FROM messages"),
            file: number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"),
            prefixes: number("SELECT count(*) FROM parts WHERE length(data) > 6000"),
        }
    }
}

/// Plays 200 turns over a prefix of 20 KB, and gives the bytes that were said and
/// what they cost, both without the first turn's.
fn two_hundred_turns(question: usize, answer: usize) -> (usize, Cost) {
    let mut words = Words(7);
    let questions: Vec<String> = (0..200).map(|_| words.text(question)).collect();
    let answers: Vec<String> = (0..200).map(|_| words.text(answer)).collect();
    let line = |answer: &String| serde_json::json!({ "content": answer }).to_string();
    let script = |answers: &[String]| answers.iter().map(line).collect::<Vec<_>>().join("\n");
    let home = Home::scripted(&[&script(&answers[..1])]);
    home.write("workspace/SOUL.md", words.text(12_000));
    let skill = format!("---\nname: s\ndescription: d\n---\n{}", words.text(8_000));
    home.write("workspace/skills/s/SKILL.md", skill);
    home.ok(&["chat", "-m", &questions[0]]);
    let first = Cost::of(&home);
    home.write("talk.jsonl", script(&answers[1..]));
    let run = home.run_with(&["chat"], questions[1..].join("\n"), &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    home.ok(&["replay", "--verify", "200"]);
    let all = Cost::of(&home);
    let said = questions.iter().chain(&answers).map(String::len).sum::<usize>();
    let cost = Cost {
        record: all.record - first.record,
        transcript: all.transcript - first.transcript,
        file: all.file - first.file,
        prefixes: all.prefixes,
    };
    (said - questions[0].len() - answers[0].len(), cost)
}

#[test]
fn a_stable_prefix_is_stored_once_and_a_turn_costs_little_beside_its_new_content() {
    let (said, cost) = two_hundred_turns(400, 600);
    println!("said {said} bytes: {cost:?}");
    assert!(cost.record <= said, "{cost:?} for {said} bytes");
    assert!(cost.file <= 2 * said, "{cost:?} for {said} bytes");
    // As the text of its layers; the body refers to it.
    assert_eq!(cost.prefixes, 1, "{cost:?}");
}

#[test]
fn short_turns_cost_little_too() {
    let (said, cost) = two_hundred_turns(80, 120);
    println!("said {said} bytes: {cost:?}");
    // Most of it is what every request has, whatever was said: hashes, counts and times.
    assert!(cost.record <= 2 * said, "{cost:?} for {said} bytes");
}
