//! Databases that an older Recto has made.

use recto_context::{Audience, AudienceKind, ContentHash, Message};
use recto_store::{
    BindingKey, EmbeddingKey, NewSession, SessionCursor, SessionFilter, SessionHolder, Store,
    StoreOptions, TurnCommit,
};
use rusqlite::Connection;

use crate::compactions::compaction;
use crate::support::{
    begin, exchange, key, new_message, new_session, new_turn, path_of, reply, transcript,
};

/// What made a database of each version.
const MIGRATIONS: [&str; 20] = [
    include_str!("../../migrations/001.sql"),
    include_str!("../../migrations/002.sql"),
    include_str!("../../migrations/003.sql"),
    include_str!("../../migrations/004.sql"),
    include_str!("../../migrations/005.sql"),
    include_str!("../../migrations/006.sql"),
    include_str!("../../migrations/007.sql"),
    include_str!("../../migrations/008.sql"),
    include_str!("../../migrations/009.sql"),
    include_str!("../../migrations/010.sql"),
    include_str!("../../migrations/011.sql"),
    include_str!("../../migrations/012.sql"),
    include_str!("../../migrations/013.sql"),
    include_str!("../../migrations/014.sql"),
    include_str!("../../migrations/015.sql"),
    include_str!("../../migrations/016.sql"),
    include_str!("../../migrations/017.sql"),
    include_str!("../../migrations/018.sql"),
    include_str!("../../migrations/020.sql"),
    include_str!("../../migrations/030.sql"),
];

/// What stands in it, by the first version that had room for it.
const CONTENT: [&str; 3] = [
    r#"INSERT INTO sessions (name, agent, surface, created, settings)
           VALUES ('old', 'main', 'terminal', 5, '{"model":"large"}');
       INSERT INTO bindings VALUES ('["main","terminal","local","old",null]', 1);
       INSERT INTO messages (session, id, at, body)
           VALUES (1, 1, 5, CAST('{"id":1,"role":"user","content":"hello"}' AS BLOB))"#,
    "INSERT INTO embeddings VALUES ('main', 'one/1', zeroblob(32), x'01')",
    "INSERT INTO trusted VALUES ('main', '/skills/git', zeroblob(32), 5)",
];

/// A database as the Recto of this version left it.
fn made_by(version: usize) -> (tempfile::TempDir, StoreOptions) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(folder.path().join("recto.db"));
    let database = Connection::open(path_of(&options)).unwrap();
    for migration in &MIGRATIONS[..version] {
        database.execute_batch(migration).unwrap();
    }
    for content in CONTENT.iter().take(version) {
        database.execute_batch(content).unwrap();
    }
    database.pragma_update(None, "application_id", 0x5243_544f).unwrap();
    database.pragma_update(None, "user_version", version as i64).unwrap();
    (folder, options)
}

