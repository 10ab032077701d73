//! What is read again, and when: the same `Arc` as long as nothing changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use recto_context::{IncludeMode, ItemKind};
use recto_workspace::{Override, Reload, Workspace, WorkspaceOptions, WorkspaceSnapshot};
use tokio::task::JoinSet;

use crate::WorkspaceHome;

const SKILL: &str = "---\ndescription: d\n---\nbody";

/// Longer than a file counts as fresh.
const SETTLED: Duration = Duration::from_millis(2_200);

fn sample() -> WorkspaceHome {
    WorkspaceHome::with(&[
        ("workspace/SOUL.md", "aaaa"),
        ("workspace/skills/a/SKILL.md", SKILL),
        ("workspace/rules/r.md", "rule"),
        ("workspace/rules/broken.md", "---\na: [\n---\n"),
    ])
}

fn soul(snapshot: &WorkspaceSnapshot) -> Option<&str> {
    snapshot.catalog.system.soul.as_ref().map(|file| &*file.text)
}

/// Writes with the time of modification set to a day long past.
fn write_as_if_old(home: &WorkspaceHome, path: &str, content: &str) {
    home.write(path, content);
    let long_past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    File::options().write(true).open(home.path(path)).unwrap().set_modified(long_past).unwrap();
}

#[tokio::test]
async fn nothing_changed_gives_the_same_snapshot() {
    let home = sample();
    let workspace = home.open();
    let first = workspace.catalog().await;
    assert!(Arc::ptr_eq(&first, &workspace.catalog().await), "while files are fresh");
    sleep(SETTLED);
    assert!(Arc::ptr_eq(&first, &workspace.catalog().await), "when they have settled");
    assert!(Arc::ptr_eq(&first, &workspace.catalog().await), "and by stamps alone");
}

#[tokio::test]
async fn the_same_bytes_written_again_give_the_same_snapshot() {
    let home = sample();
    let workspace = home.open();
    let first = workspace.catalog().await;
    sleep(SETTLED);
    home.write("workspace/SOUL.md", "aaaa");
    home.write("workspace/rules/broken.md", "---\na: [\n---\n");
    assert!(Arc::ptr_eq(&first, &workspace.catalog().await));
}

#[tokio::test]
async fn an_edit_of_the_same_size_and_time_is_seen_at_once() {
    let home = sample();
    write_as_if_old(&home, "workspace/SOUL.md", "aaaa");
    let workspace = home.open();
    assert_eq!(soul(&*workspace.catalog().await), Some("aaaa"));
    write_as_if_old(&home, "workspace/SOUL.md", "bbbb");
    assert_eq!(soul(&*workspace.catalog().await), Some("bbbb"));
}

#[cfg(unix)]
#[tokio::test]
async fn an_edit_of_the_same_size_and_time_is_seen_in_a_settled_file() {
    let home = sample();
    write_as_if_old(&home, "workspace/SOUL.md", "aaaa");
    sleep(SETTLED);
    let workspace = home.open();
    assert_eq!(soul(&*workspace.catalog().await), Some("aaaa"));
    write_as_if_old(&home, "workspace/SOUL.md", "bbbb");
    assert_eq!(soul(&*workspace.catalog().await), Some("bbbb"));
}

#[tokio::test]
async fn an_edit_replaces_one_value_and_shares_the_others() {
    let home = sample();
    let workspace = home.open();
    let before = workspace.catalog().await;
    home.write("workspace/rules/r.md", "changed");
    let after = workspace.catalog().await;
    assert_eq!(&*after.catalog.rules[0].text, "changed");
    let body = |snapshot: &WorkspaceSnapshot| snapshot.catalog.skills[0].body.as_str().as_ptr();
    assert_eq!(body(&before), body(&after), "the skill was not parsed again");
}

