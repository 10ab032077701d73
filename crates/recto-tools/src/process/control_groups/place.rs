//! Decides in which control group those of programs can be made.
//!
//! The kernel has a rule for it: a group that hands memory on to groups below has no processes of
//! its own; only the root of all is free of it. And whoever moves a process has to be allowed to
//! write in the group above both places. So there are three ways:
//!
//! - Recto is in the machine's root group: the new groups are made there.
//! - All processes of Recto's own group are Recto's, as in a service or a container: they move to
//!   a group below, and the new ones are made beside that.
//! - Others are in Recto's group, as in a session or a terminal's group: theirs are not Recto's to
//!   move. The new ones are made beside it, if the group above is divided already, and if nobody
//!   has set limits on Recto's own, which those beside it would not have.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::sandbox::NoControlGroup;

/// The group that Recto's own processes move to.
const OWN_LEAF: &str = "recto-main";

/// What a group needs to have.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// Limits that a person may have set on Recto itself, and how each begins where there is none.
const LIMITS: [&str; 4] = ["memory.max", "memory.high", "memory.swap.max", "cpu.max"];
const UNLIMITED: &str = "max";

/// Rounds in which all processes of a group have to be moved; new ones may come meanwhile.
const ROUNDS: usize = 10;

/// A place for the groups of programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GroupPlace {
    /// The machine's root group.
    Root(PathBuf),
    /// The own group, once its processes have moved to one below.
    Own(PathBuf),
    /// The group above the own one.
    Above(PathBuf),
}

/// The groups as this process sees them.
pub(super) struct GroupTree<'a> {
    /// The folder of the group that it is in.
    pub(super) own: &'a Path,
    /// The folder above which nothing can be seen.
    pub(super) mount: &'a Path,
    /// Whether a process is this one, or one that came of it.
    pub(super) is_own: &'a dyn Fn(u32) -> bool,
}

impl GroupTree<'_> {
    /// Finds a place; nothing is changed.
    pub(super) fn decide(
        &self,
        may_write: impl Fn(&Path) -> bool,
    ) -> Result<GroupPlace, NoControlGroup> {
        if !has_all(&self.own.join("cgroup.controllers")) {
            return Err(NoControlGroup::NoMemory);
        }
        let may_divide = |group: &Path| {
            let files = ["", "cgroup.procs", "cgroup.subtree_control"];
            files.iter().all(|file| may_write(&group.join(file)))
        };
        let Ok(kind) = fs::read_to_string(self.own.join("cgroup.type")) else {
            // Only the root has none.
            return match may_divide(self.own) {
                true => Ok(GroupPlace::Root(self.own.to_owned())),
                false => Err(NoControlGroup::NotDelegated),
            };
        };
        let is_leaf = self.own.file_name().is_some_and(|name| name == OWN_LEAF);
        let is_plain = kind.trim() == "domain";
        let members = members(self.own).unwrap_or_default();
        if is_plain
            && !is_leaf
            && may_divide(self.own)
            && members.iter().all(|it| (self.is_own)(*it))
        {
            return Ok(GroupPlace::Own(self.own.to_owned()));
        }
        let above = self.own.parent().filter(|above| above.starts_with(self.mount));
        let is_divided = |group: &Path| {
            has_all(&group.join("cgroup.subtree_control"))
                && self::members(group).is_ok_and(|members| members.is_empty())
        };
        match above {
            Some(above)
                if is_divided(above) && may_divide(above) && (is_leaf || self.is_unlimited()) =>
            {
                Ok(GroupPlace::Above(above.to_owned()))
            }
            _ => Err(NoControlGroup::NotDelegated),
        }
    }

    fn is_unlimited(&self) -> bool {
        LIMITS.iter().all(|file| match fs::read_to_string(self.own.join(file)) {
            Ok(limit) => limit.starts_with(UNLIMITED),
            // A controller that is not handed down to it limits nothing.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        })
    }
}

impl GroupPlace {
    /// Makes it ready, and gives the folder in which groups are made.
    pub(super) fn prepare(self) -> io::Result<PathBuf> {
        match self {
            GroupPlace::Above(group) => Ok(group),
            GroupPlace::Root(group) => {
                hand_down(&group)?;
                Ok(group)
            }
            GroupPlace::Own(group) => {
                move_members(&group)?;
                hand_down(&group)?;
                Ok(group)
            }
        }
    }
}

/// Moves all processes of a group to one below.
fn move_members(group: &Path) -> io::Result<()> {
    let leaf = group.join(OWN_LEAF);
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for _ in 0..ROUNDS {
        let members = members(group)?;
        if members.is_empty() {
            return Ok(());
        }
        for member in members {
            // One that has just ended is no failure; others are seen in the next round.
            _ = write_setting(&leaf.join("cgroup.procs"), &member.to_string());
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Lets groups below have limits of their own.
fn hand_down(group: &Path) -> io::Result<()> {
    let file = group.join("cgroup.subtree_control");
    match has_all(&file) {
        true => Ok(()),
        false => write_setting(&file, &CONTROLLERS.map(|name| format!("+{name}")).join(" ")),
    }
}

fn has_all(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    CONTROLLERS.iter().all(|name| text.split_ascii_whitespace().any(|word| word == *name))
}

fn members(group: &Path) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(group.join("cgroup.procs"))?;
    // A process that can't be seen from here has the number 0, and is nobody's of ours.
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Writes to a file of a group, in one piece. It is never made: the kernel has it, or not.
pub(super) fn write_setting(file: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes())
}

/// Where this process is among the groups of version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnTree {
    pub(super) mount: PathBuf,
    pub(super) group: PathBuf,
}

pub(super) fn own_tree() -> Option<OwnTree> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    tree_in(&groups, &mounts)
}

/// The line of version 2 is `0::/path`; that of a mount is
/// `36 35 0:30 /root /place rw,noatime shared:1 - cgroup2 cgroup2 rw`.
pub(super) fn tree_in(groups: &str, mounts: &str) -> Option<OwnTree> {
    let path = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        if behind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, mount) = (fields.next()?, PathBuf::from(fields.next()?));
        // A group that is not below what is mounted can't be reached.
        let group = path.strip_prefix(root).ok()?;
        // `join` with nothing would end the path with a slash.
        let group = if group.as_os_str().is_empty() { mount.clone() } else { mount.join(group) };
        Some(OwnTree { mount, group })
    })
}
