//! Items that are added, removed, found and asked about.

use serde_json::Value;

use crate::support::*;

/// A home with an echo for a model, and rules of every include mode.
fn home() -> Home {
    Home::with(&[
        ("config.toml", "models.echo.provider = 'scripted'\nmodels.echo.window = 16384\n"),
        ("workspace/rules/always.md", "---\ninclude: always\n---\nBe brief."),
        ("workspace/rules/manual.md", "---\ninclude: manual\n---\nUse metric units."),
        (
            "workspace/rules/commits.md",
            "---\ndescription: Commit messages\ninclude: agent\n---\nCommit messages begin with a verb.",
        ),
        ("workspace/rules/soup.md", "---\ninclude: agent\n---\nSoup is served hot."),
        ("workspace/rules/roses.md", "---\ninclude: agent\n---\nRoses are pruned in March."),
    ])
}

/// Promise: `views-agree`
#[test]
fn why_answers_for_what_was_and_what_was_not_on_the_page() {
    let home = home();
    home.ok(&["chat", "-m", "hello"]);
    let always = home.ok(&["why", "always"]);
    assert!(always.starts_with("rule always was on the page"), "{always}");
    let manual = home.ok(&["why", "manual", "1"]);
    assert!(manual.contains("was not on the page: its include mode is manual"), "{manual}");
    let commits = home.ok(&["why", "rule:commits", "last"]);
    assert!(commits.contains("was not on the page"), "{commits}");
    let json = json(&home.ok(&["why", "always", "--json"]));
    assert_eq!((&json["turn"], &json["request"]), (&1.into(), &1.into()));
    assert_eq!(json["items"][0]["status"], "in_full");
    home.run(&["why", "alwais"]).fails_with("did you mean `always`?");
    home.run(&["why", "always", "7"]).fails_with("there is no turn `7`");
    home.run(&["why", "rule", "always"]).fails_with("recto why rule:always");
}

#[test]
fn without_a_turn_there_is_nothing_to_ask_about() {
    home().run(&["why", "always"]).fails_with("there is no turn yet");
}

#[test]
fn commands_add_and_remove_items_and_say_why() {
    let home = home();
    let talk = "/why always\nhello\n/add manual\n/add rule manual\n/remove always\n/remove rule:always\n\
                hello again\n/why manual\n/why @rule:always\n/add nanual\n/why alwys\n";
    let run = home.run_with(&["chat"], talk, &[]);
    for told in [
        "nothing has been sent in this session yet",
        "rule manual is in this session from the next turn on",
        "rule manual is in this session already",
        "rule always is out of this session",
        "rule always is not in this session",
        "rule manual was on the page",
        "a person removed it from the session",
    ] {
        assert!(run.out.contains(told), "{told} in {}{}", run.out, run.err);
    }
    assert!(run.err.contains("did you mean `manual`?"), "{}", run.err);
    assert!(run.err.contains("did you mean `always`?"), "{}", run.err);
    let json = home.run_with(&["chat", "--json"], "/add always\n/why always\n", &[]);
    let lines: Vec<Value> =
        json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["kind"], &lines[0]["data"]["change"]), (&"item".into(), &"added".into()));
    assert_eq!(
        (&lines[1]["kind"], &lines[1]["data"]["items"][0]["status"]),
        (&"why".into(), &"removed".into())
    );
}

#[test]
fn what_search_brings_is_on_the_page_of_its_turn_alone() {
    let home = home();
    home.write(
        "config.toml",
        "models.echo.provider = 'scripted'\nmodels.echo.window = 16384\nsearch.floor = 0.2\n",
    );
    home.ok(&["chat", "-m", "Which verb do commit messages begin with?"]);
    let why = home.ok(&["why", "commits"]);
    assert!(why.starts_with("rule commits was on the page (picks"), "{why}");
    assert!(why.contains("probability") && !why.contains("cosine"), "{why}");
    home.ok(&["chat", "-m", "zyzzyva"]);
    let why = home.ok(&["why", "commits"]);
    assert!(why.contains("not taken: probability 0."), "{why}");
    assert!(why.contains(" is below the floor of 0.20; "), "{why}");
}
