//! Ways around the guard.

use std::fs;
use std::os::unix::fs::symlink;

use recto_context::{Skill, SystemFiles, WorkspaceFile};
use tempfile::TempDir;

use super::*;

/// A home with a config, a store and a workspace `w` in it.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("w")).unwrap();
    home
}

fn make(home: &TempDir, path: &str) {
    let path = home.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

/// `free`, `never` or `approval`.
fn verdict(home: &TempDir, path: &str, protected: &[&str], catalog: &Catalog) -> &'static str {
    let root = WorkspaceRoot::open(&home.path().join("w")).unwrap();
    let names: Vec<OsString> = path.split('/').map(OsString::from).collect();
    let protected: Vec<ProtectedPath> =
        protected.iter().map(|path| home.path().join(path).into()).collect();
    match check_write(&root, &names, &protected, catalog) {
        Ok(()) => "free",
        Err(FileError::NeverWritable { .. }) => "never",
        Err(FileError::NeedsApproval { .. }) => "approval",
        Err(other) => panic!("{other}"),
    }
}

fn by_its_name(home: &TempDir, path: &str) -> &'static str {
    verdict(home, path, &[], &Catalog::default())
}

#[test]
fn who_the_agent_is_needs_approval() {
    let home = home();
    for name in ["SOUL.md", "AGENTS.md", "IDENTITY.md", "USER.md", "TOOLS.md", "SKILL.md"] {
        assert_eq!(by_its_name(&home, name), "approval", "{name}");
    }
    assert_eq!(by_its_name(&home, "skills/notes/SKILL.md"), "approval");
    assert_eq!(by_its_name(&home, "SOUL.md/inside"), "approval");
    for name in ["skills/notes/data.json", "Skills/notes/deep/how-to.md", "skills/new"] {
        assert_eq!(by_its_name(&home, name), "approval", "{name}");
    }
    for name in ["notes.md", "docs/SOUL.md", "docs/AGENTS.md", "SOUL.md.txt", "SOUL", "x-SOUL.md"] {
        assert_eq!(by_its_name(&home, name), "free", "{name}");
    }
}

/// Promise: `private-memory-stays-private`
#[test]
fn what_is_remembered_needs_approval() {
    // A mark in such a file says who else may see an entry.
    let home = home();
    for name in ["memory/MEMORY.md", "memory/2026-11-17.md", "Memory/people/anna.md", "memory"] {
        assert_eq!(by_its_name(&home, name), "approval", "{name}");
    }
    assert_eq!(by_its_name(&home, "notes/memory/a.md"), "free");
}

/// Promise: `private-memory-stays-private`
#[test]
fn what_is_remembered_needs_approval_also_by_the_name_of_where_it_lies() {
    let home = home();
    for path in ["vault/memory/MEMORY.md", "vault/laws/a.md", "memory-of-old/a.md", "rules/b.md"] {
        make(&home, &format!("w/{path}"));
    }
    for (name, target) in [
        ("memory", "vault/memory"),
        ("USER.md", "later/user.md"),
        ("rules/laws", "../vault/laws"),
        ("vault/memory/people", "../people"),
        ("references", "."),
    ] {
        symlink(target, home.path().join("w").join(name)).unwrap();
    }
    for name in [
        "vault/memory/MEMORY.md",
        "vault/memory/2026-11-19.md",
        "vault/memory",
        "vault/people/anna.md",
        "vault/laws/new.md",
        "later/user.md",
    ] {
        assert_eq!(by_its_name(&home, name), "approval", "{name}");
    }
    for name in ["vault/plans.md", "vault/memoryx/a.md", "later/other.md", "memory-of-old/a.md"] {
        assert_eq!(by_its_name(&home, name), "free", "{name}");
    }
}

#[test]
fn what_the_agent_may_is_never_writable() {
    let home = home();
    for name in [
        "skills/notes/tools.json",
        "tools.json",
        ".recto/rules/a.md",
        "a/.Recto/rules/b.md",
        ".Recto",
        "agents/ada/agent.toml",
        "agents/ada/agent.toml/x",
        "skills/notes/scripts/run.sh",
        "skills/notes/scripts/lib/deep.sh",
        "other/skills/notes/scripts/run.sh",
    ] {
        assert_eq!(by_its_name(&home, name), "never", "{name}");
    }
    for name in ["scripts/build.sh", "src/scripts/run.sh", "agent.tom", "a/recto/b"] {
        assert_eq!(by_its_name(&home, name), "free", "{name}");
    }
    make(&home, "w/tricks/dance/SKILL.md");
    assert_eq!(by_its_name(&home, "tricks/dance/scripts/run.sh"), "never");
    assert_eq!(by_its_name(&home, "tricks/dance/notes.txt"), "free");
}

#[test]
fn other_spellings_are_the_same() {
    let home = home();
    for name in [
        "soul.md",
        "Soul.MD",
        "SOUL.md.",
        "SOUL.md ",
        "SOUL.md. .",
        "SOUL.md::$DATA",
        "ſoul.md",
        "SO\u{200d}UL.md",
        "S\u{212a}ILL.md".replace('S', "s").as_str(),
    ] {
        assert_eq!(by_its_name(&home, name), "approval", "{name:?}");
    }
    for name in ["skills/a/TOOLS.JSON", "Skills/a/Scripts/x", "skills/a/tools.json:x", "AGENT.toml"]
    {
        assert_eq!(by_its_name(&home, name), "never", "{name:?}");
    }
}

