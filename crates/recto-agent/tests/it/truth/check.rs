//! Compares what is said of every item of a request with what stands in its bytes.

use std::collections::BTreeMap;

use recto_agent::{ItemExplanation, restore_request, typed_name};
use recto_context::{IncludeMode, ItemId, ItemKind, RequestContext, listed_name};
use recto_store::RequestRecord;
use recto_workspace::Horizon;
use serde_json::Value;

use super::world::{World, WorldItem};

/// How much of an item is on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Presence {
    Absent,
    /// Its name and description, or its schema.
    Named,
    /// All of it.
    Whole,
}

/// What the statistics have to come to.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The last request that was checked.
    last: Option<u64>,
    /// Of each item, on how many first pages it was whole, named, or considered in vain.
    counts: BTreeMap<ItemId, [u64; 3]>,
}

/// What is known of a request, from every side.
struct Witnesses<'a> {
    world: &'a World,
    record: RequestRecord,
    request: RequestContext,
    report: Value,
    body: String,
    /// The number of its turn in the session.
    number: u32,
}

/// Checks what is said of the requests of the last turn, if it is a new one.
pub(super) async fn check_last_turn(world: &World, ledger: &mut Ledger) {
    let store = world.agent.store();
    let Some(record) = store.last_request(world.session).await.unwrap() else { return };
    let id = record.id.to_string().parse().unwrap();
    if ledger.last.replace(id) == Some(id) {
        // The message alone did not fit, and nothing was sent.
        return;
    }
    let turn = store.turn(record.turn).await.unwrap().unwrap();
    for (_, id) in store.request_ids(turn.id).await.unwrap() {
        let record = store.request(id).await.unwrap().unwrap();
        let request = restore_request(store, &record).await.unwrap();
        let body = String::from_utf8(store.body(record.id).await.unwrap()).unwrap();
        let (report, number) = (request.report(), turn.number.0);
        let witnesses = Witnesses { world, record, report, request, body, number };
        for item in &world.items {
            witnesses.check_item(item, ledger).await;
        }
    }
}

