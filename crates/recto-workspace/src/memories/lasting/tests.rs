//! Statements that last, and statements that don't.

use proptest::prelude::*;

use super::*;

const LASTING: [&str; 43] = [
    "Write all answers in British English",
    "Use British spelling",
    "User wants to be called Max",
    "I prefer brief answers",
    "User prefers dark roast coffee",
    "The user prefers answers in metric units.",
    "Sam prefers short replies",
    "Always answer in German",
    "Please always reply in French.",
    "never use emoji",
    "Never use emojis in your replies",
    "Don't use emoji",
    "Do not apologise",
    "No emoji, please",
    "Keep answers short",
    "Keep it brief",
    "Be concise.",
    "Answer in Spanish",
    "Reply to me in English",
    "Use metric units",
    "I want short answers",
    "I don't like long explanations",
    "I hate jargon",
    "I’d like formal replies",
    "call me Sam",
    "Please call me Dr. Weber",
    "You can call me Lee",
    "My name is Maria Lopez",
    "User's name is Tom",
    "My pronouns are they/them",
    "I am allergic to peanuts",
    "I'm allergic to penicillin",
    "The user is allergic to cats",
    "I have a nut allergy",
    "I'm vegetarian",
    "I don't eat pork",
    "My time zone is Europe/Vienna",
    "Remember that I prefer tea",
    "From now on, always answer in Italian",
    "Ich heiße Jonas",
    "Antworte immer auf Deutsch",
    "请用中文回答",
    "私の名前は健太です",
];

const PASSING: [&str; 30] = [
    "The dentist is on Tuesday",
    "Project X is in Python",
    "Call me back tomorrow",
    "Call me at 5",
    "call me when the build is done",
    "I like the new office",
    "I want to buy a bicycle",
    "I need milk",
    "Always deploy from main",
    "Never push on Fridays",
    "Always use pnpm in the web project",
    "Use the staging server for tests",
    "Don't forget the milk",
    "The answer is 42",
    "Anna is allergic to the idea of meetings",
    "Anna's name is on the list",
    "My car is in the garage",
    "I am in Berlin next week",
    "For today I prefer tea",
    "Answer the letter of the tax office by Friday",
    "Do I prefer tea or coffee?",
    "The user table has 12 columns",
    "User 42 reported a bug",
    "The prefix is never cut",
    "Keep the receipts for the tax return",
    "Speak with Tom about the contract",
    "Be at the airport at 6",
    "会议在星期二",
    "Der Zahnarzt ist am Dienstag",
    "",
];

#[test]
fn lasting_wishes_are_told_from_what_passes() {
    let missed: Vec<_> = LASTING.iter().filter(|text| !is_lasting_statement(text)).collect();
    let kept: Vec<_> = PASSING.iter().filter(|text| is_lasting_statement(text)).collect();
    assert!(missed.is_empty() && kept.is_empty(), "missed {missed:#?}, kept {kept:#?}");
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        is_lasting_statement(&text);
    }

    #[test]
    fn words_and_marks_in_any_order_are_read(
        parts in prop::collection::vec(prop::sample::select(vec![
            "İ", "密码", ":", "=", " ", "is", "for", "\"", "a", "9", ".", "ß", "’", "call me",
            "always", "\n", "wörter ", "password", "是", "i", "answer ", "keep ", "user",
        ]), 0..24)
    ) {
        is_lasting_statement(&parts.concat());
    }
}
