//! What a client brings to a turn: system text, a history and tools of its own, and results of
//! calls that were handed to it.
//!
//! Nothing of it is run here. A call of a client's tool ends its turn, and the client's results
//! begin another that goes on with it: same message, same mode, same picks.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::{
    CallId, ClientContext, ClientResult, ClientToolChoice, ContentSource, HistoryOwner, Layer,
    Message, MessageBody, MessageId, Part, PartContent, RequestContext, Text, ToolCall, ToolSpec,
    reconcile_history,
};
use recto_store::{StoredTurn, TurnEnding, TurnStatus};
use recto_tools::{ToolOutcome, ToolResult};

use super::{TurnRun, open_calls};
use crate::error::{AgentError, AgentResult};
use crate::event::ClientCall;
use crate::session_cache::LoadedSession;
use crate::shared::AgentShared;
use crate::step::{PendingCall, TurnState};

/// What the requests of a turn show of what its client brought.
#[derive(Debug, Default)]
pub(crate) struct TurnClient {
    pub(crate) system: Vec<Text>,
    pub(crate) tools: Vec<ToolSpec>,
    /// What it asks of the first reply.
    pub(crate) tool_choice: ClientToolChoice,
    /// All earlier messages, where the history is the client's.
    pub(crate) history: Option<Vec<Arc<Message>>>,
}

impl TurnClient {
    /// What a recorded request shows of it. The history is not all in there.
    pub(crate) fn from_request(request: &RequestContext) -> Self {
        let is_from_client = |part: &&Part| part.source == ContentSource::Client;
        let text = |part: &Part| match &part.content {
            PartContent::Text(text) => Some(text.clone()),
            PartContent::Message(_) => None,
        };
        let tools = request.tools.iter().map(|tool| &tool.spec);
        TurnClient {
            system: request.layer(Layer::System).filter(is_from_client).filter_map(text).collect(),
            tools: tools.filter(|tool| tool.is_client_tool()).cloned().collect(),
            // The request that it was asked of is made.
            tool_choice: ClientToolChoice::Free,
            history: None,
        }
    }

    /// Whose list of earlier messages the history is.
    pub(crate) fn history_owner(&self) -> HistoryOwner {
        match self.history {
            Some(_) => HistoryOwner::Client,
            None => HistoryOwner::Session,
        }
    }

    /// Whether the client's history has the message of this number; so has any other.
    pub(crate) fn shows(&self, id: MessageId) -> bool {
        let holds = |history: &Vec<Arc<Message>>| {
            history.binary_search_by_key(&id, |message| message.id).is_ok()
        };
        self.history.as_ref().is_none_or(holds)
    }
}

/// Reads the messages of a client's history as it was when its turn began.
pub(super) async fn read_history(
    shared: &AgentShared,
    session: &LoadedSession,
    state: &TurnState,
) -> AgentResult<Option<Vec<Arc<Message>>>> {
    let Some(ranges) = state.client_history() else { return Ok(None) };
    let stored = shared.parts.store.messages(session.session.id, ranges.first()).await?;
    let messages = stored.into_iter().map(|stored| stored.message);
    Ok(Some(messages.filter(|message| ranges.contains(message.id)).collect()))
}

/// What is to be stored in front of a client's message, for it to stand behind what the client
/// takes for the conversation.
#[derive(Debug, Default)]
pub(crate) struct BroughtMessages(pub(crate) Vec<Arc<Message>>);

impl BroughtMessages {
    fn push(&mut self, session: &LoadedSession, body: MessageBody) -> Arc<Message> {
        let id = MessageId(session.last.0 + self.0.len() as u64 + 1);
        let message = Arc::new(Message { id, body });
        self.0.push(message.clone());
        message
    }
}

