//! Answers that have the very id of their question.
//!
//! Questions to servers are numbered, and JSON-RPC has an answer repeat the number as it is. The
//! library also takes `"1"` for 1; here such an answer is told as the fault that it is, so that
//! nothing counts as the answer to a question that it does not name.

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, NumberOrString, ServerJsonRpcMessage};
use rmcp::transport::Transport;

/// A transport that hands on no answer under another id than the question's.
pub(super) struct OwnIds<T>(pub(super) T);

impl<T: Transport<RoleClient>> Transport<RoleClient> for OwnIds<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.0.receive().await?;
            if let Some(message) = with_own_id(message) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}

/// A message, with an error in the place of an answer whose id is a text; `None` if the text is
/// no question's number.
fn with_own_id(message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let id = match &message {
        ServerJsonRpcMessage::Response(answer) => Some(&answer.id),
        ServerJsonRpcMessage::Error(answer) => answer.id.as_ref(),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
    };
    let Some(NumberOrString::String(text)) = id else { return Some(message) };
    let number: i64 = text.parse().ok()?;
    let what = format!("it answers with the text \"{number}\" as the id, where {number} was asked");
    let error = ErrorData::invalid_request(what, None);
    Some(ServerJsonRpcMessage::error(error, Some(NumberOrString::Number(number))))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn passed(message: Value) -> Option<Value> {
        let message = with_own_id(serde_json::from_value(message).unwrap());
        message.map(|message| serde_json::to_value(message).unwrap())
    }

    #[test]
    fn an_answer_under_its_number_is_one() {
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}),
            json!({"jsonrpc": "2.0", "id": "1", "method": "ping"}),
        ] {
            assert_eq!(passed(message.clone()), Some(message));
        }
    }

    #[test]
    fn an_answer_under_a_text_is_none() {
        for answer in [json!({"result": {}}), json!({"error": {"code": -1, "message": "no"}})] {
            let mut message = answer;
            (message["jsonrpc"], message["id"]) = (json!("2.0"), json!("1"));
            let told = passed(message.clone()).unwrap();
            assert_eq!((&told["id"], &told["error"]["code"]), (&json!(1), &json!(-32600)));
            message["id"] = json!("one");
            assert_eq!(passed(message), None);
        }
    }
}
