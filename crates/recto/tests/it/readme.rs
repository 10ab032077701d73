//! What the README says: its commands work in the order in which they stand there.

use std::path::Path;

use crate::support::*;

/// The one command that needs the network.
const NEEDS_NETWORK: &str = "models pull";

/// The commands of the section "Use", without their comments.
fn commands() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, section) = text.split_once("\n## Use\n").unwrap();
    let (_, block) = section.split_once("```sh\nrecto init").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let lines = block.lines().map(|line| line.split(" #").next().unwrap().trim().to_owned());
    let commands: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    assert!(commands.len() > 20, "{commands:?}");
    commands
}

/// The words of a command line, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Promise: `examples-run`
#[test]
fn every_command_of_the_readme_works_right_after_init() {
    let home = Home::ready();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let model = "\n[models.demo]\nprovider = \"scripted\"\nscript = \"demo.jsonl\"\n";
    home.write("config.toml", config + model);
    home.write("demo.jsonl", "{\"content\":\"Hello.\"}\n{\"content\":\"About 42 km.\"}\n");
    for line in commands() {
        // What stands before a pipe is another's command.
        let own = line.rsplit("| ").next().and_then(|own| own.strip_prefix("recto "));
        let line = own.unwrap_or_else(|| panic!("{line}: no command of Recto's"));
        if line.starts_with(NEEDS_NETWORK) {
            continue;
        }
        let words = words(line);
        let run = home.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run.code, 0, "recto {line}\n{}{}", run.out, run.err);
        if line.starts_with("why units") {
            assert!(run.out.contains("rule units was on the page"), "{}", run.out);
        }
    }
}