impl Witnesses<'_> {
    async fn check_item(&self, item: &WorldItem, ledger: &mut Ledger) {
        let Some(id) = self.identity(item).await else { return };
        let answers = self.why(&id).await;
        let whole = format!("{id} in turn {}: {answers:#?}\n{}", self.record.turn, self.body);
        let told = answers.iter().map(told_presence).max();
        assert!(told.is_some() || !self.world.is_there(item), "why is silent on {whole}");
        let present = told.unwrap_or(Presence::Absent);
        // What the model has loaded stands among the results, too.
        let read = answers.iter().map(|why| read_presence(why, &id)).max();
        let in_bytes = self.presence(item, &id);
        if told.is_some() || in_bytes == Presence::Absent {
            assert_eq!(present.max(read.unwrap_or(Presence::Absent)), in_bytes, "bytes of {whole}");
        }
        let rows = self.rows(&id);
        assert_eq!(!rows.is_empty(), present > Presence::Absent, "show and why of {whole}");
        for row in &rows {
            self.check_row(item, row, &whole);
        }
        for why in &answers {
            self.check_reason(item, why, &whole);
        }
        self.check_report(&id, &answers, &whole);
        if self.record.number > 1 {
            // Items are counted by the first page of a turn.
            return;
        }
        let counts = ledger.counts.entry(id).or_default();
        match present {
            Presence::Whole => counts[0] += 1,
            Presence::Named => counts[1] += 1,
            Presence::Absent if answers.iter().any(is_considered) => counts[2] += 1,
            Presence::Absent => {}
        }
    }

    /// The identity of an item; of a memory the one that its present text gives it.
    async fn identity(&self, item: &WorldItem) -> Option<ItemId> {
        if item.kind != ItemKind::Memory {
            return Some(item.id());
        }
        let memories = self.world.agent.memories();
        let all = memories.files().read(&memories.owner(), Horizon::All).await;
        let word = item.body_word();
        all.memories.iter().find(|memory| memory.text.contains(&word)).map(|memory| memory.id())
    }

    async fn why(&self, id: &ItemId) -> Vec<Value> {
        let name = match id.kind {
            ItemKind::Memory => id.name.to_string(),
            _ => typed_name(id),
        };
        let agent = &self.world.agent;
        let answers =
            agent.memories().explain(agent.store(), &self.record, &self.request, &name, &[]).await;
        let answers: Vec<ItemExplanation> = answers.unwrap();
        answers.iter().map(|why| serde_json::to_value(why).unwrap()).collect()
    }

    /// What really stands there. A line of a list may hold all that a memory says, and is a line
    /// all the same.
    fn presence(&self, item: &WorldItem, id: &ItemId) -> Presence {
        let (word, line) = (item.body_word(), format!("- {}", listed_name(id)));
        let lines = || self.body.split("\\n");
        if lines().any(|text| text.contains(&word) && !text.starts_with(&line)) {
            Presence::Whole
        } else if self.body.contains(&item.label_word())
            || lines().any(|text| text.starts_with(&line))
        {
            Presence::Named
        } else {
            Presence::Absent
        }
    }

    /// The rows of the report's layers that show an item.
    fn rows(&self, id: &ItemId) -> Vec<&Value> {
        let layers = self.report["layers"].as_array().unwrap();
        let rows = layers.iter().flat_map(|layer| layer["items"].as_array().unwrap());
        rows.filter(|row| is_about(row, id)).collect()
    }

    /// What `show` says of an item is what `why` says of it.
    fn check_report(&self, id: &ItemId, answers: &[Value], whole: &str) {
        let listed = self.report["items"].as_array().unwrap();
        let listed: Vec<&Value> =
            listed.iter().filter(|entry| is_about(&entry["item"], id)).collect();
        match (&listed[..], answers) {
            ([entry], [why]) => assert_eq!(**entry, *why, "{whole}"),
            // Of memories that the record does not name, `why` knows more.
            ([], _) => assert!(id.kind == ItemKind::Memory || answers.is_empty(), "{whole}"),
            _ => panic!("{listed:#?} / {whole}"),
        }
        let rows = self.rows(id);
        let tokens: u64 = rows.iter().map(|row| row["tokens"].as_u64().unwrap()).sum();
        if let ([why], [_, ..]) = (answers, &rows[..]) {
            assert_eq!(why["tokens"].as_u64(), Some(tokens), "{whole}");
        }
    }

    fn check_row(&self, item: &WorldItem, row: &Value, whole: &str) {
        let reason = row["reason"].as_str().unwrap();
        let is_always = reason.starts_with("always included");
        let include = self.world.include(item);
        assert!(!is_always || include == IncludeMode::Always, "{reason}: {whole}");
        let is_earlier = row["since"].as_u64().is_none_or(|since| since < u64::from(self.number));
        assert!(is_earlier, "{reason} in turn {}: {whole}", self.number);
        assert!(!reason.contains("earlier turn"), "{whole}");
    }

    fn check_reason(&self, item: &WorldItem, why: &Value, whole: &str) {
        let named = |list: &str| {
            let list = self.report[list].as_array().unwrap();
            let is_it = |entry: &&Value| {
                ["kind", "name"].iter().all(|field| entry[field] == why["item"][field])
            };
            list.iter().any(|entry| is_it(&entry))
        };
        let include = self.world.include(item);
        match why["status"].as_str().unwrap() {
            "removed" => assert!(named("removed"), "{whole}"),
            "not_taken" => assert!(named("candidates"), "{whole}"),
            "says_the_same" => assert_eq!(item.kind, ItemKind::Memory, "{whole}"),
            "not_added" => assert_eq!(include, IncludeMode::Manual, "{whole}"),
            "not_ranked" => assert_eq!(include, IncludeMode::Agent, "{whole}"),
            "not_joined" => assert_eq!(include, IncludeMode::Always, "{whole}"),
            "left_out" if why["reason"] == "vanished" => {
                assert!(!self.world.is_there(item), "it is not gone: {whole}");
            }
            // What only a person brings is missed where a person brought it.
            "left_out" if item.kind == ItemKind::Skill && include == IncludeMode::Manual => {
                let what = item.id().to_string();
                let dropped = self.report["dropped"].as_array().unwrap();
                assert!(dropped.iter().any(|entry| entry["what"] == *what), "{whole}");
            }
            _ => {}
        }
    }
}

/// Whether an entry of a report is about an item.
fn is_about(entry: &Value, id: &ItemId) -> bool {
    entry["kind"] == id.kind.name()
        && entry["name"] == *id.name
        && entry["server"].as_str() == id.server.as_deref()
}

/// How much of an item is on the page by what is said.
fn told_presence(why: &Value) -> Presence {
    match why["status"].as_str().unwrap() {
        "in_full" => Presence::Whole,
        "listed" | "offered" => Presence::Named,
        _ => Presence::Absent,
    }
}

/// How much of an item is on the page because the model has loaded it.
fn read_presence(why: &Value, id: &ItemId) -> Presence {
    match (why["read"].as_str(), id.kind) {
        (None, _) => Presence::Absent,
        (Some(_), ItemKind::Tool) => Presence::Named,
        (Some(_), _) => Presence::Whole,
    }
}

/// Whether an item was wanted for the page, and did not come.
fn is_considered(why: &Value) -> bool {
    matches!(why["status"].as_str(), Some("left_out" | "not_taken" | "says_the_same"))
}

impl Ledger {
    /// Checks that the statistics have counted what was seen on the pages.
    pub(super) async fn check_statistics(&self, world: &World) {
        let usage = world.agent.store().usage("main", None).await.unwrap();
        for (item, expected) in self.counts.iter().filter(|(id, _)| id.kind != ItemKind::Memory) {
            let counted = usage.items.iter().find(|usage| usage.item == *item);
            let counted = counted.map(|usage| usage.counts).unwrap_or_default();
            let counted = [counted.taken, counted.offered, counted.left];
            assert_eq!(counted, *expected, "{item}: taken, offered, left");
        }
    }
}
