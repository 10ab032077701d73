//! What has to hold of chat templates whatever bytes come.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ChatTemplate;
use super::jinja::{JinjaTemplate, TemplateInput, on_deep_stack};
use minijinja::Value;

/// Far more than a template takes that uses all of its steps.
const LONGEST: Duration = Duration::from_secs(20);

/// Chat templates: one that is rendered comes to an end with a prompt or a refusal of one short
/// text, twice the same. That its memory has a bound is seen to by whoever runs it.
pub fn check_chat_template(data: &[u8]) {
    let source = String::from_utf8_lossy(data);
    let begun = Instant::now();
    let first = render(&source);
    assert!(begun.elapsed() < LONGEST, "it took {:?}", begun.elapsed());
    match first {
        Ok(prompt) => assert_eq!(render(&source), Ok(prompt)),
        Err(told) => assert!(told.len() < 2_000, "{told}"),
    }
}

fn render(source: &str) -> Result<String, String> {
    let template =
        ChatTemplate { source: source.to_owned(), bos: "<s>".to_owned(), eos: "</s>".to_owned() };
    let message = |role: &str, content: &str| {
        Value::from_pairs([("role", Value::from(role)), ("content", Value::from(content))])
    };
    let tool = Value::from_pairs([("name", Value::from("clock")), ("parameters", Value::from(7))]);
    let given = TemplateInput {
        messages: vec![message("system", "Be kind."), message("user", "Hello?")],
        tools: Some(vec![tool]),
        day: "2026-11-05".into(),
        size: 3,
    };
    let rendered = on_deep_stack(given.size, || {
        JinjaTemplate::parse(&template.source)?.render(&template, given, &Arc::default())
    });
    rendered.map_err(|refusal| refusal.to_string())
}
