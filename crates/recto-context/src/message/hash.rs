//! The hash of a message: of all that a model gets to see of it.
//!
//! A message's stamp, framing and kept picks are not in it, nor the name of an image's file. They stand on the
//! page as parts and leads of their own, and a record keeps them there. Who wrote it, in
//! a group, is: the same words of somebody else are another message.

use super::{ContentPart, Message, MessageBody, OpaqueKind};
use crate::text::ContentHash;

/// The bytes that most messages take: a text, or a result of a tool. Records name every message of a
/// page by its hash, so that growing there step by step would be felt.
const TYPICAL: usize = 192;

impl Message {
    /// The hash of what was said, by whom, with which calls. Its number is not in it.
    ///
    /// Records refer to messages by it, so it must not change from version to
    /// version.
    pub fn hash(&self) -> ContentHash {
        let mut fields = HashInput { bytes: Vec::with_capacity(TYPICAL) };
        match &self.body {
            MessageBody::User(user) => match &user.speaker {
                Some(speaker) => fields.tag(b's').add(speaker.as_str().as_bytes()),
                None => fields.tag(b'u'),
            },
            MessageBody::Assistant { .. } => fields.tag(b'a'),
            MessageBody::Tool { call, name, .. } => {
                fields.tag(b't').add(call.0.as_bytes()).add(name.as_bytes())
            }
            MessageBody::Error(text) => fields.tag(b'e').add(text.hash().as_bytes()),
            MessageBody::Approval(text) => fields.tag(b'p').add(text.hash().as_bytes()),
        };
        self.content().iter().for_each(|part| fields.add_content(part));
        for call in self.calls() {
            fields.tag(b'c').add(call.id.0.as_bytes()).add(call.name.as_bytes());
            fields.add(call.arguments.hash().as_bytes());
        }
        ContentHash::of_bytes(&fields.bytes)
    }
}

/// Fields one after the other, each with its length, so that no two lists of
/// fields have the same bytes.
struct HashInput {
    bytes: Vec<u8>,
}

impl HashInput {
    /// Says what the fields that follow are.
    fn tag(&mut self, tag: u8) -> &mut Self {
        self.bytes.push(tag);
        self
    }

    fn add(&mut self, field: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(field);
        self
    }

    fn add_content(&mut self, part: &ContentPart) {
        match part {
            ContentPart::Text(text) => self.tag(b'x').add(text.hash().as_bytes()),
            ContentPart::Image(image) => {
                let data = image.data.hash();
                self.tag(b'i').add(image.media_type.as_bytes()).add(data.as_bytes())
            }
            ContentPart::File(file) => {
                let text = file.text().hash();
                self.tag(b'f').add(file.name().as_bytes()).add(text.as_bytes())
            }
            ContentPart::Opaque(opaque) => {
                let json = opaque.json.hash();
                let tag = match opaque.kind {
                    OpaqueKind::Thought => b'o',
                    OpaqueKind::Echo => b'O',
                };
                self.tag(tag).add(opaque.provider.as_bytes()).add(json.as_bytes())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::message::read_jsonl;

    #[test]
    fn whatever_a_model_sees_changes_the_hash() {
        let different = [
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"b"}"#,
            r#"{"role":"user","content":"a","speaker":"Ada"}"#,
            r#"{"role":"user","content":"a","speaker":"Ben"}"#,
            r#"{"role":"user","content":null}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"image","media_type":"x","data":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"image","media_type":"y","data":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"image","media_type":"x","data":"b"}]}"#,
            r#"{"role":"user","content":[{"type":"file","name":"x","text":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"file","name":"y","text":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"file","name":"x","text":"b"}]}"#,
            r#"{"role":"user","content":[{"type":"opaque","provider":"x","json":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"opaque","provider":"y","json":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"echo","provider":"y","json":"a"}]}"#,
            r#"{"role":"assistant","content":"a"}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{}"}]}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"2","name":"f","arguments":"{}"}]}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"1","name":"g","arguments":"{}"}]}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{ }"}]}"#,
            r#"{"role":"tool","content":"a","tool_call_id":"1","name":"f"}"#,
            r#"{"role":"tool","content":"a","tool_call_id":"2","name":"f"}"#,
            r#"{"role":"tool","content":"a","tool_call_id":"1","name":"g"}"#,
            r#"{"role":"error","content":"a"}"#,
            r#"{"role":"approval","content":"a"}"#,
        ];
        let messages = read_jsonl(&different.join("\n")).unwrap();
        let hashes: HashSet<_> = messages.iter().map(|message| message.hash()).collect();
        assert_eq!(hashes.len(), different.len());
    }

    #[test]
    fn what_stands_on_the_page_by_itself_does_not() {
        let same = [
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"a","stamp":"2026-11-15 08:07"}"#,
            r#"{"role":"user","content":"a","framing":"call_tools"}"#,
            r#"{"role":"user","content":"a","picks":[{"item":{"kind":"rule","name":"b"},"since":1}]}"#,
        ];
        let messages = read_jsonl(&same.join("\n")).unwrap();
        assert!(messages.iter().all(|message| message.hash() == messages[0].hash()));
    }
}
