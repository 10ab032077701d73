//! The usual interpreters and what else runs programs, with what their options have for a value.
//!
//! A table for each, as its manual has it: what is not in a table is an option without a value,
//! or one of no interest that has its value behind `=`.

use std::ffi::OsStr;
use std::path::Path;

/// A program that runs a file, code or another program that its command line names.
#[derive(Debug)]
pub(super) struct Interpreter {
    /// Its names, without a version.
    names: &'static [&'static str],
    spelling: OptionSpelling,
    /// What its options have for a value. A name that ends in `*` has it joined to it and never
    /// behind it. A name that is no option is a word that may stand before the first one.
    options: &'static [(OptionValue, &'static [&'static str])],
    /// Words that may stand before the first one and say nothing of it.
    pub(super) subcommands: &'static [&'static str],
    /// What its first word is.
    pub(super) first: FirstWord,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionSpelling {
    /// Single letters can be joined, the last one with its value: `-wI/lib`.
    Letters,
    /// Single letters can be joined, also behind `+`, and values are words of their own:
    /// `-eo pipefail`.
    ShellLetters,
    /// Each is a word: `-jar`.
    Words,
}

/// What the first word is that is neither an option nor an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWord {
    /// The file that is run.
    File,
    /// A program, by its path, or the name of one or of a package.
    Program,
    /// Code.
    Code(Language),
    /// Nothing that is run: that was named already, or is what lies in the folder.
    Argument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Command lines.
    Shell,
    /// Another, of which no more is known than that paths stand in it.
    Other,
}

/// What an option has for a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionValue {
    /// Code that is run in the place of a file.
    Code(Language),
    /// None; it says what the first word is.
    First(FirstWord),
    /// A module that is run in the place of a file, from the folder that it is started in.
    Module,
    /// A file that is run in the place of the first word.
    Program,
    /// The name of something that is run in the place of a file.
    Name,
    /// A file that is run as well.
    Preload,
    /// Code that is run as well, or the name of a module with what it is given.
    Import,
    /// Files and folders that are loaded from.
    Loaded,
    /// The same, or a name or a number.
    PathOrName,
    /// The folder to start in.
    StartFolder,
    /// The name of a setting with its value.
    Setting,
    /// Options for an interpreter.
    Options(&'static Interpreter),
    /// Anything else.
    Data,
}

use self::FirstWord::{Argument, File};
use self::Language::{Other, Shell};
use self::OptionSpelling::{Letters, ShellLetters, Words};
use self::OptionValue::{
    Code, Data, First, Import, Loaded, Module, Name, Options, PathOrName, Preload, Program,
    Setting, StartFolder,
};

