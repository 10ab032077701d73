//! What people are told, and what the kernel holds a confined thread to.

use std::path::PathBuf;

use expect_test::expect;

use super::*;

#[test]
fn people_see_what_is_missing() {
    let text = |landlock, seccomp| Guards { landlock, seccomp }.to_string();
    expect!["files: Landlock 7; network and other processes: seccomp; time, memory, processes, output: limited"]
        .assert_eq(&text(Some(7), true));
    expect!["files: Landlock 1; network and other processes: seccomp; signals: not confined (Landlock 6 does it); time, memory, processes, output: limited"]
        .assert_eq(&text(Some(1), true));
    expect!["files: not confined (no Landlock); network and other processes: not confined (no seccomp); time, memory, processes, output: limited"]
        .assert_eq(&text(None, false));
    assert!(Guards { landlock: Some(6), seccomp: true }.all_hold());
    assert!(!Guards { landlock: Some(5), seccomp: true }.all_hold());
    assert!(!Guards { landlock: None, seccomp: true }.all_hold());
    assert!(!Guards { landlock: Some(7), seccomp: false }.all_hold());
}

#[test]
fn people_see_what_a_program_reaches() {
    let mut confinement = Confinement {
        read: vec!["/w".into()],
        write: vec![],
        execute: vec!["/w/skills/x/scripts/a\nnetwork: allowed".into()],
        network: NetworkAccess::Refused,
        resources: ResourceLimits::default(),
    };
    expect![[r#"
        reads: the system's programs and libraries, /w
        writes: nothing
        executes: the system's programs, "/w/skills/x/scripts/a\nnetwork: allowed"
        network: none
        limits: 64 processes, 2048 MiB of memory, 1024 MiB a file
    "#]]
    .assert_eq(&confinement.reach().describe());
    confinement.write = (0..30).map(|number| PathBuf::from(format!("/w/{number}"))).collect();
    assert!(confinement.reach().describe().contains("/w/23 and 6 more\n"));
}

#[cfg(target_os = "linux")]
mod confined;
