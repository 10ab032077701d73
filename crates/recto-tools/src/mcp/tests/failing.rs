//! Servers that are not well. Each is told of, and none does any harm.

use futures_util::FutureExt;
use serde_json::json;

use super::fake::{Fake, kill, lives};
use super::*;

async fn trouble(fake: &Fake) -> ServerError {
    let servers = servers(vec![fake.options("a")]);
    settle(&servers).await;
    assert_eq!(keys(&servers), Vec::<String>::new());
    let trouble = servers.status()[0].trouble.clone().expect("it failed");
    assert_eq!(notices(&servers), [trouble.to_string()]);
    trouble
}

#[tokio::test]
async fn one_that_ends_at_once_is_told_with_its_last_words() {
    let error = trouble(&Fake::new("echo 'no zone' >&2; exit 3")).await;
    assert_eq!(error.to_string(), "the MCP server `a` ended with exit code 3");
    assert_eq!(error.stderr, "no zone\n");
}

#[tokio::test]
async fn one_that_is_not_there_is_told() {
    let servers = servers(vec![program("a", "no-such-program", &[])]);
    servers.learn_tools().await;
    let text = "the MCP server `a` can't be started: there is no program `no-such-program`";
    assert_eq!(notices(&servers), [text]);
}

#[tokio::test]
async fn one_that_refuses_is_told() {
    let refuse = r#"answer() {
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"not today"}}\n' "$id"
    }"#;
    let error = trouble(&Fake::new(refuse)).await;
    assert_eq!(error.to_string(), "the MCP server `a` answered with an error: not today");
}

#[tokio::test]
async fn an_answer_with_an_id_of_another_type_is_none() {
    let fake = Fake::new(
        r#"called() { printf '{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"hi"}]}}\n' "$id"; }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("as the id, where"), "{error}");
}

#[tokio::test]
async fn one_that_prints_other_things_is_understood_all_the_same() {
    let fake = Fake::new(
        r#"echo 'Welcome!'; echo; echo '{"level":"info"}'; printf '\377\376\n'; echo '[1,2]'
        called() { echo 'calling {'; say hello; }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(notices(&servers), Vec::<String>::new());
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "hello");
}

#[tokio::test]
async fn one_that_leaves_the_first_greeting_without_an_answer_gets_the_other() {
    // It answers `initialize` only, as some servers do.
    let fake = Fake::new(
        r#"while read -r line; do
            id=${line#*\"id\":}; id=${id%%,*}
            echo "$line" >> "$FOLDER/heard"
            case $line in
                *'"initialize"'*) answer '{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}' ;;
                *'"tools/list"'*) tools ;;
            esac
        done"#,
    );
    let servers = servers(vec![fake.options("a")]);
    settle(&servers).await;
    assert_eq!(keys(&servers), ["a.hello"]);
    assert_eq!(notices(&servers), Vec::<String>::new());
    assert_eq!(fake.starts(), 1, "it goes on with the same one");
    // Next time it is greeted otherwise at once.
    kill(fake.pid());
    until(|| !servers.status()[0].is_running).await;
    assert!(call(&servers, "a.hello", json!({})).now_or_never().is_none());
    until(|| fake.read("heard").matches("\"initialize\"").count() == 2).await;
    assert_eq!(fake.read("heard").matches("server/discover").count(), 1);
}

