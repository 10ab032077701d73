//! The pages of the web that show what was sent, and what the agent has: got from the real
//! `recto serve` as a browser without scripts gets them.

mod client;
mod columns;
mod truth;

use std::fs;

use client::{WebServer, text_of};

use crate::support::*;

const RULE: &str = "---\nname: tone\ndescription: How to sound.\npriority: 7\ninclude: always\n---\n\
                    Be brief and kind.\n";

fn home(lines: &[&str]) -> Home {
    let home = Home::scripted(lines);
    home.write("workspace/SOUL.md", "You keep a lighthouse.\n");
    home.write("workspace/rules/tone.md", RULE);
    home.write("workspace/rules/lamps.md", "---\nname: lamps\n---\nTrim the wicks at dusk.\n");
    home
}

fn say(home: &Home, words: &str) {
    home.ok(&["chat", "-m", words]);
}

#[test]
fn view_context_shows_items_layers_text_and_source() {
    let home = home(&[r#"{"content": "Aye."}"#, r#"{"content": "Aye again."}"#]);
    say(&home, "hello there");
    say(&home, "and once more");
    let server = home.serve_pages();
    let page = server.page("/turns/2");
    let text = text_of(&page);
    assert!(text.contains("007 • tone"), "{text}");
    assert!(text.contains("[Always]") && text.contains("How to sound."), "{text}");
    assert!(text.contains("Be brief and kind.") && text.contains("and once more"), "{text}");
    assert!(text.contains("Against turn 1") && text.contains("rule lamps (manual)"), "{text}");
    // The way to the file, and the lines that were sent of it.
    let href = page.split("href=\"/files?").find(|rest| rest.contains("tone.md&amp;turn=2"));
    let href = href.and_then(|rest| rest.split(['"', '#']).next()).unwrap().replace("&amp;", "&");
    let file = server.page(&format!("/files?{href}"));
    assert!(file.contains("id=\"part\" class=\"hit\""), "{file}");
    assert!(text_of(&file).contains("Marked: lines 7 to 7"), "{}", text_of(&file));
    // The dialog has the same, with ids of its own.
    let fragment = server.page("/turns/2?fragment=1");
    assert!(!fragment.contains("<html") && fragment.contains("id=\"v-system\""), "{fragment}");
    let whole = text_of(&page);
    assert!(whole.contains(&text_of(&fragment)), "{whole}");
}

/// Promise: `view-context-as-designed`
#[test]
fn view_context_tells_the_mode_the_window_the_cache_and_each_request() {
    let calling = r#"{"content": "I look.", "usage": {"prompt": 400, "cached": 100},
                      "tool_calls": [{"name": "list_files", "arguments": {}}]}"#;
    let done = r#"{"content": "Done.", "usage": {"prompt": 500, "cached": 380}}"#;
    let home = home(&[&calling.replace('\n', ""), done]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}context_mode = \"auto\"\n"));
    home.write("workspace/rules/lamps.md", "---\ninclude: agent\n---\nTrim the wicks at dusk.\n");
    say(&home, "ok, edit config.json");
    let server = home.serve_pages();
    let page = server.page("/turns/1");
    let text = text_of(&page);
    for words in [
        "Mode minimal a file name is in the message (config.json); the model is set to auto",
        "Window 16,384 tokens set in the config",
        "Search did not take 1 item",
        "rule lamps",
    ] {
        assert!(text_of(&page.replace('<', " <")).contains(words), "{words}\n{text}");
    }
    // What the server had before stands apart, in the layers and in their bar.
    let shown = |page: &str| text_of(page.split("class=\"sum\"").nth(1).unwrap());
    assert!(
        page.contains("<rect class=\"cached\"") && shown(&page).contains(" cached, "),
        "{page}"
    );
    // The later request is there first, and the first one a step away.
    let is_current = |page: &str, request: u32| {
        page.contains(&format!("?request={request}\" data-into-dialog aria-current=\"true\""))
    };
    assert!(is_current(&page, 2), "{page}");
    let first = server.page("/turns/1?request=1");
    assert!(is_current(&first, 1) && shown(&first) != shown(&page), "{first}");
}

