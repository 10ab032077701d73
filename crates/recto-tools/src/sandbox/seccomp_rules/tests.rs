//! Every rule, met by the call that it is there for.
//!
//! The kernel refuses many of these calls to most users by itself, some it does not know, and some
//! would do harm if their rule was gone. So they are not made: the filters are read as the kernel
//! reads them, and asked what they answer. That they hold where they are put on is what the tests of
//! confined threads and of escape are for.

use super::*;

/// An address at which nothing is, and a number that is nobody's and no file's.
const NOWHERE: u64 = 1;
const NOBODY: u64 = 0x7fff_fff0;
const MINUS: u64 = u64::MAX;

/// A call with the arguments that matter; the rest leads nowhere.
type Call = (&'static str, c::c_long, &'static [u64]);

/// Makes a table of calls by their names.
macro_rules! calls {
    ($($name:ident $args:tt)*) => {
        &[$((stringify!($name), c::$name, &$args)),*]
    };
}

/// What is refused whatever is granted.
const NEVER: &[Call] = calls! {
    SYS_setsid [] SYS_setpgid [NOBODY]
    SYS_ptrace [MINUS, NOBODY] SYS_process_vm_readv [NOBODY] SYS_process_vm_writev [NOBODY]
    SYS_process_madvise [MINUS] SYS_pidfd_getfd [MINUS] SYS_kcmp [NOBODY]
    SYS_mount [] SYS_umount2 [] SYS_pivot_root [] SYS_chroot [] SYS_move_mount [MINUS]
    SYS_open_tree [MINUS] SYS_fsopen [] SYS_fsconfig [MINUS] SYS_fsmount [MINUS]
    SYS_fspick [MINUS] SYS_mount_setattr [MINUS] SYS_open_by_handle_at [MINUS]
    SYS_unshare [0] SYS_setns [MINUS]
    SYS_inotify_add_watch [MINUS] SYS_fanotify_mark [MINUS]
    SYS_shmget [0, 0] SYS_shmat [MINUS] SYS_shmctl [MINUS]
    SYS_semget [0, 0] SYS_semop [MINUS] SYS_semtimedop [MINUS] SYS_semctl [MINUS]
    SYS_msgget [0x7263_746f, 0] SYS_msgsnd [MINUS] SYS_msgrcv [MINUS] SYS_msgctl [MINUS]
    SYS_mq_open [] SYS_mq_unlink []
    SYS_add_key [] SYS_request_key [] SYS_keyctl [MINUS]
    SYS_io_uring_setup [0] SYS_io_setup [0] SYS_bpf [MINUS] SYS_perf_event_open []
    SYS_userfaultfd [MINUS] SYS_fanotify_init [MINUS]
    SYS_init_module [] SYS_finit_module [MINUS] SYS_delete_module []
    SYS_kexec_load [0, MINUS] SYS_kexec_file_load [MINUS, MINUS]
    SYS_reboot [] SYS_swapon [] SYS_swapoff [] SYS_acct [] SYS_quotactl [MINUS]
    SYS_syslog [MINUS] SYS_settimeofday [] SYS_clock_settime [] SYS_clock_adjtime []
    SYS_adjtimex [] SYS_sethostname [NOWHERE, MINUS] SYS_setdomainname [NOWHERE, MINUS]
    SYS_vhangup []
    SYS_close_range [NOBODY, NOBODY, 2]
    SYS_kill [MINUS, 0]
    SYS_prlimit64 [NOBODY]
    SYS_ioctl [MINUS, 0x5412] SYS_ioctl [MINUS, 0x541c] SYS_ioctl [MINUS, 0x4008_6602]
    SYS_ioctl [MINUS, 0x401c_5820] SYS_ioctl [MINUS, 0x4008_7602] SYS_ioctl [MINUS, 0x4008_6604]
    SYS_ioctl [MINUS, 0x4080_6685] SYS_ioctl [MINUS, 0x4004_7211] SYS_ioctl [MINUS, 0x4008_941a]
    SYS_ioctl [MINUS, 0xc0c8_9425] SYS_ioctl [MINUS, 0x5000_940e] SYS_ioctl [MINUS, 0x5000_9418]
    SYS_ioctl [MINUS, 0x5000_9401] SYS_ioctl [MINUS, 0x5000_9417] SYS_ioctl [MINUS, 0x5000_940f]
    SYS_ioctl [MINUS, 0x5000_943f]
    SYS_setpriority [0, NOBODY] SYS_setpriority [1, 0] SYS_setpriority [2, 0]
    SYS_ioprio_set [1, NOBODY, MINUS] SYS_ioprio_set [2, 0, MINUS] SYS_ioprio_set [3, 0, MINUS]
    SYS_sched_setaffinity [NOBODY] SYS_sched_setattr [NOBODY] SYS_sched_setparam [NOBODY]
    SYS_sched_setscheduler [NOBODY]
    SYS_socketpair [1, 2] SYS_socketpair [1, 3] SYS_socketpair [1, 0o2000002]
    SYS_mmap [0, 0, 0, 0x21] SYS_vmsplice [MINUS]
    SYS_fcntl [MINUS, 1031] SYS_fcntl [MINUS, 1024] SYS_fcntl [MINUS, 1026]
    SYS_setsockopt [MINUS, 1, 7] SYS_setsockopt [MINUS, 1, 8]
    SYS_setsockopt [MINUS, 1, 32] SYS_setsockopt [MINUS, 1, 33]
    SYS_mkdirat [MINUS, NOWHERE, 0o4755] SYS_mkdirat [MINUS, NOWHERE, 0o2755]
    SYS_mknodat [MINUS, NOWHERE, 0o4755] SYS_mknodat [MINUS, NOWHERE, 0o2755]
    SYS_openat [MINUS, NOWHERE, 0o100, 0o4755] SYS_openat [MINUS, NOWHERE, 0o100, 0o2755]
};

