//! With the real encoder, from the folder that `RECTO_TEST_MODELS` names.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recto_agent::{Agent, EventKind, LazyEncoder, SearchParts, SearchPatience, recorded_notices};
use recto_fakes::{FakeEncoder, FakeServer};
use recto_search::{Encoder, EncoderFiles, EncoderSource, SearchEntry};
use recto_store::EmbeddingKey;

use super::{flow_example, found, item, play_flow_example, requests};
use crate::support::{Bench, events, model, owner, runtime, say, session, submit, within};

/// The encoder's files: where `make test` pulls them.
fn encoder() -> EncoderFiles {
    let folder = match std::env::var_os("RECTO_TEST_MODELS") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    };
    let folder = folder.join("minilm");
    assert!(
        folder.join("model.safetensors").is_file(),
        "{} has no encoder; `make test` pulls it, and so does `recto models pull minilm`",
        folder.display()
    );
    EncoderFiles {
        weights: folder.join("model.safetensors"),
        tokenizer: folder.join("tokenizer.json"),
        sha256: None,
    }
}

async fn agent(bench: &Bench, fake: &FakeServer, encoder: impl Into<EncoderSource>) -> Agent {
    let mut parts = bench.parts(vec![model("fake", fake)]);
    parts.search = SearchParts {
        encoder: Some(Arc::new(LazyEncoder::new(encoder))),
        ..SearchParts::default()
    };
    Agent::start(parts).await.unwrap()
}

/// Takes its time: encoders load slowly where several tests run at once.
async fn warm(agent: &Agent) {
    let entries = SearchEntry::from_catalog(&*agent.catalog().await).into();
    agent.searcher().search(entries, "warm", Arc::new(|_| true), SearchPatience::UntilDone).await;
}

#[test]
fn each_message_brings_what_fits_it() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    runtime().block_on(async {
        let agent = agent(&bench, &fake, encoder()).await;
        warm(&agent).await;
        play_flow_example(&agent).await;
        let session = session(&agent, "k").await;
        let last = agent.store().last_request(session).await.unwrap().unwrap();
        assert_eq!(last.notes["search"], "dense");
        for request in requests(agent.store(), session).await {
            assert!(request.found[0].scores.cosine.unwrap() > 0.3);
        }
    });
}

/// The words of the message stand in none of the items.
#[test]
fn meaning_finds_what_words_do_not() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    runtime().block_on(async {
        let agent = agent(&bench, &fake, encoder()).await;
        warm(&agent).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "Where do I put my password to sign in?").await;
        let requests = requests(agent.store(), session).await;
        assert_eq!(found(&requests[0]), ["c"]);
    });
}

/// Other programs know the vectors of the model by its name; what Recto has taught it is for its
/// own search.
#[test]
fn clients_get_the_vectors_of_the_published_model() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let text = "somebody pasted the key into the chat";
    let published = Encoder::load_published(&encoder()).unwrap().encode_one(text);
    let taught = Encoder::load(&encoder()).unwrap().encode_one(text);
    assert!(published.cosine(&taught) < 0.99);
    runtime().block_on(async {
        let agent = agent(&bench, &fake, encoder()).await;
        let embedded = agent.embed(&owner(), vec![text.to_owned()]).await.unwrap();
        assert!(embedded[0].embedding.cosine(&published) > 0.999);
    });
}

/// A person who waits for one vector does not wait for all of a program's list.
#[test]
fn a_text_is_embedded_between_those_of_a_long_list() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = agent(&bench, &fake, encoder()).await;
        agent.embed(&owner(), vec!["warm".to_owned()]).await.unwrap();
        let list: Vec<String> = (0..480).map(|n| format!("entry {n} of a long list")).collect();
        let (all, other) = (list.clone(), agent.clone());
        let long = tokio::spawn(async move { other.embed(&owner(), all).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        let one = within(agent.embed(&owner(), vec![list[47].clone()])).await.unwrap();
        assert!(!long.is_finished());
        let all = within(long).await.unwrap().unwrap();
        assert_eq!(all.len(), list.len());
        assert!(all[47].embedding.cosine(&one[0].embedding) > 0.999);
    });
}

