//! Which of a few sequences a prompt is read into, and what is kept of it there.
//!
//! A model remembers what it has read, token by token. A prompt that begins as an
//! earlier one did is read only from where the two part. So each conversation
//! keeps a sequence of its own, its *lane*; a conversation that is new begins as a
//! copy of whatever sequence agrees with it longest, which costs nothing, because
//! copies share their cells. When cells or sequences run out, what was used least
//! recently goes.
//!
//! This is the bookkeeping alone: it never calls a model. Whoever does follows
//! the [`SequencePlan`] to the letter.

use std::collections::HashSet;

/// The key of a conversation that wants a sequence of its own. The minimal and the full turns
/// of a session are two, because their prompts part early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PromptCacheKey(pub u64);

/// How a prompt was read: a model that reads the same tokens in other portions
/// comes to another result in the last digits, and then, once in a while, to
/// another word.
#[derive(Debug, Clone, Copy)]
struct PromptReading {
    /// Where the last portion began.
    from: usize,
    /// Where it ended, which is where the reply began.
    to: usize,
}

/// The sequence that a prompt goes to, and what to do with it before, in the order of
/// the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SequencePlan {
    pub(crate) sequence: usize,
    /// Replace it by the beginning of another one: as much as is cached.
    pub(crate) copied_from: Option<usize>,
    /// How much of the prompt is there already. What stands behind it goes.
    pub(crate) cached: usize,
    /// Sequences to empty, so that there is room.
    pub(crate) emptied: Vec<usize>,
}

/// What a model can take back of what it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewind {
    Anywhere,
    /// Nothing: it keeps a summary and not the tokens. A sequence goes on, or is
    /// emptied.
    Never,
}

/// The sequences and what they hold.
#[derive(Debug)]
pub(crate) struct SequencePool {
    sequences: Vec<Sequence>,
    /// How many cells there are, each a place for one token.
    cells: usize,
    /// The number of the cell that is taken next. Cells are never numbered anew.
    next_cell: u64,
    rewind: Rewind,
    /// Grows with each prompt.
    now: u64,
}

#[derive(Debug, Clone, Default)]
struct Sequence {
    key: Option<PromptCacheKey>,
    tokens: Vec<i32>,
    /// The cell of each token. Sequences that were copied share theirs.
    cells: Vec<u64>,
    /// How the prompts were read that it holds.
    readings: Vec<PromptReading>,
    used: u64,
}

impl SequencePool {
    /// Empty sequences that share this many cells.
    pub(crate) fn new(sequences: usize, cells: usize, rewind: Rewind) -> Self {
        let sequences = (0..sequences.max(1)).map(|_| Sequence::default()).collect();
        SequencePool { sequences, cells, next_cell: 0, rewind, now: 0 }
    }

    /// Finds the sequence for a prompt, with room for what is left of it and for
    /// `reply` tokens behind it. The last token is always left to be read, since
    /// only reading gives an answer; and of a prompt that was read before, its
    /// last portion, so that it gives the same answer again.
    pub(crate) fn plan(
        &mut self,
        key: Option<PromptCacheKey>,
        prompt: &[i32],
        reply: usize,
    ) -> SequencePlan {
        self.now += 1;
        let cached = |sequence: &Sequence| self.cached(sequence, prompt);
        let own = self.sequences.iter().position(|each| key.is_some() && each.key == key);
        let best = self.best(cached);
        let sequence = own.unwrap_or_else(|| self.least_used(best));
        let own_cached = cached(&self.sequences[sequence]);
        let copied_from = best.filter(|(other, cached)| {
            *other != sequence && *cached > own_cached && self.rewind == Rewind::Anywhere
        });
        let cached = copied_from.map_or(own_cached, |(_, cached)| cached);
        if let Some((other, _)) = copied_from {
            self.sequences[sequence] = self.sequences[other].clone();
        }
        self.truncate(sequence, cached);
        self.sequences[sequence].key = key;
        self.sequences[sequence].used = self.now;
        let emptied = self.make_room(sequence, prompt.len() - cached + reply);
        SequencePlan { sequence, copied_from: copied_from.map(|(other, _)| other), cached, emptied }
    }

    /// Notes that a prompt ends here whose last portion began at `from`.
    pub(crate) fn note_prompt(&mut self, sequence: usize, from: usize) {
        let sequence = &mut self.sequences[sequence];
        let to = sequence.tokens.len();
        sequence.readings.push(PromptReading { from, to });
    }

    /// Notes the tokens that were read into a sequence, or written behind it.
    pub(crate) fn extend(&mut self, sequence: usize, tokens: &[i32]) {
        let sequence = &mut self.sequences[sequence];
        sequence.tokens.extend_from_slice(tokens);
        sequence.cells.extend((self.next_cell..).take(tokens.len()));
        self.next_cell += tokens.len() as u64;
    }

    /// Forgets what a sequence holds: the model is no longer sure to have it.
    pub(crate) fn forget(&mut self, sequence: usize) {
        self.truncate(sequence, 0);
        self.sequences[sequence].key = None;
    }

    /// How much of a prompt a sequence spares.
    fn cached(&self, sequence: &Sequence, prompt: &[i32]) -> usize {
        let common = sequence.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let same = sequence.readings.iter().find(|reading| reading.to == prompt.len());
        let cached = match same {
            Some(reading) if common == prompt.len() => reading.from,
            _ => common.min(prompt.len().saturating_sub(1)),
        };
        match self.rewind {
            Rewind::Anywhere => cached,
            Rewind::Never if cached == sequence.tokens.len() => cached,
            Rewind::Never => 0,
        }
    }

    fn best(&self, cached: impl Fn(&Sequence) -> usize) -> Option<(usize, usize)> {
        let all = self.sequences.iter().enumerate().map(|(index, each)| (index, cached(each)));
        all.filter(|(_, cached)| *cached > 0).max_by_key(|(_, cached)| *cached)
    }

    /// An empty sequence, or the one that was not used for longest; not the one
    /// that is about to be copied, unless there is no other.
    fn least_used(&self, best: Option<(usize, usize)>) -> usize {
        let spared = best.map(|(index, _)| index);
        let others = (0..self.sequences.len()).filter(|index| Some(*index) != spared);
        let age = |index: &usize| {
            let sequence = &self.sequences[*index];
            (!sequence.tokens.is_empty(), sequence.used)
        };
        others.min_by_key(age).or(spared).unwrap_or(0)
    }

    fn truncate(&mut self, sequence: usize, length: usize) {
        let sequence = &mut self.sequences[sequence];
        sequence.tokens.truncate(length);
        sequence.readings.retain(|reading| reading.to <= length);
        sequence.cells.truncate(length);
    }

    /// How many cells no sequence holds.
    fn free(&self) -> usize {
        let held: HashSet<u64> =
            self.sequences.iter().flat_map(|each| &each.cells).copied().collect();
        self.cells.saturating_sub(held.len())
    }

    /// Empties sequences until there is room for `needed` tokens, least recently
    /// used first.
    fn make_room(&mut self, spared: usize, needed: usize) -> Vec<usize> {
        let mut emptied = Vec::new();
        while self.free() < needed {
            let filled =
                |index: &usize| *index != spared && !self.sequences[*index].tokens.is_empty();
            let oldest = (0..self.sequences.len())
                .filter(filled)
                .min_by_key(|index| self.sequences[*index].used);
            let Some(oldest) = oldest else { break };
            self.forget(oldest);
            emptied.push(oldest);
        }
        emptied
    }
}

#[cfg(test)]
mod tests;
