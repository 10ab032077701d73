//! What Recto executes with the rights of the person who started it, and where it lies.
//!
//! Nothing that a confined program may write is ever executed outside its confinement. So what
//! lies in the workspace, or in another folder that tools may write, is kept from them; and as a
//! program is made of more than one file, people are told to put it elsewhere.

mod command_line;
mod interpreters;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{self, Path, PathBuf};

use recto_context::ItemKind;
use recto_tools::ProtectedPath;

use self::command_line::{NamedPathUse, named_by_arguments, named_by_variable};
use crate::config::{LoadedConfig, ServerSettings, Settings, TransportSettings};
use crate::home::RectoHome;
use crate::search_path::{absolute_folders, found_program, search_path};

/// Ends of the names of files that interpreters run.
const SCRIPTS: [&str; 34] = [
    "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "node", "py", "pyc", "pyw", "pyz", "sh",
    "bash", "zsh", "fish", "ps1", "rb", "pl", "php", "phar", "lua", "tcl", "jl", "exs", "R", "jar",
    "java", "dll", "so", "wasm", "rkt", "scm",
];

/// Files by which a folder is one that interpreters run.
const STARTS: [&str; 4] = ["package.json", "index.js", "__main__.py", "pyproject.toml"];

/// The most links on one way, as the kernel has it.
const MAX_LINKS: usize = 40;

/// Something that is executed where tools can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedExecutable {
    /// What it is to Recto, such as `the command of server x`.
    pub(crate) what: String,
    /// Where it is, without links.
    pub(crate) path: PathBuf,
    /// What no tool may write for its sake.
    kept: Vec<ProtectedPath>,
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

    /// Whether all that is kept for another is kept for this one as well.
    fn keeps(&self, other: &ExposedExecutable) -> bool {
        let stands_for = |kept: &ProtectedPath, path: &Path| {
            path.starts_with(&kept.path) && !kept.open.iter().any(|open| path.starts_with(open))
        };
        let is_kept = |it: &ProtectedPath| self.kept.iter().any(|kept| stands_for(kept, &it.path));
        self.what == other.what && !other.kept.is_empty() && other.kept.iter().all(is_kept)
    }
}

/// Finds all that is executed where tools can write.
pub(crate) fn exposed_executables(settings: &Settings) -> Vec<ExposedExecutable> {
    ExecutableSearch::new(settings).find(settings)
}

/// What no tool may write because it is executed.
pub(super) fn kept_from_tools(settings: &Settings) -> Vec<ProtectedPath> {
    exposed_executables(settings).into_iter().flat_map(|exposed| exposed.kept).collect()
}

/// A folder that tools may write.
#[derive(Debug, Clone)]
struct WritableFolder {
    /// Where it is, without links.
    path: PathBuf,
    /// The sandboxed server that alone may write it. What that server runs itself stays in its
    /// sandbox.
    server: Option<String>,
}

/// Tells from which folders something may be executed beside every sandbox: where no tool can write.
pub(crate) struct TrustedFolders(ExecutableSearch);

impl TrustedFolders {
    /// What tools can write is what the config says, of all agents. As long as it can't be read,
    /// all that is in the home of Recto counts.
    pub(crate) fn load(home: &RectoHome) -> Self {
        let loaded = super::load_all(home, Vec::new());
        let agents = loaded.iter().flat_map(LoadedConfig::agents);
        let mut writable: Vec<WritableFolder> =
            agents.flat_map(|settings| ExecutableSearch::new(settings).writable).collect();
        if loaded.is_err() {
            writable.push(WritableFolder::new(home.path(), None));
        }
        TrustedFolders(ExecutableSearch { writable, given: Vec::new() })
    }

    /// The folders of a variable like `PATH` that may be counted on.
    pub(crate) fn of_variable(&self, name: &str) -> OsString {
        let is_trusted =
            |folder: &PathBuf| self.0.exposed("", folder, NamedPathUse::Unknown).is_none();
        let list = env::var_os(name).unwrap_or_default();
        let folders = absolute_folders(&list).into_iter().filter(is_trusted);
        env::join_paths(folders).unwrap_or_default()
    }
}

