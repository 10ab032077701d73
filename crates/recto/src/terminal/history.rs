//! The file of what was typed, from which single entries can be taken out again.

use std::io::{self, Write};
use std::path::Path;

use recto_fs::{Access, private_options, write_whole};

/// How the editor writes the end of a line within an entry.
const LINE_END: &str = "<\\n>";

/// Adds an entry at the end, at once. An editor that has the file open finds it when it reads
/// its next line.
pub(crate) fn add_entry(file: &Path, entry: &str) -> io::Result<()> {
    let mut file = private_options().create(true).append(true).open(file)?;
    // The editor of another chat may be writing it anew.
    file.lock()?;
    file.write_all(format!("{}\n", entry.replace('\n', LINE_END)).as_bytes())
}

/// Takes the entries out that `is_gone` says of, and says how many there were.
pub(crate) fn forget_entries(file: &Path, is_gone: impl Fn(&str) -> bool) -> io::Result<usize> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        text => text?,
    };
    let (gone, kept): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| is_gone(&line.replace(LINE_END, "\n")));
    if !gone.is_empty() {
        let kept: String = kept.iter().flat_map(|line| [line, "\n"]).collect();
        write_whole(file, kept.as_bytes(), Access::Owner)?;
    }
    Ok(gone.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        add_entry(&file, "one").unwrap();
        add_entry(&file, "two\nlines").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo<\\n>lines\n");
        assert_eq!(forget_entries(&file, |entry| entry == "two\nlines").unwrap(), 1);
    }

    #[test]
    fn entries_go_and_the_others_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        std::fs::write(&file, "one\ntwo<\\n>lines\none\nthree\n").unwrap();
        assert_eq!(forget_entries(&file, |entry| entry == "two\nlines").unwrap(), 1);
        assert_eq!(forget_entries(&file, |entry| entry == "one").unwrap(), 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "three\n");
        assert_eq!(forget_entries(&file, |entry| entry == "one").unwrap(), 0);
        assert_eq!(forget_entries(&folder.path().join("none"), |_| true).unwrap(), 0);
    }
}
