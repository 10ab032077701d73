//! What is found and kept, of servers in a workspace on a disk.

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
        "workspace/run it.py",
        "elsewhere/a.py",
    ] {
        fs::write(root.join(name), "").unwrap();
    }
    let config = config.replace("ROOT", root.to_str().unwrap());
    let settings = load_text(&config, &ConfigSources::new(&root)).unwrap().settings;
    let below = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    let kept = |ProtectedPath { path, open }: &ProtectedPath| match &open[..] {
        [] => below(path),
        open => {
            let open: Vec<String> = open.iter().map(|path| below(path)).collect();
            format!("{} but for {}", below(path), open.join(" "))
        }
    };
    let servers = |exposed: &ExposedExecutable| exposed.what.contains("MCP");
    let found = exposed_executables(&settings).into_iter().filter(servers);
    found.map(|it| (below(&it.path), it.kept.iter().map(kept).collect())).collect()
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
        let config =
            format!("[agents.a]\nworkspace = 'linked'\n[mcp.a]\ncommand = 'sh'\nargs = [{args}]\n");
        assert_eq!(check(&config), script, "{args}");
    }
    // Not there yet: a tool could make it.
    let new = "[mcp.a]\ncommand = 'sh'\nargs = ['-c', 'ROOT/workspace/server/new.py']\n";
    let kept = names(&["workspace/server/new.py", "workspace/server"]);
    assert_eq!(check(new), [("workspace/server/new.py".to_owned(), kept)]);
    let beside = "[mcp.a]\ncommand = 'sh'\nargs = ['-c', 'cat ROOT/workspaces/server/run.py']\n";
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
    let work = "[mcp.a]\ncommand = 'npx'\nargs = ['-y', 'server-filesystem', 'ROOT/workspace']\n";
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
        let config =
            format!("[mcp.a]\ncommand = 'python3'\nargs = [{args}, 'ROOT/workspace/data.db']\n");
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
        kept: kept.iter().map(|path| PathBuf::from(path).into()).collect(),
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

/// What is found of a server that is started by this command line, where `SCRIPT` is a file
/// without an ending, `TOP` one at the top of the workspace and `FOLDER` one to load from.
fn of_command_line(words: &[&str], more: &str) -> Vec<(String, Vec<String>)> {
    let [command, args @ ..] = words else { panic!("it has a command") };
    let placed = |text: &str| {
        let text = text.replace("SCRIPT", "ROOT/workspace/notes/deep/server");
        text.replace("TOP", "ROOT/workspace/top.js").replace("FOLDER", "ROOT/workspace/notes")
    };
    let args: Vec<String> = args.iter().map(|word| placed(word)).collect();
    check(&format!("[mcp.a]\ncommand = '{command}'\nargs = {args:?}\n{}", placed(more)))
}

fn script() -> (String, Vec<String>) {
    let path = "workspace/notes/deep/server";
    (path.to_owned(), names(&[path, "workspace/notes/deep"]))
}

fn top() -> (String, Vec<String>) {
    ("workspace/top.js".to_owned(), names(&["workspace/top.js"]))
}

