//! Chunks keep everything, in order, within the limit, and end where people end.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

fn texts(text: &str) -> Vec<&str> {
    chunks(text).into_iter().map(|range| &text[range]).collect()
}

/// A sentence of `length` characters that begins with `first`.
fn sentence(first: char, length: usize) -> String {
    let words: String = " and more".chars().cycle().take(length - 3).collect();
    format!("{first}{words}x.")
}

fn sentences(text: &str) -> Vec<&str> {
    sentences::sentences(text).map(str::trim).collect()
}

#[test]
fn paragraphs_are_chunks_and_headings_go_with_what_follows() {
    let text = "# Returns\n\nBooks come back within a month.\nWith the receipt.\n\n\
                ## Money\r\n\r\n**In short**\r\n\r\nNo cash.\r\n\r\nSee also:\n\n- one\n- two\n\n# End\n";
    assert_eq!(
        texts(text),
        [
            "# Returns\n\nBooks come back within a month.\nWith the receipt.",
            "## Money\r\n\r\n**In short**\r\n\r\nNo cash.",
            "See also:\n\n- one\n- two",
            "# End",
        ]
    );
    assert_eq!(
        texts("Title\n=====\n\nText\n\nShort\n\nLast"),
        ["Title\n=====\n\nText", "Short", "Last"]
    );
    assert_eq!(texts("Text\n\n---\n\nMore"), ["Text", "---\n\nMore"]);
    assert_eq!(texts(" \n\t\n"), [""; 0]);
    assert_eq!(texts(""), [""; 0]);
}

#[test]
fn long_paragraphs_are_filled_with_whole_sentences() {
    let [a, b, c, d] =
        [('A', 300), ('B', 199), ('C', 300), ('D', 100)].map(|(c, n)| sentence(c, n));
    let text = format!("{a} {b} {c}\n{d}");
    assert_eq!(texts(&text), [format!("{a} {b}"), format!("{c}\n{d}")]);
    // With one character more the second no longer fits.
    let b = sentence('B', 200);
    assert_eq!(texts(&format!("{a} {b} {c}")), [a, b, c]);
}

#[test]
fn long_sentences_are_cut_at_words_and_long_words_between_characters() {
    let text = "house ".repeat(200);
    let found = texts(&text);
    assert!(found.iter().all(|chunk| chunk.ends_with("house")), "{found:?}");
    assert_eq!(found.len(), 3);
    let lengths: Vec<usize> = texts(&"é".repeat(1_200)).iter().map(|c| c.chars().count()).collect();
    assert_eq!(lengths, [500, 500, 200]);
    // A flag is two characters that stay together; families are seven.
    let flags = "🇨🇭".repeat(333);
    assert!(texts(&flags).iter().all(|chunk| chunk.chars().count() % 2 == 0));
    let families = "👨‍👩‍👧‍👦".repeat(100);
    assert!(texts(&families).iter().all(|chunk| chunk.chars().count() % 7 == 0));
    // Here words would end within flags.
    let odd = format!("{}\u{200d}🇨\u{200d}🇨🇭", "w".repeat(496));
    assert_eq!(texts(&odd)[1], "🇨\u{200d}🇨🇭");
    // One character that is over the limit by itself has to give way.
    let marked = format!("a{}", "\u{301}".repeat(600));
    assert_eq!(texts(&marked).len(), 2);
}

#[test]
fn numbers_stay_whole_where_there_are_no_spaces() {
    let text = "圆周率约等于3.14159这一点".repeat(60);
    for chunk in texts(&text) {
        assert_eq!(chunk.matches("3.14159").count(), chunk.matches("14159").count(), "{chunk}");
        assert!(!chunk.ends_with(['3', '.']), "{chunk}");
    }
}

#[test]
fn a_list_is_cut_between_its_items() {
    let item = format!("- {}\n", "some words without an end ".repeat(4).trim_end());
    let text = item.repeat(12);
    assert!(texts(&text).iter().all(|chunk| chunk.starts_with("- some") && chunk.ends_with("end")));
}

