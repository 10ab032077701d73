//! What models are told about the tools, what that costs, and `read_skill` as
//! the assembler offers it.

use std::sync::Arc;

use expect_test::expect;
use recto_context::{
    AssemblyInputs, Catalog, PageLayout, Skill, SkillRender, TokenCounter, Tokens, ToolSpec,
};
use recto_tools::CallContext;
use serde_json::json;

use crate::{Home, show, tool_call};

#[test]
fn the_tools_as_models_see_them() {
    let specs = Home::new().toolbox().specs();
    let shown: Vec<&str> = specs.iter().map(|spec| spec.schema.as_str()).collect();
    expect![[r#"
        {"type":"function","function":{"name":"read_file","description":"Read a text file in the workspace.","parameters":{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":1,"description":"first line"},"limit":{"type":"integer","minimum":1,"description":"how many lines"}},"required":["path"]}}}
        {"type":"function","function":{"name":"write_file","description":"Create or replace a text file in the workspace.","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}}}
        {"type":"function","function":{"name":"list_files","description":"List a folder in the workspace.","parameters":{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer","minimum":1,"description":"default 1"}}}}}"#]].assert_eq(&shown.join("\n"));
}

/// Small local models pay for every token of every tool.
#[test]
fn the_tools_cost_little() {
    let specs = Home::new().toolbox().specs();
    let counter = TokenCounter::estimated();
    let cost: Tokens = specs.iter().map(|spec| counter.text(&spec.schema)).sum();
    assert!(cost < Tokens::new(230), "{cost}");
}

#[tokio::test]
async fn a_skill_is_read_as_the_assembler_offers_it() {
    let notes = Skill::new("notes", Some("Takes notes."), "Use `notes add`.\n".into());
    let catalog = Arc::new(Catalog { skills: vec![notes], ..Catalog::default() });
    let layout = PageLayout { skills: SkillRender::ReadOnDemand, ..PageLayout::default() };
    let request = AssemblyInputs::new(&catalog, "hello").layout(layout).assemble().unwrap();
    let offered: Vec<ToolSpec> = request.tools.into_iter().map(|tool| tool.spec).collect();
    let calls = [
        tool_call("read_skill", &json!({"skill_name": "notes"})),
        tool_call("read_skill", &json!({"skill_name": "note"})),
        tool_call("read_skill", &json!({"name": "notes"})),
    ];
    let toolbox = Home::new().toolbox();
    let context = CallContext { catalog, ..CallContext::default() };
    let results = crate::run_all(&toolbox, &calls, &offered, &context).await;
    assert_eq!(
        results.iter().map(show).collect::<Vec<_>>(),
        [
            "Done: [skill: notes]\nUse `notes add`.\n",
            "Failed: read_skill failed: there is no skill `note`; did you mean `notes`?",
            "Refused: read_skill was not run: the arguments don't fit.\n\
             - `name` is not a parameter\n\
             - `skill_name` is missing\n\
             Parameters: skill_name (string, required)"
        ]
    );
}