fn folder() -> (String, Vec<String>) {
    ("workspace/notes".to_owned(), names(&["workspace/notes"]))
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn code_for_a_shell_is_read_as_code_whatever_it_looks_like() {
    for words in [
        &["sh", "-c", "SCRIPT --stdio"][..],
        &["bash", "-lc", "SCRIPT; true"],
        &["bash", "-lc", "'SCRIPT'"],
        &["bash", "-c", "-e", "SCRIPT --stdio"],
        &["bash", "-euo", "pipefail", "-c", "SCRIPT --stdio"],
        &["sh", "-c", "exec \"$0\" \"$@\"", "python3", "SCRIPT"],
        &["sh", "-c", "exec \"$@\"", "sh", "node", "SCRIPT"],
        &["sh", "-c", "if true; then exec SCRIPT --a; fi"],
        &["sh", "-c", "nohup timeout 5 nice -n 3 SCRIPT > ROOT/elsewhere/log 2>&1"],
        &["sh", "-c", "cd ROOT/workspace; exec notes/deep/server"],
        &["sh", "-c", "eval 'SCRIPT --a'"],
        &["sh", "-c", "A=b B=c SCRIPT --a"],
        &["sh", "-c", "${X:-a} | SCRIPT"],
        &["env", "-S", "SCRIPT --stdio"],
        &["env", "-S", "python3 -u", "SCRIPT"],
        &["env", "-C", "ROOT/workspace", "A=b", "./notes/deep/server"],
        &["npx", "-c", "SCRIPT --stdio"],
        &["nodemon", "--exec", "SCRIPT --stdio"],
        &["bun", "exec", "SCRIPT --stdio"],
    ] {
        let mut found = of_command_line(words, "");
        found.retain(|(path, _)| path != "workspace");
        assert_eq!(found, [script()], "{words:?}");
    }
    // What looks like code, and is a file for which nobody said so.
    let blanks = "[mcp.a]\ncommand = 'srv'\nargs = ['ROOT/workspace/run it.py']\n";
    let kept = names(&["workspace/run it.py"]);
    assert_eq!(check(blanks), [("workspace/run it.py".to_owned(), kept)]);
    for words in [&["srv", "--stdio=python3 SCRIPT --a"][..], &["srv", "-e python3 SCRIPT --a=b"]] {
        assert_eq!(of_command_line(words, ""), [script()], "{words:?}");
    }
    for args in ["ROOT/workspace/server/run.py --stdio", "ROOT/workspace/server/new.py --stdio"] {
        let found = of_command_line(&["srv", "--stdio", args], "");
        let path = args.strip_prefix("ROOT/").and_then(|it| it.strip_suffix(" --stdio")).unwrap();
        assert_eq!(found, [(path.to_owned(), names(&[path, "workspace/server"]))]);
    }
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn options_of_interpreters_are_told_from_their_file() {
    for words in [
        &["bash", "-eo", "pipefail", "SCRIPT"][..],
        &["bash", "+e", "--rcfile", "ROOT/elsewhere/a.py", "SCRIPT"],
        &["python3", "-X", "dev", "-W", "ignore", "SCRIPT"],
        &["python3", "-m", "mcp", "run", "SCRIPT"],
        &["node", "--title", "x", "--max-old-space-size=4096", "SCRIPT"],
        &["node", "-C", "development", "--inspect", "SCRIPT"],
        &["tsx", "watch", "SCRIPT"],
        &["npx", "-y", "tsx@4", "SCRIPT"],
        &["npx", "-y", "-p", "tsx", "-p", "x", "tsx", "SCRIPT"],
        &["bun", "run", "--define", "A=1", "SCRIPT"],
        &["deno", "run", "-A", "--allow-read=ROOT/workspace/notes", "SCRIPT"],
        &["perl", "-MFile::X::None", "SCRIPT"],
        &["perl", "-w", "-i.e", "SCRIPT"],
        &["ruby", "-W0", "-E", "utf-8", "SCRIPT"],
        &["php", "-d", "memory_limit=1G", "SCRIPT"],
        &["php", "-f", "SCRIPT"],
        &["uv", "run", "--with", "mcp[cli]", "--python", "3.12", "SCRIPT"],
        &["uv", "run", "--with", "mcp", "mcp", "run", "SCRIPT:app"],
        &["uv", "run", "-s", "SCRIPT"],
        &["uvx", "fastmcp", "run", "SCRIPT:app"],
        &["timeout", "-k", "5", "10s", "SCRIPT"],
        &["sudo", "-n", "-u", "me", "SCRIPT"],
        &["make", "-f", "SCRIPT", "run"],
        &["dotnet", "exec", "SCRIPT", "FOLDER"],
        &["java", "@SCRIPT", "Main"],
    ] {
        assert_eq!(of_command_line(words, ""), [script()], "{words:?}");
    }
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn what_options_load_is_kept() {
    for words in [
        &["node", "--require=TOP", "/x"][..],
        &["node", "-r", "TOP", "/x"],
        &["node", "-r", "ROOT/workspace/top", "/x"],
        &["node", "--experimental-loader", "TOP", "/x"],
        &["node", "--import=file://TOP", "-e", "0"],
        &["node", "--env-file=TOP", "/x"],
        &["node", "-e", "require('TOP')", "ROOT/workspace"],
        &["node", "ROOT/workspace/top"],
        &["tsx", "--tsconfig", "TOP", "/x"],
        &["bun", "run", "--preload", "TOP", "/x"],
        &["deno", "run", "--import-map=TOP", "npm:@a/srv"],
        &["ruby", "-rTOP", "/x"],
        &["java", "-javaagent:TOP=a=b", "-jar", "/x.jar"],
        &["java", "-Xmx512m", "-jar", "TOP"],
        &["php", "-d", "auto_prepend_file=TOP", "/x"],
        &["npm", "exec", "--node-options=--require=TOP", "srv"],
        &["env", "NODE_OPTIONS=--import TOP", "node", "/x"],
        &["cargo", "run", "--manifest-path", "TOP"],
    ] {
        let mut found = of_command_line(words, "");
        found.retain(|(path, _)| path != "workspace/top");
        assert_eq!(found, [top()], "{words:?}");
    }
    for words in [
        &["perl", "-Mlib=FOLDER", "/x"][..],
        &["perl", "-I", "FOLDER", "/x"],
        &["perl", "-wIFOLDER", "/x"],
        &["java", "-Xmx512m", "-p", "FOLDER", "-m", "a/b.C"],
        &["java", "-Xss1m", "-cp", "/x.jar:FOLDER/*", "a.B"],
        &["java", "-Djava.library.path=FOLDER", "-jar", "/x.jar"],
        &["python3", "-c", "import sys; sys.path.insert(0, 'FOLDER'); import srv"],
        &["python3", "-X", "pycache_prefix=FOLDER", "/x"],
        &["uv", "run", "--directory", "FOLDER", "srv"],
        &["uvx", "--from", "FOLDER", "srv"],
        &["uvx", "--from", "srv[cli] @ file://FOLDER", "srv"],
        &["uv", "run", "--with-editable", "FOLDER", "srv"],
        &["npx", "--package=FOLDER", "srv"],
        &["npx", "file:FOLDER"],
        &["pipx", "run", "--spec", "FOLDER", "srv"],
        &["go", "run", "FOLDER"],
        &["make", "-C", "FOLDER", "run"],
        &["dotnet", "run", "--project", "FOLDER"],
    ] {
        assert_eq!(of_command_line(words, ""), [folder()], "{words:?}");
    }
}

#[test]
fn what_is_given_to_a_program_is_not_kept() {
    for words in [
        &["npx", "-y", "server-filesystem", "FOLDER"][..],
        &["uvx", "server-git", "--repository", "FOLDER"],
        &["uvx", "--from", "git+https://h/a/b", "srv", "FOLDER"],
        &["python3", "-m", "srv", "FOLDER"],
        &["node", "/x.js", "FOLDER"],
        &["node", "-e", "0", "FOLDER"],
        &["java", "-jar", "/x.jar", "FOLDER"],
        &["java", "-cp", "/x.jar", "a.B", "FOLDER"],
        &["java", "-Ddata=FOLDER", "-jar", "/x.jar"],
        &["deno", "run", "--allow-read=FOLDER", "npm:@a/srv", "FOLDER"],
        &["sh", "-c", "python3 /x.py \"$@\"", "sh", "FOLDER"],
        &["sh", "-c", "exec srv 2> FOLDER"],
        &["cargo", "run", "--", "FOLDER"],
        &["dotnet", "run", "--", "FOLDER"],
        &["srv", "--title", "my (nice) tool", "FOLDER"],
    ] {
        assert_eq!(of_command_line(words, ""), [], "{words:?}");
    }
    let data = ("workspace/data.db".to_owned(), vec![]);
    let words = ["sh", "-c", "srv \"$1\"", "x", "ROOT/workspace/data.db"];
    assert_eq!(of_command_line(&words, ""), [data]);
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn variables_with_options_are_read_as_options() {
    let of = |variable: &str, value: &str| {
        let mut found =
            of_command_line(&["srv"], &format!("[mcp.a.env]\n{variable} = '{value}'\n"));
        found.retain(|(path, _)| path != "workspace/top");
        found
    };
    for (variable, value) in [
        ("NODE_OPTIONS", "--require=TOP"),
        ("NODE_OPTIONS", "--max-old-space-size=4096 --import=file://TOP"),
        ("NODE_OPTIONS", "-r TOP"),
        ("RUBYOPT", "-W0 -rTOP"),
        ("RUBYOPT", "rROOT/workspace/top"),
        ("JAVA_TOOL_OPTIONS", "-Xmx9m -javaagent:TOP"),
        ("BASH_ENV", "TOP"),
        ("npm_config_userconfig", "TOP"),
    ] {
        assert_eq!(of(variable, value), [top()], "{variable}={value}");
    }
    for (variable, value) in [
        ("PERL5OPT", "-IFOLDER"),
        ("PERL5OPT", "-w -Mlib=FOLDER"),
        ("PERL5OPT", "Mlib=FOLDER"),
        ("JDK_JAVA_OPTIONS", "-cp FOLDER/*"),
        ("UV_PROJECT", "FOLDER"),
        ("HOME", "FOLDER"),
    ] {
        assert_eq!(of(variable, value), [folder()], "{variable}={value}");
    }
}

#[test]
fn what_is_no_path_is_no_file_of_the_folder_that_a_server_starts_in() {
    let whole = ("workspace".to_owned(), vec![]);
    let start = "working_dir = 'ROOT/workspace'\n";
    for (words, more) in [
        (&["srv"][..], "env = { NODE_OPTIONS = '--max-old-space-size=4096' }\n"),
        (&["srv"], "env = { NODE_OPTIONS = '-r dotenv/config', ENV = 'production' }\n"),
        (&["srv"], "env = { UV_PYTHON = '3.12', RUBYOPT = '-W0 -rbundler/setup' }\n"),
        (&["node", "-r", "ts-node/register", "/x"], ""),
        (&["uvx", "--from", "git+https://h/a/b", "srv"], ""),
        (&["npx", "-y", "@a/srv@latest"], ""),
        (&["deno", "run", "npm:@a/srv"], ""),
        (&["java", "-cp", "/x.jar", "a.B"], ""),
    ] {
        assert_eq!(
            of_command_line(words, &format!("{start}{more}")),
            std::slice::from_ref(&whole),
            "{words:?}"
        );
    }
    // What is there under that name would be taken, and what comes to be there.
    let found = of_command_line(&["python3", "-m", "srv.main"], start);
    let kept = |name: &str| (name.to_owned(), names(&[name]));
    assert_eq!(found, [whole.clone(), kept("workspace/srv.py"), kept("workspace/srv")]);
    let found = of_command_line(&["python3", "-c", "import package.x"], start);
    assert_eq!(found, [whole, kept("workspace/package")]);
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn a_folder_stays_kept_but_for_what_is_given_inside_it() {
    let script = "[mcp.a]\ncommand = 'python3'\nargs = ['ROOT/workspace/server/run.py']\n";
    let path = "workspace/server/run.py".to_owned();
    let kept = names(&[&path, "workspace/server but for workspace/server/data"]);
    // Where the script is all that was given, nothing around it can be written.
    let alone = "[mcp.a]\ncommand = 'ROOT/elsewhere/a.py'\n\
                 [items.skill.s]\nwrite = ['ROOT/elsewhere/a.py']\n";
    assert_eq!(check(alone), [("elsewhere/a.py".to_owned(), vec![])]);
    for given in [
        "[mcp.b]\ncommand = 'srv'\nsandbox = true\nwrite = ['ROOT/workspace/server/data']\n",
        "[items.skill.s]\nwrite = ['ROOT/workspace/server/data']\n",
        "sandbox = true\nwrite = ['ROOT/workspace/server/data']\n",
    ] {
        let found = check(&format!("{script}{given}"));
        assert_eq!(found, [(path.clone(), kept.clone())], "{given}");
    }
    // What is run from what is given is kept by itself.
    let plugin = "workspace/server/data/plug.py";
    let both = format!(
        "[mcp.a]\ncommand = 'python3'\nargs = ['ROOT/{path}', '--plugin=ROOT/{plugin}']\n\
         [mcp.b]\ncommand = 'srv'\nsandbox = true\nwrite = ['ROOT/workspace/server/data']\n"
    );
    assert_eq!(check(&both), [(path, kept), (plugin.to_owned(), names(&[plugin]))]);
}
