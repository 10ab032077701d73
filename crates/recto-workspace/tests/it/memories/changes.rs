//! What is written: additions, edits, and what is forgotten. All else stays as it was.

use super::*;

#[tokio::test]
async fn a_memory_is_appended_under_its_day() {
    let home = WorkspaceHome::new();
    let added = home.remember("Likes tea.").await.unwrap();
    assert!(!added.was_there);
    home.remember("[important] Likes\r\n  rain.").await.unwrap();
    let later = NewMemory { at: moment().tomorrow().unwrap(), ..new("Left.", MemoryScope::Global) };
    home.memories().add(later).await.unwrap();
    let content = "\
## 2026-03-01
- Likes tea. (added at 2026-03-01T09:30:00+00:00)
- [important] Likes\\
    rain. (added at 2026-03-01T09:30:00+00:00)

## 2026-03-02
- Left. (added at 2026-03-02T09:30:00+00:00)
";
    assert_eq!(home.content(MEMORY), content);
    let view = home.recall().await;
    assert_eq!(texts(&view), ["Left.", "Likes\n  rain.", "Likes tea."]);
    assert_eq!(view.memories[2], added.memory);
    assert!(view.memories[1].marks.important);
}

#[tokio::test]
async fn each_scope_is_written_to_its_own_file() {
    let home = WorkspaceHome::new();
    let scopes = [
        (MemoryScope::Person("../evil".into()), "workspace/memory/people/%2E.%2Fevil.md"),
        (MemoryScope::Conversation("irc-#a".into()), "workspace/memory/conversations/irc-%23a.md"),
        (MemoryScope::Agent("ops".into()), "workspace/agents/ops/memory.md"),
    ];
    for (scope, path) in scopes {
        home.memories().add(new("a", scope)).await.unwrap();
        assert!(home.content(path).ends_with("- a (added at 2026-03-01T09:30:00+00:00)\n"));
    }
}

#[tokio::test]
async fn what_is_there_is_not_added_again() {
    let home = WorkspaceHome::with(&[(MEMORY, "* Likes\n  tea.\n")]);
    let first = home.remember("Likes tea.").await.unwrap();
    let again = home.remember(" [shared] Likes tea.\n").await.unwrap();
    assert!(first.was_there, "however it is wrapped");
    assert!(again.was_there && again.memory.name == first.memory.name);
    let other = home.memories().add(new("Likes tea.", MemoryScope::Person("anna".into()))).await;
    assert!(!other.unwrap().was_there, "another file is another memory");
    assert_eq!(home.content(MEMORY).matches("tea.").count(), 1);
    assert_eq!(texts(&*home.recall().await).len(), 2);
}

#[tokio::test]
async fn new_marks_come_to_what_is_there() {
    let book = "Loose\r\n\r\n* [important]  Likes tea. (added at 2026-01-01)\r\n- Rain";
    let home = WorkspaceHome::with(&[(MEMORY, book)]);
    let shared = MemoryMarks { shared: true, important: false };
    for text in ["Likes tea.", "Loose", "Rain"] {
        let again = NewMemory { marks: shared, ..new(text, MemoryScope::Global) };
        for _ in 0..2 {
            let added = home.memories().add(again.clone()).await.unwrap();
            assert!(added.was_there && added.memory.marks.shared);
            assert_eq!(added.memory.marks.important, text == "Likes tea.");
        }
    }
    let marked = "[shared] Loose\r\n\r\n* [shared] [important]  Likes tea. \
        (added at 2026-01-01)\r\n- [shared] Rain";
    assert_eq!(home.content(MEMORY), marked);
}

#[tokio::test]
async fn marks_in_a_text_can_be_without_effect() {
    let home = WorkspaceHome::new();
    let text = "\u{1b}[\u{7}shared] [Important]\n[sha\u{0}red] Tea.";
    let ignored = NewMemory { marks_in_text: TextMarks::Ignored, ..new(text, MemoryScope::Global) };
    let important = MemoryMarks { important: true, shared: false };
    let added = home.memories().add(ignored.clone()).await.unwrap().memory;
    assert_eq!((&*added.text, added.marks), ("Tea.", MemoryMarks::default()));
    let added = home.memories().add(NewMemory { marks: important, ..ignored }).await.unwrap();
    assert!(added.was_there && added.memory.marks == important);
    assert_eq!(home.recall().await.memories[0].marks, important);
}