/// Holds what a client brought with a message against the session: closes the calls that it has not answered,
/// and finds out what of its history is stored.
pub(crate) async fn reconcile_client(
    shared: &AgentShared,
    session: &LoadedSession,
    context: Option<&ClientContext>,
    results: &[ClientResult],
    tools: Vec<ToolSpec>,
) -> AgentResult<(TurnClient, BroughtMessages)> {
    let mut brought = BroughtMessages::default();
    let round = HandedRound::find(shared, session).await?;
    let calls = round.as_ref().map_or(&[][..], |round| &round.calls);
    let mut client = TurnClient { tools, ..TurnClient::default() };
    let Some(context) = context else {
        close_calls(session, calls, results, &mut brought);
        return Ok((client, brought));
    };
    client.system = context.system_texts();
    client.tool_choice = context.tool_choice.clone();
    let Some(list) = &context.history else {
        close_calls(session, calls, results, &mut brought);
        return Ok((client, brought));
    };
    let reconciled = reconcile_history(list, &transcript(shared, session).await?, &client.tools);
    let in_list: HashSet<&CallId> =
        reconciled.new.iter().filter_map(MessageBody::answered_call).collect();
    let open: Vec<PendingCall> =
        calls.iter().filter(|call| !in_list.contains(&call.call_id())).cloned().collect();
    close_calls(session, &open, results, &mut brought);
    let mut history = reconciled.known;
    let shown: HashSet<CallId> =
        history.iter().flat_map(|message| message.calls()).map(|call| call.id.clone()).collect();
    let is_shown =
        |message: &&Arc<Message>| message.answered_call().is_some_and(|call| shown.contains(call));
    history.extend(brought.0.iter().filter(is_shown).cloned());
    for body in reconciled.new {
        history.push(brought.push(session, body));
    }
    client.history = Some(history);
    Ok((client, brought))
}

/// All that was said in a session: also what has left its page, since a client may still send it.
async fn transcript(
    shared: &AgentShared,
    session: &LoadedSession,
) -> AgentResult<Vec<Arc<Message>>> {
    if session.carry.history_from.is_none() && session.taken_back.is_empty() {
        return Ok(session.messages.clone());
    }
    let stored = shared.parts.store.messages(session.session.id, None).await?;
    Ok(stored.into_iter().map(|stored| stored.message).collect())
}

/// Gives every call that still waits its result, or one that says that none came.
fn close_calls(
    session: &LoadedSession,
    calls: &[PendingCall],
    results: &[ClientResult],
    brought: &mut BroughtMessages,
) {
    for call in calls {
        let result = results.iter().find(|result| *result.call.0 == *call.id);
        let text =
            result.map_or_else(|| Text::from(HandedResult::MISSING), |result| result.text.clone());
        brought.push(session, call.result(text));
    }
}

/// What stands as the result of a call that was handed to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedResult<'a> {
    /// What the client brought.
    Brought(&'a str),
    /// Nothing: the client went on without it.
    Missing,
}

impl<'a> HandedResult<'a> {
    /// What models read in place of a result that never came.
    pub const MISSING: &'static str =
        "no result: the client went on with another message; whether the call was run is unknown";

    /// Reads the text of a result.
    pub fn read(text: &'a str) -> Self {
        match text == Self::MISSING {
            true => HandedResult::Missing,
            false => HandedResult::Brought(text),
        }
    }
}

/// Calls that were handed to a client and wait for their results.
#[derive(Debug)]
struct HandedRound {
    /// The turn that handed them out.
    turn: StoredTurn,
    calls: Vec<PendingCall>,
}

impl HandedRound {
    /// The calls of the session that wait for a client's results, if there are any. They are
    /// the last that was said.
    async fn find(shared: &AgentShared, session: &LoadedSession) -> AgentResult<Option<Self>> {
        let messages = &session.messages;
        let start = messages.iter().rposition(|message| message.is_user()).unwrap_or(0);
        let calls = open_calls(&messages[start..]);
        let reply = messages[start..].iter().rfind(|message| !message.calls().is_empty());
        let (Some(reply), false) = (reply, calls.is_empty()) else { return Ok(None) };
        let store = &shared.parts.store;
        let stored = store.messages_within(session.session.id, reply.id..=reply.id).await?;
        let Some(turn) = stored.first().and_then(|stored| stored.turn) else { return Ok(None) };
        let turn = store.turn(turn).await?;
        let handed_out = TurnStatus::Ended(TurnEnding::HandedOut);
        let turn = turn.filter(|turn| turn.status == handed_out);
        Ok(turn.map(|turn| HandedRound { turn, calls }))
    }
}

/// What goes on with a turn that handed calls out.
#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) turn: StoredTurn,
    pub(super) state: TurnState,
    pub(super) results: Vec<ToolResult>,
}

