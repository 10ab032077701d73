//! Files as people write them, and which memories are in them.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(content: &str, expected: &Expect) {
    let mut shown = String::new();
    let mut entries = read_entries(content, None);
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.added(), entry.line)));
    for entry in entries {
        let day = entry.day.map_or_else(|| "-".to_owned(), |day| day.to_string());
        shown += &format!("MEMORY.md:{} {day} {:?}\n", entry.line, entry.text);
    }
    expected.assert_eq(&shown);
}

#[test]
fn an_indented_list_is_a_list() {
    let content = "  - a\n  - b (added at 2026-03-01)\n    - deeper\n  - c\n";
    let memories = read_entries(content, None);
    let mut texts: Vec<&str> = memories.iter().map(|memory| memory.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts.contains(&"a") && texts.contains(&"c"));
}

#[test]
fn memories_come_newest_first() {
    check(
        "# Memory\n\n- undated one\n- undated two\n\n\
         ## 2026-03-01\n- old, early (added at 2026-03-01T09:00:00Z)\n\
         - old, late (added at 2026-03-01T10:00:00Z)\n\
         ## 2026-04-02\n- new a\n- new b\n",
        &expect![[r#"
            MEMORY.md:11 2026-04-02 "new b"
            MEMORY.md:10 2026-04-02 "new a"
            MEMORY.md:8 2026-03-01 "old, late"
            MEMORY.md:7 2026-03-01 "old, early"
            MEMORY.md:4 - "undated two"
            MEMORY.md:3 - "undated one"
        "#]],
    );
}

#[test]
fn the_time_of_adding_wins_over_the_heading() {
    check(
        "## 2026-03-01\n- moved (added at 2026-05-06T00:30:00+02:00)\n",
        &expect![[r#"
        MEMORY.md:2 2026-05-06 "moved"
    "#]],
    );
    check(
        "## 2026-03-01\n- a (added at some time)\n- b (added at 2026-02-30)\n",
        &expect![[r#"
        MEMORY.md:3 2026-03-01 "b (added at 2026-02-30)"
        MEMORY.md:2 2026-03-01 "a (added at some time)"
    "#]],
    );
    check(
        "- a (added at 2026-05-06)\n- b (added at 2026-05-06 10:00)\n",
        &expect![[r#"
        MEMORY.md:2 2026-05-06 "b"
        MEMORY.md:1 2026-05-06 "a"
    "#]],
    );
}

#[test]
fn every_kind_of_bullet_and_loose_text_is_a_memory() {
    check(
        "* star\n+ plus\n- dash\n  goes on\n\n  and on\n  - with a part\n\
         Loose text\nof two lines.\n\nAnother.\n-\n---\n- \n  indented\n",
        &expect![[r#"
            MEMORY.md:14 - "indented"
            MEMORY.md:11 - "Another."
            MEMORY.md:8 - "Loose text of two lines."
            MEMORY.md:3 - "dash goes on and on\n- with a part"
            MEMORY.md:2 - "plus"
            MEMORY.md:1 - "star"
        "#]],
    );
}

#[test]
fn other_headings_and_impossible_days_are_ignored() {
    check(
        "## 2026-03-01\n### Work\n- a\n## 2026-13-40\n- b\n#tag is text\n",
        &expect![[r##"
        MEMORY.md:6 2026-03-01 "#tag is text"
        MEMORY.md:5 2026-03-01 "b"
        MEMORY.md:3 2026-03-01 "a"
    "##]],
    );
}

#[test]
fn windows_line_ends_leave_no_trace() {
    check(
        "## 2026-03-01\r\n- a\r\n  b (added at 2026-03-01T09:00:00Z)\r\n",
        &expect![[r#"
        MEMORY.md:2 2026-03-01 "a b"
    "#]],
    );
}

#[test]
fn front_matter_is_no_memory() {
    check(
        "---\ntitle: Mine\ntags:\n- a\n  - b\n\n# note\nlast edited: today\n---\n- tea\n",
        &expect![[r#"
            MEMORY.md:10 - "tea"
        "#]],
    );
    check(
        "\u{feff}---\r\nkey:\r\n---\r\ntea",
        &expect![[r#"
            MEMORY.md:4 - "tea"
        "#]],
    );
}

#[test]
fn rules_and_what_is_never_closed_are_no_front_matter() {
    let count = |content: &str| read_entries(content, None).len();
    assert_eq!(count("---\n- tea\n---\n- rain\n"), 2);
    assert_eq!(count("---\nLoose text\n---\n- rain\n"), 2);
    assert_eq!(count("---\nkey: value\nLoose text\n---\n"), 1);
    assert_eq!(count("---\nnote: call\n- tea\n---\n"), 2);
    assert_eq!(count("---\nkey: value\n- tea\n"), 2);
    assert_eq!(count("---\nkey:\n- tea (added at 2026-03-01)\n---\n"), 2);
    assert_eq!(count("---\nkey:\n## 2026-03-01\n- tea\n---\n"), 2);
    assert_eq!(count("\n---\nkey: value\n---\n"), 1, "not at the very beginning");
    assert_eq!(count("- a\n---\nkey: value\n---\n"), 2);
}

#[test]
fn comments_are_no_memories() {
    check(
        "<!-- one -->\n- tea\n<!-- a --> <!-- b -->\n<!--\n- hidden (added at 2026-03-01)\n\
         ## 2026-03-01\n-->\n- rain\n  <!-- within\n  it -->\n  and snow\n- <!-- alone -->\n\
         Loose\n<!-- x -->\ntext\n",
        &expect![[r#"
            MEMORY.md:15 - "text"
            MEMORY.md:13 - "Loose"
            MEMORY.md:8 - "rain and snow"
            MEMORY.md:2 - "tea"
        "#]],
    );
}

#[test]
fn a_comment_within_a_line_or_without_an_end_is_text() {
    check(
        "- tea <!-- green -->\n<!-- x --> behind it\n\n<!-- open\n- rain\n\n<!-- x -->\n\
         - a --> b (added at 2026-03-01)\n",
        &expect![[r#"
            MEMORY.md:8 2026-03-01 "a --> b"
            MEMORY.md:5 - "rain"
            MEMORY.md:4 - "<!-- open"
            MEMORY.md:2 - "<!-- x --> behind it"
            MEMORY.md:1 - "tea <!-- green -->"
        "#]],
    );
    check(
        "<!-- open\n- a --> b (added at 2026-03-01)\n- c -->\n",
        &expect![[r#"
            MEMORY.md:2 2026-03-01 "a --> b"
            MEMORY.md:3 - "c -->"
            MEMORY.md:1 - "<!-- open"
        "#]],
    );
    let open = "<!-- x\n".repeat(100_000);
    assert_eq!(read_entries(&format!("{open}\n- a\n"), None).len(), 2);
}

#[test]
fn a_fence_may_show_a_comment_and_a_comment_a_fence() {
    check(
        "```\n<!-- shown\n```\n- a\n<!--\n```\n-->\n- b\n",
        &expect![[r#"
            MEMORY.md:8 - "b"
            MEMORY.md:4 - "a"
            MEMORY.md:1 - "```\n<!-- shown\n```"
        "#]],
    );
}

#[test]
fn numbers_are_bullets() {
    check(
        "1. tea\n2. rain\n   goes on\n   1. with a part\n10) snow\n\nLoose\n1. hail\n2. fog\n",
        &expect![[r#"
            MEMORY.md:9 - "fog"
            MEMORY.md:8 - "hail"
            MEMORY.md:7 - "Loose"
            MEMORY.md:5 - "snow"
            MEMORY.md:2 - "rain goes on\n1. with a part"
            MEMORY.md:1 - "tea"
        "#]],
    );
}

#[test]
fn other_numbers_are_text() {
    check(
        "24. Dezember: tea\n\n1984. Was a year.\n\n3.5 litres\n\n12.\n\nIt has\n4. floors\n",
        &expect![[r#"
            MEMORY.md:9 - "It has 4. floors"
            MEMORY.md:7 - "12."
            MEMORY.md:5 - "3.5 litres"
            MEMORY.md:3 - "1984. Was a year."
            MEMORY.md:1 - "24. Dezember: tea"
        "#]],
    );
}

#[test]
fn returns_alone_end_lines_too() {
    check(
        "## 2026-03-01\r- a\r  b\r\r- c\r\n- d\n",
        &expect![[r#"
            MEMORY.md:6 2026-03-01 "d"
            MEMORY.md:5 2026-03-01 "c"
            MEMORY.md:2 2026-03-01 "a b"
        "#]],
    );
}

#[test]
fn marks_stand_before_the_text() {
    let marks = |text| {
        let (marks, rest) = take_marks(text);
        format!("{}{} {rest}", u8::from(marks.important), u8::from(marks.shared))
    };
    assert_eq!(marks("[important] a"), "10 a");
    assert_eq!(marks("[Shared][IMPORTANT]  a [shared]"), "11 a [shared]");
    assert_eq!(marks("[other] [shared] a"), "00 [other] [shared] a");
    assert_eq!(marks("[shared"), "00 [shared");
    assert_eq!(marks("[shared](https://example.org) a"), "00 [shared](https://example.org) a");
    assert_eq!(marks("[shared][ref] a"), "00 [shared][ref] a");
    assert_eq!(marks("[shared]: https://example.org"), "00 [shared]: https://example.org");
    assert_eq!(marks("[important] [shared](x)"), "10 [shared](x)");
    assert_eq!(marks("[shared] (x) : [y]"), "01 (x) : [y]");
    let entries =
        read_entries("- [shared] [important] tea (added at 2026-03-01)\n- [shared]\n", None);
    assert_eq!(entries.len(), 1, "a mark alone is no memory");
    assert_eq!(entries[0].text, "tea");
    assert!(entries[0].marks.shared && entries[0].marks.important);
}

#[test]
fn a_note_gives_its_day_to_what_has_none() {
    let day = Some(jiff::civil::date(2026, 3, 1));
    let entries = read_entries("- a\n- b (added at 2026-02-02)\n## 2026-01-01\n- c\n", day);
    let days: Vec<String> = entries.iter().map(|e| e.day.unwrap().to_string()).collect();
    assert_eq!(days, ["2026-03-01", "2026-02-02", "2026-01-01"]);
}

#[test]
fn a_backslash_keeps_the_line_break() {
    check(
        "- a\\\n  # b\\\n  \\\n      code\\\n  --- (added at 2026-03-01)\n- c\\\n- d\n",
        &expect![[r#"
            MEMORY.md:1 2026-03-01 "a\n# b\n\n    code\n---"
            MEMORY.md:7 - "d"
            MEMORY.md:6 - "c\\"
        "#]],
    );
}

#[test]
fn a_fenced_block_is_text_and_an_open_one_swallows_nothing() {
    check(
        "Look:\n```sh\n- not an entry\n\n# nor a heading\n```\n- a\n",
        &expect![[r##"
            MEMORY.md:7 - "a"
            MEMORY.md:1 - "Look:\n```sh\n- not an entry\n\n# nor a heading\n```"
        "##]],
    );
    check(
        "```\n- not an entry\n\n  text\n```\n- a\n  ~~~\n    b\n  ~~~\n- c\n",
        &expect![[r#"
            MEMORY.md:10 - "c"
            MEMORY.md:6 - "a\n~~~\n  b\n~~~"
            MEMORY.md:1 - "```\n- not an entry\n\n  text\n```"
        "#]],
    );
    check(
        "```\nopen\n- a (added at 2026-03-01)\n```\n",
        &expect![[r#"
            MEMORY.md:3 2026-03-01 "a"
            MEMORY.md:4 - "```"
            MEMORY.md:1 - "``` open"
        "#]],
    );
}

#[test]
fn fences_that_are_never_closed_are_text() {
    let open = "~~~a\n".repeat(1_000);
    let entries = read_entries(&format!("{open}~~~~\n- b\n"), None);
    let texts: Vec<usize> = entries.iter().map(|entry| entry.text.lines().count()).collect();
    // The last one that is near enough to the end of a block begins it.
    assert_eq!(texts, [1 + FENCE_LINES, 1]);
    let mixed = "```a\n~~~\n````\n- b\n";
    check(
        mixed,
        &expect![[r#"
        MEMORY.md:4 - "b"
        MEMORY.md:1 - "```a\n~~~\n````"
    "#]],
    );
}

#[test]
fn entries_know_their_bytes() {
    let content = "\u{feff}# Title\r\n- a\r\n\r\n  b\r\n\r\nloose\r\n- é";
    let cut: Vec<&str> =
        read_entries(content, None).into_iter().map(|entry| &content[entry.range]).collect();
    assert_eq!(cut, ["- a\r\n\r\n  b\r\n", "loose\r\n", "- é"]);
}

/// Promise: `cuts-keep-characters`
#[test]
fn binary_and_huge_lines_do_no_harm() {
    let huge = format!("- {}\n- \0\u{1}\u{fffd}\n{}", "é".repeat(1 << 20), "-".repeat(1 << 20));
    let memories = read_entries(&huge, None);
    assert_eq!(memories.len(), 2);
    assert_eq!(memories[0].text.chars().count(), 1 << 20);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(content in "([-*+# a(added t)2026.:\n\r\té€😀]|<!--|-->|---\n|\\[shared\\]){0,80}") {
        let entries = read_entries(&content, None);
        let mut end = 0;
        for entry in entries {
            proptest::prop_assert!(entry.range.start >= end, "entries overlap");
            end = entry.range.end;
            proptest::prop_assert!(content.get(entry.range).is_some());
        }
    }
}
