//! What is about the server itself. Everything else that the store does is tested on it by the
//! other modules, as `RECTO_TEST_STORE` says.

use recto_store::{
    ChannelAccount, OverheardMessage, PostgresUrl, Store, StoreError, StoreOptions, TurnCommit,
    TurnOwner, copy_store,
};

use crate::support::{
    StoreBench, at, begin, done, exchange, new_schema, request, sent, server_url, simple_query,
    talk, transcript,
};

fn options(url: &str, folder: &std::path::Path) -> StoreOptions {
    StoreOptions {
        busy_timeout: std::time::Duration::from_millis(300),
        ..StoreOptions::on_server(url.parse().unwrap(), folder.join("data"))
    }
}

/// The error with which a store does not open.
fn refusal(url: &str) -> StoreError {
    let folder = tempfile::tempdir().unwrap();
    Store::open(&options(url, folder.path())).unwrap_err()
}

#[test]
fn many_can_make_the_same_tables_at_once() {
    let (schema, folder) = (new_schema(), tempfile::tempdir().unwrap());
    let url: PostgresUrl = server_url(&schema).parse().unwrap();
    let options = StoreOptions::on_server(url, folder.path().join("data"));
    std::thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(&options))).collect();
        for store in opened {
            store.join().unwrap().unwrap();
        }
    });
}

#[test]
fn both_databases_have_the_same_tables_and_columns() {
    let (server, file) = (StoreBench::on_server(), StoreBench::in_file());
    let sql = "SELECT string_agg(table_name || '.' || column_name, ' '
                   ORDER BY table_name COLLATE \"C\", column_name COLLATE \"C\")
               FROM information_schema.columns
               WHERE table_schema = current_schema() AND table_name NOT IN ('recto_store', 'nodes')";
    let (on_server, _) = simple_query(&server.url(), sql);
    let sql = "SELECT group_concat(name, ' ') FROM
                   (SELECT t.name || '.' || c.name AS name
                    FROM sqlite_schema t, pragma_table_info(t.name) c
                    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
                    ORDER BY t.name, c.name)";
    let in_file: String = file.database().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(on_server.unwrap(), in_file);
}

/// Promise: `secrets-for-owner-only`
#[test]
fn what_keeps_a_server_from_being_used_is_named_without_the_password() {
    let nowhere = "postgres://ada:zebra-4711@127.0.0.1:1/recto";
    let error = refusal(nowhere);
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("zebra-4711"));
    assert!(error.to_string().contains("postgres://ada@127.0.0.1:1/recto"), "{error}");

    let server = server_url("public");
    let missing = server.replace("/postgres?", "/no_such_database?");
    let error = refusal(&missing);
    assert!(matches!(error, StoreError::NoDatabase { .. }), "{error}");
    assert!(error.hint().is_some());

    let role = "DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right';
                EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
    simple_query(&server, role);
    let wrong = server.replace("recto@", "guarded:zebra-4711@");
    let error = refusal(&wrong);
    assert!(matches!(error, StoreError::LogInRefused { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("zebra-4711"));
    // A password that comes from elsewhere counts.
    let schema = new_schema();
    simple_query(&server, &format!("GRANT ALL ON SCHEMA {schema} TO guarded"));
    let url: PostgresUrl = server_url(&schema).replace("recto@", "guarded@").parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let right = StoreOptions::on_server(url.with_password("right"), folder.path().join("data"));
    Store::open(&right).unwrap();
}

#[test]
fn tables_of_another_program_or_a_newer_recto_are_left_alone() {
    let schema = new_schema();
    let url = server_url(&schema);
    simple_query(&url, "CREATE TABLE bookmarks (url TEXT)");
    let error = refusal(&url);
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    let count =
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()";
    assert_eq!(simple_query(&url, count).0.as_deref(), Some("1"));

    let bench = StoreBench::on_server();
    let url = bench.url();
    drop(bench);
    simple_query(&url, "UPDATE recto_store SET version = 1000");
    let error = refusal(&url);
    assert!(matches!(error, StoreError::Newer { version: 1_000, .. }), "{error}");
}

/// Promise: `nodes-share-a-database`
#[tokio::test]
async fn what_a_silent_node_had_is_taken_over_and_it_can_t_write_to_that_any_more() {
    let bench = StoreBench::on_server();
    let (taken, kept) = (bench.session("a").await, bench.session("b").await);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Store::open(&options(&bench.url(), elsewhere.path())).unwrap();
    let turn = begin(&bench.store, &taken, 1, "hello").await.unwrap().turn;
    let own = begin(&bench.store, &kept, 1, "hello").await.unwrap().turn;
    let busy = StoreError::Busy { turn, owner: TurnOwner::Elsewhere };
    assert_eq!(begin(&other, &taken, 2, "and I?").await, Err(busy));

    // As after a time in which nothing of the first could run.
    let silence = "UPDATE nodes SET expires = 0
                   WHERE id = (SELECT owner FROM turns WHERE owner IS NOT NULL LIMIT 1)";
    simple_query(&bench.url(), silence);
    other.take_over(turn).await.unwrap();
    other.begin_again(turn).await.unwrap();
    let step = |begun| TurnCommit { outcome: done(), begun: Some(begun), ..TurnCommit::default() };
    let late = bench.store.advance(turn, step(1)).await;
    assert_eq!(late, Err(StoreError::NotOurs { turn, owner: TurnOwner::Elsewhere }));

    // What was not taken goes on, and so does all else.
    bench.store.advance(own, step(1)).await.unwrap();
    bench.session("c").await;

    // It may have the turn again, and still knows nothing of what the other one did with it.
    drop(other);
    bench.store.take_over(turn).await.unwrap();
    let stale = bench.store.advance(turn, step(1)).await;
    assert_eq!(stale, Err(StoreError::BegunAgain { turn }));
    assert_eq!(bench.store.begin_again(turn).await.unwrap().attempts.begins, 3);
    bench.store.advance(turn, step(3)).await.unwrap();
    assert_eq!(transcript(&bench.store, &taken).await, [(1, "hello".to_owned())]);
}

/// Promise: `nodes-share-a-database`
#[tokio::test]
async fn a_node_lives_for_as_long_as_it_puts_its_lease_off() {
    let bench = StoreBench::on_server();
    let session = bench.session("a").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let lease = std::time::Duration::from_secs(1);
    let short = StoreOptions { lease, ..options(&bench.url(), elsewhere.path()) };
    let other = Store::open(&short).unwrap();
    let turn = begin(&other, &session, 1, "hello").await.unwrap().turn;
    tokio::time::sleep(lease * 2).await;
    let owner = || async { bench.store.turn(turn).await.unwrap().unwrap().owner };
    assert_eq!(owner().await, Some(TurnOwner::Elsewhere));
    assert!(!bench.store.is_alone().await.unwrap());
    // An orderly end is known at once.
    drop(other);
    assert_eq!(owner().await, Some(TurnOwner::Gone));
    assert!(bench.store.is_alone().await.unwrap());
}

#[tokio::test]
async fn a_lost_connection_is_made_anew() {
    let bench = StoreBench::on_server();
    let session = bench.session("a").await;
    for number in 0..3 {
        exchange(&bench.store, &session, 2 * number + 1, ["hello", "hi"]).await;
        let cut = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = '{}' AND pid <> pg_backend_pid()",
            bench.schema()
        );
        let (cut, _) = simple_query(&server_url("public"), &cut);
        assert_ne!(cut.as_deref(), Some("0"));
        assert_eq!(
            transcript(&bench.store, &session).await.len(),
            2 * usize::try_from(number).unwrap() + 2
        );
    }
    exchange(&bench.store, &session, 9, ["and", "so on"]).await;
}

