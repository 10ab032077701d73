//! Reads the command line and the variables of an MCP server, for what is executed by them and
//! what is loaded.
//!
//! Nobody can know that of all programs. What is read is what people write to start servers:
//! interpreters with a script, code for a shell, options and variables that name what to load.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{is_program_folder, names_script};

/// How something is used that a command line or a variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    /// It is executed, whatever its name.
    Script,
    /// Programs load from it.
    Loaded,
    /// As the file or folder itself says.
    ByItsLook,
    /// Nobody knows for what.
    Unknown,
}

/// Programs that run the first file that they are given.
struct Interpreter {
    /// Their names, without a version.
    names: &'static [&'static str],
    /// Options with code in the place of a file.
    code: &'static [&'static str],
    /// Options that name what is run as well.
    runs: &'static [&'static str],
    /// Options that name a folder to load from.
    loads: &'static [&'static str],
    /// Other options that have a value behind them.
    values: &'static [&'static str],
    /// Words that may stand before the file.
    subcommands: &'static [&'static str],
    /// A bare word is the name of a package, and no file.
    runs_packages: bool,
}

const INTERPRETERS: [Interpreter; 7] = [
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"],
        code: &["-c"],
        runs: &["--rcfile", "--init-file"],
        loads: &[],
        values: &["-o", "-O"],
        subcommands: &["sh", "ash"],
        runs_packages: false,
    },
    Interpreter {
        names: &["python", "pypy"],
        code: &["-c", "-m"],
        runs: &[],
        loads: &[],
        values: &["-W", "-X"],
        subcommands: &[],
        runs_packages: false,
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node"],
        code: &["-e", "-p", "--eval", "--print"],
        runs: &["-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"],
        loads: &[],
        values: &["--env-file", "-C", "--conditions", "--config"],
        subcommands: &["run", "watch", "x"],
        runs_packages: false,
    },
    Interpreter {
        names: &["perl", "ruby", "lua", "luajit"],
        code: &["-e", "-E"],
        runs: &["-r"],
        loads: &["-I"],
        values: &["-l"],
        subcommands: &[],
        runs_packages: false,
    },
    Interpreter {
        names: &["php", "Rscript"],
        code: &["-r", "-e"],
        runs: &[],
        loads: &[],
        values: &["-d", "-c"],
        subcommands: &[],
        runs_packages: false,
    },
    Interpreter {
        names: &["java"],
        code: &["-m", "--module"],
        runs: &["-jar"],
        loads: &["-p", "--module-path"],
        values: &["--add-modules", "--add-opens"],
        subcommands: &[],
        runs_packages: false,
    },
    Interpreter {
        names: &["npx", "bunx", "pnpx", "uv", "uvx", "pipx"],
        code: &["-c", "--call", "-m", "--module"],
        runs: &[],
        loads: &[],
        values: &["-p", "--package", "--from", "--with", "--with-editable", "--python"],
        subcommands: &["run", "tool", "exec"],
        runs_packages: true,
    },
];

/// Options of any program that name a folder to load from or to start in.
const LOADING_OPTIONS: [&str; 9] = [
    "-cp",
    "-classpath",
    "--class-path",
    "--directory",
    "--project",
    "--prefix",
    "--cwd",
    "--chdir",
    "--plugin-dir",
];

/// Variables by which programs find what they load, besides those that begin with `LD_`.
const LOADERS: [&str; 24] = [
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PERLLIB",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_PATH",
    "GEM_HOME",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_PATH",
    "LUA_CPATH",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "GIT_EXEC_PATH",
];

/// Follows a command line, to tell what its paths are used for.
pub(super) struct CommandLineReader {
    /// From where relative names go.
    folder: PathBuf,
    /// The interpreter whose file is still to come.
    interpreter: Option<&'static Interpreter>,
    /// What the next word is used for, where the one before says so.
    next: Option<PathUse>,
    /// The next word is the folder to go on in.
    changes_folder: bool,
}

