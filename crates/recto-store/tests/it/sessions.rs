//! Sessions, their names and their bindings.

use recto_context::{Audience, AudienceKind, Message, MessageBody};
use recto_store::{
    BindingKey, NewMessage, NewSession, RowId, SessionFilter, SessionHolder, SessionId,
    SessionName, SessionNameError, StoreError,
};
use serde_json::json;

use crate::support::{StoreBench, at, exchange, id, key, new_message, new_session, transcript};

#[tokio::test]
async fn a_conversation_keeps_its_session_over_a_restart() {
    let bench = StoreBench::new();
    let first = bench.session("work").await;
    exchange(&bench.store, &first, 1, ["hello", "hi"]).await;
    let bench = bench.reopened();
    let again = bench.session("work").await;
    assert_eq!(again, first);
    assert_eq!(
        transcript(&bench.store, &again).await,
        [(1, "hello".to_owned()), (2, "hi".to_owned())]
    );
}

/// Promise: `conversations-stay-apart`
#[tokio::test]
async fn places_that_differ_in_any_part_have_sessions_of_their_own() {
    let bench = StoreBench::new();
    let place = |surface: &str, account: &str, conversation: &str, user: Option<&str>| BindingKey {
        agent: "main".into(),
        surface: surface.into(),
        account: account.into(),
        conversation: conversation.into(),
        user: user.map(str::to_owned),
        holder: SessionHolder::owner(),
    };
    let places = [
        place("telegram", "bot", "42", None),
        place("discord", "bot", "42", None),
        place("telegram", "other", "42", None),
        place("telegram", "bot", "42", Some("42")),
        place("telegram", "bot", "42", Some("")),
        place("telegram", "bot:42", "", None),
        place("telegram", "bot", ":42", None),
        place("telegram", "bot\",\"42", "", None),
    ];
    let mut sessions = Vec::new();
    for place in &places {
        let new = NewSession { name: None, ..new_session("x") };
        sessions.push(bench.store.bind(place.clone(), new).await.unwrap().id);
    }
    let distinct: std::collections::BTreeSet<_> = sessions.iter().collect();
    assert_eq!(distinct.len(), places.len());
    let new = NewSession { name: None, ..new_session("x") };
    assert_eq!(bench.store.bind(places[3].clone(), new).await.unwrap().id, sessions[3]);
}

#[tokio::test]
async fn an_archived_session_is_kept_and_its_conversation_begins_anew() {
    let bench = StoreBench::new();
    let old = bench.session("work").await;
    exchange(&bench.store, &old, 1, ["hello", "hi"]).await;
    let archived = bench.store.archive(old.id, at(50)).await.unwrap();
    assert_eq!(archived.archived, Some(at(50)));

    let new = bench.session("work").await;
    assert_ne!(new.id, old.id);
    assert_eq!(
        bench.store.find_session("main", &SessionHolder::owner(), "work").await,
        Ok(Some(new.clone()))
    );
    assert_eq!(transcript(&bench.store, &old).await.len(), 2);

    // Its name is in use again, so it can't come back under it.
    let taken = StoreError::NameTaken { name: "work".into() };
    assert_eq!(bench.store.unarchive(old.id).await, Err(taken));
    let name = SessionName::new("old work").unwrap();
    bench.store.rename(old.id, name).await.unwrap();
    assert_eq!(bench.store.unarchive(old.id).await.unwrap().archived, None);
}

#[tokio::test]
async fn sessions_are_found_by_name_and_by_number() {
    let bench = StoreBench::new();
    let first = bench.session("a/b ../c").await;
    let other = bench.session("1a").await;
    assert_eq!((first.id.get(), SessionName::new("1")), (1, Err(SessionNameError::Number)));
    let owner = SessionHolder::owner();
    let find = |name: &'static str| bench.store.find_session("main", &owner, name);
    assert_eq!(find("a/b ../c").await, Ok(Some(first.clone())));
    assert_eq!(find(" 1 ").await, Ok(Some(first.clone())));
    assert_eq!(find("2").await, Ok(Some(other.clone())));
    assert_eq!(find("1a").await, Ok(Some(other)));
    assert_eq!(find("nothing").await, Ok(None));

    bench.store.archive(first.id, at(5)).await.unwrap();
    let second = bench.session("a/b ../c").await;
    bench.store.archive(second.id, at(6)).await.unwrap();
    assert_eq!(find("a/b ../c").await.unwrap().unwrap().id, second.id);
}

#[tokio::test]
async fn names_are_unique_among_open_sessions() {
    let bench = StoreBench::new();
    bench.session("a").await;
    let taken = Err(StoreError::NameTaken { name: "a".into() });
    assert_eq!(bench.store.bind(key("elsewhere"), new_session("a")).await, taken);
    let other = bench.session("b").await;
    assert_eq!(bench.store.rename(other.id, SessionName::new("a").unwrap()).await, taken);
    let missing = "77".parse::<SessionId>().unwrap();
    assert_eq!(
        bench.store.archive(missing, at(1)).await,
        Err(StoreError::NotFound(RowId::Session(missing)))
    );
}

