//! What links in the agent's own folders lead to is a part of the agent, wherever it lies.

use std::os::unix::fs::symlink;

use super::*;

/// Promise: `private-memory-stays-private`
#[test]
fn what_a_rule_a_memory_or_an_agent_leads_to_is_not_written() {
    for (link, target) in [
        ("rules/x.md", "../notes/a.txt"),
        ("memory/people", "../notes"),
        ("agents/second", "../notes"),
        ("IDENTITY.md", "notes/a.txt"),
    ] {
        note_attempt();
        let attempt = Attempt::perl(
            "open(F, '>', 'notes/a.txt') or die \"tried: $!\"; print F 'MINE'; close F;",
        );
        let linked = || {
            let place = attempt.place();
            fs::create_dir_all(place.path("WORKSPACE/memory")).unwrap();
            symlink(target, place.path("WORKSPACE").join(link)).unwrap();
            place
        };
        let place = linked();
        attempt.control(&place).output().unwrap();
        assert_eq!(place.read("WORKSPACE/notes/a.txt"), "MINE", "no real attempt: {link}");
        let place = linked();
        let text = attempt.run(&place);
        assert_eq!(place.read("WORKSPACE/notes/a.txt"), "a note", "{link}: {text}");
        assert!(is_told(&text, NO_ACCESS), "{link}: {text}");
    }
}

/// Promise: `a-server-can-be-confined`
#[test]
fn no_sandboxed_server_writes_what_a_file_of_the_agent_leads_to() {
    let config = "[mcp.x]\ncommand = 'sh'\nstart_limit = 5\nsandbox = true\n\
                  args = ['-c', 'echo MINE > WORKSPACE/notes/a.txt; echo over >&2']\n\
                  write = ['WORKSPACE']\n";
    let attempt = Attempt::of(&["true"]).config(config);
    for link in ["IDENTITY.md", "TOOLS.md", "notes/none"] {
        note_attempt();
        let place = attempt.place();
        symlink(place.path("WORKSPACE/notes/a.txt"), place.path("WORKSPACE").join(link)).unwrap();
        place.home.run(&["mcp", "check", "x"]);
        let log = place.read("RECTO/logs/mcp-x.log");
        let is_written = place.read("WORKSPACE/notes/a.txt") == "MINE\n";
        // Where nothing of the agent leads there, it is the server's to write.
        assert_eq!(is_written, link == "notes/none", "{link}: {log}");
        assert!(log.contains("over"), "{link}: {log}");
    }
}
