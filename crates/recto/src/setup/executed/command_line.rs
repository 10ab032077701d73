//! Reads the command line and the variables of an MCP server, for what is executed by them and
//! what is loaded.
//!
//! Nobody can know that of all programs. What is read is what people write to start servers:
//! interpreters with a script, code for a shell, options and variables that name what to load.
//! What the words of a command line are is known from the tables of `interpreters.rs`, and only
//! where nothing there says so is a text taken for what it looks like.

use std::env;
use std::path::{Path, PathBuf};

use super::interpreters::{
    COMMAND, FirstWord, Interpreter, Language, NamePlace, OptionValue, UNKNOWN, interpreter,
    is_loading_setting, use_of_variable,
};
use super::{SCRIPTS, is_program_folder, names_script};

/// How something is used that a command line or a variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedPathUse {
    /// It is executed, whatever its name.
    Script,
    /// Programs load from it.
    Loaded,
    /// As the file or folder itself says.
    ByItsLook,
    /// Nobody knows for what.
    Unknown,
}

/// Beginnings of the names of packages and modules that are no paths.
const REMOTE: [&str; 4] = ["npm:", "jsr:", "node:", "data:"];

/// The word before the name of a file that is written.
const WRITTEN_TO: &str = ">";

/// A path with what it is used for.
pub(super) type NamedPath = (PathBuf, NamedPathUse);

/// What the arguments of a program name: the whole of one, or what stands in it, as in the code
/// for a shell.
pub(super) fn named_by_arguments(command: &str, args: &[String], folder: &Path) -> Vec<NamedPath> {
    let mut reader = CommandLineReader::new(folder);
    reader.running = interpreter(command, NamePlace::Command).map(RunningProgram::new);
    for argument in args {
        reader.read(&with_home(argument));
    }
    reader.found
}

/// What a variable names.
pub(super) fn named_by_variable(name: &str, value: &str, folder: &Path) -> Vec<NamedPath> {
    let mut reader = CommandLineReader::new(folder);
    reader.read_variable(name, &with_home(value));
    reader.found
}

/// Follows a command line, to tell what its paths are used for.
struct CommandLineReader {
    /// From where relative names go.
    folder: PathBuf,
    /// The program whose first word is still to come.
    running: Option<RunningProgram>,
    /// What the next word is, where the one before says so.
    next: Option<OptionValue>,
    found: Vec<NamedPath>,
}

#[derive(Clone, Copy)]
struct RunningProgram {
    interpreter: &'static Interpreter,
    /// What its first word is, by the options so far.
    first: FirstWord,
}

impl RunningProgram {
    fn new(interpreter: &'static Interpreter) -> Self {
        RunningProgram { interpreter, first: interpreter.first }
    }
}

impl CommandLineReader {
    fn new(folder: &Path) -> Self {
        CommandLineReader {
            folder: folder.to_owned(),
            running: None,
            next: None,
            found: Vec::new(),
        }
    }

    /// Reads a word, or the code that stands in the place of one.
    fn read(&mut self, text: &str) {
        match self.next {
            // `cd -P` has an option before the folder.
            Some(OptionValue::StartFolder) if text.starts_with('-') => return,
            Some(value) => {
                self.next = None;
                return self.read_value(value, text);
            }
            None => {}
        }
        if self.is_option(text) {
            return self.read_option(text);
        }
        if let Some(FirstWord::Code(language)) = self.running.map(|it| it.first) {
            return self.read_first_code(language, text);
        }
        match self.looks_like_code(text) {
            true => self.read_by_look(text),
            false => self.read_operand(text),
        }
    }

    /// Reads a text of which nothing says what it is.
    fn read_by_look(&mut self, text: &str) {
        if !self.looks_like_code(text) {
            return self.add(text, NamedPathUse::ByItsLook);
        }
        let mut inner = CommandLineReader::new(&self.folder);
        inner.read_shell_code(text);
        self.found.extend(inner.found);
    }

    /// Reads the code of a shell's `-c`. Behind it stand arguments for what it runs, the first of
    /// them a name.
    fn read_first_code(&mut self, language: Language, code: &str) {
        self.running = None;
        self.read_code(language, code);
        if language == Language::Shell && !code.contains("$0") {
            self.next = Some(OptionValue::Data);
        }
    }

    fn read_code(&mut self, language: Language, code: &str) {
        match language {
            Language::Shell => self.read_shell_code(code),
            Language::Other => self.read_other_code(code),
        }
    }

    fn read_shell_code(&mut self, code: &str) {
        for words in commands(code) {
            self.running = Some(RunningProgram::new(&COMMAND));
            self.next = None;
            for word in words {
                match &*word {
                    WRITTEN_TO => self.next = Some(OptionValue::Data),
                    word => self.read(word),
                }
            }
        }
    }

