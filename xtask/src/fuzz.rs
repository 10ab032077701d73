//! Fuzzing: builds the targets of `fuzz/` with the instrumentation of libFuzzer, runs them, and
//! says how often each was run and what it found.
//!
//! The instrumentation is a pass of LLVM that stable Rust has, so neither `cargo fuzz` nor another
//! toolchain is needed; only a C++ compiler for libFuzzer itself. What a run learns is kept in the
//! target directory for the next one. What fails is written into `fuzz/seeds`, where the tests of
//! the workspace go over it, too, until it is mended and after.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::Result;
use crate::project::{Project, cargo};

/// Edges and comparisons are counted in all code, that of libraries too.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// An input is small, takes seconds at most, and a bounded amount of memory.
const LIMITS: [&str; 4] =
    ["-max_len=4096", "-timeout=30", "-rss_limit_mb=1024", "-print_final_stats=1"];

/// The target that needs the whole of Recto, which takes long to build; a feature of its name
/// brings that along.
const SESSION_IMPORT: &str = "session_import";

/// The name before every input that failed.
const FOUND: &str = "found-";

/// Runs one target, or all of them, each for so many minutes.
pub(crate) fn run(project: &Project, target: Option<&str>, minutes: u64) -> Result<ExitCode> {
    let folder = project.root.join("fuzz");
    let all = targets(&folder)?;
    let chosen = match target {
        None => all,
        Some(name) if all.iter().any(|known| known == name) => vec![name.to_owned()],
        Some(name) => {
            return Err(format!("there is no target `{name}`; known are {}", all.join(", ")).into());
        }
    };
    let fuzz_run =
        FuzzRun { folder, built: project.target.join("fuzz"), seconds: minutes.max(1) * 60 };
    println!("building {} with instrumentation; the first time takes a while", chosen.join(", "));
    let programs = fuzz_run.build(&chosen)?;
    let mut found = 0;
    for name in &chosen {
        println!("{name}: running for {} min", fuzz_run.seconds / 60);
        found += fuzz_run.run_target(&programs, name)?;
    }
    match found {
        0 => println!("fuzz: nothing was found"),
        count => println!("fuzz: {count} inputs fail; they are in fuzz/seeds, and fail the tests"),
    }
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of all targets, which have a file each.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.join("targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The places of a run, and how long each target has.
struct FuzzRun {
    folder: PathBuf,
    built: PathBuf,
    seconds: u64,
}

impl FuzzRun {
    /// Builds targets, and says in which folder they are.
    fn build(&self, names: &[String]) -> Result<PathBuf> {
        let host = host()?;
        let mut build = cargo();
        build.args(["build", "--release", "--quiet", "--target", &host, "--manifest-path"]);
        build.arg(self.folder.join("Cargo.toml")).arg("--target-dir").arg(&self.built);
        build.args(names.iter().flat_map(|name| ["--bin", name]));
        if names.iter().any(|name| name == SESSION_IMPORT) {
            build.args(["--features", SESSION_IMPORT]);
        }
        build.env("RUSTFLAGS", RUSTFLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
        match build.status()?.success() {
            true => Ok(self.built.join(host).join("release")),
            false => Err("the targets could not be built; libFuzzer needs a C++ compiler".into()),
        }
    }

    /// Runs a target to its end, and says how many inputs it found.
    fn run_target(&self, programs: &Path, name: &str) -> Result<usize> {
        let (seeds, corpus) =
            (self.folder.join("seeds").join(name), self.built.join("corpus").join(name));
        fs::create_dir_all(&corpus)?;
        let before = found_inputs(&seeds)?;
        let log = self.built.join(format!("{name}.log"));
        let begun = Instant::now();
        let status = Command::new(programs.join(name))
            .args(LIMITS)
            .arg(format!("-max_total_time={}", self.seconds))
            .arg(format!("-artifact_prefix={}/{FOUND}", seeds.display()))
            .arg(corpus)
            .arg(&seeds)
            .stderr(File::create(&log)?)
            .status()?;
        let told = fs::read(&log)?;
        let report = RunReport::read(&String::from_utf8_lossy(&told));
        let took = begun.elapsed().as_secs();
        println!("{name}: {} runs in {took} s, {} edges", report.runs, report.edges);
        let mut found = found_inputs(&seeds)?;
        found.retain(|input| !before.contains(input));
        for input in &found {
            println!("{name}: FOUND {}", input.display());
        }
        if !found.is_empty() {
            println!("{name}: {} (all of it is in {})", report.problem, log.display());
        } else if !status.success() {
            // An input that was found before, and still fails.
            println!("{name}: FAILED: {} (see {})", report.problem, log.display());
            return Ok(1);
        } else if report.runs == 0 {
            return Err(format!("{name} did not run; see {}", log.display()).into());
        }
        Ok(found.len())
    }
}

/// The inputs of a target that once failed.
fn found_inputs(seeds: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(seeds)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(FOUND) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// What libFuzzer said of a run.
#[derive(Debug, PartialEq, Eq)]
struct RunReport {
    runs: u64,
    edges: u64,
    /// What it failed with, if it failed.
    problem: String,
}

impl RunReport {
    fn read(log: &str) -> Self {
        let behind = |line: &str, word: &str| -> Option<u64> {
            line.split_once(word)?.1.split_whitespace().next()?.parse().ok()
        };
        let last = |word: &str| log.lines().rev().find_map(|line| behind(line, word)).unwrap_or(0);
        let counted = |line: &str| line.strip_prefix('#')?.split_whitespace().next()?.parse().ok();
        let runs = match last("stat::number_of_executed_units:") {
            0 => log.lines().rev().find_map(counted).unwrap_or(0),
            runs => runs,
        };
        let mut lines = log.lines().skip_while(|line| !line.contains("panicked at"));
        let words = lines.by_ref().take(2).collect::<Vec<_>>().join(" ");
        let summary = || log.lines().rev().find(|line| line.starts_with("SUMMARY"));
        let problem =
            if words.is_empty() { summary().unwrap_or("no word of it").to_owned() } else { words };
        RunReport { runs, edges: last("cov: "), problem }
    }
}

/// What the compiler calls this machine. Only with a target named are programs that run while
/// building left without instrumentation.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say which machine this is")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_from_its_log() {
        let quiet = "#2 INITED cov: 10 ft: 11\n#1024 NEW cov: 25 ft: 31 corp: 4/9b\n\
                     Done 2048 runs in 61 second(s)\nstat::number_of_executed_units: 2048\n";
        let report = RunReport::read(quiet);
        assert_eq!((report.runs, report.edges), (2_048, 25));
        let failed = "#7 NEW cov: 25 ft: 31\nthread '<unnamed>' panicked at a.rs:3:5:\nit is odd\n\
                      ==1== ERROR: libFuzzer: deadly signal\nSUMMARY: libFuzzer: deadly signal\n";
        let report = RunReport::read(failed);
        assert_eq!((report.runs, report.edges), (7, 25));
        assert_eq!(report.problem, "thread '<unnamed>' panicked at a.rs:3:5: it is odd");
        let slow = "#9 NEW cov: 5\nSUMMARY: libFuzzer: timeout\n";
        assert_eq!(RunReport::read(slow).problem, "SUMMARY: libFuzzer: timeout");
    }
}
