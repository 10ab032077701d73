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
//! the [`Place`] to the letter.

use std::collections::HashMap;

/// A conversation that wants a sequence of its own. The minimal and the full turns
/// of a session are two, because their prompts part early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane(pub u64);

/// How a prompt was read: a model that reads the same tokens in other portions
/// comes to another result in the last digits, and then, once in a while, to
/// another word.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Where the last portion began.
    from: usize,
    /// Where it ended, which is where the reply began.
    to: usize,
}

/// Where a prompt goes. What is to be done comes in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The sequence.
    pub(crate) sequence: usize,
    /// Replace it by the beginning of another one: as much as is kept.
    pub(crate) copied_from: Option<usize>,
    /// How much of the prompt is there already. What stands behind it goes.
    pub(crate) kept: usize,
    /// Sequences to empty, so that there is room.
    pub(crate) emptied: Vec<usize>,
}

/// What a model can take back of what it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewind {
    /// Anything.
    Anywhere,
    /// Nothing: it keeps a summary and not the tokens. A sequence goes on, or is
    /// emptied.
    Never,
}

/// The sequences and what they hold.
#[derive(Debug)]
pub(crate) struct Pool {
    sequences: Vec<Sequence>,
    cells: Cells,
    rewind: Rewind,
    /// Grows with each prompt.
    now: u64,
}

#[derive(Debug, Default)]
struct Sequence {
    lane: Option<Lane>,
    tokens: Vec<i32>,
    /// The cell of each token.
    cells: Vec<Cell>,
    /// How the prompts were read that it holds.
    readings: Vec<Reading>,
    used: u64,
}

impl Pool {
    /// Empty sequences that share this many cells.
    pub(crate) fn new(sequences: usize, cells: usize, rewind: Rewind) -> Self {
        let sequences = (0..sequences.max(1)).map(|_| Sequence::default()).collect();
        Pool { sequences, cells: Cells::new(cells), rewind, now: 0 }
    }

    /// Finds the place for a prompt, with room for what is left of it and for
    /// `reply` tokens behind it. The last token is always left to be read, since
    /// only reading gives an answer; and of a prompt that was read before, its
    /// last portion, so that it gives the same answer again.
    pub(crate) fn place(&mut self, lane: Option<Lane>, prompt: &[i32], reply: usize) -> Place {
        self.now += 1;
        let kept = |sequence: &Sequence| self.kept(sequence, prompt);
        let own = self.sequences.iter().position(|each| lane.is_some() && each.lane == lane);
        let best = self.best(kept);
        let sequence = own.unwrap_or_else(|| self.least_used(best));
        let own_kept = kept(&self.sequences[sequence]);
        let copied_from = best.filter(|(other, kept)| {
            *other != sequence && *kept > own_kept && self.rewind == Rewind::Anywhere
        });
        let kept = copied_from.map_or(own_kept, |(_, kept)| kept);
        if let Some((other, kept)) = copied_from {
            self.copy(other, sequence, kept);
        }
        self.truncate(sequence, kept);
        self.sequences[sequence].lane = lane;
        self.sequences[sequence].used = self.now;
        let emptied = self.make_room(sequence, prompt.len() - kept + reply);
        Place { sequence, copied_from: copied_from.map(|(other, _)| other), kept, emptied }
    }

    /// Takes in that a prompt ends here whose last portion began at `from`.
    pub(crate) fn prompt_read(&mut self, sequence: usize, from: usize) {
        let sequence = &mut self.sequences[sequence];
        let to = sequence.tokens.len();
        sequence.readings.push(Reading { from, to });
    }

    /// Takes in what was read into a sequence, or written behind it.
    pub(crate) fn extend(&mut self, sequence: usize, tokens: &[i32]) {
        let sequence = &mut self.sequences[sequence];
        sequence.tokens.extend_from_slice(tokens);
        sequence.cells.extend(tokens.iter().map(|_| self.cells.take()));
    }

    /// Forgets what a sequence holds: the model is no longer sure to have it.
    pub(crate) fn forget(&mut self, sequence: usize) {
        self.truncate(sequence, 0);
        self.sequences[sequence].lane = None;
    }

    /// How much of a prompt a sequence spares.
    fn kept(&self, sequence: &Sequence, prompt: &[i32]) -> usize {
        let common = sequence.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let same = sequence.readings.iter().find(|reading| reading.to == prompt.len());
        let kept = match same {
            Some(reading) if common == prompt.len() => reading.from,
            _ => common.min(prompt.len().saturating_sub(1)),
        };
        match self.rewind {
            Rewind::Anywhere => kept,
            Rewind::Never if kept == sequence.tokens.len() => kept,
            Rewind::Never => 0,
        }
    }

    fn best(&self, kept: impl Fn(&Sequence) -> usize) -> Option<(usize, usize)> {
        let all = self.sequences.iter().enumerate().map(|(index, each)| (index, kept(each)));
        all.filter(|(_, kept)| *kept > 0).max_by_key(|(_, kept)| *kept)
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

    fn copy(&mut self, from: usize, to: usize, length: usize) {
        self.truncate(to, 0);
        let tokens = self.sequences[from].tokens[..length].to_vec();
        let cells = self.sequences[from].cells[..length].to_vec();
        cells.iter().for_each(|cell| self.cells.share(*cell));
        let readings = self.sequences[from].readings.clone();
        self.sequences[to].tokens = tokens;
        self.sequences[to].cells = cells;
        self.sequences[to].readings = readings;
    }

    fn truncate(&mut self, sequence: usize, length: usize) {
        let sequence = &mut self.sequences[sequence];
        sequence.tokens.truncate(length);
        sequence.readings.retain(|reading| reading.to <= length);
        for cell in sequence.cells.drain(length..) {
            self.cells.give_back(cell);
        }
    }

    /// Empties sequences until there is room for `wanted` tokens, least recently
    /// used first.
    fn make_room(&mut self, spared: usize, wanted: usize) -> Vec<usize> {
        let mut emptied = Vec::new();
        while self.cells.free() < wanted {
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

/// A place for one token. Sequences that were copied share theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cell(u64);

/// Who holds which cell.
#[derive(Debug)]
struct Cells {
    most: usize,
    next: u64,
    holders: HashMap<Cell, u32>,
}

impl Cells {
    fn new(most: usize) -> Self {
        Cells { most, next: 0, holders: HashMap::new() }
    }

    fn free(&self) -> usize {
        self.most.saturating_sub(self.holders.len())
    }

    fn take(&mut self) -> Cell {
        let cell = Cell(self.next);
        self.next += 1;
        self.holders.insert(cell, 1);
        cell
    }

    fn share(&mut self, cell: Cell) {
        *self.holders.entry(cell).or_default() += 1;
    }

    fn give_back(&mut self, cell: Cell) {
        if let Some(holders) = self.holders.get_mut(&cell) {
            *holders -= 1;
            if *holders == 0 {
                self.holders.remove(&cell);
            }
        }
    }
}

#[cfg(test)]
mod tests;
