//! The columns of *View context*, in the order and the words in which people look for items.

use super::client::text_of;
use crate::support::*;

/// The column of that title.
fn column<'a>(page: &'a str, title: &str) -> &'a str {
    let start = format!("<section class=\"kind\"><h3>{title} ");
    let column = page.split(&start).nth(1).unwrap_or_else(|| panic!("{title}: {page}"));
    column.split("</section>").next().unwrap()
}

/// What a column shows of each of its items at first sight: `003 • File Operations [Agent - 0.87]`.
fn rows(column: &str) -> Vec<String> {
    let rows = column.split("<li class=\"item\"").skip(1);
    let shown = rows.map(|row| {
        let mut pieces = row.split("<span role=\"tooltip\"");
        let first = format!("<li{}", pieces.next().unwrap());
        let others = pieces.map(|piece| piece.split_once("</span>").unwrap().1);
        let text = text_of(&others.fold(first, |text, piece| text + piece));
        text.split_inclusive(']').next().unwrap().to_owned()
    });
    shown.collect()
}

fn rule(home: &Home, file: &str, head: &str, text: &str) {
    home.write(&format!("workspace/rules/{file}.md"), format!("---\n{head}\n---\n{text}\n"));
}

/// Two servers, some of whose tools are in every session, and a rule that search brings.
fn home_with_servers() -> Home {
    let home = Home::scripted(&[r#"{"content": "Aye."}"#]);
    with_encoder(&home);
    let program = env!("CARGO_BIN_EXE_recto");
    let folder = home.path("").display().to_string();
    let mut config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    for server in ["zeta", "alpha"] {
        config += &format!(
            "[mcp.{server}]\ncommand = '{program}'\n\
             args = ['--home', '{folder}', 'mcp', 'serve']\ninclude = 'manual'\n"
        );
    }
    for tool in ["zeta.search", "alpha.show", "alpha.search"] {
        config += &format!("[items.tool.\"{tool}\"]\ninclude = 'always'\n");
    }
    home.write("config.toml", config);
    home.ok(&["mcp", "check"]);
    let invoices = "name: invoices\ndescription: How invoices are written\npriority: 5\n\
                    include: agent";
    rule(&home, "5", invoices, "Write and send invoices to customers, with tax.");
    home
}

/// Promise: `view-context-as-designed`
#[test]
fn items_stand_by_priority_and_name_and_tools_by_server() {
    let home = home_with_servers();
    for (file, name, priority) in
        [("1", "zebra", 20), ("2", "late", 900), ("3", "apple", 20), ("4", "first", 3)]
    {
        let head = format!("name: {name}\npriority: {priority}\ninclude: always");
        rule(&home, file, &head, "Be kind.");
    }
    home.ok(&["chat", "-m", "How do I write and send an invoice to a customer?"]);
    let record = json(&home.ok(&["show", "1", "--json"]));
    let items = record["requests"][0]["context"]["items"].as_array().unwrap().clone();
    let found = items.iter().find(|item| item["item"]["name"] == "invoices").unwrap();
    let scores = &found["found"]["scores"];
    let number = |name: &str| format!("{:.2}", scores[name].as_f64().unwrap());
    let [probability, cosine, words] = ["probability", "cosine", "lexical"].map(number);

    let page = home.serve_pages().page("/turns/1");
    let rules = column(&page, "Rules");
    let badge = format!("[Agent - {probability}]");
    let expected = [
        "003 • first [Always]",
        &format!("005 • invoices {badge}"),
        "020 • apple [Always]",
        "020 • zebra [Always]",
        "900 • late [Always]",
    ];
    assert_eq!(rows(rules), expected);
    // What search brought says on what grounds, where the badge is pointed at.
    let grounds =
        format!(">probability {probability}<br>cosine {cosine}, words {words}<br>rank 1 of");
    assert!(rules.contains(&grounds), "{grounds}\n{rules}");
    // Recto's own tools have no server, and stand first.
    let expected = [
        "forget [Always]",
        "list_files [Always]",
        "read_file [Always]",
        "read_item [Always]",
        "recall [Always]",
        "remember [Always]",
        "write_file [Always]",
        "alpha. • search [Always]",
        "alpha. • show [Always]",
        "zeta. • search [Always]",
    ];
    assert_eq!(rows(column(&page, "Tools")), expected);
}

/// Promise: `view-context-as-designed`
#[test]
fn a_column_folds_what_stands_behind_its_twentieth_row() {
    let home = Home::scripted(&[r#"{"content": "Aye."}"#]);
    for number in 1..=23 {
        let head = format!("name: rule {number}\npriority: {number}\ninclude: always");
        rule(&home, &number.to_string(), &head, "Be kind.");
    }
    home.ok(&["chat", "-m", "What is new?"]);
    let page = home.serve_pages().page("/turns/1");
    let rules = column(&page, "Rules");
    let (open, folded) = rules.split_once("<summary>3 more</summary>").unwrap();
    assert_eq!(rows(open).last().unwrap(), "020 • rule 20 [Always]");
    let expected = ["021 • rule 21 [Always]", "022 • rule 22 [Always]", "023 • rule 23 [Always]"];
    assert_eq!(rows(folded), expected);
}

/// Promise: `view-context-as-designed`
#[test]
fn a_column_of_nothing_says_so_and_some_are_left_away() {
    let home = Home::scripted(&[r#"{"content": "Aye."}"#]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let own =
        "'forget', 'list_files', 'read_file', 'read_item', 'recall', 'remember', 'write_file'";
    home.write("config.toml", format!("{config}[tools]\ndisabled = [{own}]\n"));
    home.ok(&["chat", "-m", "What is new?"]);
    let page = home.serve_pages().page("/turns/1");
    for (title, nothing) in [
        ("Rules", "No rule was on the page."),
        ("References", "No reference was on the page."),
        ("Tools", "No tool was offered."),
    ] {
        assert!(column(&page, title).contains(nothing), "{title}: {page}");
    }
    assert!(!page.contains("<h3>Skills") && !page.contains("<h3>Memories"), "{page}");
}
