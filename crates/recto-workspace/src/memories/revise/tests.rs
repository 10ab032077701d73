//! Files of all kinds, of which one memory is changed.

use std::sync::Arc;

use proptest::prelude::*;
use recto_context::MemoryScope;

use super::super::cache::memory_of;
use super::*;

fn file() -> MemoryFile {
    let path: Arc<std::path::Path> = std::path::Path::new("MEMORY.md").into();
    MemoryFile { label: "MEMORY.md".into(), path, scope: MemoryScope::Global, day: None }
}

/// The memory of this text, which has to be there.
#[track_caller]
fn memory(content: &str, text: &str) -> Memory {
    let file = file();
    let entries = read_entries(content, None);
    let entry = entries.iter().find(|entry| entry.text == text);
    memory_of(&file, entry.unwrap_or_else(|| panic!("{text:?} is not in {entries:#?}")))
}

#[track_caller]
fn check_forget(content: &str, text: &str, rest: &str) {
    assert_eq!(remove_memory(content, &memory(content, text), &file()).as_deref(), Some(rest));
}

#[track_caller]
fn check_edit(content: &str, old: &str, new: &str, expected: &str) {
    let wording = Wording::new(new).unwrap();
    let edited = edit_memory(content, &memory(content, old), Some(&wording), &|old| old, &file());
    assert_eq!(edited.map(|(content, _)| content).as_deref(), Some(expected));
}

#[track_caller]
fn check_marks(content: &str, text: &str, marks: MemoryMarks, expected: &str) {
    let changed = edit_memory(content, &memory(content, text), None, &|_| marks, &file());
    let (changed, entry) = changed.unwrap();
    assert_eq!(changed, expected);
    assert_eq!(entry.marks, marks);
}

const FRAMED: &str = "---\ntitle: Mine\ntags:\n- a\n---\n<!-- - old -->\n1. tea\n   <!-- why\n\
    not -->\n   and rain\n2) snow\n<!--\n- hidden\n-->\n- last\n";

#[test]
fn front_matter_and_comments_stay_whatever_is_changed() {
    check_forget(
        FRAMED,
        "tea and rain",
        &FRAMED.replace("1. tea\n", "").replace("   and rain\n", ""),
    );
    check_forget(FRAMED, "snow", &FRAMED.replace("2) snow\n", ""));
    check_forget(FRAMED, "last", &FRAMED.replace("- last\n", ""));
    check_edit(
        FRAMED,
        "tea and rain",
        "hail",
        &FRAMED.replace("1. tea\n", "1. hail\n").replace("   and rain\n", ""),
    );
    // As a bullet, it would take in what is indented below it.
    check_edit("Loose\n\n  apart\n", "Loose", "tight", "- tight\n\n---\n\n\n  apart\n");
    check_edit(FRAMED, "last", "first", &FRAMED.replace("last", "first"));
    let memory = memory(FRAMED, "tea and rain");
    assert_eq!(forgotten_blocks(FRAMED, &memory, &file()), "1. tea\n   and rain\n");
}

#[test]
fn a_bullet_whose_text_begins_on_the_next_line_stays_one() {
    check_edit("- \n  tea\n- b\n", "tea", "rain", "- rain\n- b\n");
    check_edit("1.  x\n-\n  tea", "tea", "rain", "1.  x\n- rain");
}

// Whoever was killed in the middle of an edit makes it again.
#[test]
fn what_an_edit_says_may_be_there_already() {
    check_edit("- b\n- x\n- a\n", "a", "b", "- b\n- x\n- b\n");
    check_edit("- a\n- x\n- b\n", "a", "b", "- b\n- x\n- b\n");
    check_edit("- a\n- x\n", "a", "a", "- a\n- x\n");
}

#[test]
fn lines_that_end_with_returns_stay_so() {
    let content = "# Mine\r- one\r  goes on\r\r- two\rLoose\r";
    check_forget(content, "one goes on", "# Mine\r\r- two\rLoose\r");
    check_edit(content, "two", "2\n3", "# Mine\r- one\r  goes on\r\r- 2\\\r  3\rLoose\r");
    check_edit(content, "Loose", "tight", "# Mine\r- one\r  goes on\r\r- two\r- tight\r");
    let content = "[shared] a\r- gone\rb\r";
    check_forget(content, "gone", "[shared] a\r\rb\r");
}

