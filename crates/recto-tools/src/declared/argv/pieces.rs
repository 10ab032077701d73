//! The elements of a command line and where each comes from, which decides what
//! a program could take for a flag.

use super::problem;
use crate::tool::ToolError;

/// The longest command line.
const MAX_COMMAND_LINE: usize = 1024 * 1024;

/// Programs that take what follows `--` for plain arguments.
const TAKE_DOUBLE_DASH: &str = "
    base64 basename cat cmp comm cp cut date df diff dirname du egrep expand fd fgrep file fmt fold
    grep head join jq ln ls md5sum mkdir mv nl od paste readlink realpath rg rm sed sha1sum
    sha256sum sha512sum sort split stat tac tail tee touch tree uniq wc
";

/// Programs that put the words of a file in the place of an argument `@FILE`, wherever it stands;
/// also with a version behind and a system in front, such as `x86_64-linux-gnu-gcc-14`.
const READ_ARGUMENT_FILES: &str = "
    7z 7za 7zz addr2line ar as c c++ c++filt cc clang clang++ clang-cl clang-format clang-tidy convert
    cpp csc dlltool elfedit emcc flang g++ gcc gcc-ar gcc-nm gcc-ranlib gccgo gdc ghc gfortran gnatmake
    gprof gs jar jarsigner java javac javadoc javap jdeps jlink jmod jpackage kotlinc ld ld.bfd ld.gold
    ld.lld ld.mold lld lto-dump magick mold mypy nm objcopy objdump opt llc protoc pytest qpdf ranlib
    readelf rustc rustdoc scalac size strings strip swiftc tclsh wasm-ld windmc windres
";

/// An element of the command line.
#[derive(Debug, Clone)]
pub(super) struct ArgvPiece {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// Where an element comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The author's text. If it is a flag, it may take what follows as its value.
    Own,
    /// A flag that takes no value.
    Switch,
    /// A flag, its value, or both in one.
    Named,
    /// A value without a flag.
    Positional,
}

/// A flag with its value.
pub(super) fn named(param: &str, flag: &str, value: String) -> Result<Vec<ArgvPiece>, ToolError> {
    let piece = |text| ArgvPiece { text, origin: Origin::Named };
    if flag.ends_with('=') {
        return Ok(vec![piece(format!("{flag}{value}"))]);
    }
    if !value.starts_with('-') {
        return Ok(vec![piece(flag.to_owned()), piece(value)]);
    }
    if flag.starts_with("--") {
        return Ok(vec![piece(format!("{flag}={value}"))]);
    }
    let what = format!("a value that begins with `-` could be taken for a flag after `{flag}`");
    Err(problem(param, what))
}

/// Texts of the author's.
pub(super) fn own(texts: &[String]) -> Vec<ArgvPiece> {
    texts.iter().map(|text| ArgvPiece { text: text.clone(), origin: Origin::Own }).collect()
}

/// The arguments of a program, of which none can be mistaken for a flag.
pub(super) fn command_line(
    program: &str,
    mut pieces: Vec<ArgvPiece>,
) -> Result<Vec<String>, ToolError> {
    let is_marker = |piece: &ArgvPiece| piece.origin == Origin::Own && piece.text == "--";
    let unguarded = pieces.iter().take_while(|piece| !is_marker(piece));
    let mut risky =
        unguarded.filter(|piece| piece.origin == Origin::Positional && piece.text.starts_with('-'));
    if let Some(risky) = risky.next() {
        let at = place_for_marker(program, &pieces).ok_or_else(|| {
            let value: String = risky.text.chars().take(40).collect();
            let why =
                "begins with `-`, so the program could take it for a flag; write it in another way";
            ToolError::new(format!("`{value}` {why}"))
        })?;
        pieces.insert(at, ArgvPiece { text: "--".to_owned(), origin: Origin::Own });
    }
    if let Some(piece) = pieces.iter().find(|piece| names_argument_file(program, piece)) {
        let value: String = piece.text.chars().take(40).collect();
        return Err(ToolError::new(format!(
            "`{value}` begins with `@`, so the program could read its arguments from a file; write \
             it in another way, a path as `./{value}`"
        )));
    }
    let arguments: Vec<String> = pieces.into_iter().map(|piece| piece.text).collect();
    let size: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
    if size > MAX_COMMAND_LINE {
        let words = format!("a command line has at most {MAX_COMMAND_LINE}");
        return Err(ToolError::new(format!("the arguments have {size} bytes in all; {words}")));
    }
    Ok(arguments)
}

/// Whether a value of the model's would be replaced by what is in a file.
fn names_argument_file(program: &str, piece: &ArgvPiece) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = name.trim_end_matches('-');
    let is_known = |known: &str| {
        [program, name].iter().any(|name| {
            name.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
        })
    };
    matches!(piece.origin, Origin::Positional | Origin::Named)
        && piece.text.starts_with('@')
        && READ_ARGUMENT_FILES.split_ascii_whitespace().any(is_known)
}

/// Where a `--` makes plain arguments of all values; `None` if the program may
/// not know it, or flags would be among them, or it could itself be taken for
/// the value of a flag.
fn place_for_marker(program: &str, pieces: &[ArgvPiece]) -> Option<usize> {
    let at = pieces.iter().position(|piece| piece.origin == Origin::Positional)?;
    let knows = TAKE_DOUBLE_DASH.split_ascii_whitespace().any(|known| known == program);
    let is_flag =
        |piece: &ArgvPiece| piece.origin != Origin::Positional && piece.text.starts_with('-');
    let takes_value = |piece: &ArgvPiece| {
        piece.origin == Origin::Own && is_flag(piece) && !piece.text.contains('=')
    };
    let before = at.checked_sub(1).and_then(|before| pieces.get(before));
    let fits = knows && !pieces[at..].iter().any(is_flag) && !before.is_some_and(takes_value);
    fits.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(program: &str, origin: Origin, text: &str) -> Result<Vec<String>, ToolError> {
        command_line(program, vec![ArgvPiece { text: text.to_owned(), origin }])
    }

    /// Promise: `value-is-no-flag`
    #[test]
    fn a_value_is_no_file_of_flags() {
        for program in ["gcc", "x86_64-linux-gnu-gcc-14", "clang++-18", "c99", "7z", "ld.lld"] {
            for origin in [Origin::Positional, Origin::Named] {
                assert!(line(program, origin, "@sub/args").is_err(), "{program}");
                assert!(line(program, origin, "./@sub/args").is_ok(), "{program}");
            }
            assert!(line(program, Origin::Own, "@sub/args").is_ok(), "{program}");
        }
        for program in ["grep", "git", "nmap", "slargcc"] {
            assert!(line(program, Origin::Positional, "@Override").is_ok(), "{program}");
        }
    }
}
