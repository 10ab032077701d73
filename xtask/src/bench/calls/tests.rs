//! The requests are as they are said to be, and the judge is fair.

use super::*;

#[test]
fn there_are_a_hundred_requests_that_can_be_met() {
    let requests = read_requests().unwrap();
    assert_eq!(requests.len(), 100);
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(&Catalog::default(), folder.path()).unwrap();
    for task in &requests {
        let catalog = &catalogs[&task.tools];
        assert_eq!(catalog.all_tools().count(), 3);
        // What the tool needs beyond what matters.
        let mut arguments = task.arguments.clone();
        for (name, value) in [("title", json!("x")), ("text", json!("x"))] {
            let tool = catalog.tools.iter().find(|tool| *tool.id.name == *task.tool).unwrap();
            if !tool.parameters["properties"][name].is_null() && !arguments.contains_key(name) {
                arguments.insert(name.to_owned(), value);
            }
        }
        let calls = [call(&task.tool, &Value::Object(arguments).to_string())];
        let verdict = CallJudge::new(&catalog.tools).verdict(&calls, &task.tool, &task.arguments);
        assert_eq!(verdict, CallVerdict { valid: true, tool: true, right: true }, "{}", task.say);
    }
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId("1".into()), name: name.into(), arguments: arguments.into() }
}

/// The verdict on calls when `convert` of 10 km to miles would be right.
fn verdict(calls: &[ToolCall]) -> (bool, bool, bool) {
    let tools = desk_tools().unwrap();
    let right = json!({"amount": 10, "from": "km", "to": "miles"});
    let verdict = CallJudge::new(&tools).verdict(calls, "convert", right.as_object().unwrap());
    (verdict.valid, verdict.tool, verdict.right)
}

#[test]
fn a_call_is_judged_by_its_schema_and_by_what_matters() {
    let convert = |arguments| verdict(&[call("convert", arguments)]);
    assert_eq!(convert(r#"{"amount": 10.0, "from": "km", "to": "miles"}"#), (true, true, true));
    assert_eq!(convert(r#"{"amount": 9, "from": "km", "to": "miles"}"#), (true, true, false));
    assert_eq!(convert(r#"{"amount": "10", "from": "km", "to": "miles"}"#), (false, true, false));
    assert_eq!(convert(r#"{"amount": 10, "from": "km", "to": "feet"}"#), (false, true, false));
    assert_eq!(convert(r#"{"amount": 10, "from": "km"}"#), (false, true, false));
    let undeclared = r#"{"amount": 10, "from": "km", "to": "miles", "digits": 2}"#;
    assert_eq!(convert(undeclared), (false, true, false));
    assert_eq!(convert("no JSON"), (false, true, false));
    assert_eq!(verdict(&[]), (false, false, false));
    let note = call("send_note", r#"{"to": "kim", "text": "10 km"}"#);
    assert_eq!(verdict(&[note]), (true, false, false));
    assert_eq!(verdict(&[call("fly", "{}")]), (false, false, false));
}

#[test]
fn the_same_path_may_be_written_in_two_ways() {
    let folder = tempfile::tempdir().unwrap();
    let tools = workspace::file_tools(folder.path());
    let right = json!({"path": "docs"});
    let is_right = |arguments: &str| {
        let calls = [call("list_files", arguments)];
        CallJudge::new(&tools).verdict(&calls, "list_files", right.as_object().unwrap()).right
    };
    assert!(is_right(r#"{"path": "./docs/"}"#) && is_right(r#"{"path": "docs", "depth": 2}"#));
    assert!(!is_right(r#"{"path": "/docs"}"#) && !is_right(r#"{"path": "doc"}"#));
    assert!(!is_right("{}"));
}

#[test]
fn shares_are_by_the_number_of_requests() {
    let task = read_requests().unwrap().remove(0);
    let answered = |setup, right| JudgedReply {
        task: &task,
        setup,
        text: String::new(),
        verdict: CallVerdict { valid: true, tool: right, right },
        prompt: 100,
        length: 20,
        finish: FinishReason::Stop,
        time: Duration::from_millis(50),
    };
    let all = [
        answered(CallSetup::Minimal, true),
        answered(CallSetup::Minimal, true),
        answered(CallSetup::Held, false),
        answered(CallSetup::Full, true),
        answered(CallSetup::Full, false),
    ];
    let report = report(&all).unwrap();
    let figures = serde_json::to_value(&report).unwrap();
    assert_eq!(figures["rows"][0]["figures"]["right"], 1.0);
    assert_eq!(figures["rows"][2]["figures"]["right"], 0.5);
    assert_eq!(figures["rows"][4]["figures"]["right"], 2.0);
    assert_eq!(figures["data"].as_array().unwrap().len(), 5);
    assert_eq!(report.details.len(), 1);
}
