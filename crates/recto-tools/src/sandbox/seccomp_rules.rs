//! The seccomp filters: which system calls a program may make.
//!
//! What is not named here is allowed. Refused are calls that lead out of the
//! process group, past Landlock or onto the network, into other processes, and
//! into the kernel's more daring parts.
//!
//! Landlock says nothing about modes, owners and times of files, neither by path nor
//! through a file that is open for reading only. Where a program has a view of its own,
//! the mounts hold it back: it changes those of files that it may write, except that
//! none becomes one that runs as its owner or that everybody writes. Elsewhere it
//! changes none, and some everyday programs complain. In both views no file is made as
//! such a one.
//!
//! Memory is counted by looking at processes; what can't be seen there is refused.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::launch::SystemView;
use crate::options::NetworkAccess;

/// Landlock's version that knows of cutting a file short.
const KNOWS_TRUNCATE: u32 = 3;

/// Families of sockets where the network is granted. Netlink serves to look up
/// addresses. Not the local ones: behind some of them, such as Docker's, stands
/// somebody who does whatever they are asked.
const FAMILIES: [c::c_int; 3] = [c::AF_INET, c::AF_INET6, c::AF_NETLINK];

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts this process; false where the kernel or the processor can't.
pub(crate) fn restrict(
    network: NetworkAccess,
    landlock: Option<u32>,
    view: SystemView,
) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    for filter in filters(network, landlock, view, arch)? {
        match apply_filter(&filter) {
            Ok(()) => {}
            Err(error) if is_missing(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The filters, in the order in which they are put on.
fn filters(
    network: NetworkAccess,
    landlock: Option<u32>,
    view: SystemView,
    arch: TargetArch,
) -> Result<Vec<BpfProgram>, BackendError> {
    let refused = program(refused(network, landlock, view)?, c::EPERM, arch)?;
    let missing = program(missing(view), c::ENOSYS, arch)?;
    let unsupported = program(unsupported(), c::EOPNOTSUPP, arch)?;
    let unfit = program(unfit(), c::EINVAL, arch)?;
    let pretended = program(pretended()?, SUCCESS, arch)?;
    // The last one says that there are no filters, and so it is the last.
    let answered = [refused, unsupported, unfit, pretended].map(Some);
    let filters = answered.into_iter().chain([other_numbers(arch), Some(missing)]);
    Ok(filters.flatten().collect())
}

/// Whether this kernel takes such filters, found out by a thread that ends then.
pub(super) fn probe() -> bool {
    let restrict = || {
        let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
        apply_filter(&program(SyscallRules::from([(c::SYS_reboot, vec![])]), c::EPERM, arch).ok()?)
            .ok()
    };
    std::thread::spawn(restrict).join().is_ok_and(|restricted| restricted.is_some())
}

fn is_missing(error: &seccompiler::Error) -> bool {
    let (seccompiler::Error::Prctl(cause) | seccompiler::Error::Seccomp(cause)) = error else {
        return false;
    };
    matches!(cause.raw_os_error(), Some(c::ENOSYS | c::EINVAL))
}

fn program(
    rules: SyscallRules,
    errno: c::c_int,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

/// Calls that give "not permitted".
fn refused(
    network: NetworkAccess,
    landlock: Option<u32>,
    view: SystemView,
) -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules = ALWAYS.iter().map(|call| (*call, vec![])).collect();
    rules.extend(OLD.iter().map(|call| (*call, vec![])));
    // Namespaces, which would be a way around; and a child that is not its own.
    let flags = NAMESPACES.iter().chain(&[c::CLONE_PARENT]);
    let flags = flags.map(|flag| rule([has(0, u64::from(flag.unsigned_abs()))?]));
    let mut clones = flags.collect::<Result<Vec<_>, _>>()?;
    // A thread with files of its own: they would be seen, and counted, at nobody.
    let shares_files = bits(c::CLONE_THREAD | c::CLONE_FILES);
    clones.push(rule([masked(0, shares_files, bits(c::CLONE_THREAD))?])?);
    rules.insert(c::SYS_clone, clones);
    rules.insert(c::SYS_close_range, vec![rule([has(2, CLOSE_RANGE_UNSHARE)?])?]);
    // All processes at once, and the limits of others.
    rules.insert(c::SYS_kill, vec![rule([is(0, MINUS_ONE)?])?]);
    rules.insert(c::SYS_prlimit64, vec![rule([is_not(0, 0)?])?]);
    let requests = REQUESTS.iter().map(|request| rule([is(1, *request)?]));
    rules.insert(c::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    match view {
        SystemView::Own => close_modes(&mut rules)?,
        SystemView::Shared => rules.extend(METADATA.iter().map(|call| (*call, vec![]))),
    }
    // How much of the processor others get: the process that asks, and no other.
    for OfOthers { call, which, process, whose } in OF_OTHERS {
        let mut others = vec![rule([is_not(*whose, 0)?])?];
        if let Some(which) = which {
            others.push(rule([is_not(*which, *process)?])?);
        }
        rules.insert(*call, others);
    }
    rules.insert(c::SYS_socketpair, datagram_pairs()?);
    close_uncounted(&mut rules)?;
    match network {
        NetworkAccess::Granted => {
            let other = FAMILIES.iter().map(|family| is_not(0, u64::from(family.unsigned_abs())));
            let other = SeccompRule::new(other.collect::<Result<_, _>>()?)?;
            rules.insert(c::SYS_socket, vec![other]);
        }
        NetworkAccess::Refused => close_network(&mut rules)?,
    }
    close_creation(&mut rules)?;
    if landlock.is_none_or(|version| version < KNOWS_TRUNCATE) {
        rules.insert(c::SYS_truncate, vec![]);
        let (mask, truncates) = (bits(c::O_ACCMODE | c::O_TRUNC), bits(c::O_TRUNC));
        for (call, flags) in OPENING {
            let cut = rule([masked(*flags, mask, truncates)?])?;
            rules.entry(*call).or_default().push(cut);
        }
    }
    Ok(rules)
}

/// Refuses to make a file that runs as its owner or its group.
fn close_creation(rules: &mut SyscallRules) -> Result<(), BackendError> {
    for (call, mode) in MAKING {
        let refused = RUNS_AS_OWNER.map(|bits| rule([has(*mode, bits)?]));
        rules.entry(*call).or_default().extend(refused.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    for (call, flags) in OPENING {
        for makes in [bits(c::O_CREAT), bits(c::O_TMPFILE)] {
            // The mode follows the flags. Where no file is made it is anything.
            let refused =
                RUNS_AS_OWNER.map(|mode| rule([has(*flags, makes)?, has(flags + 1, mode)?]));
            let refused = refused.into_iter().collect::<Result<Vec<_>, _>>()?;
            rules.entry(*call).or_default().extend(refused);
        }
    }
    Ok(())
}

/// Refuses modes by which a file runs as its owner, or is written by everybody.
fn close_modes(rules: &mut SyscallRules) -> Result<(), BackendError> {
    for (call, mode) in MODES {
        let [as_owner, as_group] = RUNS_AS_OWNER;
        let refused = [as_owner, as_group, OTHERS_WRITE].map(|bits| rule([has(*mode, bits)?]));
        rules.insert(*call, refused.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// Refuses memory that no process is seen to have: shared without a name, of which pages stay when
/// they are mapped no more, and pipes and sockets that hold more than usual. Of the call that makes
/// pipes larger also what reaches others: a lease on a file, for which whoever opens it has to wait,
/// and news of what others do in a folder.
fn close_uncounted(rules: &mut SyscallRules) -> Result<(), BackendError> {
    rules.insert(c::SYS_mmap, vec![rule([has(3, bits(c::MAP_SHARED | c::MAP_ANONYMOUS))?])?]);
    let commands = [c::F_SETPIPE_SZ, c::F_SETLEASE, c::F_NOTIFY];
    let commands = commands.map(|command| rule([is(1, bits(command))?]));
    rules.insert(c::SYS_fcntl, commands.into_iter().collect::<Result<_, _>>()?);
    rules.insert(c::SYS_vmsplice, vec![]);
    let sizes = [c::SO_SNDBUF, c::SO_RCVBUF, c::SO_SNDBUFFORCE, c::SO_RCVBUFFORCE];
    let sizes = sizes.map(|size| rule([is(1, bits(c::SOL_SOCKET))?, is(2, bits(size))?]));
    rules.insert(c::SYS_setsockopt, sizes.into_iter().collect::<Result<_, _>>()?);
    Ok(())
}

/// No socket of any family: local ones lead to other programs that would do the
/// work. What is left are pairs that are connected to each other for good; a pair
/// for datagrams could still send elsewhere.
fn close_network(rules: &mut SyscallRules) -> Result<(), BackendError> {
    for call in [c::SYS_socket, c::SYS_connect, c::SYS_bind, c::SYS_listen] {
        rules.insert(call, vec![]);
    }
    let other_family = rule([is_not(0, u64::from(c::AF_UNIX.unsigned_abs()))?])?;
    rules.entry(c::SYS_socketpair).or_default().push(other_family);
    Ok(())
}

/// Pairs that could send to other local sockets than each other.
fn datagram_pairs() -> Result<Vec<SeccompRule>, BackendError> {
    let kind = |kind: c::c_int| rule([masked(1, 0xf, u64::from(kind.unsigned_abs()))?]);
    Ok(vec![kind(c::SOCK_DGRAM)?, kind(c::SOCK_RAW)?])
}

/// Calls that are said not to exist, so that programs take the older way.
fn missing(view: SystemView) -> SyscallRules {
    // `clone3` and `openat2` hide their flags and modes from the filter. A file in
    // memory counts for no limit and may be executed. Rules of Landlock are memory that
    // no process is seen to have, and so are filters; this process has set its own. The kernel
    // counts those who wait for news of files for all that the user runs, and here nobody gets any.
    let mut calls = vec![
        c::SYS_clone3,
        c::SYS_openat2,
        c::SYS_memfd_create,
        c::SYS_memfd_secret,
        c::SYS_landlock_create_ruleset,
        c::SYS_landlock_add_rule,
        c::SYS_landlock_restrict_self,
        c::SYS_seccomp,
        c::SYS_inotify_init1,
        #[cfg(target_arch = "x86_64")]
        c::SYS_inotify_init,
    ];
    if view == SystemView::Shared {
        // A lock on a file that can only be read would keep others from theirs. In a
        // view of its own the program does not see Recto's.
        calls.push(c::SYS_flock);
    }
    calls.into_iter().map(|call| (call, vec![])).collect()
}

/// Calls that are answered as by a file system that does not know such things, which
/// programs that copy files are used to.
fn unsupported() -> SyscallRules {
    ATTRIBUTES.iter().map(|call| (*call, vec![])).collect()
}

/// Calls that are answered as if they could not be done with these files: programs that copy then
/// read and write. Each puts pages of a file into a pipe or a socket without a copy. What waits
/// there keeps all of the block of memory in which it lies, also when the file is cut short, and
/// of that no process is seen to have anything.
fn unfit() -> SyscallRules {
    [c::SYS_splice, c::SYS_tee, c::SYS_sendfile].into_iter().map(|call| (call, vec![])).collect()
}

/// Calls that are answered as if they had been done. A mask that would let files be written by
/// everybody: the old one stays. Programs also ask in this way what it is, and go on
/// with one that does. A filter of a program's own: `file` and `man` end without theirs, and what it
/// would hold them back from is refused to them here.
fn pretended() -> Result<SyscallRules, BackendError> {
    let mask = rule([masked(0, OTHERS_WRITE, 0)?])?;
    let filter = rule([is(0, PR_SET_SECCOMP)?])?;
    Ok(SyscallRules::from([(c::SYS_umask, vec![mask]), (c::SYS_prctl, vec![filter])]))
}

/// Closes the second set of numbers that calls have on x86-64, all of them.
fn other_numbers(arch: TargetArch) -> Option<BpfProgram> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    (arch == TargetArch::x86_64).then(|| {
        vec![
            step(LOAD, 0, 0),
            step(JUMP_IF_AT_LEAST, 1, 0x4000_0000),
            step(RETURN, 0, SeccompAction::Errno(c::ENOSYS.unsigned_abs()).into()),
            step(RETURN, 0, SeccompAction::Allow.into()),
        ]
    })
}

fn bits(flags: c::c_int) -> u64 {
    u64::from(flags.unsigned_abs())
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// All of these bits are set.
fn has(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    masked(argument, bits, bits)
}

/// The bits of this mask have this value.
fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), value)
}

/// A call that sets how a process is run, and how its arguments say which.
struct OfOthers {
    call: c::c_long,
    /// The argument that says whether a process, a group or a user is meant, if there is
    /// one, and the value for a process.
    which: Option<u8>,
    process: u64,
    /// The argument with the number; 0 is the one that asks.
    whose: u8,
}

const OF_OTHERS: &[OfOthers] = &[
    OfOthers { call: c::SYS_setpriority, which: Some(0), process: 0, whose: 1 },
    OfOthers { call: c::SYS_ioprio_set, which: Some(0), process: 1, whose: 1 },
    OfOthers { call: c::SYS_sched_setaffinity, which: None, process: 0, whose: 0 },
    OfOthers { call: c::SYS_sched_setattr, which: None, process: 0, whose: 0 },
    OfOthers { call: c::SYS_sched_setparam, which: None, process: 0, whose: 0 },
    OfOthers { call: c::SYS_sched_setscheduler, which: None, process: 0, whose: 0 },
];

/// The bits of a mode by which a file runs as its owner, and as its group.
const RUNS_AS_OWNER: [u64; 2] = [0o4000, 0o2000];

/// The bit of a mode by which everybody writes a file.
const OTHERS_WRITE: u64 = 0o002;

/// What a call that is not made gives all the same.
const SUCCESS: c::c_int = 0;

/// Calls that open files, and may make them, with the argument that is their flags.
const OPENING: &[(c::c_long, u8)] = &[
    (c::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (c::SYS_open, 1),
];

/// Calls that make files and folders, with the argument that is their mode.
const MAKING: &[(c::c_long, u8)] = &[
    (c::SYS_mkdirat, 2),
    (c::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (c::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (c::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (c::SYS_creat, 1),
];

/// Calls that set a mode, with the argument that it is.
const MODES: &[(c::c_long, u8)] = &[
    (c::SYS_fchmod, 1),
    (c::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (c::SYS_chmod, 1),
];

/// Calls that set modes, owners and times, all of them.
const METADATA: &[c::c_long] = &[
    c::SYS_fchmod,
    c::SYS_fchmodat,
    SYS_FCHMODAT2,
    c::SYS_fchown,
    c::SYS_fchownat,
    c::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    c::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    c::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    c::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    c::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    c::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    c::SYS_futimesat,
];

/// Calls that change attributes of files, also of one that is open for reading only.
const ATTRIBUTES: &[c::c_long] = &[
    c::SYS_setxattr,
    c::SYS_lsetxattr,
    c::SYS_fsetxattr,
    SYS_SETXATTRAT,
    c::SYS_removexattr,
    c::SYS_lremovexattr,
    c::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

const CLOSE_RANGE_UNSHARE: u64 = 2;
const PR_SET_SECCOMP: u64 = 22;
const MINUS_ONE: u64 = 0xffff_ffff;

/// Requests of `ioctl`: keys put into a terminal's input; and what changes files, folders and
/// volumes of which the caller has no more than one that is open for reading.
const REQUESTS: [u64; 16] = [
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x4004_7211, // FAT_IOCTL_SET_ATTRIBUTES
    0x4008_941a, // BTRFS_IOC_SUBVOL_SETFLAGS
    0xc0c8_9425, // BTRFS_IOC_SET_RECEIVED_SUBVOL
    0x5000_940e, // BTRFS_IOC_SUBVOL_CREATE
    0x5000_9418, // BTRFS_IOC_SUBVOL_CREATE_V2
    0x5000_9401, // BTRFS_IOC_SNAP_CREATE
    0x5000_9417, // BTRFS_IOC_SNAP_CREATE_V2
    0x5000_940f, // BTRFS_IOC_SNAP_DESTROY
    0x5000_943f, // BTRFS_IOC_SNAP_DESTROY_V2
];

const NAMESPACES: [c::c_int; 7] = [
    c::CLONE_NEWNS,
    c::CLONE_NEWCGROUP,
    c::CLONE_NEWUTS,
    c::CLONE_NEWIPC,
    c::CLONE_NEWUSER,
    c::CLONE_NEWPID,
    c::CLONE_NEWNET,
];

/// Refused whatever is granted.
const ALWAYS: &[c::c_long] = &[
    // Out of the process group.
    c::SYS_setsid,
    c::SYS_setpgid,
    // Into other processes.
    c::SYS_ptrace,
    c::SYS_process_vm_readv,
    c::SYS_process_vm_writev,
    c::SYS_process_madvise,
    c::SYS_pidfd_getfd,
    c::SYS_kcmp,
    // Another view of the file system.
    c::SYS_mount,
    c::SYS_umount2,
    c::SYS_pivot_root,
    c::SYS_chroot,
    c::SYS_move_mount,
    c::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    c::SYS_fsopen,
    c::SYS_fsconfig,
    c::SYS_fsmount,
    c::SYS_fspick,
    c::SYS_mount_setattr,
    c::SYS_open_by_handle_at,
    c::SYS_unshare,
    c::SYS_setns,
    // What others do with their files.
    c::SYS_inotify_add_watch,
    c::SYS_fanotify_mark,
    // Memory and messages that outlive the program, or belong to others: also by their
    // numbers, which nobody has to be told.
    c::SYS_shmget,
    c::SYS_shmat,
    c::SYS_shmctl,
    c::SYS_semget,
    c::SYS_semop,
    c::SYS_semtimedop,
    c::SYS_semctl,
    c::SYS_msgget,
    c::SYS_msgsnd,
    c::SYS_msgrcv,
    c::SYS_msgctl,
    c::SYS_mq_open,
    c::SYS_mq_unlink,
    // Keys of the kernel.
    c::SYS_add_key,
    c::SYS_request_key,
    c::SYS_keyctl,
    // The kernel itself, and the machine; requests for files are counted for all of it.
    c::SYS_io_uring_setup,
    c::SYS_io_setup,
    c::SYS_bpf,
    c::SYS_perf_event_open,
    c::SYS_userfaultfd,
    c::SYS_fanotify_init,
    c::SYS_init_module,
    c::SYS_finit_module,
    c::SYS_delete_module,
    c::SYS_kexec_load,
    #[cfg(not(target_arch = "riscv64"))]
    c::SYS_kexec_file_load,
    c::SYS_reboot,
    c::SYS_swapon,
    c::SYS_swapoff,
    c::SYS_acct,
    c::SYS_quotactl,
    c::SYS_syslog,
    c::SYS_settimeofday,
    c::SYS_clock_settime,
    c::SYS_clock_adjtime,
    c::SYS_adjtimex,
    c::SYS_sethostname,
    c::SYS_setdomainname,
    c::SYS_vhangup,
];

/// Calls newer than their names in the crate; new calls have one number everywhere.
const SYS_FCHMODAT2: c::c_long = 452;
const SYS_SETXATTRAT: c::c_long = 463;
const SYS_REMOVEXATTRAT: c::c_long = 466;
const SYS_OPEN_TREE_ATTR: c::c_long = 467;
const SYS_FILE_SETATTR: c::c_long = 469;

/// Refused on processors that have had them for long.
#[cfg(target_arch = "x86_64")]
const OLD: &[c::c_long] = &[c::SYS_iopl, c::SYS_ioperm, c::SYS_modify_ldt];

#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c::c_long] = &[];

#[cfg(test)]
mod tests;
