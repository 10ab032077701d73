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

use recto_context::{ContentHash, Document, File as TextFile, Source, Text, ToolSpec};

use crate::document::read_document;
use crate::fields::Report;
use crate::options::Options;
use crate::place::{Place, Role};
use crate::problem::Problem;
use crate::skill::{self, read_skill};
use crate::stamp::{self, Failure, Seen, look};
use crate::tools_json::read_tools;

/// The largest file that is read.
const SIZE_LIMIT: u64 = 8 << 20;

/// A file that should be read.
#[derive(Debug)]
pub(crate) struct Errand {
    /// Where the reading belongs; given back unchanged.
    pub slot: usize,
    pub place: Place,
    /// What its content was, if it was read before.
    pub known: Option<ContentHash>,
}

/// What reading a file gave.
#[derive(Debug)]
pub(crate) struct Reading {
    pub slot: usize,
    pub seen: Seen,
    pub at: SystemTime,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The bytes are those that were known.
    Unchanged,
    Missing,
    Unusable(Problem),
    Parsed(Parsed),
}

/// A file's value, with what is wrong with it.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub hash: ContentHash,
    pub value: Value,
    pub problems: Vec<Problem>,
}

#[derive(Debug)]
pub(crate) enum Value {
    /// A blank file is none.
    Text(Option<TextFile>),
    Skill(skill::Found),
    Tools(Vec<ToolSpec>),
    Document(Option<Document>),
}

/// Reads a file and, if its bytes are new, parses it.
pub(crate) fn run(errand: &Errand, options: &Options) -> Reading {
    let at = SystemTime::now();
    let path = &errand.place.path;
    let (seen, content) = read(path);
    let outcome = match content {
        Ok(None) => Outcome::Missing,
        Err(what) => Outcome::Unusable(Problem::error(path, what)),
        Ok(Some(bytes)) => {
            let hash = ContentHash::of(&bytes);
            if errand.known == Some(hash) {
                Outcome::Unchanged
            } else {
                parse(&errand.place, hash, &bytes, options)
            }
        }
    };
    Reading { slot: errand.slot, seen, at, outcome }
}

/// The bytes of a file, or `None` when there is none, with the stamp that it
/// had before they were read.
fn read(path: &Path) -> (Seen, Result<Option<Vec<u8>>, String>) {
    let seen = look(path);
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
        Err(error) => Err(format!("cannot be read: {}", Failure::of(&error))),
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

fn parse(place: &Place, hash: ContentHash, bytes: &[u8], options: &Options) -> Outcome {
    let content = match str::from_utf8(bytes) {
        Ok(content) => content.strip_prefix('\u{feff}').unwrap_or(content),
        Err(error) => {
            let what = format!("is not UTF-8: byte {} does not fit", error.valid_up_to());
            return Outcome::Unusable(Problem::error(&place.path, what));
        }
    };
    let mut report = Report::new(&place.path);
    let value = match place.role {
        Role::Soul | Role::Identity | Role::Agents | Role::User | Role::ToolsDoc => {
            Value::Text(read_text(content, &place.path))
        }
        Role::Skill => {
            Value::Skill(read_skill(content, options.search_path.as_deref(), &mut report))
        }
        Role::SkillTools => Value::Tools(read_tools(content, &mut report)),
        Role::Rule | Role::Reference => Value::Document(read_document(content, &mut report)),
    };
    Outcome::Parsed(Parsed { hash, value, problems: report.problems })
}

fn read_text(content: &str, path: &Arc<Path>) -> Option<TextFile> {
    let text = content.trim();
    (!text.is_empty())
        .then(|| TextFile { text: Text::from(text), source: Source::File(path.clone()) })
}