static SHELL: Interpreter = Interpreter {
    names: &["sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "fish"],
    spelling: ShellLetters,
    options: &[
        (First(FirstWord::Code(Shell)), &["-c", "--command"]),
        (Preload, &["--rcfile", "--init-file"]),
        (Data, &["-o", "-O"]),
    ],
    subcommands: &[],
    first: File,
};

static PYTHON: Interpreter = Interpreter {
    names: &["python", "pythonw", "ipython", "pypy"],
    spelling: Letters,
    options: &[
        (Code(Other), &["-c"]),
        (Module, &["-m"]),
        (Setting, &["-X"]),
        (Data, &["-W", "-Q", "--check-hash-based-pycs"]),
    ],
    subcommands: &[],
    first: File,
};

static NODE: Interpreter = Interpreter {
    names: &["node", "nodejs", "tsx", "ts-node", "ts-node-esm"],
    spelling: Words,
    options: &[
        (Code(Other), &["-e", "--eval", "-p", "--print", "-pe"]),
        (Preload, &["-r", "--require", "--import", "--loader", "--experimental-loader"]),
        (Preload, &["--snapshot-blob", "--test-global-setup", "--test-reporter"]),
        // The first may set NODE_OPTIONS, and others name what is loaded.
        (Loaded, &["--env-file", "--env-file-if-exists", "--experimental-config-file"]),
        (Loaded, &["--openssl-config", "--tsconfig", "-P", "--project"]),
        (StartFolder, &["--cwd"]),
        (Data, &["-C", "--conditions", "--title", "--input-type", "--watch-path", "--run"]),
        (Data, &["--inspect-port", "--debug-port", "--icu-data-dir", "--diagnostic-dir"]),
        (Data, &["--unhandled-rejections", "--disable-warning", "--redirect-warnings"]),
        (Data, &["--dns-result-order", "--max-http-header-size", "--tls-cipher-list"]),
        (Data, &["--report-dir", "--report-directory", "--report-filename", "--tls-keylog"]),
        (Data, &["--cpu-prof-dir", "--heap-prof-dir", "--trace-event-categories"]),
        (Data, &["-O", "--compiler-options", "--compiler", "-D", "--ignore-diagnostics"]),
    ],
    subcommands: &["watch", "inspect"],
    first: File,
};

static NODEMON: Interpreter = Interpreter {
    names: &["nodemon"],
    spelling: Words,
    options: &[
        (Code(Shell), &["-x", "--exec"]),
        (Preload, &["-r", "--require", "--import", "--loader"]),
        (Loaded, &["--config"]),
        (StartFolder, &["--cwd"]),
        (Data, &["-e", "--ext", "-w", "--watch", "-i", "--ignore", "-d", "--delay", "--signal"]),
    ],
    subcommands: &[],
    first: File,
};

static BUN: Interpreter = Interpreter {
    names: &["bun"],
    spelling: Letters,
    options: &[
        (First(FirstWord::Code(Shell)), &["exec"]),
        (Code(Other), &["-e", "--eval", "-p", "--print"]),
        (Preload, &["-r", "--preload", "--require", "--import"]),
        (Loaded, &["-c", "--config", "--env-file", "--tsconfig-override"]),
        (StartFolder, &["--cwd"]),
        (Data, &["-d", "--define", "-l", "--loader", "-F", "--filter", "--conditions"]),
        (Data, &["--main-fields", "--port", "--title", "--shell", "--elide-lines"]),
    ],
    subcommands: &["run", "x", "test"],
    first: FirstWord::Program,
};

static DENO: Interpreter = Interpreter {
    names: &["deno"],
    spelling: Letters,
    options: &[
        (First(FirstWord::Code(Other)), &["eval"]),
        (First(FirstWord::Program), &["task", "x"]),
        (Preload, &["--preload", "--import", "--require"]),
        (Loaded, &["-c", "--config", "--import-map", "--env-file"]),
        (StartFolder, &["--cwd"]),
        (Data, &["-L", "--log-level", "--cert", "--location", "--seed", "--ext", "--lock"]),
        (Data, &["--port", "--host"]),
    ],
    subcommands: &["run", "serve"],
    first: File,
};

static PERL: Interpreter = Interpreter {
    names: &["perl"],
    spelling: Letters,
    options: &[
        (Code(Other), &["-e", "-E"]),
        (Import, &["-M*", "-m*"]),
        (Loaded, &["-I"]),
        (Data, &["-i*", "-F*", "-C*", "-D*", "-V*", "-x*"]),
    ],
    subcommands: &[],
    first: File,
};

static RUBY: Interpreter = Interpreter {
    names: &["ruby", "jruby", "truffleruby"],
    spelling: Letters,
    options: &[
        (Code(Other), &["-e"]),
        (Preload, &["-r"]),
        (Loaded, &["-I"]),
        (StartFolder, &["-C", "-X"]),
        (Data, &["-E", "--encoding", "--external-encoding", "--internal-encoding"]),
        (Data, &["-W*", "-K*", "-F*", "-T*", "-i*", "-x*"]),
    ],
    subcommands: &[],
    first: File,
};

static LUA: Interpreter = Interpreter {
    names: &["lua", "luajit"],
    spelling: Letters,
    options: &[(Code(Other), &["-e"]), (Data, &["-l", "-j*", "-O*"])],
    subcommands: &[],
    first: File,
};

static PHP: Interpreter = Interpreter {
    names: &["php"],
    spelling: Letters,
    options: &[
        (Code(Other), &["-r", "--run", "-B", "-R", "-E"]),
        (Program, &["-f", "--file", "-F", "--process-file"]),
        (Preload, &["-z", "--zend-extension"]),
        (Loaded, &["-c", "--php-ini", "-t", "--docroot"]),
        (Setting, &["-d", "--define"]),
        (Data, &["-S", "--server", "-T"]),
    ],
    subcommands: &[],
    first: File,
};

static JAVA: Interpreter = Interpreter {
    names: &["java"],
    spelling: Words,
    options: &[
        (Import, &["-XX:OnError", "-XX:OnOutOfMemoryError"]),
        (Name, &["-m", "--module"]),
        (Program, &["-jar"]),
        (Preload, &["-javaagent:*", "-agentpath:*", "@*"]),
        (Loaded, &["-cp", "-classpath", "--class-path", "-p", "--module-path"]),
        (Loaded, &["--upgrade-module-path", "-Xbootclasspath:*"]),
        (Loaded, &["-Xbootclasspath/a:*", "-Xbootclasspath/p:*"]),
        (Loaded, &["-XX:SharedArchiveFile", "-XX:Flags", "-XX:VMOptionsFile"]),
        (Setting, &["-D*", "--patch-module"]),
        (Data, &["--add-modules", "--add-opens", "--add-exports", "--add-reads"]),
        (Data, &["--limit-modules", "--enable-native-access", "--source"]),
        (Data, &["-d", "--describe-module"]),
    ],
    subcommands: &[],
    // A class of the class path, or a file of source code.
    first: FirstWord::Program,
};

static DOTNET: Interpreter = Interpreter {
    names: &["dotnet", "mono"],
    spelling: Words,
    options: &[
        (First(Argument), &["run", "watch", "tool"]),
        (Preload, &["--project", "--depsfile", "--runtimeconfig"]),
        (Loaded, &["--additionalprobingpath", "--additional-deps"]),
        (Data, &["-c", "--configuration", "-f", "--framework", "--launch-profile"]),
        (Data, &["--roll-forward", "--fx-version", "-r", "--runtime"]),
    ],
    subcommands: &["exec"],
    first: File,
};

/// Interpreters of which no more is known than what their options have in common.
static LESS_USUAL: Interpreter = Interpreter {
    names: &["Rscript", "julia", "elixir", "escript", "racket", "guile", "tclsh", "pwsh"],
    spelling: Words,
    options: &[
        (Code(Other), &["-e", "-E", "--eval", "-c", "-Command"]),
        (Program, &["-f", "--file", "-File", "-s"]),
        (Preload, &["-r", "--require", "-l", "-L", "--load", "-J", "--sysimage"]),
        (Loaded, &["-I", "-pa", "-pz", "--project"]),
    ],
    subcommands: &[],
    first: File,
};

static NODE_PACKAGES: Interpreter = Interpreter {
    names: &["npx", "pnpx", "bunx", "npm", "pnpm", "yarn"],
    spelling: Letters,
    options: &[
        (First(FirstWord::Code(Shell)), &["-c", "--call"]),
        (Preload, &["--script-shell"]),
        (PathOrName, &["-p", "--package", "--prefix", "--cache", "--userconfig"]),
        (PathOrName, &["--globalconfig", "--store-dir"]),
        (StartFolder, &["-C", "--dir", "--cwd"]),
        (Options(&NODE), &["--node-options"]),
        (Data, &["-w", "--workspace", "-F", "--filter", "--registry", "--loglevel"]),
    ],
    subcommands: &["exec", "x", "dlx", "run", "run-script"],
    first: FirstWord::Program,
};

static PYTHON_PACKAGES: Interpreter = Interpreter {
    names: &["uv", "uvx", "pipx"],
    spelling: Letters,
    options: &[
        (Module, &["-m", "--module"]),
        (First(File), &["-s", "--script", "--gui-script"]),
        (PathOrName, &["--from", "-w", "--with", "--with-editable", "--spec"]),
        (PathOrName, &["-p", "--python", "-c", "--constraints", "--overrides"]),
        (Loaded, &["--project", "--with-requirements", "--config-file", "--env-file"]),
        (Loaded, &["--cache-dir", "-f", "--find-links"]),
        (StartFolder, &["--directory"]),
        (Data, &["--extra", "--group", "--only-group", "--no-group", "--package"]),
        (Data, &["-i", "--index", "--index-url", "--default-index", "--extra-index-url"]),
        (Data, &["-P", "--upgrade-package", "--refresh-package", "--reinstall-package"]),
        (Data, &["-C", "--config-setting", "--resolution", "--prerelease", "--link-mode"]),
        (Data, &["--exclude-newer", "--color", "--allow-insecure-host", "--python-platform"]),
        (Data, &["--keyring-provider", "--index-strategy", "--pip-args"]),
    ],
    subcommands: &["run", "tool"],
    first: FirstWord::Program,
};

static MCP: Interpreter = Interpreter {
    names: &["mcp", "fastmcp"],
    spelling: Letters,
    options: &[
        (PathOrName, &["--with", "-e", "--with-editable", "--python"]),
        (Loaded, &["-f", "--env-file", "--project", "--with-requirements"]),
        (Data, &["-v", "--env-var", "-t", "--transport", "-p", "--port", "--host", "-l"]),
        (Data, &["--log-level", "--path", "-n", "--name"]),
    ],
    subcommands: &["run", "dev"],
    first: File,
};

/// What stands at the start of a command in a shell's code, and programs that run the rest of
/// their command line.
pub(super) static COMMAND: Interpreter = Interpreter {
    names: &[
        "exec",
        "command",
        "builtin",
        "nohup",
        "setsid",
        "time",
        "busybox",
        "toybox",
        "unbuffer",
        "xvfb-run",
        "dbus-run-session",
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "!",
        "{",
    ],
    spelling: Letters,
    options: &[
        (StartFolder, &["cd", "pushd"]),
        (Preload, &[".", "source"]),
        (Code(Shell), &["eval"]),
        (Data, &["-a"]),
    ],
    subcommands: &[],
    first: FirstWord::Program,
};

static ENV: Interpreter = Interpreter {
    names: &["env"],
    spelling: Letters,
    options: &[
        (Code(Shell), &["-S", "--split-string"]),
        (StartFolder, &["-C", "--chdir"]),
        (Data, &["-u", "--unset"]),
    ],
    subcommands: &[],
    first: FirstWord::Program,
};

static SUDO: Interpreter = Interpreter {
    names: &["sudo", "doas"],
    spelling: Letters,
    options: &[
        (StartFolder, &["-D", "--chdir"]),
        (Data, &["-u", "--user", "-g", "--group", "-p", "--prompt", "-h", "--host", "-C", "-T"]),
    ],
    subcommands: &[],
    first: FirstWord::Program,
};

/// Programs that run the rest of their command line for a time, or at a pace.
static WRAPPERS: Interpreter = Interpreter {
    names: &["timeout", "nice", "ionice", "chrt", "taskset", "stdbuf", "flock"],
    spelling: Letters,
    options: &[
        (Data, &["-k", "--kill-after", "-s", "--signal", "-n", "--adjustment"]),
        (Data, &["-c", "--class", "-i", "-o", "-e", "-p"]),
    ],
    subcommands: &[],
    first: FirstWord::Program,
};

/// Programs that run what is set up in a project.
static PROJECTS: Interpreter = Interpreter {
    names: &["poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda", "mamba", "mise", "bundle"],
    spelling: Letters,
    options: &[
        (Loaded, &["-P", "--project", "-p", "--prefix", "--manifest-path", "--gemfile"]),
        (StartFolder, &["-C", "--directory", "--cwd", "--cd"]),
        (Data, &["-n", "--name", "-e", "--environment", "--env"]),
    ],
    subcommands: &["run", "exec", "x"],
    first: FirstWord::Program,
};

static MAKE: Interpreter = Interpreter {
    names: &["make", "gmake", "just"],
    spelling: Letters,
    options: &[
        (Program, &["-f", "--file", "--makefile", "--justfile"]),
        (Loaded, &["-I", "--include-dir"]),
        (StartFolder, &["-C", "--directory", "-d", "--working-directory"]),
        (Data, &["-j*", "-l*", "-o", "-W"]),
    ],
    subcommands: &[],
    first: Argument,
};

static CARGO: Interpreter = Interpreter {
    names: &["cargo"],
    spelling: Letters,
    options: &[
        (Preload, &["--manifest-path"]),
        (Loaded, &["--target-dir"]),
        (PathOrName, &["--config"]),
        (StartFolder, &["-C"]),
        (Data, &["-p", "--package", "--bin", "--example", "-F", "--features", "--profile"]),
        (Data, &["-j", "--jobs", "--target", "--color"]),
    ],
    subcommands: &["run"],
    first: Argument,
};

static GO: Interpreter = Interpreter {
    names: &["go"],
    spelling: Words,
    options: &[
        (Loaded, &["-modfile", "-overlay", "-pkgdir"]),
        (StartFolder, &["-C"]),
        (Data, &["-tags", "-ldflags", "-gcflags", "-asmflags", "-mod", "-p", "-exec"]),
    ],
    subcommands: &["run"],
    first: FirstWord::Program,
};

/// Options of programs that are not known.
pub(super) static UNKNOWN: Interpreter = Interpreter {
    names: &[],
    spelling: Words,
    options: &[
        (Loaded, &["-cp", "-classpath", "--class-path", "--directory", "--project", "--prefix"]),
        (Loaded, &["--cwd", "--chdir", "--plugin-dir", "--app-dir", "--pythonpath", "-I*"]),
    ],
    subcommands: &[],
    first: Argument,
};

/// Those whose names stand for themselves wherever they are read.
static INTERPRETERS: [&Interpreter; 14] = [
    &SHELL,
    &PYTHON,
    &NODE,
    &NODEMON,
    &BUN,
    &DENO,
    &PERL,
    &RUBY,
    &LUA,
    &PHP,
    &JAVA,
    &DOTNET,
    &NODE_PACKAGES,
    &PYTHON_PACKAGES,
];

/// Those whose names are usual words too, unless a program's name is to come.
static PROGRAMS: [&Interpreter; 10] =
    [&LESS_USUAL, &MCP, &COMMAND, &ENV, &SUDO, &WRAPPERS, &PROJECTS, &MAKE, &CARGO, &GO];

/// Settings that name what is loaded.
const LOADING_SETTINGS: [&str; 15] = [
    "auto_prepend_file",
    "auto_append_file",
    "include_path",
    "extension",
    "zend_extension",
    "extension_dir",
    "opcache.preload",
    "ffi.preload",
    "pycache_prefix",
    "java.class.path",
    "java.library.path",
    "java.ext.dirs",
    "java.endorsed.dirs",
    "jdk.module.path",
    "loader.path",
];

/// Variables that name what is run or loaded.
static VARIABLES: [(OptionValue, &[&str]); 12] = [
    (Options(&NODE), &["NODE_OPTIONS"]),
    (Options(&BUN), &["BUN_OPTIONS"]),
    (Options(&PERL), &["PERL5OPT"]),
    (Options(&RUBY), &["RUBYOPT"]),
    (Options(&JAVA), &["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"]),
    (Loaded, &["PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"]),
    (Loaded, &["VIRTUAL_ENV", "NODE_PATH", "PERLLIB", "PERL5LIB", "RUBYLIB", "GEM_PATH"]),
    (Loaded, &["GEM_HOME", "CLASSPATH", "JAVA_HOME", "LUA_PATH", "LUA_CPATH", "ZDOTDIR"]),
    (Loaded, &["GIT_EXEC_PATH", "PHPRC", "PHP_INI_SCAN_DIR", "R_LIBS", "R_LIBS_USER", "HOME"]),
    (Loaded, &["DENO_DIR", "BUN_INSTALL", "CARGO_HOME", "GOPATH", "GOROOT", "OPENSSL_CONF"]),
    (Preload, &["BASH_ENV", "PYTHONSTARTUP", "BUNDLE_GEMFILE", "DOTNET_STARTUP_HOOKS"]),
    (PathOrName, &["ENV"]),
];

/// Beginnings of the names of such variables, without case.
const LOADING_PREFIXES: [(OptionValue, &str); 4] =
    [(Loaded, "ld_"), (PathOrName, "npm_config_"), (PathOrName, "uv_"), (PathOrName, "pipx_")];

/// Where a program is looked for by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePlace {
    /// Where the name of a program stands.
    Command,
    /// Anywhere else.
    Argument,
}

