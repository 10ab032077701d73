//! Conversations of several people: the model is told who says what.

use std::sync::Arc;

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Catalog, CompactionInput, ContentPart, ContextMode, ContextRecord, Message,
    MessageBody, MessageId, MessageRef, MessageStamp, RecordContents, RequestContext, SpeakerName,
    TokenCounter, Tokens, UserMessage, compare_requests, extract_summary, summary_prompt,
};

use crate::support::*;

fn said_by(id: u64, name: &str, text: &str) -> Arc<Message> {
    let user = UserMessage {
        content: vec![ContentPart::Text(text.into())],
        stamp: Some(MessageStamp::new("2026-11-15 08:06")),
        speaker: Some(SpeakerName::new(name)),
        ..UserMessage::default()
    };
    Arc::new(Message { id: MessageId(id), body: MessageBody::User(user) })
}

fn inputs<'a>(catalog: &'a Catalog, history: &'a [Arc<Message>]) -> AssemblyInputs<'a> {
    AssemblyInputs::new(catalog, "read a.txt")
        .message_id(MessageId(9))
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .speaker(Some(SpeakerName::new("Ben")))
        .history(history)
}

fn said(request: &RequestContext) -> String {
    let shown = page(request);
    shown[shown.find("── user").unwrap()..].to_owned()
}

#[test]
fn the_speaker_stands_between_the_stamp_and_the_words() {
    let catalog = catalog();
    let history = [said_by(1, "Ada", "hi"), Arc::new(Message::assistant(2, "Hello, Ada."))];
    let full = inputs(&catalog, &history).assemble().unwrap();
    expect![[r#"
        ── user
        [2026-11-15 08:06] Ada: hi
        ── assistant
        Hello, Ada.
        ── user
        [2026-11-15 08:07] Ben: read a.txt"#]]
    .assert_eq(&said(&full));
    let session = catalog.session_at_start();
    let minimal = inputs(&catalog, &history)
        .session(&session)
        .mode(mode(ContextMode::Minimal, "read a.txt"))
        .assemble()
        .unwrap();
    expect![[r#"
        ── user
        [2026-11-15 08:07] You must respond by calling one or more of the provided tools. Do not answer without calling a tool when the request involves files or workspace.

        User request: Ben: read a.txt"#]]
    .assert_eq(&said(&minimal));
}

#[test]
fn the_record_keeps_the_speaker_and_somebody_elses_message_is_another() {
    let catalog = catalog();
    let history = [said_by(1, "Ada", "hi"), Arc::new(Message::assistant(2, "Hello."))];
    let request = inputs(&catalog, &history).assemble().unwrap();
    let recorded = request.record();
    let by_ref = |message: &Arc<Message>| (MessageRef::to_message(message), message.clone());
    let contents = RecordContents {
        texts: recorded.texts.iter().map(|text| (text.hash(), text.clone())).collect(),
        messages: recorded.messages.iter().map(by_ref).collect(),
    };
    let json = serde_json::to_vec(&recorded.record).unwrap();
    let again = ContextRecord::from_json(&json).unwrap().restore(&contents).unwrap();
    assert_eq!(again, request);
    assert_eq!(compare_requests(&request, &again).change, None);
    // A name that was changed behind the record's back is found out.
    let mut renamed = contents;
    let ada = MessageRef::to_message(&history[0]);
    renamed.messages.insert(ada, said_by(1, "Eve", "hi"));
    recorded.record.restore(&renamed).unwrap_err();
}

#[test]
fn a_summary_tells_people_apart() {
    let messages = [
        said_by(1, "Ada", "We decided to meet on Monday at the Harbour Inn."),
        said_by(2, "Ben", "No, we decided to meet on Tuesday."),
        said_by(3, "Ada", "Thank you! Have a nice evening, and see you all again soon."),
    ];
    let counter = TokenCounter::default();
    let room = Tokens::new(200);
    let input = CompactionInput { before: None, messages: &messages, room, counter: &counter };
    expect![[r#"
        User: Ada: We decided to meet on Monday at the Harbour Inn.
        User: Ben: No, we decided to meet on Tuesday.
        User: Ada: Have a nice evening, and see you all again soon."#]]
    .assert_eq(&extract_summary(&input).unwrap_or_default());
    let prompt = summary_prompt(&input, Tokens::new(4_000)).unwrap();
    assert!(prompt.contains("User: Ada: We decided"), "{prompt}");
}
