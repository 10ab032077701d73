//! The Landlock rules: which files a program may reach.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, Scope, make_bitflags,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};

use crate::launch::{LaunchSpec, SystemView, WrittenPrograms};
use crate::options::NetworkAccess;

use super::system_paths;
use super::system_view::OwnProc;

/// The newest version whose rights are known here; older kernels keep to fewer.
const KNOWN: ABI = ABI::V9;

type AccessRights = BitFlags<AccessFs>;

const READ: AccessRights = make_bitflags!(AccessFs::{ReadFile | ReadDir});

const EXECUTE: AccessRights = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});

/// No execution, so that nothing that was written is run, unless a skill asks for it; no devices.
const WRITE: AccessRights = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | Refer | RemoveDir | RemoveFile
    | MakeDir | MakeReg | MakeSym | MakeSock | MakeFifo
});

const DEVICE: AccessRights = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});

/// How a path is opened.
#[derive(Clone, Copy)]
enum Links {
    /// The system's own paths are full of links, and only root changes them.
    Followed,
    /// Other paths had their links resolved when they were checked. One that has
    /// come since leads somewhere that nobody checked.
    Refused,
}

/// Confines this process, and gives Landlock's version; `None` where the kernel
/// has none.
pub(crate) fn restrict(spec: &LaunchSpec, proc: OwnProc) -> Result<Option<u32>, RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if spec.network == NetworkAccess::Refused {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut rules = LandlockRules(ruleset.create()?);
    for (paths, access) in [
        (system_paths::PROGRAMS.as_slice(), EXECUTE),
        (&system_paths::SETTINGS, READ),
        (&system_paths::RANDOMNESS, READ),
        (&system_paths::DEVICES, DEVICE),
    ] {
        for path in paths {
            rules = rules.allow(path.as_ref(), access, Links::Followed)?;
        }
    }
    if spec.view == SystemView::Own {
        rules = rules.allow(system_paths::ZERO.as_ref(), DEVICE, Links::Followed)?;
    }
    if proc == OwnProc::Mounted {
        // It shows the program's own processes only, and can't be written.
        rules = rules.allow("/proc".as_ref(), READ, Links::Followed)?;
    }
    let write = match spec.written {
        WrittenPrograms::Refused => WRITE,
        WrittenPrograms::Executed => WRITE | AccessFs::Execute,
    };
    for (paths, access) in [(&spec.read, READ), (&spec.execute, EXECUTE), (&spec.write, write)] {
        for path in paths {
            rules = rules.allow(path, access, Links::Refused)?;
        }
    }
    Ok(version(&rules.0.restrict_self()?))
}

/// Landlock's version on this kernel, found out by a thread that confines itself
/// and ends: what is announced might still be forbidden.
pub(super) fn probe() -> Option<u32> {
    let confine = || -> Result<_, RulesetError> {
        let ruleset = Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?;
        Ok(version(&ruleset.restrict_self()?))
    };
    std::thread::spawn(confine).join().ok()?.ok()?
}

fn version(status: &RestrictionStatus) -> Option<u32> {
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

struct LandlockRules(RulesetCreated);

impl LandlockRules {
    /// What is not there, or no longer, gets no rule.
    fn allow(self, path: &Path, access: AccessRights, links: Links) -> Result<Self, RulesetError> {
        let Some((opened, kind)) = open_path(path, links) else { return Ok(self) };
        let access = match kind {
            FileType::Directory => access,
            _ => access & AccessFs::from_file(KNOWN),
        };
        self.0.add_rule(PathBeneath::new(opened, access)).map(LandlockRules)
    }
}

fn open_path(path: &Path, links: Links) -> Option<(OwnedFd, FileType)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match links {
        Links::Followed => open(path, flags, Mode::empty()),
        Links::Refused => openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS),
    };
    let opened = opened.ok()?;
    let kind = FileType::from_raw_mode(fstat(&opened).ok()?.st_mode);
    Some((opened, kind))
}
