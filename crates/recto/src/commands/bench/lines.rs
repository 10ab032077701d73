//! Files with one JSON object a line.

use std::fs::File;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::tame;

/// The most bad lines that are told one by one.
const TOLD: usize = 20;

/// The objects of a file, each with its line; empty lines don't count. Whatever
/// is wrong with any of them is told at once.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> CliResult<Vec<(usize, T)>> {
    let failure = || CliFailure::new(format!("cannot read {}", path.display()));
    let text = File::open(path).and_then(input::read_text);
    let text = text.map_err(|error| failure().because(&error))?;
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(object) => found.push((index + 1, object)),
            Err(error) => problems.push((index + 1, what_is_wrong(&error))),
        }
    }
    match refused(path, &problems) {
        Some(failure) => Err(failure),
        None if found.is_empty() => Err(failure().hint("it has no lines")),
        None => Ok(found),
    }
}

/// Refuses ids that are there twice: a result could not be told from another.
pub(super) fn check_ids<'a>(path: &Path, ids: impl Iterator<Item = (usize, &'a str)>) -> CliResult {
    let mut seen = std::collections::HashMap::new();
    let mut problems = Vec::new();
    for (line, id) in ids {
        let first = *seen.entry(id).or_insert(line);
        if first != line {
            problems.push((line, format!("the id `{}` is that of line {first}, too", tame(id))));
        }
    }
    refused(path, &problems).map_or(Ok(()), Err)
}

fn refused(path: &Path, problems: &[(usize, String)]) -> Option<CliFailure> {
    let (told, rest) = problems.split_at(problems.len().min(TOLD));
    let shown = path.display();
    let lines: String =
        told.iter().map(|(line, what)| format!("\n{shown}:{line}: {what}")).collect();
    let more = match rest.len() {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    let failure = || CliFailure::new(format!("{shown} can't be used\n{lines}{more}"));
    (!problems.is_empty()).then(failure)
}

/// The parser's words, without the line, which is always its first.
fn what_is_wrong(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what} (column {})", error.column()),
        None => text,
    }
}
