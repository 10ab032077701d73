//! What decides about rights, and what the agent is, is not changed by a program.

use super::*;

/// What no program may change, of what is in the workspace of a test.
const PROTECTED: [&str; 12] = [
    "WORKSPACE/SOUL.md",
    "WORKSPACE/USER.md",
    "WORKSPACE/skills/harm/SKILL.md",
    "WORKSPACE/skills/harm/tools.json",
    "WORKSPACE/skills/harm/scripts/run.sh",
    "WORKSPACE/agents/helper/agent.toml",
    "WORKSPACE/rules/polite.md",
    "WORKSPACE/references/map.md",
    "WORKSPACE/memory/MEMORY.md",
    "WORKSPACE/memory/2026-01-02.md",
    "WORKSPACE/.recto/notes.md",
    "RECTO/config.toml",
];

/// The most that a person could grant by mistake.
const ALL: &str = "items.skill.harm.write = ['RECTO', 'OUTSIDE']\n";

/// Does something to each of these paths, which are `$_` for it.
#[track_caller]
fn each_is_stopped(paths: &[&str], act: &str, told: &str, config: &str) {
    let list = paths.join(" ");
    let code = format!("for (qw({list})) {{ {act} or print \"$_: $!\\n\" }}");
    let attempt = Attempt::perl(&code).config(config);
    let expect =
        |attempt: Attempt, path: &&str| attempt.changes(path).told(&format!("{path}: {told}"));
    paths.iter().fold(attempt, expect).is_stopped();
}

const WRITE: &str = "(open(F, '>>', $_) and print F 'more' and close F)";

#[test]
fn what_the_agent_is_and_may_is_not_written() {
    each_is_stopped(&PROTECTED, WRITE, NO_ACCESS, "");
}

#[test]
fn what_the_agent_is_and_may_is_not_written_whatever_was_granted() {
    each_is_stopped(&PROTECTED, WRITE, NO_ACCESS, ALL);
    each_is_stopped(&["RECTO/data/recto.db"], WRITE, NO_ACCESS, ALL);
    // The grant itself holds, also beside what is protected.
    let code = "open(F, '>>', 'OUTSIDE/secret') and print F 'more' or die; print 'done';";
    let granted = Attempt::perl(code).config(ALL);
    let text = granted.run(&granted.place());
    assert!(text.contains("done"), "{text}");
}

#[test]
fn what_the_agent_is_and_may_is_not_removed_or_replaced() {
    each_is_stopped(&PROTECTED, "unlink($_)", NO_ACCESS, ALL);
    each_is_stopped(&PROTECTED, "truncate($_, 0)", NO_ACCESS, ALL);
    let replace = "open(F, '>', 'notes/new') or die; close F; rename('notes/new', $_)";
    each_is_stopped(&PROTECTED, replace, "", ALL);
}

#[test]
fn what_the_agent_is_and_may_keeps_its_mode() {
    each_is_stopped(&PROTECTED, "chmod(0750, $_)", READ_ONLY, ALL);
    each_is_stopped(&PROTECTED, "chmod(0777, $_)", NOT_PERMITTED, ALL);
}

#[test]
fn what_the_agent_is_and_may_gets_no_second_name_to_write_it_by() {
    let link = "unlink('notes/l'); (link($_, 'notes/l') and open(F, '>', 'notes/l') and close F)";
    each_is_stopped(&PROTECTED, link, "", "");
}

#[test]
fn what_is_not_there_yet_is_not_made() {
    let paths = [
        "WORKSPACE/AGENTS.md",
        "WORKSPACE/IDENTITY.md",
        "WORKSPACE/TOOLS.md",
        "WORKSPACE/soul.md",
        "WORKSPACE/rules/new.md",
        "WORKSPACE/references/new.md",
        "WORKSPACE/memory/new.md",
        "WORKSPACE/memory/notes/new.md",
        "WORKSPACE/.recto/new.md",
        "WORKSPACE/skills/harm/scripts/new.sh",
        "WORKSPACE/skills/harm/agent.toml",
        "WORKSPACE/agents/helper/SOUL.md",
        "RECTO/data/recto.db-journal",
        "RECTO/new.toml",
    ];
    each_is_stopped(&paths, WRITE, NO_ACCESS, ALL);
}

#[test]
fn no_skill_and_no_agent_is_made() {
    let paths = ["skills/new", "agents/new", "rules/new", "memory/new", ".recto/new"]
        .map(|path| format!("WORKSPACE/{path}"));
    let paths = paths.each_ref().map(String::as_str);
    each_is_stopped(&paths, "mkdir($_)", NO_ACCESS, ALL);
    each_is_stopped(&paths, "symlink('../notes', $_)", NO_ACCESS, ALL);
    each_is_stopped(&paths, "mkdir('notes/new'); rename('notes/new', $_)", "", ALL);
}

#[test]
fn folders_that_hold_what_is_protected_stay_in_their_place() {
    let folders = ["skills", "skills/harm", "skills/harm/scripts", "agents", "rules"];
    for path in folders.into_iter().chain(["references", "memory", ".recto"]) {
        let code = format!("rename('{path}', 'notes/away') or die \"tried: $!\";");
        let path = format!("WORKSPACE/{path}");
        Attempt::perl(&code).config(ALL).changes(&path).told("tried: ").is_stopped();
    }
    for path in ["WORKSPACE", "RECTO/data"] {
        let code = format!("rename('{path}', 'OUTSIDE/away') or die \"tried: $!\";");
        Attempt::perl(&code).config(ALL).changes(path).told("tried: ").is_stopped();
    }
}

#[test]
fn a_path_to_write_does_not_lead_to_what_is_protected() {
    let args = json!([{ "param": "x", "writePath": true }]);
    for path in ["SOUL.md", "AGENTS.md", "soul.md", "rules/new.md", "notes/../SOUL.md"]
        .into_iter()
        .chain(["skills/harm/tools.json", "skills/harm/scripts/new.sh", "skills/harm/SKILL.md"])
        .chain(["agents/helper/agent.toml", "skills/harm/../harm/tools.json"])
    {
        let changed = path.replace("notes/../", "").replace("harm/../", "");
        let attempt = Attempt::of(&["tee", path]).changes(&format!("WORKSPACE/{changed}"));
        attempt.through(&args, json!({ "x": path })).told("`x`: ").is_stopped();
    }
}

#[test]
fn what_may_be_written_is_written() {
    // Otherwise all the above would hold for a program that can write nothing.
    let code = "for ('notes/new.txt', 'notes/inner/new.txt', 'list.txt') { \
                open(F, '>', $_) and print F 'new' or die \"$_: $!\" } print 'done';";
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    let text = attempt.run(&place);
    assert!(text.contains("done"), "{text}");
    assert_eq!(place.read("WORKSPACE/notes/inner/new.txt"), "new");
    let attempt = Attempt::of(&["tee", "new.txt"]).through(
        &json!([{ "param": "x", "writePath": true }, { "param": "y", "kind": "stdin" }]),
        json!({ "x": "new.txt", "y": "hello" }),
    );
    let place = attempt.place();
    let text = attempt.run(&place);
    assert_eq!(place.read("WORKSPACE/new.txt"), "hello", "{text}");
}
