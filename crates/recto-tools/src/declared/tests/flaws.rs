//! What is wrong with a tools.json, with its line.

use std::fmt::Write;

use expect_test::{Expect, expect};

use crate::declared::{ToolFlaws, check_declaration as flaws_of, read};

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let mut shown = String::new();
    for flaw in flaws_of(text) {
        writeln!(shown, "{}: {}", flaw.line, flaw.what).unwrap();
    }
    expected.assert_eq(&shown);
}

/// A file with one tool `t` with the parameters `x` and `y`, the programs `git
/// log`, `git` and `grep`, and this execution, which begins on line 3.
#[track_caller]
fn check_execution(execution: &str, expected: &Expect) {
    check(&file(execution), expected);
}

fn file(execution: &str) -> String {
    format!(
        "{{\"tools\": [{{\"name\": \"t\", \"parameters\": {{\"properties\": {{\"x\": {{}}, \"y\": {{}}}}}}}}],\n\
         \"allowlist\": {{\"git\": [\"log\", \"\", \"remote show\"], \"grep\": []}}, \"execution\": [\n\
         {execution}]}}"
    )
}

/// The same with these arguments, the first on line 5. Both parameters are used.
#[track_caller]
fn check_args(args: &str, expected: &Expect) {
    let execution = format!(
        "{{\"tool\": \"t\", \"binary\": \"grep\", \"args\": [\n\
         {{\"param\": \"x\"}}, {{\"param\": \"y\"}},\n{args}]}}"
    );
    check_execution(&execution, expected);
}

#[test]
fn a_right_file_has_none() {
    check("{}", &expect![]);
    check(
        include_str!("../../../../recto/templates/workspace/skills/clock/tools.json"),
        &expect![],
    );
    check_execution(
        r#"{"tool": "t", "binary": "git", "subcommand": " remote  show ", "timeoutSeconds": 3600,
            "successExitCodes": [0, 1], "maxOutputBytes": 256, "workingDir": "a", "network": true,
            "args": [
              {"kind": "literal", "flag": "-n"},
              {"kind": "flagifboolean", "param": "y", "flagIfTrue": "-v", "flagIfFalse": "-q"},
              {"kind": "flag", "param": "y", "flag": "--since", "optional": true},
              {"kind": "literal", "param": "--"},
              {"param": "x", "readPath": true, "writePath": false, "optional": null},
              {"kind": "stdin", "param": "x", "normalizeNewlines": true,
               "resolveCommand": {"script": "find.sh", "args": ["-a", "$x", "$param"]}}
            ]}"#,
        &expect![],
    );
}

