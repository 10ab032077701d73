//! Which place is chosen, over trees that are made up; and what is read of the kernel's files.

use tempfile::{TempDir, tempdir};

use super::place::{GroupPlace, OwnTree, tree_in};
use super::*;

/// A tree of groups with the files that the kernel has there.
struct MadeUpTree(TempDir);

impl MadeUpTree {
    /// A root that hands both on, a group above, and the own group in it.
    fn new() -> Self {
        let tree = MadeUpTree(tempdir().unwrap());
        tree.group("", &[("cgroup.procs", "1\n")]);
        fs::remove_file(tree.path("cgroup.type")).unwrap();
        tree.group("above", &[]);
        tree.group("above/own", &[("cgroup.procs", "7\n8\n"), ("cgroup.subtree_control", "")]);
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn group(&self, name: &str, files: &[(&str, &str)]) {
        let usual = [
            ("cgroup.type", "domain\n"),
            ("cgroup.controllers", "cpu memory pids\n"),
            ("cgroup.subtree_control", "cpu memory pids\n"),
            ("cgroup.procs", ""),
            ("memory.max", "max\n"),
            ("memory.high", "max\n"),
            ("cpu.max", "max 100000\n"),
        ];
        fs::create_dir_all(self.path(name)).unwrap();
        for (file, text) in usual.iter().chain(files) {
            fs::write(self.path(name).join(file), text).unwrap();
        }
    }

    fn decide(&self, own: &str, ours: &[u32], closed: &str) -> Result<GroupPlace, NoControlGroup> {
        let is_own = |process: u32| ours.contains(&process);
        let own = if own.is_empty() { self.0.path().to_owned() } else { self.path(own) };
        let tree = GroupTree { own: &own, mount: self.0.path(), is_own: &is_own };
        let closed = self.path(closed);
        tree.decide(|path| !path.starts_with(&closed) || path != closed && path.is_dir())
    }
}

const NOTHING: &str = "nothing";

#[test]
fn a_group_of_ones_own_is_divided() {
    let tree = MadeUpTree::new();
    let own = Ok(GroupPlace::Own(tree.path("above/own")));
    assert_eq!(tree.decide("above/own", &[7, 8], NOTHING), own);
    // Where the kernel does not let the user, or processes are of threads only, it is not.
    let above = Ok(GroupPlace::Above(tree.path("above")));
    assert_eq!(tree.decide("above/own", &[7, 8], "above/own/cgroup.procs"), above);
    assert_eq!(tree.decide("above/own", &[7, 8], "above/own/cgroup.subtree_control"), above);
    tree.group("above/own", &[("cgroup.procs", "7\n"), ("cgroup.type", "domain threaded\n")]);
    assert_eq!(tree.decide("above/own", &[7, 8], NOTHING), above);
}

#[test]
fn processes_of_others_are_not_moved() {
    let tree = MadeUpTree::new();
    let above = Ok(GroupPlace::Above(tree.path("above")));
    assert_eq!(tree.decide("above/own", &[8], NOTHING), above);
    let refused = Err(NoControlGroup::NotDelegated);
    assert_eq!(tree.decide("above/own", &[8], "above/cgroup.procs"), refused);
    tree.group("above", &[("cgroup.procs", "9\n")]);
    assert_eq!(tree.decide("above/own", &[8], NOTHING), refused);
    // It is for others to say that a group is divided.
    tree.group("above", &[("cgroup.subtree_control", "cpu pids\n")]);
    assert_eq!(tree.decide("above/own", &[8], NOTHING), refused);
}

/// Promise: `memory-is-counted-where-it-is-held`
#[test]
fn limits_on_recto_itself_are_not_evaded() {
    for limit in
        [("memory.max", "1073741824\n"), ("memory.high", "4096\n"), ("cpu.max", "5000 100000\n")]
    {
        let tree = MadeUpTree::new();
        tree.group("above/own", &[("cgroup.procs", "7\n8\n"), limit]);
        let refused = Err(NoControlGroup::NotDelegated);
        assert_eq!(tree.decide("above/own", &[8], NOTHING), refused, "{limit:?}");
        // Below the own group they count.
        let own = Ok(GroupPlace::Own(tree.path("above/own")));
        assert_eq!(tree.decide("above/own", &[7, 8], NOTHING), own, "{limit:?}");
    }
}

#[test]
fn what_has_moved_does_not_move_again() {
    let tree = MadeUpTree::new();
    tree.group("above/recto-main", &[("cgroup.procs", "7\n"), ("memory.max", "4096\n")]);
    let above = Ok(GroupPlace::Above(tree.path("above")));
    assert_eq!(tree.decide("above/recto-main", &[7], NOTHING), above);
}

#[test]
fn the_root_may_have_both() {
    let tree = MadeUpTree::new();
    assert_eq!(tree.decide("", &[], NOTHING), Ok(GroupPlace::Root(tree.0.path().to_owned())));
    assert_eq!(tree.decide("", &[], "cgroup.procs"), Err(NoControlGroup::NotDelegated));
    // In a container the root that is seen is a group like others, with nothing above it.
    tree.group("", &[("cgroup.procs", "1\n7\n")]);
    assert_eq!(tree.decide("", &[7], NOTHING), Err(NoControlGroup::NotDelegated));
    assert_eq!(tree.decide("", &[1, 7], NOTHING), Ok(GroupPlace::Own(tree.0.path().to_owned())));
}

#[test]
fn both_controllers_are_needed() {
    let tree = MadeUpTree::new();
    for has in ["", "hugetlb\n", "memory\n", "pids memoryx\n"] {
        tree.group("above/own", &[("cgroup.controllers", has)]);
        assert_eq!(tree.decide("above/own", &[7, 8], NOTHING), Err(NoControlGroup::NoMemory));
    }
}

#[test]
fn the_own_group_is_found_where_it_is_mounted() {
    let tree =
        |mount: &str, group: &str| Some(OwnTree { mount: mount.into(), group: group.into() });
    let mounts = "24 1 0:22 / /sys rw - sysfs sysfs rw\n\
                  25 24 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    assert_eq!(
        tree_in("0::/user.slice/a b.scope\n", mounts),
        tree("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a b.scope")
    );
    assert_eq!(tree_in("0::/\n", mounts), tree("/sys/fs/cgroup", "/sys/fs/cgroup"));
    let hybrid = "25 24 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  26 24 0:24 /in /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let groups = "4:memory:/in\n0::/in/here\n";
    let unified = "/sys/fs/cgroup/unified";
    assert_eq!(tree_in(groups, hybrid), tree(unified, "/sys/fs/cgroup/unified/here"));
    assert_eq!(tree_in("0::/elsewhere\n", hybrid), None);
    assert_eq!(tree_in("4:memory:/in\n", hybrid), None);
    assert_eq!(tree_in("0::/\n", ""), None);
}