impl CommandLineReader {
    pub(super) fn new(command: &str, folder: &Path) -> Self {
        CommandLineReader {
            folder: folder.to_owned(),
            interpreter: interpreter(command),
            next: None,
            changes_folder: false,
        }
    }

    /// What an argument names: the whole of it, or what stands in it, as in the code for a shell.
    pub(super) fn read_argument(&mut self, argument: &str) -> Vec<(PathBuf, PathUse)> {
        let argument = with_home(argument);
        match self.is_code(&argument) {
            true => self.read_code(&argument),
            false => self.read_word(&argument),
        }
    }

    fn read_code(&mut self, code: &str) -> Vec<(PathBuf, PathUse)> {
        let mut named = Vec::new();
        for word in words(code) {
            match word.as_str() {
                "cd" => (self.next, self.changes_folder) = (Some(PathUse::Loaded), true),
                "." | "source" => self.next = Some(PathUse::Script),
                word if self.is_code(word) => named.extend(self.read_code(word)),
                word => named.extend(self.read_word(word)),
            }
        }
        named
    }

    /// Whether a text is more than one word, and no path with blanks in it.
    fn is_code(&self, text: &str) -> bool {
        let path = self.folder.join(text);
        text.contains(|c| is_blank(c) || is_quote(c))
            && !path.exists()
            && !(text.starts_with('/') && path.parent().is_some_and(Path::is_dir))
    }

    fn read_word(&mut self, word: &str) -> Vec<(PathBuf, PathUse)> {
        if let Some(usage) = self.next.take() {
            let places = places(word, usage, &self.folder);
            if std::mem::take(&mut self.changes_folder) {
                self.folder = self.folder.join(word);
            }
            return places;
        }
        if word.starts_with('-') {
            return self.read_option(word);
        }
        if let Some((name, value)) = assignment(word) {
            return places(value, use_of_variable(name), &self.folder);
        }
        if let Some(found) = self.interpreter
            && found.subcommands.contains(&word)
        {
            return Vec::new();
        }
        if let Some(found) = interpreter(word) {
            self.interpreter = Some(found);
            let is_path = word.contains('/');
            return if is_path { places(word, PathUse::Script, &self.folder) } else { Vec::new() };
        }
        match self.interpreter.take() {
            Some(found) if found.runs_packages && is_package(word) => Vec::new(),
            Some(_) => places(word, PathUse::Script, &self.folder),
            None => places(word, PathUse::ByItsLook, &self.folder),
        }
    }

    fn read_option(&mut self, option: &str) -> Vec<(PathBuf, PathUse)> {
        if let Some((name, value)) = option.split_once('=') {
            let usage = self.use_of_value(name).unwrap_or(PathUse::ByItsLook);
            return places(value, usage, &self.folder);
        }
        if let Some(folder) = option.strip_prefix("-I").filter(|folder| !folder.is_empty()) {
            return places(folder, PathUse::Loaded, &self.folder);
        }
        if self.interpreter.is_some_and(|it| it.takes_code(option)) {
            self.interpreter = None;
        } else {
            self.next = self.use_of_value(option);
        }
        Vec::new()
    }

    /// What the value of an option is used for, where it has one.
    fn use_of_value(&self, option: &str) -> Option<PathUse> {
        let of = |options: fn(&Interpreter) -> &'static [&'static str]| {
            self.interpreter.is_some_and(|it| options(it).contains(&option))
        };
        if of(|it| it.runs) {
            Some(PathUse::Script)
        } else if of(|it| it.loads) || LOADING_OPTIONS.contains(&option) {
            Some(PathUse::Loaded)
        } else {
            of(|it| it.values).then_some(PathUse::ByItsLook)
        }
    }
}

impl Interpreter {
    /// Whether code comes behind an option, which may be one of several letters (`-lc`).
    fn takes_code(&self, option: &str) -> bool {
        let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        self.code.iter().any(|code| {
            let letter = code.strip_prefix('-').filter(|letter| letter.len() == 1);
            let ends_with = |letters: &str| letter.is_some_and(|letter| letters.ends_with(letter));
            *code == option || letters.is_some_and(ends_with)
        })
    }
}

