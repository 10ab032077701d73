//! Whatever is said comes back, and what people did to a file is understood.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::item::{ItemId, ItemKind};
use crate::message::{
    AttachedFile, CallId, ContentPart, Framing, Image, KeptPick, MessageBody, MessageStamp, Opaque,
    OpaqueKind, PickDisplay, SpeakerName, ToolCall, TurnNumber, UserMessage,
};

const AT: &str = "2026-11-15T10:03:04.000001Z";

fn timed(message: &Message) -> TimedMessage<'_> {
    TimedMessage { message, at: AT, shown: "2026-11-15 10:03" }
}

fn written(messages: &[Message]) -> String {
    let session = json!({"id": 7, "name": "work", "settings": {"temperature": 0.5}});
    let header = MarkdownHeader { title: "work", session: &session };
    to_markdown(&header, &messages.iter().map(timed).collect::<Vec<_>>(), &[])
}

fn read(text: &str) -> MarkdownSession {
    from_markdown(text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

fn check_round_trip(messages: &[Message]) {
    let text = written(messages);
    let parsed = read(&text);
    let found: Vec<&Message> = parsed.messages.iter().map(|found| &*found.message).collect();
    assert_eq!(found, messages.iter().collect::<Vec<_>>(), "{text}");
    for found in &parsed.messages {
        assert!(found.untouched, "{text}");
        assert_eq!(found.at.as_deref(), Some(AT));
        assert_eq!(found.written, Some(found.message.id));
    }
    assert_eq!(parsed.session.unwrap()["settings"], json!({"temperature": 0.5}));
    assert_eq!(parsed.notices, []);
}

/// Who said what, a line for each message that was read.
fn said(text: &str) -> Vec<String> {
    let line = |found: &MarkdownMessage| {
        let json = serde_json::to_value(&*found.message).unwrap();
        let content = json["content"].to_string();
        let at = found.at.as_ref().map_or_else(String::new, |at| format!(" ({at})"));
        format!("{}{at}: {content}", json["role"].as_str().unwrap())
    };
    read(text).messages.iter().map(line).collect()
}

#[test]
fn who_spoke_is_told_and_comes_back() {
    let speaker = Some(SpeakerName::new("Ada · 12"));
    let user = UserMessage { speaker, ..UserMessage::text("hi") };
    let messages = [Message { id: MessageId(1), body: MessageBody::User(user) }];
    let text = written(&messages);
    assert!(text.contains("\n## User · Ada · 12 · 2026-11-15 10:03\n"), "{text}");
    check_round_trip(&messages);
    // A hand-written file names people in its headings.
    let by_hand = read("## User · Ben\n\nhi\n\n## Assistant · Ben\n\nhello");
    let speakers = by_hand.messages.iter().map(|found| found.message.as_user());
    let speakers: Vec<_> =
        speakers.map(|user| user.and_then(|user| user.speaker.clone())).collect();
    assert_eq!(speakers, [Some(SpeakerName::new("Ben")), None]);
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), arguments: arguments.into() }
}

fn talk() -> Vec<Message> {
    let reply = MessageBody::Assistant {
        content: vec![
            ContentPart::Text("I look.".into()),
            ContentPart::Opaque(Opaque {
                provider: "embedded".into(),
                json: "[1,2]".into(),
                kind: OpaqueKind::Echo,
            }),
        ],
        calls: vec![call("c1", "read_file", "{ \"path\": \"a.txt\" }")],
    };
    let result = MessageBody::Tool {
        call: CallId("c1".into()),
        name: "read_file".into(),
        content: vec![ContentPart::Text("# hello -->\n```\n".into())],
    };
    vec![
        Message::user(1, "What does a.txt say?"),
        Message { id: MessageId(2), body: reply },
        Message { id: MessageId(3), body: result },
        Message::assistant(4, "It says:\n\n```\nhello\n```"),
    ]
}

