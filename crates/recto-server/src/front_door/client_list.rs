//! A client's list of messages, parted into what was said before and what is new.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use recto_context::{
    CallId, ClientMessage, ClientResult, ContentPart, Message, MessageBody, Text, ToolCall,
    visible_text,
};

use super::conversations::canonical_arguments;
use crate::problem::{ApiProblem, ApiResult, DoorParameter};

/// What the model is told to do with results of calls that no turn of Recto's waits for: made
/// elsewhere, say, or sent a second time.
const GO_ON: &str = "Go on with the results of the calls above.";

/// A client's messages.
#[derive(Debug, Clone)]
pub(crate) struct ClientList {
    /// Everything before what is new, oldest first.
    pub(crate) earlier: Vec<ClientMessage>,
    /// System texts that stand behind what is new.
    pub(crate) system: Vec<Text>,
    /// What is new.
    pub(crate) last: LastMessage,
}

/// What a client's list ends with.
#[derive(Debug, Clone)]
pub(crate) enum LastMessage {
    /// A message of the person's.
    Said(Vec<ContentPart>),
    /// Results of the calls that the message before them asks for.
    Results(Vec<ClientResult>),
}

impl ClientList {
    /// Parts a list. One that ends with a reply of the model's asks for nothing.
    pub(crate) fn read(mut messages: Vec<ClientMessage>) -> ApiResult<Self> {
        let mut system = Vec::new();
        while let Some(ClientMessage::System(text)) =
            messages.pop_if(|message| matches!(message, ClientMessage::System(_)))
        {
            system.insert(0, text);
        }
        let last = match messages.pop() {
            Some(ClientMessage::Said(MessageBody::User(user))) => LastMessage::Said(user.content),
            Some(ClientMessage::Said(body @ MessageBody::Tool { .. })) => {
                messages.push(ClientMessage::Said(body));
                LastMessage::Results(pop_results(&mut messages)?)
            }
            Some(_) => {
                return Err(ApiProblem::invalid(
                    "the last message is the model's: it has to be a user's or a tool's",
                ));
            }
            None => return Err(ApiProblem::invalid("`messages` has no message to answer")),
        };
        Ok(ClientList { earlier: messages, system, last })
    }

    /// The same list with its results as part of the history, and a word to go on behind them.
    pub(crate) fn with_results_said(self) -> Self {
        let LastMessage::Results(results) = self.last else { return self };
        let tool = |result: ClientResult| {
            ClientMessage::Said(MessageBody::Tool {
                call: result.call,
                name: "".into(),
                content: vec![ContentPart::Text(result.text)],
            })
        };
        let mut earlier = self.earlier;
        earlier.extend(results.into_iter().map(tool));
        let last = LastMessage::Said(vec![ContentPart::Text(GO_ON.into())]);
        ClientList { earlier, last, ..self }
    }

    /// Whether calls and results carry ids that were made up by [`name_calls`].
    pub(crate) fn has_made_up_ids(&self) -> bool {
        let calls = self.earlier.iter().filter_map(body).flat_map(calls);
        calls.into_iter().any(|call| call.id.0.starts_with(MADE_UP))
    }

    /// Gives calls and results whose ids were made up those under which they are stored.
    pub(crate) fn adopt_ids(&mut self, transcript: &[Arc<Message>]) {
        let stored = transcript.iter().flat_map(|message| message.calls());
        let mut stored: Vec<(&CallId, String)> =
            stored.map(|call| (&call.id, canonical_arguments(&call.arguments))).collect();
        let mut ids: HashMap<CallId, CallId> = HashMap::new();
        for call in self.earlier.iter().filter_map(body).flat_map(calls) {
            let arguments = canonical_arguments(&call.arguments);
            let at = stored.iter().position(|(_, other)| *other == arguments);
            if let (Some(at), true) = (at, call.id.0.starts_with(MADE_UP)) {
                ids.insert(call.id.clone(), stored[at].0.clone());
                // Those before it were said earlier, and are other calls.
                stored.drain(..=at);
            }
        }
        let known = |id: &mut CallId| {
            if let Some(stored) = ids.get(id) {
                *id = stored.clone();
            }
        };
        for message in &mut self.earlier {
            match message {
                ClientMessage::Said(MessageBody::Assistant { calls, .. }) => {
                    calls.iter_mut().for_each(|call| known(&mut call.id));
                }
                ClientMessage::Said(MessageBody::Tool { call, .. }) => known(call),
                _ => {}
            }
        }
        if let LastMessage::Results(results) = &mut self.last {
            results.iter_mut().for_each(|result| known(&mut result.call));
        }
    }
}

