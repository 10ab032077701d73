//! Works out which paths a program may reach, from the workspace and what a person
//! granted.
//!
//! Landlock can only allow, and what it allows for a folder it allows for all
//! that is in it. So a folder that holds something protected is not writable
//! itself; what is in it is looked at piece by piece. In such a folder, and the
//! workspace's top is always one, programs can change what is there and not
//! protected, but can't add or remove anything.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::launch::WrittenPrograms;
use crate::options::{Grants, NetworkAccess, ProtectedPath};

use super::{Confinement, ResourceLimits};

/// Names at the top of the workspace that say what the agent is, in lower case.
/// What it remembers is among them: a program that puts a link there would have
/// Recto read what the program itself can't.
pub(crate) const WHAT_IT_IS: [&str; 11] = [
    "soul.md",
    "agents.md",
    "identity.md",
    "user.md",
    "tools.md",
    "skills",
    "agents",
    "rules",
    "references",
    "memory",
    ".recto",
];

/// Entries of one folder that are looked at. What comes after is not writable, which
/// [`OMITTED`](super::OMITTED) says.
const MAX_ENTRIES: usize = 4096;

/// Paths that are granted one by one, in all.
const MAX_PATHS: usize = 16_384;

/// Folders that no program needs to name to be started from them.
const FOR_ALL: [&str; 4] = ["/usr", "/bin", "/sbin", "/nix/store"];

/// The inputs that decide how far a program reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) workspace: &'a Path,
    /// What must stay as it is, whether it is there or not.
    pub(crate) protected: &'a [ProtectedPath],
    /// Real paths that can't be read either, nor written.
    pub(crate) private: &'a [PathBuf],
    /// Absolute paths of files that Recto locks, whether they are there or not.
    pub(crate) locks: &'a [PathBuf],
    /// What a person granted beyond the workspace; its network is not looked at.
    pub(crate) grants: &'a Grants,
    /// Whether the network is asked for and granted.
    pub(crate) network: NetworkAccess,
    /// The program's own folder for this call.
    pub(crate) temp: &'a Path,
    /// The program, by the path that it is started by.
    pub(crate) program: &'a Path,
    /// Single files that the call is to write.
    pub(crate) extra_write: &'a [PathBuf],
    /// What else may be executed, such as a script.
    pub(crate) execute: &'a [PathBuf],
    /// Whether it changes anything but its own folder for this call.
    pub(crate) changes: FileChanges,
    /// Whether what may be written may also be executed.
    pub(crate) written: WrittenPrograms,
}

/// Whether a program may change files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileChanges {
    /// Those of the workspace, and what was granted.
    Allowed,
    /// None, as its declaration says.
    None,
}

impl Bounds<'_> {
    /// Looks at the disk and gives what the program may reach.
    pub(crate) fn confinement(&self) -> Confinement {
        let (protected, private) = (self.protected(), self.private.to_vec());
        let mut found = AllowedPaths { protected, private, ..AllowedPaths::default() };
        // Of what is granted for writing maybe only a part can be written; all can still be read.
        let granted = self.grants.read.iter().chain(&self.grants.write).map(PathBuf::as_path);
        for path in [self.workspace].into_iter().chain(granted) {
            if let Ok(path) = fs::canonicalize(path) {
                found.allow_reading(&path);
            }
        }
        for path in [self.program].into_iter().chain(self.execute.iter().map(PathBuf::as_path)) {
            self.allow_execution(path, &mut found);
        }
        found.write.extend(fs::canonicalize(self.temp));
        if self.changes == FileChanges::Allowed {
            self.allow_changes(&mut found);
        }
        let AllowedPaths { read, write, execute, omits_writable, .. } = found;
        let can_be_opened =
            |path: &PathBuf| read.iter().chain(&write).any(|allowed| path.starts_with(allowed));
        let locks = self.locks.iter().map(|path| without_links(path));
        let hidden = locks.filter(can_be_opened).collect();
        Confinement {
            read: without_repeats(read),
            write: without_repeats(write),
            execute: without_repeats(execute),
            hidden: without_repeats(hidden),
            written: self.written,
            omits_writable,
            network: self.network,
            resources: ResourceLimits::default(),
        }
    }

    fn allow_changes(&self, found: &mut AllowedPaths) {
        for path in self.extra_write {
            found.allow_file(path);
        }
        if let Ok(workspace) = fs::canonicalize(self.workspace) {
            found.allow_inside(&workspace);
        }
        for path in &self.grants.write {
            if let Ok(path) = fs::canonicalize(path) {
                found.allow_writing(&path);
            }
        }
    }

    /// All that must stay as it is, as given and with links resolved.
    fn protected(&self) -> Vec<ProtectedPath> {
        let own = WHAT_IT_IS.iter().map(|name| self.workspace.join(name).into());
        let private = self.private.iter().cloned().map(ProtectedPath::from);
        let given = self.protected.iter().cloned().chain(own).chain(private);
        let both = given.flat_map(|ProtectedPath { path, open }| {
            let open: Vec<PathBuf> = open.iter().map(|path| without_links(path)).collect();
            [without_links(&path), path].map(|path| ProtectedPath { path, open: open.clone() })
        });
        without_repeats(both.collect())
    }

    /// A program outside the system's folders brings what it is made of: what
    /// lies beside it, and the libraries where these usually are. A folder that
    /// holds the person's or Recto's own things is none of that.
    fn allow_execution(&self, path: &Path, found: &mut AllowedPaths) {
        let Ok(path) = fs::canonicalize(path) else { return };
        if FOR_ALL.iter().any(|folder| path.starts_with(folder)) {
            return;
        }
        if let Some(folder) = path.parent() {
            let mut readable = vec![folder.to_owned()];
            if folder.file_name() == Some(OsStr::new("bin")) {
                readable
                    .extend(["lib", "lib64", "libexec"].map(|name| folder.with_file_name(name)));
            }
            readable.retain(|folder| folder.is_dir() && !self.is_private(folder, found));
            found.read.extend(readable.iter().filter_map(|folder| fs::canonicalize(folder).ok()));
        }
        found.execute.push(path);
    }

    fn is_private(&self, folder: &Path, found: &AllowedPaths) -> bool {
        let home = std::env::home_dir();
        let own = [self.workspace, self.temp].into_iter().chain(home.as_deref());
        let is_home = folder.parent().is_none_or(|above| above == Path::new("/home"));
        is_home
            || own.into_iter().any(|path| path.starts_with(folder))
            || found.protected.iter().any(|it| it.path != folder && it.path.starts_with(folder))
    }
}

