//! Sequences are found, shared and given up as the module says.

use proptest::prelude::*;

use super::*;

/// Places a prompt and reads it to its end, as an engine does.
fn read(pool: &mut SequencePool, lane: u64, prompt: &[i32]) -> SequencePlan {
    let place = pool.plan(Some(PromptCacheKey(lane)), prompt, 0);
    pool.extend(place.sequence, &prompt[place.kept..]);
    pool.prompt_read(place.sequence, place.kept);
    place
}

fn prompt(range: std::ops::Range<i32>) -> Vec<i32> {
    range.collect()
}

#[test]
fn a_conversation_goes_on_where_it_was() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    let first = read(&mut pool, 1, &prompt(0..10));
    assert_eq!((first.kept, first.copied_from), (0, None));
    let next = read(&mut pool, 1, &prompt(0..20));
    assert_eq!((next.sequence, next.kept, next.copied_from), (first.sequence, 10, None));
}

#[test]
fn the_last_token_is_read_again() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    assert_eq!(read(&mut pool, 1, &prompt(0..9)).kept, 8);
}

#[test]
fn the_same_prompt_is_read_again_as_it_was_read_before() {
    let mut pool = SequencePool::new(4, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    read(&mut pool, 1, &prompt(0..20));
    read(&mut pool, 1, &prompt(0..30));
    // Also in another conversation, as when a request is replayed.
    for lane in [2, 3, 1] {
        assert_eq!(read(&mut pool, lane, &prompt(0..20)).kept, 10);
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
    assert_eq!((second.kept, second.copied_from), (6, Some(first.sequence)));
    assert_eq!(read(&mut pool, 1, &prompt(0..12)).kept, 10);
}

#[test]
fn a_mode_flip_and_back_costs_nothing() {
    let mut pool = SequencePool::new(4, 1_000, Rewind::Anywhere);
    let (full, minimal) = (prompt(0..100), prompt(500..540));
    read(&mut pool, 1, &full);
    read(&mut pool, 2, &minimal);
    assert_eq!(read(&mut pool, 1, &prompt(0..110)).kept, 100);
    assert_eq!(read(&mut pool, 2, &prompt(500..545)).kept, 40);
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
    assert_eq!(read(&mut pool, 1, &prompt(0..42)).kept, 41);
}

#[test]
fn a_prompt_without_a_lane_disturbs_nobody_while_there_is_room() {
    let mut pool = SequencePool::new(2, 100, Rewind::Anywhere);
    read(&mut pool, 1, &prompt(0..10));
    let place = pool.plan(None, &prompt(0..9), 5);
    assert_eq!(place.kept, 8);
    assert_eq!(read(&mut pool, 1, &prompt(0..11)).kept, 10);
}

#[test]
fn a_model_that_cannot_rewind_goes_on_or_begins_anew() {
    let mut pool = SequencePool::new(4, 100, Rewind::Never);
    read(&mut pool, 1, &prompt(0..10));
    assert_eq!(read(&mut pool, 1, &prompt(0..20)).kept, 10);
    let mut parted = prompt(0..15);
    parted.push(99);
    let place = read(&mut pool, 1, &parted);
    assert_eq!((place.kept, place.copied_from), (0, None));
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
        for (lane, kind, length, reply) in steps {
            let prompt: Vec<i32> =
                (0..length as i32).map(|at| if at < 8 { at } else { at * 10 + kind }).collect();
            let place = pool.plan((lane > 0).then_some(PromptCacheKey(lane)), &prompt, reply);
            if let Some(other) = place.copied_from {
                engine[place.sequence] = engine[other].clone();
            }
            engine[place.sequence].truncate(place.kept);
            for emptied in &place.emptied {
                prop_assert_ne!(*emptied, place.sequence);
                engine[*emptied].clear();
            }
            prop_assert!(place.kept < prompt.len());
            prop_assert_eq!(&engine[place.sequence][..], &prompt[..place.kept]);
            let mut read = prompt[place.kept..].to_vec();
            read.extend((0..reply as i32).map(|at| 1_000 + at));
            prop_assert!(pool.free() >= read.len());
            pool.extend(place.sequence, &read);
            engine[place.sequence].extend(&read);
            for (sequence, held) in pool.sequences.iter().zip(&engine) {
                prop_assert_eq!(&sequence.tokens, held);
                prop_assert_eq!(sequence.cells.len(), held.len());
            }
        }
    }
}