#[tokio::test]
async fn one_that_ends_on_an_unknown_greeting_gets_the_other() {
    let fake = Fake::new(
        r#"read -r line
        case $line in *'"server/discover"'*) exit 1 ;; esac
        id=${line#*\"id\":}; id=${id%%,*}
        answer '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"b","version":"1"}}'"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(keys(&servers), ["a.hello"]);
    assert_eq!(fake.starts(), 2);
}

#[tokio::test]
async fn starts_that_fail_are_tried_again_after_pauses() {
    let fake = Fake::new("exit 1");
    let servers = servers(vec![fake.options("a")]);
    let mut told = String::new();
    // The first pause is none. Soon a start falls into a pause.
    for _ in 0..10 {
        servers.learn_tools().await;
        let starts = fake.starts();
        let spec = ToolSpec::new(ItemId::tool(Some("a".into()), "x"), "", json!({}));
        let spec = ToolSpec { source: ContentSource::Server("a".into()), ..spec };
        let tool = servers.tool(&spec).unwrap();
        let arguments = CallArguments::parse("").unwrap();
        let error = tool.run(arguments, &CallContext::default(), Consent::Unasked).await;
        told = error.unwrap_err().to_string();
        if fake.starts() == starts {
            break;
        }
    }
    assert!(told.starts_with("the MCP server `a` ended with exit code 1; it is tried again in "));
    let starts = fake.starts();
    assert!((2..20).contains(&starts), "{starts}");

    fake.set("");
    let wait = async {
        while keys(&servers).is_empty() {
            servers.learn_tools().await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(60), wait).await.unwrap();
    assert_eq!(notices(&servers), Vec::<String>::new());
}

#[tokio::test]
async fn all_of_a_start_has_one_limit() {
    // Each step is quick enough by itself, but not all of them together.
    let list =
        r#"answer() { sleep 1.2; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }"#;
    let greeting = r#"read -r line; sleep 1.2
        case $line in *'"server/discover"'*) exit 1 ;; esac
        id=${line#*\"id\":}; id=${id%%,*}
        answer '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"b","version":"1"}}'"#;
    let limited = |lines: &str| {
        let fake = Fake::new(lines);
        let mut options = fake.options("a");
        options.start_limit = Duration::from_secs(2);
        (servers(vec![options]), fake)
    };
    for lines in [list, greeting] {
        let (servers, _fake) = limited(lines);
        settle(&servers).await;
        assert_eq!(notices(&servers), ["the MCP server `a` did not answer within 2 s"]);
        assert_eq!(keys(&servers), Vec::<String>::new());
    }
    // One that was greeted in both ways saves the time for the first the next time.
    let (servers, _fake) = limited(greeting);
    let wait = async {
        while keys(&servers).is_empty() {
            servers.learn_tools().await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(60), wait).await.unwrap();
    assert_eq!(notices(&servers), Vec::<String>::new());
}

/// Lines of a server that starts when it is let.
const WAITS: &str = r#"until [ -e "$FOLDER/go" ]; do sleep 0.05; done"#;

/// Promise: `tools-of-servers-arrive`
#[tokio::test]
async fn one_that_takes_long_is_waited_for_once_and_joins_late() {
    let fake = Fake::new(WAITS);
    let servers = servers(vec![fake.options("a")]);
    let learn = timeout(Duration::from_secs(40), servers.learn_tools());
    learn.await.expect("it is not waited for as long as it may take");
    assert_eq!(keys(&servers), Vec::<String>::new());
    assert!(servers.learn_tools().now_or_never().is_some(), "it is not waited for again");
    std::fs::write(fake.path("go"), "").unwrap();
    until(|| keys(&servers) == ["a.hello"]).await;
    assert_eq!(notices(&servers), Vec::<String>::new());
}

#[tokio::test]
async fn a_start_goes_on_when_nobody_waits_for_it_any_more() {
    let fake = Fake::new(WAITS);
    let servers = servers(vec![fake.options("a")]);
    tokio::select! {
        () = servers.learn_tools() => panic!("it does not start yet"),
        () = until(|| fake.starts() == 1) => {}
    }
    std::fs::write(fake.path("go"), "").unwrap();
    until(|| keys(&servers) == ["a.hello"]).await;
    assert_eq!(fake.starts(), 1);
}

#[tokio::test]
async fn a_start_that_is_under_way_is_shut_down_too() {
    let fake = Fake::new(WAITS);
    let mut options = fake.options("a");
    options.start_limit = Duration::from_secs(600);
    let servers = servers(vec![options]);
    tokio::select! {
        () = servers.learn_tools() => panic!("it does not start yet"),
        () = until(|| fake.read("pid").ends_with('\n')) => {}
    }
    let pid = fake.pid();
    timeout(Duration::from_secs(60), servers.shut_down()).await.expect("it ends");
    until(|| !lives(pid)).await;
    assert_eq!(notices(&servers), Vec::<String>::new());
    assert_eq!(fake.starts(), 1);
}

#[tokio::test]
async fn one_that_failed_before_is_not_waited_for() {
    let fake = Fake::new("exit 1");
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let starts = fake.starts();
    fake.set(WAITS);
    timeout(Duration::from_secs(30), servers.learn_tools()).await.expect("it is not waited for");
    until(|| fake.starts() > starts).await;
    assert_eq!(notices(&servers), ["the MCP server `a` ended with exit code 1"]);
    // It joins late.
    std::fs::write(fake.path("go"), "").unwrap();
    until(|| keys(&servers) == ["a.hello"]).await;
    assert_eq!(notices(&servers), Vec::<String>::new());
}

#[tokio::test]
async fn a_start_that_fails_fails_for_all_who_wait_for_it() {
    let fake = Fake::new("sleep 0.2; exit 1");
    let servers = servers(vec![fake.options("a")]);
    tokio::join!(servers.learn_tools(), servers.learn_tools(), servers.learn_tools());
    // Greeted in both ways, once.
    assert_eq!(fake.starts(), 2);
}

#[tokio::test]
async fn one_that_is_killed_in_a_call_is_told_and_started_again() {
    let fake = Fake::new(
        r#"called() {
            if [ -e "$FOLDER/hung" ]; then say again; else touch "$FOLDER/hung"; fi
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let revision = servers.tools().revision;
    let calling = tokio::spawn({
        let servers = servers.clone();
        async move { call(&servers, "a.hello", json!({})).await }
    });
    until(|| fake.path("hung").exists()).await;
    kill(fake.pid());
    let error = calling.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` was ended by signal 9");
    assert_eq!(notices(&servers), [error]);
    assert_eq!(servers.tools().revision, revision + 1, "told once");
    assert_eq!(keys(&servers), ["a.hello"], "it can be started again");

    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "again");
    assert_eq!(notices(&servers), Vec::<String>::new());
    assert_eq!(fake.starts(), 2);
}

#[tokio::test]
async fn one_that_ends_while_nobody_calls_is_noticed() {
    let fake = Fake::new(r#"called() { say bye; echo 'I am off' >&2; exit 0; }"#);
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "bye");
    until(|| !notices(&servers).is_empty()).await;
    assert_eq!(notices(&servers), ["the MCP server `a` ended with exit code 0"]);
    assert_eq!(servers.status()[0].trouble.as_ref().unwrap().stderr, "I am off\n");
}

#[tokio::test]
async fn an_end_is_noticed_though_a_child_holds_the_streams() {
    let fake = Fake::new(r#"called() { sleep 1000 & echo $! > "$FOLDER/child"; exit 7; }"#);
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` ended with exit code 7");
    let child = fake.read("child").trim().parse().unwrap();
    until(|| !lives(child)).await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_taken_back() {
    let fake = Fake::new("called() { :; }");
    let mut options = fake.options("a");
    options.time_limit = Duration::from_millis(200);
    let servers = servers(vec![options]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` did not answer within 0.2 s");
    until(|| fake.read("heard").contains("notifications/cancelled")).await;
    assert!(servers.status()[0].is_running, "it is still there for others");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_taken_back_too() {
    let fake = Fake::new("called() { :; }");
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    tokio::select! {
        _ = call(&servers, "a.hello", json!({})) => panic!("it is never answered"),
        () = until(|| fake.read("heard").contains("tools/call")) => {}
    }
    until(|| fake.read("heard").contains("notifications/cancelled")).await;
}

#[tokio::test]
async fn an_error_of_a_call_is_the_calls_alone() {
    let fake = Fake::new(
        r#"called() {
            printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such zone"}}\n' "$id"
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` answered with an error: no such zone");
    assert!(servers.status()[0].is_running);
    assert_eq!(notices(&servers), Vec::<String>::new());
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_server() {
    let fake = Fake::new("called() { head -c 20000000 /dev/zero | tr '\\0' x; sleep 1000; }");
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` was ended: it sent a message of more than 16 MiB");
    until(|| !lives(fake.pid())).await;
}

#[tokio::test]
async fn a_check_tells_that_a_list_is_too_long_as_a_turn_does() {
    let fake = Fake::new("tools() { head -c 20000000 /dev/zero | tr '\\0' x; sleep 1000; }");
    let text = "the MCP server `a` was ended: it sent a message of more than 16 MiB";
    assert_eq!(trouble(&fake).await.to_string(), text);
    let error = servers(vec![fake.options("a")]).check("a").await.unwrap_err();
    assert_eq!(error.to_string(), text);
}

/// Lines of a server that asks, and goes on to ask, without ever reading what it is answered.
const FLOOD: &str = r#"flood() {
        pings=$(n=0; while [ $n -lt 100 ]; do n=$((n + 1)); ping $n; done)
        while :; do echo "$pings"; done
    }
    ping() { printf '{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' "$1"; }"#;

#[tokio::test]
async fn requests_whose_answers_nobody_takes_end_the_server() {
    let text = "the MCP server `a` was ended: it sent requests faster than it took the answers";
    let fake = Fake::new(&format!("{FLOOD}\ncalled() {{ flood; }}"));
    let mut options = fake.options("a");
    options.time_limit = Duration::from_secs(20);
    let in_call = servers(vec![options]);
    in_call.learn_tools().await;
    let error = call(&in_call, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, text);
    until(|| !lives(fake.pid())).await;
    assert_eq!(notices(&in_call), [text]);

    // Also while nobody calls.
    let fake = Fake::new(&format!("{FLOOD}\ncalled() {{ say hello; flood; }}"));
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "hello");
    until(|| !notices(&servers).is_empty()).await;
    assert_eq!(notices(&servers), [text]);
    until(|| !lives(fake.pid())).await;
}

#[tokio::test]
async fn requests_whose_answers_are_taken_may_be_many() {
    let fake = Fake::new(
        r#"pings=$(n=0; while [ $n -lt 500 ]; do
            n=$((n + 1)); printf '{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' $n
        done)
        called() {
            round=0
            while [ $round -lt 10 ]; do
                round=$((round + 1)); n=0
                echo "$pings"
                while [ $n -lt 500 ]; do n=$((n + 1)); read -r answer; done
            done
            say done
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "done");
}

#[tokio::test]
async fn a_list_without_end_has_one() {
    let fake = Fake::new(
        r#"page=0
        tools() {
            page=$((page + 1))
            answer '{"tools":['"$(tool t$page)"'],"nextCursor":"on"}'
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(servers.tools().specs.len(), 100);
    let told = notices(&servers).join("\n");
    assert!(told.contains("its list has more than 100 pages; the rest is left out"), "{told}");
}

#[tokio::test]
async fn a_list_of_large_pages_has_an_end() {
    let fake = Fake::new(
        r#"page=0
        words=$(head -c 9000000 /dev/zero | tr '\0' x)
        tools() {
            page=$((page + 1))
            echo "$page" > "$FOLDER/pages"
            answer '{"tools":[{"name":"t'"$page"'","description":"'"$words"'","inputSchema":{"type":"object"}}],"nextCursor":"on"}'
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(keys(&servers), ["a.t1", "a.t2", "a.t3"]);
    assert_eq!(fake.read("pages").trim(), "4");
}

#[tokio::test]
async fn what_a_server_asks_for_is_refused() {
    let fake = Fake::new(
        r#"called() {
            echo '{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'
            echo '{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}'
            read -r one; echo "$one" >> "$FOLDER/answers"
            read -r two; echo "$two" >> "$FOLDER/answers"
            say done
        }"#,
    );
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "done");
    let answers = fake.read("answers");
    assert!(answers.contains("-32601") && answers.contains("decline"), "{answers}");
}

#[tokio::test]
async fn keys_are_in_no_log_and_no_error() {
    let fake = Fake::new(r#"echo "bad token $TOKEN" >&2; exit 1"#);
    let mut options = fake.options("a");
    if let ServerTransport::Stdio { environment, .. } = &mut options.transport {
        environment.push(("TOKEN".to_owned(), "s3cr3t-s3cr3t".to_owned()));
    }
    let logs = tempfile::tempdir().unwrap();
    let at = Some(logs.path().to_owned());
    let servers = ServerRegistry::new(vec![options], None, at, None, Keeper::new(None));
    servers.learn_tools().await;
    assert_eq!(servers.status()[0].trouble.as_ref().unwrap().stderr, "bad token …\n");
    let log = std::fs::read_to_string(logs.path().join("mcp-a.log")).unwrap();
    assert!(log.starts_with("bad token …\n") && !log.contains("s3cr3t"), "{log}");
}

#[tokio::test]
async fn keys_are_in_no_result() {
    let fake = Fake::new(
        r#"called() {
            case $line in
                *refuse*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"bad %s"}}\n' "$id" "$TOKEN" ;;
                *fail*) answer '{"content":[{"type":"text","text":"no '"$TOKEN"'"}],"isError":true}' ;;
                *) say "$TOKEN in $FOLDER" ;;
            esac
        }"#,
    );
    let mut options = fake.options("a");
    if let ServerTransport::Stdio { environment, .. } = &mut options.transport {
        environment.push(("TOKEN".to_owned(), "/s3cr3t/s3cr3t+==".to_owned()));
    }
    let servers = servers(vec![options]);
    settle(&servers).await;
    let how = async |how: &str| call(&servers, "a.hello", json!({"how": how})).await;
    let folder = fake.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    assert_eq!(how("well").await.unwrap(), format!("… in {folder}"));
    assert_eq!(how("fail").await.unwrap_err().to_string(), "no …");
    let refused = how("refuse").await.unwrap_err().to_string();
    assert_eq!(refused, "the MCP server `a` answered with an error: bad …");
}

#[tokio::test]
async fn keys_are_in_nothing_that_a_server_says_of_itself() {
    let fake = Fake::new(
        r#"answer() {
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1" | sed "s/fake/by $TOKEN/; s/1\.2/1.$TOKEN/"
        }
        tools() {
            answer '{"tools":[{"name":"hello","description":"For '"$TOKEN"'.","inputSchema":{"enum":["'"$TOKEN"'"]}},'"$(tool "of-$TOKEN")"']}'
        }"#,
    );
    let mut options = fake.options("a");
    if let ServerTransport::Stdio { environment, .. } = &mut options.transport {
        environment.push(("TOKEN".to_owned(), "s3cr3t-s3cr3t".to_owned()));
    }
    let cache = tempfile::tempdir().unwrap();
    let at = Some(cache.path().to_path_buf());
    let servers = ServerRegistry::new(vec![options], at, None, None, Keeper::new(None));
    let report = servers.check("a").await.unwrap();
    assert_eq!(report.implementation, Some(("by …".to_owned(), "1.…".to_owned())));
    assert_eq!(keys(&servers), ["a.hello"]);
    let file = std::fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_to_string(file).unwrap();
    let told = format!("{report:?} {:?} {kept}", servers.tools());
    assert!(told.contains("For ….") && !told.contains("s3cr3t"), "{told}");
}

/// Promise: `last-failure-is-kept`
#[tokio::test]
async fn how_the_last_try_failed_is_known_to_the_next_run_until_one_goes_well() {
    let fake = Fake::new("exit 3");
    let cache = tempfile::tempdir().unwrap();
    let registry = || {
        let cache = Some(cache.path().to_path_buf());
        ServerRegistry::new(vec![fake.options("a")], cache, None, None, Keeper::new(None))
    };
    let last = || registry().status()[0].last_failure.clone();
    assert_eq!(last(), None);
    let error = registry().check("a").await.unwrap_err();
    let kept = last().unwrap();
    assert_eq!((kept.error.to_string(), kept.error.code()), (error.to_string(), "ended"));
    assert!(kept.at.elapsed().unwrap() < Duration::from_secs(600));
    // A turn that tries it tells, too.
    settle(&registry()).await;
    assert!(last().unwrap().at > kept.at);
    fake.set("");
    registry().check("a").await.unwrap();
    assert_eq!(last(), None);
}
