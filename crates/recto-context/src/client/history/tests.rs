//! Lists of messages in a small notation, held against transcripts in the same.

use serde_json::json;

use super::*;
use crate::item::ItemId;
use crate::message::{Framing, MessageId, MessageStamp};

/// Messages such as `user: hi / model: hello / call: c1 c2 / result: c1 sunny`. A call may
/// follow a text: `call: one moment, c1`.
fn messages(notation: &str) -> Vec<MessageBody> {
    let lines = notation.split(" / ").filter(|line| !line.trim().is_empty());
    lines.map(|line| message(line.trim())).collect()
}

fn message(line: &str) -> MessageBody {
    let (kind, rest) = line.split_once(':').unwrap();
    let rest = rest.trim();
    let text = |text: &str| vec![ContentPart::Text(text.into())];
    match kind {
        "user" => MessageBody::User(UserMessage { content: text(rest), ..Default::default() }),
        "model" => MessageBody::Assistant { content: text(rest), calls: Vec::new() },
        "call" => {
            let (words, ids) = rest.rsplit_once(", ").unwrap_or(("", rest));
            let content = if words.is_empty() { Vec::new() } else { text(words) };
            let calls = ids.split(' ').map(|id| ToolCall {
                id: CallId(id.into()),
                name: if id.starts_with('c') { "weather".into() } else { "ours".into() },
                arguments: r#"{"a":1,"b":2}"#.into(),
            });
            MessageBody::Assistant { content, calls: calls.collect() }
        }
        "result" => {
            let (id, words) = rest.split_once(' ').unwrap();
            let call = CallId(id.into());
            MessageBody::Tool { call, name: "weather".into(), content: text(words) }
        }
        "error" => MessageBody::Error(rest.into()),
        other => panic!("what is {other}?"),
    }
}

fn stored(bodies: Vec<MessageBody>) -> Vec<Arc<Message>> {
    let message = |(id, body)| Arc::new(Message { id: MessageId(id), body });
    (1..).zip(bodies).map(message).collect()
}

fn client_tools() -> Vec<ToolSpec> {
    vec![ToolSpec::new(ItemId::tool(Some("client".into()), "weather"), "", json!({}))]
}

/// The numbers of the messages that are known, and what is new.
fn reconcile(transcript: &str, list: &str) -> (Vec<u64>, Vec<MessageBody>) {
    let list: Vec<_> = messages(list).into_iter().map(ClientMessage::Said).collect();
    let found = reconcile_history(&list, &stored(messages(transcript)), &client_tools());
    (found.known.iter().map(|message| message.id.0).collect(), found.new)
}

#[track_caller]
fn check(transcript: &str, list: &str, known: &[u64], new: &str) {
    assert_eq!(reconcile(transcript, list), (known.to_vec(), messages(new)));
}

const TALK: &str = "user: hi / model: hello / user: how? / model: well";

#[test]
fn a_history_that_goes_on_is_known() {
    check("", "", &[], "");
    check(TALK, TALK, &[1, 2, 3, 4], "");
    check(TALK, "user: hi / model: hello", &[1, 2], "");
    check("", TALK, &[], TALK);
}

#[test]
fn what_follows_the_known_beginning_is_new() {
    check(TALK, &format!("{TALK} / user: and you?"), &[1, 2, 3, 4], "user: and you?");
}

#[test]
fn an_edited_message_and_all_behind_it_are_new_and_then_known() {
    let edited = "user: hi / model: HELLO / user: how? / model: well";
    check(TALK, edited, &[1], "model: HELLO / user: how? / model: well");
    let grown = format!("{TALK} / model: HELLO / user: how? / model: well");
    check(&grown, edited, &[1, 5, 6, 7], "");
}

#[test]
fn a_client_that_drops_its_oldest_messages_is_understood() {
    check(TALK, "user: how? / model: well", &[3, 4], "");
    check(TALK, "user: hi / user: how? / model: well", &[1, 3, 4], "");
}

#[test]
fn of_equal_messages_the_latest_are_meant() {
    let twice = "user: hi / model: hello / user: hi / model: hello";
    check(twice, "user: hi / model: hello", &[3, 4], "");
    check(twice, twice, &[1, 2, 3, 4], "");
    // A reply that was asked for again.
    let again = "user: hi / model: hello / user: hi / model: ahoy";
    check(again, "user: hi / model: ahoy", &[3, 4], "");
    let thrice = format!("{twice} / user: hi");
    check(twice, &thrice, &[1, 2, 3, 4], "user: hi");
}

