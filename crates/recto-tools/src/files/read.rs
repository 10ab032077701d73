//! `read_file`: a text file, or some lines of it.
//!
//! Only what fits into a call's output is ever in memory. Files of usual size
//! are read to their end, to tell how many lines there are; larger ones only as
//! far as the lines that were asked for.

use std::ffi::OsString;
use std::io::{self, Read};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};
use recto_context::{ItemId, ItemKind, ToolSpec, byte_words, counted_noun};
use serde_json::json;

use super::lines::{CollectedLines, LineCollector, LineExtent, LineWindow};
use super::problem::{FileError, FileResult};
use super::walk::LastLink;
use super::{FileAccess, FileContext, FileTool, describe_look};
use crate::arguments::CallArguments;
use crate::blocking::Stop;
use crate::tool::ToolClass;

/// Larger files are not read to their end just to count their lines.
const LARGE: u64 = 5 * 1024 * 1024;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Makes the tool `read_file`.
pub(super) fn tool(files: Arc<FileAccess>) -> FileTool {
    let spec = ToolSpec::new(
        ItemId::new(ItemKind::Tool, "read_file"),
        "Read a text file in the workspace.",
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "description": "first line"},
                "limit": {"type": "integer", "minimum": 1, "description": "how many lines"}
            },
            "required": ["path"]
        }),
    );
    FileTool { spec, files, class: ToolClass::Reads, describe: describe_look, run: read }
}

fn read(
    files: &FileAccess,
    arguments: &CallArguments,
    _: &FileContext<'_>,
    stop: &Stop,
) -> FileResult<String> {
    let path = arguments.text("path").unwrap_or_default();
    let window = LineWindow {
        first: arguments.whole_number("offset").unwrap_or(1),
        count: arguments.whole_number("limit").unwrap_or(u64::MAX),
        room: files.room,
    };
    let resolved = files.open()?.resolve(path, LastLink::Followed)?;
    let (mut file, size) = match resolved.below.as_slice() {
        [] => return Err(FileError::Folder { path: path.to_owned() }),
        [name] => open(&resolved.folder, name, path)?,
        _ => return Err(FileError::Missing { path: path.to_owned() }),
    };
    let failed = |cause| FileError::Io { path: path.to_owned(), cause };
    let (taken, coverage) = take(&mut file, window, size, stop).map_err(failed)?;
    if taken.lines == 0 && window.first > 1 {
        let (asked, lines) = (window.first, taken.seen);
        return Err(FileError::PastEnd { path: path.to_owned(), asked, lines });
    }
    let note = note(&taken, window, coverage, size);
    let text = text_of(taken).ok_or_else(|| FileError::NotText { path: path.to_owned() })?;
    Ok(with_note(text, note))
}

/// Opens a regular file. What else may be there is not even opened if that can
/// be told before: opening a device can have effects. If it takes the file's
/// place just then, it is opened without waiting and not read.
fn open(folder: &Dir, name: &OsString, path: &str) -> FileResult<(File, u64)> {
    let problem = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => FileError::Missing { path: path.to_owned() },
        _ => FileError::Io { path: path.to_owned(), cause },
    };
    let special = || FileError::Special { path: path.to_owned() };
    if !folder.symlink_metadata(name).map_err(problem)?.is_file() {
        return Err(special());
    }
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = folder.open_with(name, &options).map_err(problem)?;
    let found = file.metadata().map_err(problem)?;
    if !found.is_file() {
        return Err(special());
    }
    Ok((file, found.len()))
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coverage {
    ToItsEnd,
    InPart,
}

fn take(
    file: &mut File,
    window: LineWindow,
    size: u64,
    stop: &Stop,
) -> io::Result<(CollectedLines, Coverage)> {
    let mut lines = LineCollector::new(window);
    let mut chunk = vec![0; CHUNK];
    while !stop.is_raised() {
        if size > LARGE && lines.is_complete() {
            return Ok((lines.finish(), Coverage::InPart));
        }
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => lines.feed(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((lines.finish(), Coverage::ToItsEnd))
}

/// The bytes as text; `None` if they are none. Text has no NUL, even if UTF-8 has.
fn text_of(taken: CollectedLines) -> Option<String> {
    let mut bytes = taken.bytes;
    if taken.extent == LineExtent::Beginning
        && let Err(error) = str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        // The last character was cut in two.
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// What to say of lines that are not shown.
fn note(taken: &CollectedLines, window: LineWindow, read: Coverage, size: u64) -> Option<String> {
    let last = window.first + taken.lines.saturating_sub(1);
    let whole = match read {
        Coverage::ToItsEnd => {
            format!("{} {}", taken.seen, counted_noun(taken.seen, "line"))
        }
        Coverage::InPart => byte_words(size),
    };
    if taken.extent == LineExtent::Beginning {
        let bytes = byte_words(taken.bytes.len() as u64);
        return Some(format!(
            "[only the first {bytes} of line {last} are shown; the file has {whole}]"
        ));
    }
    match read {
        Coverage::ToItsEnd if taken.seen == 0 => Some("[the file is empty]".to_owned()),
        Coverage::ToItsEnd if taken.seen == taken.lines => None,
        Coverage::ToItsEnd if taken.seen == last => {
            Some(format!("[lines {} to {last}, the end of the file]", window.first))
        }
        _ => Some(format!(
            "[lines {} to {last}; the file has {whole}; go on with offset {}]",
            window.first,
            last + 1
        )),
    }
}

fn with_note(mut text: String, note: Option<String>) -> String {
    if let Some(note) = note {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    }
    text
}
