//! Chat templates of model files are rendered by a process of their own, which the kernel ends where
//! one takes more than a prompt can need.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// What the process makes of some work.
fn render(work: &Value) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_recto"))
        .arg("__render")
        .env_clear()
        // As it is started for a turn: what the allocator sets aside counts as memory, too.
        .env("MIMALLOC_ARENA_RESERVE", "65536")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(work.to_string().as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

/// A prompt without a conversation, by this template.
fn prompt(source: &str) -> Output {
    let none: [u32; 0] = [];
    render(&json!({"Prompt": {
        "template": {"source": source, "bos": "<s>", "eos": "</s>"},
        "day": "2026-11-05",
        "conversation": {
            "messages": none,
            "tools": none,
            "musts": {"system": none, "last": none},
            "blank_line": 0,
            "goes_on": 0,
        },
        "texts": {"texts": none},
    }}))
}

#[test]
fn a_template_is_rendered_apart() {
    let output = prompt("{{ bos_token }}{{ 1 + 1 }}");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), r#"{"Ok":[{"template":"<s>2"}]}"#);
    let knows = |source: &str| render(&json!({ "KnowsTools": source })).stdout;
    assert_eq!(knows("{{ tools }}"), br#"{"Ok":true}"#);
    assert_eq!(knows("{{ messages }}"), br#"{"Ok":false}"#);
    let refused = prompt("{{ raise_exception('no system role') }}");
    assert_eq!(refused.stdout, br#"{"Err":{"Raised":"no system role"}}"#);
}

/// Promise: `input-never-runs-on`
#[test]
fn a_template_that_fills_the_memory_is_ended() {
    let doubled = "{% set ns = namespace(x='x') %}{% for i in range(60) %}\
        {% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x | length }}";
    // These are put together while the template is read.
    let folded = "{% set a = 'x' * 99999999 %}".repeat(100);
    let captured = "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}\
        {% set part %}{% for j in range(9) %}LONG{% endfor %}{% endset %}\
        {% set ns.x = ns.x + [part] %}{% endfor %}"
        .replace("LONG", &"x".repeat(60_000));
    for source in [doubled, &folded, &captured] {
        let output = prompt(source);
        assert_eq!(output.status.signal(), Some(6), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    let knows = render(&json!({ "KnowsTools": folded }));
    assert_eq!(knows.status.signal(), Some(6), "{knows:?}");
}

/// Promise: `input-never-runs-on`
#[test]
fn a_template_whose_steps_take_for_ever_is_ended() {
    const OUT_OF_TIME: i32 = 24;
    let filtered = "{% set ns = namespace(x='x') %}{% for i in range(24) %}\
        {% set ns.x = ns.x ~ ns.x %}{% endfor %}\
        {% for i in range(90000) %}{% set y = ns.x | upper | lower %}{% endfor %}";
    let output = prompt(filtered);
    assert_eq!(output.status.signal(), Some(OUT_OF_TIME), "{output:?}");
}