fn tables(options: &StoreOptions) -> Vec<(String, Option<String>)> {
    let database = Connection::open(path_of(options)).unwrap();
    let mut select = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn what_an_older_version_kept_is_kept_and_what_is_new_has_room() {
    for version in 1..=4 {
        let (_folder, options) = made_by(version);
        let store = Store::open(&options).unwrap();
        let session = store.bind(key("old"), new_session("old")).await.unwrap();
        assert_eq!((session.id.get(), &session.settings["model"]), (1, &"large".into()));
        assert_eq!(transcript(&store, &session).await, [(1, "hello".to_owned())]);
        assert_eq!(store.trusted("main").await.unwrap().len(), usize::from(version >= 3));

        // Vectors are computed again, on the shelf that they have since the fourth.
        let by = EmbeddingKey { shelf: "main".into(), model: "one/1".into() };
        let kept = store.embeddings(by.clone()).await.unwrap();
        assert_eq!(kept.len(), usize::from(version == 4));
        let vector = (ContentHash::of_bytes(b"a"), vec![1]);
        store.keep_embeddings(by.clone(), vec![vector.clone()]).await.unwrap();
        assert!(store.embeddings(by).await.unwrap().contains(&vector));

        let turn = begin(&store, &session, 2, "more").await.unwrap().turn;
        let compaction = Some(compaction(1..=1, "hello was said"));
        store.advance(turn, TurnCommit { compaction, ..TurnCommit::default() }).await.unwrap();
        reply(&store, turn, 3, "yes").await;
        let kept = store.messages(session.id, None).await.unwrap();
        assert!(kept.iter().all(|stored| stored.brought_by.is_none()));
        let brought = vec![new_message(Message::assistant(4, "said elsewhere"))];
        let commit = TurnCommit { brought, ..TurnCommit::default() };
        store.begin(new_turn(&session, "more"), commit).await.unwrap();
        let state = store.load(session.id, SessionCursor::default()).await.unwrap();
        assert!(state.compaction.is_some());
    }
}

#[tokio::test]
async fn an_old_database_becomes_what_a_new_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = StoreOptions::new(folder.path().join("recto.db"));
    drop(Store::open(&fresh).unwrap());
    for version in 1..=MIGRATIONS.len() {
        let (_folder, options) = made_by(version);
        let store = Store::open(&options).unwrap();
        let session = store.bind(key("new"), new_session("new")).await.unwrap();
        exchange(&store, &session, 1, ["hello", "hi"]).await;
        assert_eq!(store.sessions(SessionFilter::Open).await.unwrap().len(), 2);
        // Turns of before are not counted; those from now on are.
        let usage = store.usage("main", None).await.unwrap();
        assert_eq!((usage.endings.all(), usage.damaged_days), (1, 0));
        drop(store);
        assert_eq!(tables(&options), tables(&fresh));
    }
}

/// Promise: `approval-fields`
#[tokio::test]
async fn a_question_of_an_older_version_is_read_without_fields() {
    let (_folder, options) = made_by(4);
    let database = Connection::open(path_of(&options)).unwrap();
    database
        .execute_batch(
            r#"INSERT INTO turns (id, session, number, status, accepted) VALUES (7, 1, 1, 'asking', 5);
               INSERT INTO approvals VALUES
                   (3, 1, 7, 1, 0, '{"kind":"tool","name":"write_file"}', 'create a.txt',
                    CAST('+x' AS BLOB), zeroblob(32), zeroblob(32), 0, 5, 9, NULL, NULL)"#,
        )
        .unwrap();
    drop(database);
    let store = Store::open(&options).unwrap();
    let asked = store.approval("3".parse().unwrap()).await.unwrap().unwrap();
    let question = &asked.question;
    assert_eq!((&*question.title, &*question.detail), ("create a.txt", "+x"));
    assert_eq!(question.fields, None);
}

/// Turns and answers of the time before anybody but the owner could talk.
const BEFORE_ACTORS: &str = r#"
    INSERT INTO turns (session, number, status, owner, inbound, accepted)
        VALUES (1, 1, 'queued', 99, CAST('{"id":0,"role":"user","content":"wait"}' AS BLOB), 6);
    INSERT INTO approvals (session, turn, round, place, tool, title, detail, action, identity,
            single, asked, expires, answer, answered)
        VALUES (1, 1, 1, 0, '{"kind":"tool","name":"log"}', 'log', CAST('log' AS BLOB),
                zeroblob(32), zeroblob(32), 0, 6, 9, 'once', 7),
               (1, 1, 1, 1, '{"kind":"tool","name":"log"}', 'log', CAST('log' AS BLOB),
                zeroblob(32), zeroblob(32), 0, 6, 9, 'expired', 9)"#;

#[tokio::test]
async fn what_was_done_before_actors_were_kept_was_the_owners() {
    let (_folder, options) = made_by(4);
    Connection::open(path_of(&options)).unwrap().execute_batch(BEFORE_ACTORS).unwrap();
    let store = Store::open(&options).unwrap();
    let owner = serde_json::json!({"id": "owner", "name": "owner", "role": "owner"});
    let turn = store.open_turns().await.unwrap().turns.remove(0);
    assert_eq!(turn.actor, owner);
    let answers = store.approvals_of(turn.id).await.unwrap();
    let by: Vec<_> = answers.into_iter().map(|approval| approval.answer.unwrap().by).collect();
    assert_eq!(by, [Some(owner), None]);
}

