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

use crate::config::{Settings, TransportSettings};

/// Ends of the names of files that interpreters run.
const SCRIPTS: [&str; 14] =
    ["py", "pyz", "js", "mjs", "cjs", "ts", "sh", "bash", "rb", "pl", "php", "lua", "jar", "wasm"];

/// Files by which a folder is one that interpreters run.
const STARTS: [&str; 4] = ["package.json", "index.js", "__main__.py", "pyproject.toml"];

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
            true => "and can't be kept from them",
            false => "is kept from them, but maybe not all that it loads",
        };
        format!("{what}, `{}`, lies where tools can write {held}", path.display())
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

struct ExecutableSearch {
    /// The folders that tools may write, without links.
    writable: Vec<PathBuf>,
}

impl ExecutableSearch {
    fn new(settings: &Settings) -> Self {
        let skills = settings.items.iter().filter(|item| item.kind == ItemKind::Skill);
        let granted = skills.flat_map(|item| item.grants.write.iter());
        let folders = [settings.work_folder()].into_iter().chain(granted);
        ExecutableSearch { writable: folders.map(|folder| real(folder)).collect() }
    }

    fn find(&self, settings: &Settings) -> Vec<ExposedExecutable> {
        let mut found = Vec::new();
        let mut add = |what: String, path: &Path| found.extend(self.exposed(what, path));
        if let Ok(own) = env::current_exe() {
            add("Recto itself".to_owned(), &own);
        }
        for name in ["VISUAL", "EDITOR", "PAGER"] {
            if let Some(program) = env::var_os(name).as_deref().and_then(first_word) {
                add(format!("the program that {name} names"), &program);
            }
        }
        for folder in search_path() {
            add("a folder of PATH".to_owned(), &folder);
        }
        for server in settings.servers.iter().filter(|server| server.enabled) {
            let TransportSettings::Program { command, args, working_dir, .. } = &server.transport
            else {
                continue;
            };
            let name = &server.name;
            let folder = working_dir.as_deref().unwrap_or(Path::new("/"));
            if let Some(program) = found_program(command, folder) {
                add(format!("the command of MCP server {name}"), &program);
            }
            if let Some(working_dir) = working_dir {
                add(format!("the folder that MCP server {name} starts in"), working_dir);
            }
            for path in args.iter().filter_map(|arg| named_file(arg, folder)) {
                add(format!("an argument of MCP server {name}"), &path);
            }
        }
        found
    }

    fn exposed(&self, what: String, path: &Path) -> Option<ExposedExecutable> {
        let path = real(path);
        self.is_writable(&path).then(|| {
            let kept = self.kept(&path);
            ExposedExecutable { what, path, kept }
        })
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|folder| path.starts_with(folder))
    }

    /// The file and the folder around it, from which many programs load more; but never a folder
    /// that tools are meant to write as a whole.
    fn kept(&self, path: &Path) -> Vec<PathBuf> {
        let is_whole = |path: &Path| self.writable.iter().any(|folder| folder.starts_with(path));
        if is_whole(path) {
            return Vec::new();
        }
        let is_script = path.is_file() && is_run(path);
        let around = path.parent().filter(|folder| is_script && !is_whole(folder));
        match path.is_file() && !is_script {
            // Data that a server is given is there to be changed.
            true => Vec::new(),
            false => [path].into_iter().chain(around).map(Path::to_owned).collect(),
        }
    }
}

/// Whether a file is one that is executed, by itself or by an interpreter.
fn is_run(path: &Path) -> bool {
    let is_script =
        path.extension().and_then(OsStr::to_str).is_some_and(|end| SCRIPTS.contains(&end));
    is_script || fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
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
        let is_program = || STARTS.iter().any(|name| path.join(name).is_file());
        (!text.is_empty() && (path.is_file() || is_program())).then_some(path)
    };
    path(argument).or_else(|| path(value))
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
        for name in [
            "workspace/server/run.py",
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
        let data = "[mcp.a]\ncommand = 'sh'\nargs = ['ROOT/workspace/data.db']\n";
        assert_eq!(check(data), [("workspace/data.db".to_owned(), vec![])]);
        let whole = "[mcp.a]\ncommand = 'sh'\nworking_dir = 'ROOT/workspace'\n";
        assert_eq!(check(whole), [("workspace".to_owned(), vec![])]);
        let granted = "[mcp.a]\ncommand = 'ROOT/elsewhere/a.py'\n\
                       [items.skill.s]\nwrite = ['ROOT/elsewhere']\n";
        assert_eq!(check(granted), [("elsewhere/a.py".to_owned(), names(&["elsewhere/a.py"]))]);
        let off = "[mcp.a]\ncommand = 'sh'\nenabled = false\nworking_dir = 'ROOT/workspace'\n";
        assert_eq!(check(off), []);
    }
}
