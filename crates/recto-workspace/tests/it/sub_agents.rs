//! Sub-agents: which folders are some, and what is told of those that can't be used.

use std::fmt::Write as _;

use expect_test::expect;

use crate::WorkspaceHome;

/// The sub-agents of a home, a line each, and what is wrong with its files.
async fn shown(home: &WorkspaceHome) -> String {
    let snapshot = home.read().await;
    let mut out = String::new();
    for agent in &snapshot.sub_agents {
        let texts: Vec<&str> = agent.texts().map(|file| file.text.as_str()).collect();
        let stands = agent.fault.as_deref().unwrap_or("good");
        let _ = writeln!(out, "{} {texts:?}: {stands}", agent.id);
    }
    let folder = home.path("").display().to_string();
    for problem in &snapshot.problems {
        let _ = writeln!(out, "{}", problem.to_string().replace(&folder, ""));
    }
    out
}

#[tokio::test]
async fn a_folder_is_a_sub_agent_by_its_texts_and_a_memory_alone_makes_none() {
    let home = WorkspaceHome::with(&[
        ("workspace/agents/main/memory.md", "- what the agent remembers\n"),
        ("workspace/agents/b/skill.md", " Read.\n"),
        ("workspace/agents/b/memory.md", "- reef\n"),
        ("workspace/agents/a/agent.toml", "description = 'd'\n"),
        ("workspace/agents/a/mood.md", "calm\n"),
        ("workspace/agents/a/soul.md", "soul\n"),
        ("workspace/agents/.hidden/soul.md", "none\n"),
        ("workspace/agents/README.md", "none\n"),
    ]);
    expect![[r#"
        a ["soul", "calm"]: good
        b ["- reef", "Read."]: good
    "#]]
    .assert_eq(&shown(&home).await);
}

#[tokio::test]
async fn what_cannot_be_used_is_told_and_the_rest_goes_on() {
    let home = WorkspaceHome::with(&[
        ("workspace/agents/blank/agent.toml", ""),
        ("workspace/agents/blank/soul.md", " \n"),
        ("workspace/agents/good/soul.md", "good"),
        ("workspace/agents/slip/agent.toml", "tools = 'read_file'\n"),
        ("workspace/agents/slip/soul.md", "slip"),
        ("workspace/agents/two words/soul.md", "x"),
    ]);
    let told = shown(&home).await;
    assert!(told.contains("good [\"good\"]: good\n"), "{told}");
    for words in [
        "blank []: has no text in soul.md, mood.md, memory.md or skill.md",
        "`tools` is string; write a list: tools = [\"read_file\"]",
        "slip [\"slip\"]: its agent.toml can't be used",
        "its folder's name has to be at most 32 letters",
    ] {
        assert!(told.contains(words), "{words}:\n{told}");
    }
}

#[tokio::test]
async fn changed_files_are_read_again() {
    let home = WorkspaceHome::with(&[("workspace/agents/a/soul.md", "one")]);
    assert_eq!(shown(&home).await, "a [\"one\"]: good\n");
    home.write("workspace/agents/a/soul.md", "another");
    home.write("workspace/agents/c/skill.md", "new");
    assert_eq!(shown(&home).await, "a [\"another\"]: good\nc [\"new\"]: good\n");
}
