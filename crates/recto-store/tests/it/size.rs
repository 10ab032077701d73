//! What a record costs.

use recto_context::{ContentHash, Message, Text};
use recto_store::{NewRequest, TurnCommit};

use crate::support::{StoreBench, done, new_message, new_turn, request, talk};

/// Bytes of the record: of every request, and of all parts with their keys.
const RECORD: &str = "SELECT
    (SELECT sum(length(document) + length(body_hash)) FROM requests)
    + (SELECT sum(length(key) + length(data)) FROM parts)";

/// A message as a wire writes it.
fn on_the_wire(role: &str, text: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{}}}", serde_json::json!(text))
}

/// A row of the context, as the caller may write it.
fn row(id: u64, text: &str) -> String {
    format!("[\"history\",{id},\"{}\",\"session\"]", ContentHash::of_bytes(text.as_bytes()))
}

#[tokio::test]
async fn a_stable_prefix_is_stored_once_and_a_turn_costs_its_new_content() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    let prefix = Text::new(talk(0, 20_000));
    let mut pieces = vec![on_the_wire("system", &prefix)];
    let mut rows = vec![row(0, &prefix)];
    let (mut new_content, mut after_first, mut last_body) = (0, None, String::new());
    for n in 1..=200_u64 {
        let (question, answer) = (talk(2 * n, 400), talk(2 * n + 1, 600));
        new_content += question.len() + answer.len();
        pieces.push(on_the_wire("user", &question));
        rows.push(row(2 * n, &question));
        let mut body = vec!["{\"model\":\"small\",\"messages\":[".to_owned()];
        for piece in &pieces {
            body.extend([piece.clone(), ",".to_owned()]);
        }
        last_body = body.concat();
        let context = format!("{{\"version\":1,\"rows\":[{}]}}", rows.join(","));
        let contents = vec![prefix.clone()];
        let first = TurnCommit {
            messages: vec![new_message(Message::user(2 * n, question.as_str()))],
            request: Some(NewRequest { context, contents, body, ..request(1, &[]) }),
            ..TurnCommit::default()
        };
        let turn = bench.store.begin(new_turn(&session, &question), first).await.unwrap().turn;
        let last = TurnCommit {
            messages: vec![new_message(Message::assistant(2 * n + 1, answer.as_str()))],
            outcome: done(),
            ..TurnCommit::default()
        };
        bench.store.advance(turn, last).await.unwrap();
        pieces.push(on_the_wire("assistant", &answer));
        rows.push(row(2 * n + 1, &answer));
        after_first.get_or_insert_with(|| bench.number(RECORD));
    }
    let record = bench.number(RECORD) - after_first.unwrap();
    let new_content = i64::try_from(new_content).unwrap();
    assert!(record <= 2 * new_content, "{record} bytes for {new_content} of new content");

    // The prefix once as a text and once as a piece of the body, however many
    // requests have it.
    let large = bench.number("SELECT count(*) FROM parts WHERE length(data) > 4000");
    assert_eq!(large, 2);

    // All of the file, with transcript, indexes and pages that are half empty, but without the
    // pages that every table has from the start.
    let file_size =
        |bench: &StoreBench| i64::try_from(std::fs::metadata(bench.path()).unwrap().len()).unwrap();
    let bench = bench.reopened();
    let file = file_size(&bench) - file_size(&StoreBench::in_file().reopened());
    assert!(file <= 3 * new_content, "a file of {file} bytes for {new_content} of new content");

    let last = bench.store.last_request(session.id).await.unwrap().unwrap();
    assert_eq!(bench.store.body(last.id).await.unwrap(), last_body.as_bytes());
}
