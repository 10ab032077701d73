//! `recto memory`: what is remembered, as a person looks at it and changes it.

mod bad_files;
mod change;
mod turns;
mod why;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::*;

/// A year of small facts that have little to do with each other.
pub(super) fn many(count: usize) -> String {
    const THINGS: [&str; 10] = [
        "The dentist moved the visit to the",
        "Cousin Wilma's train leaves on track",
        "The blue bicycle has a lock with number",
        "Invoice of the plumber, paid on day",
        "The choir rehearses in room",
        "Seeds for the balcony came in parcel",
        "The router in the attic answers at port",
        "Grandmother's recipe needs grams of flour:",
        "The museum closes early in week",
        "Library book on lighthouses, shelf",
    ];
    let line = |at: usize| format!("- {} {at}\n", THINGS[at % THINGS.len()]);
    (0..count).fold("## 2026-01-02\n".to_owned(), |text, at| text + &line(at))
}

impl Home {
    /// What `recto memory list` with these flags shows, text by text.
    pub(super) fn remembered(&self, flags: &[&str]) -> Vec<String> {
        let list = self.json(&[&["memory", "list", "--json"], flags].concat())["memories"].clone();
        let texts = list.as_array().unwrap().iter();
        texts.map(|memory| memory["text"].as_str().unwrap().to_owned()).collect()
    }

    /// `recto memory add TEXT`, which must go well. Gives the id.
    pub(super) fn remember(&self, text: &str, flags: &[&str]) -> String {
        self.ok(&[&["memory", "add", text], flags].concat()).trim_end().to_owned()
    }
}

fn empty() -> Home {
    Home::with(&[])
}