#[test]
fn what_only_people_see_is_passed_over() {
    let failed = "user: hi / error: no model / user: hi / model: hello";
    check(failed, "user: hi / user: hi / model: hello", &[1, 3, 4], "");
    check(TALK, "user: hi / error: odd / model: hello", &[1, 2], "");
}

#[test]
fn stamps_framing_and_white_space_do_not_count() {
    let mut transcript = messages(TALK);
    let MessageBody::User(user) = &mut transcript[0] else { panic!("it is the person's") };
    user.stamp = Some(MessageStamp::new("2026-11-15 08:07"));
    user.framing = Framing::CallTools;
    let list = messages("user: hi / model: hello").into_iter().map(ClientMessage::Said);
    let mut list: Vec<_> = list.collect();
    list[1] = ClientMessage::Said(message("model: hello\n"));
    let found = reconcile_history(&list, &stored(transcript), &[]);
    assert_eq!(found.known.len(), 2);
    assert!(found.known[0].as_user().unwrap().stamp.is_some());
}

#[test]
fn new_messages_have_nothing_around_them() {
    let mut body = message("user: hi");
    let MessageBody::User(user) = &mut body else { panic!("it is the person's") };
    user.stamp = Some(MessageStamp::new("2026-11-15 08:07"));
    let found = reconcile_history(&[ClientMessage::Said(body)], &[], &[]);
    assert_eq!(found.new, messages("user: hi"));
}

#[test]
fn a_system_message_in_the_middle_is_no_message_of_the_history() {
    let mut list: Vec<_> = messages(TALK).into_iter().map(ClientMessage::Said).collect();
    list.insert(2, ClientMessage::System("Be brief.".into()));
    let found = reconcile_history(&list, &stored(messages(TALK)), &[]);
    assert_eq!((found.known.len(), found.new), (4, Vec::new()));
}

#[test]
fn blank_messages_are_passed_over() {
    check(TALK, "user: hi / model:  / model: hello / user: ", &[1, 2], "");
}

#[test]
fn calls_that_the_client_was_not_shown_stay_with_their_turn() {
    let turn = "user: hi / call: let me see, o1 / result: o1 seen / model: hello / user: bye";
    check(turn, "user: hi / model: hello / user: bye", &[1, 2, 3, 4, 5], "");
    // All words of a turn in one piece, as they streamed.
    check(turn, "user: hi / model: let me seehello", &[1, 2, 3, 4], "");
    check(turn, "user: hi / model: let me see\nhello", &[1, 2, 3, 4], "");
}

#[test]
fn calls_of_the_client_that_it_leaves_out_are_left_out() {
    let turn = "user: hi / call: c1 / result: c1 sunny / model: hello";
    check(turn, "user: hi / model: hello", &[1, 4], "");
}

#[test]
fn a_call_that_was_handed_out_is_known_by_its_id() {
    let turn = "user: hi / call: o1 c1 / result: o1 seen";
    // The client knows of its own call alone; the other's result stays with it.
    check(turn, "user: hi / call: c1 / result: c1 sunny", &[1, 2, 3], "result: c1 sunny");
    check(turn, "user: hi / call: c1", &[1, 2, 3], "");
    check(turn, "user: hi / call: c9", &[1], "call: c9");
    let answered = format!("{turn} / result: c1 sunny / model: nice");
    check(&answered, "user: hi / call: c1 / result: c1 sunny / model: nice", &[1, 2, 3, 4, 5], "");
}

#[test]
fn another_result_takes_the_place_of_the_stored_one() {
    let turn = "user: hi / call: c1 / result: c1 none came / user: so?";
    check(turn, "user: hi / call: c1 / user: so?", &[1, 2, 3, 4], "");
    let list = "user: hi / call: c1 / result: c1 sunny / user: so?";
    check(turn, list, &[1, 2], "result: c1 sunny / user: so?");
}

