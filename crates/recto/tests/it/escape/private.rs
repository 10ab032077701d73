//! What Recto keeps and what a call has of its own is its owner's, whatever the umask.

use super::*;

/// A command that is started by somebody who lets everybody do everything.
fn carelessly(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(command.get_program());
    shell.args(command.get_args()).stdin(Stdio::null()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir("/");
    shell
}

/// Promise: `private-whatever-the-umask`
#[test]
fn the_folder_of_a_call_is_its_owners() {
    let code = "printf(\"%s is %03o\\n\", $_, (stat $ENV{$_})[2] & 0777) for qw(HOME TMPDIR); \
                printf(\"git's is %03o\\n\", (stat \"$ENV{HOME}/.gitconfig\")[2] & 0777); \
                open(F, '>', $ARGV[0]) && print F 'x'; close F; \
                open(F, '>', 'notes/new.txt'); mkdir('notes/new');";
    let literal = |text: &str| json!({ "kind": "literal", "flag": text });
    let args = json!([literal("-e"), literal(code), { "param": "x", "writePath": true }]);
    // A file beside the ones that are there, which is made for the program.
    let attempt = Attempt::of(&["perl"]).through(&args, json!({ "x": "named.txt" }));
    let place = attempt.place();
    let output = carelessly(&attempt.tool(&place)).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("HOME is 700") && text.contains("TMPDIR is 700"), "{text}");
    assert!(text.contains("git's is 600"), "{text}");
    for path in ["WORKSPACE/notes/new.txt", "WORKSPACE/notes/new", "WORKSPACE/named.txt"] {
        let (mode, _) = place.state(path).unwrap();
        assert_eq!(mode & 0o022, 0, "{path}");
    }
    note_attempt();
}

/// Promise: `private-whatever-the-umask`
#[test]
fn all_that_recto_keeps_is_its_owners() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let output = carelessly(&home.command(arguments)).output().unwrap();
        both(&output.stdout, &output.stderr)
    };
    let first = run(&["init"]);
    home.write("talk.jsonl", "{\"reply\": \"hello\"}\n");
    let config = "[models.m]\nprovider = 'scripted'\nscript = 'talk.jsonl'\nwindow = 16384\n\
                  [mcp.gone]\ncommand = 'sh'\nargs = ['-c', 'echo oh >&2; exit 3']\n\
                  [sessions]\nmarkdown = 'sessions'\n";
    home.write("config.toml", config);
    let told: Vec<String> = [
        run(&["chat", "-m", "hi"]),
        run(&["memory", "add", "Tea is at four."]),
        run(&["mcp", "check"]),
        run(&["doctor"]),
        run(&["tools", "list"]),
        run(&["search", "tea"]),
    ]
    .into();
    let mut open = Vec::new();
    for path in below(&home.path("")) {
        let mode = fs::symlink_metadata(&path).unwrap().mode();
        let is_the_tests_own = path.ends_with("talk.jsonl") || path.ends_with("config.toml");
        if mode & 0o077 != 0 && mode & 0o170_000 != 0o120_000 && !is_the_tests_own {
            open.push(format!("{:o} {}", mode & 0o7777, path.display()));
        }
    }
    assert!(open.is_empty(), "{open:#?}\n{first}\n{told:#?}");
    note_attempt();
}

/// A folder and all that is in it.
fn below(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}