impl Continuation {
    /// Finds the turn that these results belong to. Nothing is stored while one of them is
    /// missing, or belongs to no call: the client can still bring the right ones.
    pub(super) async fn find(
        shared: &AgentShared,
        session: &LoadedSession,
        results: &[ClientResult],
    ) -> AgentResult<Self> {
        let Some(round) = HandedRound::find(shared, session).await? else {
            check_results(session, &[], results)?;
            return Err(AgentError::EmptyMessage);
        };
        let HandedRound { turn, calls } = round;
        check_results(session, &calls, results)?;
        let given = |call: &PendingCall| results.iter().find(|result| *result.call.0 == *call.id);
        let missing = calls.iter().filter(|call| given(call).is_none());
        let missing: Vec<String> = missing.map(|call| call.id.clone()).collect();
        if !missing.is_empty() {
            return Err(AgentError::MissingResults { calls: missing });
        }
        let results = calls.iter().filter_map(|call| {
            Some(ToolResult {
                call: call.call_id(),
                name: call.name.as_str().into(),
                text: given(call)?.text.to_string(),
                outcome: ToolOutcome::Done,
            })
        });
        let results = results.collect();
        let state = turn.state.as_ref().and_then(TurnState::read);
        let state = state.ok_or(AgentError::StateLost { turn: turn.id })?.continued();
        Ok(Continuation { turn, state, results })
    }
}

/// Refuses results of calls that don't wait for one, before anything is stored.
pub(super) async fn check_waiting(
    shared: &AgentShared,
    session: &LoadedSession,
    results: &[ClientResult],
) -> AgentResult {
    let round = HandedRound::find(shared, session).await?;
    check_results(session, round.as_ref().map_or(&[][..], |round| &round.calls), results)
}

fn check_results(
    session: &LoadedSession,
    open: &[PendingCall],
    results: &[ClientResult],
) -> AgentResult {
    let mut given = HashSet::new();
    for ClientResult { call, .. } in results {
        let is_open = open.iter().any(|open| *open.id == *call.0);
        let is_answered =
            || session.messages.iter().any(|message| message.answered_call() == Some(call));
        let name = call.0.to_string();
        match (is_open, given.insert(call)) {
            (true, true) => {}
            (true, false) => return Err(AgentError::AnsweredCall { call: name }),
            (false, _) if is_answered() => return Err(AgentError::AnsweredCall { call: name }),
            (false, _) => return Err(AgentError::UnknownCall { call: name }),
        }
    }
    Ok(())
}

impl TurnRun<'_> {
    /// Parts the calls of a reply into Recto's and the client's. A client's call gets an
    /// identity that no other of the session has: its result is known by that alone, and some
    /// servers use the same again and again.
    pub(super) fn part_calls(
        &self,
        request: &RequestContext,
        calls: &mut [ToolCall],
    ) -> (Vec<ToolCall>, Vec<ToolCall>) {
        if !request.tools.iter().any(|tool| tool.spec.is_client_tool()) {
            return (calls.to_vec(), Vec::new());
        }
        let is_client = |name: &str| {
            let mut tools = request.tools.iter().map(|tool| &tool.spec);
            tools.any(|tool| *tool.called == *name && tool.is_client_tool())
        };
        let earlier = self.session.messages.iter().chain(&self.session.taken_back);
        let mut used: HashSet<CallId> =
            earlier.flat_map(|message| message.calls()).map(|call| call.id.clone()).collect();
        used.extend(calls.iter().filter(|call| !is_client(&call.name)).map(|call| call.id.clone()));
        let message = self.next_message();
        for (index, call) in calls.iter_mut().enumerate() {
            if is_client(&call.name) && (call.id.0.is_empty() || !used.insert(call.id.clone())) {
                call.id = CallId(format!("call_{}_{index}", message.0).into());
            }
        }
        calls.iter().cloned().partition(|call| !is_client(&call.name))
    }

    /// The calls that the client is to run, under its own names for its tools.
    pub(super) fn handed_calls(&self) -> Vec<ClientCall> {
        let (_, of_turn) = self.session.split_at(self.message_id);
        let pending = self.pending.messages.iter().map(|new| &new.message);
        let all = of_turn.iter().chain(pending).flat_map(|message| message.calls());
        let tools = self.previous.iter().flat_map(|request| &request.tools);
        let own_name = |called: &str| {
            let mut own = tools.clone().filter(|tool| tool.spec.is_client_tool());
            let tool = own.find(|tool| *tool.spec.called == *called);
            tool.map_or_else(|| called.to_owned(), |tool| tool.spec.id.name.to_string())
        };
        let handed = self.state.handed();
        all.filter(|call| handed.iter().any(|handed| *handed.id == *call.id.0))
            .map(|call| ClientCall {
                id: call.id.0.to_string(),
                name: own_name(&call.name),
                arguments: call.arguments.to_string(),
            })
            .collect()
    }
}