#[tokio::test]
async fn secrets_and_empty_texts_are_refused() {
    let home = WorkspaceHome::new();
    let key = format!("my key is sk-ant-{}", "api03-Zq8Lm2Xw9Rt4Vb7Nc1Kd6Hf3");
    assert!(matches!(home.remember(&key).await, Err(MemoryError::Secret { .. })));
    assert!(matches!(home.remember(" \n").await, Err(MemoryError::Empty)));
    assert!(!home.path("workspace/memory").exists());
    let added = home.remember("a").await.unwrap();
    let edited =
        home.memories().edit(&added.memory.name, Some(&key), |marks| marks, &owner()).await;
    assert!(matches!(edited, Err(MemoryError::Secret { .. })));
}

const BOOK: &str = "\u{feff}# Mine\r\n\r\n<!-- x -->\r\n## 2026-03-01\r\n* one\r\n  goes on\r\n\r\n\
    \t* [shared] two (added at some time)\r\nLoose\r\ntext\r\n\r\n- three (added at 2026-02-01)";

#[tokio::test]
async fn an_edit_leaves_every_other_byte_alone() {
    let home = WorkspaceHome::with(&[(MEMORY, BOOK)]);
    let edit = async |old: &str, text: &str| {
        let view = home.recall().await;
        let memory = view.memories.iter().find(|memory| memory.text.starts_with(old)).unwrap();
        home.memories().edit(&memory.name, Some(text), |marks| marks, &owner()).await.unwrap()
    };
    let one = edit("one", "uno\nduo").await;
    assert_eq!(&*one.text, "uno\nduo");
    let book = BOOK.replace(
        "* one\r\n  goes on\r\n\r\n\t* [shared] two (added at some time)\r\n",
        "* uno\\\r\n  duo\r\n",
    );
    assert_eq!(home.content(MEMORY), book);
    let three = edit("three", "[important] tres").await;
    assert!(three.marks.important && three.added == Some(1_769_904_000));
    let book = book.replace("- three (", "- [important] tres (");
    assert_eq!(home.content(MEMORY), book);
    edit("Loose", "tight").await;
    let book = book.replace("Loose\r\ntext\r\n", "- tight\r\n");
    assert_eq!(home.content(MEMORY), book);
    let tres = edit("tres", "drei").await;
    assert!(tres.marks.important, "marks stay");
}

#[tokio::test]
async fn what_is_forgotten_is_in_the_archive() {
    let home =
        WorkspaceHome::with(&[(MEMORY, BOOK), ("workspace/memory/2026-02-02.md", "- a\n- b\n- a")]);
    let forget = async |old: &str| {
        let view = home.recall().await;
        let memory = view.memories.iter().find(|memory| memory.text.starts_with(old)).unwrap();
        home.memories().forget(&memory.name, &owner()).await.unwrap()
    };
    let forgotten = forget("one").await;
    assert_eq!(forgotten.archive, home.path("workspace/memory/archive/MEMORY.md"));
    let start = BOOK.find("* one").unwrap()..BOOK.find("Loose").unwrap();
    assert_eq!(home.content(MEMORY), BOOK.replace(&BOOK[start.clone()], ""));
    forget("Loose").await;
    let today = Zoned::now().date();
    assert_eq!(
        home.content("workspace/memory/archive/MEMORY.md"),
        format!(
            "## {today}\n* one\n  goes on\n\n\t* [shared] two (added at some time) \
             (added at 2026-03-01)\n- Loose text (added at 2026-03-01)\n"
        )
    );
    forget("a").await;
    assert_eq!(home.content("workspace/memory/2026-02-02.md"), "- b\n", "all of one text");
    let archived = home.content("workspace/memory/archive/2026-02-02.md");
    assert!(archived.ends_with("- a (added at 2026-02-02)\n- a (added at 2026-02-02)\n"));
    assert_eq!(texts(&*home.recall().await), ["b", "three"]);
    let agents = home.memories();
    agents.add(new("agent's", MemoryScope::Agent("ops".into()))).await.unwrap();
    let name = agents.read(&owner(), Horizon::All).await.memories[0].name.clone();
    let forgotten = agents.forget(&name, &owner()).await.unwrap();
    assert_eq!(forgotten.archive, home.path("workspace/memory/archive/agents/ops.md"));
}

