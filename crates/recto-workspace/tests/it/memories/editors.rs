//! What becomes of an addition when an editor saves what it had read before.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::*;

/// Saves as most editors do: a new file in the place of the old one.
fn save(home: &WorkspaceHome, content: &str) {
    home.write("workspace/memory/.saving", content);
    fs::rename(home.path("workspace/memory/.saving"), home.path(MEMORY)).unwrap();
}

/// As if the file had been saved that much later.
fn save_later(home: &WorkspaceHome, content: &str, later: Duration) {
    save(home, content);
    let file = File::options().write(true).open(home.path(MEMORY)).unwrap();
    file.set_modified(SystemTime::now() + later).unwrap();
}

const OLD: &str = "- old\n";

#[tokio::test]
async fn an_addition_that_was_written_over_comes_back() {
    for in_place in [false, true] {
        let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
        home.remember("added\nin two lines").await.unwrap();
        if in_place {
            home.write(MEMORY, "- old\n- the editor's\n");
        } else {
            save(&home, "- old\n- the editor's\n");
        }
        let mut seen = texts(&*home.recall().await).join(", ");
        assert_eq!(seen, "added\nin two lines, the editor's, old", "a reader brings it back");
        save(&home, "- old\n- the editor's\n");
        home.remember("another").await.unwrap();
        seen = texts(&*home.recall().await).join(", ");
        assert_eq!(seen, "another, added\nin two lines, the editor's, old", "and a writer");
        let content = home.content(MEMORY);
        assert!(content.starts_with("- old\n- the editor's\n\n## 2026-03-01\n- added"));
        assert_eq!(content.matches("added\\").count(), 1);
    }
}

#[tokio::test]
async fn what_is_taken_out_later_stays_out() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    home.remember("added").await.unwrap();
    save_later(&home, OLD, Duration::from_secs(6));
    assert_eq!(texts(&*home.recall().await), ["old"]);
    home.remember("another").await.unwrap();
    assert_eq!(texts(&*home.recall().await), ["another", "old"]);
}

#[tokio::test]
async fn a_save_that_only_reformats_doubles_nothing() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    home.remember("added to it").await.unwrap();
    save(&home, "* old\r\n* added\r\n  to it\r\n");
    home.remember("another").await.unwrap();
    assert_eq!(texts(&*home.recall().await), ["another", "added to it", "old"]);
    assert_eq!(home.content(MEMORY).matches("added\r\n").count(), 1);
    assert_eq!(home.content(MEMORY).matches("to it").count(), 1);
}

/// As it is when an editor was held up in the middle of a save in place.
#[tokio::test]
async fn an_addition_that_is_there_twice_is_cut() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    home.remember("first").await.unwrap();
    home.remember("second\nof two lines").await.unwrap();
    let content = home.content(MEMORY);
    save(&home, &format!("{content}- the editor's\n{content}"));
    home.recall().await;
    let heading = "- old\n\n## 2026-03-01\n";
    assert_eq!(home.content(MEMORY), format!("{content}- the editor's\n{heading}"));
}

#[tokio::test]
async fn an_addition_whose_process_was_killed_is_finished() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    home.remember("first").await.unwrap();
    let before = home.content(MEMORY);
    // As it is after the note and before the line.
    home.remember("second").await.unwrap();
    let journal = home.content("workspace/memory/.journal");
    home.write(MEMORY, &before);
    let note = journal.lines().last().unwrap();
    home.write("workspace/memory/.journal", format!("{journal}\n{{\"torn\n{note}"));
    assert!(texts(&*home.recall().await).contains(&"second"));
    assert_eq!(home.content(MEMORY).matches("second").count(), 1);
}

#[tokio::test]
async fn what_was_forgotten_or_edited_is_not_put_back() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    let files = home.memories();
    let first = files.add(new("first", MemoryScope::Global)).await.unwrap().memory;
    let second = files.add(new("second", MemoryScope::Global)).await.unwrap().memory;
    files.forget(&first.name, &owner()).await.unwrap();
    files.edit(&second.name, Some("changed"), |marks| marks, &owner()).await.unwrap();
    let content = home.content(MEMORY);
    save(&home, &format!("{content}- more\n"));
    assert_eq!(texts(&*files.read(&owner(), Horizon::All).await), ["changed", "more", "old"]);
}