/// The program of a name or a path.
pub(super) fn interpreter(program: &str, place: NamePlace) -> Option<&'static Interpreter> {
    let name = Path::new(program).file_name().and_then(OsStr::to_str)?;
    let name = name.split_once('@').map_or(name, |(name, _version)| name);
    let version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let name = name.trim_end_matches(version);
    let is_it = |it: &&&Interpreter| it.names.contains(&name);
    let by_name = INTERPRETERS.iter().find(is_it);
    let found = by_name.or_else(|| match place {
        NamePlace::Command => PROGRAMS.iter().find(is_it),
        NamePlace::Argument => None,
    });
    found.copied()
}

/// What a variable has for a value, where it is one that names what is run or loaded.
pub(super) fn use_of_variable(name: &str) -> Option<OptionValue> {
    let by_name = VARIABLES.iter().find(|(_, names)| names.contains(&name));
    let lower = name.to_ascii_lowercase();
    let by_start = || LOADING_PREFIXES.iter().find(|(_, start)| lower.starts_with(start));
    by_name.map(|(value, _)| *value).or_else(|| by_start().map(|(value, _)| *value))
}

/// Whether a setting of an interpreter names what is loaded.
pub(super) fn is_loading_setting(name: &str) -> bool {
    LOADING_SETTINGS.contains(&name)
}

