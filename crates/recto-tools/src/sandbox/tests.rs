//! What people are told, and what the kernel holds a confined thread to.

use std::path::PathBuf;

use expect_test::expect;

use super::*;

#[test]
fn people_see_what_is_missing() {
    let memory = MemoryGuard::Counted(NoControlGroup::NotMounted);
    let guards = |landlock, seccomp, view| Guards { landlock, seccomp, view, memory };
    let text = |landlock, seccomp, view| guards(landlock, seccomp, view).to_string();
    expect!["files: Landlock 7; network and other processes: seccomp; modes and times of files, /proc: a view of its own; memory: counted by looking at processes (no control groups of version 2); time, processes, output: limited"]
        .assert_eq(&text(Some(7), true, ViewGuard::MountsAndProcesses));
    expect!["files: Landlock 1; network and other processes: seccomp; signals: not confined (Landlock 6 does it); modes and times of files: a view of its own; /proc: closed; memory: counted by looking at processes (no control groups of version 2); time, processes, output: limited"]
        .assert_eq(&text(Some(1), true, ViewGuard::Mounts));
    expect!["files: not confined (no Landlock); network and other processes: not confined (no seccomp); modes and times of files, /proc: closed (no name spaces); memory: counted by looking at processes (no control groups of version 2); time, processes, output: limited"]
        .assert_eq(&text(None, false, ViewGuard::Missing));
    let kernel = Guards {
        memory: MemoryGuard::ControlGroup,
        ..guards(Some(7), true, ViewGuard::MountsAndProcesses)
    };
    assert!(kernel.to_string().contains("; memory: a control group of the kernel; time"));
    // Where Recto was started is not what was allowed.
    let counted = guards(Some(7), true, ViewGuard::MountsAndProcesses);
    assert_eq!(kernel.what_is_confined(), counted.what_is_confined());
    assert!(!counted.what_is_confined().contains("memory"));
    let all_hold = |landlock, seccomp| guards(landlock, seccomp, ViewGuard::Missing).all_hold();
    assert!(all_hold(Some(6), true));
    assert!(!all_hold(Some(5), true));
    assert!(!all_hold(None, true));
    assert!(!all_hold(Some(7), false));
}

#[test]
fn people_see_what_a_program_reaches() {
    let mut confinement = Confinement {
        read: vec!["/w".into()],
        write: vec![],
        execute: vec!["/w/skills/x/scripts/a\nnetwork: allowed".into()],
        hidden: vec![],
        written: WrittenPrograms::Refused,
        omits_writable: false,
        network: NetworkAccess::Refused,
        resources: ResourceLimits::default(),
    };
    expect![[r#"
        reads: the system's programs and libraries, /w
        writes: words
        executes: the system's programs, "/w/skills/x/scripts/a\nnetwork: allowed"
        network: none
        limits: 64 processes, 2048 MiB of memory, 1024 MiB a file
    "#]]
    .assert_eq(&confinement.reach().describe("words"));
    confinement.omits_writable = true;
    assert!(confinement.reach().describe("words").contains("\nwrites: words; what is beyond "));
    confinement.omits_writable = false;
    confinement.read = (0..30).map(|number| PathBuf::from(format!("/w/{number}"))).collect();
    assert!(confinement.reach().describe("words").contains("/w/23 and 6 more\nwrites: words\n"));
}

#[cfg(target_os = "linux")]
mod confined;