#[test]
fn marks_come_and_go_and_the_text_stays_as_it_is_written() {
    let none = MemoryMarks::default();
    let important = MemoryMarks { important: true, shared: false };
    let shared = MemoryMarks { important: false, shared: true };
    let content = "* [Shared][IMPORTANT]  tea\r\n  and rain (added at 2026-01-01)\r\n- b";
    let with = |marks: &str| content.replace("[Shared][IMPORTANT]  ", marks);
    check_marks(content, "tea and rain", none, &with(""));
    check_marks(content, "tea and rain", important, &with("[important] "));
    check_marks(content, "tea and rain", shared, &with("[shared] "));
    check_marks(content, "b", shared, &content.replace("- b", "- [shared] b"));
    check_marks(content, "b", none, content);
    check_marks("[shared] Loose\ntext\n", "Loose text", none, "Loose\ntext\n");
    // Without its mark, this would be a bullet.
    check_marks("[shared] - a\n", "- a", none, "- - a\n");
    check_marks("-\n  [shared] a\n", "a", none, "-\n  a\n");
    check_marks("- [shared] [shared](x)\n", "[shared](x)", none, "- [shared](x)\n");
    check_marks("- [shared] a\n- b\n- [shared] a\n", "a", none, "- a\n- b\n- a\n");
    check_marks("```\n```\n  b", "```\n```", none, "```\n```\n  b");
    // As a bullet, it would take in what is indented below it.
    let apart = "- [shared] ```\\\n  ```\n\n---\n\n  b";
    check_marks("```\n```\n  b", "```\n```", shared, apart);
    check_marks("```\na\n```\n", "```\na\n```", shared, "- [shared] ```\\\n  a\\\n  ```\n");
}

#[test]
fn with_another_text_marks_are_those_that_are_said_last() {
    let content = "- [shared] a\n";
    let memory = memory(content, "a");
    let change = |text: &str, marks: fn(MemoryMarks) -> MemoryMarks| {
        edit_memory(content, &memory, Some(&Wording::new(text).unwrap()), &marks, &file())
            .unwrap()
            .0
    };
    assert_eq!(change("b", |marks| marks), "- [shared] b\n");
    assert_eq!(change("[important] b", |marks| marks), "- [important] b\n");
    assert_eq!(change("b", |marks| MemoryMarks { shared: false, ..marks }), "- b\n");
    assert_eq!(change("[shared] b", |_| MemoryMarks::default()), "- b\n");
}

/// What stands between two fences may be all that keeps them from being one block.
fn is_between_fences(content: &str) -> bool {
    content.matches("```").count() >= 2
}

#[test]
fn what_keeps_others_apart_is_not_taken_out() {
    let content = "```\nopen\n- f (added at 2026-01-01)\n```\n";
    assert_eq!(remove_memory(content, &memory(content, "f"), &file()), None);
    let content = "<!-- open\n- a --> b\n-->\n";
    check_forget(content, "a --> b", "<!-- open\n<!-- -->\n-->\n");
    let content = "---\nkey: v\n\n- a\n---\n";
    check_forget(content, "a", "---\nkey: v\n\n<!-- -->\n---\n");
}

/// What files are made of.
fn part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "- a",
        "* [shared] b",
        "1. c",
        "2) d",
        "Loose",
        "  goes on",
        "  - part",
        "---",
        "key: v",
        "<!-- x -->",
        "  <!-- y -->",
        "<!--",
        "-->",
        "  -->",
        "```",
        "## 2026-03-01",
        "",
        "\\",
        "- e\\",
        "- f (added at 2026-01-01)",
        "- g --> h",
        "[shared](x)",
        "\u{feff}",
        "12. März",
        "- <!-- z -->",
    ])
}

proptest! {
    #[test]
    fn what_is_changed_leaves_every_other_byte_alone(
        parts in prop::collection::vec(part(), 0..14),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        is_ended: bool,
    ) {
        let content = parts.join(end) + if is_ended { end } else { "" };
        let file = file();
        let all = read_entries(&content, None);
        for entry in &all {
            let memory = memory_of(&file, entry);
            let same: Vec<&MemoryEntry> = all.iter().filter(|other| other.text == entry.text).collect();
            // What is around the entries of this text, and the comments within them.
            let mut kept = Vec::new();
            let mut at = 0;
            for same in same {
                kept.push(&content[at..same.range.start]);
                kept.extend(same.comments.iter().map(|range| &content[range.clone()]));
                at = same.range.end;
            }
            kept.push(&content[at..]);
            let keeps = |changed: &str| {
                let mut rest = changed;
                changed.starts_with(kept[0]) && changed.ends_with(kept[kept.len() - 1])
                    && kept.iter().all(|part| match rest.find(part) {
                        Some(at) => { rest = &rest[at + part.len()..]; true }
                        None => false,
                    })
            };
            if let Some(rest) = remove_memory(&content, &memory, &file) {
                prop_assert!(keeps(&rest), "{content:?} without {:?}: {rest:?}", entry.text);
            } else {
                prop_assert!(is_between_fences(&content), "{content:?}: {:?} stays", entry.text);
            }
            let wording = Wording::new("another").unwrap();
            let new = edit_memory(&content, &memory, Some(&wording), &|old| old, &file);
            match new {
                Some((new, _)) => prop_assert!(keeps(&new), "{content:?}, {:?}", entry.text),
                None => prop_assert!(is_between_fences(&content), "{content:?}, {:?}", entry.text),
            }
            let toggled = |old: MemoryMarks| MemoryMarks { shared: !old.shared, ..old };
            let new = edit_memory(&content, &memory, None, &toggled, &file);
            match new {
                Some((new, _)) => prop_assert!(keeps(&new), "{content:?}, {:?}", entry.text),
                None => prop_assert!(is_between_fences(&content), "{content:?}, {:?}", entry.text),
            }
        }
    }
}
