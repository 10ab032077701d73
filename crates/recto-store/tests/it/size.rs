//! What a record costs.

use recto_context::{ContentHash, Message, MessageId, Text};
use recto_store::{ContentKind, NewRequest, RequestBody, TurnCommit};

use crate::support::{StoreBench, done, new_message, new_turn, request, talk};

/// Bytes of the record: of every request, and of all parts with their keys.
const RECORD: &str = "SELECT
    (SELECT sum(length(document) + length(body_hash)) FROM requests)
    + (SELECT sum(length(key) + length(data)) FROM parts)";

/// A row of the context, as the caller may write it.
fn row(id: u64, text: &str) -> String {
    format!("[\"history\",{id},\"{}\",\"session\"]", ContentHash::of_bytes(text.as_bytes()))
}

/// A session that goes on and on: a body that repeats all that was said.
struct LongTalk {
    prefix: Text,
    said: Vec<(&'static str, String)>,
}

impl LongTalk {
    /// The request behind what was said so far.
    fn request(&self) -> NewRequest {
        let written = |text: &str| {
            let quoted = serde_json::json!(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let mut body = RequestBody::default();
        body.push("{\"model\":\"small\",\"messages\":[{\"role\":\"system\",\"content\":\"");
        body.push_text(&self.prefix, &written(&self.prefix));
        let mut rows = vec![row(0, &self.prefix)];
        for (id, (role, text)) in (1..).zip(&self.said) {
            body.push(&format!("\"}},{{\"role\":\"{role}\",\"content\":\""));
            body.push_message(MessageId(id), &written(text));
            rows.push(row(id, text));
        }
        body.push("\"}]}");
        let context = format!("{{\"version\":1,\"rows\":[\n{}]}}", rows.join(",\n"));
        NewRequest { context, contents: vec![self.prefix.clone()], body, ..request(1, &[]) }
    }
}

fn file_size(bench: &StoreBench) -> i64 {
    i64::try_from(std::fs::metadata(bench.path()).unwrap().len()).unwrap()
}

/// Talks for 200 turns of so many bytes, and gives what the record and the file cost for a byte of what
/// is new.
async fn cost(question: usize, answer: usize) -> (f64, f64) {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    let mut long = LongTalk { prefix: Text::new(talk(0, 20_000)), said: Vec::new() };
    let (mut new_content, mut after_first, mut last_body) = (0, None, String::new());
    for n in 1..=200_u64 {
        let (question, answer) = (talk(2 * n, question), talk(2 * n + 1, answer));
        new_content += question.len() + answer.len();
        long.said.push(("user", question.clone()));
        let new = long.request();
        last_body = new.body.as_str().to_owned();
        let first = TurnCommit {
            messages: vec![new_message(Message::user(2 * n - 1, question.as_str()))],
            request: Some(new),
            ..TurnCommit::default()
        };
        let turn = bench.store.begin(new_turn(&session, &question), first).await.unwrap().turn;
        let last = TurnCommit {
            messages: vec![new_message(Message::assistant(2 * n, answer.as_str()))],
            outcome: done(),
            ..TurnCommit::default()
        };
        bench.store.advance(turn, last).await.unwrap();
        long.said.push(("assistant", answer));
        after_first.get_or_insert_with(|| bench.number(RECORD));
    }
    let record = bench.number(RECORD) - after_first.unwrap();

    // The prefix once, as a text that the body refers to, however many requests have it.
    assert_eq!(bench.number("SELECT count(*) FROM parts WHERE length(data) > 4000"), 1);

    // All of the file, with transcript, indexes and pages that are half empty, but without the
    // pages that every table has from the start.
    let bench = bench.reopened();
    let file = file_size(&bench) - file_size(&StoreBench::in_file().reopened());
    let last = bench.store.last_request(session.id).await.unwrap().unwrap();
    assert_eq!(bench.store.body(last.id).await.unwrap(), last_body.as_bytes());
    let new_content = new_content as f64;
    (record as f64 / new_content, file as f64 / new_content)
}

#[tokio::test]
async fn a_stable_prefix_is_stored_once_and_a_turn_costs_its_new_content() {
    let (record, file) = cost(400, 600).await;
    assert!(record <= 0.5, "the record costs {record:.2} of what is new");
    assert!(file <= 2.0, "the file costs {file:.2} of what is new");
}

/// What a row costs whatever it says is most of what a short turn costs.
#[tokio::test]
async fn a_short_turn_costs_little_more_than_its_rows() {
    let (record, file) = cost(80, 120).await;
    assert!(record <= 2.0, "the record costs {record:.2} of what is new");
    assert!(file <= 4.5, "the file costs {file:.2} of what is new");
}

#[tokio::test]
async fn a_database_tells_what_it_is_made_of() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    crate::support::exchange(&bench.store, &session, 1, [&talk(1, 50_000), "yes"]).await;
    let made_of = bench.store.composition().await.unwrap();
    let rows = |kind| made_of.kinds.iter().find(|size| size.kind == kind).map(|size| size.rows);
    assert_eq!(rows(ContentKind::Messages), Some(Some(2)));
    assert_eq!(rows(ContentKind::Parts), Some(Some(0)));
    assert_eq!(rows(ContentKind::Indexes), Some(None));
    let messages = made_of.kinds.iter().find(|size| size.kind == ContentKind::Messages).unwrap();
    assert!(messages.bytes > 15_000, "{messages:?}");
    assert!(made_of.kinds.is_sorted_by_key(|size| std::cmp::Reverse(size.bytes)));
}

#[tokio::test]
async fn the_kinds_of_a_file_are_all_of_it() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    crate::support::exchange(&bench.store, &session, 1, [&talk(1, 50_000), "yes"]).await;
    let bench = bench.reopened();
    let made_of = recto_store::measure_store(&bench.path()).unwrap();
    assert_eq!(i64::try_from(made_of.bytes()), Ok(file_size(&bench)));
    assert!(made_of.kinds.iter().any(|size| size.kind == ContentKind::Free));
}