/// What a variable names.
pub(super) fn places_of_variable(
    name: &str,
    value: &str,
    folder: &Path,
) -> Vec<(PathBuf, PathUse)> {
    let value = with_home(value);
    if folder.join(&value).exists() {
        return places(&value, use_of_variable(name), folder);
    }
    let values = words(&value).into_iter().map(|word| match assignment(&word) {
        Some((_, value)) => value.to_owned(),
        None => word,
    });
    values.flat_map(|value| places(&value, use_of_variable(name), folder)).collect()
}

fn use_of_variable(name: &str) -> PathUse {
    match LOADERS.contains(&name) || name.starts_with("LD_") {
        true => PathUse::Loaded,
        false => PathUse::Unknown,
    }
}

/// The paths of a word, which may be an address of a file, or a list. Folders that nothing is loaded
/// from are there to be worked in.
fn places(text: &str, usage: PathUse, folder: &Path) -> Vec<(PathBuf, PathUse)> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let is_one = !text.is_empty() && folder.join(text).exists();
    let parts = match is_one {
        true => vec![text],
        // What stands behind the path of an address may be secret, and is shown to nobody.
        false => text.split([':', ',']).filter_map(|part| part.split(['?', '#']).next()).collect(),
    };
    let is_place = |part: &&str| match usage {
        PathUse::Script | PathUse::Loaded => !part.is_empty() && !part.starts_with('$'),
        PathUse::ByItsLook => {
            part.starts_with('/')
                || names_script(Path::new(part))
                || is_one && folder.join(part) != folder
        }
        PathUse::Unknown => part.starts_with('/'),
    };
    let paths = parts.into_iter().filter(is_place).map(|part| folder.join(part));
    let with_use = |path: PathBuf| use_by_kind(&path, usage).map(|usage| (path, usage));
    paths.filter_map(with_use).collect()
}

/// What a path is used for, as it is a file or a folder; nothing for a folder to work in.
fn use_by_kind(path: &Path, usage: PathUse) -> Option<PathUse> {
    match usage {
        PathUse::Script if path.is_dir() => Some(PathUse::Loaded),
        PathUse::ByItsLook if path.is_dir() && !is_program_folder(path) => None,
        _ => Some(usage),
    }
}

/// Whether a word is the name of a package.
fn is_package(word: &str) -> bool {
    !word.starts_with(['/', '.']) && !names_script(Path::new(word))
}

/// A variable that is set before a command.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

fn interpreter(program: &str) -> Option<&'static Interpreter> {
    let name = Path::new(program).file_name().and_then(OsStr::to_str)?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|it| it.names.contains(&name))
}

/// The text with the person's folder in the place of `~` and `$HOME`.
fn with_home(text: &str) -> String {
    let Some(home) = env::home_dir() else { return text.to_owned() };
    let home = home.to_string_lossy();
    let text = text.replace("${HOME}", &home).replace("$HOME", &home);
    let mut at_start = true;
    let mut out = String::with_capacity(text.len());
    for (place, c) in text.char_indices() {
        match c == '~' && at_start && text[place + 1..].starts_with('/') {
            true => out.push_str(&home),
            false => out.push(c),
        }
        at_start = is_blank(c) || is_quote(c) || "=:".contains(c);
    }
    out
}

/// The words of code, as a shell would part them: quotes hold one together, and are left out. What
/// stands in quotes inside other code is a word as well.
fn words(code: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut rest = code.chars();
    while let Some(c) = rest.next() {
        let last = words.last_mut().expect("there is always one");
        if c == '\\' {
            last.extend(rest.next());
        } else if is_quote(c) {
            match rest.as_str().split_once(c) {
                Some((quoted, behind)) => {
                    last.push_str(quoted);
                    rest = behind.chars();
                }
                None => words.push(String::new()),
            }
        } else if is_blank(c) {
            words.push(String::new());
        } else {
            last.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a character parts words of code.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ";()&|<>{}".contains(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}
