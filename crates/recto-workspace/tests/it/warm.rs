//! How long a call takes. Prints figures; promises nothing by itself.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Home;

const CALLS: usize = 500;

/// 100 skills with tools, 50 rules and 50 references.
fn large() -> Home {
    let home = Home::new();
    let text = "Some text of a usual length. ".repeat(40);
    for n in 0..100 {
        let skill = format!("---\nname: skill-{n}\ndescription: Use when: {n}\n---\n{text}");
        let tools = format!(r#"{{"tools": [{{"name": "t{n}", "description": "{text}"}}]}}"#);
        home.write(&format!("workspace/skills/skill-{n}/SKILL.md"), skill);
        home.write(&format!("workspace/skills/skill-{n}/tools.json"), tools);
    }
    for n in 0..50 {
        home.write(&format!("workspace/rules/rule-{n}.md"), &text);
        home.write(&format!("workspace/references/reference-{n}.md"), &text);
    }
    home
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures: run with --release -- --ignored --nocapture"]
async fn time_of_cold_and_warm_calls() {
    let home = large();
    sleep(Duration::from_millis(2_500));
    let workspace = home.open();
    let start = Instant::now();
    let first = workspace.catalog().await;
    println!("cold: {:?}", start.elapsed());
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        let snapshot = workspace.catalog().await;
        times.push(start.elapsed());
        assert!(Arc::ptr_eq(&first, &snapshot));
    }
    times.sort_unstable();
    let [least, p50, p99] = [0, CALLS / 2, CALLS * 99 / 100].map(|at| times[at]);
    println!("warm: least {least:?}, p50 {p50:?}, p99 {p99:?}");
}
