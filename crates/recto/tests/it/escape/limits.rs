//! A program takes so much of the machine, and no more.

use std::io::Read as _;

use super::*;

#[test]
fn a_hundred_children_at_once_are_too_many() {
    // Each ends by itself after a while; there are never more than a hundred.
    let code = "for (1..100) { defined($id = fork) or last; if (!$id) { sleep 20; exit } \
                push @ids, $id } sleep 1; print scalar(@ids), ' children'; kill('KILL', @ids);";
    Attempt::perl(code).prints("100 children").told("act failed: ended b").is_stopped();
}

/// Promise: `limits-count-the-whole-call`
#[test]
fn children_of_children_are_counted_too() {
    // Seven generations of two each: 128, and not one more.
    let code = "for (1..7) { defined(fork) or exit } open(F, '>>', 'notes/count'); \
                syswrite(F, 'x'); select(undef, undef, undef, 1.5); \
                print 'all came' if -s 'notes/count' == 128;";
    Attempt::perl(code).prints("all came").told("act failed: ended b").is_stopped();
}

/// Promise: `limits-count-the-whole-call`
#[test]
fn memory_is_limited_for_all_processes_together() {
    // Each holds 384 MiB for a while. Directly only one of them does.
    let code = "for (1..$ARGV[0]) { if (!fork) { $held = 'x' x (3 << 27); sleep $ARGV[1]; exit } } \
                1 while wait != -1; print 'all held it';";
    let attempt =
        |children: &str, seconds: &str| Attempt::of(&["perl", "-e", code, children, seconds]);
    let control = attempt("1", "0");
    let output = control.control(&control.place()).output().unwrap();
    assert_eq!(both(&output.stdout, &output.stderr), "all held it", "no real attempt");
    let attempt = attempt("7", "5");
    let text = attempt.run(&attempt.place());
    assert!(!text.contains("all held") && text.contains("act failed: ended b"), "{text}");
}

/// Promise: `memory-is-counted-where-it-is-held`
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn memory_of_a_process_whose_first_thread_has_ended_is_counted() {
    // The first thread ends alone, and another holds 384 MiB. Directly only one process does.
    let exit = if cfg!(target_arch = "x86_64") { 60 } else { 93 };
    let code = format!(
        "use threads; use POSIX; for (1..$ARGV[0]) {{ if (!fork) {{ threads->create(sub {{ \
         select(undef, undef, undef, 0.2); $held = 'x' x (3 << 27); sleep $ARGV[1]; \
         POSIX::_exit(0) }})->detach; syscall({exit}, 0) }} }} 1 while wait != -1; \
         print 'all held it';"
    );
    let attempt =
        |children: &str, seconds: &str| Attempt::of(&["perl", "-e", &code, children, seconds]);
    let control = attempt("1", "0");
    let output = control.control(&control.place()).output().unwrap();
    assert_eq!(both(&output.stdout, &output.stderr), "all held it", "no real attempt");
    note_attempt();
    let attempt = attempt("7", "5");
    let text = attempt.run(&attempt.place());
    assert!(!text.contains("all held") && text.contains("act failed: ended b"), "{text}");
}

/// Code that maps memory by number, from a file or from none, and says what the kernel answered.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn mapping(flags: &str, file: &str) -> String {
    let call = if cfg!(target_arch = "x86_64") { 9 } else { 222 };
    format!(
        "syscall({call}, 0, 1 << 20, 3, {flags}, {file}, 0) == -1 and die \"tried: $!\"; print 'mapped';"
    )
}

