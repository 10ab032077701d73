//! Files with one JSON object a line.

use std::fs::File;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::input;
use crate::output::tame;

/// How many bad lines are told one by one.
const TOLD: usize = 20;

/// The objects of a file, each with its line; empty lines don't count. Whatever
/// is wrong with any of them is told at once.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<(usize, T)>, Failure> {
    let failure = || Failure::new(format!("cannot read {}", path.display()));
    let file = File::open(path).map_err(|error| failure().because(&error))?;
    let text = input::read_text(file).map_err(|error| failure().because(&error))?;
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
pub(super) fn check_ids<'a>(
    path: &Path,
    ids: impl Iterator<Item = (usize, &'a str)>,
) -> Result<(), Failure> {
    let mut seen = std::collections::HashMap::new();
    let mut problems = Vec::new();
    for (line, id) in ids {
        match seen.get(id) {
            Some(first) => {
                let what = format!("the id `{}` is that of line {first}, too", tame(id));
                problems.push((line, what));
            }
            None => {
                seen.insert(id, line);
            }
        }
    }
    refused(path, &problems).map_or(Ok(()), Err)
}

fn refused(path: &Path, problems: &[(usize, String)]) -> Option<Failure> {
    let (told, rest) = problems.split_at(problems.len().min(TOLD));
    let lines = told.iter().map(|(line, what)| format!("\n{}:{line}: {what}", path.display()));
    let lines: String = lines.collect();
    let more = match rest.len() {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    let failure = || Failure::new(format!("{} can't be used\n{lines}{more}", path.display()));
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