#[tokio::test]
async fn files_come_and_go() {
    let home = sample();
    let workspace = home.open();
    let names = |snapshot: &WorkspaceSnapshot| {
        let catalog = &snapshot.catalog;
        let skills = catalog.skills.iter().map(|skill| skill.name.to_string());
        skills.chain(catalog.rules.iter().map(|rule| rule.name.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(names(&*workspace.catalog().await), ["a", "r"]);
    home.write("workspace/rules/q.md", "new");
    home.write("workspace/skills/b/SKILL.md", SKILL);
    home.write("skills/c/SKILL.md", SKILL);
    assert_eq!(names(&*workspace.catalog().await), ["c", "a", "b", "q", "r"]);
    fs::remove_file(home.path("workspace/rules/r.md")).unwrap();
    fs::remove_dir_all(home.path("workspace/skills/a")).unwrap();
    fs::remove_file(home.path("workspace/SOUL.md")).unwrap();
    let last = workspace.catalog().await;
    assert_eq!(names(&last), ["c", "b", "q"]);
    assert_eq!(soul(&last), None);
}

#[tokio::test]
async fn a_skill_file_that_appears_later_is_found() {
    let home = sample();
    fs::create_dir_all(home.path("workspace/skills/late")).unwrap();
    sleep(SETTLED);
    let workspace = home.open();
    assert_eq!(workspace.catalog().await.catalog.skills.len(), 1);
    home.write("workspace/skills/late/SKILL.md", SKILL);
    assert_eq!(workspace.catalog().await.catalog.skills.len(), 2);
    home.write("workspace/skills/late/tools.json", r#"{"tools": [{"name": "x"}]}"#);
    assert_eq!(workspace.catalog().await.catalog.skills[1].tools.len(), 1);
}

#[tokio::test]
async fn a_workspace_that_vanishes_is_one_problem_and_may_come_back() {
    let home = sample();
    home.write("skills/shared/SKILL.md", SKILL);
    let workspace = home.open();
    let body = |snapshot: &WorkspaceSnapshot| snapshot.catalog.skills[0].body.as_str().as_ptr();
    let before = body(&*workspace.catalog().await);
    fs::rename(home.path("workspace"), home.path("moved")).unwrap();
    let gone = workspace.catalog().await;
    assert_eq!(gone.problems.len(), 1);
    assert_eq!(gone.catalog.notices.len(), 1);
    assert_eq!(soul(&gone), None);
    let names: Vec<_> = gone.catalog.skills.iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["shared"], "what all agents share stays");
    assert_eq!(before, body(&gone), "and is not parsed again");
    assert!(Arc::ptr_eq(&gone, &workspace.catalog().await), "it is reported once");
    assert!(!home.path("workspace").exists());
    fs::rename(home.path("moved"), home.path("workspace")).unwrap();
    let back = workspace.catalog().await;
    assert_eq!(soul(&back), Some("aaaa"));
    assert_eq!((back.catalog.skills.len(), back.catalog.rules.len()), (2, 1));
}

#[tokio::test]
async fn reload_at_startup_reads_once() {
    let home = sample();
    let workspace = Workspace::new(WorkspaceOptions { reload: Reload::Startup, ..home.options() });
    let first = workspace.catalog().await;
    home.write("workspace/SOUL.md", "changed");
    fs::remove_dir_all(home.path("workspace/rules")).unwrap();
    assert!(Arc::ptr_eq(&first, &workspace.catalog().await));
}

#[tokio::test]
async fn replaced_settings_hold_from_the_next_call_on() {
    let home = sample();
    let always = Override { include: Some(IncludeMode::Always), priority: None };
    let overrides = BTreeMap::from([((ItemKind::Rule, "r".to_owned()), always)]);
    for reload in [Reload::Turn, Reload::Startup] {
        let workspace = Workspace::new(WorkspaceOptions { reload, ..home.options() });
        let first = workspace.catalog().await;
        assert_eq!(first.catalog.rules[0].include, IncludeMode::Manual, "{reload:?}");
        workspace.replace_overrides(overrides.clone(), BTreeMap::new());
        let second = workspace.catalog().await;
        assert_eq!(second.catalog.rules[0].include, IncludeMode::Always, "{reload:?}");
        // The same once more changes nothing.
        workspace.replace_overrides(overrides.clone(), BTreeMap::new());
        assert!(Arc::ptr_eq(&second, &workspace.catalog().await), "{reload:?}");
        let kinds = BTreeMap::from([(ItemKind::Rule, IncludeMode::Agent)]);
        workspace.replace_overrides(BTreeMap::new(), kinds);
        assert_eq!(workspace.catalog().await.catalog.rules[0].include, IncludeMode::Agent);
    }
}

#[tokio::test]
async fn only_files_that_are_read_can_be_looked_at() {
    let home = sample();
    home.write("workspace/notes.md", "not one of them");
    let workspace = home.open();
    let text = async |path: &str| workspace.source_text(&home.path(path)).await;
    assert_eq!(text("workspace/SOUL.md").await.as_deref(), Some("aaaa"));
    assert_eq!(text("workspace/rules/broken.md").await.as_deref(), Some("---\na: [\n---\n"));
    for other in ["workspace/notes.md", "workspace/rules/../notes.md", "workspace/rules", ""] {
        assert_eq!(text(other).await, None, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn overlapping_calls_agree() {
    let home = sample();
    let workspace = Arc::new(home.open());
    let mut calls = JoinSet::new();
    for _ in 0..16 {
        let workspace = workspace.clone();
        calls.spawn(async move { workspace.catalog().await });
    }
    let snapshots = calls.join_all().await;
    assert!(snapshots.iter().all(|snapshot| Arc::ptr_eq(snapshot, &snapshots[0])));
    assert_eq!(soul(&snapshots[0]), Some("aaaa"));
}

#[tokio::test]
async fn a_call_that_is_given_up_loses_nothing() {
    let home = sample();
    let workspace = home.open();
    for _ in 0..3 {
        let mut call = pin!(workspace.catalog());
        let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    assert_eq!(soul(&*workspace.catalog().await), Some("aaaa"));
    home.write("workspace/SOUL.md", "bbbb");
    {
        let mut call = pin!(workspace.catalog());
        let mut context = Context::from_waker(Waker::noop());
        // On a busy machine the first poll may find everything done.
        if call.as_mut().poll(&mut context).is_pending() {
            sleep(Duration::from_millis(20));
            let _ = call.as_mut().poll(&mut context);
        }
    }
    assert_eq!(soul(&*workspace.catalog().await), Some("bbbb"));
}

#[test]
fn a_workspace_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Workspace>();
    shared::<WorkspaceSnapshot>();
}

#[cfg(unix)]
#[tokio::test]
async fn a_skill_comes_when_its_program_is_installed() {
    use std::os::unix::fs::PermissionsExt;
    let skill = "---\ndescription: d\nmetadata: {requires: {bins: [mytool]}}\n---\nbody";
    let home = WorkspaceHome::with(&[("workspace/skills/a/SKILL.md", skill), ("bin/other", "")]);
    let options = WorkspaceOptions { search_path: Some(home.path("bin").into()), ..home.options() };
    let workspace = Workspace::new(options);
    sleep(SETTLED);
    assert_eq!(workspace.catalog().await.catalog.skills.len(), 0);
    home.write("bin/mytool", "#!/bin/sh\n");
    fs::set_permissions(home.path("bin/mytool"), fs::Permissions::from_mode(0o755)).unwrap();
    let snapshot = workspace.catalog().await;
    assert_eq!(snapshot.catalog.skills.len(), 1);
    assert!(snapshot.catalog.notices.is_empty());
}
