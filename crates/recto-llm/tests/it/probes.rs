//! What servers say about themselves, in every dialect.

use recto_llm::{
    ClientOptions, FeatureSupport, ModelClient, ModelHealth, ModelPresence, Provider, ServerWindow,
    WindowSizes,
};

use crate::server::{Server, Step, answer, nobody, quick};

/// What the server says about the model `m`.
async fn check(provider: Provider, answers: fn(&str) -> String) -> ModelHealth {
    let server = Server::answer(answers).await;
    let client = server.client(provider);
    let health = client.check("m").await.unwrap();
    let sizes = client.server_window("m").await.unwrap();
    assert_eq!(sizes.window, health.window);
    health
}

fn ok(body: &str) -> String {
    answer(200, "", body)
}

fn not_found() -> String {
    answer(404, "", "{\"detail\":\"Not Found\"}")
}

fn health(
    presence: ModelPresence,
    window: ServerWindow,
    window_source: &'static str,
    tools: FeatureSupport,
) -> ModelHealth {
    ModelHealth { presence, window, window_source: Some(window_source), tools }
}

#[tokio::test]
async fn ollama_is_set_to_a_window() {
    let found = check(Provider::Ollama, |path| match path {
        "/api/tags" => ok(r#"{"models":[{"name":"m:latest","model":"m:latest"}]}"#),
        "/api/show" => ok(
            r#"{"parameters":"stop \"x\"\nnum_ctx      16384","capabilities":["completion","tools"],
                "model_info":{"general.architecture":"llama","llama.context_length":131072}}"#,
        ),
        "/api/ps" => ok(r#"{"models":[{"name":"m:latest","context_length":4096}]}"#),
        _ => not_found(),
    });
    let window = ServerWindow::Loaded(16_384);
    let expected =
        health(ModelPresence::Listed, window, "`num_ctx` in `/api/show`", FeatureSupport::Yes);
    assert_eq!(found.await, expected);
}

#[tokio::test]
async fn ollama_has_the_model_loaded() {
    let found = check(Provider::Ollama, |path| match path {
        "/api/tags" => ok(r#"{"models":[{"name":"other:7b"}]}"#),
        "/api/show" => ok(r#"{"capabilities":["completion"],
                "model_info":{"general.architecture":"llama","llama.context_length":131072}}"#),
        "/api/ps" => ok(r#"{"models":[{"name":"other:7b","context_length":1},
                          {"name":"m:latest","context_length":4096}]}"#),
        _ => not_found(),
    });
    let presence = ModelPresence::NotListed { served: vec!["other:7b".to_owned()] };
    let expected = health(presence, ServerWindow::Loaded(4_096), "`/api/ps`", FeatureSupport::No);
    assert_eq!(found.await, expected);
}

#[tokio::test]
async fn ollama_knows_what_the_model_was_trained_for() {
    let found = check(Provider::Ollama, |path| match path {
        "/api/tags" => ok(r#"{"models":[{"name":"m:latest"}]}"#),
        "/api/show" => {
            ok(r#"{"model_info":{"general.architecture":"llama","llama.context_length":131072}}"#)
        }
        "/api/ps" => ok(r#"{"models":[]}"#),
        _ => not_found(),
    });
    let (window, source) = (ServerWindow::Trained(131_072), "`context_length` in `/api/show`");
    assert_eq!(found.await, health(ModelPresence::Listed, window, source, FeatureSupport::Unknown));
}

#[tokio::test]
async fn llama_cpp_has_its_properties_beside_the_interface() {
    let found = check(Provider::OpenAi, |path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m","meta":{"n_ctx_train":32768}}]}"#),
        "/props" => ok(r#"{"default_generation_settings":{"n_ctx":8192},"total_slots":1}"#),
        _ => not_found(),
    });
    let (window, source) = (ServerWindow::Loaded(8_192), "`n_ctx` in `/props`");
    assert_eq!(found.await, health(ModelPresence::Listed, window, source, FeatureSupport::Unknown));
}

/// What a server uses and what its model was trained for are two numbers.
#[tokio::test]
async fn the_trained_size_is_told_beside_the_window() {
    let trained = |provider, answers: fn(&str) -> String| async move {
        let server = Server::answer(answers).await;
        let WindowSizes { window, trained } =
            server.client(provider).server_window("m").await.unwrap();
        assert!(matches!(window, ServerWindow::Loaded(_)), "{window:?}");
        trained
    };
    let ollama = trained(Provider::Ollama, |path| match path {
        "/api/show" => ok(r#"{"parameters":"num_ctx 16384",
            "model_info":{"general.architecture":"llama","llama.context_length":131072}}"#),
        _ => not_found(),
    });
    let llama_cpp = trained(Provider::OpenAi, |path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m","meta":{"n_ctx_train":32768}}]}"#),
        "/props" => ok(r#"{"default_generation_settings":{"n_ctx":8192}}"#),
        _ => not_found(),
    });
    let lm_studio = trained(Provider::OpenAi, |path| match path {
        "/api/v0/models" => {
            ok(r#"{"data":[{"id":"m","max_context_length":65536,"loaded_context_length":4096}]}"#)
        }
        _ => not_found(),
    });
    let vllm = trained(Provider::OpenAi, |path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m","max_model_len":40960}]}"#),
        _ => not_found(),
    });
    assert_eq!(ollama.await, Some(131_072));
    assert_eq!(llama_cpp.await, Some(32_768));
    assert_eq!(lm_studio.await, Some(65_536));
    assert_eq!(vllm.await, None);
}

#[tokio::test]
async fn vllm_lists_windows_with_its_models() {
    let found = check(Provider::OpenAi, |path| match path {
        "/v1/models" => {
            ok(r#"{"data":[{"id":"other","max_model_len":1},{"id":"m","max_model_len":40960}]}"#)
        }
        _ => not_found(),
    });
    let (window, source) = (ServerWindow::Loaded(40_960), "`max_model_len` in `/v1/models`");
    assert_eq!(found.await, health(ModelPresence::Listed, window, source, FeatureSupport::Unknown));
}

#[tokio::test]
async fn lm_studio_has_an_interface_of_its_own() {
    let found = check(Provider::OpenAi, |path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m"}]}"#),
        "/api/v0/models" => {
            ok(r#"{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":4096}]}"#)
        }
        // It answers unknown paths with success and words.
        _ => ok(r#"{"error":"Unexpected endpoint or method."}"#),
    });
    let source = "`loaded_context_length` in `/api/v0/models`";
    let expected =
        health(ModelPresence::Listed, ServerWindow::Loaded(4_096), source, FeatureSupport::Unknown);
    assert_eq!(found.await, expected);

    let found = check(Provider::OpenAi, |path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m"}]}"#),
        "/api/v0/models" => ok(r#"{"data":[{"id":"m","max_context_length":131072}]}"#),
        _ => not_found(),
    });
    let source = "`max_context_length` in `/api/v0/models`";
    let window = ServerWindow::Trained(131_072);
    assert_eq!(found.await, health(ModelPresence::Listed, window, source, FeatureSupport::Unknown));
}

#[tokio::test]
async fn a_server_may_say_nothing_at_all() {
    let nothing = ModelHealth {
        presence: ModelPresence::Unknown,
        window: ServerWindow::Unknown,
        window_source: None,
        tools: FeatureSupport::Unknown,
    };
    assert_eq!(check(Provider::OpenAi, |_| not_found()).await, nothing);
    let server = Server::answer(|_| ok("<html>")).await;
    let sizes = server.client(Provider::Ollama).server_window("m").await;
    assert_eq!(sizes, Ok(WindowSizes::default()));
}

#[tokio::test]
async fn anthropic_lists_names() {
    let server = Server::answer(|_| ok(r#"{"data":[{"id":"claude"}],"has_more":false}"#)).await;
    let client = server.client(Provider::Anthropic);
    assert_eq!(client.served_models().await, Ok(vec!["claude".to_owned()]));
    assert!(server.requests()[0].starts_with("GET /v1/models"));
    assert_eq!(client.check("claude").await.unwrap().presence, ModelPresence::Listed);
}

#[tokio::test]
async fn a_key_that_is_not_accepted_fails_the_check() {
    let server = Server::answer(|_| answer(401, "", "")).await;
    let client = server.client(Provider::OpenAi);
    assert_eq!(client.check("m").await.unwrap_err().code(), "unauthorized");
    assert_eq!(client.server_window("m").await.unwrap_err().code(), "unauthorized");
}

/// A server that gave no answer may give one later, or to another key. What it
/// would have said is not unknown.
#[tokio::test]
async fn a_server_that_fails_has_not_said_that_it_does_not_know() {
    let failing: [fn(&str) -> String; 6] = [
        |_| answer(401, "", ""),
        |_| answer(403, "", ""),
        |_| answer(429, "", ""),
        |_| answer(500, "", ""),
        |_| answer(502, "", ""),
        |_| answer(503, "", ""),
    ];
    let codes = ["unauthorized", "forbidden", "rate_limited", "server", "server", "unavailable"];
    for provider in [Provider::Ollama, Provider::OpenAi] {
        for (answers, code) in failing.into_iter().zip(codes) {
            let server = Server::answer(answers).await;
            let window = server.client(provider).server_window("m").await;
            assert_eq!(window.unwrap_err().code(), code, "{provider:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_answers_and_does_not_say_has_no_known_window() {
    let silent: [fn(&str) -> String; 5] = [
        |_| not_found(),
        |_| answer(405, "", ""),
        |_| answer(501, "", ""),
        |_| answer(400, "", "{\"error\":\"what?\"}"),
        |_| ok("{}"),
    ];
    for provider in [Provider::Ollama, Provider::OpenAi] {
        for answers in silent {
            let server = Server::answer(answers).await;
            let sizes = server.client(provider).server_window("m").await;
            assert_eq!(sizes, Ok(WindowSizes::default()), "{provider:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_has_said_nothing() {
    let server = Server::by_path(|_| vec![Step::WaitForEnd]).await;
    let (ollama, openai) = (server.client(Provider::Ollama), server.client(Provider::OpenAi));
    let (ollama, openai) = tokio::join!(ollama.server_window("m"), openai.server_window("m"));
    assert_eq!(ollama.unwrap_err().code(), "timed_out");
    assert_eq!(openai.unwrap_err().code(), "timed_out");
}

#[tokio::test]
async fn one_answer_is_enough_where_another_question_hangs() {
    let server = Server::by_path(|path| match path {
        "/v1/models" => vec![Step::Send(ok(r#"{"data":[{"id":"m","max_model_len":40960}]}"#))],
        "/api/ps" => vec![Step::Send(ok(r#"{"models":[{"name":"m","context_length":4096}]}"#))],
        _ => vec![Step::WaitForEnd],
    });
    let server = server.await;
    let (ollama, openai) = (server.client(Provider::Ollama), server.client(Provider::OpenAi));
    let (ollama, openai) = tokio::join!(ollama.server_window("m"), openai.server_window("m"));
    assert_eq!(ollama.map(|sizes| sizes.window), Ok(ServerWindow::Loaded(4_096)));
    assert_eq!(openai.map(|sizes| sizes.window), Ok(ServerWindow::Loaded(40_960)));
}

/// It lists the model while it loads, and knows its window later.
#[tokio::test]
async fn llama_cpp_is_loading() {
    let server = Server::answer(|path| match path {
        "/v1/models" => ok(r#"{"data":[{"id":"m"}]}"#),
        _ => answer(503, "", r#"{"error":{"code":503,"message":"Loading model"}}"#),
    });
    let error = server.await.client(Provider::OpenAi).server_window("m").await.unwrap_err();
    assert_eq!(error.code(), "unavailable");
}

/// Keys may be good for calls and not for lists, and servers may have pages for
/// people where nobody asks for anything else.
#[tokio::test]
async fn a_list_that_is_not_for_everyone_keeps_nobody_from_calling() {
    let server = Server::answer(|path| match path {
        "/v1/models" => answer(403, "", ""),
        "/props" => answer(307, "Location: /login\r\n", ""),
        _ => not_found(),
    });
    let sizes = server.await.client(Provider::OpenAi).server_window("m").await;
    assert_eq!(sizes, Ok(WindowSizes::default()));
}

#[tokio::test]
async fn a_server_that_is_not_there_has_no_window() {
    let (_socket, url) = nobody();
    for provider in [Provider::Ollama, Provider::OpenAi] {
        let base_url = Some(url.clone());
        let client = ModelClient::new(ClientOptions { base_url, ..quick(provider) }).unwrap();
        assert_eq!(client.server_window("m").await.unwrap_err().code(), "unreachable");
        assert_eq!(client.check("m").await.unwrap_err().code(), "unreachable");
    }
}

#[tokio::test]
async fn a_script_answers_to_every_name() {
    let health = ModelClient::new(quick(Provider::Scripted)).unwrap().check("m").await.unwrap();
    assert_eq!((health.presence, health.tools), (ModelPresence::Listed, FeatureSupport::Yes));
    assert_eq!(health.window, ServerWindow::Unknown);
}