#[test]
fn broken_files() {
    check(
        "",
        &expect![[r#"
        1: tools.json: EOF while parsing a value
    "#]],
    );
    check(
        "{\n  \"tools\": [\n    {\"name\": }\n  ]\n}",
        &expect![[r#"
        3: tools.json: expected value
    "#]],
    );
    check(
        "[]",
        &expect![[r#"
        1: tools.json: invalid type: sequence, expected a JSON object
    "#]],
    );
    check(
        "{\"execution\": {}}",
        &expect![[r#"
        1: `execution`: invalid type: map, expected a sequence
    "#]],
    );
    check(
        "{\"allowlist\": []}",
        &expect![[r#"
        1: `allowlist`: invalid type: sequence, expected a JSON object
    "#]],
    );
    check(
        "{\"allowlist\": {\n\"git\": \"log\"}}",
        &expect![[r#"
        2: the subcommands of `git`: invalid type: string "log", expected a sequence
    "#]],
    );
    check(
        "{\"tools\": [],\n\"tools\": [],\n\"exekution\": [], \"more\": 1}",
        &expect![[r#"
            2: tools.json has `tools` twice
            3: tools.json: `exekution` is unknown here; perhaps `execution` is meant
            3: tools.json: `more` is unknown here
        "#]],
    );
    check(
        &"[".repeat(100_000),
        &expect![[r#"
        1: tools.json: invalid type: sequence, expected a JSON object
    "#]],
    );
    check(
        &format!("{{\"execution\": {}", "[".repeat(100_000)),
        &expect![[r#"
        1: tools.json: EOF while parsing a list
    "#]],
    );
}

#[test]
fn tools_and_executions_go_together() {
    check(
        r#"{"tools": [
          {"name": "lonely"},
          {"name": "twice"},
          {"name": "twice"},
          {"name": "b c"},
          {"name": "list", "parameters": []},
          {"name": "odd", "parameters": {"type": "nothing"}},
          {"description": "nameless"}
        ], "allowlist": {"cat": []}, "execution": [
          {"tool": "odd", "binary": "cat"},
          {"tool": "odd", "binary": "cat"},
          {"tool": "lonley", "binary": "cat"},
          {"tool": "twice", "binary": "cat"},
          {"tool": "list", "binary": "cat"},
          {"binary": "cat"},
          "text"
        ]}"#,
        &expect![[r#"
            2: tool `lonely` has no execution, so it can't be run
            4: there are two tools `twice`
            5: `b c` is not a tool name: 1 to 64 letters, digits, `_` and `-` are
            5: tool `b c` has no execution, so it can't be run
            6: the parameters of tool `list` are not a JSON object
            7: the parameters of tool `odd` are no schema for calls: `type`: it is not valid under any of the schemas listed in the 'anyOf' keyword
            8: a tool lacks `name`
            11: there are two executions for tool `odd`
            12: there is no tool `lonley`; perhaps `lonely` is meant
            15: an execution lacks `tool`
            16: an execution: invalid type: string "text", expected a JSON object
        "#]],
    );
}

#[test]
fn programs_that_are_not_allowed() {
    let execution = |binary: &str, subcommand: &str| {
        format!(
            "{{\"tool\": \"t\", \"binary\": \"{binary}\", \"subcommand\": \"{subcommand}\", \
             \"args\": [{{\"param\": \"x\"}}, {{\"param\": \"y\"}}]}}"
        )
    };
    check_execution(
        &execution("git", "push"),
        &expect![[r#"
        3: `allowlist` does not have `push` for `git`
    "#]],
    );
    check_execution(
        &execution("git", "log --exec"),
        &expect![[r#"
        3: `allowlist` does not have `log --exec` for `git`
    "#]],
    );
    check_execution(
        &execution("grep", "-r"),
        &expect![[r#"
        3: `allowlist` does not have `-r` for `grep`
    "#]],
    );
    check_execution(
        &execution("rm", ""),
        &expect![[r#"
        3: `rm` is not in `allowlist`
    "#]],
    );
    check_execution(
        &execution("/bin/grep", ""),
        &expect![[r#"
        3: `/bin/grep` is a path; a program is given by its bare name
    "#]],
    );
    check_execution(
        &execution("../grep", ""),
        &expect![[r#"
        3: `../grep` is a path; a program is given by its bare name
    "#]],
    );
    check_execution(
        &execution("sh", "-c"),
        &expect![[r#"
        3: `sh` runs other programs, so an allowlist could not hold; name the program itself
    "#]],
    );
    check_execution(
        &execution("", ""),
        &expect![[r#"
        3: `` is not the name of a program
    "#]],
    );
    check_execution(
        &execution("gr\\u0000ep", ""),
        &expect![[r#"
        3: `gr\u{0}ep` is not the name of a program
    "#]],
    );
    check(
        "{\"allowlist\": {\"bash\": [],\n\"xargs\": [],\n\"env\": [], \"busybox\": [\"sh\"],\n\
         \"./a\": [], \"git\": [\"log\"]},\n\
         \"tools\": [{\"name\": \"t\"}], \"execution\": [{\"tool\": \"t\", \"binary\": \"git\"}]}",
        &expect![[r#"
            1: `bash` runs other programs, so an allowlist could not hold; name the program itself
            2: `xargs` runs other programs, so an allowlist could not hold; name the program itself
            3: `env` runs other programs, so an allowlist could not hold; name the program itself
            3: `busybox` runs other programs, so an allowlist could not hold; name the program itself
            4: `./a` is a path; a program is given by its bare name
            5: `allowlist` has `git` only with a subcommand; add "" to allow it without
        "#]],
    );
}

#[test]
fn keys_and_numbers() {
    check_execution(
        r#"{"tool": "t", "binary": "grep", "timeout": 5, "timeoutSeconds": 0,
            "maxOutputBytes": 255,
            "successExitCodes": [],
            "workingDir": 7,
            "network": "yes",
            "args": [{"param": "x"}, {"param": "y", "read_path": true}]}"#,
        &expect![[r#"
            3: the execution of `t`: `timeout` is unknown here
            3: `timeoutSeconds` is 0, but must be 1 to 3600
            4: `maxOutputBytes` is 255, but must be 256 to 16777216
            5: `successExitCodes` must hold codes from 0 to 255, at least one
            6: `workingDir`: invalid type: integer `7`, expected a string
            7: `network`: invalid type: string "yes", expected a boolean
            8: an argument: `read_path` is unknown here; perhaps `readPath` is meant
        "#]],
    );
    check_execution(
        r#"{"tool": "t", "binary": "grep", "timeoutSeconds": 3601, "maxOutputBytes": 16777217,
            "successExitCodes": [256], "shell": true, "args": [{"param": "x"}, {"param": "y"}]}"#,
        &expect![[r#"
            3: `timeoutSeconds` is 3601, but must be 1 to 3600
            3: `maxOutputBytes` is 16777217, but must be 256 to 16777216
            4: the execution of `t`: `shell` is unknown here
            4: `successExitCodes` must hold codes from 0 to 255, at least one
        "#]],
    );
    check_execution(
        r#"{"tool": "t", "binary": "grep", "timeoutSeconds": -1, "maxOutputBytes": 1.5,
            "successExitCodes": 0, "args": {}}"#,
        &expect![[r#"
            3: `timeoutSeconds` is -1, but must be 1 to 3600
            3: `maxOutputBytes`: invalid type: floating point `1.5`, expected i64
            4: `args`: invalid type: map, expected a sequence
            4: `successExitCodes`: invalid type: integer `0`, expected a sequence
        "#]],
    );
}

#[test]
fn parameters() {
    check_execution(
        r#"{"tool": "t", "binary": "grep", "args": [{"param": "x"}]}"#,
        &expect![[r#"
        3: parameter `y` of tool `t` is used nowhere
    "#]],
    );
    check_execution(
        r#"{"tool": "t", "binary": "grep"}"#,
        &expect![[r#"
        3: parameter `x` of tool `t` is used nowhere
        3: parameter `y` of tool `t` is used nowhere
    "#]],
    );
    check_args(
        r#"{"param": "X"}, {"kind": "flag", "flag": "-a"}, {"param": "other"}"#,
        &expect![[r#"
            5: the tool's parameters declare no `X`; perhaps `x` is meant
            5: an argument lacks `param`
            5: the tool's parameters declare no `other`
        "#]],
    );
    check_args(
        r#"{"param": "x", "resolveCommand": {"script": "a", "args": ["$z"]}}"#,
        &expect![[r#"
        5: the tool's parameters declare no `z`
    "#]],
    );
}

#[test]
fn arguments() {
    check_args(
        r#"{"kind": "flag", "param": "x"}"#,
        &expect![[r#"
            5: an argument of kind `flag` lacks `flag`
        "#]],
    );
    check_args(
        r#"{"kind": "flag", "param": "x", "flag": "--"}"#,
        &expect![[r#"
        5: `--` is no flag; a literal can be `--`
    "#]],
    );
    check_args(
        r#"{"param": "x", "flag": "-a"}"#,
        &expect![[r#"
            5: an argument of kind `positional` takes no `flag`
        "#]],
    );
    check_args(
        r#"{"kind": "flagifbool", "param": "x"}"#,
        &expect![[r#"
        5: there is no kind `flagifbool`; perhaps `flagifboolean` is meant
    "#]],
    );
    check_args(
        r#"{"kind": "shell", "param": "x"}"#,
        &expect![[r#"
        5: there is no kind `shell`; there are positional, flag, flagifboolean, stdin, literal
    "#]],
    );
    check_args(
        r#"{"kind": "flagifboolean", "param": "x"}"#,
        &expect![[r#"
        5: an argument of kind `flagifboolean` needs `flagIfTrue` or `flagIfFalse`
    "#]],
    );
    check_args(
        r#"{"kind": "flagifboolean", "param": "x", "flagIfTrue": "--"}"#,
        &expect![[r#"
        5: `--` is no flag; a literal can be `--`
    "#]],
    );
    check_args(
        r#"{"kind": "literal"}"#,
        &expect![[r#"
            5: a literal lacks its text; write it in `flag`
        "#]],
    );
    check_args(
        r#"{"kind": "literal", "flag": "-a", "param": "x", "readPath": true}"#,
        &expect![[r#"
            5: an argument of kind `literal` takes no `readPath`
            5: a literal has its text in `flag`, so it takes no `param`
        "#]],
    );
    check_args(
        r#"{"kind": "literal", "flag": "a\u0000"}"#,
        &expect![[r#"
            5: `flag` has a NUL character
            5: a literal lacks its text; write it in `flag`
        "#]],
    );
    check_args(
        "{\"kind\": \"literal\", \"flag\": \"--\"},\n\
         {\"kind\": \"flag\", \"param\": \"x\", \"flag\": \"-a\"},\n\
         {\"kind\": \"literal\", \"flag\": \"-b\"}",
        &expect![[r#"
            6: a flag after `--` is taken for a plain argument; put it before
            7: a flag after `--` is taken for a plain argument; put it before
        "#]],
    );
    check_args(
        "{\"kind\": \"stdin\", \"param\": \"x\", \"readPath\": true},\n\
         {\"kind\": \"stdin\", \"param\": \"y\"}",
        &expect![[r#"
            5: an argument of kind `stdin` takes no `readPath`
            6: there are two arguments for standard input
        "#]],
    );
    check_args(
        r#"{"param": "x", "readPath": true, "writePath": true}"#,
        &expect![[r#"
        5: `writePath` allows reading as well; leave out `readPath`
    "#]],
    );
    check_args(
        r#"{"param": "x", "readPath": true, "normalizeNewlines": true}"#,
        &expect![[r#"
        5: a path has no line breaks that could be normalized
    "#]],
    );
    check_args(
        r#"{"param": "x", "optional": "yes"}"#,
        &expect![[r#"
        5: `optional`: invalid type: string "yes", expected a boolean
    "#]],
    );
    check_args(
        "7",
        &expect![[r#"
        5: an argument: invalid type: integer `7`, expected a JSON object
    "#]],
    );
}

#[test]
fn commands_that_resolve() {
    let resolve = |command: &str| format!("{{\"param\": \"x\", \"resolveCommand\": {command}}}");
    check_args(
        &resolve(r#"{"script": "../a.sh"}"#),
        &expect![[r#"
        5: `../a.sh` is not the bare name of a file in the skill's `scripts/`
    "#]],
    );
    check_args(
        &resolve(r#"{"script": "a/b.sh"}"#),
        &expect![[r#"
        5: `a/b.sh` is not the bare name of a file in the skill's `scripts/`
    "#]],
    );
    check_args(
        &resolve(r#"{"script": ".."}"#),
        &expect![[r#"
        5: `..` is not the bare name of a file in the skill's `scripts/`
    "#]],
    );
    check_args(
        &resolve(r#"{"script": "a.sh", "binary": "git"}"#),
        &expect![[r#"
        5: `resolveCommand` has a `script`, so it has no program
    "#]],
    );
    check_args(
        &resolve(r#"{"binary": "sh", "subcommand": "-c", "args": ["$param"]}"#),
        &expect![[r#"
        5: `sh` runs other programs, so an allowlist could not hold; name the program itself
    "#]],
    );
    check_args(
        &resolve(r#"{"binary": "git", "subcommand": "push"}"#),
        &expect![[r#"
        5: `allowlist` does not have `push` for `git`
    "#]],
    );
    check_args(
        &resolve(r#"{"args": ["$param"]}"#),
        &expect![[r#"
        5: `resolveCommand` has neither `script` nor `binary`
    "#]],
    );
    check_args(
        &resolve(r#"{"script": "a.sh", "arg": []}"#),
        &expect![[r#"
            5: `resolveCommand`: `arg` is unknown here; perhaps `args` is meant
        "#]],
    );
    check_args(
        &resolve(r#""a.sh""#),
        &expect![[r#"
        5: `resolveCommand`: invalid type: string "a.sh", expected a JSON object
    "#]],
    );
}

/// Promise: `one-fault-fails-no-turn`
#[test]
fn a_flaw_turns_off_its_tool_and_no_other() {
    let text = r#"{"tools": [{"name": "good"}, {"name": "bad"}, {"name": "idle"}],
        "allowlist": {"cat": []}, "execution": [
          {"tool": "good", "binary": "cat"},
          {"tool": "bad", "binary": "cat", "shell": true}]}"#;
    let contents = read::read_tools_json(text);
    let line = |tool: &str| contents.executions[tool].as_ref().map_err(|flaw| flaw.line);
    assert_eq!(line("good").unwrap().binary, "cat");
    assert_eq!(line("bad").unwrap_err(), 4);
    assert_eq!(line("idle").unwrap_err(), 1);
    assert_eq!(contents.flaws.len(), 2);
}

#[test]
fn large_files_are_read_in_no_time() {
    let members: String = (0..60_000).map(|n| format!("\"k{n}\": 1,\n")).collect();
    let flaws = flaws_of(&format!("{{{members}\"tools\": []}}"));
    assert_eq!(flaws.len(), 60_000);
    assert_eq!(flaws.last().unwrap().line, 60_000);
}

/// Promise: `unusable-tools-are-off`
#[test]
fn each_tool_that_cannot_be_run_has_its_flaw_and_the_others_have_none() {
    let text = r#"{
        "tools": [
            {"name": "fine", "parameters": {"type": "object", "properties": {}}},
            {"name": "lonely"},
            {"name": "strange", "parameters": {"type": "objekt"}},
            {"name": "forbidden"}
        ],
        "allowlist": {"date": ["-u"]},
        "execution": [
            {"tool": "fine", "binary": "date", "subcommand": "-u"},
            {"tool": "strange", "binary": "date", "subcommand": "-u"},
            {"tool": "forbidden", "binary": "rm"}
        ]
    }"#;
    let flaws = ToolFlaws::find(text);
    assert_eq!(flaws.get("fine"), None);
    let told = |tool: &str| flaws.get(tool).map(|flaw| (flaw.line, flaw.what.as_str()));
    let lonely = "tool `lonely` has no execution, so it can't be run";
    assert_eq!(told("lonely"), Some((4, lonely)));
    assert_eq!(told("forbidden"), Some((12, "`rm` is not in `allowlist`")));
    let (line, what) = told("strange").unwrap();
    assert_eq!(line, 5);
    assert!(what.starts_with("the parameters of tool `strange` are no schema"), "{what}");
    let broken = ToolFlaws::find(r#"{"tools": [{"name": "fine"}], "execution": 5}"#);
    assert!(broken.get("fine").is_some(), "a flaw of the file is one of all its tools");
}