#[test]
fn protected_paths_are_never_writable() {
    let home = home();
    make(&home, "w/config.toml");
    make(&home, "w/recto.db");
    let protected = ["w/config.toml", "w/recto.db", "w/private", "w/later/config.toml"];
    let none = Catalog::default();
    for path in [
        "config.toml",
        "Config.TOML",
        "recto.db",
        "recto.db-wal",
        "recto.db-journal",
        "private/deep/file",
        "later/config.toml",
    ] {
        assert_eq!(verdict(&home, path, &protected, &none), "never", "{path}");
    }
    for path in ["config.toml.md", "recto.dbx", "privately", "later/other.toml", "config"] {
        assert_eq!(verdict(&home, path, &protected, &none), "free", "{path}");
    }
    // The workspace itself, or all above it.
    assert_eq!(verdict(&home, "a", &["w"], &none), "never");
    assert_eq!(verdict(&home, "a", &[""], &none), "never");
}

#[test]
fn what_is_open_in_a_protected_folder_is_free() {
    let home = home();
    make(&home, "w/server/data/a.db");
    let root = WorkspaceRoot::open(&home.path().join("w")).unwrap();
    let at = |path: &str| home.path().join(path);
    let server = ProtectedPath { path: at("w/server"), open: vec![at("w/server/data")] };
    let protected = [server, at("w/server/data/plug.py").into()];
    let is_free = |path: &str| {
        let names: Vec<OsString> = path.split('/').map(OsString::from).collect();
        let full = root.real_path().join(path);
        let is_free = check_write(&root, &names, &protected, &Catalog::default()).is_ok();
        assert_eq!(is_free, !is_protected(&root, &full, &protected, &Catalog::default()));
        is_free
    };
    for path in ["server/data", "server/data/a.db", "server/data/deep/new", "notes.md"] {
        assert!(is_free(path), "{path}");
    }
    for path in
        ["server", "server/new.py", "server/data-wal", "server/Data/a", "server/data/plug.py"]
    {
        assert!(!is_free(path), "{path}");
    }
}

#[test]
fn what_a_protected_link_points_to_is_protected() {
    let home = home();
    make(&home, "w/settings/real.toml");
    symlink("w/settings/real.toml", home.path().join("config.toml")).unwrap();
    let none = Catalog::default();
    assert_eq!(verdict(&home, "settings/real.toml", &["config.toml"], &none), "never");
}

#[test]
fn what_the_agent_was_made_of_is_guarded_wherever_it_is() {
    let home = home();
    let path = |name: &str| home.path().join(name);
    make(&home, "w/texts/soul.txt");
    symlink("texts/soul.txt", path("w/SOUL.md")).unwrap();
    make(&home, "w/shared/run.sh");
    make(&home, "tricks/dance/SKILL.md");
    symlink(path("w/shared"), path("tricks/dance/scripts")).unwrap();
    make(&home, "w/shared-tools.txt");
    symlink(path("w/shared-tools.txt"), path("tricks/dance/tools.json")).unwrap();
    let soul = WorkspaceFile { text: "".into(), source: ContentSource::file(path("w/SOUL.md")) };
    let mut dance = Skill::new("dance", None, "".into());
    dance.source = ContentSource::file(path("tricks/dance/SKILL.md"));
    let catalog = Catalog {
        system: SystemFiles { soul: Some(soul), ..SystemFiles::default() },
        skills: vec![dance, Skill::new("built-in", None, "".into())],
        ..Catalog::default()
    };
    assert_eq!(verdict(&home, "texts/soul.txt", &[], &catalog), "approval");
    assert_eq!(verdict(&home, "shared/run.sh", &[], &catalog), "never");
    assert_eq!(verdict(&home, "shared/new.sh", &[], &catalog), "never");
    assert_eq!(verdict(&home, "shared-tools.txt", &[], &catalog), "never");
    assert_eq!(verdict(&home, "texts/other.txt", &[], &catalog), "free");
}

#[test]
fn all_in_the_folder_of_a_skill_needs_approval() {
    let home = home();
    make(&home, "w/tricks/dance/SKILL.md");
    make(&home, "SKILL.md");
    let skill = |path: &str| {
        let mut skill = Skill::new("s", None, "".into());
        skill.source = ContentSource::file(home.path().join(path));
        skill
    };
    let skills = vec![skill("w/tricks/dance/SKILL.md"), skill("SKILL.md")];
    let catalog = Catalog { skills, ..Catalog::default() };
    for name in ["tricks/dance/steps.md", "tricks/dance/deep/er.md", "Tricks/Dance/steps.md"] {
        assert_eq!(verdict(&home, name, &[], &catalog), "approval", "{name}");
    }
    for name in ["tricks/dance/tools.json", "tricks/dance/scripts/run.sh"] {
        assert_eq!(verdict(&home, name, &[], &catalog), "never", "{name}");
    }
    // The other skill's folder holds the workspace: that is no reason to ask about all.
    for name in ["tricks/notes.md", "tricks/dancer/a.md", "notes.md"] {
        assert_eq!(verdict(&home, name, &[], &catalog), "free", "{name}");
    }
}

#[test]
fn no_program_is_to_write_what_the_sandbox_holds_back() {
    let home = home();
    make(&home, "w/more/new/a.txt");
    let root = WorkspaceRoot::open(&home.path().join("w")).unwrap();
    let folders = [home.path().join("w/more").into()];
    let held = |path: &str, protected: &[ProtectedPath]| {
        is_protected(&root, &root.real_path().join(path), protected, &Catalog::default())
    };
    for path in ["memory/MEMORY.md", "Memory/2026-01-02.md", "agents/ada/soul.md", "skills/x/a"] {
        assert!(held(path, &[]), "{path}");
    }
    assert!(!held("notes/memory/a.md", &[]));
    assert!(!held("more/new/a.txt", &[]));
    assert!(held("more/new/a.txt", &folders));
    assert!(held("more/newer/SKILL.txt", &folders));
}