#[tokio::test]
async fn names_may_be_short_but_not_ambiguous() {
    let home = WorkspaceHome::with(&[
        (MEMORY, "- tea\n- rain\n"),
        ("workspace/memory/2026-02-02.md", "- tea\n"),
    ]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    let name = view.memories.iter().find(|m| &*m.text == "rain").unwrap().name.clone();
    let hash = name.rsplit_once('#').unwrap().1.to_uppercase();
    let edited = files.edit(&hash[..4], Some("snow"), |marks| marks, &owner()).await.unwrap();
    assert_eq!(&*edited.text, "snow");
    let tea = &view.memories[0].name;
    let hash = tea.rsplit_once('#').unwrap().1;
    let error = files.forget(hash, &owner()).await.unwrap_err();
    assert!(matches!(&error, MemoryError::Ambiguous { candidates, .. } if candidates.len() == 2));
    assert!(error.hint().unwrap().contains("`MEMORY.md#"), "{error:?}");
    files.forget(&tea[..tea.len() - 2], &owner()).await.unwrap();
    let gone = files.forget(tea, &owner()).await.unwrap_err();
    assert!(matches!(gone, MemoryError::Unknown { nearest: _, .. }), "{gone:?}");
    for unknown in ["", "#", "tea", "abc", "MEMORY.md", "MEMORY.md#zzzz"] {
        let error = files.forget(unknown, &owner()).await.unwrap_err();
        assert!(matches!(error, MemoryError::Unknown { .. }), "{unknown}: {error:?}");
    }
    let edited = &edited.name;
    let slip = format!("{}x", &edited[..edited.len() - 1]);
    let error = files.forget(&slip, &owner()).await.unwrap_err();
    assert!(error.hint().unwrap().contains(&**edited), "{error:?}");
}

#[tokio::test]
async fn only_those_change_a_memory_whose_it_is() {
    let home = WorkspaceHome::with(&[(MEMORY, "- [shared] public\n- private\n")]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    let [private, public] = &*view.memories else { panic!("{view:?}") };
    for who in [AudienceKind::Guest, AudienceKind::Group] {
        let error = files.forget(&public.name, &audience(who)).await.unwrap_err();
        assert!(matches!(error, MemoryError::NotAllowed { .. }), "{error:?}");
        let error = files
            .edit(&private.name, Some("mine"), |marks| marks, &audience(who))
            .await
            .unwrap_err();
        assert!(matches!(error, MemoryError::Unknown { nearest: None, .. }), "{error:?}");
    }
    files.add(new("guest's", MemoryScope::Person("anna".into()))).await.unwrap();
    let guest = audience(AudienceKind::Guest);
    let view = files.read(&guest, Horizon::All).await;
    let own = view.memories.iter().find(|m| &*m.text == "guest's").unwrap();
    files.forget(&own.name, &guest).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = WorkspaceHome::with(&[("dotfiles/memory.md", "- a\n- b\n")]);
    let mode = |path: &str| fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
    home.memories().add(new("x", MemoryScope::Person("anna".into()))).await.unwrap();
    assert_eq!(mode("workspace/memory"), 0o700);
    assert_eq!(mode("workspace/memory/people/anna.md"), 0o600);
    fs::set_permissions(home.path("dotfiles/memory.md"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink("../../dotfiles/memory.md", home.path(MEMORY)).unwrap();
    home.remember("c").await.unwrap();
    let view = home.recall().await;
    let name = &view.memories.iter().find(|memory| &*memory.text == "a").unwrap().name;
    home.memories().forget(name, &owner()).await.unwrap();
    assert!(home.path(MEMORY).is_symlink());
    assert!(home.content("dotfiles/memory.md").starts_with("- b\n"));
    assert_eq!(mode("dotfiles/memory.md"), 0o640);
    assert_eq!(fs::read_dir(home.path("dotfiles")).unwrap().count(), 1, "nothing is left over");
}

// What stood between two entries kept them apart: once it is gone, a shared one must
// not take in what is private.
#[tokio::test]
async fn neighbours_of_what_is_forgotten_stay_apart() {
    let contents = [
        "[shared] The office is closed.\n- gone\nMy salary is 90k.\n",
        "- [shared] pub\n\n```\ngone\n```\n  private indented\n",
        "- [shared] pub\n- gone\n- private\n",
    ];
    for content in contents {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("memory/MEMORY.md");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let files = MemoryFiles::new(home.path());
        let owner = Audience { who: AudienceKind::Owner, ..Audience::default() };
        let before = files.read(&owner, Horizon::All).await;
        let gone = before.memories.iter().find(|memory| memory.text.contains("gone")).unwrap();
        files.forget(&gone.name, &owner).await.unwrap();
        let said = |view: &MemoryView| {
            let mut said: Vec<(String, MemoryMarks)> = view
                .memories
                .iter()
                .filter(|memory| memory.name != gone.name)
                .map(|memory| (memory.text.as_str().to_owned(), memory.marks))
                .collect();
            said.sort_by(|a, b| a.0.cmp(&b.0));
            said
        };
        let after = files.read(&owner, Horizon::All).await;
        assert_eq!(said(&after), said(&before), "{content:?}");
    }
}

#[tokio::test]
async fn marks_come_and_go_without_another_text() {
    let book = "---\ntitle: Mine\n---\n1. [shared] Likes\n   tea.\n2. Rain.\n";
    let home = WorkspaceHome::with(&[(MEMORY, book)]);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    let tea = view.memories.iter().find(|memory| &*memory.text == "Likes tea.").unwrap();
    let change = async |text: Option<&str>, marks: fn(MemoryMarks) -> MemoryMarks| {
        files.edit(&tea.name, text, marks, &owner()).await
    };
    let private = change(None, |marks| MemoryMarks { shared: false, ..marks }).await.unwrap();
    assert_eq!((&private.name, private.marks), (&tea.name, MemoryMarks::default()));
    assert_eq!(home.content(MEMORY), book.replace("[shared] ", ""));
    let guest = files.read(&audience(AudienceKind::Guest), Horizon::All).await;
    assert!(texts(&guest).is_empty(), "{guest:?}");

    let before = fs::metadata(home.path(MEMORY)).unwrap().modified().unwrap();
    change(None, |marks| marks).await.unwrap();
    assert_eq!(fs::metadata(home.path(MEMORY)).unwrap().modified().unwrap(), before);

    change(None, |marks| MemoryMarks { important: true, ..marks }).await.unwrap();
    assert_eq!(home.content(MEMORY), book.replace("[shared]", "[important]"));
    let both =
        change(Some("Likes rum."), |marks| MemoryMarks { shared: true, ..marks }).await.unwrap();
    assert!(both.marks.important && both.marks.shared, "{both:?}");
    let gone = change(None, |marks| marks).await.unwrap_err();
    assert!(matches!(gone, MemoryError::Unknown { .. }), "{gone:?}");
}

#[tokio::test]
async fn who_may_not_change_a_memory_may_not_change_its_marks() {
    let home = WorkspaceHome::with(&[(MEMORY, "- [shared] public\n")]);
    let files = home.memories();
    let name = home.recall().await.memories[0].name.clone();
    let marks = |_| MemoryMarks { important: true, shared: true };
    let error = files.edit(&name, None, marks, &audience(AudienceKind::Guest)).await.unwrap_err();
    assert!(matches!(error, MemoryError::NotAllowed { .. }), "{error:?}");
}

#[tokio::test]
async fn a_mark_that_was_taken_off_does_not_come_back_with_what_was_written_over() {
    let home = WorkspaceHome::with(&[(MEMORY, "- old\n")]);
    let files = home.memories();
    let added = files.add(new("[shared] added", MemoryScope::Global)).await.unwrap().memory;
    files.edit(&added.name, None, |_| MemoryMarks::default(), &owner()).await.unwrap();
    home.write(MEMORY, "- old\n");
    let view = home.recall().await;
    let back = view.memories.iter().find(|memory| &*memory.text == "added").unwrap();
    assert_eq!(back.marks, MemoryMarks::default());
}

#[tokio::test]
async fn what_is_no_memory_is_kept_by_every_change() {
    let frame = ["---\r\ntags:\r\n- a\r\n---\r\n<!-- one -->\r\n", "<!--\r\n- hidden\r\n-->\r\n"];
    let book = format!("{}1. tea\r\n2. rain\r\n{}", frame[0], frame[1]);
    let home = WorkspaceHome::with(&[(MEMORY, &book)]);
    let mut seen = texts(&*home.recall().await).join(", ");
    assert_eq!(seen, "rain, tea");
    let name = home.recall().await.memories[0].name.clone();
    home.memories().forget(&name, &owner()).await.unwrap();
    assert_eq!(home.content(MEMORY), book.replace("2. rain\r\n", ""));
    home.remember("snow").await.unwrap();
    assert!(home.content(MEMORY).starts_with(&book.replace("2. rain\r\n", "")));
    seen = texts(&*home.recall().await).join(", ");
    assert_eq!(seen, "snow, tea");
    assert!(matches!(home.remember("<!-- nothing -->").await, Err(MemoryError::Empty)));
}

#[tokio::test]
async fn a_file_with_returns_alone_is_read_and_written_as_it_is() {
    let home = WorkspaceHome::with(&[(MEMORY, "# Mine\r- tea\r- rain\r")]);
    assert_eq!(texts(&*home.recall().await), ["rain", "tea"]);
    home.remember("snow").await.unwrap();
    let added = "\r## 2026-03-01\r- snow (added at 2026-03-01T09:30:00+00:00)\r";
    assert_eq!(home.content(MEMORY), format!("# Mine\r- tea\r- rain\r{added}"));
    let view = home.recall().await;
    let rain = view.memories.iter().find(|memory| &*memory.text == "rain").unwrap();
    home.memories().forget(&rain.name, &owner()).await.unwrap();
    assert_eq!(home.content(MEMORY), format!("# Mine\r- tea\r{added}"));
}

#[tokio::test]
async fn what_cannot_be_taken_out_stays_and_is_not_archived() {
    let book = "```\nopen\n- tea (added at 2026-01-01)\n```\n";
    let home = WorkspaceHome::with(&[(MEMORY, book)]);
    let name = home.recall().await.memories[0].name.clone();
    let error = home.memories().forget(&name, &owner()).await.unwrap_err();
    assert!(matches!(error, MemoryError::Entangled { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("MEMORY.md"), "{error:?}");
    assert_eq!(home.content(MEMORY), book);
    assert!(!home.path("workspace/memory/archive").exists());
}

#[tokio::test]
async fn a_secret_that_somebody_wrote_down_is_not_shared_by_a_mark() {
    let home = WorkspaceHome::with(&[(MEMORY, "- My password is hunter2x9\n")]);
    let files = home.memories();
    let name = files.read(&owner(), Horizon::All).await.memories[0].name.clone();
    let shared = |old: MemoryMarks| MemoryMarks { shared: true, ..old };
    let refused = files.edit(&name, None, shared, &owner()).await.unwrap_err();
    assert!(matches!(refused, MemoryError::Secret { .. }), "{refused:?}");
    let important = |old: MemoryMarks| MemoryMarks { important: true, ..old };
    files.edit(&name, None, important, &owner()).await.unwrap();
    assert_eq!(home.content(MEMORY), "- [important] My password is hunter2x9\n");
}