#[test]
fn the_owner_of_a_group_is_in_its_name() {
    let owner = GroupOwner { space: 4_026_531_836, process: 42, begun: 9_001 };
    assert_eq!(owner.group_name(3), "recto-call-4026531836-42-9001-3");
    assert_eq!(GroupOwner::from_group_name(&owner.group_name(3)), Some(owner));
    assert_eq!(GroupOwner::from_group_name("recto-main"), None);
    assert_eq!(GroupOwner::from_group_name("recto-call-1-x-2-3"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn only_groups_of_those_who_ended_are_abandoned() {
    let parent = tempdir().unwrap();
    let own = GroupOwner::this_process().unwrap();
    assert!(own.is_running());
    let earlier = GroupOwner { begun: own.begun + 1, ..own.clone() };
    let elsewhere = GroupOwner { space: own.space + 1, ..earlier.clone() };
    let [own_name, gone, other] = [&own, &earlier, &elsewhere].map(|owner| owner.group_name(0));
    for name in [&own_name, &gone, &other, &"recto-main".to_owned()] {
        fs::create_dir(parent.path().join(name)).unwrap();
    }
    remove_abandoned(parent.path(), &own);
    let is_there = |name: &str| parent.path().join(name).exists();
    assert!(is_there(&own_name) && is_there(&other) && is_there("recto-main"));
    assert!(!is_there(&gone));
}

#[test]
fn kills_for_memory_are_read() {
    assert!(is_killed_for_memory("low 0\nhigh 0\nmax 31\noom 2\noom_kill 4\noom_group_kill 1\n"));
    assert!(!is_killed_for_memory("max 31\noom 2\noom_kill 0\n"));
    // The machine had none left, and took it from whoever it was.
    assert!(!is_killed_for_memory("max 0\noom 0\noom_kill 1\n"));
    assert!(!is_killed_for_memory(""));
}

#[test]
fn a_group_without_the_kernels_files_is_no_group() {
    let parent = tempdir().unwrap();
    let owner = GroupOwner { space: 1, process: 2, begun: 3 };
    assert!(CallGroup::create(parent.path(), &owner, ResourceLimits::default()).is_err());
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0, "it is left behind");
}

#[cfg(target_os = "linux")]
#[test]
fn whose_a_process_is() {
    let line = b"42 (a) R 1 (x) S 7 41 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 555 1000 77 18";
    assert_eq!(ProcessStat::parse(line), Some(ProcessStat { parent: 7, begun: 555 }));
    assert_eq!(ProcessStat::parse(b"42 (a"), None);
    assert!(is_descendant(std::process::id()));
    assert!(!is_descendant(1));
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let is_own = is_descendant(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_own);
}
