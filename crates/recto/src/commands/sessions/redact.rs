//! `recto sessions redact`: a text goes from everything that was said, sent and kept, and a mark
//! stands in its place. Files that people look after themselves are left alone, and named.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use recto_agent::{RedactionReport, count_redaction, path_without_topic, redact_store};
use recto_context::Redaction;
use recto_fs::{Access, write_whole};
use recto_store::{Moment, RedactionCounts, Store, StoreError};
use serde_json::json;

use super::delete::{Confirmation, ask};
use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{counted, print_json, tell};
use crate::terminal::history::forget_entries;

/// Larger files are not read to see whether they have the text.
const LARGEST_FILE: u64 = 16 << 20;

pub(super) async fn run(
    home: &RectoHome,
    config: &LoadedConfig,
    store: &Store,
    typed: &str,
    confirmation: Confirmation,
    as_json: bool,
) -> CliResult {
    let text = if typed == "-" { input::all()? } else { typed.to_owned() };
    let redaction = Redaction::new(&text).map_err(|error| {
        CliFailure::new(format!("the text can't be redacted: {error}"))
            .hint("name a longer stretch of what stands there")
    })?;
    store.must_be_alone().await.map_err(in_use)?;
    let found = count_redaction(store, &redaction).await?;
    if confirmation == Confirmation::Asked && !is_meant(typed, found)? {
        tell(&"nothing was redacted");
        return Ok(());
    }
    let report = redact_store(store, &redaction, Moment::now()).await?;
    let elsewhere = FilesOfHome::redact(home, config, &redaction)?;
    if as_json {
        return print_json(&report_json(&report, &elsewhere));
    }
    tell_done(store, &report, &elsewhere);
    Ok(())
}

fn in_use(error: StoreError) -> CliFailure {
    let is_open = matches!(error, StoreError::InUse { .. });
    let failure = CliFailure::from(error);
    let hint = "end `recto serve` and every chat first: they remember what they have read";
    if is_open { failure.hint(hint) } else { failure }
}

/// Asks whether the text is to go, once it is known how much has it.
fn is_meant(typed: &str, found: RedactionCounts) -> CliResult<bool> {
    if typed == "-" || !input::can_ask() {
        return Err(CliFailure::new("nothing was redacted")
            .hint("nobody can be asked here; `--yes` says that you mean it"));
    }
    let [messages, requests] = words(found);
    tell(&format_args!(
        "{messages} and {requests} have this text. It is taken out of them for good, and of \
         whatever else has it; records are told to be redacted."
    ));
    Ok(ask("It can't be brought back. Type yes to redact it: ")? == "yes")
}

fn words(counts: RedactionCounts) -> [String; 2] {
    let count = |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    [count(counts.messages, "message"), count(counts.requests, "request")]
}

/// What stands of a text in the home outside of the store.
#[derive(Default)]
struct FilesOfHome {
    /// What was typed and had it.
    typed: usize,
    /// Files of sessions that had it.
    sessions: usize,
    /// Files that have it still.
    left: Vec<PathBuf>,
}

impl FilesOfHome {
    /// Takes it out of what Recto keeps itself, and looks for it in the rest.
    fn redact(home: &RectoHome, config: &LoadedConfig, redaction: &Redaction) -> CliResult<Self> {
        let failed = |error: io::Error| {
            CliFailure::new("the text is gone from the store, but not from every file")
                .because(&error)
                .hint("redact it again")
        };
        let typed = forget_entries(&home.history_file(), |entry| redaction.is_in(entry));
        let mut found = FilesOfHome { typed: typed.map_err(failed)?, ..FilesOfHome::default() };
        for path in files_with(&home.path().join("sessions"), redaction) {
            let text = fs::read_to_string(&path).map_err(failed)?;
            if let Some(text) = redaction.text(&text) {
                let write = |path: &Path| write_whole(path, text.as_bytes(), Access::Owner);
                change_session_file(&path, write).map_err(failed)?;
                found.sessions += 1;
            }
        }
        let workspaces = config.agents().map(|settings| settings.agent.workspace.clone());
        let mut folders: Vec<PathBuf> = workspaces.collect();
        folders.extend(["skills", "logs"].map(|name| home.path().join(name)));
        folders.push(home.path().join("config.toml"));
        folders.extend(config.settings.log.file.clone());
        folders.sort();
        folders.dedup();
        found.left = folders.iter().flat_map(|folder| files_with(folder, redaction)).collect();
        Ok(found)
    }
}

