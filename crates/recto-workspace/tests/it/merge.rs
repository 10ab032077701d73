//! What is read, from where, in which order, and what wins.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use recto_context::{ContentSource, IncludeMode, ItemId, ItemKind, Priority, Tokens};
use recto_workspace::{IncludeSource, Override, Workspace, WorkspaceOptions, WorkspaceSnapshot};

use crate::{WorkspaceHome, tree};

const SKILL: &str = "---\ndescription: d\n---\nbody";

#[tokio::test]
async fn a_whole_workspace_becomes_a_catalog() {
    let home = WorkspaceHome::with(&[
        ("workspace/SOUL.md", "\n I am calm. \n"),
        ("workspace/IDENTITY.md", "Recto"),
        ("workspace/AGENTS.md", "\u{feff}Be brief.\r\nBe right.\r\n"),
        ("workspace/USER.md", "Ada"),
        ("workspace/TOOLS.md", "Use them."),
        ("workspace/skills/notes/SKILL.md", "---\nname: notes\ndescription: d\n---\n# Notes\n"),
        ("workspace/skills/notes/tools.json", r#"{"tools": [{"name": "b"}, {"name": "a"}]}"#),
        ("workspace/rules/tone.md", "Be kind."),
        ("workspace/rules/style.mdc", "---\nalwaysApply: true\nglobs: *.rs\n---\nShort lines."),
        ("workspace/rules/ignored.txt", "no Markdown"),
        ("workspace/rules/.draft.md", "hidden"),
        ("workspace/references/api.md", "---\npriority: 3\ninclude: agent\n---\nGET /"),
    ]);
    expect![[r##"
        soul: "I am calm."
        identity: "Recto"
        agents: "Be brief.\r\nBe right."
        user: "Ada"
        tools: "Use them."
        skill notes always: "# Notes"
          tool notes.b always
          tool notes.a always
        rule style 500 always: "Short lines."
        rule tone 500 manual: "Be kind."
        reference api 003 agent: "GET /"
    "##]]
    .assert_eq(&home.show(&*home.read().await));
}

#[tokio::test]
async fn blank_lines_before_the_frontmatter_are_skipped() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/a/SKILL.md", "\n---\nname: a\ndescription: d\n---\nbody"),
        ("workspace/rules/r.md", "\n---\npriority: 007\n---\nrule"),
        ("workspace/references/r.md", " \n\n---\ninclude: agent\n---\nreference"),
    ]);
    expect![[r#"
        skill a always: "body"
        rule r 007 manual: "rule"
        reference r 500 agent: "reference"
    "#]]
    .assert_eq(&home.show(&*home.read().await));
}

/// Promise: `nothing-cut-silently`
#[tokio::test]
async fn a_large_file_is_read_whole() {
    let text = "All of it. ".repeat(100_000);
    let home = WorkspaceHome::with(&[("workspace/AGENTS.md", &text)]);
    let snapshot = home.read().await;
    assert_eq!(&*snapshot.catalog.system.agents.as_ref().unwrap().text, text.trim());
}

#[tokio::test]
async fn missing_and_blank_files_are_no_problem() {
    let home = WorkspaceHome::with(&[("workspace/SOUL.md", ""), ("workspace/USER.md", " \n\t\n")]);
    expect![""].assert_eq(&home.show(&*home.read().await));
}

#[tokio::test]
async fn later_skill_folders_overwrite_earlier_ones_in_place() {
    let home = WorkspaceHome::with(&[
        ("skills/b/SKILL.md", "---\ndescription: d\n---\nhome b"),
        ("skills/c/SKILL.md", "---\ndescription: d\n---\nhome c"),
        ("skills/c/tools.json", r#"{"tools": [{"name": "gone"}]}"#),
        ("workspace/skills/a/SKILL.md", "---\ndescription: d\n---\nworkspace a"),
        ("workspace/skills/b/SKILL.md", "---\ndescription: d\n---\nworkspace b"),
        ("extra/c/SKILL.md", "---\ndescription: d\n---\nextra c"),
        ("extra/a/SKILL.md", "---\ndescription: d\n---\nextra a"),
    ]);
    let options = WorkspaceOptions { extra_skill_dirs: vec![home.path("extra")], ..home.options() };
    let snapshot = Workspace::new(options).catalog().await;
    expect![[r#"
        skill b always: "workspace b"
        skill c always: "extra c"
        skill a always: "extra a"
        skipped skill b of skills/b/SKILL.md: overwritten by workspace/skills/b/SKILL.md
        skipped skill a of workspace/skills/a/SKILL.md: overwritten by extra/a/SKILL.md
        skipped skill c of skills/c/SKILL.md: overwritten by extra/c/SKILL.md
    "#]]
    .assert_eq(&home.show(&snapshot));
    assert_eq!(home.show_notices(&snapshot), "", "that is what the folders are for");
}

#[tokio::test]
async fn what_a_project_brings_comes_last_and_wins() {
    let home = WorkspaceHome::with(&[
        ("workspace/AGENTS.md", "own"),
        ("workspace/skills/a/SKILL.md", "---\ndescription: d\n---\nown a"),
        ("workspace/rules/tone.md", "own tone"),
        ("workspace/rules/own.md", "own rule"),
        ("shop/AGENTS.md", "shop"),
        ("shop/SOUL.md", "not read"),
        ("shop/rules/tone.md", "not read"),
        ("shop/.recto/skills/a/SKILL.md", "---\ndescription: d\n---\nshop a"),
        ("shop/.recto/rules/tone.md", "shop tone"),
        ("shop/.recto/references/api.md", "shop api"),
    ]);
    let options = WorkspaceOptions { project: Some(home.path("shop")), ..home.options() };
    let snapshot = Workspace::new(options).catalog().await;
    let system = &snapshot.catalog.system;
    assert_eq!(system.agents.as_ref().unwrap().text.as_str(), "own");
    assert_eq!(system.project.as_ref().unwrap().text.as_str(), "shop");
    assert!(system.soul.is_none());
    let rules: Vec<&str> = snapshot.catalog.rules.iter().map(|rule| rule.text.as_str()).collect();
    assert_eq!(rules, ["own rule", "shop tone"]);
    assert_eq!(snapshot.catalog.references[0].text.as_str(), "shop api");
    assert_eq!(snapshot.catalog.skills[0].body.as_str(), "shop a");
    assert_eq!(home.show_notices(&snapshot), "");
}

#[tokio::test]
async fn two_of_one_name_in_one_folder_are_a_warning_and_one_wins() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/one/SKILL.md", "---\nname: same\ndescription: d\n---\nfirst"),
        ("workspace/skills/two/SKILL.md", "---\nname: same\ndescription: d\n---\nsecond"),
        ("workspace/rules/tone.md", "first"),
        ("workspace/rules/tone.mdc", "second"),
        ("workspace/references/tone.md", "another kind"),
    ]);
    expect![[r#"
        skill same always: "first"
        rule tone 500 manual: "second"
        reference tone 500 manual: "another kind"
        Warning, Used: workspace/skills/one/SKILL.md:2: the name `same` differs from its folder `one`
        Warning, Used: workspace/skills/two/SKILL.md:2: the name `same` differs from its folder `two`
        Warning, LeftOut: workspace/skills/two/SKILL.md: workspace/skills/one/SKILL.md has the same name, `same`, and wins
        Warning, LeftOut: workspace/rules/tone.md: workspace/rules/tone.mdc has the same name, `tone`, and wins
        skipped skill same of workspace/skills/two/SKILL.md: overwritten by workspace/skills/one/SKILL.md
        skipped rule tone of workspace/rules/tone.md: overwritten by workspace/rules/tone.mdc
    "#]].assert_eq(&home.show(&*home.read().await));
}

/// Promise: `trust-follows-content`
#[tokio::test]
async fn the_name_of_a_skill_stays_with_the_one_that_it_belongs_to() {
    let skill = |body: &str| format!("---\nname: notes\ndescription: d\n---\n{body}");
    let [first, own, last] = ["first", "own", "last"].map(skill);
    let tools = r#"{"tools": [{"name": "add", "description": "d"}]}"#;
    let home = WorkspaceHome::with(&[
        ("workspace/skills/aaa/SKILL.md", &first),
        ("workspace/skills/notes/SKILL.md", &own),
        ("workspace/skills/notes/tools.json", tools),
        ("workspace/skills/zzz/SKILL.md", &last),
        ("workspace/skills/zzz/tools.json", tools),
    ]);
    let workspace = Workspace::new(home.options());
    let snapshot = workspace.catalog().await;
    assert!(snapshot.has_rival_skills());
    assert_eq!(snapshot.catalog.skills[0].body.as_str(), "first");
    let owner = recto_workspace::folder_hash(&home.path("workspace/skills/notes"));
    let owners = BTreeMap::from([("notes".to_owned(), owner)]);
    assert!(workspace.replace_skill_owners(owners.clone()));
    assert!(!workspace.replace_skill_owners(owners));
    let snapshot = workspace.catalog().await;
    let [skill] = &snapshot.catalog.skills[..] else { panic!("not one skill") };
    assert_eq!((skill.body.as_str(), skill.tools.len()), ("own", 1));
    assert_eq!(
        skill.tools[0].source,
        ContentSource::file(home.path("workspace/skills/notes/tools.json"))
    );
}

#[tokio::test]
async fn disabled_skills_are_left_out_without_noise() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/off/SKILL.md", "no description"),
        ("workspace/skills/off/tools.json", "broken"),
        ("workspace/skills/torn/SKILL.md", "---\na: [\n---\n"),
        ("workspace/skills/on/SKILL.md", SKILL),
    ]);
    let disabled_skills = BTreeSet::from(["off".to_owned(), "torn".to_owned()]);
    let options = WorkspaceOptions { disabled_skills, ..home.options() };
    let snapshot = Workspace::new(options).catalog().await;
    expect![[r#"
        skill on always: "body"
        skipped skill off of workspace/skills/off/SKILL.md: disabled
        skipped skill torn of workspace/skills/torn/SKILL.md: disabled
    "#]]
    .assert_eq(&home.show(&snapshot));
    expect![[r#"
        workspace/skills/off/SKILL.md: left out: disabled in the config
        workspace/skills/torn/SKILL.md: left out: disabled in the config
    "#]]
    .assert_eq(&home.show_notices(&snapshot));
}

#[tokio::test]
async fn a_skill_whose_programs_are_missing_is_skipped_and_overwrites_nothing() {
    let needy = "---\ndescription: d\nmetadata:\n  requires:\n    bins: [no-such-program, nor-this]\n---\nneedy";
    let home = WorkspaceHome::with(&[
        ("skills/a/SKILL.md", SKILL),
        ("workspace/skills/a/SKILL.md", needy),
        ("workspace/skills/a/tools.json", r#"{"tools": [{"name": "x"}]}"#),
    ]);
    let snapshot = home.read().await;
    expect![[r#"
        skill a always: "body"
        skipped skill a of workspace/skills/a/SKILL.md: lacks no-such-program, nor-this
    "#]]
    .assert_eq(&home.show(&snapshot));
    expect![[r#"
        workspace/skills/a/SKILL.md: left out: these programs are missing: no-such-program, nor-this
    "#]]
    .assert_eq(&home.show_notices(&snapshot));
}

#[tokio::test]
async fn overrides_win_over_the_files() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/a/SKILL.md", "---\ndescription: d\ninclude: agent\n---\nbody"),
        ("workspace/skills/a/tools.json", r#"{"tools": [{"name": "x"}, {"name": "y"}]}"#),
        ("workspace/skills/b/SKILL.md", SKILL),
        ("workspace/skills/b/tools.json", r#"{"tools": [{"name": "x"}, {"name": "y"}]}"#),
        ("workspace/rules/r.md", "---\npriority: 900\ninclude: agent\n---\ntext"),
        ("workspace/references/r.md", "text"),
    ]);
    let include = |include| Override { include: Some(include), ..Override::default() };
    let first = Override { include: Some(IncludeMode::Always), priority: Priority::new(1) };
    let overrides = [
        ((ItemKind::Skill, "a".to_owned()), include(IncludeMode::Manual)),
        ((ItemKind::Tool, "a.x".to_owned()), include(IncludeMode::Agent)),
        ((ItemKind::Tool, "x".to_owned()), include(IncludeMode::Manual)),
        ((ItemKind::Rule, "r".to_owned()), first),
    ];
    let options = WorkspaceOptions { overrides: overrides.into(), ..home.options() };
    let snapshot = Workspace::new(options).catalog().await;
    expect![[r#"
        skill a manual: "body"
          tool a.x agent
          tool a.y always
        skill b always: "body"
          tool b.x manual
          tool b.y always
        rule r 001 always: "text"
        reference r 500 manual: "text"
    "#]]
    .assert_eq(&home.show(&snapshot));
}

#[tokio::test]
async fn a_kind_has_a_default_and_an_item_s_own_word_wins_over_it() {
    let home = WorkspaceHome::with(&[
        ("workspace/skills/a/SKILL.md", "---\ndescription: d\ninclude: manual\n---\nbody"),
        ("workspace/skills/b/SKILL.md", SKILL),
        ("workspace/skills/c/SKILL.md", SKILL),
        ("workspace/skills/c/tools.json", r#"{"tools": [{"name": "x"}, {"name": "y"}]}"#),
        ("workspace/rules/cursor.mdc", "---\nalwaysApply: true\n---\ntext"),
        ("workspace/rules/r.md", "text"),
        ("workspace/references/r.md", "text"),
    ]);
    let include = |include| Override { include: Some(include), ..Override::default() };
    let overrides = [
        ((ItemKind::Skill, "c".to_owned()), include(IncludeMode::Always)),
        ((ItemKind::Tool, "c.x".to_owned()), include(IncludeMode::Manual)),
    ];
    let kinds = [
        (ItemKind::Skill, IncludeMode::Agent),
        (ItemKind::Rule, IncludeMode::Agent),
        (ItemKind::Tool, IncludeMode::Agent),
    ];
    let options = WorkspaceOptions {
        overrides: overrides.into(),
        kind_includes: kinds.into(),
        ..home.options()
    };
    let snapshot = Workspace::new(options).catalog().await;
    expect![[r#"
        skill a manual: "body"
        skill b agent: "body"
        skill c always: "body"
          tool c.x manual
          tool c.y agent
        rule cursor 500 always: "text"
        rule r 500 agent: "text"
        reference r 500 manual: "text"
    "#]]
    .assert_eq(&home.show(&snapshot));
    let source = |kind, name: &str| snapshot.include_sources[&ItemId::new(kind, name)];
    assert_eq!(source(ItemKind::Skill, "a"), IncludeSource::OwnFile);
    assert_eq!(source(ItemKind::Skill, "b"), IncludeSource::Kind);
    assert_eq!(source(ItemKind::Skill, "c"), IncludeSource::Config { in_file: None });
    assert_eq!(source(ItemKind::Reference, "r"), IncludeSource::Usual);
}

/// Promise: `no-skill-by-its-name`
#[tokio::test]
async fn skills_that_are_too_long_for_every_page_all_come_when_they_fit() {
    let long = format!("---\ndescription: d\n---\n{}", "word ".repeat(300));
    let home = WorkspaceHome::with(&[
        ("workspace/skills/a/SKILL.md", long.as_str()),
        ("workspace/skills/b/SKILL.md", long.as_str()),
        ("workspace/skills/c/SKILL.md", "---\ndescription: d\ninclude: always\n---\nbody"),
        ("workspace/skills/d/SKILL.md", SKILL),
    ]);
    let read = async |limit: u32| {
        let always_tokens = Some(Tokens::new(limit));
        let options = WorkspaceOptions { always_tokens, ..home.options() };
        Workspace::new(options).catalog().await
    };
    let modes = |snapshot: &WorkspaceSnapshot| {
        let skills = snapshot.catalog.skills.iter();
        skills.map(|skill| format!("{} {}", skill.name, skill.include)).collect::<Vec<_>>()
    };
    let roomy = read(1_000).await;
    assert_eq!(modes(&roomy), ["a always", "b always", "c always", "d always"]);
    assert_eq!(roomy.long_skills, None);
    let tight = read(400).await;
    assert_eq!(modes(&tight), ["a agent", "b agent", "c always", "d agent"]);
    let told = tight.long_skills.unwrap();
    assert_eq!((told.count, told.limit), (3, Tokens::new(400)));
    let notice = told.notice();
    assert!(notice.problem.starts_with("3 skills come only when they fit"), "{notice:?}");
    assert!(home.read().await.long_skills.is_none(), "without a limit all are always there");
}

/// No directory order, no hash-map order.
/// Promise: `system-text-stable`
#[tokio::test]
async fn the_order_of_creation_never_shows() {
    let mut files: Vec<(String, String)> = Vec::new();
    for name in ["m", "z", "a", "k", "B", "10", "9"] {
        files.push((format!("workspace/skills/{name}/SKILL.md"), SKILL.to_owned()));
        files.push((format!("workspace/rules/{name}.md"), name.to_owned()));
        files.push((format!("workspace/references/{name}.md"), name.to_owned()));
    }
    let (forwards, backwards) = (WorkspaceHome::new(), WorkspaceHome::new());
    for (path, content) in &files {
        forwards.write(path, content);
    }
    for (path, content) in files.iter().rev() {
        backwards.write(path, content);
    }
    let shown = forwards.show(&*forwards.read().await);
    assert_eq!(shown, backwards.show(&*backwards.read().await));
    let names: Vec<_> = shown.lines().filter_map(|line| line.strip_prefix("rule ")).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[tokio::test]
async fn nothing_is_written() {
    let home = WorkspaceHome::with(&[
        ("workspace/SOUL.md", "s"),
        ("workspace/skills/a/SKILL.md", SKILL),
        ("workspace/skills/empty/notes.txt", "x"),
        ("workspace/rules/bad.md", "---\na: [\n---\n"),
    ]);
    let before = tree(home.folder.path());
    let workspace = home.open();
    workspace.catalog().await;
    workspace.catalog().await;
    assert_eq!(tree(home.folder.path()), before);
}