    /// Reads code of which no more is known than that paths stand in it, mostly in quotes. A folder
    /// that is named there is most of all one to load from.
    fn read_other_code(&mut self, code: &str) {
        for quoted in code.split(is_quote) {
            let is_path = quoted.starts_with('/') && self.folder.join(quoted).exists();
            let is_between = |c: char| !is_path && (is_blank(c) || "=,[]{}".contains(c));
            for word in quoted.split(is_between).filter(|word| !word.is_empty()) {
                self.add_from_code(word);
                if let Some((module, _)) = word.split_once('.').filter(|_| !word.contains('/')) {
                    self.add_from_code(module);
                }
            }
        }
    }

    fn add_from_code(&mut self, word: &str) {
        if !is_own_folder(word) {
            let is_folder = self.folder.join(word).is_dir();
            self.add(word, if is_folder { NamedPathUse::Loaded } else { NamedPathUse::ByItsLook });
            self.add_with_endings(word);
        }
    }

    /// Whether a text is more than one word, and no path with blanks in it.
    fn looks_like_code(&self, text: &str) -> bool {
        let is_there = |text: &str| self.folder.join(text).exists();
        if !text.contains(|c| is_blank(c) || is_quote(c)) || is_there(text) {
            return false;
        }
        let lies_in_folder = Path::new(text).parent().is_some_and(Path::is_dir);
        let begins_with_file =
            text.match_indices(is_blank).any(|(at, _)| self.folder.join(&text[..at]).is_file());
        !text.starts_with('/') || !lies_in_folder || begins_with_file || text.contains(" -")
    }

    fn is_option(&self, word: &str) -> bool {
        word.starts_with('-') || self.running.is_some_and(|it| it.interpreter.is_option(word))
    }

    fn read_option(&mut self, word: &str) {
        let own = self.running.map_or(&UNKNOWN, |it| it.interpreter);
        let mut options = own.options_in(word);
        if options.is_empty() && word.starts_with("--") {
            options = UNKNOWN.options_in(word);
        }
        let is_known = !options.is_empty();
        for (option, value) in options {
            match (option, value) {
                (OptionValue::First(first), _) => self.expect_first(first),
                (option, Some(value)) => self.read_value(option, value),
                (option, None) => self.next = Some(option),
            }
        }
        if !is_known {
            let value = word.split_once('=').filter(|(name, _)| !name.contains(is_blank));
            self.read_by_look(value.map_or(word, |(_, value)| value));
        }
    }

    fn expect_first(&mut self, first: FirstWord) {
        if let Some(running) = &mut self.running {
            running.first = first;
        }
    }

    /// Reads what an option has for a value, or a variable.
    fn read_value(&mut self, value: OptionValue, text: &str) {
        match value {
            OptionValue::Code(language) => {
                self.expect_first(FirstWord::Argument);
                self.read_code(language, text);
            }
            OptionValue::Import => self.read_other_code(text),
            OptionValue::Module => self.read_module(text),
            OptionValue::Program => {
                self.expect_first(FirstWord::Argument);
                self.add_script(text);
            }
            OptionValue::Name => self.expect_first(FirstWord::Argument),
            OptionValue::Preload => self.read_preloaded(text),
            OptionValue::Loaded => self.add(text, NamedPathUse::Loaded),
            OptionValue::PathOrName => self.read_path_or_name(text),
            OptionValue::StartFolder => {
                self.add(text, NamedPathUse::Loaded);
                self.folder = self.folder.join(text);
            }
            OptionValue::Setting => self.read_setting(text),
            OptionValue::Options(interpreter) => self.read_options(interpreter, text),
            OptionValue::Data => self.read_by_look(text),
            OptionValue::First(first) => self.expect_first(first),
        }
    }

    /// Reads the name of a module. It is looked for in the folder first, and may be that of a program
    /// that runs what comes next.
    fn read_module(&mut self, name: &str) {
        let first = name.split('.').next().filter(|first| !first.contains('/'));
        if let Some(first) = first.filter(|first| !first.is_empty()) {
            self.add(&format!("{first}.py"), NamedPathUse::Script);
            self.add(first, NamedPathUse::Loaded);
        }
        match interpreter(name, NamePlace::Command) {
            Some(found) => self.running = Some(RunningProgram::new(found)),
            None => self.expect_first(FirstWord::Argument),
        }
    }

