//! What a person trusts, and what ends that trust.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use crate::declared::skill::DeclarationError;
use crate::declared::{SkillTools, trust_hash};

const DECLARATION: &str = r#"{"tools": [{"name": "t"}, {"name": "u"}], "allowlist": {"cat": []},
    "execution": [{"tool": "t", "binary": "cat"},
                  {"tool": "u", "binary": "sh"}]}"#;

/// What changes in a skill's folder, with a name for it.
type Change = (&'static str, fn(&Path));

fn skill() -> TempDir {
    let skill = tempfile::tempdir().unwrap();
    fs::write(skill.path().join("tools.json"), DECLARATION).unwrap();
    fs::create_dir_all(skill.path().join("scripts/sub")).unwrap();
    fs::write(skill.path().join("scripts/a.sh"), "a").unwrap();
    fs::write(skill.path().join("scripts/sub/b.sh"), "b").unwrap();
    symlink("a.sh", skill.path().join("scripts/link")).unwrap();
    skill
}

#[test]
fn any_change_of_what_is_run_changes_the_hash() {
    let changes: [Change; 9] = [
        ("declaration", |skill| fs::write(skill.join("tools.json"), "{}").unwrap()),
        ("content", |skill| fs::write(skill.join("scripts/a.sh"), "c").unwrap()),
        ("content below", |skill| fs::write(skill.join("scripts/sub/b.sh"), "c").unwrap()),
        ("new file", |skill| fs::write(skill.join("scripts/new"), "").unwrap()),
        ("new folder", |skill| fs::create_dir(skill.join("scripts/new")).unwrap()),
        ("gone", |skill| fs::remove_file(skill.join("scripts/a.sh")).unwrap()),
        ("name", |skill| {
            fs::rename(skill.join("scripts/a.sh"), skill.join("scripts/b.sh")).unwrap();
        }),
        ("mode", |skill| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(skill.join("scripts/a.sh"), mode).unwrap();
        }),
        ("link", |skill| {
            fs::remove_file(skill.join("scripts/link")).unwrap();
            symlink("sub/b.sh", skill.join("scripts/link")).unwrap();
        }),
    ];
    let before = trust_hash(skill().path()).unwrap();
    assert_eq!(trust_hash(skill().path()).unwrap(), before, "the place makes no difference");
    for (name, change) in changes {
        let skill = skill();
        change(skill.path());
        assert_ne!(trust_hash(skill.path()).unwrap(), before, "{name}");
    }
    let skill = skill();
    fs::write(skill.path().join("SKILL.md"), "other").unwrap();
    assert_eq!(trust_hash(skill.path()).unwrap(), before, "what is not run makes no difference");
}

#[test]
fn what_is_read_carries_its_hash() {
    let skill = skill();
    let tools = SkillTools::read(skill.path()).unwrap();
    assert_eq!(tools.hash(), trust_hash(skill.path()).unwrap());
    assert_eq!(tools.execution("t").unwrap().binary, "cat");
    let flawed = tools.execution("u").unwrap_err();
    assert!(matches!(&flawed, DeclarationError::Flawed { flaw, .. } if flaw.line == 3), "{flawed}");
    let text = flawed.to_string();
    assert!(text.contains("tools.json:3: `sh` runs other programs"), "{text}");
    assert!(matches!(tools.execution("v"), Err(DeclarationError::Undeclared { .. })));
}

#[test]
fn a_broken_file_turns_every_tool_off() {
    let skill = skill();
    fs::write(skill.path().join("tools.json"), "{\n\"execution\": 5}").unwrap();
    let tools = SkillTools::read(skill.path()).unwrap();
    let problem = tools.execution("t").unwrap_err();
    assert!(matches!(problem, DeclarationError::Flawed { flaw, .. } if flaw.line == 2));
}

#[test]
fn files_that_can_not_be_read() {
    let skill = skill();
    let path = skill.path().join("tools.json");
    let problem = || SkillTools::read(skill.path()).unwrap_err();
    fs::write(&path, b"\xff").unwrap();
    assert!(matches!(problem(), DeclarationError::NotText { .. }));
    fs::write(&path, " ".repeat(1024 * 1024 + 1)).unwrap();
    assert!(problem().to_string().ends_with("it is larger than 1048576 bytes"));
    fs::remove_file(&path).unwrap();
    assert!(matches!(problem(), DeclarationError::Io { .. }));
    // Nobody ever writes to this one; reading it must not wait.
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    assert!(problem().to_string().ends_with("it is not a regular file"));
}

#[test]
fn there_are_limits_to_what_is_hashed() {
    let skill = skill();
    let scripts = skill.path().join("scripts");
    rustix::fs::mkfifoat(rustix::fs::CWD, scripts.join("pipe"), 0o600.into()).unwrap();
    assert!(trust_hash(skill.path()).is_ok(), "a pipe is not opened");
    let large = fs::File::create(scripts.join("large")).unwrap();
    large.set_len(65 * 1024 * 1024).unwrap();
    let text = trust_hash(skill.path()).unwrap_err().to_string();
    assert_eq!(text, "`scripts` has more than 67108864 bytes");
    fs::remove_file(scripts.join("large")).unwrap();
    for n in 0..1_000 {
        fs::write(scripts.join(n.to_string()), "").unwrap();
    }
    let text = trust_hash(skill.path()).unwrap_err().to_string();
    assert_eq!(text, "`scripts` has more than 1000 files and folders");
}
