//! Images as text, for models that look at none: an earlier message keeps its words, and a line
//! stands where each of its images was.

use std::sync::Arc;

use crate::message::{ContentPart, Image, Message, MessageBody};

/// A message with a line of text in place of each of its images, behind the text before it.
pub(super) fn images_as_text(message: Arc<Message>) -> Arc<Message> {
    if message.images().next().is_none() {
        return message;
    }
    let content = replace_images(message.content());
    let body = match &message.body {
        MessageBody::User(user) => {
            let mut user = user.clone();
            user.content = content;
            MessageBody::User(user)
        }
        MessageBody::Assistant { calls, .. } => {
            MessageBody::Assistant { content, calls: calls.clone() }
        }
        MessageBody::Tool { call, name, .. } => {
            MessageBody::Tool { call: call.clone(), name: name.clone(), content }
        }
        MessageBody::Error(_) | MessageBody::Approval(_) => return message,
    };
    Arc::new(Message { id: message.id, body })
}

/// Texts and the lines for images run together, each on a line of its own; what else there is
/// stands behind them, as it stands on the page.
fn replace_images(content: &[ContentPart]) -> Vec<ContentPart> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for part in content {
        match part {
            ContentPart::Text(text) => texts.push(text.as_str().to_owned()),
            ContentPart::Image(image) => texts.push(line(image)),
            other => others.push(other.clone()),
        }
    }
    texts.retain(|text| !text.is_empty());
    let text = ContentPart::Text(texts.join("\n").into());
    [text].into_iter().chain(others).collect()
}

/// What stands in place of an image. No name can end the line.
fn line(image: &Image) -> String {
    let name = image.name.as_deref().unwrap_or_default().replace(char::is_control, " ");
    let what = if name.is_empty() { "an image".to_owned() } else { format!("image {name}") };
    format!("[{what} ({}) is left out: you can't see images]", image.media_type)
}
