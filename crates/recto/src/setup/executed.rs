//! What Recto executes with the rights of the person who started it, and where it lies.
//!
//! Nothing that a confined program may write is ever executed outside its confinement. So what
//! lies in the workspace, or in another folder that tools may write, is kept from them; and as a
//! program is made of more than one file, people are told to put it elsewhere.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use recto_context::ItemKind;

use crate::config::{ServerSettings, Settings, TransportSettings};

/// Ends of the names of files that interpreters run.
const SCRIPTS: [&str; 14] =
    ["py", "pyz", "js", "mjs", "cjs", "ts", "sh", "bash", "rb", "pl", "php", "lua", "jar", "wasm"];

/// Files by which a folder is one that interpreters run.
const STARTS: [&str; 4] = ["package.json", "index.js", "__main__.py", "pyproject.toml"];

/// Programs that run the first file that they are given, by their names without a version.
const INTERPRETERS: [&str; 16] = [
    "python", "pypy", "node", "nodejs", "deno", "bun", "tsx", "ruby", "perl", "php", "lua", "sh",
    "bash", "dash", "zsh", "java",
];

/// Options behind which an interpreter gets its code in another way than as a file.
const CODE_OPTIONS: [&str; 6] = ["-m", "-c", "-e", "-p", "--eval", "--print"];

/// Variables by which programs find what they load, besides those that begin with `LD_`.
const LOADERS: [&str; 12] = [
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "CLASSPATH",
    "BASH_ENV",
];

/// Words before a folder from which programs load.
const LOADING_WORDS: [&str; 9] = [
    "cd",
    "-I",
    "-cp",
    "-classpath",
    "--class-path",
    "--directory",
    "--project",
    "--prefix",
    "--cwd",
];

/// Something that is executed where tools can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedExecutable {
    /// What it is to Recto, such as `the command of server x`.
    pub(crate) what: String,
    /// Where it is, without links.
    pub(crate) path: PathBuf,
    /// What no tool may write for its sake.
    kept: Vec<PathBuf>,
}

impl ExposedExecutable {
    /// Says to a person what is wrong with its place, and what is done about it.
    pub(crate) fn warning(&self) -> String {
        let ExposedExecutable { what, path, kept } = self;
        let held = match kept.is_empty() {
            true => "They are not kept from changing it; put it elsewhere",
            false => {
                "They are kept from changing it, but not from all that it may load; better put it elsewhere"
            }
        };
        format!("{what}, `{}`, lies where tools can write. {held}", path.display())
    }
}

/// Finds all that is executed where tools can write.
pub(crate) fn exposed_executables(settings: &Settings) -> Vec<ExposedExecutable> {
    ExecutableSearch::new(settings).find(settings)
}

/// What no tool may write because it is executed.
pub(super) fn kept_from_tools(settings: &Settings) -> Vec<PathBuf> {
    exposed_executables(settings).into_iter().flat_map(|exposed| exposed.kept).collect()
}

/// How something is used that is named to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerPathUse {
    /// As the file or folder itself says.
    ByItsLook,
    /// It is executed, whatever its name.
    Script,
    /// Programs load from it.
    Loaded,
    /// Nobody knows for what.
    Unknown,
}

/// A folder that tools may write.
#[derive(Debug, Clone)]
struct WritableFolder {
    /// As it was configured.
    spelled: PathBuf,
    /// Without links.
    real: PathBuf,
    /// The sandboxed server that alone may write it. What that server runs itself stays in its
    /// sandbox.
    server: Option<String>,
}

struct ExecutableSearch {
    writable: Vec<WritableFolder>,
}

