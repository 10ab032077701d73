//! A program that a person names with its arguments, as `EDITOR` and `PAGER` do.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use crate::search_path::found_command;

/// The program with its arguments, ready to be started. A name is looked for where `PATH` leads
/// wherever Recto was started.
pub(super) fn named_command(named: &OsStr) -> io::Result<Command> {
    let (program, arguments) = split_arguments(named);
    let mut command = found_command(&program)?;
    command.args(arguments);
    Ok(command)
}

/// The program and its arguments: `code --wait` has one, `/opt/My Editor/bin` none.
fn split_arguments(named: &OsStr) -> (OsString, Vec<OsString>) {
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

    #[test]
    fn a_program_is_started_by_its_path() {
        let program = |named: &str| {
            let command = named_command(OsStr::new(named))?;
            Ok::<_, io::Error>((command.get_program().to_owned(), command.get_args().count()))
        };
        let (found, arguments) = program("sh -e -u").unwrap();
        assert!(Path::new(&found).is_absolute() && arguments == 2, "{found:?}");
        assert_eq!(program("./pager -x").unwrap(), ("./pager".into(), 1));
        assert_eq!(program("no-such-program").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