struct ExecutableSearch {
    /// What may be written, to the harm of what is executed.
    writable: Vec<WritableFolder>,
    /// All that tools and servers are given to write.
    given: Vec<PathBuf>,
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
        let given = writable.iter().map(|folder| folder.path.clone()).collect();
        ExecutableSearch { writable, given }
    }

    fn find(&self, settings: &Settings) -> Vec<ExposedExecutable> {
        let mut found = Vec::new();
        let mut add = |what: &str, path: &Path| {
            found.extend(self.exposed(what, path, NamedPathUse::ByItsLook));
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
        ExecutableSearch { writable: others.cloned().collect(), given: self.given.clone() }
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
        let mut add = |what: String, path: &Path, usage: NamedPathUse| {
            found.extend(self.exposed(&what, path, usage));
        };
        if let Some(program) = found_program(command.as_ref(), folder) {
            add(format!("the command of MCP server {name}"), &program, NamedPathUse::Script);
        }
        if let Some(working_dir) = working_dir {
            let what = format!("the folder that MCP server {name} starts in");
            add(what, working_dir, NamedPathUse::Loaded);
        }
        for (path, usage) in named_by_arguments(command, args, folder) {
            add(format!("an argument of MCP server {name}"), &path, usage);
        }
        let passed = pass_env.iter().filter(|name| env.iter().all(|(given, _)| given != *name));
        let passed = passed.filter_map(|name| Some((name.clone(), env::var(name).ok()?)));
        for (variable, value) in env.iter().cloned().chain(passed) {
            for (path, usage) in named_by_variable(&variable, &value, folder) {
                let what = format!("what the variable {variable} of MCP server {name} names");
                add(what, &path, usage);
            }
        }
        told_once(found)
    }

    /// Something that is executed, if tools can write it, or a link that leads to it.
    fn exposed(&self, what: &str, path: &Path, usage: NamedPathUse) -> Option<ExposedExecutable> {
        let Place { real, mut links } = Place::find(path);
        links.retain(|link| self.is_writable(link));
        let is_writable = self.is_writable(&real);
        let first = links.first().cloned();
        let shown = if is_writable { Some(real.clone()) } else { first };
        let mut kept = Vec::new();
        if is_executed(&real, usage) {
            if is_writable {
                kept.extend(self.kept(&real, usage));
            }
            // Whoever replaces a link says what is executed.
            kept.extend(links.iter().flat_map(|link| self.kept(link, usage)));
        }
        shown.map(|path| ExposedExecutable { what: what.to_owned(), path, kept })
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|folder| path.starts_with(&folder.path))
    }

    /// The file and the folder around it, from which many programs load more; but never a folder
    /// that tools are meant to write as a whole, nor what they are given to write inside it.
    fn kept(&self, path: &Path, usage: NamedPathUse) -> Vec<ProtectedPath> {
        let is_script = usage == NamedPathUse::Script || !path.is_dir() && is_run(path);
        let around = path.parent().filter(|_| is_script);
        // The interpreter of a virtual environment loads what is installed there.
        let environment = around.and_then(Path::parent);
        let environment = environment.filter(|folder| folder.join("pyvenv.cfg").is_file());
        let kept = [Some(path), around, environment].into_iter().flatten();
        let is_whole = |path: &Path| self.writable.iter().any(|folder| folder.path == path);
        let kept = kept.filter(|path| self.is_writable(path) && !is_whole(path));
        kept.map(|path| self.protected(path)).collect()
    }

    fn protected(&self, path: &Path) -> ProtectedPath {
        let open = self.given.iter().filter(|given| given.starts_with(path) && *given != path);
        ProtectedPath { path: path.to_owned(), open: open.cloned().collect() }
    }
}

impl WritableFolder {
    fn new(folder: &Path, server: Option<&str>) -> Self {
        WritableFolder { path: Place::find(folder).real, server: server.map(str::to_owned) }
    }
}

/// Where a path leads.
struct Place {
    /// The path without links, as far as it is there.
    real: PathBuf,
    /// The links on the way, each where it lies.
    links: Vec<PathBuf>,
}

impl Place {
    fn find(path: &Path) -> Self {
        let names = |path: &Path| path.iter().rev().map(OsStr::to_owned).collect::<Vec<_>>();
        let mut ahead = names(&path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        let mut place = Place { real: PathBuf::from("/"), links: Vec::new() };
        while let Some(name) = ahead.pop() {
            if name == ".." {
                place.real.pop();
                continue;
            }
            // The root takes the place of all before it.
            let next = place.real.join(&name);
            match fs::read_link(&next) {
                Ok(target) if place.links.len() < MAX_LINKS => {
                    ahead.extend(names(&target));
                    place.links.push(next);
                }
                _ => place.real = next,
            }
        }
        place
    }
}

/// The same without what lies in a folder that is kept for the sake of something else of that name.
fn told_once(found: Vec<ExposedExecutable>) -> Vec<ExposedExecutable> {
    let mut told: Vec<ExposedExecutable> = Vec::new();
    for exposed in found {
        if told.iter().any(|other| other.keeps(&exposed)) {
            continue;
        }
        told.retain(|other| !exposed.keeps(other));
        told.push(exposed);
    }
    told
}

/// Whether something is executed or loaded. Data that a server is given is there to be changed.
fn is_executed(path: &Path, usage: NamedPathUse) -> bool {
    match usage {
        NamedPathUse::Script | NamedPathUse::Loaded => true,
        NamedPathUse::ByItsLook => path.is_dir() || is_run(path),
        NamedPathUse::Unknown => false,
    }
}

/// Whether a file is one that is executed, by itself or by an interpreter.
fn is_run(path: &Path) -> bool {
    names_script(path)
        || fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

fn names_script(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| SCRIPTS.contains(&end))
}

/// The program that a variable names, without its arguments.
fn first_word(named: &OsStr) -> Option<PathBuf> {
    if Path::new(named).is_file() {
        return Some(named.into());
    }
    found_program(named.to_str()?.split_whitespace().next()?.as_ref(), Path::new("/"))
}

/// Whether a folder is one that interpreters run.
fn is_program_folder(folder: &Path) -> bool {
    STARTS.iter().any(|name| folder.join(name).is_file())
}

#[cfg(test)]
mod tests;