    /// Reads a file that is run as well, and no module that is looked for by its name. Options for
    /// it may stand behind its path.
    fn read_preloaded(&mut self, text: &str) {
        let path = text.split_once('=').map_or(text, |(path, _)| path);
        if self.is_path(path) || names_script(Path::new(path)) {
            self.add_script(path);
        }
    }

    /// Reads a package, which may be one that lies in a folder: `srv[cli] @ file:///srv`.
    fn read_path_or_name(&mut self, text: &str) {
        let path = text.rfind("file:").map_or(text, |at| without_scheme(&text[at..]));
        let path = path.split('[').next().unwrap_or(path);
        if self.is_path(path) {
            self.add(path, NamedPathUse::Loaded);
        }
    }

    /// Whether a word that may be a name is a path.
    fn is_path(&self, word: &str) -> bool {
        let is_there = !is_own_folder(word) && self.folder.join(word).exists();
        is_there || word.starts_with(['/', '.']) || word.starts_with("file:")
    }

    /// Whether a word is the path of a program, and not its name or that of a package.
    fn is_program_path(&self, word: &str) -> bool {
        let has_folder = word.contains('/') && !word.starts_with('@') && !word.contains(':');
        has_folder
            || word.starts_with('.')
            || word.starts_with("file:")
            || names_script(Path::new(word))
            || self.folder.join(word).is_file()
    }

    fn read_setting(&mut self, setting: &str) {
        if let Some((name, value)) = setting.split_once('=') {
            let loads = is_loading_setting(name.trim());
            match loads {
                true => self.add(value.trim(), NamedPathUse::Loaded),
                false => self.read_by_look(value),
            }
        }
    }

    /// Reads options that stand somewhere else than on the command line, where the first may lack
    /// its dash.
    fn read_options(&mut self, interpreter: &'static Interpreter, options: &str) {
        let mut inner = CommandLineReader::new(&self.folder);
        inner.running = Some(RunningProgram::new(interpreter));
        for word in commands(options).into_iter().flatten() {
            match inner.next.is_some() || inner.is_option(&word) {
                true => inner.read(&word),
                false => inner.read_option(&format!("-{word}")),
            }
        }
        self.found.extend(inner.found);
    }

    fn read_variable(&mut self, name: &str, value: &str) {
        let usage = match use_of_variable(name) {
            Some(OptionValue::Loaded) => NamedPathUse::Loaded,
            Some(usage) => return self.read_value(usage, value),
            None => NamedPathUse::Unknown,
        };
        if self.folder.join(value).exists() {
            return self.add(value, usage);
        }
        for word in commands(value).into_iter().flatten() {
            self.add(assignment(&word).map_or(&*word, |(_, value)| value), usage);
        }
    }

    /// Reads a word that is neither an option nor the value of one.
    fn read_operand(&mut self, word: &str) {
        if let Some((name, value)) = assignment(word) {
            return self.read_variable(name, value);
        }
        // What a variable holds, or `$(…)` gives, only shows when it runs.
        if word.starts_with('$') {
            return;
        }
        let first = self.running.map_or(FirstWord::Argument, |it| it.first);
        if let Some(RunningProgram { interpreter, .. }) = self.running {
            if interpreter.subcommands.contains(&word) {
                return;
            }
            if let Some(value) = interpreter.option(word) {
                return match value {
                    OptionValue::First(first) => self.expect_first(first),
                    value => self.next = Some(value),
                };
            }
        }
        let place = match first {
            FirstWord::Program => NamePlace::Command,
            _ => NamePlace::Argument,
        };
        if let Some(found) = interpreter(word, place) {
            self.running = Some(RunningProgram::new(found));
            if word.contains('/') {
                self.add(word, NamedPathUse::Script);
            }
            return;
        }
        self.read_first(first, word);
    }

    fn read_first(&mut self, first: FirstWord, word: &str) {
        // A time or a priority, before the program.
        if first == FirstWord::Program && word.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        self.running = None;
        match first {
            FirstWord::File => self.add_script(word),
            FirstWord::Program if !self.is_program_path(word) => {}
            FirstWord::Program => self.add_script(word),
            FirstWord::Code(language) => self.read_code(language, word),
            FirstWord::Argument => self.add(word, NamedPathUse::ByItsLook),
        }
    }

    fn add_script(&mut self, text: &str) {
        self.add_with_endings(text);
        self.add(text, NamedPathUse::Script);
    }

    /// Adds the scripts that interpreters take in the place of a path that lacks an ending.
    fn add_with_endings(&mut self, text: &str) {
        let path = self.folder.join(without_scheme(text));
        if path.extension().is_none() && !path.is_file() {
            let names = SCRIPTS.iter().map(|end| path.with_extension(end));
            self.found.extend(names.filter(|it| it.is_file()).map(|it| (it, NamedPathUse::Script)));
        }
    }