/// Writes a session's file anew, without its topic in its name: that tells what was said first. The name
/// goes before the text, by which the file is found again where this is cut off between the two.
fn change_session_file(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    match path_without_topic(path) {
        Some(unnamed) => {
            fs::rename(path, &unnamed)?;
            write(&unnamed)
        }
        None => write(path),
    }
}

/// The files at or below a path that have a text. What can't be read is passed over, and no link is
/// followed.
fn files_with(path: &Path, redaction: &Redaction) -> Vec<PathBuf> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Vec::new() };
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        return paths.iter().flat_map(|path| files_with(path, redaction)).collect();
    }
    let is_small = metadata.is_file() && metadata.len() <= LARGEST_FILE;
    let bytes = if is_small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let has_it = redaction.is_in(&String::from_utf8_lossy(&bytes));
    if has_it { vec![path.to_owned()] } else { Vec::new() }
}

fn report_json(report: &RedactionReport, elsewhere: &FilesOfHome) -> serde_json::Value {
    json!({
        "messages": report.counts.messages,
        "requests": report.counts.requests,
        "others": report.counts.others,
        "typed": elsewhere.typed,
        "session_files": elsewhere.sessions,
        "unreadable_requests": report.unreadable,
        "wiped": report.is_wiped,
        "left_in": elsewhere.left,
    })
}

fn tell_done(store: &Store, report: &RedactionReport, elsewhere: &FilesOfHome) {
    let [messages, requests] = words(report.counts);
    let others = usize::try_from(report.counts.others).unwrap_or(usize::MAX);
    let others = others.saturating_add(elsewhere.typed).saturating_add(elsewhere.sessions);
    let others = counted(others, "other text");
    tell(&format_args!(
        "redacted in {messages}, {requests} and {others}; `{}` stands in its place",
        Redaction::MARK
    ));
    if !report.unreadable.is_empty() {
        let count = counted(report.unreadable.len(), "request");
        tell(&format_args!(
            "the records of {count} can't be read, and may have it still: `recto store check`"
        ));
    }
    if !report.is_wiped && store.is_on_server() {
        tell(
            &"when its bytes are gone from the files, logs and backups of the database's server is \
              for the server to say",
        );
    } else if !report.is_wiped {
        tell(
            &"its bytes are still in the database's file, because the disk is full or somebody reads \
              it\n\nhint: make room, then `recto sessions list` finishes it",
        );
    }
    if !elsewhere.left.is_empty() {
        let files: String =
            elsewhere.left.iter().map(|path| format!("\n  {}", path.display())).collect();
        tell(&format_args!("these files are yours to change, and have it still:{files}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_gone_from_a_name_before_the_text_by_which_the_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-memory-zebra-stripes-7-20261115T080700Z.md");
        fs::write(&path, "a zebra").unwrap();
        let cut = change_session_file(&path, |_| Err(io::ErrorKind::Interrupted.into()));
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::Interrupted);
        let redaction = Redaction::new("zebra").unwrap();
        let [left] = &files_with(folder.path(), &redaction)[..] else { panic!("not one file") };
        assert!(left.ends_with("session-memory-redacted-7-20261115T080700Z.md"), "{left:?}");
        change_session_file(left, |path| fs::write(path, "a [redacted]")).unwrap();
        assert_eq!(files_with(folder.path(), &redaction), [] as [PathBuf; 0]);
    }
}