#[test]
fn sentences_end_where_people_end_them() {
    assert_eq!(
        sentences("One. Two! Three? \"Four.\" Five"),
        ["One.", "Two!", "Three?", "\"Four.\"", "Five"]
    );
    assert_eq!(
        sentences("Use e.g. Berlin. Dr. J. Smith pays 3.14 at 5 p.m. on day 2. Then"),
        ["Use e.g. Berlin.", "Dr. J. Smith pays 3.14 at 5 p.m. on day 2.", "Then",]
    );
    assert_eq!(
        sentences("Open main.rs. See No. 5 and fig. 2. So? no."),
        ["Open main.rs.", "See No. 5 and fig. 2.", "So? no.",]
    );
    assert_eq!(sentences("Wait… what? Well... Yes… No"), ["Wait… what?", "Well...", "Yes…", "No"]);
    assert_eq!(
        sentences("今天下雨。我们在家！「好。」他说……走了？是"),
        ["今天下雨。", "我们在家！", "「好。」", "他说……走了？", "是",]
    );
    assert_eq!(sentences("ماذا؟ نعم. यह है। वह"), ["ماذا؟", "نعم.", "यह है।", "वह"]);
    assert_eq!(
        sentences("Prose that\nis wrapped. And\n1. First One\n2. Second\n| a | b |"),
        ["Prose that\nis wrapped.", "And", "1. First One", "2. Second", "| a | b |",]
    );
}

/// Texts that are far too long in every way take no longer than others. Without the
/// promise of linear time this test would not end.
#[test]
fn five_megabytes_without_a_break() {
    let repeated = |text: &str| text.repeat(5_000_000 / text.len());
    for part in [
        "x", "0", " ", "\n", "e.g. ", ". ", "。", "a\n", "a\n\n", "# a\n\n", "\u{301}", "🇨🇭",
        "\u{200d}", "...)",
    ] {
        let text = repeated(part);
        let found = chunks(&text);
        assert_eq!(found.is_empty(), part.trim().is_empty(), "{part:?}");
    }
}

/// Mixed from what texts are made of, and from anything.
fn any_text() -> impl Strategy<Value = String> {
    let long_word = (1..700_usize).prop_map(|length| "w".repeat(length));
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9]{1,12}",
        4 => Just(" ".to_owned()),
        2 => "[.!?…。！,;:)\"'»*-]{1,3}",
        2 => prop_oneof!["\n", "\n\n", "\r\n", "\r\n\r\n", "\n- ", "\n# ", "\t"],
        2 => "[一-龥]{1,80}",
        1 => long_word,
        1 => "[👨👩👧🇨🇭\u{200d}\u{fe0f}\u{301}\u{1f3fd}]{1,20}",
        1 => "\\PC{0,30}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..300).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_but_white_space_is_lost_and_the_limit_is_kept(text in any_text()) {
        let mut end = 0;
        for range in chunks(&text) {
            prop_assert!(range.start >= end);
            prop_assert_eq!(text[end..range.start].trim(), "");
            let chunk = &text[range.clone()];
            prop_assert!(!chunk.is_empty() && chunk.trim() == chunk);
            prop_assert!(chunk.chars().count() <= LIMIT);
            end = range.end;
        }
        prop_assert_eq!(text[end..].trim(), "");
    }

    /// Promise: `cuts-keep-characters`
    #[test]
    fn no_character_is_cut_that_fits_into_a_chunk(text in any_text()) {
        let edges: Vec<usize> =
            chunks(&text).into_iter().flat_map(|range| [range.start, range.end]).collect();
        for (at, cluster) in text.grapheme_indices(true) {
            // White space is where chunks end, whatever marks stand on it.
            let may_be_cut = cluster.chars().count() > LIMIT || cluster.contains(char::is_whitespace);
            let inside = at + 1..at + cluster.len();
            prop_assert!(may_be_cut || !edges.iter().any(|edge| inside.contains(edge)));
        }
    }

    #[test]
    fn sentences_make_up_the_text(text in any_text()) {
        let whole: String = sentences::sentences(&text).collect();
        prop_assert_eq!(whole, text);
    }
}