/// Promise: `agents-stay-apart`
#[tokio::test]
async fn each_agent_has_names_of_its_own() {
    let bench = StoreBench::new();
    let of = |agent: &str, name: &str| {
        let new = NewSession { agent: agent.into(), ..new_session(name) };
        bench.store.bind(BindingKey { agent: agent.into(), ..key(name) }, new)
    };
    let own = bench.session("plans").await;
    let other = of("work", "plans").await.unwrap();
    assert_ne!(other.id, own.id);
    let owner = SessionHolder::owner();
    let find = |agent: &'static str, name| bench.store.find_session(agent, &owner, name);
    assert_eq!(find("main", "plans").await, Ok(Some(own.clone())));
    assert_eq!(find("work", "plans").await, Ok(Some(other.clone())));
    assert_eq!(find("nobody", "plans").await, Ok(None));
    // Numbers are everybody's.
    assert_eq!(find("main", "2").await, Ok(Some(other.clone())));
    assert_eq!(
        bench.store.sessions_named(&owner, " plans ").await,
        Ok(vec![own.clone(), other.clone()])
    );

    // One that is renamed needs a name that is free among its agent's.
    let more = of("work", "more").await.unwrap();
    let name = SessionName::new("plans").unwrap();
    let taken = StoreError::NameTaken { name: "plans".into() };
    assert_eq!(bench.store.rename(more.id, name.clone()).await, Err(taken));
    bench.store.archive(own.id, at(5)).await.unwrap();
    let archived = bench.store.rename(bench.session("mine").await.id, name).await.unwrap();
    assert_eq!(bench.store.sessions_named(&owner, "plans").await, Ok(vec![archived, other]));
}

/// Promise: `sessions-of-others-are-out-of-reach`
#[tokio::test]
async fn each_person_has_names_of_their_own() {
    let bench = StoreBench::new();
    let guest = |person: &str| {
        let who = AudienceKind::Guest;
        let person = Some(person.into());
        SessionHolder::of_audience(&Audience { who, person, ..Audience::default() })
    };
    let of = |holder: &SessionHolder| {
        bench.store.bind(BindingKey { holder: holder.clone(), ..key("work") }, new_session("work"))
    };
    let (owner, anna, ben) = (SessionHolder::owner(), guest("anna"), guest("ben"));
    let hers = of(&anna).await.unwrap();
    let own = bench.session("work").await;
    let his = of(&ben).await.unwrap();
    for (holder, session) in [(&owner, &own), (&anna, &hers), (&ben, &his)] {
        let found = bench.store.find_session("main", holder, "work").await.unwrap();
        assert_eq!(found.as_ref(), Some(session));
        // The conversation goes on in the same one.
        assert_eq!(of(holder).await.unwrap(), *session);
        // Numbers are everybody's.
        let numbered = bench.store.find_session("main", holder, "1").await.unwrap();
        assert_eq!(numbered.as_ref(), Some(&hers));
    }
    assert_eq!(bench.store.sessions_named(&owner, "work").await, Ok(vec![own.clone()]));
    // A name of somebody else's is free, and an own one is not.
    let name = |text: &str| SessionName::new(text).unwrap();
    bench.store.rename(own.id, name("secret")).await.unwrap();
    assert!(bench.store.rename(hers.id, name("secret")).await.is_ok());
    let more = BindingKey { holder: anna, ..key("more") };
    let more = bench.store.bind(more, new_session("more")).await.unwrap();
    let taken = Err(StoreError::NameTaken { name: "secret".into() });
    assert_eq!(bench.store.rename(more.id, name("secret")).await, taken);
}

#[tokio::test]
async fn a_list_does_not_read_what_was_said() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let long = "word ".repeat(300_000);
    exchange(&bench.store, &session, 1, [&long, "yes"]).await;
    // Nothing can be read of it any more.
    let sql = "UPDATE messages SET body = x'28b52ffd00'";
    assert_eq!(bench.change(sql), 2);
    let list = bench.store.sessions(SessionFilter::Open).await.unwrap();
    let expected = "word ".repeat(16) + "…";
    assert_eq!(list[0].opening.as_deref(), Some(expected.as_str()));
    assert_eq!(bench.store.session_summary(session.id).await.unwrap(), list[0]);
}

#[tokio::test]
async fn a_renamed_session_frees_its_name_and_keeps_its_conversation() {
    let bench = StoreBench::new();
    let session = bench.session("draft").await;
    bench.store.rename(session.id, SessionName::new("final \"x\"").unwrap()).await.unwrap();
    assert_eq!(bench.session("final \"x\"").await.id, session.id);
    assert_ne!(bench.session("draft").await.id, session.id);
}

#[tokio::test]
async fn settings_are_kept() {
    let bench = StoreBench::new();
    let session = bench.session("a").await;
    let settings = json!({"model": "large", "temperature": 0.25, "nested": {"z": 1, "a": [2]}});
    let settings = settings.as_object().unwrap().clone();
    bench.store.set_settings(session.id, settings.clone()).await.unwrap();
    let bench = bench.reopened();
    assert_eq!(bench.store.session(session.id).await.unwrap().unwrap().settings, settings);
}

