//! What messages mean, by example.

mod messages;

use super::{
    BEGINNING, MessageSign, MessageVerdict, TalkKind, find_imperative, find_path, find_talk,
    is_bare_reply, is_courtesy, lex, names_nothing, read_message,
};
use messages::{TALK, WORK};

fn check(message: &str, verdict: MessageVerdict, sign: MessageSign, matched: &[&str]) {
    let reading = read_message(message);
    assert_eq!((reading.verdict, reading.sign), (verdict, sign), "{message}: {reading:?}");
    assert_eq!(reading.matched, matched, "{message}");
}

/// Promise: `work-told-from-talk`
#[test]
fn work_and_talk_are_told_apart() {
    let wrong = |messages: &[&str], verdict| -> Vec<String> {
        let readings = messages.iter().map(|message| (message, read_message(message)));
        let wrong = readings.filter(|(_, reading)| reading.verdict != verdict);
        wrong.map(|(message, reading)| format!("{message}: {reading:?}")).collect()
    };
    assert_eq!(wrong(WORK, MessageVerdict::Tools), [] as [String; 0], "these are work");
    assert_eq!(wrong(TALK, MessageVerdict::Talk), [] as [String; 0], "these are talk");
}

#[test]
fn the_words_that_decided_are_given_as_typed() {
    use MessageSign::{CommandLine, FileName, Imperative, Path, StateQuestion};
    let tools = MessageVerdict::Tools;
    check("Ok, edit Config.JSON!", tools, FileName, &["Config.JSON"]);
    check("look into ./build (again)", tools, Path, &["./build"]);
    check("Run `git status`", tools, CommandLine, &["git status"]);
    check("git push", tools, CommandLine, &["git", "push"]);
    check("Who has Ticket 4411?", tools, StateQuestion, &["Ticket", "4411"]);
    check("Please UPDATE the Roadmap", tools, Imperative, &["UPDATE", "Roadmap"]);
    let talk = |kind| MessageSign::Talk(kind);
    check("Thanks!", MessageVerdict::Talk, talk(TalkKind::Thanks), &["Thanks"]);
    check("Write a Haiku", MessageVerdict::Talk, talk(TalkKind::Creative), &["Write", "Haiku"]);
    check("zucchini", MessageVerdict::Unsure, MessageSign::None, &[]);
    check("", MessageVerdict::Unsure, MessageSign::None, &[]);
}

#[test]
fn what_is_spelled_like_a_path_but_is_none() {
    for message in [
        "and/or",
        "24/7",
        "he/she",
        "3/4/2025",
        "1.4.2",
        "v1.4.2",
        "e.g. this",
        "i.e. that",
        "ana@example.org",
        "https://example.org/a/b.html",
        "www.example.org/x",
        "example.com",
        "Node.js",
        "ASP.NET",
        "the U.S. and the U.K.",
        "Washington D.C.",
        "TCP/IP",
        "km/h",
        "...well",
        "wait...what",
        "3.14",
        "10:30",
        "w/o",
        "AC/DC",
        "~5 minutes",
        "a -- b",
        "J. R. R. Tolkien",
        "yes/no/maybe",
        "$5/month",
        "1/2",
        ":/",
        "\\o/",
        "/s",
    ] {
        assert_eq!(find_path(message), None, "{message}");
    }
}

#[test]
fn paths_and_file_names() {
    for message in [
        "notes.txt",
        "(see notes.txt)",
        "notes.txt, please",
        "a.py,b.py",
        "src/",
        "docs/intro",
        "/etc/hosts",
        "/tmp",
        "~/x",
        "~",
        "./run",
        "../up",
        "C:\\temp",
        "D:/games",
        "\\\\nas\\share",
        "main.rs:12:5",
        "main.rs's end",
        "*.log",
        ".env",
        ".gitignore",
        "data.tar.gz",
        "$HOME/bin",
        "\"My Budget.xlsx\"",
        "`lib.rs`",
        "打开config.json并保存",
        "Übung.pdf",
        "foo/bar.c",
    ] {
        assert!(find_path(message).is_some(), "{message}");
    }
}

/// Promise: `whole-words-match`
#[test]
fn whole_words_only() {
    for message in ["start", "cartoon", "profile", "already", "prune-flavoured"] {
        let reading = read_message(&format!("the {message} one was funny"));
        assert_eq!(reading.verdict, MessageVerdict::Talk, "{message}: {reading:?}");
    }
}

#[test]
fn bare_replies() {
    for message in [
        "ok",
        "OK!",
        "yes, do it",
        "go ahead",
        "Sure",
        "yes please",
        "no",
        "continue",
        "do it",
        "ok thanks",
        "the second one",
        "option 2",
        "2",
        "both",
        "create it",
        "yes please, create it",
        "👍",
        "perfect, ship it",
        "not yet",
        "ja",
        "vale",
    ] {
        assert!(is_bare_reply(message), "{message}");
    }
    for message in [
        "",
        " ",
        "hello",
        "thanks!",
        "ok, edit config.json",
        "yes, run the tests",
        "why?",
        "yes, and tell me about Rome",
        "🎉",
        "create a branch",
        "good morning!",
    ] {
        assert!(!is_bare_reply(message), "{message}");
    }
}

