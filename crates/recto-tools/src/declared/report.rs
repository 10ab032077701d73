//! Reports a program that has ended to the model, always in the same form, so that a
//! model learns it once.
//!
//! Success is what the program wrote, and nothing around it unless there is
//! something to say. A failure begins with a line that says how it ended.

use crate::process::ProgramEnd;
use crate::shorten::shorten;
use crate::tool::{ToolError, ToolOutput};

/// The result of a call whose program ended like this, having written this, in
/// at most `limit` bytes.
pub(crate) fn report_result(
    end: ProgramEnd,
    success: &[i32],
    stdout: &str,
    stderr: &str,
    limit: usize,
) -> ToolOutput {
    let (stdout, stderr) = (tidy(stdout), tidy(stderr));
    // What went wrong is on standard error, so it must not be crowded out.
    let stderr = shorten(stderr.to_owned(), limit / 2);
    let room = limit.saturating_sub(stderr.len() + NOTES_ROOM);
    let stdout = shorten(stdout.to_owned(), room);
    match end {
        ProgramEnd::Exit(code) if success.contains(&code) => Ok(succeeded(code, stdout, &stderr)),
        _ => Err(ToolError::new(failed(end, &stdout, &stderr))),
    }
}

/// Bytes for the lines that stand between the outputs.
const NOTES_ROOM: usize = 128;

/// Without the line breaks at the end.
fn tidy(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

fn succeeded(code: i32, stdout: String, stderr: &str) -> String {
    let stdout = Some(stdout).filter(|text| !text.is_empty());
    let stderr = (!stderr.is_empty()).then(|| format!("[stderr]\n{stderr}"));
    let code = (code != 0).then(|| format!("[exit code {code}]"));
    let parts: Vec<String> = [stdout, stderr, code].into_iter().flatten().collect();
    if parts.is_empty() { "[no output]".to_owned() } else { parts.join("\n") }
}

fn failed(end: ProgramEnd, stdout: &str, stderr: &str) -> String {
    let mut text = match end {
        ProgramEnd::Exit(code) => format!("exit code {code}"),
        ProgramEnd::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        },
        ProgramEnd::TimedOut(it) => format!("ended at its time limit of {} s", it.as_secs_f64()),
        ProgramEnd::TooManyProcesses(count) => {
            format!("ended because it had {count} processes, more than it may")
        }
        ProgramEnd::TooMuchMemory(bytes) => {
            let mebibytes = bytes / (1024 * 1024);
            format!("ended because it held {mebibytes} MiB of memory, more than it may")
        }
    };
    for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
        if !output.is_empty() {
            text += &format!("\n[{name}]\n{output}");
        }
    }
    text
}

/// The names of the signals that programs are ended by. Their numbers are the
/// same on all systems.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "hangup",
        2 => "interrupt",
        4 => "illegal instruction",
        6 => "abort",
        8 => "arithmetic error",
        9 => "kill",
        11 => "invalid memory access",
        13 => "broken pipe",
        15 => "termination",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::shorten::whole_length;

    #[track_caller]
    fn check(end: ProgramEnd, outputs: (&str, &str), expected: &Expect) {
        let text = match report_result(end, &[0, 1], outputs.0, outputs.1, 1000) {
            Ok(text) => format!("ok: {text}\n"),
            Err(error) => format!("failed: {error}\n"),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn success() {
        let done = ProgramEnd::Exit(0);
        check(
            done,
            ("a\nb\n\n", ""),
            &expect![[r#"
            ok: a
            b
        "#]],
        );
        check(
            done,
            ("  a", "careful\n"),
            &expect![[r#"
            ok:   a
            [stderr]
            careful
        "#]],
        );
        check(
            done,
            ("", "careful"),
            &expect![[r#"
            ok: [stderr]
            careful
        "#]],
        );
        check(
            done,
            ("\n", ""),
            &expect![[r#"
            ok: [no output]
        "#]],
        );
        check(
            ProgramEnd::Exit(1),
            ("", ""),
            &expect![[r#"
            ok: [exit code 1]
        "#]],
        );
    }

    #[test]
    fn failure() {
        check(
            ProgramEnd::Exit(2),
            ("a\n", "no such file\n"),
            &expect![[r#"
            failed: exit code 2
            [stdout]
            a
            [stderr]
            no such file
        "#]],
        );
        check(
            ProgramEnd::Signal(9),
            ("", ""),
            &expect![[r#"
            failed: ended by signal 9 (kill)
        "#]],
        );
        check(
            ProgramEnd::Signal(64),
            ("", ""),
            &expect![[r#"
            failed: ended by signal 64
        "#]],
        );
        check(
            ProgramEnd::TimedOut(Duration::from_millis(1500)),
            ("so far", ""),
            &expect![[r#"
            failed: ended at its time limit of 1.5 s
            [stdout]
            so far
        "#]],
        );
        check(
            ProgramEnd::TooManyProcesses(70),
            ("", ""),
            &expect![[r#"
            failed: ended because it had 70 processes, more than it may
        "#]],
        );
        check(
            ProgramEnd::TooMuchMemory(3 << 30),
            ("", ""),
            &expect![[r#"
            failed: ended because it held 3072 MiB of memory, more than it may
        "#]],
        );
    }

    #[test]
    fn both_ends_of_both_outputs_stay_within_the_limit() {
        let long = |name: &str| format!("{name} begins {} {name} ends", "x".repeat(5000));
        let error =
            report_result(ProgramEnd::Exit(2), &[0], &long("out"), &long("err"), 1000).unwrap_err();
        let text = error.to_string();
        assert!(text.len() <= 1000, "{}", text.len());
        for part in ["exit code 2", "out begins", "out ends", "err begins", "err ends"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("bytes left out").count(), 2);
    }

    /// Promise: `output-keeps-both-ends`
    #[test]
    fn of_what_was_cut_while_it_ran_all_that_is_missing_is_told() {
        let cut = shorten("x".repeat(10_000_000), 1000);
        let report = report_result(ProgramEnd::Exit(0), &[0], &cut, "", 1000).unwrap();
        assert!(report.len() <= 1000, "{}", report.len());
        assert_eq!(whole_length(&report), 10_000_000, "{report}");
    }
}
