//! What a record knows of what a person was told: of the message, and of a reply that is not whole.

use recto_context::Tokens;
use recto_llm::FinishReason;
use recto_store::{NewRequest, RequestRecord};
use serde::Deserialize;

use super::{RequestPurpose, outline_request};
use crate::notice::{NoticeFacts, TurnNotice};

/// The note under which a request has what was told of its message.
const NOTE: &str = "notices";

/// Keeps with a request what is told of its message. What is usual is not written down.
pub(crate) fn keep_notices(request: &mut NewRequest, told: &[TurnNotice]) {
    if !told.is_empty() {
        request.notes[NOTE] = serde_json::to_value(told).unwrap_or_default();
    }
}

/// What a person was told of a request's message and of what came back for it, as far as its
/// record tells: in the words in which it was told then.
pub fn recorded_notices(request: &RequestRecord) -> Vec<TurnNotice> {
    let mut told = Vec::<TurnNotice>::deserialize(&request.notes[NOTE]).unwrap_or_default();
    told.extend(answer_notices(request).unwrap_or_default().into_iter().map(TurnNotice::from));
    told
}

/// What was told of an answer, if it is one to a page: nobody is told how a summary ended.
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
