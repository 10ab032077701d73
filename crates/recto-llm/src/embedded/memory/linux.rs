//! What Linux says about memory. Reads through a function that is given, so that the parsing can
//! be tried on texts.

/// A file's text, if it can be read.
pub(super) type ReadText<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the kernel has available, or what is left in a control group if that is less.
pub(super) fn available(read: ReadText<'_>) -> Option<u64> {
    let machine = read("/proc/meminfo").and_then(|text| machine_memory(&text));
    let groups = read("/proc/self/cgroup").and_then(|text| group_memory(&text, read));
    match (machine, groups) {
        (Some(machine), Some(groups)) => Some(machine.min(groups)),
        (machine, groups) => machine.or(groups),
    }
}

/// The line `MemAvailable:   23540528 kB`.
fn machine_memory(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The files of a control group, of which there are two versions.
struct CgroupFiles {
    mounts: &'static [&'static str],
    limit: &'static str,
    used: &'static str,
    /// Where it stands in `memory.stat`: file contents that the kernel would drop.
    cached: [&'static str; 2],
}

const FIRST: CgroupFiles = CgroupFiles {
    mounts: &["/sys/fs/cgroup/memory"],
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
};

const SECOND: CgroupFiles = CgroupFiles {
    // The second stands where both versions are in use.
    mounts: &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
    limit: "memory.max",
    used: "memory.current",
    cached: ["inactive_file", "active_file"],
};

/// The least that is left in any of the groups that the lines of `/proc/self/cgroup` name, and in
/// those above them. None where there are no limits.
fn group_memory(groups: &str, read: ReadText<'_>) -> Option<u64> {
    let lefts = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if controllers.is_empty() {
            SECOND.left(path, read)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            FIRST.left(path, read)
        } else {
            None
        }
    });
    lefts.min()
}

impl CgroupFiles {
    fn left(&self, path: &str, read: ReadText<'_>) -> Option<u64> {
        let places = self
            .mounts
            .iter()
            .flat_map(|mount| upwards(path).map(move |group| format!("{mount}{group}")));
        places.filter_map(|folder| self.left_in(&folder, read)).min()
    }

    fn left_in(&self, folder: &str, read: ReadText<'_>) -> Option<u64> {
        let number = |name| read(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
        // Without a limit there is the word `max`, or a number near the largest.
        let limit = number(self.limit).filter(|limit| *limit < 1 << 60)?;
        let used = number(self.used)?;
        let stat = read(&format!("{folder}/memory.stat")).unwrap_or_default();
        // A model that was read before is still there, and counts as used.
        let cached = stat.lines().filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            self.cached.contains(&name).then(|| value.trim().parse::<u64>().ok())?
        });
        let cached = cached.fold(0_u64, u64::saturating_add);
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    }
}

/// `/a/b`, `/a` and the empty path. A group outside of what is visible here begins with `/..`:
/// of that one only the top is tried.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    let path = if path.split('/').any(|part| part == "..") { "" } else { path };
    let first = path.trim_end_matches('/');
    std::iter::successors(Some(first), |path| path.rfind('/').map(|end| &path[..end]))
}