#[derive(Default)]
struct AllowedPaths {
    protected: Vec<ProtectedPath>,
    private: Vec<PathBuf>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    execute: Vec<PathBuf>,
    /// Whether there was more to write than is granted one by one.
    omits_writable: bool,
}

impl AllowedPaths {
    /// Allows reading what is at a real path. A folder that holds something private is not read
    /// itself, and neither are its entries beyond what is looked at.
    fn allow_reading(&mut self, path: &Path) {
        let is_inside = |private: &PathBuf| path.starts_with(private);
        if self.read.len() >= MAX_PATHS || self.private.iter().any(is_inside) {
            return;
        }
        if !self.private.iter().any(|private| private.starts_with(path)) {
            self.read.push(path.to_owned());
            return;
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        let mut entries: Vec<_> = entries.flatten().take(MAX_ENTRIES).filter(is_own).collect();
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            self.allow_reading(&entry.path());
        }
    }

    /// Allows a file that a call names, if it is one and not protected.
    fn allow_file(&mut self, path: &Path) {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return };
        let Ok(folder) = fs::canonicalize(folder) else { return };
        let path = folder.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if is_file && !self.is_protected(&path) {
            self.write.push(path);
        }
    }

    /// Allows what is at a real path, as far as nothing in it is protected.
    fn allow_writing(&mut self, path: &Path) {
        if self.is_protected(path) {
            self.allow_open(path);
            return;
        }
        if self.write.len() >= MAX_PATHS {
            self.omits_writable = true;
            return;
        }
        match self.holds_protected(path) {
            true => self.allow_inside(path),
            false => self.write.push(path.to_owned()),
        }
    }

    /// Allows the entries of a folder, but not to change which there are.
    fn allow_inside(&mut self, folder: &Path) {
        if self.is_protected(folder) {
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut all = entries.flatten();
        let mut entries: Vec<_> = all.by_ref().take(MAX_ENTRIES).filter(is_own).collect();
        self.omits_writable |= all.any(|entry| is_own(&entry));
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            self.allow_writing(&entry.path());
        }
    }

    /// Allows what is open in a protected folder.
    fn allow_open(&mut self, folder: &Path) {
        let open = self.protected.iter().flat_map(|it| &it.open);
        let inside = open.filter(|path| path.starts_with(folder) && *path != folder);
        for path in inside.cloned().collect::<Vec<_>>() {
            if !self.is_protected(&path) && path.exists() {
                self.allow_writing(&path);
            }
        }
    }

    fn holds_protected(&self, folder: &Path) -> bool {
        self.protected.iter().any(|it| it.path.starts_with(folder))
    }

    /// Whether it is something protected, in it, or a companion such as the
    /// journal beside a database.
    fn is_protected(&self, path: &Path) -> bool {
        let is_open = |it: &ProtectedPath| it.open.iter().any(|open| path.starts_with(open));
        self.protected.iter().any(|it| covers(&it.path, path) && !is_open(it))
    }
}

fn covers(guarded: &Path, path: &Path) -> bool {
    let Some((above, name)) = guarded.parent().zip(guarded.file_name()) else {
        return path.starts_with(guarded);
    };
    let Ok(below) = path.strip_prefix(above) else { return false };
    let Some(next) = below.components().next() else { return false };
    let (next, name) = (next.as_os_str().as_bytes(), name.as_bytes());
    // Some file systems take `Soul.MD` for SOUL.md.
    let (start, rest) = next.split_at(next.len().min(name.len()));
    start.eq_ignore_ascii_case(name) && rest.first().is_none_or(|byte| *byte == b'-')
}

/// Files and folders; not links, which lead who knows where, and not what other
/// processes listen at.
fn is_own(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir())
}

/// The most links to nothing that are followed behind each other.
const MAX_LINKS: usize = 40;

/// The path with its links resolved, as far as it is there.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    follow_links(path, MAX_LINKS)
}

/// Links that lead to nothing are followed as well: who writes there makes what they lead to.
fn follow_links(path: &Path, left: usize) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let Some((above, name)) = path.parent().zip(path.file_name()) else { return path.to_owned() };
    let above = follow_links(above, left);
    let place = above.join(name);
    match fs::read_link(&place) {
        Ok(target) if left > 0 => follow_links(&above.join(target), left - 1),
        _ => place,
    }
}

fn without_repeats<T: Ord>(mut paths: Vec<T>) -> Vec<T> {
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests;