impl ExecutableSearch {
    fn new(settings: &Settings) -> Self {
        let skills = settings.items.iter().filter(|item| item.kind == ItemKind::Skill);
        let granted = skills.flat_map(|item| item.grants.write.iter());
        let folders = [settings.work_folder()].into_iter().chain(granted);
        let mut writable: Vec<WritableFolder> =
            folders.map(|folder| WritableFolder::new(folder, None)).collect();
        for server in settings.servers.iter().filter(|server| server.enabled) {
            if let TransportSettings::Program { sandbox, .. } = &server.transport
                && sandbox.sandbox
            {
                let own = |folder: &PathBuf| WritableFolder::new(folder, Some(&server.name));
                writable.extend(sandbox.write.iter().map(own));
            }
        }
        ExecutableSearch { writable }
    }

    fn find(&self, settings: &Settings) -> Vec<ExposedExecutable> {
        let mut found = Vec::new();
        let mut add = |what: &str, path: &Path| {
            found.extend(self.exposed(what, path, ServerPathUse::ByItsLook));
        };
        if let Ok(own) = env::current_exe() {
            add("Recto itself", &own);
        }
        for name in ["VISUAL", "EDITOR", "PAGER"] {
            if let Some(program) = env::var_os(name).as_deref().and_then(first_word) {
                add(&format!("the program that {name} names"), &program);
            }
        }
        for folder in search_path() {
            add("a folder of PATH", &folder);
        }
        for server in settings.servers.iter().filter(|server| server.enabled) {
            let others = self.without_folders_of(&server.name);
            found.extend(others.of_server(server));
        }
        found.dedup();
        found
    }

    /// The same for a server, to which its own folders are open.
    fn without_folders_of(&self, server: &str) -> Self {
        let others = self.writable.iter().filter(|it| it.server.as_deref() != Some(server));
        ExecutableSearch { writable: others.cloned().collect() }
    }

    fn of_server(&self, server: &ServerSettings) -> Vec<ExposedExecutable> {
        let TransportSettings::Program { command, args, env, pass_env, working_dir, .. } =
            &server.transport
        else {
            return Vec::new();
        };
        let name = &server.name;
        let folder = working_dir.as_deref().unwrap_or(Path::new("/"));
        let mut found = Vec::new();
        let mut add = |what: String, path: &Path, usage: ServerPathUse| {
            found.extend(self.exposed(&what, path, usage));
        };
        if let Some(program) = found_program(command, folder) {
            add(format!("the command of MCP server {name}"), &program, ServerPathUse::ByItsLook);
        }
        if let Some(working_dir) = working_dir {
            let what = format!("the folder that MCP server {name} starts in");
            add(what, working_dir, ServerPathUse::ByItsLook);
        }
        let mut reader = ArgumentReader::default();
        reader.read_word(command);
        for argument in args {
            for (path, usage) in self.places_in_argument(argument, folder, &mut reader) {
                add(format!("an argument of MCP server {name}"), &path, usage);
            }
        }
        let passed = pass_env.iter().filter(|name| env.iter().all(|(given, _)| given != *name));
        let passed = passed.filter_map(|name| Some((name.clone(), env::var(name).ok()?)));
        for (variable, value) in env.iter().cloned().chain(passed) {
            let usage =
                if is_loader(&variable) { ServerPathUse::Loaded } else { ServerPathUse::Unknown };
            for path in self.places(&value) {
                let what = format!("what the variable {variable} of MCP server {name} names");
                add(what, &path, usage);
            }
        }
        found
    }

    /// What an argument names: the whole of it, or what stands in it, as in the code for a shell.
    fn places_in_argument(
        &self,
        argument: &str,
        folder: &Path,
        reader: &mut ArgumentReader,
    ) -> Vec<(PathBuf, ServerPathUse)> {
        if let Some(path) = named_file(argument, folder) {
            let usage = reader.read_path(&path);
            return vec![(path, usage)];
        }
        let mut named = Vec::new();
        for piece in self.pieces(argument) {
            match piece {
                Piece::Word(word) => reader.read_word(word),
                Piece::Place(path) => {
                    let usage = reader.read_path(&path);
                    // Other folders are there to be worked in.
                    if usage != ServerPathUse::ByItsLook || !path.is_dir() || is_program(&path) {
                        named.push((path, usage));
                    }
                }
            }
        }
        named
    }