/// Sessions of the time when a name was one person's alone.
const BEFORE_HOLDERS: &str = r#"
    INSERT INTO sessions (id, name, agent, surface, created, settings) VALUES
        (2, 'hers', 'main', 'web', 5,
            '{"audience":{"who":"guest","person":"token-1","conversation":"web-hers"}}'),
        (3, 'general', 'main', 'discord', 5,
            '{"audience":{"who":"group","conversation":"discord@bot-general"}}'),
        (4, 'damaged', 'main', 'web', 5, '{"audience"'),
        (5, char(8203), 'main', 'web', 5, '{"audience":{"who":"guest","person":"token-2"}}');
    INSERT INTO bindings VALUES
        ('["main","web","local","hers",null]', 2),
        ('["main","discord","bot","general",null]', 3)"#;

#[tokio::test]
async fn old_sessions_are_of_those_whom_they_were_held_with_and_keep_their_first_words() {
    let (_folder, options) = made_by(13);
    Connection::open(path_of(&options)).unwrap().execute_batch(BEFORE_HOLDERS).unwrap();
    // Settings that can't be read must not keep the others from being opened.
    let store = Store::open(&options).unwrap();
    let mend = "UPDATE sessions SET settings = '{}' WHERE id = 4";
    Connection::open(path_of(&options)).unwrap().execute_batch(mend).unwrap();
    let held = |who, person: Option<&str>, conversation: &str| {
        SessionHolder::of_audience(&Audience {
            who,
            person: person.map(Into::into),
            conversation: Some(conversation.into()),
            agent: None,
        })
    };
    let guest = held(AudienceKind::Guest, Some("token-1"), "web-hers");
    let group = held(AudienceKind::Group, None, "discord@bot-general");
    let owner = SessionHolder::owner();
    for (holder, name, id) in [(&owner, "old", 1), (&guest, "hers", 2), (&group, "general", 3)] {
        for other in [&owner, &guest, &group] {
            let found = store.find_session("main", other, name).await.unwrap();
            let found = found.map(|session| session.id.get());
            assert_eq!(found, (other == holder).then_some(id), "{name}");
        }
    }
    // Their conversations go on in them.
    let web = BindingKey { surface: "web".into(), holder: guest, ..key("hers") };
    assert_eq!(store.bind(web, new_session("hers")).await.unwrap().id.get(), 2);
    let (surface, account) = ("discord".into(), "bot".into());
    let channel = BindingKey { surface, account, holder: group, ..key("general") };
    assert_eq!(store.bind(channel, new_session("general")).await.unwrap().id.get(), 3);
    let list = store.sessions(SessionFilter::All).await.unwrap();
    let drawn: Vec<_> = list.iter().map(|it| (it.session.label(), it.opening.as_deref())).collect();
    let none = |label: &str| (label.to_owned(), None);
    // A name of which nothing is to be seen is none.
    let expected = [none("5"), none("damaged"), none("general"), none("hers")];
    assert_eq!((&drawn[..4], &drawn[4]), (&expected[..], &("old".to_owned(), Some("hello"))));
}

#[tokio::test]
async fn old_sessions_keep_their_names_and_another_agent_may_use_them_too() {
    let (_folder, options) = made_by(4);
    let store = Store::open(&options).unwrap();
    let session =
        store.find_session("main", &SessionHolder::owner(), "old").await.unwrap().unwrap();
    assert_eq!(session.id.get(), 1);
    assert!(store.bind(key("elsewhere"), new_session("old")).await.is_err());
    let of_other = BindingKey { agent: "work".into(), ..key("old") };
    let new = NewSession { agent: "work".into(), ..new_session("old") };
    assert_ne!(store.bind(of_other, new).await.unwrap().id, session.id);
}
