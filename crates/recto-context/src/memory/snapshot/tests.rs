//! When a snapshot is made, and what is in it.

use super::*;
use crate::memory::MemoryMarks;

fn memories(count: usize) -> Vec<Memory> {
    let text = |number: usize| format!("Fact {number} about something.");
    (0..count).map(|number| Memory::new("MEMORY.md", text(number), None)).collect()
}

fn pick(memory: &Memory) -> Pick {
    let scores = Scores { probability: Some(0.9), ..Scores::default() };
    Pick::new(memory.id(), scores)
}

fn choose(
    before: Option<MemorySnapshot>,
    memories: &[Memory],
    recalled: &[&Memory],
) -> MemorySnapshot {
    choose_from(MessageId::default(), before, memories, recalled)
}

fn choose_from(
    history_from: MessageId,
    before: Option<MemorySnapshot>,
    memories: &[Memory],
    recalled: &[&Memory],
) -> MemorySnapshot {
    let picks: Vec<Pick> = recalled.iter().map(|memory| pick(memory)).collect();
    let fingerprint = memory_fingerprint(memories);
    let pool = MemoryPool { memories, fingerprint, ranked: &picks, recalled: &picks, history_from };
    choose_snapshot(before, &pool, &ContextLimits::default(), &TokenCounter::estimated())
}

fn reasons(snapshot: &MemorySnapshot) -> Vec<PinReason> {
    snapshot.entries.iter().map(|entry| entry.why).collect()
}

fn has(snapshot: &MemorySnapshot, memory: &Memory) -> bool {
    snapshot.entries.iter().any(|entry| entry.item == memory.id())
}

#[test]
fn few_memories_are_all_there() {
    let all = memories(20);
    let snapshot = choose(None, &all, &[]);
    assert_eq!(reasons(&snapshot), [PinReason::Few; 20]);
}

#[test]
fn of_many_the_important_the_fitting_and_a_few_new_ones_are_there() {
    let mut all = memories(1_000);
    all[700].marks = MemoryMarks { important: true, shared: false };
    let snapshot = choose(None, &all, &[&all[400]]);
    use PinReason::{Fits, Important, Newest};
    assert_eq!(reasons(&snapshot), [Important, Fits, Newest, Newest, Newest, Newest, Newest]);
    assert!(has(&snapshot, &all[700]) && has(&snapshot, &all[400]) && has(&snapshot, &all[0]));
    assert!(snapshot.entries[1].scores.is_some());
}

#[test]
fn the_limits_hold_whatever_is_important() {
    let mut all = memories(100);
    for memory in &mut all {
        memory.marks.important = true;
    }
    let fitting = [&all[70]];
    let snapshot = choose(None, &all, &fitting);
    assert_eq!(reasons(&snapshot), [PinReason::Important; 20]);
    // Of the important ones those that fit come first.
    assert_eq!(snapshot.entries[0].item, all[70].id());
    let huge = vec![Memory::new("MEMORY.md", "word ".repeat(5_000), None)];
    assert_eq!(choose(None, &huge, &[&huge[0]]).entries, []);
}

#[test]
fn it_stays_while_its_sources_do() {
    let mut all = memories(100);
    let first = choose(None, &all, &[&all[50]]);
    let second = choose(Some(first.clone()), &all, &[]);
    assert_eq!(second, first);
    all.insert(0, Memory::new("MEMORY.md", "Something new.", None));
    let third = choose(Some(second), &all, &[]);
    assert_ne!(third.entries, first.entries);
    assert!(has(&third, &all[0]));
    all.remove(0);
    assert!(!has(
        &choose(Some(third), &all, &[]),
        &Memory::new("MEMORY.md", "Something new.", None)
    ));
}

#[test]
fn what_the_session_itself_adds_changes_nothing() {
    let mut all = memories(100);
    let mut first = choose(None, &all, &[]);
    let own = Memory::new("MEMORY.md", "Said just now.", None);
    first.add_own([own.name.clone()], MessageId(1));
    all.insert(0, own.clone());
    let second = choose(Some(first.clone()), &all, &[&own]);
    assert_eq!(second.entries, first.entries);
    // It is no miss either: it stands in the history.
    assert_eq!(second.misses, 0);
    // When its exchange leaves the page, it comes in.
    let left = choose_from(MessageId(2), Some(second.clone()), &all, &[]);
    assert!(has(&left, &own) && !has(&second, &own));
    // Once it is gone again, nothing has changed still.
    all.remove(0);
    assert_eq!(choose(Some(second), &all, &[]).entries, first.entries);
}

#[test]
fn three_turns_that_recall_something_else_replace_it() {
    let all = memories(100);
    let first = choose(None, &all, &[&all[50]]);
    let mut snapshot = first.clone();
    for turn in [60, 61] {
        snapshot = choose(Some(snapshot), &all, &[&all[turn]]);
        assert_eq!(snapshot.entries, first.entries);
    }
    // Half of it is not more than half.
    let mut other = choose(Some(snapshot.clone()), &all, &[&all[50], &all[70]]);
    assert_eq!((other.misses, &other.entries), (0, &first.entries));
    other = choose(Some(other), &all, &[]);
    assert_eq!(other.entries, first.entries);
    // A turn that recalls nothing says nothing, neither against it nor for it.
    let snapshot = choose(Some(snapshot), &all, &[]);
    let replaced = choose(Some(snapshot), &all, &[&all[62]]);
    let fits: Vec<usize> = (0..100).filter(|at| [60, 61, 62].contains(at)).collect();
    assert!(fits.iter().all(|at| has(&replaced, &all[*at])), "{replaced:?}");
    assert!(!has(&replaced, &all[50]));
    assert_eq!(replaced.misses, 0);
}

#[test]
fn it_survives_being_stored() {
    let mut snapshot = choose(None, &memories(100), &[&memories(100)[3]]);
    snapshot.add_own(["MEMORY.md#00000000".into()], MessageId(7));
    let kept = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<MemorySnapshot>(&kept).unwrap(), snapshot);
}