/// Promise: `memory-is-counted-where-it-is-held`
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn memory_that_nobody_would_count_is_not_had() {
    // Shared without a name: what was in it stays when it is mapped no more.
    let anonymous = mapping("0x21", "-1");
    Attempt::perl(&anonymous).prints("mapped").told(NOT_PERMITTED).is_stopped();
    let zeros = "open(F, '+<', '/dev/zero') or die; ".to_owned() + &mapping("1", "fileno(F)");
    Attempt::perl(&zeros).prints("mapped").told("tried: ").is_stopped();
    // A pipe that holds more than others, and one that holds pages of the process.
    let pipe = "pipe(R, W); fcntl(W, 1031, 1 << 20) or die \"tried: $!\"; print 'it holds more';";
    Attempt::perl(pipe).prints("it holds more").told(NOT_PERMITTED).is_stopped();
    let call = if cfg!(target_arch = "x86_64") { 278 } else { 75 };
    let page = format!(
        "pipe(R, W); $x = 'x' x 9; $v = pack('P Q', $x, 9); \
         syscall({call}, fileno(W), $v, 1, 0) == -1 and die \"tried: $!\"; print 'it holds it';"
    );
    Attempt::perl(&page).prints("it holds it").told(NOT_PERMITTED).is_stopped();
    let call = if cfg!(target_arch = "x86_64") { 319 } else { 279 };
    let file =
        format!("$n = 'x'; syscall({call}, $n, 0) == -1 and die \"tried: $!\"; print 'made';");
    Attempt::perl(&file).prints("made").told("Function not implemented").is_stopped();
    // Rules of Landlock, of which a ruleset holds tens of thousands.
    let rules =
        "$a = pack('Q', 1); syscall(444, $a, 8, 0) == -1 and die \"tried: $!\"; print 'made';";
    Attempt::perl(rules).prints("made").told("Function not implemented").is_stopped();
    // Filters for system calls, of which each may be kept by an open file alone.
    let filter = format!(
        "syscall({}, 38, 1, 0, 0, 0); $f = pack('S C C L', 6, 0, 0, 0x7fff0000); \
         $p = pack('S x6 P', 1, $f); syscall({}, 1, 8, $p) == -1 and die \"tried: $!\"; \
         print 'made';",
        if cfg!(target_arch = "x86_64") { 157 } else { 167 },
        if cfg!(target_arch = "x86_64") { 317 } else { 277 },
    );
    Attempt::perl(&filter).prints("made").told("Function not implemented").is_stopped();
    // A socket that holds more than others, in either direction.
    for size in ["SO_SNDBUF", "SO_RCVBUF"] {
        let socket = format!(
            "use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; \
             setsockopt(A, SOL_SOCKET, {size}, 1 << 22) or die \"tried: $!\"; print 'it holds more';"
        );
        Attempt::perl(&socket).prints("it holds more").told(NOT_PERMITTED).is_stopped();
    }
}

/// Promise: `memory-is-counted-where-it-is-held`
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn pages_of_files_are_not_put_into_pipes_and_sockets() {
    // One byte that waits there would keep all the memory around it, also of a file that was cut.
    let is_amd = cfg!(target_arch = "x86_64");
    let (splice, tee, sendfile) = if is_amd { (275, 276, 40) } else { (76, 77, 71) };
    let calls = [
        format!("syscall({splice}, fileno(F), 0, fileno(W), 0, 1, 0)"),
        format!("syscall({tee}, fileno(R), fileno(T), 1, 0)"),
        format!("syscall({sendfile}, fileno(W), fileno(F), 0, 1)"),
        format!("syscall({sendfile}, fileno(A), fileno(F), 0, 1)"),
    ];
    for call in calls {
        let code = format!(
            "use Socket; open(F, '<', 'notes/a.txt') or die; pipe(R, W); syswrite(W, 'x'); \
             pipe(S, T); socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; \
             {call} == -1 and die \"tried: $!\"; print 'it holds it';"
        );
        Attempt::perl(&code).prints("it holds it").told("tried: Invalid argument").is_stopped();
    }
}

/// Promise: `memory-is-counted-where-it-is-held`
#[test]
fn what_waits_in_sockets_counts() {
    // Processes with a thousand full sockets each, which end by themselves after a while.
    // Directly only one of them does.
    let code = "use Socket; use IO::Handle; $full = 'x' x 65536; \
                for (1..$ARGV[0]) { if (!fork) { for (1..500) { \
                socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or last; \
                for ($a, $b) { $_->blocking(0); 1 while syswrite($_, $full); push @s, $_ } } \
                sleep $ARGV[1]; exit } } 1 while wait != -1; print 'all held them';";
    let attempt =
        |children: &str, seconds: &str| Attempt::of(&["perl", "-e", code, children, seconds]);
    let control = attempt("1", "0");
    let output = control.control(&control.place()).output().unwrap();
    assert_eq!(both(&output.stdout, &output.stderr), "all held them", "no real attempt");
    note_attempt();
    let attempt = attempt("16", "10");
    let text = attempt.run(&attempt.place());
    assert!(!text.contains("all held") && text.contains("act failed: ended b"), "{text}");
}