    fn add(&mut self, text: &str, usage: NamedPathUse) {
        self.found.extend(places(text, usage, &self.folder));
    }
}

/// The paths of a word, which may be an address of a file, or a list. Folders that nothing is loaded
/// from are there to be worked in.
fn places(text: &str, usage: NamedPathUse, folder: &Path) -> Vec<NamedPath> {
    let is_used = matches!(usage, NamedPathUse::Script | NamedPathUse::Loaded);
    let text = without_scheme(text);
    let is_one = !text.is_empty() && folder.join(text).exists();
    if is_used && !is_one && is_remote(text) {
        return Vec::new();
    }
    let parts = match is_one {
        true => vec![text],
        // What stands behind the path of an address may be secret, and is shown to nobody.
        false => text.split([':', ',']).filter_map(|part| part.split(['?', '#']).next()).collect(),
    };
    let is_place = |part: &&str| match usage {
        NamedPathUse::Script | NamedPathUse::Loaded => !part.is_empty() && !part.starts_with('$'),
        NamedPathUse::ByItsLook => {
            part.starts_with('/')
                || names_script(Path::new(part))
                || is_one && folder.join(part) != folder
        }
        NamedPathUse::Unknown => part.starts_with('/'),
    };
    // Behind the path of a script stands what it is asked for: `server.py:app`.
    let most = if usage == NamedPathUse::Script { 1 } else { parts.len() };
    let paths = parts.into_iter().filter(is_place).take(most).map(|part| folder.join(part));
    paths.filter_map(|path| named_path(path, usage)).collect()
}

/// A path with its use, as it is a file or a folder; nothing for a folder to work in.
fn named_path(path: PathBuf, usage: NamedPathUse) -> Option<NamedPath> {
    // All that a pattern fits lies in the folder before it.
    let fixed = path.iter().take_while(|name| !name.to_string_lossy().contains('*')).collect();
    let (path, usage) = match usage {
        NamedPathUse::Script | NamedPathUse::Loaded if fixed != path => {
            (fixed, NamedPathUse::Loaded)
        }
        _ => (path, usage),
    };
    match usage {
        NamedPathUse::Script if path.is_dir() => Some((path, NamedPathUse::Loaded)),
        NamedPathUse::ByItsLook if path.is_dir() && !is_program_folder(&path) => None,
        _ => Some((path, usage)),
    }
}

/// The path of the address of a file.
fn without_scheme(text: &str) -> &str {
    let path = text.strip_prefix("file:").unwrap_or(text);
    if path.len() < text.len() { path.strip_prefix("//").unwrap_or(path) } else { text }
}

/// Whether a text is the address of something that is no file of this machine.
fn is_remote(text: &str) -> bool {
    text.contains("://") || REMOTE.iter().any(|scheme| text.starts_with(scheme))
}

/// Whether a path names nothing, and leads to where it starts from or above.
fn is_own_folder(path: &str) -> bool {
    path.chars().all(|c| c == '.' || c == '/')
}

/// A variable that is set before a command.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some((name, value))
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

/// The commands of code, each with its words, as a shell would part them: quotes hold a word
/// together, and are left out. What stands in quotes inside other code is a word as well.
fn commands(code: &str) -> Vec<Vec<String>> {
    let mut commands = vec![vec![String::new()]];
    let mut rest = code.chars();
    while let Some(c) = rest.next() {
        let words = commands.last_mut().expect("there is always one");
        let last = words.last_mut().expect("there is always one");
        if c == '\\' {
            last.extend(rest.next().filter(|next| *next != '\n'));
        } else if is_quote(c) {
            match rest.as_str().split_once(c) {
                Some((quoted, behind)) => {
                    last.push_str(quoted);
                    rest = behind.chars();
                }
                None => words.push(String::new()),
            }
        } else if c == '>' {
            // What is behind it is written, and no file that is run.
            if last.chars().all(|c| c.is_ascii_digit()) {
                last.clear();
            }
            words.extend([WRITTEN_TO.to_owned(), String::new()]);
        } else if is_end(c) {
            commands.push(vec![String::new()]);
        } else if is_blank(c) {
            words.push(String::new());
        } else {
            last.push(c);
        }
    }
    commands.iter_mut().for_each(|words| words.retain(|word| !word.is_empty()));
    commands.retain(|words| !words.is_empty());
    commands
}

/// Whether a character ends a command.
fn is_end(c: char) -> bool {
    ";&|()\n".contains(c)
}

/// Whether a character parts words of code.
fn is_blank(c: char) -> bool {
    is_end(c) || c.is_whitespace() || "<>".contains(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}
