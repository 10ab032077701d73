//! One turn as it was recorded: its requests, which of them are pages, and all of it as JSON.

use recto_store::{RequestId, RequestRecord, StoredTurn, TurnId, TurnRetractions};
use serde_json::{Value, json};

use super::json::{approval_json, message_json, request_json, turn_json};
use super::reader::RecordReader;
use crate::error::{AgentError, AgentResult};
use crate::open_turns::find_open_turn;
use crate::record::RequestPurpose;

/// A turn that its reader's actor may see, with a way to what was recorded of it.
#[derive(Debug, Clone)]
pub struct TurnRecord<'a> {
    pub(super) reader: RecordReader<'a>,
    pub(super) turn: StoredTurn,
}

impl TurnRecord<'_> {
    /// The number of the turn.
    pub fn id(&self) -> TurnId {
        self.turn.id
    }

    /// The turn itself.
    pub fn turn(&self) -> &StoredTurn {
        &self.turn
    }

    /// The request of that number, counted within the turn.
    pub async fn request(&self, number: u32) -> AgentResult<RequestRecord> {
        let requests = self.request_ids().await?;
        let found = match requests.iter().find(|(found, _)| *found == number) {
            Some((_, id)) => self.reader.store.request(*id).await?,
            None => None,
        };
        match found {
            Some(request) => Ok(request),
            None if requests.is_empty() => Err(self.sent_nothing().await?),
            None => {
                let (turn, count) = (self.turn.id, requests.len());
                Err(AgentError::NoSuchRequest { turn, number, count })
            }
        }
    }

    /// The page that the turn sent last: it shows all that the turn came to have.
    pub async fn last_page(&self) -> AgentResult<RequestRecord> {
        let requests = self.request_ids().await?;
        match self.find_page(requests.iter().rev().map(|(_, id)| *id)).await? {
            Some(page) => Ok(page),
            None => Err(self.sent_no_page(requests.len()).await?),
        }
    }

    /// The page that the turn sent first.
    pub async fn first_page(&self) -> AgentResult<RequestRecord> {
        let requests = self.request_ids().await?;
        match self.find_page(requests.iter().map(|(_, id)| *id)).await? {
            Some(page) => Ok(page),
            None => Err(self.sent_no_page(requests.len()).await?),
        }
    }

    /// The request of that number, or the last page where none is named.
    pub async fn request_or_page(&self, number: Option<u32>) -> AgentResult<RequestRecord> {
        match number {
            Some(number) => self.request(number).await,
            None => self.last_page().await,
        }
    }

    /// All pages of the turn, in order.
    pub async fn pages(&self) -> AgentResult<Vec<RequestRecord>> {
        let requests = self.reader.store.requests(self.turn.id).await?;
        let count = requests.len();
        let pages: Vec<RequestRecord> = requests.into_iter().filter(is_page).collect();
        if pages.is_empty() { Err(self.sent_no_page(count).await?) } else { Ok(pages) }
    }

    /// The bytes that one of the requests sent: that of the number, or the last page.
    pub async fn body(&self, number: Option<u32>) -> AgentResult<Vec<u8>> {
        let request = self.request_or_page(number).await?;
        Ok(self.reader.store.body(request.id).await?)
    }

    /// All that is known of the turn, with all of its requests or with one of them.
    pub async fn json(&self, number: Option<u32>) -> AgentResult<Value> {
        let store = self.reader.store;
        let made = match number {
            Some(number) => vec![self.request(number).await?],
            None => store.requests(self.turn.id).await?,
        };
        let mut requests = Vec::new();
        for request in made {
            let body = store.body(request.id).await?;
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            requests.push(request_json(store, &request, body).await?);
        }
        let messages = store.messages_of_turn(&self.turn).await?;
        Ok(json!({
            "turn": self.turn_json().await?,
            "approvals": self.approvals_json().await?,
            "messages": messages.iter().map(message_json).collect::<Vec<_>>(),
            "requests": requests,
        }))
    }

    /// The turn itself, with what it has to do with exchanges that were taken back, and with
    /// tasks of sub-agents.
    pub async fn turn_json(&self) -> AgentResult<Value> {
        let store = self.reader.store;
        let TurnRetractions { taken_back, replaces } =
            store.retractions_of_turn(self.turn.id).await?;
        let question = find_open_turn(store, &self.turn).await?.and_then(|open| open.question);
        let mut described = turn_json(&self.turn, question.as_ref());
        described["taken_back"] = json!(taken_back);
        described["replaces"] = json!(replaces);
        let delegated = store.delegation_in(self.turn.session).await?;
        described["sub_agent"] = json!(delegated.as_ref().map(|task| &task.agent));
        described["delegated_by"] = json!(delegated.and_then(|task| task.parent));
        described["delegations"] = json!(store.delegations_of(self.turn.id).await?);
        Ok(described)
    }

    /// What was asked in the turn, with the answers.
    pub async fn approvals_json(&self) -> AgentResult<Vec<Value>> {
        let store = self.reader.store;
        let approvals = store.approvals_of(self.turn.id).await?;
        let session = store.session(self.turn.session).await?;
        Ok(approvals.iter().map(|approval| approval_json(approval, session.as_ref())).collect())
    }

    /// The last turn of the session before this one that sent a page.
    pub async fn turn_before(&self) -> AgentResult<Self> {
        let store = self.reader.store;
        let turns = store.turns(self.turn.session).await?;
        let earlier = turns.into_iter().rev().filter(|turn| turn.number < self.turn.number);
        for turn in earlier {
            let requests = store.request_ids(turn.id).await?;
            if self.find_page(requests.iter().rev().map(|(_, id)| *id)).await?.is_some() {
                return Ok(TurnRecord { reader: self.reader, turn });
            }
        }
        Err(AgentError::NoTurnBefore { turn: self.turn.id })
    }

    pub(super) async fn request_ids(&self) -> AgentResult<Vec<(u32, RequestId)>> {
        Ok(self.reader.store.request_ids(self.turn.id).await?)
    }

    /// The first of these requests that is a page of the conversation.
    async fn find_page(
        &self,
        requests: impl Iterator<Item = RequestId>,
    ) -> AgentResult<Option<RequestRecord>> {
        for id in requests {
            let request = self.reader.store.request(id).await?;
            if let Some(page) = request.filter(is_page) {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The error of a turn whose `count` requests, if any, are no pages.
    async fn sent_no_page(&self, count: usize) -> AgentResult<AgentError> {
        match u32::try_from(count) {
            Ok(0) => self.sent_nothing().await,
            request => Ok(AgentError::OnlySummary {
                turn: self.turn.id,
                request: request.unwrap_or(u32::MAX),
            }),
        }
    }

    /// The error of a turn that made no request, with the last turn that did.
    pub(super) async fn sent_nothing(&self) -> AgentResult<AgentError> {
        if self.reader.store.turn_tokens(self.turn.id).await?.requests > 0 {
            return Ok(AgentError::RecordDropped { turn: self.turn.id });
        }
        let sent = match self.reader.store.last_turn_with_request().await? {
            Some(sent) if self.reader.turn(sent.id).await.is_ok() => Some(sent.id),
            _ => None,
        };
        let why = match &self.turn.detail {
            Some(detail) => format!("it ended with: {detail}"),
            None => format!("it is {}", self.turn.status),
        };
        Ok(AgentError::SentNothing { turn: self.turn.id, why, sent })
    }
}

/// Whether a request is a page of the conversation.
fn is_page(request: &RequestRecord) -> bool {
    RequestPurpose::from_record(request) == RequestPurpose::Page
}
