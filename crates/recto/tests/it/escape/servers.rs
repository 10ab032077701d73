//! What the program of an MCP server can't do in the sandbox, and what people are told of one that
//! is not in it.

use super::*;

/// What a server with this command does, by what it wrote to its log. It is no server, so the
/// check fails; that does not matter.
fn log_of(command: &str, sandbox: &str) -> (Place, String) {
    let config = format!(
        "[mcp.x]\ncommand = 'sh'\nargs = ['-c', '''{command}''']\nstart_limit = 5\n{sandbox}"
    );
    let place = Attempt::of(&["true"]).config(&config).place();
    place.home.run(&["mcp", "check", "x"]);
    let log = place.read("RECTO/logs/mcp-x.log");
    (place, log)
}

/// Promise: `a-server-can-be-confined`
#[test]
fn a_sandboxed_server_reads_and_writes_what_it_was_granted() {
    let read = "cat OUTSIDE/secret >&2";
    let (_, log) = log_of(read, "");
    assert!(log.contains(SECRET), "no real attempt: {log}");
    let (_, log) = log_of(read, "sandbox = true\n");
    assert!(!log.contains(SECRET) && log.contains(NO_ACCESS), "{log}");
    let (_, log) = log_of(read, "sandbox = true\nread = ['OUTSIDE']\n");
    assert!(log.contains(SECRET), "{log}");
    note_attempt();

    let write = "echo x > OUTSIDE/new; echo x > RECTO/workspace/SOUL.md; echo over >&2";
    let (place, log) = log_of(write, "");
    assert_eq!(place.read("OUTSIDE/new"), "x\n", "no real attempt: {log}");
    let (place, log) = log_of(write, "sandbox = true\nread = ['OUTSIDE', 'RECTO']\n");
    assert!(place.state("OUTSIDE/new").is_none() && log.contains("over"), "{log}");
    // What no tool may write, no server does, whatever it was granted.
    let (place, log) = log_of(write, "sandbox = true\nwrite = ['OUTSIDE', 'RECTO']\n");
    assert_eq!(place.read("OUTSIDE/new"), "x\n", "{log}");
    assert_eq!(place.read("WORKSPACE/SOUL.md"), "I am kind.", "{log}");
    note_attempt();
}

/// Promise: `a-server-can-be-confined`
#[test]
fn a_sandboxed_server_has_no_network_and_a_home_of_its_own() {
    let code = "use Socket; socket(S, PF_INET, SOCK_DGRAM, 0) or die qq(tried: $!); print STDERR qq(open);";
    let command = format!("perl -e \"{}\"", code.replace('$', "\\$"));
    let (_, log) = log_of(&command, "");
    assert!(log.contains("open"), "no real attempt: {log}");
    let (_, log) = log_of(&command, "sandbox = true\n");
    assert!(!log.contains("open") && log.contains(NOT_PERMITTED), "{log}");
    let (_, log) = log_of(&command, "sandbox = true\nnetwork = true\n");
    assert!(log.contains("open"), "{log}");
    let (_, log) =
        log_of("echo home $HOME >&2; echo x > $HOME/x && echo written >&2", "sandbox = true\n");
    assert!(log.contains("recto-mcp-") && log.contains("written"), "{log}");
    note_attempt();
}

#[test]
fn people_are_told_which_servers_run_with_their_rights() {
    let doctor = |sandbox: &str| log_of("true", sandbox).0.home.run(&["doctor"]).out;
    assert!(doctor("").contains("not in the sandbox, it runs with your rights"));
    assert!(doctor("sandbox = true\n").contains("; in the sandbox"));
    // Paths that hold nothing would look as if they did.
    let place = Place::new("true", &json!({}), "");
    place.home.write("config.toml", "[mcp.x]\ncommand = 'sh'\nread = ['/srv']\n");
    let text = said(&place.home.run(&["config", "check"]));
    assert!(text.contains("hold only with `sandbox = true`"), "{text}");
}
