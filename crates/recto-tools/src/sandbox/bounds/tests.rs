//! What is granted in folders on a disk.

use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use recto_context::Catalog;

use super::*;
use crate::files::{private_places, protected_paths};

struct Disk(tempfile::TempDir);

impl Disk {
    /// Paths that end with a slash are folders.
    fn with(paths: &[&str]) -> Self {
        let disk = Disk(tempfile::tempdir().unwrap());
        for path in ["workspace/", "temp/"].iter().chain(paths) {
            let full = disk.path(path);
            match path.ends_with('/') {
                true => fs::create_dir_all(full).unwrap(),
                false => {
                    fs::create_dir_all(full.parent().unwrap()).unwrap();
                    fs::write(full, "").unwrap();
                }
            }
        }
        disk
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    fn paths(&self, below: &[&str]) -> Vec<PathBuf> {
        below.iter().map(|path| self.path(path)).collect()
    }

    /// What is protected, each but for what is open.
    fn protected(&self, given: &Given) -> Vec<ProtectedPath> {
        let open = self.paths(&given.open);
        let inside = |path: &Path| {
            let inside = open.iter().filter(|open| open.starts_with(path) && *open != path);
            inside.cloned().collect()
        };
        let paths = self.paths(&given.protected).into_iter();
        let given: Vec<_> = paths.map(|path| ProtectedPath { open: inside(&path), path }).collect();
        protected_paths(&self.path("workspace"), &given, &Catalog::default())
    }

    /// What is hidden from whoever is not the owner.
    fn private(&self, given: &Given) -> Vec<PathBuf> {
        match given.is_for_others {
            true => private_places(&self.path("workspace")),
            false => Vec::new(),
        }
    }

    fn check(&self, change: impl FnOnce(&mut Given), expected: &Expect) {
        let mut given = Given { program: "/bin/true".into(), ..Given::default() };
        change(&mut given);
        let confinement = Bounds {
            workspace: &self.path("workspace"),
            protected: &self.protected(&given),
            private: &self.private(&given),
            locks: &self.paths(&given.locks),
            grants: &Grants {
                read: self.paths(&given.read),
                write: self.paths(&given.write),
                ..Grants::default()
            },
            network: NetworkAccess::Refused,
            temp: &self.path("temp"),
            program: &self.path(&given.program),
            extra_write: &self.paths(&given.extra_write),
            execute: &self.paths(&given.execute),
            changes: if given.reads_only { FileChanges::None } else { FileChanges::Allowed },
            written: WrittenPrograms::Refused,
        }
        .confinement();
        let Confinement { read, write, execute, hidden, .. } = confinement;
        assert_eq!(hidden, self.paths(&given.hidden));
        let mut text = String::new();
        for (kind, paths) in [("read", read), ("write", write), ("execute", execute)] {
            let here = self.path("");
            let below = paths.iter().map(|path| path.strip_prefix(&here).unwrap_or(path));
            let below: Vec<_> = below.map(|path| path.to_string_lossy()).collect();
            text += &format!("{kind}: {}\n", below.join(" "));
        }
        expected.assert_eq(&text);
    }
}

#[derive(Default)]
struct Given {
    protected: Vec<&'static str>,
    open: Vec<&'static str>,
    locks: Vec<&'static str>,
    hidden: Vec<&'static str>,
    read: Vec<&'static str>,
    write: Vec<&'static str>,
    program: String,
    extra_write: Vec<&'static str>,
    execute: Vec<&'static str>,
    reads_only: bool,
    is_for_others: bool,
}

#[test]
fn a_program_that_only_reads_writes_its_own_folder_alone() {
    let disk = Disk::with(&["workspace/notes/", "granted/", "workspace/new.txt"]);
    disk.check(
        |given| {
            given.write = vec!["granted"];
            given.extra_write = vec!["workspace/new.txt"];
            given.reads_only = true;
        },
        &expect![[r#"
            read: granted workspace
            write: temp
            execute: 
        "#]],
    );
}

#[test]
fn what_recto_locks_is_hidden_wherever_it_could_be_opened() {
    let disk = Disk::with(&["granted/other/memory/.lock", "elsewhere/memory/.lock"]);
    symlink(disk.path("granted/other"), disk.path("linked")).unwrap();
    disk.check(
        |given| {
            given.read = vec!["granted"];
            // The first is not there yet, and the last is out of reach.
            given.locks =
                vec!["workspace/memory/.lock", "linked/memory/.lock", "elsewhere/memory/.lock"];
            given.hidden = vec!["granted/other/memory/.lock", "workspace/memory/.lock"];
        },
        &expect![[r#"
            read: granted workspace
            write: temp
            execute: 
        "#]],
    );
}

#[test]
fn the_workspace_without_what_the_agent_is() {
    let disk = Disk::with(&[
        "workspace/SOUL.md",
        "workspace/Agents.md",
        "workspace/skills/x/SKILL.md",
        "workspace/agents/y/agent.toml",
        "workspace/rules/a.md",
        "workspace/notes/deep/a.md",
        "workspace/list.txt",
    ]);
    disk.check(
        |_| {},
        &expect![[r#"
        read: workspace
        write: temp workspace/list.txt workspace/notes
        execute: 
    "#]],
    );
}

#[test]
fn nothing_that_recto_reads_for_itself_can_become_a_link() {
    let disk = Disk::with(&[
        "workspace/memory/MEMORY.md",
        "workspace/memory/people/ada.md",
        "workspace/remembered/MEMORY.md",
    ]);
    let named = vec!["workspace/memory/MEMORY.md", "workspace/memory/people/ada.md"];
    disk.check(
        move |given| given.extra_write = named,
        &expect![[r#"
        read: workspace
        write: temp workspace/remembered
        execute: 
    "#]],
    );
}

#[test]
fn what_memory_leads_to_stays_as_well() {
    let disk = Disk::with(&["workspace/remembered/MEMORY.md", "workspace/notes/"]);
    symlink("remembered", disk.path("workspace/memory")).unwrap();
    disk.check(
        |_| {},
        &expect![[r#"
        read: workspace
        write: temp workspace/notes
        execute: 
    "#]],
    );
}

/// Promise: `private-memory-stays-private`
#[test]
fn what_links_inside_the_agents_folders_lead_to_stays_as_well() {
    let disk = Disk::with(&[
        "workspace/rules/",
        "workspace/memory/",
        "workspace/agents/",
        "workspace/notes/x.md",
        "workspace/notes/free.md",
        "workspace/people/ada.md",
        "workspace/helper/agent.toml",
    ]);
    for (target, link) in [
        ("../notes/x.md", "rules/x.md"),
        ("../people", "memory/people"),
        ("../helper", "agents/helper"),
        ("later/user.md", "USER.md"),
        // One that holds all of the workspace protects nothing in it.
        ("../..", "agents/above"),
    ] {
        symlink(target, disk.path("workspace").join(link)).unwrap();
    }
    disk.check(
        |given| given.extra_write = vec!["workspace/notes/x.md", "workspace/people/ada.md"],
        &expect![[r#"
        read: workspace
        write: temp workspace/notes/free.md
        execute: 
    "#]],
    );
}

/// Promise: `private-memory-stays-private`
#[test]
fn others_than_the_owner_have_no_program_that_reads_what_is_remembered() {
    let disk = Disk::with(&[
        "workspace/Memory/MEMORY.md",
        "workspace/people/ada.md",
        "workspace/agents/helper/memory/MEMORY.md",
        "workspace/notes/deep/a.md",
        "workspace/list.txt",
        "beside/b.txt",
    ]);
    symlink("../people", disk.path("workspace/Memory/people")).unwrap();
    let read = vec!["workspace", "workspace/Memory", "beside"];
    disk.check(
        |given| {
            (given.is_for_others, given.reads_only) = (true, true);
            given.read = read.clone();
            given.write = read.clone();
        },
        &expect![[r#"
            read: beside workspace/list.txt workspace/notes
            write: temp
            execute: 
        "#]],
    );
    disk.check(
        |given| {
            given.is_for_others = true;
            given.write = read.clone();
            given.extra_write = vec!["workspace/people/ada.md"];
        },
        &expect![[r#"
            read: beside workspace/list.txt workspace/notes
            write: beside temp workspace/list.txt workspace/notes
            execute: 
        "#]],
    );
}

#[test]
fn a_folder_of_skills_stays_while_it_is_empty() {
    let disk = Disk::with(&["workspace/more/skills/", "workspace/more/notes/", "workspace/later/"]);
    // One is not even there yet.
    let folders = vec!["workspace/more/skills", "workspace/later/skills"];
    disk.check(
        move |given| given.protected = folders,
        &expect![[r#"
        read: workspace
        write: temp workspace/more/notes
        execute: 
    "#]],
    );
}

#[test]
fn a_folder_with_something_protected_is_taken_apart() {
    let disk = Disk::with(&[
        "workspace/a/b/store.db",
        "workspace/a/b/store.db-wal",
        "workspace/a/b/store.dbx",
        "workspace/a/c/",
        "workspace/d/",
    ]);
    let change =
        |given: &mut Given| given.protected = vec!["workspace/a/b/store.db", "workspace/d/later"];
    disk.check(
        change,
        &expect![[r#"
        read: workspace
        write: temp workspace/a/b/store.dbx workspace/a/c
        execute: 
    "#]],
    );
}

#[test]
fn links_are_not_followed() {
    let disk = Disk::with(&["workspace/notes/", "outside/secret"]);
    symlink(disk.path("outside"), disk.path("workspace/link")).unwrap();
    symlink(disk.path("outside/secret"), disk.path("workspace/file")).unwrap();
    let change = |given: &mut Given| given.extra_write = vec!["workspace/file", "workspace/none"];
    disk.check(
        change,
        &expect![[r#"
        read: workspace
        write: temp workspace/notes
        execute: 
    "#]],
    );
}

#[test]
fn what_is_open_in_a_protected_folder_is_writable() {
    let disk = Disk::with(&[
        "workspace/server/run.py",
        "workspace/server/data/a.db",
        "workspace/server/data/plug.py",
        "workspace/server/deep/er/data/",
        "workspace/notes/",
    ]);
    let open = ["workspace/server/data", "workspace/server/deep/er/data", "workspace/server/later"];
    // A grant of the folder does not open it either.
    for granted in [vec![], vec!["workspace"], vec!["workspace/server/data", "workspace/server"]] {
        disk.check(
            |given| {
                given.protected = vec!["workspace/server", "workspace/server/data/plug.py"];
                given.open = open.to_vec();
                given.write = granted;
                given.read = vec!["workspace/server", "workspace/server/data"];
            },
            &expect![[r#"
                read: workspace workspace/server workspace/server/data
                write: temp workspace/notes workspace/server/data/a.db workspace/server/deep/er/data
                execute: 
            "#]],
        );
    }
}

#[test]
fn grants_stop_at_what_is_protected() {
    let disk = Disk::with(&["home/config/recto.toml", "home/pictures/", "home/.ssh/id", "books/a"]);
    let change = |given: &mut Given| {
        given.protected = vec!["home/config/recto.toml"];
        given.read = vec!["books", "nowhere"];
        given.write = vec!["home", "nowhere"];
    };
    disk.check(
        change,
        &expect![[r#"
        read: books home workspace
        write: home/.ssh home/pictures temp
        execute: 
    "#]],
    );
}

#[test]
fn a_workspace_that_is_protected_is_not_written() {
    let disk = Disk::with(&["workspace/notes/", "workspace/SOUL.md"]);
    let change = |given: &mut Given| {
        given.protected = vec!["workspace"];
        given.extra_write = vec!["workspace/SOUL.md"];
    };
    disk.check(
        change,
        &expect![[r#"
        read: workspace
        write: temp
        execute: 
    "#]],
    );
}

#[test]
fn files_that_a_call_names_are_written() {
    let disk = Disk::with(&["workspace/new.txt", "workspace/SOUL.md", "workspace/skills/x/a"]);
    let named = vec!["workspace/new.txt", "workspace/SOUL.md", "workspace/skills/x/a"];
    disk.check(
        move |given| given.extra_write = named,
        &expect![[r#"
        read: workspace
        write: temp workspace/new.txt
        execute: 
    "#]],
    );
}

#[test]
fn a_program_brings_what_lies_beside_it() {
    let disk =
        Disk::with(&["tool/bin/run", "tool/lib/a", "tool/share/b", "workspace/skills/x/scripts/s"]);
    let change = |given: &mut Given| {
        given.program = "tool/bin/run".into();
        given.execute = vec!["workspace/skills/x/scripts/s"];
    };
    disk.check(
        change,
        &expect![[r#"
        read: tool/bin tool/lib workspace workspace/skills/x/scripts
        write: temp
        execute: tool/bin/run workspace/skills/x/scripts/s
    "#]],
    );
}

#[test]
fn a_program_beside_private_things_does_not_open_them() {
    let disk = Disk::with(&["run"]);
    disk.check(
        |given| given.program = "run".into(),
        &expect![[r#"
        read: workspace
        write: temp
        execute: run
    "#]],
    );
}

#[test]
fn names_are_compared_whole() {
    let covers = |guarded: &str, path: &str| covers(guarded.as_ref(), path.as_ref());
    assert!(covers("/w/SOUL.md", "/w/soul.MD"));
    assert!(covers("/w/skills", "/w/skills/x/y"));
    assert!(covers("/w/recto.db", "/w/recto.db-journal"));
    assert!(covers("/", "/w"));
    assert!(!covers("/w/skills", "/w/skillset"));
    assert!(!covers("/w/skills", "/w"));
    assert!(!covers("/w/skills", "/v/skills"));
}

#[test]
fn what_is_too_much_to_be_written_is_told() {
    let disk = Disk::with(&[]);
    let write = |count: usize| {
        let folder = disk.path("workspace");
        (0..count).for_each(|number| fs::write(folder.join(number.to_string()), "").unwrap());
        Bounds {
            workspace: &folder,
            protected: &[],
            private: &[],
            locks: &[],
            grants: &Grants::default(),
            network: NetworkAccess::Refused,
            temp: &disk.path("temp"),
            program: Path::new("/bin/true"),
            extra_write: &[],
            execute: &[],
            changes: FileChanges::Allowed,
            written: WrittenPrograms::Refused,
        }
        .confinement()
        .omits_writable
    };
    assert!(!write(10));
    assert!(write(MAX_ENTRIES + 1));
}
