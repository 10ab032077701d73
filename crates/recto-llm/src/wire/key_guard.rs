//! Takes the key of a server out of what the server replies.
//!
//! Some gateways echo requests, headers and all, and a model can be made to repeat what it was
//! shown of them. A reply is told while it comes, so a piece that ends as the key begins is held
//! back until it is clear what follows. In what is JSON, which others read, the key is found however
//! JSON may write it; elsewhere only as it stands.

use recto_context::{ContentPart, Opaque};

use super::ReplyDelta;
use super::decode::DecodedReply;
use crate::api_key::{ApiKey, REDACTED};
use crate::reply::FinishReason;

/// The key that must not be in a reply, and what is held back of the reply's end.
#[derive(Debug)]
pub(super) struct KeyGuard {
    key: ApiKey,
    text: String,
    thought: String,
}

impl KeyGuard {
    /// The guard of a key, unless it is too short to be one.
    pub(super) fn new(key: &ApiKey) -> Option<Self> {
        let (text, thought) = (String::new(), String::new());
        key.is_telling().then(|| KeyGuard { key: key.clone(), text, thought })
    }

    /// What can be told of the reply so far, behind what was told before.
    pub(super) fn filter(&mut self, deltas: Vec<ReplyDelta>) -> Vec<ReplyDelta> {
        let mut told = Vec::with_capacity(deltas.len());
        for delta in deltas {
            let Some(key) = self.key.expose() else { continue };
            let delta = match delta {
                ReplyDelta::Text(piece) => ReplyDelta::Text(pass(key, &mut self.text, &piece)),
                ReplyDelta::Thinking(piece) => {
                    ReplyDelta::Thinking(pass(key, &mut self.thought, &piece))
                }
            };
            let (ReplyDelta::Text(piece) | ReplyDelta::Thinking(piece)) = &delta;
            if !piece.is_empty() {
                told.push(delta);
            }
        }
        told
    }

    /// What was held back: nothing follows that could make the key of it.
    pub(super) fn rest(&mut self) -> Vec<ReplyDelta> {
        let (thought, text) = (std::mem::take(&mut self.thought), std::mem::take(&mut self.text));
        let mut rest = Vec::new();
        rest.extend((!thought.is_empty()).then_some(ReplyDelta::Thinking(thought)));
        rest.extend((!text.is_empty()).then_some(ReplyDelta::Text(text)));
        rest
    }

    /// Takes the key out of the whole reply, before its calls get ids: two that differed by the key
    /// alone are one then.
    pub(super) fn redact(&self, reply: &mut DecodedReply) {
        let redacted = |text: &str| self.key.redact(text);
        let redacted_json = |json: &str| match self.key.expose() {
            Some(key) => redact_json(key, &redacted(json)),
            None => json.to_owned(),
        };
        let part = |part: ContentPart| match part {
            ContentPart::Text(text) => ContentPart::Text(redacted(&text).into()),
            ContentPart::Opaque(opaque) => {
                ContentPart::Opaque(Opaque { json: redacted_json(&opaque.json).into(), ..opaque })
            }
            part @ (ContentPart::Image(_) | ContentPart::File(_)) => part,
        };
        reply.content = std::mem::take(&mut reply.content).into_iter().map(part).collect();
        for call in &mut reply.calls {
            for text in [&mut call.id, &mut call.name] {
                *text = redacted(text);
            }
            call.arguments = redacted_json(&call.arguments);
        }
        if let Some(FinishReason::Other(reason)) = &mut reply.finish {
            *reason = redacted(reason);
        }
    }
}

/// What can be told of `held` with `piece` behind it; the rest is held on.
fn pass(key: &str, held: &mut String, piece: &str) -> String {
    held.push_str(piece);
    let mut told = String::new();
    let mut rest = held.as_str();
    while let Some(at) = rest.find(key) {
        told.push_str(&rest[..at]);
        told.push_str(REDACTED);
        rest = &rest[at + key.len()..];
    }
    let begins_key = |at: &usize| key.starts_with(&rest[*at..]);
    let kept = rest.char_indices().map(|(at, _)| at);
    // The key is at most as long as what has to be looked at.
    let near = kept.filter(|at| rest.len() - at < key.len());
    let cut = near.into_iter().find(begins_key).unwrap_or(rest.len());
    told.push_str(&rest[..cut]);
    *held = rest[cut..].to_owned();
    told
}

/// A text that is JSON, whole or in part, without what means the key in it.
fn redact_json(key: &str, json: &str) -> String {
    let mut told = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((_, bytes)) = first_char(rest) {
        let key_bytes = key_length(key, rest);
        told.push_str(key_bytes.map_or(&rest[..bytes], |_| REDACTED));
        rest = &rest[key_bytes.unwrap_or(bytes)..];
    }
    told
}