    /// The paths below writable folders that stand in a text.
    fn places(&self, text: &str) -> Vec<PathBuf> {
        let place = |piece| match piece {
            Piece::Place(path) => Some(path),
            Piece::Word(_) => None,
        };
        self.pieces(text).into_iter().filter_map(place).collect()
    }

    /// The words and paths of a text, in its order.
    fn pieces<'t>(&self, text: &'t str) -> Vec<Piece<'t>> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        loop {
            let next = self.next_place(rest);
            let before = &rest[..next.map_or(rest.len(), |(start, _)| start)];
            let words = before.split(is_delimiter).filter(|word| !word.is_empty());
            pieces.extend(words.map(Piece::Word));
            let Some((start, end)) = next else { return pieces };
            pieces.push(Piece::Place(rest[start..end].into()));
            rest = &rest[end..];
        }
    }

    /// Where the first path begins that is a writable folder or below one, and where it ends.
    fn next_place(&self, text: &str) -> Option<(usize, usize)> {
        let spellings = self.writable.iter().flat_map(|it| [&it.spelled, &it.real]);
        let places = spellings.filter_map(|folder| {
            let folder = folder.to_str().filter(|folder| folder.len() > 1)?;
            text.match_indices(folder).find_map(|(start, _)| {
                let behind = &text[start + folder.len()..];
                let is_whole = behind.is_empty() || behind.starts_with(is_end_of_name);
                let length = behind.find(is_delimiter).unwrap_or(behind.len());
                is_whole.then_some((start, start + folder.len() + length))
            })
        });
        places.min_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)))
    }

    fn exposed(&self, what: &str, path: &Path, usage: ServerPathUse) -> Option<ExposedExecutable> {
        let path = real(path);
        self.is_writable(&path).then(|| {
            let kept = self.kept(&path, usage);
            ExposedExecutable { what: what.to_owned(), path, kept }
        })
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|folder| path.starts_with(&folder.real))
    }

    /// The file and the folder around it, from which many programs load more; but never a folder
    /// that tools are meant to write as a whole.
    fn kept(&self, path: &Path, usage: ServerPathUse) -> Vec<PathBuf> {
        let is_whole =
            |path: &Path| self.writable.iter().any(|folder| folder.real.starts_with(path));
        let is_script = usage == ServerPathUse::Script || !path.is_dir() && is_run(path);
        let is_data = match usage {
            // Data that a server is given is there to be changed.
            ServerPathUse::ByItsLook => !path.is_dir() && !is_script,
            ServerPathUse::Unknown => true,
            ServerPathUse::Script | ServerPathUse::Loaded => false,
        };
        if is_data || is_whole(path) {
            return Vec::new();
        }
        let around = path.parent().filter(|folder| is_script && !is_whole(folder));
        [path].into_iter().chain(around).map(Path::to_owned).collect()
    }
}

impl WritableFolder {
    fn new(folder: &Path, server: Option<&str>) -> Self {
        WritableFolder {
            spelled: folder.to_owned(),
            real: real(folder),
            server: server.map(str::to_owned),
        }
    }
}

/// A part of a text that may name paths.
enum Piece<'t> {
    Word(&'t str),
    /// A path that is a writable folder, or below one.
    Place(PathBuf),
}

/// Follows a command line, to tell what its paths are used for.
#[derive(Default)]
struct ArgumentReader {
    /// The next file is one that an interpreter runs.
    awaits_script: bool,
    /// The next folders are ones from which programs load.
    awaits_folder: bool,
}

impl ArgumentReader {
    fn read_word(&mut self, word: &str) {
        // A folder elsewhere may stand before others in a list.
        if !word.starts_with('/') {
            let (name, assigned) = match word.split_once('=') {
                Some((name, _)) => (name, is_loader(name)),
                None => (word, false),
            };
            self.awaits_folder = assigned || LOADING_WORDS.contains(&name);
        }
        if is_interpreter(Path::new(word)) {
            self.awaits_script = true;
        } else if CODE_OPTIONS.contains(&word) || has_script_name(Path::new(word)) {
            self.awaits_script = false;
        }
    }

