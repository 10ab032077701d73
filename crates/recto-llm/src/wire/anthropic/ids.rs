//! Ids of calls as Anthropic takes them: of letters, digits, `_` and `-`, and
//! each only once in a request. Histories that other vendors' models wrote keep
//! neither rule, so some ids are replaced here, for the wire alone.
//!
//! An id that is fine stays as it is. Later messages change nothing about
//! earlier ids, short of an id that looks like one made here: what a server's
//! cache has seen stays the same.

use std::collections::{HashMap, HashSet, VecDeque};

use recto_context::{CallId, ChatMessage, ToolCall};

/// Assigns the ids of a request's calls and results, message by message.
pub(super) struct CallIdMap<'a> {
    /// Ids that are fine and were given.
    unchanged: HashSet<&'a str>,
    /// Ids that cannot be made up: the fine ones of all calls, and those made.
    taken: HashSet<String>,
    /// The last number that was put behind an id, so that an id which every
    /// round repeats is not counted from the start each time.
    numbers: HashMap<String, usize>,
    /// The calls of the current round that have no result yet. Calls may even
    /// share an id within a round; their results come in the order of the calls.
    open: HashMap<&'a CallId, VecDeque<String>>,
}

impl<'a> CallIdMap<'a> {
    pub(super) fn new(messages: &'a [ChatMessage]) -> Self {
        let calls = messages.iter().flat_map(|message| &message.calls);
        let fine = calls.map(|call| &*call.id.0).filter(|id| is_fine(id));
        CallIdMap {
            unchanged: HashSet::new(),
            taken: fine.map(str::to_owned).collect(),
            numbers: HashMap::new(),
            open: HashMap::new(),
        }
    }

    /// The ids of a message's calls. The results that follow answer them.
    pub(super) fn assign_calls(&mut self, calls: &'a [ToolCall]) -> Vec<String> {
        self.open.clear();
        let mut ids = Vec::with_capacity(calls.len());
        for call in calls {
            let id = self.assign(&call.id.0);
            self.open.entry(&call.id).or_default().push_back(id.clone());
            ids.push(id);
        }
        ids
    }

    /// The id of the call that a result answers. Requests hold no result
    /// without a call; one would at least be well-formed.
    pub(super) fn answered_id(&mut self, call: &CallId) -> String {
        let open = self.open.get_mut(call).and_then(VecDeque::pop_front);
        open.unwrap_or_else(|| well_formed(&call.0))
    }

    fn assign(&mut self, id: &'a str) -> String {
        if is_fine(id) && self.unchanged.insert(id) {
            return id.to_owned();
        }
        let base = well_formed(id);
        if self.taken.insert(base.clone()) {
            return base;
        }
        let number = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            *number += 1;
            let id = format!("{base}-{number}");
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

fn is_fine(id: &str) -> bool {
    !id.is_empty() && id.chars().all(is_allowed)
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn well_formed(id: &str) -> String {
    if id.is_empty() {
        return "call".to_owned();
    }
    id.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}