/// How many bytes the key takes up, if the text begins with it.
fn key_length(key: &str, json: &str) -> Option<usize> {
    key.chars().try_fold(0, |length, expected| {
        let (found, bytes) = first_char(&json[length..])?;
        (found == expected).then_some(length + bytes)
    })
}

/// The character that the text begins with, or the escape that it begins with means, and how many
/// bytes that takes up.
fn first_char(json: &str) -> Option<(char, usize)> {
    let first = json.chars().next()?;
    let escaped = if first == '\\' { escaped_char(json) } else { None };
    Some(escaped.unwrap_or((first, first.len_utf8())))
}

fn escaped_char(json: &str) -> Option<(char, usize)> {
    let meant = match json.as_bytes().get(1)? {
        b'u' => return escaped_unit(json),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        same @ (b'"' | b'\\' | b'/') => char::from(*same),
        _ => return None,
    };
    Some((meant, 2))
}

/// The character of `\u` with its number, or of two of them that are one character.
fn escaped_unit(json: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    let units = [first, unit(6).unwrap_or_default()];
    let meant = char::decode_utf16(units).next()?.ok()?;
    Some((meant, 6 * meant.len_utf16()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-sk-hunter2-ä-long";

    fn guard() -> KeyGuard {
        KeyGuard::new(&ApiKey::new(KEY)).unwrap()
    }

    fn told(pieces: &[&str]) -> String {
        let mut guard = guard();
        let deltas = pieces.iter().map(|piece| ReplyDelta::Text((*piece).to_owned()));
        let mut told = guard.filter(deltas.collect());
        told.extend(guard.rest());
        told.iter()
            .map(|delta| match delta {
                ReplyDelta::Text(text) | ReplyDelta::Thinking(text) => text.as_str(),
            })
            .collect()
    }

    #[test]
    fn a_key_is_found_however_a_reply_is_cut() {
        let reply = format!("It is {KEY}, sk-{KEY}{KEY} or sk-sk-hunt.");
        let expected = "It is [secret], sk-[secret][secret] or sk-sk-hunt.";
        for at in (0..=reply.len()).filter(|at| reply.is_char_boundary(*at)) {
            assert_eq!(told(&[&reply[..at], &reply[at..]]), expected, "cut at {at}");
        }
        let letters: Vec<String> = reply.chars().map(String::from).collect();
        assert_eq!(told(&letters.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn nothing_is_held_back_but_what_may_become_the_key() {
        let mut guard = guard();
        let mut filter = |text: &str| guard.filter(vec![ReplyDelta::Text(text.to_owned())]);
        assert_eq!(filter("Hello"), [ReplyDelta::Text("Hello".to_owned())]);
        assert_eq!(filter(" sk-"), [ReplyDelta::Text(" ".to_owned())]);
        assert_eq!(filter("ip"), [ReplyDelta::Text("sk-ip".to_owned())]);
        assert_eq!(guard.rest(), []);
    }

    #[test]
    fn a_key_is_found_however_json_writes_it() {
        let key = "sk-\"ä/😀\\-long";
        let every = |c: char| {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>()
        };
        let escaped: String = key.chars().map(every).collect();
        let usual = serde_json::to_string(key).unwrap();
        let mixed = usual.replace('/', "\\/").replace('k', "\\u006B");
        for json in [format!("\"{escaped}\""), usual, mixed] {
            assert_eq!(redact_json(key, &json), "\"[secret]\"", "{json}");
            let cut = format!("{{\"a\":[1,{json},{}", json.trim_end_matches('"'));
            assert_eq!(redact_json(key, &cut), "{\"a\":[1,\"[secret]\",\"[secret]", "{cut}");
        }
    }

    #[test]
    fn json_without_the_key_stays_as_it_is() {
        let key = "sk-hunter2-long";
        for json in [
            r#"{"a": "\\u0073k-hunter2-long"}"#,
            r#"{"a": "\u0073k-hunter2-", "b": "\ud83d\ude00 \ud83d x\n"}"#,
            "\\",
            "\\u",
            "\\u00",
            "\\u00ä0",
            "\\u+073k",
            "\\q",
            "",
        ] {
            assert_eq!(redact_json(key, json), json);
        }
    }

    #[test]
    fn a_word_that_stands_for_no_key_stays() {
        for key in ["", "ollama", "not-needed"] {
            assert!(KeyGuard::new(&ApiKey::new(key)).is_none(), "{key}");
        }
    }
}