#[test]
fn what_was_sent_can_be_verified_downloaded_and_replayed() {
    let home = home(&[r#"{"content": "Aye & <b>again</b>."}"#]);
    say(&home, "hello there");
    let server = home.serve_pages();
    let body = home.ok(&["show", "1", "--body"]);
    let answer = server.get("/turns/1/body");
    assert_eq!(answer.body, body);
    assert!(answer.head.to_lowercase().contains("content-disposition: attachment"));
    let verified = text_of(&server.page("/turns/1?verify=1")).replace(',', "");
    let words = format!("rebuilt from the record: identical to the {} bytes sent", body.len());
    assert!(verified.contains(&words), "{verified}");
    let record = server.get("/turns/1/record").body;
    assert_eq!(json(&record), json(&home.ok(&["show", "1", "--json"])));
    let fields = [("request", "1"), ("model", "m")];
    let replayed = server.submit("/turns/1", "/turns/1/replay", &fields);
    assert_eq!(replayed.status, 200, "{}", replayed.body);
    assert!(replayed.body.contains("Aye &amp; &lt;b&gt;again&lt;/b&gt;."), "{}", replayed.body);
    assert!(replayed.body.trim_end().ends_with("</html>"));
}

#[test]
fn a_diff_is_told_in_the_words_of_the_terminal() {
    let home = home(&[r#"{"content": "Aye."}"#, r#"{"content": "Aye again."}"#]);
    say(&home, "hello there");
    home.write("workspace/rules/tone.md", RULE.replace("kind", "curt"));
    say(&home, "and once more");
    let server = home.serve_pages();
    let told = text_of(&server.page("/turns/2/diff"));
    let drawn = home.ok(&["diff", "2"]);
    for words in ["a workspace file or item changed", "items", "rule tone"] {
        assert!(told.contains(words) && drawn.contains(words), "{words}\n{told}\n{drawn}");
    }
    assert_eq!(server.get("/turns/2/diff?with=2").status, 400);
    assert_eq!(server.get("/turns/99/diff").status, 404);
}

/// Promise: `include-switches-hold-at-once`
#[test]
fn an_include_mode_that_is_switched_on_the_page_holds_in_the_next_turn() {
    let home = home(&[
        r#"{"content": "Aye."}"#,
        r#"{"content": "Aye again."}"#,
        r#"{"content": "Thrice."}"#,
    ]);
    say(&home, "hello there");
    let server = home.serve_pages();
    assert!(!text_of(&server.page("/turns/1")).contains("Trim the wicks at dusk."));
    let fields = [("agent", "main"), ("kind", "rule"), ("name", "lamps"), ("include", "always")];
    let done = server.submit("/workspace", "/workspace/include", &fields);
    assert_eq!(done.status, 303, "{}", done.body);
    let page = server.page("/workspace");
    let row = page.split("<tr").find(|row| row.contains(">lamps<")).unwrap();
    assert!(row.contains("value=\"always\" aria-pressed=\"true\""), "{row}");
    assert!(fs::read_to_string(home.path("config.toml")).unwrap().contains("[items.rule.lamps]"));
    // The running agent has it, without another start.
    talk(&server, "and now", 2);
    let text = text_of(&server.page("/turns/2"));
    assert!(text.contains("lamps") && text.contains("Trim the wicks at dusk."), "{text}");
    // A built-in tool goes the same way.
    let fields =
        [("agent", "main"), ("kind", "tool"), ("name", "read_file"), ("include", "manual")];
    assert_eq!(server.submit("/workspace", "/workspace/include", &fields).status, 303);
    let row = server.page("/workspace");
    let row = row.split("<tr").find(|row| row.contains(">read_file<")).unwrap().to_owned();
    assert!(row.contains("value=\"manual\" aria-pressed=\"true\""), "{row}");
    let unknown = [("agent", "main"), ("kind", "rule"), ("name", "lamp"), ("include", "always")];
    let refused = server.submit("/workspace", "/workspace/include", &unknown);
    assert_eq!(refused.status, 409);
    assert!(text_of(&refused.body).contains("did you mean"), "{}", refused.body);
    assert!(refused.body.contains("<code>lamps</code>"), "{}", refused.body);
}

/// Says something in the first session through the server, and waits until turn `turn` is answered.
fn talk(server: &WebServer, words: &str, turn: u32) {
    let body = format!("{{\"text\": \"{words}\"}}");
    let sent = server.post_json("/api/sessions/1/messages", &body);
    assert_eq!(sent.status, 202, "{}", sent.body);
    for _ in 0..600 {
        if server.get(&format!("/turns/{turn}")).body.contains("first token after") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no answer came");
}

#[test]
fn what_would_fit_is_shown_with_its_scores() {
    let home = home(&[]);
    home.write(
        "config.toml",
        fs::read_to_string(home.path("config.toml")).unwrap()
            + "[items.rule.lamps]\ninclude = \"agent\"\n",
    );
    let server = home.serve_pages();
    let text = text_of(&server.page("/workspace?message=when+do+I+trim+the+wicks"));
    let found = json(&home.ok(&["search", "when do I trim the wicks", "--json"]));
    let probability = found["results"][0]["probability"].as_f64().unwrap();
    assert_eq!(found["results"][0]["name"], "lamps");
    assert!(text.contains("500 • lamps [Agent]"), "{text}");
    assert!(text.contains(&format!("{probability:.2}")), "{probability} {text}");
    // What stands there anyway is told apart, and not among what fits.
    home.ok(&["memory", "add", "The harbour master is called Mara"]);
    let page = server.page("/workspace?message=how+brief+is+Mara");
    let text = text_of(&page);
    assert!(text.contains("tone [Always] on every page"), "{text}");
    assert_eq!(page.matches("aria-label=\"on every page\"").count(), 2, "{text}");
    let fitting = page.split_once("</table>").map_or(&*page, |(fitting, _)| fitting);
    assert!(!fitting.contains("tone"), "{text}");
}

#[test]
fn the_page_of_a_new_session_is_that_of_the_agent_that_was_chosen() {
    let home = home(&[]);
    let agents =
        "[agents.main]\nmodel = \"m\"\n[agents.work]\nworkspace = \"work\"\nmodel = \"m\"\n";
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", config + agents);
    home.write("work/rules/stamps.md", "---\ninclude: always\n---\nStamp twice.\n");
    let server = home.serve_pages();
    let work = server.page("/new?agent=work");
    for part in ["Talk to work", "href=\"/workspace?agent=work\"", "name=\"agent\" value=\"work\""]
    {
        assert!(work.contains(part), "{part}: {work}");
    }
    let named = server.page("/completions?agent=work");
    assert!(named.contains("@rule:stamps") && !named.contains("lamps"), "{named}");
    let main = server.page("/new");
    assert!(main.contains("Talk to main") && main.contains("href=\"/workspace\""), "{main}");
    assert_eq!(server.get("/new?agent=nobody").status, 404);
}

#[test]
fn memories_are_added_changed_forgotten_and_brought_back() {
    let home = home(&[]);
    let server = home.serve_pages();
    let add = [("agent", "main"), ("text", "Mara keeps bees"), ("important", "yes")];
    assert_eq!(server.submit("/memories", "/memories/add", &add).status, 303);
    let memory = || json(&home.ok(&["memory", "list", "--json"]))["memories"][0].clone();
    assert_eq!(
        (&memory()["text"], &memory()["important"]),
        (&"Mara keeps bees".into(), &true.into())
    );
    let name = memory()["name"].as_str().unwrap().to_owned();
    let edit =
        [("agent", "main"), ("name", &*name), ("text", "Mara keeps goats"), ("shared", "yes")];
    assert_eq!(server.submit("/memories", "/memories/edit", &edit).status, 303);
    assert_eq!(memory()["text"], "Mara keeps goats");
    assert_eq!((&memory()["important"], &memory()["shared"]), (&false.into(), &true.into()));
    let name = memory()["name"].as_str().unwrap().to_owned();
    let named = [("agent", "main"), ("name", &*name)];
    assert_eq!(server.submit("/memories", "/memories/forget", &named).status, 303);
    assert!(memory().is_null());
    assert!(server.page("/memories").contains("1 forgotten"));
    assert_eq!(server.submit("/memories", "/memories/restore", &named).status, 303);
    assert_eq!(memory()["text"], "Mara keeps goats");
    let secret =
        [("agent", "main"), ("text", "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")];
    let refused = server.submit("/memories", "/memories/add", &secret);
    assert!(refused.status >= 400, "{}", refused.body);
}

/// Promise: `pages-show-no-other-files`
#[test]
fn no_file_but_the_agents_own_can_be_looked_at() {
    let home = home(&[]);
    home.write("secret.txt", "hands off");
    let server = home.serve_pages();
    let own = home.path("workspace/rules/tone.md");
    let file = |path: &str| server.get(&format!("/files?agent=main&path={path}"));
    assert_eq!(file(own.to_str().unwrap()).status, 200);
    let inside = home.path("workspace/rules/../../secret.txt");
    for path in ["/etc/passwd", "secret.txt", inside.to_str().unwrap(), "", "../config.toml"] {
        let answer = file(path);
        assert!(
            !answer.body.contains("hands off") && answer.status == 404,
            "{path}: {}",
            answer.body
        );
    }
    assert_eq!(file(home.path("config.toml").to_str().unwrap()).status, 404);
    assert_eq!(server.get("/files?agent=other&path=/etc/passwd").status, 404);
}

/// Promise: `page-text-stays-text`
#[test]
fn names_and_texts_never_become_markup() {
    let home = home(&[r#"{"content": "<script>alert('reply')</script>"}"#]);
    let evil = "<img src=x onerror=alert(1)>";
    home.write(
        "workspace/rules/evil.md",
        format!("---\nname: \"{evil}\"\ndescription: \"{evil}\"\ninclude: always\n---\n{evil}\n"),
    );
    home.write(
        "workspace/skills/evil/SKILL.md",
        format!("---\nname: \"{evil}\"\ndescription: \"{evil}\"\n---\n{evil}\n"),
    );
    home.ok(&["memory", "add", evil]);
    say(&home, evil);
    let server = home.serve_pages();
    let pages = [
        "/turns/1",
        "/turns/1?fragment=1",
        "/workspace",
        "/workspace?message=%3Cimg%20src=x%20onerror=alert(1)%3E",
        "/memories",
        "/sessions/1/chart",
    ];
    for path in pages {
        let page = server.page(path);
        assert!(!page.contains("<img"), "{path}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{path}");
    }
    assert!(server.page("/turns/1").contains("&lt;img src=x onerror=alert(1)&gt;"));
}

/// Promise: `page-text-stays-text`
#[test]
fn a_name_that_a_file_has_of_itself_never_becomes_markup() {
    let home = home(&[r#"{"content": "Aye."}"#]);
    let evil = "<img src=x onerror=alert(1)> \"loud\" 'low'";
    let always = "---\ninclude: always\n---\nText.\n";
    for file in [
        format!("rules/{evil}.md"),
        format!("references/{evil}.md"),
        format!("skills/{evil}/SKILL.md"),
    ] {
        home.write(&format!("workspace/{file}"), always);
    }
    home.write(&format!("workspace/rules/manual {evil}.md"), "Text.\n");
    home.write(&format!("workspace/rules/broken {evil}.md"), "---\ndescription: [\n---\nText.\n");
    say(&home, "hello");
    let server = home.serve_pages();
    let context = server.page("/turns/1");
    // In its column, as a file, among what was sent, and among what was left out.
    let text = text_of(&context);
    for words in [
        format!("500 • {evil}"),
        format!("rules/{evil}.md: always included"),
        format!("{evil} [Always]rules/{evil}.md"),
        format!("rules/broken {evil}.mdfileline 2"),
        format!("rule manual {evil} (manual)"),
    ] {
        assert!(text.contains(&words), "{words}\n{text}");
    }
    let files = context.split("<p class=\"from\"><a href=\"").skip(1);
    let mut files = files.map(|rest| rest.split(['"', '#']).next().unwrap());
    let file = files.find(|href| href.contains("onerror")).unwrap().replace("&amp;", "&");
    for path in ["/turns/1", "/turns/1?fragment=1", "/workspace", "/sessions/1", &file] {
        let page = server.page(path);
        assert!(
            page.contains("&lt;img src=x onerror=alert(1)&gt; &quot;loud&quot;"),
            "{path}: {page}"
        );
        assert!(!page.contains("<img") && !page.contains("\"loud\""), "{path}: {page}");
    }
}

#[test]
fn a_chart_of_the_session_has_a_bar_for_each_turn() {
    let home = home(&[r#"{"content": "a"}"#, r#"{"content": "b"}"#, r#"{"content": "c"}"#]);
    for words in ["one", "two", "three"] {
        say(&home, words);
    }
    let server = home.serve_pages();
    let page = server.page("/sessions/1/chart");
    assert_eq!(page.matches("class=\"solid\" x=").count(), 3, "{page}");
    let fragment = server.page("/sessions/1/chart?fragment=1");
    assert!(fragment.starts_with("<div class=\"size\"") && page.contains(&fragment));
    assert_eq!(server.get("/sessions/9/chart").status, 404);
}

/// Promise: `view-context-as-designed`
#[test]
fn a_turn_that_sent_nothing_says_so_and_leads_to_one_that_did() {
    let home = home(&[r#"{"content": "a"}"#]);
    say(&home, "hello");
    let too_long = "tide ".repeat(40_000);
    let run = home.run_with(&["chat", "-m", "-"], &too_long, &[]);
    assert_ne!(run.code, 0, "{}", run.out);
    let server = home.serve_pages();
    let page = server.page("/turns/2");
    let text = text_of(&page);
    assert!(text.contains("Nothing was sent") && text.contains("turn 2 sent nothing"), "{text}");
    assert!(text.contains("Turn 1 is the last that sent something."), "{text}");
    assert!(page.contains("<a href=\"/turns/1\">Turn 1</a>"), "{page}");
    // It can't be looked into from the conversation either: there is nothing to see.
    assert_eq!(server.page("/sessions/1").matches("class=\"view-context\"").count(), 1);
}

#[test]
fn a_turn_or_a_request_that_is_not_there_is_not_found() {
    let home = home(&[r#"{"content": "a"}"#]);
    say(&home, "hello");
    let server = home.serve_pages();
    assert_eq!(server.get("/turns/2").status, 404);
    assert_eq!(server.get("/turns/x").status, 404);
    assert_eq!(server.get("/turns/1?request=9").status, 404);
    assert!(text_of(&server.page("/models")).contains("State of the setup"));
}

#[test]
fn the_panel_tells_the_settings_that_are_in_force() {
    let home = home(&[r#"{"content": "a"}"#]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    say(&home, "hello");
    let server = home.serve_pages();
    let is_minimal = |page: &str| {
        page.contains("minimal (the model&#39;s entry)")
            || page.contains("minimal (the model's entry)")
    };
    assert!(!is_minimal(&server.page("/sessions/1")));
    home.write("config.toml", format!("{config}context_mode = \"minimal\"\n"));
    assert!(!is_minimal(&server.page("/sessions/1")), "it holds from the next start on");
    drop(server);
    assert!(is_minimal(&home.serve_pages().page("/sessions/1")));
}