    fn read_path(&mut self, path: &Path) -> ServerPathUse {
        if is_interpreter(path) {
            self.awaits_script = true;
            return ServerPathUse::ByItsLook;
        }
        if path.is_dir() {
            return if self.awaits_folder {
                ServerPathUse::Loaded
            } else {
                ServerPathUse::ByItsLook
            };
        }
        match std::mem::take(&mut self.awaits_script) {
            true => ServerPathUse::Script,
            false if self.awaits_folder => ServerPathUse::Loaded,
            false => ServerPathUse::ByItsLook,
        }
    }
}

/// Whether a path is that of a program which runs the first file that it is given.
fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether programs load from what a variable names.
fn is_loader(variable: &str) -> bool {
    LOADERS.contains(&variable) || variable.starts_with("LD_")
}

/// Whether a character ends a path that stands in other text.
fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || "'\"`;:,()&|<>".contains(c)
}

/// Whether a character can stand behind the name of a folder.
fn is_end_of_name(c: char) -> bool {
    c == '/' || is_delimiter(c)
}

/// Whether a file is one that is executed, by itself or by an interpreter.
fn is_run(path: &Path) -> bool {
    has_script_name(path)
        || fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

fn has_script_name(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| SCRIPTS.contains(&end))
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| match path.parent().zip(path.file_name()) {
        Some((above, name)) => real(above).join(name),
        None => path.to_owned(),
    })
}

/// The folders where programs are searched.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

/// The program that a variable names, without its arguments.
fn first_word(named: &OsStr) -> Option<PathBuf> {
    if Path::new(named).is_file() {
        return Some(named.into());
    }
    found_program(named.to_str()?.split_whitespace().next()?, Path::new("/"))
}

/// A program by its path or its name.
fn found_program(name: &str, folder: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(folder.join(name));
    }
    search_path().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The file that an argument names, also as `--flag=PATH`, or the folder of a program. Other folders
/// are there to be worked in.
fn named_file(argument: &str, folder: &Path) -> Option<PathBuf> {
    let value = argument.split_once('=').map_or(argument, |(_, value)| value);
    let path = |text: &str| {
        let path = folder.join(text);
        (!text.is_empty() && (path.is_file() || is_program(&path))).then_some(path)
    };
    path(argument).or_else(|| path(value))
}

