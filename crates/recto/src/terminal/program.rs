//! A program that a person names with its arguments, as `EDITOR` and `PAGER` do.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The program and its arguments: `code --wait` has one, `/opt/My Editor/bin` none.
pub(super) fn split_arguments(named: &OsStr) -> (OsString, Vec<OsString>) {
    let whole = || (named.to_owned(), Vec::new());
    if Path::new(named).is_file() {
        return whole();
    }
    let Some(text) = named.to_str() else { return whole() };
    let mut words = text.split_whitespace().map(OsString::from);
    match words.next() {
        Some(program) => (program, words.collect()),
        None => whole(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_is_one_program() {
        let (program, arguments) = split_arguments(OsStr::new("code --wait"));
        assert_eq!((program, arguments), ("code".into(), vec!["--wait".into()]));
        let folder = tempfile::Builder::new().prefix("my programs").tempdir().unwrap();
        let path = folder.path().join("pager");
        std::fs::write(&path, "").unwrap();
        assert_eq!(split_arguments(path.as_os_str()), (path.into_os_string(), Vec::new()));
    }
}