#[tokio::test]
async fn an_edited_addition_that_was_written_over_comes_back() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    let files = home.memories();
    let added = files.add(new("added", MemoryScope::Global)).await.unwrap().memory;
    files.edit(&added.name, Some("changed"), |marks| marks, &owner()).await.unwrap();
    save(&home, OLD);
    assert_eq!(texts(&*home.recall().await), ["changed", "old"]);
}

#[tokio::test]
async fn an_edit_that_was_written_over_comes_back() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    files.edit(&view.memories[0].name, Some("changed"), |marks| marks, &owner()).await.unwrap();
    assert_eq!(texts(&*home.recall().await), ["changed"]);
    save(&home, OLD);
    // What the editor had in it stays, too: nobody else can say which of them holds.
    let view = home.recall().await;
    let mut found = texts(&view);
    found.sort_unstable();
    assert_eq!(found, ["changed", "old"]);
}

#[tokio::test]
async fn entries_that_only_look_like_an_edited_one_stay() {
    let content = "## 2026-01-01\n- paid rent\n## 2026-02-01\n- paid rent\n\
                   - Groceries\n  - milk\n- Breakfast\n  - milk\n- tee\n";
    let home = WorkspaceHome::with(&[(MEMORY, content)]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    let name = |text: &str| {
        view.memories.iter().find(|memory| memory.text.as_str() == text).unwrap().name.clone()
    };
    let important = |_| MemoryMarks { important: true, shared: false };
    files.edit(&name("paid rent"), None, important, &owner()).await.unwrap();
    files.edit(&name("tee"), Some("milk"), |marks| marks, &owner()).await.unwrap();
    home.recall().await;
    assert_eq!(
        home.content(MEMORY),
        content.replace("paid", "[important] paid").replace("- tee", "- milk")
    );
}

// What was taken back from others stays so.
#[tokio::test]
async fn an_editor_does_not_share_again_what_was_just_made_private() {
    let shared = "- [shared] the code\n";
    let home = WorkspaceHome::with(&[(MEMORY, shared)]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    let private = |_| MemoryMarks::default();
    files.edit(&view.memories[0].name, None, private, &owner()).await.unwrap();
    save(&home, shared);
    assert!(home.recall().await.memories.iter().all(|memory| !memory.marks.shared));
    // Whoever shares it on purpose does.
    let again = |_| MemoryMarks { shared: true, important: false };
    files.edit(&view.memories[0].name, None, again, &owner()).await.unwrap();
    home.recall().await;
    assert!(home.recall().await.memories.iter().all(|memory| memory.marks.shared));
}

#[tokio::test]
async fn an_edit_of_what_is_gone_leaves_the_journal_alone() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    let files = home.memories();
    let added = files.add(new("added", MemoryScope::Global)).await.unwrap().memory;
    let journal = home.content("workspace/memory/.journal");
    let edited = files.edit("MEMORY.md#00000000", Some("changed"), |marks| marks, &owner()).await;
    assert!(matches!(edited, Err(MemoryError::Unknown { .. })));
    assert_eq!(home.content("workspace/memory/.journal"), journal);
    files.forget(&added.name, &owner()).await.unwrap();
    assert_eq!(home.content("workspace/memory/.journal"), "");
}

/// Takes as long as an addition is looked after.
#[tokio::test]
async fn additions_are_looked_after_until_nothing_is_noted() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    let files = home.memories();
    files.add(new("first", MemoryScope::Global)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    files.add(new("second", MemoryScope::Global)).await.unwrap();
    let lock = File::options().write(true).open(home.path("workspace/memory/.lock")).unwrap();
    lock.lock().unwrap();
    // The first look finds the lock taken, and the second comes too early for the second.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    drop(lock);
    while fs::metadata(home.path("workspace/memory/.journal")).unwrap().len() > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(home.content(MEMORY).matches("(added at").count(), 2);
}

#[tokio::test]
async fn a_lock_that_another_holds_is_waited_for() {
    let home = WorkspaceHome::with(&[(MEMORY, OLD)]);
    home.remember("first").await.unwrap();
    let lock = File::options().write(true).open(home.path("workspace/memory/.lock")).unwrap();
    lock.lock().unwrap();
    let files = home.memories();
    let add = tokio::spawn(async move { files.add(new("second", MemoryScope::Global)).await });
    assert_eq!(texts(&*home.recall().await), ["first", "old"], "reading waits for nobody");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!add.is_finished());
    drop(lock);
    add.await.unwrap().unwrap();
    assert_eq!(texts(&*home.recall().await), ["second", "first", "old"]);
}