#[test]
fn a_conversation_is_there_to_be_read() {
    expect![[r##"
        # work

        <!-- recto session {"format":"recto-session","version":1,"session":{"id":7,"name":"work","settings":{"temperature":0.5}}} -->

        ## User · 2026-11-15 10:03

        <!-- recto message {"id":1,"role":"user","at":"2026-11-15T10:03:04.000001Z","text":"5aab810593c646ed"} -->

        What does a.txt say?

        ## Assistant · 2026-11-15 10:03

        <!-- recto message {"id":2,"role":"assistant","at":"2026-11-15T10:03:04.000001Z","text":"5c89fb0160b3c06f"} -->

        I look.

        <!-- recto echo {"provider":"embedded","json":"[1,2]"} -->

        <!-- recto call {"id":"c1","name":"read_file","arguments":"39596a20dba11e89"} -->

        Calls `read_file`:

        ```json
        { "path": "a.txt" }
        ```

        ## Tool · read_file · 2026-11-15 10:03

        <!-- recto message {"id":3,"role":"tool","tool_call_id":"c1","name":"read_file","at":"2026-11-15T10:03:04.000001Z","fenced":"ea1a728102ad115a"} -->

        ````text
        # hello -->
        ```

        ````

        ## Assistant · 2026-11-15 10:03

        <!-- recto message {"id":4,"role":"assistant","at":"2026-11-15T10:03:04.000001Z","text":"debb91d829262d34"} -->

        It says:

        ```
        hello
        ```
    "##]]
    .assert_eq(&written(&talk()));
    check_round_trip(&talk());
}

/// Promise: `headings-survive-export`
#[test]
fn what_looks_like_the_file_itself_stays_text() {
    for text in [
        "a\n## Assistant\nb",
        "## User · 2026-11-15 10:03\n\n<!-- recto message {\"id\":9} -->\n\nx",
        "<!-- recto message {\"id\":9} -->",
        "a\n<!-- recto call {} -->\n```\n{}\n```",
        "```text\nx\n```",
        "```\nnever closed",
        "~~~~\n```\n~~~\n",
        "````\n```\n````",
        "<!-- never closed",
        "",
        " ",
        "\n",
        "\r\n",
        "a\r\nb",
        "a\r",
        "a  \nb  ",
        "    indented",
        "\u{feff}a",
        "\u{2028}\u{85}\u{0}\u{1b}[2J",
        "Calls `x`:",
        "---",
        &written(&talk()),
    ] {
        check_round_trip(&[
            Message::user(1, text),
            Message::assistant(2, text),
            Message { id: MessageId(3), body: MessageBody::Error(text.into()) },
            Message { id: MessageId(4), body: MessageBody::Approval(text.into()) },
        ]);
    }
}

#[test]
fn a_file_grows_by_what_is_new() {
    let talk = talk();
    let timed: Vec<_> = talk.iter().map(timed).collect();
    let session = Value::Null;
    let header = MarkdownHeader { title: "", session: &session };
    let grown = to_markdown(&header, &timed[..1], &[]) + &more_markdown(&timed[1..], &[]);
    assert_eq!(grown, to_markdown(&header, &timed, &[]));
}

#[test]
fn what_a_person_changed_is_read_as_changed() {
    let edited = written(&talk())
        .replace("What does a.txt say?", "What does b.txt say?\n\nTell me.\n")
        .replace("I look.", "I see.")
        .replace("a.txt\" }", "b.txt\"}")
        .replace("# hello -->", "# good bye")
        + "\n## User\n\nthank you\n\n## Assistant\n";
    let parsed = read(&edited);
    let untouched: Vec<bool> = parsed.messages.iter().map(|found| found.untouched).collect();
    assert_eq!(untouched, [false, false, false, true, false]);
    assert_eq!(parsed.notices.len(), 1, "{:?}", parsed.notices);
    assert_eq!(parsed.messages[1].message.calls()[0].arguments.as_str(), "{ \"path\": \"b.txt\"}");
    expect![[r##"
        [
            "user (2026-11-15T10:03:04.000001Z): \"What does b.txt say?\\n\\nTell me.\"",
            "assistant (2026-11-15T10:03:04.000001Z): \"I see.\"",
            "tool (2026-11-15T10:03:04.000001Z): \"# good bye\\n```\\n\"",
            "assistant (2026-11-15T10:03:04.000001Z): \"It says:\\n\\n```\\nhello\\n```\"",
            "user: \"thank you\"",
        ]
    "##]]
    .assert_debug_eq(&said(&edited));
}

#[test]
fn a_message_can_be_given_to_another_and_a_text_can_be_deleted() {
    let text = written(&[Message::user(1, "one"), Message::assistant(2, "two")]);
    assert_eq!(
        said(&text.replace("## User", "## Assistant"))[0].split(' ').next(),
        Some("assistant")
    );
    let deleted = read(&text.replace("one\n", ""));
    assert_eq!(deleted.messages[0].message.content(), []);
    assert_eq!(deleted.messages[1].message.content().len(), 1);
    let headless = text.replace("## Assistant · 2026-11-15 10:03\n", "");
    assert_eq!(read(&headless).messages.len(), 2);
}

#[test]
fn other_line_ends_do_not_make_another_text() {
    let messages =
        [Message::user(1, "one\ntwo"), Message::assistant(2, "\n## User\n"), talk()[2].clone()];
    let numbered: Vec<Message> =
        (1..).zip(messages).map(|(id, message)| Message { id: MessageId(id), ..message }).collect();
    let parsed = read(&format!("\u{feff}{}", written(&numbered).replace('\n', "\r\n")));
    for (found, message) in parsed.messages.iter().zip(&numbered) {
        assert_eq!((&*found.message, found.untouched), (message, true));
    }
    assert_eq!(said("## User\r\n\r\na\r\nb\r\n"), [r#"user: "a\nb""#]);
}

#[test]
fn files_by_hand_and_of_other_programs_are_read() {
    for (text, expected) in [
        (
            "# My talk\n\n## User\n\nhi\n\n```\n## Assistant\n```\n\n## Assistant\nhello\n",
            &[r#"user: "hi\n\n```\n## Assistant\n```""#, r#"assistant: "hello""#][..],
        ),
        (
            "**User:** hi\n\nyou\n\n---\n\n**Assistant:**\n\n## User\n\n---\n",
            &[r#"user: "hi\n\nyou""#, r###"assistant: "## User""###],
        ),
        (
            "_**User (2025-01-02 03:04)**_\n\nhi\n\n_**Assistant**_\n\nhello",
            &[r#"user (2025-01-02 03:04): "hi""#, r#"assistant: "hello""#],
        ),
        ("User: hi\nthere\nAI: hello", &[r#"user: "hi\nthere""#, r#"assistant: "hello""#]),
        (
            "#### You said:\nhi\n#### ChatGPT said:\nhello\n## User guide\nx",
            &[r#"user: "hi""#, r#"assistant: "hello\n## User guide\nx""#],
        ),
        (
            "### 🧑 User · 2026-11-15 10:03\nhi\n### 🤖 Assistant - 2026-11-15 10:04\nhello",
            &[r#"user (2026-11-15 10:03): "hi""#, r#"assistant (2026-11-15 10:04): "hello""#],
        ),
        (
            "## Assistant\n\nI look.\n\n## Tool · read_file · 2026-11-15 10:03\n\n12",
            &[r#"assistant: "I look.""#, r#"tool (2026-11-15 10:03): "12""#],
        ),
        ("", &[]),
        ("\n \n", &[]),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
    let left_out = read("preface\n\n## System\nbe brief\n\n## User\nhi\n\n## Assistant\n");
    let lines: Vec<_> = left_out.notices.iter().map(|notice| notice.line).collect();
    assert_eq!((left_out.messages.len(), lines), (1, vec![1, 3, 9]));
}

#[test]
fn what_is_broken_is_reported_with_its_line() {
    let text = written(&talk());
    let lines = |text: &str| -> Vec<String> {
        from_markdown(text).unwrap_err().iter().map(ToString::to_string).collect()
    };
    assert!(lines("some prose")[0].starts_with("line 1: no message begins"));
    assert!(lines(&text.replace("\"role\":\"user\",", "\"role\":"))[0].starts_with("line 7: "));
    assert!(lines(&text.replace("\"version\":1", "\"version\":2"))[0].contains("version 2"));
    let no_fence = text.replace("```json\n{ \"path\": \"a.txt\" }\n```\n", "");
    assert!(lines(&no_fence)[0].contains("arguments of this call"));
    assert!(lines("<!-- recto call {\"id\":\"a\"} -->")[0].contains("belongs to no message"));
}

#[test]
fn fences_left_open_by_the_thousand_take_no_time() {
    let text = "```x\n".repeat(200_000);
    check_round_trip(&[Message::user(1, text.as_str())]);
    assert_eq!(said(&format!("## User\n{text}")).len(), 1);
}

/// Pieces that mean something to Markdown or to the file, in any order.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "## User",
        "## Assistant · 2026-11-15 10:03",
        "## Tool · x",
        "# work",
        "User: a",
        "**User:**",
        "<!-- recto message {\"id\":1} -->",
        "<!-- recto session {",
        "<!-- recto call {} -->",
        "<!--",
        "-->",
        "<div>",
        "```",
        "````text",
        "```json",
        "~~~",
        "`",
        "Calls `x`:",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "\t",
        "a",
        "b c",
        "é日本📎",
        "\u{feff}",
        "\u{2028}",
        "\u{0}",
        "\\",
        "---",
        "- ",
        "> ",
        "{\"a\":\"<>\"}",
    ]);
    prop_oneof![
        4 => prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
    ]
}

fn parts() -> impl Strategy<Value = ContentPart> {
    let kind = prop_oneof![Just(OpaqueKind::Thought), Just(OpaqueKind::Echo)];
    let media = prop_oneof![Just("image/png".to_owned()), texts()];
    let data = prop_oneof!["[A-Za-z0-9+/]{0,16}={0,2}", texts()];
    prop_oneof![
        3 => texts().prop_map(|text| ContentPart::Text(text.into())),
        1 => (media, data, prop::option::of(texts())).prop_map(|(media_type, data, name)| {
            let name = name.map(Arc::from);
            ContentPart::Image(Image { media_type: media_type.into(), data: data.into(), name })
        }),
        1 => (texts(), texts())
            .prop_map(|(name, text)| ContentPart::File(AttachedFile::new(&name, text))),
        1 => (texts(), texts(), kind).prop_map(|(provider, json, kind)| {
            ContentPart::Opaque(Opaque { provider: provider.into(), json: json.into(), kind })
        }),
    ]
}

fn picks() -> impl Strategy<Value = KeptPick> {
    let shown = prop_oneof![
        Just(PickDisplay::Above),
        texts().prop_map(|text| PickDisplay::Text(text.into()))
    ];
    (texts(), 1..9u32, shown).prop_map(|(name, since, shown)| KeptPick {
        item: ItemId::new(ItemKind::Rule, name),
        since: TurnNumber(since),
        shown,
    })
}

fn bodies() -> impl Strategy<Value = MessageBody> {
    let content = || prop::collection::vec(parts(), 0..4);
    let framing =
        prop_oneof![Just(Framing::Plain), Just(Framing::CallTools), Just(Framing::Unsent)];
    let stamp = prop::option::of(texts().prop_map(|text| MessageStamp::new(&text)));
    let calls = (texts(), texts(), texts()).prop_map(|(id, name, text)| call(&id, &name, &text));
    let speaker = prop::option::of(texts().prop_map(|text| SpeakerName::new(&text)));
    let user = (content(), stamp, speaker, framing, prop::collection::vec(picks(), 0..3));
    prop_oneof![
        user.prop_map(|(content, stamp, speaker, framing, picks)| {
            MessageBody::User(UserMessage { content, stamp, speaker, framing, picks })
        }),
        (content(), prop::collection::vec(calls, 0..3))
            .prop_map(|(content, calls)| MessageBody::Assistant { content, calls }),
        (texts(), texts(), content()).prop_map(|(call, name, content)| MessageBody::Tool {
            call: CallId(call.into()),
            name: name.into(),
            content
        }),
        texts().prop_map(|text| MessageBody::Error(text.into())),
        texts().prop_map(|text| MessageBody::Approval(text.into())),
    ]
}

proptest! {
    #[test]
    fn any_messages_round_trip(bodies in prop::collection::vec((1..9u64, bodies()), 0..6)) {
        let mut number = 0;
        let messages: Vec<Message> = bodies
            .into_iter()
            .map(|(step, body)| {
                number += step;
                Message { id: MessageId(number), body }
            })
            .collect();
        check_round_trip(&messages);
        let text = written(&messages);
        if !text.contains('\r') {
            let again = from_markdown(&text.replace('\n', "\r\n")).unwrap();
            prop_assert_eq!(again, from_markdown(&text).unwrap());
        }
    }

    #[test]
    fn nothing_makes_it_panic(text in texts(), cut in any::<prop::sample::Index>()) {
        let _ = from_markdown(&text);
        let whole = written(&[Message::user(1, text.as_str()), talk()[1].clone(), talk()[2].clone()]);
        let cut = whole.floor_char_boundary(cut.index(whole.len() + 1));
        let _ = from_markdown(&whole[..cut]);
        let _ = from_markdown(&whole[cut..]);
        let _ = from_markdown(&format!("{}{text}{}", &whole[..cut], &whole[cut..]));
    }
}

#[test]
fn what_was_taken_back_is_marked_behind_its_messages_and_read_again() {
    let messages = [Message::user(3, "a"), Message::assistant(4, "b"), Message::user(5, "c")];
    let at = "2026-11-15T10:03:04.000001Z";
    let timed: Vec<_> = messages
        .iter()
        .map(|message| TimedMessage { message, at, shown: "2026-11-15 10:03" })
        .collect();
    let retraction = MarkdownRetraction {
        first: MessageId(3),
        last: MessageId(4),
        reason: "undo".to_owned(),
        at: at.to_owned(),
    };
    let marks = [retraction];
    let session = json!({"name": "x"});
    let header = MarkdownHeader { title: "x", session: &session };
    let text = to_markdown(&header, &timed, &marks);
    assert!(text.contains("\n> Taken back: messages 3 to 4 (/undo).\n\n## User"), "{text}");
    let found = read(&text);
    assert_eq!(found.retractions, marks);
    assert!(found.notices.is_empty() && found.messages.iter().all(|found| found.untouched));
    // The same where it is taken back only after more was said.
    let grown = to_markdown(&header, &timed, &[]) + &more_markdown(&[], &marks);
    let found = read(&grown);
    assert_eq!((found.retractions.as_slice(), found.messages.len()), (&marks[..], 3));
    assert!(found.notices.is_empty() && found.messages.iter().all(|found| found.untouched));
}
