//! What people see of Markdown, with styles in a small notation: `<b>` bold,
//! `<d>` dim, `<i>` italic, `<u>` underlined, `<s>` struck, `<c>` code, `</>`
//! plain again.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

/// All that is printed for a text.
fn drawn(text: &str, width: Option<usize>) -> String {
    let mut renderer = MarkdownRenderer::new(width, OutputStyle::Yes);
    renderer.push(text) + &renderer.finish()
}

fn plain(text: &str, width: Option<usize>) -> String {
    anstream::adapter::strip_str(&drawn(text, width)).to_string()
}

fn notation(drawn: &str) -> String {
    let styles = [("0", "/"), ("1", "b"), ("2", "d"), ("3", "i"), ("4", "u"), ("9", "s")];
    let text = drawn.replace("\x1b[36m", "<c>");
    styles.iter().fold(text, |text, (code, name)| {
        text.replace(&format!("\x1b[{code}m"), &format!("<{name}>"))
    })
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&notation(&drawn(text, None)));
}

fn check_wrapped(text: &str, width: usize, expected: &Expect) {
    expected.assert_eq(&notation(&drawn(text, Some(width))));
}

#[test]
fn marks_become_styles() {
    check(
        "**bold** and *italic* and _this too_, ***both***, `code`, ~~gone~~.\n\
         **bold with *italic* in it** and *italic with **bold** in it*\n",
        &expect![[r#"
            <b>bold</> and <i>italic</> and <i>this too</>, <b><i>both</>, <c>code</>, <s>gone</>.
            <b>bold with </><b><i>italic</><b> in it</> and <i>italic with </><b><i>bold</><i> in it</>
        "#]],
    );
}

#[test]
fn what_has_no_other_half_stands_as_it_is() {
    check(
        "2 * 3 * 4, a*b, snake_case_name, **open, `open, [open, ~one~, 5 > 4\n\
         \\*escaped\\* \\`too\\` C:\\new [x] [1] a[0](b !\n\
         `open **bold** and [link](http://a.b) at last\n\
         [text](open *italic*\n\
         **a*b** ** **\n",
        &expect![[r#"
            2 * 3 * 4, a*b, snake_case_name, **open, `open, [open, ~one~, 5 > 4
            *escaped* `too` C:\new [x] [1] a[0](b !
            `open <b>bold</> and <u>link</><d> (http://a.b)</> at last
            [text](open <i>italic</>
            <b>a*b</> ** **
        "#]],
    );
}

#[test]
fn marks_do_not_reach_over_line_ends() {
    check(
        "**one\ntwo** `a\nb`\n",
        &expect![[r#"
        **one
        two** `a
        b`
    "#]],
    );
}

#[test]
fn code_in_a_line_is_left_alone() {
    check(
        "`*a*` ``a ` b`` `` ` `` ` ` `\\`\n",
        &expect![[r#"
        <c>*a*</> <c>a ` b</> <c>`</> <c> </> <c>\</>
    "#]],
    );
}

#[test]
fn links_show_where_they_lead() {
    check(
        "[the *docs*](https://a.b/c_(d)_e), [https://a.b](https://a.b), ![a cat](cat.png), \
         [empty](), **[bold](x)** <https://a.b/x_y_z>\n",
        &expect![[r#"
            <u>the </><i><u>docs</><d> (https://a.b/c_(d)_e)</>, <u>https://a.b</>, <u>a cat</><d> (cat.png)</>, <u>empty</>, <b><u>bold</><d> (x)</> <https://a.b/x_y_z>
        "#]],
    );
}

#[test]
fn headings_are_bold_and_rules_are_lines() {
    check(
        "# One\n###### Six *it*\n#no heading\n####### seven\n#\n---\n***\n- - -\n__\n",
        &expect![[r#"
            <b>One</>
            <b>Six </><b><i>it</>
            #no heading
            ####### seven

            <d>────────────────────────</>
            <d>────────────────────────</>
            <d>────────────────────────</>
            __
        "#]],
    );
}

#[test]
fn lists_have_bullets_and_keep_their_nesting() {
    check(
        "- one\n* two **b**\n+ three\n  - inner\n    1. first\n    2) second\n12. twelve\n\
         -\n-no\n1.no\n2024 was\n- [ ] task\n- # head\n\n  more of it\n",
        &expect![[r#"
            • one
            • two <b>b</>
            • three
              ◦ inner
                1. first
                2) second
            12. twelve
            • 
            -no
            1.no
            2024 was
            • [ ] task
            • <b>head</>

              more of it
        "#]],
    );
}

#[test]
fn quotes_have_a_bar() {
    check(
        "> one *two*\n>> deeper\n> - item\n> # head\n>\n> ```sh\n> ls | wc\n> ```\n> ```\n> open\nout\n",
        &expect![[r#"
            <d>│ </>one <i>two</>
            <d>│ │ </>deeper
            <d>│ </>• item
            <d>│ </><b>head</>
            <d>│ </>
            <d>│ </>    <d>sh</>
            <d>│ </>    <c>ls | wc</>
            <d>│ </>    <c>open</>
            out
        "#]],
    );
}

#[test]
fn code_blocks_stand_apart_and_are_left_alone() {
    check(
        "See:\n```rust,ignore\nfn a() {\n\n    **b**\n}\n```\n~~~\n```\n# no *head*\n~~~~\n\
         - item\n  ```\n  in\n      deep\n out\n  ```\n- ```py\n  x\n  ```\n```inline``` code\n\
         ````\n```\n````\n",
        &expect![[r#"
            See:
                <d>rust,ignore</>
                <c>fn a() {</>

                <c>    **b**</>
                <c>}</>
                <c>```</>
                <c># no *head*</>
            • item
                  <c>in</>
                  <c>    deep</>
                  <c>out</>
            •     <d>py</>
                  <c>x</>
            <c>inline</> code
                <c>```</>
        "#]],
    );
}

#[test]
fn a_code_block_that_never_ends_ends_with_the_text() {
    let mut renderer = MarkdownRenderer::new(None, OutputStyle::Yes);
    let first = renderer.push("```\ncode") + &renderer.finish();
    let second = renderer.push("*text*") + &renderer.finish();
    assert_eq!(notation(&first), "    <c>code</>\n");
    assert_eq!(notation(&second), "<i>text</>\n");
}

#[test]
fn tables_are_aligned() {
    check(
        "| Name | Count | Where |\n|:-----|------:|:-----:|\n| **a** | 1 | here |\n\
         | 日本 | 1,000 | `x\\|y` | extra |\n| short |\nafter\n",
        &expect![[r#"
            <b>Name</> <d> │ </><b>Count</><d> │ </><b>Where</><d> │ </>
            <d>──────┼───────┼───────┼──────</>
            <b>a</>    <d> │ </>    1<d> │ </>here <d> │ </>
            日本 <d> │ </>1,000<d> │ </> <c>x|y</> <d> │ </>extra
            short<d> │ </>     <d> │ </>     <d> │ </>
            after
        "#]],
    );
}

#[test]
fn rows_without_a_ruler_are_lines() {
    check(
        "| a *b* |\n| c |\n\n|---|\n",
        &expect![[r#"
        | a <i>b</> |
        | c |

        |---|
    "#]],
    );
}

#[test]
fn a_table_too_wide_is_broken_within_its_cells() {
    check_wrapped(
        "> | Key | What it does |\n> |---|---|\n\
         > | `a` | It says **how many words** there may be |\n> | b | Nothing |\n",
        34,
        &expect![[r#"
            <d>│ </><b>Key</><d> │ </><b>What it does</>
            <d>│ </><d>────┼───────────────────────</>
            <d>│ </><c>a</>  <d> │ </>It says <b>how many words</>
            <d>│ </>   <d> │ </>there may be
            <d>│ </>b  <d> │ </>Nothing
        "#]],
    );
}

#[test]
fn lines_are_broken_between_words_and_hang() {
    check_wrapped(
        "The **quick brown fox** jumps over the lazy dog.\n\
         - An item that is longer than a line\n  1. and one within it that is, too\n\
         > A quote that is longer than a line\n\
         ## A heading that is longer than a line\n\
         A-word-that-is-longer-than-the-line-is and more\n\
         [a link](https://example.org/a/long/way) here\n",
        24,
        &expect![[r#"
            The <b>quick brown fox</>
            jumps over the lazy dog.
            • An item that is longer
              than a line
              1. and one within it
                 that is, too
            <d>│ </>A quote that is longer
            <d>│ </>than a line
            <b>A heading that is longer</>
            <b>than a line</>
            A-word-that-is-longer-than-the-line-is
            and more
            <u>a link</>
            <d>(https://example.org/a/long/way)</>
            here
        "#]],
    );
}

#[test]
fn wide_characters_count_twice_and_need_no_blanks() {
    check_wrapped(
        "日本語の文章は空白なしで続きます。「引用」もあります。\n\
         **中文“引用”**后面，mixed with English words\n\
         👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👍🏽👍🏽\n",
        20,
        &expect![[r#"
            日本語の文章は空白な
            しで続きます。「引
            用」もあります。
            <b>中文“引用”</>后面，
            mixed with English
            words
            👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧
            👨‍👩‍👧👍🏽👍🏽
        "#]],
    );
}

#[test]
fn the_terminal_cannot_be_driven() {
    check(
        "a\x1b[2Jb \x1b]0;title\x07 \u{202e}reversed\r\nnext\rline\u{9b}2J\n```\n\x1b[1m\n```\n| \x08 |\n|-|\n",
        &expect![[r#"
            a\u{1b}[2Jb \u{1b}]0;title\u{7} \u{202e}reversed
            next\rline\u{9b}2J
                <c>\u{1b}[1m</>
            <b>\u{8}</>
            <d>─────</>
        "#]],
    );
}

#[test]
fn text_appears_as_it_comes() {
    let mut renderer = MarkdownRenderer::new(None, OutputStyle::Yes);
    let mut steps = Vec::new();
    for piece in
        ["Hel", "lo", " *", "wor", "ld*", "!", " x", "\n", "#", " T", "\n``", "`\nco", "de"]
    {
        steps.push(notation(&renderer.push(piece)));
    }
    steps.push(notation(&renderer.finish()));
    expect![[r#"
        [
            "Hel",
            "lo",
            "",
            "",
            "",
            " <i>world",
            "</>! x",
            "\n",
            "",
            "<b>T",
            "</>\n",
            "    <c>co",
            "de",
            "</>\n",
        ]
    "#]]
    .assert_debug_eq(&steps);
}

#[test]
fn words_appear_when_they_end_where_lines_are_broken() {
    let mut renderer = MarkdownRenderer::new(Some(80), OutputStyle::Yes);
    assert_eq!(renderer.push("Hel"), "");
    assert_eq!(renderer.push("lo wor"), "Hello");
    assert_eq!(renderer.finish(), " wor\n");
}

#[test]
fn what_is_not_styled_is_not_changed() {
    let text = "# *a* \x1b[2J\r\n| b |\n";
    let mut renderer = MarkdownRenderer::new(Some(20), OutputStyle::No);
    assert_eq!(renderer.push(text), text);
    assert_eq!(renderer.finish(), "");
}

#[test]
fn nothing_is_printed_for_nothing() {
    assert_eq!(drawn("", Some(40)), "");
    assert_eq!(drawn("\n", Some(40)), "\n");
    assert_eq!(drawn("x", Some(40)), "x\n");
}

/// Texts that would be held forever, or read again and again, are not.
#[test]
fn long_lines_of_marks_end_in_time() {
    let many = 20_000;
    for part in ["*a ", "`", "`a ``", "[", "[a](", "- ", "#", "> ", "|", "_a*", "1", " ", "!["] {
        let text = part.repeat(many);
        let shown = plain(&text, Some(60));
        assert_eq!(shown.matches('a').count(), text.matches('a').count(), "{part}");
    }
}

#[test]
fn a_mark_is_held_for_so_long_only() {
    let mut renderer = MarkdownRenderer::new(None, OutputStyle::Yes);
    let text = format!("*{}", "word ".repeat(1_000));
    assert!(renderer.push(&text).starts_with("*word word"));
}

#[test]
fn marks_are_held_also_late_in_a_long_line() {
    assert_eq!(
        plain(&"**b** ".repeat(1_000), None),
        "b ".repeat(1_000).trim_end().to_owned() + "\n"
    );
}

/// Parts that Markdown is made of.
fn parts() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "*",
        "**",
        "_",
        "`",
        "``",
        "```",
        "~~~",
        "#",
        "# ",
        "- ",
        "1. ",
        "> ",
        "|",
        "|-|",
        "---",
        "[",
        "](",
        ")",
        "!",
        "\\",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "  ",
        "\t",
        "word",
        "two w",
        "日本語",
        "👨‍👩‍👧",
        "e\u{301}",
        "\x1b[1m",
        "x",
        "7",
        "~~",
        ":",
        "a.b/c_d",
    ]);
    prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
}

fn widths() -> impl Strategy<Value = Option<usize>> {
    prop::option::of(0usize..60)
}

/// All that is not drawn by us, without blanks.
fn squashed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"│─┼•◦".contains(*c)).collect()
}

proptest! {
    #[test]
    fn how_a_text_is_cut_makes_no_difference(
        text in parts(), cut in any::<prop::sample::Index>(), width in widths(),
    ) {
        let whole = drawn(&text, width);
        let mut bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        bounds.push(text.len());
        let (head, tail) = text.split_at(bounds[cut.index(bounds.len())]);
        let mut renderer = MarkdownRenderer::new(width, OutputStyle::Yes);
        let cut = renderer.push(head) + &renderer.push(tail) + &renderer.finish();
        prop_assert_eq!(&whole, &cut);
        let mut renderer = MarkdownRenderer::new(width, OutputStyle::Yes);
        let mut single: String = text.chars().map(|c| renderer.push(&c.to_string())).collect();
        single += &renderer.finish();
        prop_assert_eq!(&whole, &single);
    }

    #[test]
    fn every_word_is_shown(text in parts()) {
        let shown = plain(&text, None);
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '\u{301}') {
            prop_assert!(shown.contains(word), "{:?} is not in {:?}", word, shown);
        }
    }

    #[test]
    fn breaking_lines_changes_blanks_alone(text in parts(), width in 20usize..60) {
        // The lines of a table's cells stand beside each other.
        let text = text.replace('|', "/");
        prop_assert_eq!(squashed(&plain(&text, None)), squashed(&plain(&text, Some(width))));
    }

    #[test]
    fn lines_of_words_stay_within_the_width(words in "[a-z日本*_` ]{0,200}", width in 20usize..60) {
        let shown = plain(&words, Some(width));
        for line in shown.lines().filter(|line| line.contains(' ')) {
            let last = line.rsplit(' ').next().unwrap_or_default();
            prop_assert!(line.width() <= width || last.width() > width, "{line:?}");
        }
    }

    #[test]
    fn the_terminal_is_left_in_the_plain_style(text in parts(), width in widths()) {
        let drawn = drawn(&text, width);
        for line in drawn.lines() {
            let last = line.rfind("\x1b[").map(|at| &line[at..]);
            prop_assert!(last.is_none_or(|last| last.starts_with("\x1b[0m")), "{line:?}");
        }
        prop_assert!(drawn.is_empty() || drawn.ends_with('\n'));
    }

    #[test]
    fn anything_can_be_drawn(text in any::<String>(), width in widths()) {
        let shown = drawn(&text, width);
        let known = |c: char| c == '\x1b' || c == '\n' || c == '\t' || !c.is_control();
        prop_assert!(shown.chars().all(known));
    }
}
