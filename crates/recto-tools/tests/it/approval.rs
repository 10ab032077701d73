//! Files that say what the agent is: written only when a person has seen the change.

use std::fs;

use futures_util::StreamExt;
use recto_tools::{CallContext, CallPermit, Consent, SessionLeave, ToolCallVerdict};
use serde_json::json;

use crate::{Home, show, tool_call};

#[tokio::test]
async fn a_person_sees_the_change_and_what_was_seen_is_what_is_written() {
    let home = Home::with(&[("AGENTS.md", "Be kind.\nBe brief.\n")]);
    let toolbox = home.toolbox();
    let (offered, context) = (toolbox.specs(), CallContext::default());
    let content = "Be kind.\nBe verbose.\n";
    let calls = [tool_call("write_file", &json!({"path": "AGENTS.md", "content": content}))];
    let verdicts = toolbox.judge(&calls, &offered, &context, &SessionLeave::default()).await;
    let [ToolCallVerdict::Ask(question)] = &verdicts[..] else { panic!("{verdicts:?}") };
    let action = &question.action;
    // That the tool is allowed for the session is not enough for such a file.
    let tools = [(question.tool.clone(), question.identity)].into();
    let leave = SessionLeave { tools, ..SessionLeave::default() };
    let again = toolbox.judge(&calls, &offered, &context, &leave).await;
    assert_eq!(again, verdicts);
    assert_eq!(action.title, "replace AGENTS.md");
    assert!(action.detail.contains("-Be brief.\n+Be verbose.\n"), "{}", action.detail);
    let run = async |consent| {
        let permits = [CallPermit::Go(consent)];
        let results: Vec<_> =
            toolbox.run_each(&calls, &permits, &offered, &context).collect().await;
        show(&results[0].1)
    };
    let refused = "Failed: write_file failed: `AGENTS.md` needs a person's approval";
    assert_eq!(run(Consent::Unasked).await, refused);
    assert_eq!(run(Consent::ToTool).await, refused);
    // The file has changed since: that is not what the person saw.
    fs::write(home.inside("AGENTS.md"), "Be quick.\n").unwrap();
    let changed = run(Consent::To(action.hash)).await;
    assert!(changed.contains("changed since a person allowed it"), "{changed}");
    fs::write(home.inside("AGENTS.md"), "Be kind.\nBe brief.\n").unwrap();
    assert!(run(Consent::To(action.hash)).await.starts_with("Done: replaced `AGENTS.md`"));
    assert_eq!(home.read("AGENTS.md"), content);
}

#[tokio::test]
async fn what_no_tool_may_write_is_not_asked_about() {
    let home = Home::with(&[("skills/a/SKILL.md", "x")]);
    let toolbox = home.toolbox();
    let (offered, context) = (toolbox.specs(), CallContext::default());
    let arguments = json!({"path": "skills/a/tools.json", "content": "{}"});
    let calls = [tool_call("write_file", &arguments)];
    let verdicts = toolbox.judge(&calls, &offered, &context, &SessionLeave::default()).await;
    assert!(matches!(&verdicts[..], [ToolCallVerdict::No(_)]), "{verdicts:?}");
}

#[tokio::test]
async fn a_call_that_another_one_makes_possible_is_not_run_unasked() {
    let home = Home::with(&[("folder/a", "a")]);
    let toolbox = home.toolbox();
    let (offered, context) = (toolbox.specs(), CallContext::default());
    let call = |path: &str| tool_call("write_file", &json!({"path": path, "content": "x"}));
    // As long as `folder` is one, it can't be written; that need not stay so.
    let calls = [call("folder")];
    let verdicts = toolbox.judge(&calls, &offered, &context, &SessionLeave::default()).await;
    let [ToolCallVerdict::No(refusal)] = &verdicts[..] else { panic!("{verdicts:?}") };
    fs::remove_dir_all(home.inside("folder")).unwrap();
    let permits = [CallPermit::No(refusal.clone())];
    let results: Vec<_> = toolbox.run_each(&calls, &permits, &offered, &context).collect().await;
    assert_eq!(show(&results[0].1), "Failed: write_file failed: `folder` is a folder, not a file");
    assert!(!home.inside("folder").exists());
}