#[test]
fn arguments_are_compared_by_what_they_mean() {
    let respelled = |arguments: &str| {
        let mut body = message("call: c1");
        let MessageBody::Assistant { calls, .. } = &mut body else { panic!("it has calls") };
        calls[0].arguments = arguments.into();
        let list = [ClientMessage::Said(message("user: hi")), ClientMessage::Said(body)];
        let transcript = stored(messages("user: hi / call: c1"));
        reconcile_history(&list, &transcript, &client_tools()).known.len()
    };
    assert_eq!(respelled(r#"{ "b": 2, "a": 1 }"#), 2);
    assert_eq!(respelled(r#"{"a":1,"b":3}"#), 1);
    assert_eq!(respelled("no JSON"), 1);
}

#[test]
fn calls_without_results_and_results_without_calls_come_through() {
    // The page mends them; here nothing is lost.
    let odd = "result: c7 alone / user: hi / call: c1 c2 / result: c2 rain / call: c3";
    check("", odd, &[], odd);
}

#[test]
fn tools_get_the_names_that_models_know() {
    let spec = |name: &str, called: &str| {
        ToolSpec::new(ItemId::tool(Some("client".into()), name), "", json!({})).with_called(called)
    };
    let call = |name: &str| ToolCall {
        id: CallId("c1".into()),
        name: name.into(),
        arguments: "{}".into(),
    };
    let names = |name: &str| {
        let calls = vec![call(name)];
        let list = [
            ClientMessage::Said(MessageBody::Assistant { content: Vec::new(), calls }),
            ClientMessage::Said(MessageBody::Tool {
                call: CallId("c1".into()),
                name: "".into(),
                content: Vec::new(),
            }),
        ];
        let new = reconcile_history(&list, &[], &[spec("time", "client_time")]).new;
        let [MessageBody::Assistant { calls, .. }, MessageBody::Tool { name, .. }] = &new[..]
        else {
            panic!("{new:?}")
        };
        (calls[0].name.to_string(), name.to_string())
    };
    assert_eq!(names("time"), ("client_time".to_owned(), "client_time".to_owned()));
    assert_eq!(names("old.tool"), ("old_tool".to_owned(), "old_tool".to_owned()));
}

#[test]
fn ten_thousand_messages_are_looked_at_once_or_twice() {
    let talk = |count: usize| -> Vec<MessageBody> {
        (0..count)
            .map(|n| match n % 2 {
                0 => message(&format!("user: {n}")),
                _ => message(&format!("model: {n}")),
            })
            .collect()
    };
    let list: Vec<_> = talk(10_000).into_iter().map(ClientMessage::Said).collect();
    let found = reconcile_history(&list, &stored(talk(10_000)), &[]);
    assert_eq!((found.known.len(), found.new.len()), (10_000, 0));
    // The same message again and again, and one at the end that is nowhere.
    let equal: Vec<_> = (0..10_000).map(|_| message("user: hi")).collect();
    let mut list: Vec<_> = equal.iter().cloned().map(ClientMessage::Said).collect();
    list.push(ClientMessage::Said(message("user: bye")));
    let found = reconcile_history(&list, &stored(equal), &[]);
    assert_eq!((found.known.len(), found.new.len()), (10_000, 1));
}

/// The same with replies that the client has not heard to their end, as `waits: …`.
#[track_caller]
fn check_unfinished(transcript: &str, list: &str, known: &[u64], new: &str) {
    let message = |line: &str| match line.trim().strip_prefix("waits:") {
        Some(heard) => ClientMessage::Unfinished(message(&format!("model: {heard}"))),
        None => ClientMessage::Said(message(line.trim())),
    };
    let list: Vec<_> = list.split(" / ").map(message).collect();
    let found = reconcile_history(&list, &stored(messages(transcript)), &client_tools());
    let numbers: Vec<u64> = found.known.iter().map(|message| message.id.0).collect();
    assert_eq!((numbers.as_slice(), found.new), (known, messages(new)));
}

#[test]
fn a_reply_that_a_client_could_not_wait_for_is_what_its_turn_ended_with() {
    let turn = "user: write it / call: o1 / result: o1 written / model: Done.";
    check_unfinished(turn, "user: write it / waits:", &[1, 2, 3, 4], "");
    check_unfinished(turn, "user: write it / waits: One moment.", &[1, 2, 3, 4], "");
    let talk = format!("{turn} / user: and? / model: All is well.");
    let list = "user: write it / waits: / user: and? / model: All is well.";
    check_unfinished(&talk, list, &[1, 2, 3, 4, 5, 6], "");
    // A turn without a reply leaves what it did, or else what was heard of it.
    let stopped = "user: write it / call: o1 / result: o1 stopped / user: and? / model: Well.";
    let list = "user: write it / waits: / user: and? / model: Well.";
    check_unfinished(stopped, list, &[1, 2, 3, 4, 5], "");
    let list = "user: write it / waits: One moment. / user: and?";
    check_unfinished(stopped, list, &[1], "model: One moment. / user: and?");
}
