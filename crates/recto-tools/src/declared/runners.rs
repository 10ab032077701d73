//! Programs that no skill may run, because their purpose is to run another one:
//! through them any program could be reached, past the allowlist.

/// Shells, and programs that start what their arguments name.
const RUNNERS: &str = "
    ash bash busybox cmd csh dash elvish fish ksh lksh mksh nu oksh posh powershell pwsh rbash sh
    tcsh toybox xonsh yash zsh
    builtin command coproc eval exec
    agetty at batch bwrap capsh chroot chrt cpulimit crontab daemonize dbus-run-session doas env
    expect fakeroot faketime firejail flock gdb ionice login ltrace newgrp nice nohup nsenter
    numactl parallel pkexec prlimit proot run-parts runuser screen script setarch linux32 linux64
    i386 x86_64 setpriv setsid sg start-stop-daemon stdbuf strace su sudo systemd-run taskset time
    timeout tmux unbuffer unshare watch xargs
";

/// One program with many faces: it may stand behind the name of a harmless one.
const MANY_FACES: [&str; 2] = ["busybox", "toybox"];

/// Whether a program of this name is there to run another. Versions such as
/// `bash-5.2` and endings such as `cmd.exe` make no difference.
pub(super) fn is_runner(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    let known = |name: &str| RUNNERS.split_ascii_whitespace().any(|runner| runner == name);
    let is_loader = ["ld-linux", "ld-musl", "ld.so", "ld64.so"];
    known(name) || known(bare) || is_loader.iter().any(|loader| name.starts_with(loader))
}

/// Whether a runner is what a link of another name leads to.
pub(super) fn is_runner_behind(real_name: &str) -> bool {
    is_runner(real_name) && !MANY_FACES.contains(&real_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_are_known_by_any_of_their_names() {
        let runners =
            ["sh", "bash", "BASH", "bash-5.2", "zsh5", "cmd.exe", "ksh93", "env", "xargs"];
        for name in runners.into_iter().chain(["ld-linux-x86-64.so.2", "busybox", "su", "time"]) {
            assert!(is_runner(name), "{name}");
        }
        for name in ["git", "grep", "find", "date", "sha256sum", "ssh-keygen", "sum", "head", "7z"]
        {
            assert!(!is_runner(name), "{name}");
        }
        assert!(is_runner_behind("dash") && !is_runner_behind("busybox"));
    }
}
