//! What a record knows of what a person was told: of the message, of the request, and of the answer.

use recto_context::Tokens;
use recto_llm::FinishReason;
use recto_store::{NewRequest, RequestAnswer, RequestRecord};
use serde::Deserialize;
use serde_json::Value;

use super::{RequestPurpose, outline_request};
use crate::notice::{NoticeFacts, TurnNotice};

/// The note under which a request, or the answer to it, has what was told.
const NOTE: &str = "notices";

/// Keeps with a request what is told of it. What is usual is not written down.
pub(crate) fn keep_notices(request: &mut NewRequest, told: &[TurnNotice]) {
    if !told.is_empty() {
        request.notes[NOTE] = serde_json::to_value(told).unwrap_or_default();
    }
}

/// Keeps with an answer what is told when the turn ends with it.
pub(crate) fn keep_answer_notices(answer: &mut RequestAnswer, told: &[TurnNotice]) {
    if !told.is_empty() {
        answer.result[NOTE] = serde_json::to_value(told).unwrap_or_default();
    }
}

/// What a person was told of a request and of what came back for it, as far as its record tells.
/// How the answer ended is told in the words of today, all else in those of then.
pub fn recorded_notices(request: &RequestRecord) -> Vec<TurnNotice> {
    let mut told = read_notices(&request.notes);
    told.extend(answer_notices(request).unwrap_or_default().into_iter().map(TurnNotice::from));
    told.extend(request.answer.iter().flat_map(|answer| read_notices(&answer.result)));
    told
}

fn read_notices(notes: &Value) -> Vec<TurnNotice> {
    Vec::<TurnNotice>::deserialize(&notes[NOTE]).unwrap_or_default()
}

/// What was told of how an answer ended, if it is one to a page: nobody is told that of a summary.
fn answer_notices(request: &RequestRecord) -> Option<Vec<NoticeFacts>> {
    let answer = request.answer.as_ref()?;
    let counted = answer.usage.prompt.filter(|_| answer.result["prompt_cut"] == true);
    let finish = FinishReason::deserialize(&answer.result["finish"]).ok();
    let is_usual = counted.is_none() && finish.as_ref().is_none_or(FinishReason::is_usual);
    if is_usual || RequestPurpose::from_record(request) != RequestPurpose::Page {
        return None;
    }
    let outline = outline_request(request).ok()?;
    let expected = outline.prompt_tokens();
    let of_prompt = counted.map(|counted| NoticeFacts::PromptCut { counted, expected });
    let of_reply = finish.and_then(|finish| finish_notice(&finish, outline.budget.reply));
    Some(of_prompt.into_iter().chain(of_reply).collect())
}

/// What a person should know of how a reply ended, which had this limit.
pub(crate) fn finish_notice(finish: &FinishReason, limit: Tokens) -> Option<NoticeFacts> {
    match finish {
        FinishReason::Length => Some(NoticeFacts::ReplyCutOff { limit }),
        FinishReason::Filtered => Some(NoticeFacts::ReplyWithheld),
        FinishReason::Repetition => Some(NoticeFacts::ReplyRepeated),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_is_not_whole_says_why() {
        let words = |finish| {
            let notice = finish_notice(&finish, Tokens::new(1_024)).map(TurnNotice::from);
            notice.map(|notice| notice.text).unwrap_or_default()
        };
        assert!(words(FinishReason::Length).contains("cut off at its limit of 1,024 tokens"));
        assert!(words(FinishReason::Filtered).contains("withheld"));
        assert!(words(FinishReason::Repetition).contains("over and over"));
        assert_eq!(words(FinishReason::Stop), "");
    }
}
