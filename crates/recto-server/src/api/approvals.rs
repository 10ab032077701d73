//! Questions whether a tool may run, and answers to them.

use axum::Json;
use axum::extract::State;
use recto_agent::{AnsweredApproval, RecordReader, TurnContinues, approval_json};
use recto_store::{ApprovalAnswer, ApprovalId, StoredSession};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::shapes::{AnsweredShape, ApprovalListShape, ApprovalShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathId};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Which questions are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApprovalListQuery {
    /// Those of this session alone.
    session: Option<i64>,
}

/// Lists the questions that wait for an answer, oldest first.
#[utoipa::path(
    get, path = "/api/approvals", tag = "questions", params(ApprovalListQuery),
    responses((status = 200, description = "The questions", body = ApprovalListShape))
)]
pub(crate) async fn list_approvals(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<ApprovalListQuery>,
) -> ApiResult<Json<Value>> {
    let mut open = RecordReader::new(gateway.store(), &actor).open_approvals().await?;
    open.retain(|(_, session)| query.session.is_none_or(|meant| meant == session.id.get()));
    let listed: Vec<Value> =
        open.iter().map(|(approval, session)| approval_json(approval, Some(session))).collect();
    Ok(Json(json!({"approvals": listed})))
}

/// Shows a question, answered or not.
#[utoipa::path(
    get, path = "/api/approvals/{approval}", tag = "questions",
    params(("approval" = i64, Path, minimum = 1, description = "The number of the question")),
    responses((status = 200, description = "The question", body = ApprovalShape))
)]
pub(crate) async fn show_approval(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(approval): PathId<ApprovalId>,
) -> ApiResult<Json<Value>> {
    let (approval, session) = RecordReader::new(gateway.store(), &actor).approval(approval).await?;
    Ok(Json(approval_json(&approval, Some(&session))))
}

/// What a person says to a question.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalWord {
    /// The tool may run this time.
    Once,
    /// It may run in this session from now on.
    Session,
    /// It may not run.
    Deny,
}

impl From<ApprovalWord> for ApprovalAnswer {
    fn from(word: ApprovalWord) -> Self {
        match word {
            ApprovalWord::Once => ApprovalAnswer::Once,
            ApprovalWord::Session => ApprovalAnswer::Session,
            ApprovalWord::Deny => ApprovalAnswer::Denied,
        }
    }
}

/// An answer to a question.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalBody {
    /// What the person says.
    answer: ApprovalWord,
}

/// Answers a question; the turn goes on when all of its questions are answered.
#[utoipa::path(
    post, path = "/api/approvals/{approval}", tag = "questions", request_body = ApprovalBody,
    params(("approval" = i64, Path, minimum = 1, description = "The number of the question")),
    responses((status = 200, description = "The question with its answer", body = AnsweredShape))
)]
pub(crate) async fn answer_approval(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(id): PathId<ApprovalId>,
    ApiJson(body): ApiJson<ApprovalBody>,
) -> ApiResult<Json<Value>> {
    let (approval, _) = RecordReader::new(gateway.store(), &actor).approval(id).await?;
    let (agent, session) = gateway.find_session(&actor, approval.session).await?;
    let answered = agent.answer(&actor, id, body.answer.into()).await?;
    Ok(Json(answered_json(&answered, &session)))
}

fn answered_json(answered: &AnsweredApproval, session: &StoredSession) -> Value {
    let mut json = approval_json(&answered.approval, Some(session));
    json["goes_on"] = match answered.goes_on {
        TurnContinues::Here => "here",
        TurnContinues::Elsewhere => "elsewhere",
        TurnContinues::WhenAllAreAnswered => "when_all_are_answered",
    }
    .into();
    json
}
