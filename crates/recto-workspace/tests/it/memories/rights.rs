//! Who sees what, and when it is read again.

use super::*;

const FILES: [(&str, &str); 9] = [
    (MEMORY, "## 2026-03-01\n- private\n- [shared] public\n"),
    ("workspace/memory/2026-03-02.md", "- note\n- [Shared] public note\n"),
    ("workspace/memory/2026-01-02.md", "- old note\n"),
    ("workspace/memory/people/anna.md", "- anna's\n"),
    ("workspace/memory/people/bert.md", "- [shared] bert's\n"),
    ("workspace/memory/conversations/telegram-4711.md", "- said there\n"),
    ("workspace/memory/conversations/telegram-4712.md", "- said elsewhere\n"),
    ("workspace/agents/ops/memory.md", "- agent's\n- [shared] agent's public\n"),
    ("workspace/agents/other/memory.md", "- [shared] other agent's\n"),
];

/// Promise: `private-memory-stays-private`
#[tokio::test]
async fn each_audience_sees_its_own() {
    let home = WorkspaceHome::with(&FILES);
    let files = home.memories();
    let seen = async |who| {
        let view = files.read(&audience(who), Horizon::Recent(date(2026, 3, 5))).await;
        let mut texts: Vec<String> = texts(&view).into_iter().map(str::to_owned).collect();
        texts.sort_unstable();
        texts.join(", ")
    };
    assert_eq!(
        seen(AudienceKind::Owner).await,
        "agent's, agent's public, anna's, note, private, public, public note, said there"
    );
    assert_eq!(
        seen(AudienceKind::Guest).await,
        "agent's public, anna's, public, public note, said there"
    );
    assert_eq!(seen(AudienceKind::Group).await, "agent's public, public, public note, said there");
    assert_eq!(seen(AudienceKind::SubAgent).await, "agent's, agent's public");
    let nobody = Audience { person: None, conversation: None, agent: None, ..owner() };
    let view = files.read(&nobody, Horizon::All).await;
    assert_eq!(texts(&view), ["public note", "note", "public", "private", "old note"]);
    assert_eq!(view.everything.len(), 9, "an index holds all that was read");
    assert!(view.everything.iter().all(|memory| !memory.text.contains("bert")));
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_told_to_those_whose_it_is() {
    let home = WorkspaceHome::with(&[
        (MEMORY, "- a\n- a\n- [shared] public\n"),
        ("workspace/memory/2026-03-02.md", "\0"),
        ("workspace/memory/conversations/telegram-4711.md", "\0"),
    ]);
    let files = home.memories();
    for (who, count) in [
        (AudienceKind::Owner, 3),
        (AudienceKind::Guest, 1),
        (AudienceKind::Group, 1),
        (AudienceKind::SubAgent, 0),
    ] {
        let view = files.read(&audience(who), Horizon::All).await;
        assert_eq!(view.problems.len(), count, "{who:?}: {:?}", problems(&home, &view));
    }
}

#[tokio::test]
async fn notes_count_for_thirty_days() {
    let home = WorkspaceHome::with(&FILES);
    let files = home.memories();
    let has_note =
        async |today| texts(&*files.read(&owner(), Horizon::Recent(today)).await).contains(&"note");
    assert!(has_note(date(2026, 2, 1)).await, "a note of a day to come");
    assert!(has_note(date(2026, 3, 2)).await);
    assert!(has_note(date(2026, 4, 1)).await);
    assert!(!has_note(date(2026, 4, 2)).await);
}

#[tokio::test]
async fn the_view_stays_the_same_until_something_is_new() {
    let home = WorkspaceHome::with(&FILES);
    let files = home.memories();
    let horizon = Horizon::Recent(date(2026, 3, 5));
    let first = files.read(&owner(), horizon).await;
    assert!(Arc::ptr_eq(&first, &files.clone().read(&owner(), horizon).await));
    home.write("workspace/memory/people/bert.md", "- not hers to see\n");
    assert!(Arc::ptr_eq(&first, &files.read(&owner(), horizon).await));

    home.write("workspace/memory/2026-03-04.md", "- new note\n");
    let second = files.read(&owner(), horizon).await;
    assert_eq!(texts(&second)[0], "new note");
    home.write("workspace/memory/2026-03-04.md", "- new text\n");
    let third = files.read(&owner(), horizon).await;
    assert_eq!(texts(&third)[0], "new text", "of the same length, a moment later");
    fs::remove_file(home.path("workspace/memory/2026-03-04.md")).unwrap();
    let fourth = files.read(&owner(), horizon).await;
    assert_eq!(texts(&fourth), texts(&first));
    assert!(fourth.everything.iter().all(|memory| &*memory.text != "new text"));
    files.add(new("added", MemoryScope::Global)).await.unwrap();
    assert!(texts(&*files.read(&owner(), horizon).await).contains(&"added"));
}

#[tokio::test]
async fn memories_know_where_they_are_from() {
    let home = WorkspaceHome::with(&[(
        "workspace/memory/people/anna.md",
        "## 2026-03-01\n- [important] Tea. (added at 2026-03-02T00:30:00+02:00)\n- Rain.\n",
    )]);
    let view = home.recall().await;
    let [tea, rain] = &*view.memories else { panic!("{view:?}") };
    assert!(tea.name.starts_with("people/anna.md#") && tea.name.len() == 23, "{}", tea.name);
    assert_eq!(&*tea.lead, "- [2026-03-02] ");
    assert_eq!(tea.added, Some(1_772_404_200));
    assert_eq!(tea.scope, MemoryScope::Person("anna".into()));
    assert_eq!(tea.marks, MemoryMarks { important: true, shared: false });
    assert_eq!(home.shorten(&tea.source.to_string()), "workspace/memory/people/anna.md");
    assert_eq!((&*rain.text, rain.added), ("Rain.", Some(1_772_323_200)));
}

#[tokio::test]
async fn reading_writes_nothing() {
    let home = WorkspaceHome::with(&FILES);
    let before = crate::tree(home.folder.path());
    home.recall().await;
    home.memories().check().await;
    assert_eq!(crate::tree(home.folder.path()), before);
}