/// Promise: `memory-is-counted-where-it-is-held`
#[test]
fn it_is_told_who_counts_memory_and_it_is_so() {
    let attempt = Attempt::of(&["cat", "/proc/self/cgroup"]);
    let place = attempt.place();
    let report: Value = serde_json::from_str(&place.home.run(&["doctor", "--json"]).out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let sandbox = findings.iter().find(|found| found["subject"] == "sandbox").unwrap();
    let (words, has_group) = match sandbox["data"]["memory"].as_str().unwrap() {
        "control_group" => ("memory: a control group of the kernel", true),
        "counted" => ("memory: counted by looking at processes (", false),
        other => panic!("nobody knows `{other}`"),
    };
    assert!(place.home.ok(&["tools", "list"]).contains(words), "{words}");
    let text = attempt.run(&place);
    let group = text.lines().find_map(|line| line.strip_prefix("0::/"));
    assert_eq!(group.is_some_and(|group| group.contains("recto-call-")), has_group, "{text}");
    // With the call its group has gone.
    let gone = Instant::now() + Duration::from_secs(5);
    while group
        .is_some_and(|group| has_group && PathBuf::from("/sys/fs/cgroup").join(group).exists())
    {
        assert!(Instant::now() < gone, "{text}");
        sleep(Duration::from_millis(20));
    }
}

/// What the kernel counts for all that a person runs is left to their other programs.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn what_is_counted_for_the_whole_user_is_not_used_up() {
    let call = if cfg!(target_arch = "x86_64") { 294 } else { 26 };
    let news = format!("syscall({call}, 0) == -1 and die \"tried: $!\"; print 'it waits';");
    Attempt::perl(&news).prints("it waits").told("Function not implemented").is_stopped();
    // Signals that wait because they are kept back: rt_sigprocmask, rt_sigqueueinfo to itself.
    let (mask, queue) = if cfg!(target_arch = "x86_64") { (14, 129) } else { (135, 138) };
    let signals = format!(
        "$s = pack('Q', 1 << 39); syscall({mask}, 0, $s, 0, 8); \
         $i = pack('i3 x4 i2 x104', 40, 0, -1, $$, $<); $n = 0; \
         $n++ while $n < 2000 && syscall({queue}, $$, 40, $i) == 0; \
         $n < 2000 and die \"tried: $!\"; print 'all wait';"
    );
    Attempt::perl(&signals).prints("all wait").told("temporarily unavailable").is_stopped();
}

#[test]
fn a_file_has_its_largest_size() {
    // It has holes only, and takes nothing of the disk.
    let attempt = Attempt::of(&["truncate", "--size=2G", "notes/a.txt"]);
    let place = attempt.place();
    let size = |place: &Place| fs::metadata(place.path("WORKSPACE/notes/a.txt")).unwrap().len();
    attempt.control(&place).status().unwrap();
    assert_eq!(size(&place), 2 << 30, "no real attempt");
    let place = attempt.place();
    let text = attempt.run(&place);
    assert_eq!(size(&place), "a note".len() as u64, "{text}");
}

#[test]
fn limits_are_not_raised_again() {
    // The limit on the size of files, which is low enough for everybody.
    let code = "system('ulimit -f unlimited && echo it is unlimited') and die 'tried';";
    Attempt::perl(code).prints("it is unlimited").told("tried").is_stopped();
}

/// Promise: `output-keeps-both-ends`
#[test]
fn a_gigabyte_of_output_is_cut_in_the_middle() {
    let attempt = Attempt::of(&["head", "-c", "1073741824", "/dev/zero"]);
    let place = attempt.place();
    let mut control = attempt.control(&place).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = control.stdout.take().unwrap();
    let mut chunk = vec![0; 1 << 20];
    let mut total = 0;
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        total += count;
    }
    control.wait().unwrap();
    assert_eq!(total, 1 << 30, "no real attempt");

    // With less memory than that, Recto could not hold it even for a moment.
    let mut shell = Command::new("sh");
    let tool = attempt.tool(&place);
    shell.args(["-c", "ulimit -d 700000; exec \"$@\"", "sh"]).arg(tool.get_program());
    let output = shell.args(tool.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.len() < 1 << 20, "{}", output.stdout.len());
    let text = both(&output.stdout, b"");
    assert!(text.contains("bytes left out"), "{}", output.stdout.len());
}
