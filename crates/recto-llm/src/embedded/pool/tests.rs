//! Sequences are found, shared and given up as the module says.

use proptest::prelude::*;

use super::*;

/// Places a prompt and reads it to its end, as an engine does.
fn read(pool: &mut SequencePool, key: u64, prompt: &[i32]) -> SequencePlan {
    let plan = pool.plan(Some(PromptCacheKey(key)), prompt, 0);
    pool.extend(plan.sequence, &prompt[plan.cached..]);
    pool.note_prompt(plan.sequence, plan.cached);
    plan
}

fn prompt(range: std::ops::Range<i32>) -> Vec<i32> {
    range.collect()
}

#[test]
fn a_conversation_goes_on_where_it_was() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    let first = read(&mut pool, 1, &prompt(0..10));
    assert_eq!((first.cached, first.copied_from), (0, None));
    let next = read(&mut pool, 1, &prompt(0..20));
    assert_eq!((next.sequence, next.cached, next.copied_from), (first.sequence, 10, None));
}

#[test]
fn the_last_token_is_read_again() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    assert_eq!(read(&mut pool, 1, &prompt(0..9)).cached, 8);
}

#[test]
fn the_same_prompt_is_read_again_as_it_was_read_before() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    read(&mut pool, 1, &prompt(0..20));
    read(&mut pool, 1, &prompt(0..30));
    // Also in another conversation, as when a request is replayed.
    for key in [2, 3, 1] {
        assert_eq!(read(&mut pool, key, &prompt(0..20)).cached, 10);
    }
}

#[test]
fn a_new_conversation_begins_as_a_copy_and_leaves_the_other_alone() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    let first = read(&mut pool, 1, &prompt(0..10));
    let mut other = prompt(0..6);
    other.extend(prompt(50..60));
    let second = read(&mut pool, 2, &other);
    assert_ne!(second.sequence, first.sequence);
    assert_eq!((second.cached, second.copied_from), (6, Some(first.sequence)));
    assert_eq!(read(&mut pool, 1, &prompt(0..12)).cached, 10);
}

#[test]
fn a_mode_flip_and_back_costs_nothing() {
    let mut pool = SequencePool::new(4, 1_000, Rewind::Anywhere);
    let (full, minimal) = (prompt(0..100), prompt(500..540));
    read(&mut pool, 1, &full);
    read(&mut pool, 2, &minimal);
    assert_eq!(read(&mut pool, 1, &prompt(0..110)).cached, 100);
    assert_eq!(read(&mut pool, 2, &prompt(500..545)).cached, 40);
}

#[test]
fn shared_cells_are_counted_once() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..80));
    let mut other = prompt(0..79);
    other.push(7);
    assert!(read(&mut pool, 2, &other).emptied.is_empty());
    assert_eq!(pool.free(), 19);
}

#[test]
fn what_was_used_least_recently_goes() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    let first = read(&mut pool, 1, &prompt(0..40));
    read(&mut pool, 2, &prompt(100..140));
    read(&mut pool, 1, &prompt(0..41));
    let third = read(&mut pool, 3, &prompt(200..240));
    assert_eq!(third.emptied.len(), 1);
    assert_ne!(third.emptied[0], first.sequence);
    assert_eq!(read(&mut pool, 1, &prompt(0..42)).cached, 41);
}

#[test]
fn a_prompt_without_a_lane_disturbs_nobody_while_there_is_room() {
    let mut pool = SequencePool::new(2, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    let plan = pool.plan(None, &prompt(0..9), 5);
    assert_eq!(plan.cached, 8);
    assert_eq!(read(&mut pool, 1, &prompt(0..11)).cached, 10);
}

#[test]
fn a_model_that_cannot_rewind_goes_on_or_begins_anew() {
    let mut pool = SequencePool::new(4, 100, Rewind::Never);
    read(&mut pool, 1, &prompt(0..10));
    assert_eq!(read(&mut pool, 1, &prompt(0..20)).cached, 10);
    let mut parted = prompt(0..15);
    parted.push(99);
    let plan = read(&mut pool, 1, &parted);
    assert_eq!((plan.cached, plan.copied_from), (0, None));
    assert_eq!(read(&mut pool, 2, &prompt(0..30)).copied_from, None);
}

proptest! {
    /// An engine that does only what places say holds what the pool believes,
    /// and never more cells than there are.
    #[test]
    fn places_keep_what_they_say(
        steps in prop::collection::vec((0u64..4, 0i32..3, 1usize..30, 0usize..10), 1..60),
        never in any::<bool>(),
    ) {
        let rewind = if never { Rewind::Never } else { Rewind::Anywhere };
        let mut pool = SequencePool::new(3, 64, rewind);
        let mut engine: Vec<Vec<i32>> = vec![Vec::new(); 3];
        for (key, kind, length, reply) in steps {
            let prompt: Vec<i32> =
                (0..length as i32).map(|at| if at < 8 { at } else { at * 10 + kind }).collect();
            let plan = pool.plan((key > 0).then_some(PromptCacheKey(key)), &prompt, reply);
            if let Some(other) = plan.copied_from {
                engine[plan.sequence] = engine[other].clone();
            }
            engine[plan.sequence].truncate(plan.cached);
            for emptied in &plan.emptied {
                prop_assert_ne!(*emptied, plan.sequence);
                engine[*emptied].clear();
            }
            prop_assert!(plan.cached < prompt.len());
            prop_assert_eq!(&engine[plan.sequence][..], &prompt[..plan.cached]);
            let mut read = prompt[plan.cached..].to_vec();
            read.extend((0..reply as i32).map(|at| 1_000 + at));
            prop_assert!(pool.free() >= read.len());
            pool.extend(plan.sequence, &read);
            engine[plan.sequence].extend(&read);
            for (sequence, held) in pool.sequences.iter().zip(&engine) {
                prop_assert_eq!(&sequence.tokens, held);
                prop_assert_eq!(sequence.cells.len(), held.len());
            }
        }
    }
}
