//! What the fake was asked, kept for the test.

use std::collections::BTreeMap;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use crate::gate::PATIENCE;

/// A request, and what became of it.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Its method, in capitals.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// Its headers, their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
    /// Its body as JSON, if it is that.
    pub json: Option<Value>,
    /// The status of the answer; `None` while there is none.
    pub status: Option<u16>,
    /// Why the fake rejected it as the real server would. An error that the
    /// test asked for is no rejection.
    pub rejected: Option<String>,
    /// How far the answer came.
    pub ending: AnswerEnding,
}

/// How far the answer to a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnding {
    /// It has not ended yet.
    Open,
    /// The fake sent all it meant to, also when that was to be cut off.
    Sent,
    /// The client closed the connection before that.
    ClientLeft,
}

impl ReceivedRequest {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Whether it asks the model something.
    pub fn is_chat(&self) -> bool {
        self.method == "POST" && matches!(self.path.as_str(), "/api/chat" | "/v1/chat/completions")
    }

    /// Whether its media type is this one, whatever its parameters.
    pub(crate) fn is_of_type(&self, media_type: &str) -> bool {
        let given = self.header("content-type").and_then(|value| value.split(';').next());
        given.is_some_and(|value| value.trim().eq_ignore_ascii_case(media_type))
    }

    /// Whether it bears this key.
    pub(crate) fn bears(&self, key: &str) -> bool {
        self.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(key)
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: Mutex<Vec<ReceivedRequest>>,
    changed: Condvar,
}

impl RequestLog {
    /// Adds a request; its number is what the other calls take.
    pub(crate) fn add(&self, received: ReceivedRequest) -> usize {
        let mut entries = self.entries.lock();
        entries.push(received);
        self.changed.notify_all();
        entries.len() - 1
    }

    pub(crate) fn update(&self, number: usize, change: impl FnOnce(&mut ReceivedRequest)) {
        if let Some(entry) = self.entries.lock().get_mut(number) {
            change(entry);
        }
        self.changed.notify_all();
    }

    pub(crate) fn entries(&self) -> Vec<ReceivedRequest> {
        self.entries.lock().clone()
    }

    /// Blocks until `reached` holds; gives `None` when it never does.
    pub(crate) fn wait_until(
        &self,
        mut reached: impl FnMut(&[ReceivedRequest]) -> bool,
    ) -> Option<Vec<ReceivedRequest>> {
        let mut entries = self.entries.lock();
        let waited = self.changed.wait_while_for(&mut entries, |all| !reached(all), PATIENCE);
        (!waited.timed_out()).then(|| entries.clone())
    }
}