impl Interpreter {
    /// Whether a word is an option, or more than one.
    pub(super) fn is_option(&self, word: &str) -> bool {
        word.starts_with('-')
            || self.spelling == ShellLetters && word.starts_with('+')
            || self.joined(word).is_some()
    }

    /// What the options in a word have for values, each with the value that is in the word itself.
    pub(super) fn options_in<'w>(&self, word: &'w str) -> Vec<(OptionValue, Option<&'w str>)> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        if let Some(found) = self.option(name) {
            return vec![(found, value)];
        }
        let letters = word.strip_prefix(['-', '+']).filter(|rest| !rest.starts_with('-'));
        match (self.spelling, letters) {
            (Letters | ShellLetters, Some(letters)) => self.letters_in(letters),
            _ => self.joined(word).map(|(found, value)| (found, Some(value))).into_iter().collect(),
        }
    }

    /// What stands behind a word, as it is.
    pub(super) fn option(&self, name: &str) -> Option<OptionValue> {
        let found = self.options.iter().find(|(_, names)| names.contains(&name));
        found.map(|(value, _)| *value)
    }

    fn joined<'w>(&self, word: &'w str) -> Option<(OptionValue, &'w str)> {
        self.options.iter().find_map(|(value, names)| {
            let starts = names.iter().filter_map(|name| name.strip_suffix('*'));
            let mut values = starts.filter_map(|start| word.strip_prefix(start));
            values.next().map(|behind| (*value, behind))
        })
    }

    fn letters_in<'w>(&self, letters: &'w str) -> Vec<(OptionValue, Option<&'w str>)> {
        let mut found = Vec::new();
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            if let Some(value) = self.option(&format!("-{letter}*")) {
                found.push((value, Some(rest)));
                break;
            }
            let Some(value) = self.option(&format!("-{letter}")) else { continue };
            let takes_rest = self.spelling == Letters && !matches!(value, First(_));
            if takes_rest && !rest.is_empty() {
                found.push((value, Some(rest.strip_prefix('=').unwrap_or(rest))));
                break;
            }
            found.push((value, None));
        }
        found
    }
}