/// Promise: `edit-embeds-one-item`
#[test]
fn editing_a_rule_by_hand_embeds_that_rule_anew_and_no_other() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    runtime().block_on(async {
        let agent = agent(&bench, &fake, encoder()).await;
        warm(&agent).await;
        let by = EmbeddingKey { shelf: "items of main".into(), model: Encoder::NAME.into() };
        let kept = || async {
            let mut kept = agent.store().embeddings(by.clone()).await.unwrap();
            kept.sort();
            kept
        };
        let before = kept().await;
        item(&bench, "rules/c.md", "agent", "Gardening", "Water the roses in the evening.");
        warm(&agent).await;
        // What no item says any more is cleared away in the background.
        let after = within(async {
            loop {
                let after = kept().await;
                if before.iter().any(|vector| !after.contains(vector)) {
                    break after;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let new: Vec<_> = after.iter().filter(|vector| !before.contains(vector)).collect();
        let gone: Vec<_> = before.iter().filter(|vector| !after.contains(vector)).collect();
        // The header and the text, of which both are others now.
        assert_eq!((new.len(), gone.len()), (2, 2));
        let session = session(&agent, "k").await;
        say(&agent, session, "When should I water my roses?").await;
        assert_eq!(found(&requests(agent.store(), session).await[0]), ["c"]);
    });
}

/// Promise: `one-fault-fails-no-turn`
#[test]
fn a_damaged_encoder_is_told_once_and_words_go_on() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    let folder = tempfile::tempdir().unwrap();
    let good = encoder();
    let files = EncoderFiles {
        weights: folder.path().join("model.safetensors"),
        tokenizer: good.tokenizer.clone(),
        sha256: None,
    };
    let weights = fs::read(&good.weights).unwrap();
    fs::write(&files.weights, &weights[..weights.len() / 2]).unwrap();
    runtime().block_on(async {
        let agent = agent(&bench, &fake, files.clone()).await;
        let session = session(&agent, "k").await;
        let (mut told, mut recorded) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let events = events(submit(&agent, session, "How do I authenticate?").await).await;
            told.extend(events.into_iter().filter_map(|event| match event {
                EventKind::Notice(notice) => Some(notice.text),
                _ => None,
            }));
            let record = agent.store().last_request(session).await.unwrap().unwrap();
            recorded.extend(recorded_notices(&record).into_iter().map(|notice| notice.text));
        }
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("by words alone"), "{told:?}");
        assert!(told[0].contains("model.safetensors"), "{told:?}");
        assert_eq!(recorded, told);
        for request in requests(agent.store(), session).await {
            assert_eq!(found(&request), ["c"]);
        }
        // Once the file is whole, it is used.
        fs::write(&files.weights, &weights).unwrap();
        warm(&agent).await;
        say(&agent, session, "How do I authenticate?").await;
        let last = requests(agent.store(), session).await.pop().unwrap();
        assert!(last.found[0].scores.cosine.is_some());
    });
}

/// Promise: `encoders-never-mix`
#[test]
fn another_encoder_embeds_all_texts_anew_and_those_of_before_go() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    let folder = tempfile::tempdir().unwrap();
    // The second one has other dimensions, too.
    let [first, second] = [("one", 60), ("two", 90)].map(|(name, hidden)| {
        let path = folder.path().join(name);
        FakeEncoder { hidden, ..FakeEncoder::new() }.write(&path);
        path
    });
    runtime().block_on(async {
        let kept = async |agent: &Agent, path: &PathBuf| {
            let model = Encoder::load_folder(path).unwrap().name().clone();
            let by = EmbeddingKey { shelf: "items of main".into(), model };
            agent.store().embeddings(by).await.unwrap().len()
        };
        let earlier = agent(&bench, &fake, EncoderSource::Chosen(first.clone())).await;
        warm(&earlier).await;
        let count = kept(&earlier, &first).await;
        assert!(count > 0);
        drop(earlier);
        let later = agent(&bench, &fake, EncoderSource::Chosen(second.clone())).await;
        assert_eq!((kept(&later, &first).await, kept(&later, &second).await), (count, 0));
        warm(&later).await;
        assert_eq!((kept(&later, &first).await, kept(&later, &second).await), (0, count));
        // The record says which encoder decided.
        let session = session(&later, "k").await;
        say(&later, session, "How do I authenticate?").await;
        let last = later.store().last_request(session).await.unwrap().unwrap();
        let name = last.notes["search"]["dense_by"].as_str().unwrap().to_owned();
        assert!(name.starts_with("two/int8-1/"), "{name}");
    });
}

/// Promise: `own-encoder`
#[test]
fn a_chosen_encoder_that_cannot_be_used_is_told_and_recorded_and_words_go_on() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    FakeEncoder::new().write(&path);
    let weights = fs::read(path.join("model.safetensors")).unwrap();
    fs::remove_file(path.join("model.safetensors")).unwrap();
    runtime().block_on(async {
        let agent = agent(&bench, &fake, EncoderSource::Chosen(path.clone())).await;
        let session = session(&agent, "k").await;
        let mut told = Vec::new();
        for _ in 0..2 {
            let events = events(submit(&agent, session, "How do I authenticate?").await).await;
            told.extend(events.into_iter().filter_map(|event| match event {
                EventKind::Notice(notice) => Some(notice.text),
                _ => None,
            }));
        }
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("by words alone"), "{told:?}");
        assert!(told[0].contains("tiny/model.safetensors"), "{told:?}");
        let last = agent.store().last_request(session).await.unwrap().unwrap();
        let why = &last.notes["search"]["words"]["unusable"];
        assert!(why["problem"].as_str().unwrap().contains("tiny/model.safetensors"), "{why}");
        assert!(why["hint"].as_str().unwrap().contains("search.encoder"), "{why}");
        for request in requests(agent.store(), session).await {
            assert_eq!(found(&request), ["c"]);
        }
        // Once the file is there, it is used.
        fs::write(path.join("model.safetensors"), weights).unwrap();
        warm(&agent).await;
        say(&agent, session, "How do I authenticate?").await;
        let last = requests(agent.store(), session).await.pop().unwrap();
        assert!(last.found[0].scores.cosine.is_some());
    });
}