#[test]
fn what_is_added_is_listed_newest_first_and_stands_in_the_file() {
    let home = empty();
    assert_eq!(home.remembered(&[]), [""; 0]);
    let none = home.run(&["memory", "list"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("`recto memory add` begins"), "{}", none.err);
    home.write(
        "workspace/memory/MEMORY.md",
        "# Mine\n\nSome prose.\n\n## 2026-01-02\n- [shared] The cat is called Minka.\n",
    );
    let run = home.run(&["memory", "add", "Bo likes tea.", "--important"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let id = run.out.trim_end();
    assert!(id.starts_with("MEMORY.md#") && id.len() == "MEMORY.md#".len() + 8, "{id}");
    assert!(run.err.contains("remembered in") && run.err.contains("MEMORY.md"), "{}", run.err);
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    let added = &list[0];
    assert_eq!((&added["name"], &added["text"]), (&json!(id), &json!("Bo likes tea.")));
    assert_eq!((&added["important"], &added["shared"]), (&json!(true), &json!(false)));
    assert_eq!(added["scope"], json!({"kind": "global"}));
    assert!(added["added"].is_string() && added["source"].is_string(), "{added}");
    let cat = &list[1];
    assert_eq!((&cat["day"], &cat["shared"]), (&json!("2026-01-02"), &json!(true)));
    assert_eq!(home.remembered(&[])[2], "Some prose.");
    let drawn = home.ok(&["memory", "list"]);
    let first = drawn.lines().nth(1).unwrap();
    assert!(first.starts_with(id) && first.contains("important  global"), "{drawn}");
    let file = fs::read_to_string(home.path("workspace/memory/MEMORY.md")).unwrap();
    assert!(
        file.starts_with("# Mine\n\nSome prose.\n\n## 2026-01-02\n- [shared] The cat"),
        "{file}"
    );
    assert!(file.contains("\n- [important] Bo likes tea. (added at "), "{file}");
}

#[test]
fn a_text_comes_from_standard_input_and_is_kept_once() {
    let home = empty();
    let run = home.run_with(&["memory", "add", "-"], "Two\nlines.\n", &[]);
    assert_eq!(run.code, 0, "{}", run.err);
    let again = home.run(&["memory", "add", "Two\nlines."]);
    assert_eq!((again.code, &again.out), (0, &run.out));
    assert!(again.err.contains("there already"), "{}", again.err);
    assert_eq!(home.remembered(&[]).len(), 1);
    home.run(&["memory", "add", "  \n "]).fails_with("needs a text");
    home.run(&["memory", "add", &"a ".repeat(5_000)]).fails_with("characters, of at most");
}

#[test]
fn a_secret_is_refused_and_left_nowhere() {
    let home = empty();
    let key = ["sk-", "proj-", "Zr8kQ2mX7vLp4NwT9bYc3HsD6fGj1KaE"].concat();
    let run = home.run(&["memory", "add", &format!("My key is {key}")]);
    run.fails_with("hint: ");
    assert!(run.err.contains("looks like"), "{}", run.err);
    assert!(!run.err.contains(&key) && !run.out.contains(&key));
    let id = home.remember("The key is in the safe.", &[]);
    home.run(&["memory", "edit", &id, &format!("It is {key}")]).fails_with("looks like");
    assert_eq!(home.remembered(&[]), ["The key is in the safe."]);
    let is_there = |content: &Vec<u8>| String::from_utf8_lossy(content).contains(&key);
    assert!(!home.tree().values().any(is_there));
}

/// Promise: `private-memory-stays-private`
#[test]
fn each_scope_has_its_file_and_its_readers() {
    let home = empty();
    home.remember("The owner snores.", &[]);
    home.remember("The wifi is called barn.", &["--shared"]);
    home.remember("Anna likes tea.", &["--person", "anna"]);
    home.remember("We meet at noon.", &["--conversation", "telegram-4711"]);
    home.remember("Ops reads logs first.", &["--sub-agent", "ops"]);
    home.remember("Main is patient.", &["--sub-agent", "main", "--shared"]);
    for file in [
        "memory/MEMORY.md",
        "memory/people/anna.md",
        "memory/conversations/telegram-4711.md",
        "agents/ops/memory.md",
    ] {
        assert!(home.path("workspace").join(file).is_file(), "{file}");
    }
    let check = |flags: &[&str], expected: &[&str]| {
        let mut found = home.remembered(flags);
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{flags:?}");
    };
    let (own, wifi, anna) = ("The owner snores.", "The wifi is called barn.", "Anna likes tea.");
    let (noon, main) = ("We meet at noon.", "Main is patient.");
    check(&[], &[own, wifi, main]);
    check(&["--person", "anna"], &[own, wifi, anna, main]);
    check(&["--conversation", "telegram-4711"], &[own, wifi, noon, main]);
    let ops = "Ops reads logs first.";
    check(&["--sub-agent", "ops"], &[own, wifi, ops]);
    check(&["--sub-agent", "ops", "--person", "anna"], &[own, wifi, anna, ops]);
    check(&["--sub-agent", "ops", "--as", "group"], &[wifi]);
    check(&["--sub-agent", "main", "--as", "group"], &[wifi, main]);
    check(&["--sub-agent", "nobody"], &[own, wifi]);
    check(&["--as", "guest"], &[wifi, main]);
    check(&["--as", "guest", "--person", "anna"], &[wifi, anna, main]);
    check(&["--as", "guest", "--person", "bob"], &[wifi, main]);
    check(&["--as", "group"], &[wifi, main]);
    check(&["--as", "group", "--person", "anna"], &[wifi, main]);
    check(&["--as", "group", "--conversation", "telegram-4711"], &[wifi, noon, main]);
    check(&["--as", "group", "--conversation", "discord-4711"], &[wifi, main]);
    let refused = home.run(&["memory", "list", "--as", "anybody"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let both = home.run(&["memory", "add", "a", "--person", "x", "--sub-agent", "y"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

#[test]
fn ids_of_others_lead_nowhere_else() {
    let home = empty();
    for id in ["../../../escape", "/etc/x", "..", ".hidden", "a/b", "é\n\u{202e}", "%41"] {
        home.remember("Likes tea.", &[&format!("--person={id}")]);
        let flag = format!("--person={id}");
        assert!(home.remembered(&[&flag]).contains(&"Likes tea.".to_owned()), "{id:?}");
    }
    let folder = home.path("workspace/memory/people");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 7, "{files:?}");
    // A variable that is not set names nobody.
    assert_eq!(home.run(&["memory", "add", "Likes tea.", "--person="]).code, 2);
    let below = |path: &Path| path.starts_with(home.path("workspace/memory"));
    assert!(home.tree().keys().all(|path| below(path)), "{:?}", home.tree().keys());
}

#[test]
fn older_notes_are_listed_with_all_of_them() {
    let home = empty();
    home.write("workspace/memory/2001-01-02.md", "Went to the lake.\n");
    let today = jiff::Zoned::now().date().to_string();
    home.write(&format!("workspace/memory/{today}.md"), "- Went to the hills.\n");
    assert_eq!(home.remembered(&[]), ["Went to the hills."]);
    assert_eq!(home.remembered(&["--all"]), ["Went to the hills.", "Went to the lake."]);
}

#[test]
fn an_edit_changes_one_entry_and_no_other_byte() {
    let home = empty();
    let before = "intro\r\n\r\n* Bo likes tea. (added at 2026-01-02T03:04:05Z)\r\n* The rest.";
    home.write("workspace/memory/MEMORY.md", before);
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    let tea = list.as_array().unwrap().iter().find(|one| one["text"] == "Bo likes tea.").unwrap();
    let id = tea["name"].as_str().unwrap();
    let short = &id.rsplit_once('#').unwrap().1[..4];
    let run = home.run(&["memory", "edit", short, "Bo likes gin."]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_ne!(run.out.trim_end(), id);
    let after = fs::read_to_string(home.path("workspace/memory/MEMORY.md")).unwrap();
    assert_eq!(after, before.replace("tea", "gin"));
    home.run(&["memory", "edit", id, "Bo likes rum."]).fails_with("there is no memory");
    home.run(&["memory", "edit", run.out.trim_end(), " "]).fails_with("needs a text");
    let from_input = home.run_with(&["memory", "edit", run.out.trim_end(), "-"], "Milk.", &[]);
    assert_eq!(from_input.code, 0, "{}", from_input.err);
    assert!(home.remembered(&[]).contains(&"Milk.".to_owned()));
}

#[cfg(unix)]
#[test]
fn an_editor_gets_the_text_and_gives_another() {
    use std::os::unix::fs::PermissionsExt;

    let home = empty();
    let id = home.remember("Bo likes tea.", &["--important"]);
    home.write("my editor", "#!/bin/sh\nfor last; do :; done\nsed -i 's/tea/gin/' \"$last\"\n");
    let script = home.path("my editor");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |id: &str, name: &str, editor: &str| {
        home.run_with(&["memory", "edit", id], "", &[(name, editor)])
    };
    let unset = home.run(&["memory", "edit", &id]);
    unset.fails_with("set EDITOR");
    run(&id, "EDITOR", "/no/such/editor -w").fails_with("cannot start the editor");
    run(&id, "EDITOR", "false").fails_with("the memory is as it was");
    let same = run(&id, "VISUAL", "true");
    assert_eq!((same.code, same.out.as_str()), (0, ""));
    assert!(same.err.contains("nothing was changed"), "{}", same.err);
    assert_eq!(home.remembered(&[]), ["Bo likes tea."]);
    // A path with a space is one program; words behind another are its arguments.
    let edited = run(&id, "EDITOR", script.to_str().unwrap());
    assert_eq!(edited.code, 0, "{}", edited.err);
    let list = home.json(&["memory", "list", "--json"])["memories"].clone();
    assert_eq!((&list[0]["text"], &list[0]["important"]), (&json!("Bo likes gin."), &json!(true)));
    home.write("plain.sh", "for last; do :; done\nsed -i 's/gin/rum/' \"$last\"\n");
    let with_words = format!("sh {}", home.path("plain.sh").display());
    let edited = run(edited.out.trim_end(), "VISUAL", &with_words);
    assert_eq!(edited.code, 0, "{}", edited.err);
    assert_eq!(home.remembered(&[]), ["Bo likes rum."]);
    // What was typed and can't be used is not lost.
    home.write("plain.sh", "for last; do :; done\necho 'my PIN is 4711' > \"$last\"\n");
    let refused = run(edited.out.trim_end(), "VISUAL", &with_words);
    refused.fails_with("looks like a PIN");
    let kept = refused.err.lines().find_map(|line| line.strip_prefix("what you wrote is in "));
    assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), "my PIN is 4711\n");
    fs::remove_file(kept.unwrap()).unwrap();
}

#[test]
fn what_is_forgotten_goes_to_the_archive() {
    let home = empty();
    let tea = home.remember("Bo likes tea.", &[]);
    let gin = home.remember("Bo likes gin.", &[]);
    let anna = home.remember("Anna likes rum.", &["--person", "anna"]);
    let run = home.run(&["memory", "forget", &tea, "MEMORY.md#00000000", &gin]);
    assert_eq!(run.code, 1, "one of them is not there");
    assert_eq!(run.out, format!("{tea}\n{gin}\n"));
    assert!(run.err.contains("there is no memory `MEMORY.md#00000000`"), "{}", run.err);
    assert!(run.err.contains("hint: ") && run.err.contains("archive/MEMORY.md"), "{}", run.err);
    assert_eq!(home.remembered(&[]), [""; 0]);
    let archive = fs::read_to_string(home.path("workspace/memory/archive/MEMORY.md")).unwrap();
    assert!(archive.contains("Bo likes tea.") && archive.contains("Bo likes gin."), "{archive}");
    // Named together with a person, it is looked for among that person's.
    home.run(&["memory", "forget", &anna, "--person", "ben"]).fails_with("there is no memory");
    home.ok(&["memory", "forget", &anna, "--person", "anna"]);
    assert!(home.path("workspace/memory/archive/people/anna.md").is_file());
    let missing = home.run(&["memory", "forget"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
}

#[test]
fn what_was_forgotten_can_be_brought_back() {
    let home = empty();
    let old = "## 2025-03-04\n- [important] [shared] Bo likes tea. (added at 2025-03-04T10:00:00+01:00)\n";
    home.write("workspace/memory/MEMORY.md", old);
    let anna = home.remember("Anna likes rum.", &["--person", "anna"]);
    let tea = home.json(&["memory", "list", "--json"])["memories"][0].clone();
    let id = tea["name"].as_str().unwrap().to_owned();
    let run = home.run(&["memory", "forget", &id, &anna]);
    assert!(run.err.contains(&format!("`recto memory restore {id}")), "{}", run.err);
    let forgotten = home.json(&["memory", "list", "--forgotten", "--json"])["memories"].clone();
    assert_eq!(forgotten.as_array().unwrap().len(), 2);
    assert_eq!(home.ok(&["memory", "restore", &id, &anna]), format!("{id}\n{anna}\n"));
    let back = home.json(&["memory", "list", "--json"])["memories"][0].clone();
    assert_eq!(back, tea, "with its marks and its day");
    assert_eq!(home.remembered(&["--person", "anna"])[0], "Anna likes rum.");
    let none = home.json(&["memory", "list", "--forgotten", "--json"]);
    assert_eq!(none, json!({"memories": []}));
    home.run(&["memory", "restore", &id]).fails_with("there is no memory");
    // What must not be remembered does not come in through the archive.
    let key = ["gh", "p_", "a8Kd0Zs7Qm3Xw9Lv2Bn6Tc4Yr1Hj5Gf8Pe0U"].concat();
    home.write("workspace/memory/archive/MEMORY.md", format!("- The key: {key}\n"));
    let secret = home.json(&["memory", "list", "--forgotten", "--json"])["memories"][0].clone();
    let run = home.run(&["memory", "restore", secret["name"].as_str().unwrap()]);
    assert!(run.code == 1 && !run.err.contains(&key), "{}", run.err);
}

#[test]
fn bad_ids_are_told_with_what_could_be_meant() {
    let home = empty();
    home.write("workspace/memory/MEMORY.md", many(400));
    for id in ["zzz", "../../x", "MEMORY.md", "\u{1b}[2J", "MEMORY.md#zzzzzzzz", "#00000000"] {
        let run = home.run(&["memory", "forget", "--", id]);
        run.fails_with("there is no memory");
        assert!(run.err.contains("hint: ") && !run.err.contains('\u{1b}'), "{}", run.err);
    }
    for id in ["", "#", "ab", "MEMORY.md#", "MEMORY.md#abc"] {
        let run = home.run(&["memory", "forget", "--", id]);
        run.fails_with("is too short for the id of a memory");
        assert!(run.err.contains("at least 4 of the digits"), "{}", run.err);
    }
    // Among so many, the same short beginning means several in two files.
    home.write("workspace/memory/2026-01-02.md", many(400));
    let all = home.json(&["memory", "list", "--all", "--json"])["memories"].clone();
    let id = all[0]["name"].as_str().unwrap();
    let (file, hash) = id.rsplit_once('#').unwrap();
    let ambiguous = home.run(&["memory", "forget", &hash[..8]]);
    ambiguous.fails_with("can mean 2 memories");
    assert!(ambiguous.err.contains("name one of them"), "{}", ambiguous.err);
    let other = format!("2026-01-02.md#{}", &hash[..8]);
    assert!(ambiguous.err.contains(id) && ambiguous.err.contains(&other), "{}", ambiguous.err);
    home.ok(&["memory", "forget", &format!("{file}#{}", &hash[..6])]);
    assert_eq!(home.remembered(&["--all"]).len(), 799);
}

#[test]
fn a_search_finds_memories_and_what_was_said() {
    let home = Home::scripted(&[r#"{"content":"The walrus song is number 7 on the record."}"#]);
    home.write("workspace/memory/MEMORY.md", many(100));
    home.ok(&["chat", "-m", "Which song is about a walrus?"]);
    home.remember("The walrus poster hangs in the hall.", &[]);
    let found = home.json(&["memory", "search", "walrus poster in the hall", "--json"]);
    assert!(found["how"].is_string() || found["how"].is_object(), "{found}");
    let first = &found["results"][0];
    let poster = json!("The walrus poster hangs in the hall.");
    assert_eq!((&first["kind"], &first["text"]), (&json!("memory"), &poster));
    let found = home.json(&["memory", "search", "the song about a walrus", "--json"]);
    let results = found["results"].as_array().unwrap();
    let message = results.iter().find(|found| found["kind"] == "message").unwrap();
    assert_eq!((&message["name"], &message["role"]), (&json!("default"), &json!("assistant")));
    assert_eq!(message["text"], "The walrus song is number 7 on the record.");
    assert!(message["probability"].is_number() && message["at"].is_string(), "{message}");
    let one = home.json(&["memory", "search", "walrus", "--limit", "1", "--json"]);
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    let drawn = home.run(&["memory", "search", "walrus poster"]);
    assert!(drawn.out.contains("The walrus poster hangs in the hall."), "{}", drawn.out);
    assert!(drawn.err.contains("searched "), "{}", drawn.err);
    // A group was not there.
    let group = home.json(&["memory", "search", "walrus", "--as", "group", "--json"]);
    assert_eq!(group["results"], json!([]));
    let none = home.run(&["memory", "search", "walrus", "--as", "group"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("nothing that a group may see"), "{}", none.err);
    home.run(&["memory", "search", " "]).fails_with("nothing to search for");
    assert_eq!(home.run(&["memory", "search", "walrus", "--limit", "0"]).code, 2);
}

#[test]
fn a_search_is_made_for_the_agent_that_is_named() {
    let home = empty();
    home.remember("The walrus tank is checked on Mondays.", &["--sub-agent", "ops"]);
    let texts = |flags: &[&str]| {
        let found = home.json(&[&["memory", "search", "walrus tank", "--json"], flags].concat());
        let found = found["results"].as_array().unwrap().clone();
        found.iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&[]), [""; 0]);
    assert_eq!(texts(&["--sub-agent", "ops"]), ["The walrus tank is checked on Mondays."]);
    assert_eq!(texts(&["--sub-agent", "ops", "--as", "group"]), [""; 0]);
}

#[test]
fn nods_and_greetings_are_not_found_among_what_was_said() {
    let home = Home::scripted(&[
        r#"{"content":"Hello!"}"#,
        r#"{"content":"It hangs in the hall."}"#,
        r#"{"content":"You're welcome."}"#,
    ]);
    let talk = "hello\nWhere is the walrus poster?\nok, thanks\n";
    assert_eq!(home.run_with(&["chat"], talk, &[]).code, 0);
    for query in ["hello", "ok", "thanks", "poster", "walrus"] {
        let found = home.json(&["memory", "search", query, "--json"]);
        let texts = found["results"].as_array().unwrap().iter();
        let texts: Vec<&str> = texts.map(|one| one["text"].as_str().unwrap()).collect();
        for nod in ["hello", "Hello!", "ok, thanks"] {
            assert!(!texts.contains(&nod), "{query}: {texts:?}");
        }
    }
    let found = home.json(&["memory", "search", "walrus poster", "--json"]);
    assert_eq!(found["results"][0]["text"], "Where is the walrus poster?", "{found}");
}

/// With the real encoder.
#[test]
fn meaning_finds_what_words_do_not() {
    let home = empty();
    with_encoder(&home);
    home.write("workspace/memory/MEMORY.md", many(60) + "- The cat is called Minka.\n");
    let found = home.json(&["memory", "search", "how do we name our kitten", "--json"]);
    assert_eq!(found["results"][0]["text"], "The cat is called Minka.", "{found}");
    assert_eq!(found["how"], "dense");
}

#[test]
fn looking_makes_nothing() {
    let home = empty();
    home.write("workspace/memory/MEMORY.md", "- Bo likes tea.\n");
    let before = home.tree();
    home.ok(&["memory", "list"]);
    home.ok(&["memory", "list", "--as", "group"]);
    home.ok(&["memory", "check"]);
    assert_eq!(home.tree(), before);
}

#[test]
fn check_reports_every_finding_with_its_place() {
    let home = empty();
    let fine = home.run(&["memory", "check"]);
    assert_eq!((fine.code, fine.out.as_str()), (0, ""));
    assert!(fine.err.contains("memory: 0 problems"), "{}", fine.err);
    let key = ["gh", "p_", "a8Kd0Zs7Qm3Xw9Lv2Bn6Tc4Yr1Hj5Gf8Pe0U"].concat();
    home.write("workspace/memory/MEMORY.md", format!("- One.\n- One.\n\n- The key: {key}\n"));
    home.write("workspace/memory/diary.txt", "private");
    home.write("workspace/memory/people/anna.md/x", "a folder in place of a file");
    let run = home.run(&["memory", "check", "--json"]);
    let findings = json(&run.out)["problems"].clone();
    let kinds: Vec<&str> =
        findings.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    for kind in ["repeated", "secret", "nobodys", "unreadable"] {
        assert!(kinds.contains(&kind), "{kind}: {findings}");
    }
    let secret = findings.as_array().unwrap().iter().find(|one| one["kind"] == "secret").unwrap();
    assert_eq!(secret["line"], 4);
    assert!(!run.out.contains(&key), "{}", run.out);
    let has_errors = findings.as_array().unwrap().iter().any(|one| one["severity"] == "error");
    assert_eq!(run.code, i32::from(has_errors));
    assert!(has_errors, "a file that can't be read is an error: {findings}");
    let drawn = home.run(&["memory", "check"]);
    assert_eq!(drawn.out.lines().count(), kinds.len(), "{}", drawn.out);
    assert!(drawn.out.contains("MEMORY.md:4: "), "{}", drawn.out);
}
