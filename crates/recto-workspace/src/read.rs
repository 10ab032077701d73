//! Reads one file and parses it as what it is for.
//!
//! A file is looked at before it is opened: a pipe would block, a device might
//! act, and a file of gigabytes would fill the memory. What cannot be read is
//! a value like any other, so that it is reported once and not tried again
//! until it changes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use recto_context::{ContentHash, ContentSource, Text, ToolSpec, WorkspaceFile};

use crate::document::{ParsedDocument, read_document};
use crate::fields::FileReport;
use crate::options::WorkspaceOptions;
use crate::problem::WorkspaceProblem;
use crate::skill::{ParsedSkill, read_skill};
use crate::source_files::{FileRole, SourceFile};
use crate::stamp::{self, IoFailure, PathState, stat_path};
use crate::sub_agent::{self, SubAgentConfig};
use crate::tools_json::read_tools;

/// The largest file that is read.
const SIZE_LIMIT: u64 = 8 << 20;

/// A file that should be read.
#[derive(Debug)]
pub(crate) struct ReadJob {
    /// Where the reading belongs; given back unchanged.
    pub slot: usize,
    pub file: SourceFile,
    /// What its content was, if it was read before.
    pub known: Option<ContentHash>,
}

/// What reading a file gave.
#[derive(Debug)]
pub(crate) struct ReadResult {
    pub slot: usize,
    pub seen: PathState,
    pub at: SystemTime,
    pub outcome: ReadOutcome,
}

#[derive(Debug)]
pub(crate) enum ReadOutcome {
    /// The bytes are those that were known.
    Unchanged,
    Missing,
    Unusable(WorkspaceProblem),
    Parsed(ParsedFile),
}

/// A file's value, with what is wrong with it.
#[derive(Debug)]
pub(crate) struct ParsedFile {
    pub hash: ContentHash,
    pub value: ParsedValue,
    pub problems: Vec<WorkspaceProblem>,
}

#[derive(Debug)]
pub(crate) enum ParsedValue {
    /// A blank file is none.
    Text(Option<WorkspaceFile>),
    Skill(ParsedSkill),
    Tools(Vec<ToolSpec>),
    Document(Option<ParsedDocument>),
    /// One that must not be gone by is none.
    SubAgentConfig(Option<SubAgentConfig>),
}

/// Reads a file and, if its bytes are new, parses it.
pub(crate) fn read_file(job: &ReadJob, options: &WorkspaceOptions) -> ReadResult {
    let at = SystemTime::now();
    let path = &job.file.path;
    let (seen, content) = match leads_out_of_project(&job.file, options) {
        true => (stat_path(path), Err("is a link that leads out of the project".to_owned())),
        false => read(path),
    };
    let outcome = match content {
        Ok(None) => ReadOutcome::Missing,
        Err(what) => ReadOutcome::Unusable(WorkspaceProblem::error(path, what)),
        Ok(Some(bytes)) => {
            let hash = ContentHash::of_bytes(&bytes);
            if job.known == Some(hash) {
                ReadOutcome::Unchanged
            } else {
                parse(&job.file, hash, &bytes, options)
            }
        }
    };
    ReadResult { slot: job.slot, seen, at, outcome }
}

/// The text of a file as it stands there, under the same conditions as [`read_file`].
pub(crate) fn read_source(file: &SourceFile, options: &WorkspaceOptions) -> Option<String> {
    if leads_out_of_project(file, options) {
        return None;
    }
    let (_, content) = read(&file.path);
    String::from_utf8(content.ok()??).ok()
}

/// Whether a file that a project brings is in truth another one of this machine: whoever wrote
/// the project may not choose what of that is sent to a model.
fn leads_out_of_project(file: &SourceFile, options: &WorkspaceOptions) -> bool {
    let Some(project) = options.project.as_deref().filter(|root| file.is_of_project(root)) else {
        return false;
    };
    match (file.path.canonicalize(), project.canonicalize()) {
        (Ok(target), Ok(project)) => !target.starts_with(project),
        // What can't be followed can't be read either.
        _ => false,
    }
}

/// The bytes of a file, or `None` when there is none, with the stamp that it
/// had before they were read.
fn read(path: &Path) -> (PathState, Result<Option<Vec<u8>>, String>) {
    let seen = stat_path(path);
    let content = seen.stamp().and_then(|stamp| match stamp {
        None => Ok(None),
        Some(stamp) => match stamp.kind.why_no_file() {
            Some(what) => Err(what.to_owned()),
            None if stamp.size > SIZE_LIMIT => Err(too_large(stamp.size)),
            None => read_bytes(path),
        },
    });
    (seen, content)
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match read_within_limit(path) {
        Ok(bytes) if bytes.len() as u64 > SIZE_LIMIT => Err(too_large(bytes.len() as u64)),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if stamp::is_missing(&error) => Ok(None),
        Err(error) => Err(format!("cannot be read: {}", IoFailure::from_error(&error))),
    }
}

/// Stops one byte behind the limit: the file may have grown since the look.
fn read_within_limit(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(SIZE_LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn too_large(size: u64) -> String {
    format!("is too large: {size} bytes of at most {SIZE_LIMIT}")
}

fn parse(
    file: &SourceFile,
    hash: ContentHash,
    bytes: &[u8],
    options: &WorkspaceOptions,
) -> ReadOutcome {
    let content = match str::from_utf8(bytes) {
        Ok(content) => content.strip_prefix('\u{feff}').unwrap_or(content),
        Err(error) => {
            let what = format!("is not UTF-8: byte {} does not fit", error.valid_up_to());
            return ReadOutcome::Unusable(WorkspaceProblem::error(&file.path, what));
        }
    };
    let mut report = FileReport::new(&file.path);
    let value = match file.role {
        FileRole::Soul
        | FileRole::Identity
        | FileRole::Agents
        | FileRole::ProjectAgents
        | FileRole::User
        | FileRole::ToolsDoc
        | FileRole::SubAgentSoul
        | FileRole::SubAgentMood
        | FileRole::SubAgentMemory
        | FileRole::SubAgentSkill => ParsedValue::Text(read_text(content, &file.path)),
        FileRole::Skill => {
            ParsedValue::Skill(read_skill(content, options.search_path.as_deref(), &mut report))
        }
        FileRole::SkillTools => ParsedValue::Tools(read_tools(content, &mut report)),
        FileRole::Rule | FileRole::Reference => {
            ParsedValue::Document(read_document(content, &mut report))
        }
        FileRole::SubAgentConfig => {
            ParsedValue::SubAgentConfig(sub_agent::read_config(content, &mut report))
        }
    };
    ReadOutcome::Parsed(ParsedFile { hash, value, problems: report.problems })
}

fn read_text(content: &str, path: &Arc<Path>) -> Option<WorkspaceFile> {
    let text = content.trim();
    (!text.is_empty()).then(|| WorkspaceFile {
        text: Text::from(text),
        source: ContentSource::File(path.clone()),
    })
}