/// What made-up ids begin with.
const MADE_UP: &str = "unnamed_";

/// Gives ids to calls and results that have none: a result belongs to the first call of its
/// tool before it that has no result yet.
pub(crate) fn name_calls(messages: &mut [ClientMessage]) {
    let mut open: Vec<(Arc<str>, CallId)> = Vec::new();
    for (at, message) in messages.iter_mut().enumerate() {
        match message {
            ClientMessage::Said(MessageBody::Assistant { calls, .. }) => {
                for (index, call) in calls.iter_mut().enumerate() {
                    if call.id.0.is_empty() {
                        call.id = CallId(format!("{MADE_UP}{at}_{index}").into());
                    }
                    open.push((call.name.clone(), call.id.clone()));
                }
            }
            ClientMessage::Said(MessageBody::Tool { call, name, .. }) => {
                let is_it = |(tool, id): &(Arc<str>, CallId)| match call.0.is_empty() {
                    true => name.is_empty() || *tool == *name,
                    false => id == call,
                };
                if let Some(found) = open.iter().position(is_it) {
                    *call = open.remove(found).1;
                }
            }
            _ => {}
        }
    }
}

/// Takes the results at the end of a list away, which follow the calls that they belong to.
fn pop_results(messages: &mut Vec<ClientMessage>) -> ApiResult<Vec<ClientResult>> {
    let mut results = Vec::new();
    while let Some(ClientMessage::Said(MessageBody::Tool { call, content, .. })) =
        messages.pop_if(|message| matches!(message, ClientMessage::Said(MessageBody::Tool { .. })))
    {
        results.insert(0, ClientResult { call, text: visible_text(&content).into() });
    }
    let calls = messages.last().and_then(body).map_or(&[][..], calls);
    if calls.is_empty() {
        return Err(ApiProblem::invalid(
            "a tool's message has to follow the assistant's message with its call",
        ));
    }
    check_call_ids(calls, &results)?;
    Ok(results)
}

/// Refuses results of which nobody can say to which call they belong: no model would see them.
fn check_call_ids(calls: &[ToolCall], results: &[ClientResult]) -> ApiResult<()> {
    let mut ids: HashSet<&CallId> = HashSet::new();
    if let Some(call) = calls.iter().find(|call| !ids.insert(&call.id)) {
        let title = format!("two calls of one message have the id `{}`", call.id.0);
        return Err(ApiProblem::invalid(title).about(DoorParameter::Messages));
    }
    match results.iter().find(|result| !ids.contains(&result.call)) {
        Some(result) => {
            // Ollama's clients may send none.
            let id = match &*result.call.0 {
                "" => String::new(),
                id => format!(" of call `{id}`"),
            };
            let title = format!(
                "a result{id} belongs to none of the calls that the message before it makes"
            );
            Err(ApiProblem::invalid(title).about(DoorParameter::Messages))
        }
        None => Ok(()),
    }
}

fn body(message: &ClientMessage) -> Option<&MessageBody> {
    match message {
        ClientMessage::Said(body) | ClientMessage::Unfinished(body) => Some(body),
        ClientMessage::System(_) => None,
    }
}

fn calls(body: &MessageBody) -> &[ToolCall] {
    match body {
        MessageBody::Assistant { calls, .. } => calls,
        _ => &[],
    }
}
