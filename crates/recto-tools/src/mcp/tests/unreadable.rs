//! Servers that write what is no message, or none that can be read.

use serde_json::json;

use super::fake::Fake;
use super::*;

/// A server whose answer to a call is in a file, with `ID` for the number of the call.
const ANSWERS: &str = r#"called() { LC_ALL=C sed "s/ID/$id/" "$FOLDER/answer"; echo; }"#;

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Promise: `an-answer-that-cant-be-read-ends-its-call`
#[tokio::test]
async fn an_answer_that_can_not_be_read_ends_its_call_and_is_told() {
    let fake = Fake::new(ANSWERS);
    let logs = fake.path("logs");
    let servers =
        ServerRegistry::new(vec![fake.options("a")], None, Some(logs), None, Keeper::new(None));
    servers.learn_tools().await;
    let result = r#""content":[{"type":"text","text":"a"}]"#;
    let deep = nested(100_000);
    for (answer, why) in [
        (
            &*format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":{deep}}}}}"#),
            "nested more than 127 deep",
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":"\ud800 x"}}"#, "hex escape"),
        (
            &format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{{result}}},"result":{{}}}}"#),
            "it has `result` twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}"#,
            "a `result` and an `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":1000000000000000000000000000000,"message":"x"}}"#,
            "32 bits",
        ),
        (&format!(r#"[{{"jsonrpc":"2.0","id":ID,"result":{{{result}}}}}]"#), "a list"),
        (r#"{"jsonrpc":"2.0","result":{}"#, "EOF while parsing"),
    ] {
        std::fs::write(fake.path("answer"), answer).unwrap();
        let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
        let begins = "the MCP server `a` can't be understood: it sent a line that can't be read (";
        assert!(error.starts_with(begins) && error.contains(why), "{answer:.60}: {error}");
        assert!(error.contains("`{\"jsonrpc\"") || why == "a list", "{error}");
        assert!(error.len() < 400, "{error}");
    }
    std::fs::write(
        fake.path("answer"),
        b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"\xff\x1b[2J\"}",
    )
    .unwrap();
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("is not UTF-8") && error.contains("\\u{1b}[2J"), "{error}");
    // It is still the same one, and well.
    let good = format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{{result}}}}}"#);
    std::fs::write(fake.path("answer"), good).unwrap();
    assert_eq!(call(&servers, "a.hello", json!({})).await.unwrap(), "a");
    assert_eq!(fake.starts(), 1);
    until(|| fake.read("logs/mcp-a.log").contains("recto: the server wrote a line that can't be"))
        .await;
}

#[tokio::test]
async fn an_error_without_an_id_is_the_answer_to_the_only_question() {
    let fake = Fake::new(ANSWERS);
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    let answer = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no such berth"}}"#;
    std::fs::write(fake.path("answer"), answer).unwrap();
    let error = call(&servers, "a.hello", json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `a` answered with an error: no such berth");
}

#[tokio::test]
async fn what_came_instead_of_an_answer_is_told_when_the_time_is_over() {
    let fake = Fake::new("echo 'Welcome!'; while read -r line; do :; done");
    let mut options = fake.options("a");
    options.start_limit = Duration::from_secs(1);
    let servers = servers(vec![options]);
    settle(&servers).await;
    let text = "the MCP server `a` did not answer within 1 s; it wrote a line that can't be read \
                (expected value at byte 1): `Welcome!`";
    assert_eq!(notices(&servers), [text]);
    let hint = servers.status()[0].trouble.clone().unwrap().hint();
    assert!(hint.contains("standard output"), "{hint}");
}

/// Promise: `an-answer-that-cant-be-read-ends-its-call`
#[tokio::test]
async fn a_tool_whose_schema_is_nested_too_deep_takes_no_others_along() {
    let schema = (0..70).fold("{}".to_owned(), |inner, _| {
        format!(r#"{{"type":"object","properties":{{"p":{inner}}}}}"#)
    });
    let deep = format!(r#"{{"name":"deep","inputSchema":{schema}}}"#);
    let fake =
        Fake::new(&format!(r#"tools() {{ answer '{{"tools":[{deep},'"$(tool hello)"']}}'; }}"#));
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(keys(&servers), ["a.hello"]);
    let told = "the tool `deep` is left out: its schema is nested more than 64 deep";
    assert!(
        notices(&servers).iter().any(|notice| notice.contains(told)),
        "{:?}",
        notices(&servers)
    );
}

/// Promise: `an-answer-that-cant-be-read-ends-its-call`
#[tokio::test]
async fn a_tool_that_is_none_takes_no_others_along() {
    let odd = format!(
        r#"null,{{"name":"bare"}},{{"name":"text","inputSchema":"x"}},{{"inputSchema":{{}}}},
           {{"name":"huge","inputSchema":{{"properties":{{"n":{{"maximum":1{}}}}}}}}},
           {{"name":"loose","inputSchema":{{}},"annotations":7,"description":9}}"#,
        "0".repeat(400)
    );
    let odd = odd.replace('\n', "");
    let fake =
        Fake::new(&format!(r#"tools() {{ answer '{{"tools":[{odd},'"$(tool hello)"']}}'; }}"#));
    let servers = servers(vec![fake.options("a")]);
    servers.learn_tools().await;
    assert_eq!(keys(&servers), ["a.hello", "a.huge", "a.loose"]);
    let notices = notices(&servers).join("\n");
    for told in [
        "a tool is left out: in its place in the list stands null",
        "the tool `bare` is left out: it has no `inputSchema`",
        "the tool `text` is left out: its `inputSchema` is a string, not an object",
        "a tool is left out: it has no name",
    ] {
        assert!(notices.contains(told), "{told}: {notices}");
    }
}
