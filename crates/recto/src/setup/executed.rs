//! What Recto executes with the rights of the person who started it, and where it lies.
//!
//! Nothing that a confined program may write is ever executed outside its confinement. So what
//! lies in the workspace, or in another folder that tools may write, is kept from them; and as a
//! program is made of more than one file, people are told to put it elsewhere.

mod command_line;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{self, Path, PathBuf};

use recto_context::ItemKind;

use self::command_line::{CommandLineReader, PathUse, places_of_variable};
use crate::config::{ServerSettings, Settings, TransportSettings};

/// Ends of the names of files that interpreters run.
const SCRIPTS: [&str; 14] =
    ["py", "pyz", "js", "mjs", "cjs", "ts", "sh", "bash", "rb", "pl", "php", "lua", "jar", "wasm"];

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

/// A folder that tools may write.
#[derive(Debug, Clone)]
struct WritableFolder {
    /// Where it is, without links.
    path: PathBuf,
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
            found.extend(self.exposed(what, path, PathUse::ByItsLook));
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
        let mut add = |what: String, path: &Path, usage: PathUse| {
            found.extend(self.exposed(&what, path, usage));
        };
        if let Some(program) = found_program(command, folder) {
            add(format!("the command of MCP server {name}"), &program, PathUse::Script);
        }
        if let Some(working_dir) = working_dir {
            let what = format!("the folder that MCP server {name} starts in");
            add(what, working_dir, PathUse::Loaded);
        }
        let mut reader = CommandLineReader::new(command, folder);
        for argument in args {
            for (path, usage) in reader.read_argument(argument) {
                add(format!("an argument of MCP server {name}"), &path, usage);
            }
        }
        let passed = pass_env.iter().filter(|name| env.iter().all(|(given, _)| given != *name));
        let passed = passed.filter_map(|name| Some((name.clone(), env::var(name).ok()?)));
        for (variable, value) in env.iter().cloned().chain(passed) {
            for (path, usage) in places_of_variable(&variable, &value, folder) {
                let what = format!("what the variable {variable} of MCP server {name} names");
                add(what, &path, usage);
            }
        }
        found
    }

    /// Something that is executed, if tools can write it, or a link that leads to it.
    fn exposed(&self, what: &str, path: &Path, usage: PathUse) -> Option<ExposedExecutable> {
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
    /// that tools are meant to write as a whole.
    fn kept(&self, path: &Path, usage: PathUse) -> Vec<PathBuf> {
        let is_script = usage == PathUse::Script || !path.is_dir() && is_run(path);
        let around = path.parent().filter(|_| is_script);
        // The interpreter of a virtual environment loads what is installed there.
        let environment = around.and_then(Path::parent);
        let environment = environment.filter(|folder| folder.join("pyvenv.cfg").is_file());
        let kept = [Some(path), around, environment].into_iter().flatten();
        kept.filter(|path| !self.is_whole(path)).map(Path::to_owned).collect()
    }

    fn is_whole(&self, path: &Path) -> bool {
        self.writable.iter().any(|folder| folder.path.starts_with(path))
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

/// Whether something is executed or loaded. Data that a server is given is there to be changed.
fn is_executed(path: &Path, usage: PathUse) -> bool {
    match usage {
        PathUse::Script | PathUse::Loaded => true,
        PathUse::ByItsLook => path.is_dir() || is_run(path),
        PathUse::Unknown => false,
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

/// Whether a folder is one that interpreters run.
fn is_program_folder(folder: &Path) -> bool {
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
        fs::create_dir_all(root.join("workspace/.venv/bin")).unwrap();
        fs::create_dir_all(root.join("workspace/node/.bin")).unwrap();
        for (target, link) in [
            ("workspace", "linked"),
            ("/bin/sh", "workspace/.venv/bin/python"),
            ("../../package/index.js", "workspace/node/.bin/srv"),
            ("../elsewhere", "workspace/outside"),
        ] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        for name in [
            "workspace/notes/deep/server",
            "workspace/server/run.py",
            "workspace/server/more.py",
            "workspace/package/index.js",
            "workspace/.venv/pyvenv.cfg",
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
            "PYTHONPATH=/x:$PYTHONPATH:ROOT/workspace/notes srv",
            "perl -IROOT/workspace/notes srv",
        ] {
            let config = format!("[mcp.a]\ncommand = 'sh'\nargs = ['-c', '{words}']\n");
            assert_eq!(check(&config), [("workspace/notes".to_owned(), folder.clone())], "{words}");
        }
        // A folder to work in.
        let work =
            "[mcp.a]\ncommand = 'npx'\nargs = ['-y', 'server-filesystem', 'ROOT/workspace']\n";
        assert_eq!(check(work), []);
    }

    /// Promise: `what-is-written-never-runs-free`
    #[test]
    fn links_that_tools_could_replace_are_kept_where_they_lie() {
        let of = |command: &str, args: &str| {
            check(&format!("[mcp.a]\ncommand = '{command}'\nargs = [{args}]\n"))
        };
        let link = "workspace/.venv/bin/python";
        let kept = [link, "workspace/.venv/bin", "workspace/.venv"];
        assert_eq!(of(&format!("ROOT/{link}"), "'-m', 'srv'"), [(link.to_owned(), names(&kept))]);
        let real = "workspace/package/index.js";
        let kept =
            names(&[real, "workspace/package", "workspace/node/.bin/srv", "workspace/node/.bin"]);
        assert_eq!(of("ROOT/workspace/node/.bin/srv", ""), [(real.to_owned(), kept)]);
        let on_the_way = "workspace/outside";
        let found = of("node", "'ROOT/workspace/outside/a.py'");
        assert_eq!(found, [(on_the_way.to_owned(), names(&[on_the_way]))]);
    }

    #[test]
    fn a_command_is_kept_before_it_is_there() {
        let config = "[mcp.a]\ncommand = 'ROOT/workspace/notes/later'\n";
        let kept = names(&["workspace/notes/later", "workspace/notes"]);
        assert_eq!(check(config), [("workspace/notes/later".to_owned(), kept)]);
    }

    #[test]
    fn a_folder_behind_a_script_is_there_to_be_worked_in() {
        for args in [
            "'-I', 'ROOT/elsewhere/a.py', 'ROOT/workspace/notes'",
            "'-m', 'srv', 'ROOT/workspace/notes'",
        ] {
            let config = format!("[mcp.a]\ncommand = 'python3'\nargs = [{args}]\n");
            assert_eq!(check(&config), [], "{args}");
        }
    }

    #[test]
    fn the_file_of_an_interpreter_is_a_script_whatever_its_name() {
        let kept = names(&["workspace/notes/deep/server", "workspace/notes/deep"]);
        let script = [("workspace/notes/deep/server".to_owned(), kept)];
        for (command, args) in [
            ("python3", "'-u', 'ROOT/workspace/notes/deep/server'"),
            ("/usr/bin/env", "'python3.12', 'ROOT/workspace/notes/deep/server'"),
            ("sh", "'-c', 'exec node ROOT/workspace/notes/deep/server'"),
            ("sh", "'-lc', 'cd ROOT/elsewhere; . ROOT/workspace/notes/deep/server'"),
            ("sh", "'-e', 'ROOT/workspace/notes/deep/server'"),
            ("sh", "'-c', 'bash -c \"ksh ROOT/workspace/notes/deep/server\"'"),
            ("node", "'--env-file=ROOT/elsewhere/a.py', 'ROOT/workspace/notes/deep/server'"),
            ("node", "'--env-file', 'ROOT/elsewhere/a.py', 'ROOT/workspace/notes/deep/server'"),
            ("uv", "'run', 'ROOT/workspace/notes/deep/server'"),
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