#[tokio::test]
async fn a_transaction_that_lost_against_another_is_done_again() {
    let bench = StoreBench::on_server();
    // Numbers of a sequence are not rolled back: the first three tries fail.
    simple_query(
        &bench.url(),
        "CREATE SEQUENCE tries;
         CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('tries') <= 3 THEN
                 RAISE EXCEPTION 'lost on purpose' USING ERRCODE = '40001';
             END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER lose BEFORE INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION lose()",
    );
    bench.session("a").await;
    assert_eq!(bench.number("SELECT last_value FROM tries"), 4);
    assert_eq!(bench.number("SELECT count(*) FROM sessions"), 1);
}

/// Promise: `a-copy-is-the-same`
#[tokio::test]
async fn a_store_is_copied_to_a_server_and_back_as_it_is() {
    let first = StoreBench::in_file();
    let session = first.session("a").await;
    for number in 0..5 {
        exchange(&first.store, &session, 2 * number + 1, [&talk(number, 500), "yes\0no"]).await;
        sent(&first.store, &session, request(1, &[&talk(number, 400), "{}"])).await;
    }
    let gone = first.session("gone").await;
    exchange(&first.store, &gone, 1, ["secret", "yes"]).await;
    first.store.delete_session(gone.id, at(60)).await.unwrap();
    let expected = transcript(&first.store, &session).await;
    let (options, folder) = first.close();

    let (server, last) = (StoreBench::on_server(), StoreBench::in_file());
    let (on_server, _server_folder) = server.close();
    let (back, _last_folder) = last.close();
    let there = copy_store(&options, &on_server).await.unwrap();
    assert_eq!(copy_store(&on_server, &back).await.unwrap(), there);
    let rows = |name: &str| there.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!((rows("sessions"), rows("messages"), rows("requests")), (2, 11, 5));
    let again = copy_store(&options, &on_server).await;
    assert!(matches!(again, Err(StoreError::NotEmpty { .. })), "{again:?}");

    for options in [&on_server, &back] {
        let store = Store::open(options).unwrap();
        assert_eq!(transcript(&store, &session).await, expected);
        assert_eq!(store.check_records().await, Ok(Vec::new()));
        // Numbers go on behind those that were copied.
        exchange(&store, &session, 100, ["and", "on"]).await;
        assert_eq!(transcript(&store, &session).await.len(), expected.len() + 2);
        let in_use = copy_store(options, &on_server).await;
        assert!(matches!(in_use, Err(StoreError::InUse { .. })), "{in_use:?}");
    }
    drop(folder);
}

#[tokio::test]
async fn a_character_that_a_server_can_t_keep_fails_nothing() {
    let bench = StoreBench::on_server();
    let bot = ChannelAccount { channel: "telegram".into(), account: "bot".into() };
    let said = OverheardMessage { speaker: "Ada".into(), text: "a\0b".into() };
    bench.store.overhear(&bot, "group", said, 5, at(1)).await.unwrap();
    assert_eq!(bench.store.overheard(&bot, "group").await.unwrap()[0].text, "a\u{FFFD}b");
}
