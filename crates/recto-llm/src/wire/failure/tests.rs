//! What servers answer, as they document it or were seen to, and what it means.

use super::*;
use crate::api_key::ApiKey;

const NO_KEY: Option<&ApiKey> = None;

/// The error that an answer becomes, with its code in front.
fn check(wire: Wire, status: u16, body: &str, expected: &str) {
    let url = "http://h/chat";
    let answer = ErrorResponse { url, status, retry_after: None, location: None, body };
    let error = error_from_response(wire, &answer, "m");
    let error = error.redacted(NO_KEY);
    assert_eq!(format!("{}: {error}", error.code()), expected);
}

#[test]
fn ollama() {
    let check = |status, body, expected| check(Wire::Ollama, status, body, expected);
    check(
        404,
        r#"{"error":"model \"m\" not found, try pulling it first"}"#,
        "no_such_model: the model server has no model `m`",
    );
    check(
        400,
        r#"{"error":"registry.ollama.ai/library/gemma3:4b does not support tools"}"#,
        "tools_unsupported: the model `m` does not support tools",
    );
    check(
        400,
        r#"{"error":"the input length exceeds the context length"}"#,
        "context_overflow: the prompt is larger than the model server's window: \
         the input length exceeds the context length",
    );
    check(
        503,
        r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
        "unavailable: the model server is not ready (status 503): \
         server busy, please try again.  maximum pending requests exceeded",
    );
    check(
        500,
        r#"{"error":"llama runner process has terminated"}"#,
        "server: the model server failed (status 500): llama runner process has terminated",
    );
    check(
        404,
        "404 page not found",
        "no_such_endpoint: `http://h/chat` is no address of a model server's interface",
    );
}

#[test]
fn ollama_passes_on_what_its_runner_said() {
    let body = r#"{"error":"{\"error\":{\"code\":400,\"message\":\"too long\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":9,\"n_ctx\":8}}"}"#;
    let answer = ErrorResponse { url: "", status: 400, retry_after: None, location: None, body };
    let message = "too long".to_owned();
    let expected = LlmError::ContextOverflow { sent: Some(9), window: Some(8), message };
    assert_eq!(error_from_response(Wire::Ollama, &answer, "m"), expected);
}

#[test]
fn openai_and_its_relatives() {
    let check = |status, body, expected| check(Wire::OpenAi, status, body, expected);
    check(
        400,
        r#"{"error":{"message":"Too long.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        "context_overflow: the prompt is larger than the model server's window: Too long.",
    );
    check(
        404,
        r#"{"error":{"message":"The model `m` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        "no_such_model: the model server has no model `m`",
    );
    check(
        404,
        r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
        "no_such_model: the model server has no model `m`",
    );
    check(
        404,
        r#"{"detail":"Not Found"}"#,
        "no_such_endpoint: `http://h/chat` is no address of a model server's interface",
    );
    check(
        404,
        r#"{"error":{"message":"No endpoint serves `m` with tools.","code":404}}"#,
        "no_such_endpoint: the model server does not serve `http://h/chat`: \
         No endpoint serves `m` with tools.",
    );
    // llama.cpp, where `base_url` has a slip.
    check(
        404,
        r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#,
        "no_such_endpoint: the model server does not serve `http://h/chat`: File Not Found",
    );
    check(
        404,
        r#"{"error":{}}"#,
        "no_such_endpoint: `http://h/chat` is no address of a model server's interface",
    );
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}}"#,
        "context_overflow: the prompt is larger than the model server's window: \
         This model's maximum context length is 4096 tokens.",
    );
    check(
        429,
        r#"{"error":{"message":"You exceeded your quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        "refused: the model server refused the request (status 429): You exceeded your quota.",
    );
    check(
        503,
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        "unavailable: the model server is not ready (status 503): Loading model",
    );
    check(401, "", "unauthorized: the model server wants a key: it gives no reason");
    check(
        422,
        r#"{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}"#,
        r#"refused: the model server refused the request (status 422): {"detail":[{"loc":["body","messages"],"msg":"Field required"}]}"#,
    );
    check(
        502,
        "<html>Bad Gateway</html>",
        "server: the model server failed (status 502): <html>Bad Gateway</html>",
    );
}

#[test]
fn anthropic() {
    let check = |status, body, expected| check(Wire::Anthropic, status, body, expected);
    check(
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "unavailable: the model server is not ready (status 529): Overloaded",
    );
    check(
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
        "no_such_model: the model server has no model `m`",
    );
    check(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}"#,
        "context_overflow: the prompt is larger than the model server's window: \
         prompt is too long: 200001 tokens > 200000 maximum",
    );
    check(
        403,
        r#"{"type":"error","error":{"type":"permission_error","message":"Not yours."}}"#,
        "forbidden: the model server does not allow this: Not yours.",
    );
}

/// Numbers and words in a text decide nothing by themselves.
/// Promise: `errors-by-type`
#[test]
fn texts_are_not_searched() {
    let quoted = r#"{"error":{"message":"after 1500 ms: `prompt is too long`, `maximum context length`, 503, does not support tools","code":418}}"#;
    for wire in [Wire::Ollama, Wire::OpenAi, Wire::Anthropic] {
        let answer =
            ErrorResponse { url: "", status: 418, retry_after: None, location: None, body: quoted };
        assert_eq!(error_from_response(wire, &answer, "m").code(), "refused");
    }
}

#[test]
fn redirects_are_told_without_their_query() {
    let location = Some("https://elsewhere/v1?token=abc");
    let answer =
        ErrorResponse { url: "http://h", status: 307, retry_after: None, location, body: "" };
    let error = error_from_response(Wire::OpenAi, &answer, "m");
    assert_eq!(
        error.to_string(),
        "`http://h` redirects to `https://elsewhere/v1`, which is not followed"
    );
}

#[test]
fn long_bodies_are_cut() {
    let body = "ä".repeat(2_000);
    let answer =
        ErrorResponse { url: "", status: 500, retry_after: None, location: None, body: &body };
    let error = error_from_response(Wire::OpenAi, &answer, "m").redacted(NO_KEY);
    let LlmError::Server { message, .. } = error else {
        panic!("a server error");
    };
    assert_eq!(message.chars().count(), 501);
}