/// Whether a folder is one that interpreters run.
fn is_program(folder: &Path) -> bool {
    STARTS.iter().any(|name| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigSources, load_text};

    /// A workspace with a server's script, and what is found in it.
    fn check(config: &str) -> Vec<(String, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("workspace/server")).unwrap();
        fs::create_dir_all(root.join("workspace/package")).unwrap();
        fs::create_dir_all(root.join("elsewhere")).unwrap();
        fs::create_dir_all(root.join("workspace/notes/deep")).unwrap();
        std::os::unix::fs::symlink("workspace", root.join("linked")).unwrap();
        for name in [
            "workspace/notes/deep/server",
            "workspace/server/run.py",
            "workspace/server/more.py",
            "workspace/package/index.js",
            "workspace/data.db",
            "workspace/top.js",
            "elsewhere/a.py",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        let config = config.replace("ROOT", root.to_str().unwrap());
        let settings = load_text(&config, &ConfigSources::new(&root)).unwrap().settings;
        let below = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
        let servers = |exposed: &ExposedExecutable| exposed.what.contains("MCP");
        let found = exposed_executables(&settings).into_iter().filter(servers);
        found
            .map(|it| (below(&it.path), it.kept.iter().map(|path| below(path)).collect()))
            .collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_a_server_runs_in_the_workspace_is_kept_from_tools() {
        let script = "[mcp.a]\ncommand = 'sh'\nargs = ['ROOT/workspace/server/run.py']\n";
        let kept = names(&["workspace/server/run.py", "workspace/server"]);
        assert_eq!(check(script), [("workspace/server/run.py".to_owned(), kept)]);
        let top = "[mcp.a]\ncommand = 'sh'\nargs = ['--run=ROOT/workspace/top.js']\n";
        let kept = names(&["workspace/top.js"]);
        assert_eq!(check(top), [("workspace/top.js".to_owned(), kept)]);
        let package = "[mcp.a]\ncommand = 'sh'\nargs = ['ROOT/workspace/package']\n";
        let kept = names(&["workspace/package"]);
        assert_eq!(check(package), [("workspace/package".to_owned(), kept)]);
        let folder = "[mcp.a]\ncommand = 'sh'\nworking_dir = 'ROOT/workspace/server'\n";
        let kept = names(&["workspace/server"]);
        assert_eq!(check(folder), [("workspace/server".to_owned(), kept)]);
    }

    #[test]
    fn what_lies_elsewhere_or_is_data_is_not_kept() {
        let elsewhere = "[mcp.a]\ncommand = 'sh'\nargs = ['ROOT/elsewhere/a.py', '']\n";
        assert_eq!(check(elsewhere), []);
        let data = "[mcp.a]\ncommand = 'srv'\nargs = ['ROOT/workspace/data.db']\n";
        assert_eq!(check(data), [("workspace/data.db".to_owned(), vec![])]);
        let whole = "[mcp.a]\ncommand = 'sh'\nworking_dir = 'ROOT/workspace'\n";
        assert_eq!(check(whole), [("workspace".to_owned(), vec![])]);
        let granted = "[mcp.a]\ncommand = 'ROOT/elsewhere/a.py'\n\
                       [items.skill.s]\nwrite = ['ROOT/elsewhere']\n";
        assert_eq!(check(granted), [("elsewhere/a.py".to_owned(), names(&["elsewhere/a.py"]))]);
        let off = "[mcp.a]\ncommand = 'sh'\nenabled = false\nworking_dir = 'ROOT/workspace'\n";
        assert_eq!(check(off), []);
    }

    /// Promise: `what-is-written-never-runs-free`
    #[test]
    fn code_that_is_named_inside_an_argument_is_kept() {
        let kept = names(&["workspace/server/run.py", "workspace/server"]);
        let script = [("workspace/server/run.py".to_owned(), kept)];
        for args in [
            "'-c', 'exec python3 ROOT/workspace/server/run.py --fast'",
            "'-c', 'exec python3 ROOT/linked/server/run.py'",
            "'-S', 'python3 \"ROOT/workspace/server/run.py\"'",
            "'--import', 'file://ROOT/workspace/server/run.py'",
            "'-c', 'cat x|sh ROOT/workspace/server/run.py;true'",
        ] {
            let config = format!(
                "[agents.a]\nworkspace = 'linked'\n[mcp.a]\ncommand = 'sh'\nargs = [{args}]\n"
            );
            assert_eq!(check(&config), script, "{args}");
        }
        // Not there yet: a tool could make it.
        let new = "[mcp.a]\ncommand = 'sh'\nargs = ['-c', 'ROOT/workspace/server/new.py']\n";
        let kept = names(&["workspace/server/new.py", "workspace/server"]);
        assert_eq!(check(new), [("workspace/server/new.py".to_owned(), kept)]);
        let beside =
            "[mcp.a]\ncommand = 'sh'\nargs = ['-c', 'cat ROOT/workspaces/server/run.py']\n";
        assert_eq!(check(beside), []);
        let folder = names(&["workspace/notes"]);
        for words in [
            "cd ROOT/workspace/notes && exec python3 -m srv",
            "PYTHONPATH=/x:/y:ROOT/workspace/notes srv",
        ] {
            let config = format!("[mcp.a]\ncommand = 'sh'\nargs = ['-c', '{words}']\n");
            assert_eq!(check(&config), [("workspace/notes".to_owned(), folder.clone())], "{words}");
        }
        // A folder to work in.
        let work =
            "[mcp.a]\ncommand = 'npx'\nargs = ['-y', 'server-filesystem', 'ROOT/workspace']\n";
        assert_eq!(check(work), []);
    }

    #[test]
    fn the_file_of_an_interpreter_is_a_script_whatever_its_name() {
        let kept = names(&["workspace/notes/deep/server", "workspace/notes/deep"]);
        let script = [("workspace/notes/deep/server".to_owned(), kept)];
        for (command, args) in [
            ("python3", "'-u', 'ROOT/workspace/notes/deep/server'"),
            ("/usr/bin/env", "'python3.12', 'ROOT/workspace/notes/deep/server'"),
            ("sh", "'-c', 'exec node ROOT/workspace/notes/deep/server'"),
        ] {
            let config = format!("[mcp.a]\ncommand = '{command}'\nargs = [{args}]\n");
            assert_eq!(check(&config), script, "{command}");
        }
        for args in ["'-m', 'srv', '--db'", "'ROOT/elsewhere/a.py'"] {
            let config = format!(
                "[mcp.a]\ncommand = 'python3'\nargs = [{args}, 'ROOT/workspace/data.db']\n"
            );
            assert_eq!(check(&config), [("workspace/data.db".to_owned(), vec![])], "{args}");
        }
    }

    /// Promise: `what-is-written-never-runs-free`
    #[test]
    fn what_variables_load_is_kept_and_others_are_told() {
        let of = |variable: &str, value: &str| {
            check(&format!("[mcp.a]\ncommand = 'sh'\n[mcp.a.env]\n{variable} = '{value}'\n"))
        };
        let notes = || "workspace/notes".to_owned();
        let kept = names(&["workspace/notes"]);
        for variable in ["PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "CLASSPATH"] {
            let found = of(variable, "/usr/lib:ROOT/workspace/notes:/x");
            assert_eq!(found, [(notes(), kept.clone())], "{variable}");
        }
        let required = of("NODE_OPTIONS", "--require ROOT/workspace/server/more.py");
        let kept = names(&["workspace/server/more.py", "workspace/server"]);
        assert_eq!(required, [("workspace/server/more.py".to_owned(), kept)]);
        assert_eq!(of("DATA", "ROOT/workspace/notes"), [(notes(), vec![])]);
        assert_eq!(of("PYTHONPATH", "ROOT/elsewhere"), []);
    }

    #[test]
    fn what_a_sandboxed_server_may_write_is_kept_from_it_where_others_run_it() {
        let config = "[mcp.a]\ncommand = 'python3'\nargs = ['ROOT/elsewhere/a.py']\n\
                      [mcp.b]\ncommand = 'sh'\nargs = ['ROOT/elsewhere/a.py']\n\
                      sandbox = true\nwrite = ['ROOT/elsewhere']\n";
        let script = [("elsewhere/a.py".to_owned(), names(&["elsewhere/a.py"]))];
        assert_eq!(check(config), script);
        assert_eq!(check(&config.replace("sandbox = true", "enabled = false")), []);
        let alone = "[mcp.b]\ncommand = 'srv'\nargs = ['--db', 'ROOT/elsewhere/a.py']\n\
                     sandbox = true\nwrite = ['ROOT/elsewhere']\n";
        assert_eq!(check(alone), []);
    }

    #[test]
    fn a_warning_says_what_is_kept() {
        let exposed = |kept: &[&str]| ExposedExecutable {
            what: "the command of MCP server x".to_owned(),
            path: "/w/run".into(),
            kept: kept.iter().map(PathBuf::from).collect(),
        };
        let place = "the command of MCP server x, `/w/run`, lies where tools can write.";
        assert_eq!(
            exposed(&[]).warning(),
            format!("{place} They are not kept from changing it; put it elsewhere")
        );
        assert_eq!(
            exposed(&["/w/run"]).warning(),
            format!(
                "{place} They are kept from changing it, but not from all that it may load; \
                 better put it elsewhere"
            )
        );
    }
}