#[tokio::test]
async fn a_list_begins_with_what_was_spoken_in_last() {
    let bench = StoreBench::new();
    let long = bench.session("long ago").await;
    let recent = bench.session("recent").await;
    let empty = bench.session("empty").await;
    let words = format!("  first\n\twords {}", "and ".repeat(100));
    exchange(&bench.store, &long, 1, [&words, "yes"]).await;
    exchange(&bench.store, &recent, 7, ["hello", "hi"]).await;
    bench.store.archive(empty.id, at(1)).await.unwrap();

    let list = bench.store.sessions(SessionFilter::Open).await.unwrap();
    let drawn: Vec<_> = list
        .iter()
        .map(|summary| (summary.session.label(), summary.messages, summary.turns, summary.last))
        .collect();
    assert_eq!(drawn, [("recent".to_owned(), 2, 1, at(8)), ("long ago".to_owned(), 2, 1, at(2))]);
    let opening = list[1].opening.as_deref().unwrap();
    assert!(opening.starts_with("first words and and"), "{opening}");
    assert_eq!(opening.chars().count(), 81);
    let all = bench.store.sessions(SessionFilter::All).await.unwrap();
    let archived: Vec<_> =
        all.iter().filter(|summary| summary.session.archived.is_some()).collect();
    assert_eq!((all.len(), archived.len()), (3, 1));
    assert_eq!((archived[0].messages, &archived[0].opening), (0, &None));
}

#[tokio::test]
async fn what_is_imported_is_there_as_it_was() {
    let bench = StoreBench::new();
    let messages = vec![
        new_message(Message::user(3, "a\n## Assistant\nb \\n c\0")),
        NewMessage {
            at: at(-1_000_000),
            ..new_message(Message::assistant(9, "x".repeat(5_000_000)))
        },
        new_message(Message { id: id(10), body: MessageBody::Error("no answer".into()) }),
    ];
    let session =
        bench.store.import(key("old"), new_session("old"), messages.clone()).await.unwrap();
    let bench = bench.reopened();
    let stored = bench.store.messages(session.id, None).await.unwrap();
    for (stored, new) in stored.iter().zip(&messages) {
        assert_eq!((&stored.message, stored.at, stored.turn), (&new.message, new.at, None));
    }
    assert_eq!(stored.len(), messages.len());
    assert_eq!(bench.store.messages(session.id, Some(id(9))).await.unwrap(), stored[1..]);
    let within = async |numbers| bench.store.messages_within(session.id, numbers).await.unwrap();
    assert_eq!(within(id(9)..=id(9)).await, stored[1..2]);
    assert_eq!(within(id(0)..=id(9)).await, stored[..2]);
    assert_eq!(within(id(4)..=id(8)).await, []);
    assert_eq!(within(id(10)..=id(u64::MAX)).await, stored[2..]);
    assert_eq!(within(id(u64::MAX)..=id(u64::MAX)).await, []);
}

#[tokio::test]
async fn messages_of_several_sessions_come_as_they_are_asked_for() {
    let bench = StoreBench::new();
    let import = async |name: &str, messages: Vec<_>| {
        bench.store.import(key(name), new_session(name), messages).await.unwrap().id
    };
    let one =
        import("one", vec![new_message(Message::user(1, "a")), new_message(Message::user(2, "b"))])
            .await;
    let two = import("two", vec![new_message(Message::user(1, "c"))]).await;
    let nowhere: SessionId = "77".parse().unwrap();
    let places = [(two, 1), (one, 2), (nowhere, 1), (one, 3), (two, u64::MAX), (one, 1)];
    let places = places.map(|(session, number)| (session, id(number))).to_vec();
    let found = bench.store.messages_at(places).await.unwrap();
    let expected = [(two, 1, "c"), (one, 2, "b"), (one, 1, "a")];
    let expected = expected.map(|(session, number, text)| (session, Message::user(number, text)));
    let found: Vec<_> =
        found.into_iter().map(|(session, stored)| (session, (*stored.message).clone())).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_import_whose_numbers_do_not_grow_leaves_nothing_behind() {
    let bench = StoreBench::new();
    let messages = vec![new_message(Message::user(2, "a")), new_message(Message::user(2, "b"))];
    let refused = bench.store.import(key("x"), new_session("x"), messages).await;
    assert_eq!(refused, Err(StoreError::OutOfOrder { message: id(2), last: id(2) }));
    assert_eq!(bench.store.sessions(SessionFilter::All).await, Ok(Vec::new()));
    let message = Message::user(u64::MAX, "too far").into();
    let messages = vec![NewMessage { message, at: at(0) }];
    let refused = bench.store.import(key("x"), new_session("x"), messages).await;
    assert!(matches!(refused, Err(StoreError::OutOfOrder { .. })), "{refused:?}");
}
