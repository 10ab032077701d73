//! `recto skills`, `recto rules` and `recto references`.

use crate::support::*;

#[test]
fn lists_show_include_mode_and_cost() {
    let home = Home::ready();
    let run = home.run(&["rules", "list"]);
    let rows: Vec<Vec<&str>> =
        run.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["name", "include", "priority", "tokens", "last", "used", "description"]);
    assert_eq!(rows[1][..3], ["brief", "always", "100"]);
    let skills = json(&home.ok(&["skills", "list", "--json"]))["skills"].clone();
    assert_eq!(skills[0]["tools"][0], "utc_time");
}

#[test]
fn the_config_wins_over_the_file_of_an_item() {
    let home = Home::ready();
    home.write("config.toml", "[items.rules.commits]\ninclude = \"always\"\npriority = 1\n");
    let context = home.context("hi", &[]);
    assert_eq!(names(&context, "items"), ["commits", "brief"]);
}

#[test]
fn show_prints_the_body_and_names_what_was_meant() {
    let home = Home::ready();
    let run = home.run(&["skills", "show", "clock"]);
    assert!(run.out.starts_with("Call `utc_time`."), "{}", run.out);
    home.run(&["skills", "show", "clok"]).fails_with("did you mean `clock`?");
    home.write("config.toml", "[skills]\ndisabled = [\"clock\"]\n");
    home.run(&["skills", "show", "clock"]).fails_with("disabled in the config");
}

#[test]
fn skills_are_searched_in_three_places_and_later_ones_win() {
    let home = Home::with(&[
        ("config.toml", "[skills]\nextra_dirs = [\"more\"]\n"),
        ("skills/a/SKILL.md", "---\nname: a\ndescription: home\n---\nA"),
        ("skills/b/SKILL.md", "---\nname: b\ndescription: home\n---\nB"),
        ("workspace/skills/b/SKILL.md", "---\nname: b\ndescription: workspace\n---\nB"),
        ("workspace/skills/c/SKILL.md", "---\nname: c\ndescription: workspace\n---\nC"),
        ("more/c/SKILL.md", "---\nname: c\ndescription: extra\n---\nC"),
    ]);
    let list = json(&home.ok(&["skills", "list", "--json"]))["skills"].clone();
    let found: Vec<(&str, &str)> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| (skill["name"].as_str().unwrap(), skill["description"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("a", "home"), ("b", "workspace"), ("c", "extra")]);
    let check = home.run(&["skills", "check"]);
    assert_eq!(check.code, 0);
    assert_eq!(check.out.matches("overwritten by").count(), 2, "{}", check.out);
}

#[test]
fn a_skill_whose_programs_are_missing_is_skipped_with_a_reason() {
    let home = Home::with(&[(
        "workspace/skills/x/SKILL.md",
        "---\nname: x\ndescription: d\nmetadata:\n  requires:\n    bins: [sh, no-such-program-here]\n---\nX",
    )]);
    let check = home.run(&["skills", "check"]);
    assert!(check.out.contains("no-such-program-here"), "{}", check.out);
    assert!(!check.out.contains("sh,"), "{}", check.out);
    assert_eq!(home.run(&["skills", "list"]).out, "");
}

#[test]
fn check_reports_with_file_and_line_and_fails_on_errors() {
    let home = Home::with(&[
        ("workspace/rules/ok.md", "fine"),
        ("workspace/rules/odd.md", "---\ninclude: often\n---\ntext"),
        ("workspace/rules/broken.md", "---\nname: [unclosed\n---\ntext"),
    ]);
    let check = home.run(&["rules", "check"]);
    assert_eq!(check.code, 1, "{}", check.out);
    assert!(check.out.contains("odd.md:2: "), "{}", check.out);
    assert!(check.out.contains("broken.md:2: "), "{}", check.out);
    // The others are still in use, and other shelves are not concerned.
    assert!(home.run(&["rules", "list"]).out.contains("ok "));
    assert_eq!(home.run(&["references", "check"]).code, 0);
}

#[test]
fn show_says_what_is_wrong_with_a_file_that_was_left_out() {
    let home = Home::with(&[
        ("workspace/rules/zz.md", "---\nname: [unclosed\n---\ntext"),
        ("workspace/skills/yy/SKILL.md", "---\nname: [unclosed\n---\ntext"),
    ]);
    home.run(&["rules", "show", "zz"]).fails_with("zz.md:2");
    home.run(&["skills", "show", "yy"]).fails_with("SKILL.md:2");
}

#[test]
fn a_name_may_have_its_kind_in_front_of_it() {
    let home = Home::ready();
    for (command, plain, full) in [
        ("rules", "units", "rule:units"),
        ("references", "recto", "ref:recto"),
        ("references", "recto", "@reference:recto"),
        ("skills", "clock", "skill:clock"),
        ("tools", "clock.utc_time", "tool:clock.utc_time"),
        ("tools", "clock.utc_time", "tool:utc_time"),
    ] {
        let shown = home.ok(&[command, "show", plain]);
        assert_eq!(home.ok(&[command, "show", full]), shown, "{full}");
    }
    home.run(&["rules", "show", "skill:units"]).fails_with("there is no rule `skill:units`");
    home.run(&["rules", "show", "rule:unitz"]).fails_with("did you mean `units`?");
    let set = home.ok(&["rules", "set", "rule:units", "--include", "manual"]);
    assert!(set.contains("units") && !set.contains("rule:units"), "{set}");
    let told = home.ok(&["tools", "dry-run", "tool:list_files"]);
    assert_eq!(told, home.ok(&["tools", "dry-run", "list_files"]));
    let trusted = home.ok(&["tools", "trust", "skill:clock", "--json"]);
    assert_eq!(json(&trusted)["skill"], "clock");
}
