//! What a record knows of what a person was told: of the message, and of a reply that is not whole.

use recto_context::Tokens;
use recto_llm::FinishReason;
use recto_store::{NewRequest, RequestRecord};
use serde::Deserialize;

use super::outline_request;
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
    let of_message = Vec::<TurnNotice>::deserialize(&request.notes[NOTE]).unwrap_or_default();
    let (Some(answer), Ok(outline)) = (&request.answer, outline_request(request)) else {
        return of_message;
    };
    let prompt_cut = answer.result["prompt_cut"] == true;
    let counted = answer.usage.prompt.filter(|_| prompt_cut);
    let expected = outline.prompt_tokens();
    let of_prompt = counted.map(|counted| NoticeFacts::PromptCut { counted, expected });
    let finish = FinishReason::deserialize(&answer.result["finish"]).ok();
    let of_reply = finish.and_then(|finish| finish_notice(&finish, outline.budget.reply));
    let of_answer = [of_prompt, of_reply].into_iter().flatten().map(TurnNotice::from);
    of_message.into_iter().chain(of_answer).collect()
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