/// Name spaces, a child that is not its own, and a thread with files of its own.
const CLONES: &[Call] = calls! {
    SYS_clone [0x0002_0000] SYS_clone [0x0200_0000] SYS_clone [0x0400_0000]
    SYS_clone [0x0800_0000] SYS_clone [0x1000_0000] SYS_clone [0x2000_0000]
    SYS_clone [0x4000_0000] SYS_clone [0x0000_8000] SYS_clone [0x0001_0000]
};

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[Call] = calls! {
    SYS_iopl [0] SYS_ioperm [0, 0, 0] SYS_modify_ldt [MINUS]
    SYS_mkdir [NOWHERE, 0o4755] SYS_mknod [NOWHERE, 0o4755] SYS_creat [NOWHERE, 0o4755]
    SYS_mkdir [NOWHERE, 0o2755] SYS_mknod [NOWHERE, 0o2755] SYS_creat [NOWHERE, 0o2755]
    SYS_open [NOWHERE, 0o100, 0o4755] SYS_open [NOWHERE, 0o100, 0o2755]
};

#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[Call] = &[];

/// What is refused besides where the network is, and where it is granted.
const WITHOUT_NETWORK: &[Call] = calls! {
    SYS_socket [2, MINUS] SYS_socket [1, MINUS] SYS_connect [MINUS] SYS_bind [MINUS]
    SYS_listen [MINUS] SYS_socketpair [2, 1]
};
const WITH_NETWORK: &[Call] = calls! {
    SYS_socket [1, MINUS] SYS_socket [17, MINUS] SYS_socket [40, MINUS]
};

/// Modes of files, where a program has a view of its own.
const OWN_MODES: &[Call] = calls! {
    SYS_fchmod [MINUS, 0o4755] SYS_fchmod [MINUS, 0o2755] SYS_fchmod [MINUS, 0o002]
    SYS_fchmodat [MINUS, NOWHERE, 0o4755] SYS_fchmodat [MINUS, NOWHERE, 0o2755]
    SYS_fchmodat [MINUS, NOWHERE, 0o002]
};

/// Modes, owners and times of files, where it has none.
const SHARED_METADATA: &[Call] = calls! {
    SYS_fchmod [MINUS, 0o700] SYS_fchmodat [MINUS, NOWHERE, 0o700] SYS_fchown [MINUS]
    SYS_fchownat [MINUS, NOWHERE] SYS_utimensat [MINUS, NOWHERE]
};

#[cfg(target_arch = "x86_64")]
const SHARED_METADATA_HERE: &[Call] = calls! {
    SYS_chmod [NOWHERE, 0o700] SYS_chown [NOWHERE] SYS_lchown [NOWHERE] SYS_utime [NOWHERE]
    SYS_utimes [NOWHERE] SYS_futimesat [MINUS, NOWHERE]
};

