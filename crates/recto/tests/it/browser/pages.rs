//! The pages of what was sent and of what the agent has, in a real browser: see the module above.

use super::ServedPages;
use crate::support::Home;

/// A home with two rules, one of which is always there.
fn home() -> Home {
    let home = Home::scripted(&[]);
    let rule = "---\ndescription: How to sound\npriority: 5\ninclude: always\n---\nBe kind.\n";
    home.write("workspace/rules/tone.md", rule);
    home.write("workspace/rules/lamps.md", "Trim the wicks at dusk.\n");
    home
}

#[test]
fn view_context_opens_from_a_reply_and_as_a_page() {
    ServedPages::start(home()).play("view_context");
}

#[test]
fn items_are_switched_searched_added_and_removed() {
    let home = home();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let (program, folder) = (env!("CARGO_BIN_EXE_recto"), home.path(""));
    let server = format!(
        "[mcp.me]\ncommand = '{program}'\nargs = ['--home', '{}', 'mcp', 'serve']\n",
        folder.display()
    );
    home.write("config.toml", format!("{config}\n{server}"));
    ServedPages::start(home).play("workspace");
}

#[test]
fn the_panel_keeps_the_focus_and_is_the_same_in_two_tabs() {
    let home = home();
    for name in ["lamps", "wicks"] {
        let rule = format!("---\ninclude: always\n---\nOf {name}.\n");
        home.write(&format!("workspace/rules/{name}.md"), rule);
    }
    ServedPages::start(home).play("panel");
}

#[test]
fn long_names_make_no_page_wider_than_its_window() {
    let home = home();
    let name = "a_rather_long_rule_name_that_goes_on_and_on_and_never_breaks";
    let rule = "---\ninclude: agent\ndescription: Who feeds the otters\n---\nFeed them at noon.\n";
    home.write(&format!("workspace/rules/{name}.md"), rule);
    ServedPages::start(home).play("long_names");
}

#[test]
fn a_person_logs_in_sees_who_they_are_and_logs_out() {
    let home = home();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}\n[server]\nrequire_token = true\n"));
    home.ok(&["token", "create", "first"]);
    ServedPages::start(home).play("log_in");
}

#[test]
fn many_windows_of_one_browser_move_together() {
    ServedPages::start(home()).play("windows");
}

#[test]
fn a_session_of_another_folder_says_so_and_so_does_a_path_that_leads_nowhere() {
    let home = home();
    home.write("bridge-work/AGENTS.md", "Build bridges.\n");
    ServedPages::start(home).play("other_folder");
}

#[test]
fn a_page_of_a_long_session_weighs_little_more_than_that_of_an_empty_home() {
    let home = home();
    let line = |number: usize| match number % 2 {
        0 => format!(r#"{{"role":"user","content":"Question {number}?"}}"#),
        _ => format!(r#"{{"role":"assistant","content":"Answer **{number}**, in a few words."}}"#),
    };
    let lines: Vec<String> = (0..5_000).map(line).collect();
    home.write("long.jsonl", lines.join("\n"));
    ServedPages::start(home).play("page_weight");
}