#[test]
fn courtesy_and_assent_name_nothing() {
    for message in
        ["", " ", "hello", "Hi!", "good morning!", "thanks!", "ok", "yes please", "🎉", "ok thanks"]
    {
        assert!(names_nothing(message) && is_courtesy(message), "{message}");
    }
    for message in ["send it", "ok, do it", "thanks, open it please"] {
        assert!(names_nothing(message) && !is_courtesy(message), "{message}");
    }
    for message in [
        "hello Anna",
        "thanks for the recipe",
        "4711",
        "option 2",
        "why?",
        "coffee",
        "yes, run the tests",
        "日本語",
        "ok.txt",
    ] {
        assert!(!names_nothing(message) && !is_courtesy(message), "{message}");
    }
    assert!(!names_nothing(&"hello ".repeat(1_000)));
}

#[test]
fn only_the_beginning_of_a_long_message_is_read() {
    let pasted = "the sun was low and the sea was calm. ".repeat(BEGINNING / 30);
    assert!(pasted.len() > BEGINNING);
    assert_eq!(find_path(&format!("{pasted} notes.txt")), None);
    assert_eq!(find_imperative(&format!("{pasted} Delete the file.")), None);
    assert!(find_talk(&format!("{pasted} Delete the file.")).is_some());
    check(
        &format!("Delete the file. {pasted}"),
        MessageVerdict::Tools,
        MessageSign::Imperative,
        &["Delete", "file"],
    );
}

#[test]
fn where_the_message_is_cut_nothing_new_comes_to_be() {
    // The limit falls into the middle of a character, and behind the `c` of `notes.com`.
    assert_eq!(read_message(&"é".repeat(BEGINNING)).verdict, MessageVerdict::Unsure);
    assert_eq!(
        read_message(&format!("a{}", "é".repeat(BEGINNING))).verdict,
        MessageVerdict::Unsure
    );
    let before = BEGINNING - "notes.c".len();
    let cut_word = format!("{:<before$}notes.com or so", "have a look at");
    assert_eq!(find_path(&cut_word), None);
    // The closing fence is behind the limit; what is in the fence is code all the same.
    let code = "open the file /etc/hosts\n".repeat(BEGINNING / 20);
    let reading = read_message(&format!("explain this code\n```\n{code}```"));
    assert_eq!(reading.sign, MessageSign::Talk(TalkKind::Explanation), "{reading:?}");
}

/// What people, programs and keyboards produce that a lexer could stumble over.
const ODD: &[&str] = &[
    "",
    " ",
    "\n\n",
    "\0",
    "'",
    "\"",
    "`",
    "``",
    "```",
    "“",
    "”“",
    "«",
    "¿",
    "-",
    "--",
    "---",
    "$",
    "$ ",
    "/",
    "//",
    "\\",
    "~",
    ".",
    "..",
    "a.",
    ".a",
    "@",
    "a@",
    "://",
    ":",
    "::1",
    "'s",
    "’s",
    "it's'",
    "👩‍👩‍👧",
    "e\u{301}dite",
    "\u{301}",
    "\u{202e}abc",
    "مرحبا كيف حالك؟",
    "שלום",
    "ok 'unclosed",
    "say \"x",
    "İstanbul",
    "ẞ.txt",
    "ﬁle.ﬁ",
    "x:1:",
    ":1",
    "C:",
    "www.é",
    "wwwé",
];

#[test]
fn nothing_panics() {
    let repeated = |unit: &str, bytes: usize| unit.repeat(bytes / unit.len().max(1));
    let long = ODD.iter().map(|unit| repeated(unit, 500));
    let spaced = ODD.iter().map(|unit| repeated(&format!("{unit} "), 500));
    let prose = [
        "and ",
        "the file ",
        "ok, ",
        "please, can you ",
        "is ",
        "a, ",
        "'a ",
        "what? ",
        "WHAT FILE ",
    ];
    // More than is read, so that these cost what the most expensive message costs.
    let prose = prose.iter().map(|unit| repeated(unit, BEGINNING + 1_000));
    let megabyte = ["open the file, ".repeat(70_000)];
    let short = ODD.iter().map(|unit| (*unit).to_owned());
    for message in short.chain(long).chain(spaced).chain(prose).chain(megabyte) {
        read_message(&message);
        is_bare_reply(&message);
    }
    // Marks that never close would be the trap of a quadratic lexer.
    for unit in ["'a ", "\"", "`", "“", "« "] {
        lex::sentences(&repeated(unit, 80_001));
    }
}