#[cfg(not(target_arch = "x86_64"))]
const SHARED_METADATA_HERE: &[Call] = &[];

/// Where Landlock does not know of it, files are not cut short.
const CUTS: &[Call] = calls! { SYS_truncate [NOWHERE] SYS_openat [MINUS, NOWHERE, 0o1000] };

/// What is said not to exist.
const ABSENT: &[Call] = calls! {
    SYS_clone3 [NOWHERE, 0] SYS_openat2 [MINUS, NOWHERE, NOWHERE, 0] SYS_memfd_create [NOWHERE]
    SYS_memfd_secret [MINUS] SYS_landlock_create_ruleset [NOWHERE, MINUS]
    SYS_landlock_add_rule [MINUS] SYS_landlock_restrict_self [MINUS] SYS_seccomp [MINUS]
    SYS_inotify_init1 [MINUS]
};

/// What no file system is said to know.
const UNKNOWN_TO_FILES: &[Call] = calls! {
    SYS_setxattr [] SYS_lsetxattr [] SYS_fsetxattr [MINUS]
    SYS_removexattr [] SYS_lremovexattr [] SYS_fremovexattr [MINUS]
};

/// What puts pages of files into pipes and sockets.
const WITHOUT_A_COPY: &[Call] = calls! {
    SYS_splice [MINUS, 0, MINUS] SYS_tee [MINUS, MINUS] SYS_sendfile [MINUS, MINUS]
};

#[cfg(target_arch = "x86_64")]
const ABSENT_HERE: &[Call] = calls! { SYS_inotify_init [] };

#[cfg(not(target_arch = "x86_64"))]
const ABSENT_HERE: &[Call] = &[];

/// What is answered as if it was done.
const PRETENDED: &[Call] = calls! { SYS_umask [0o000] SYS_umask [0o075] SYS_prctl [22] };

/// What is done as ever.
const ALLOWED: &[Call] = calls! {
    SYS_getpid [] SYS_fcntl [MINUS, 1] SYS_ioctl [MINUS, 0x5401] SYS_mmap [0, 0, 0, 0x22]
    SYS_prlimit64 [0, MINUS] SYS_openat [MINUS, NOWHERE, 0o100, 0o755] SYS_kill [NOBODY, 9]
    SYS_openat [MINUS, NOWHERE, 0, 0o4755] SYS_close_range [3, MINUS, 0] SYS_clone [0x0001_0400]
    SYS_clone [0x0120_0011] SYS_setsockopt [MINUS, 1, 9] SYS_setpriority [0, 0, 19]
    SYS_ioprio_set [1, 0] SYS_sched_setscheduler [0] SYS_mkdirat [MINUS, NOWHERE, 0o755]
    SYS_socketpair [1, 1] SYS_umask [0o022] SYS_prctl [15]
};
const OWN_VIEW_ALLOWED: &[Call] = calls! {
    SYS_fchmod [MINUS, 0o755] SYS_fchown [MINUS] SYS_utimensat [MINUS] SYS_flock [MINUS]
};
const ONLINE_ALLOWED: &[Call] = calls! {
    SYS_socket [2] SYS_socket [10] SYS_socket [16] SYS_connect [MINUS] SYS_bind [MINUS]
};

/// What a program may use.
type Granted = (NetworkAccess, Option<u32>, SystemView);

const USUAL: Granted = (NetworkAccess::Refused, Some(KNOWS_TRUNCATE), SystemView::Own);
const ONLINE: Granted = (NetworkAccess::Granted, Some(KNOWS_TRUNCATE), SystemView::Own);
const OLDEST: Granted = (NetworkAccess::Refused, None, SystemView::Shared);

/// A call as filters see it: its number, the kind of processor, and the arguments.
struct SeenCall([u32; 16]);

impl SeenCall {
    fn new(number: c::c_long, given: &[u64]) -> Self {
        let mut seen = [0; 16];
        seen[0] = u32::try_from(number).unwrap();
        seen[1] = match std::env::consts::ARCH {
            "x86_64" => 0xc000_003e,
            "aarch64" => 0xc000_00b7,
            "riscv64" => 0xc000_00f3,
            other => panic!("which number has {other}?"),
        };
        for at in 0..6 {
            let argument = given.get(at).copied().unwrap_or(NOWHERE);
            seen[4 + 2 * at] = argument as u32;
            seen[5 + 2 * at] = (argument >> 32) as u32;
        }
        SeenCall(seen)
    }

    /// What a filter answers to it, as the kernel reads filters.
    fn answer(&self, filter: &BpfProgram) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            let jump = |holds| usize::from(if holds { jt } else { jf });
            at += 1;
            match code {
                0x20 => value = self.0[k as usize / 4],
                0x54 => value &= k,
                0x05 => at += k as usize,
                0x15 => at += jump(value == k),
                0x25 => at += jump(value > k),
                0x35 => at += jump(value >= k),
                0x06 => return k,
                other => panic!("what does {other:#x} do?"),
            }
        }
    }
}

/// What all filters together answer to a call: an error, or nothing where it is made. Of several
/// errors the one of the last filter counts.
fn answer(
    (network, landlock, view): Granted,
    number: c::c_long,
    given: &[u64],
) -> Option<c::c_int> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filters = filters(network, landlock, view, arch).unwrap();
    let seen = SeenCall::new(number, given);
    let answers = filters.iter().rev().map(|filter| seen.answer(filter));
    let errors = answers.filter(|answer| *answer != u32::from(SeccompAction::Allow));
    let mut errors = errors.map(|answer| {
        assert_eq!(answer & 0xffff_0000, 0x0005_0000, "an error, and nothing worse");
        c::c_int::try_from(answer & 0xffff).unwrap()
    });
    errors.next()
}

#[track_caller]
fn all_give(granted: Granted, calls: &[&[Call]], expected: Option<c::c_int>) {
    for (name, number, given) in calls.iter().copied().flatten() {
        let answer = answer(granted, *number, given);
        assert_eq!(answer, expected, "{name} {given:x?}, {granted:?}");
    }
}

/// Promise: `ways-out-have-rules`
#[test]
fn every_call_that_leads_out_meets_its_rule() {
    let refused = Some(c::EPERM);
    for granted in [USUAL, ONLINE, OLDEST] {
        all_give(granted, &[NEVER, NEVER_HERE, CLONES], refused);
        all_give(granted, &[ABSENT, ABSENT_HERE], Some(c::ENOSYS));
        all_give(granted, &[UNKNOWN_TO_FILES], Some(c::EOPNOTSUPP));
        all_give(granted, &[WITHOUT_A_COPY], Some(c::EINVAL));
        all_give(granted, &[PRETENDED], Some(SUCCESS));
        // Without these, filters that refuse everything would do.
        all_give(granted, &[ALLOWED], None);
    }
    all_give(USUAL, &[WITHOUT_NETWORK, OWN_MODES], refused);
    all_give(USUAL, &[CUTS, OWN_VIEW_ALLOWED], None);
    all_give(ONLINE, &[WITH_NETWORK], refused);
    all_give(ONLINE, &[ONLINE_ALLOWED], None);
    all_give(OLDEST, &[SHARED_METADATA, SHARED_METADATA_HERE, CUTS], refused);
    all_give(OLDEST, &[calls! { SYS_flock [MINUS] }], Some(c::ENOSYS));
}

/// Promise: `ways-out-have-rules`
#[test]
fn calls_that_are_known_by_their_numbers_alone_meet_their_rules() {
    assert_eq!(answer(USUAL, 467, &[]), Some(c::EPERM), "open_tree_attr");
    assert_eq!(answer(USUAL, 452, &[MINUS, NOWHERE, 0o4755]), Some(c::EPERM), "fchmodat2");
    assert_eq!(answer(OLDEST, 452, &[MINUS, NOWHERE, 0o700]), Some(c::EPERM), "fchmodat2");
    for (name, number) in [("setxattrat", 463), ("removexattrat", 466), ("file_setattr", 469)] {
        assert_eq!(answer(USUAL, number, &[]), Some(c::EOPNOTSUPP), "{name}");
    }
}

/// Promise: `ways-out-have-rules`
#[cfg(target_arch = "x86_64")]
#[test]
fn no_call_is_made_by_its_second_number() {
    for number in [c::SYS_getpid, c::SYS_ptrace, c::SYS_openat, 0x200] {
        assert_eq!(answer(USUAL, 0x4000_0000 | number, &[]), Some(c::ENOSYS), "{number}");
    }
}
