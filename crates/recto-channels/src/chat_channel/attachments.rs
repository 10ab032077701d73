//! What comes along with a message: texts are read to the model within their limit, images go to
//! models that look at them, and everything else is named.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recto_agent::{Agent, ModelEntry, SessionSettings};
use recto_context::{AttachedFile, ContentPart, Image, SpeakerName, byte_words};
use recto_llm::FeatureSupport;
use recto_store::StoredSession;

use super::ChatChannel;
use crate::incoming::{IncomingFile, IncomingMessage, QuotedMessage};
use crate::lines::{indented, indented_file, quoted};
use crate::service::{ChatService, FetchFailure};

/// The most bytes of an image: what services let bots fetch is not much more.
const MOST_IMAGE_BYTES: usize = 10 << 20;

/// The kinds of images that models take.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

impl<S: ChatService> ChatChannel<S> {
    /// The content of a message: its text, and what came along.
    pub(super) async fn read_content(
        &self,
        agent: &Agent,
        session: &StoredSession,
        message: &IncomingMessage,
    ) -> Vec<ContentPart> {
        let mut text = match &message.place.group {
            Some(_) => indented(&message.text),
            None => message.text.clone(),
        };
        let mut parts = Vec::new();
        for file in &message.files {
            match self.read_file(agent, session, file).await {
                Ok(ContentPart::File(file)) if message.place.group.is_some() => {
                    let text = indented_file(file.text().as_str());
                    parts.push(ContentPart::File(AttachedFile::new(file.name(), text)));
                }
                Ok(part) => {
                    if let ContentPart::Image(_) = part {
                        text.push_str(&format!("\n[{} came along]", described(file)));
                    }
                    parts.push(part);
                }
                Err(why) => text.push_str(&format!("\n[{} came along{why}]", described(file))),
            }
        }
        if let Some(QuotedMessage { speaker, text: said }) = &message.quoted {
            let name = SpeakerName::new(speaker).among_people();
            text.push_str(&format!("\n\nThis refers to what {name} said:\n{}", quoted(said)));
        }
        parts.insert(0, ContentPart::Text(text.trim().into()));
        parts
    }

    /// A file as a part of the message, or why it is only named.
    async fn read_file(
        &self,
        agent: &Agent,
        session: &StoredSession,
        file: &IncomingFile,
    ) -> Result<ContentPart, String> {
        if file.handle.is_none() {
            return Err(String::new());
        }
        let media_type = file.media_type.as_deref().unwrap_or_default();
        if IMAGE_TYPES.contains(&media_type) {
            if !takes_images(agent, session).await {
                return Err(", which this model can't look at".to_owned());
            }
            let bytes = self.fetch(file, MOST_IMAGE_BYTES).await?;
            let data = BASE64_STANDARD.encode(bytes).into();
            let name = Some(file.name.as_str().into());
            return Ok(ContentPart::Image(Image { media_type: media_type.into(), data, name }));
        }
        if !may_be_text(file) {
            return Err(", which can't be read here".to_owned());
        }
        let bytes = self.fetch(file, self.policy.max_file_bytes as usize).await?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                Ok(ContentPart::File(AttachedFile::new(&file.name, text)))
            }
            _ => Err(", which is no text".to_owned()),
        }
    }

    /// Fetches a file of at most so many bytes, or says why it is only named.
    async fn fetch(&self, file: &IncomingFile, most: usize) -> Result<Vec<u8>, String> {
        self.service.fetch_file(file, most).await.map_err(|failure| match failure {
            FetchFailure::TooLarge => {
                format!(", which is larger than {most} bytes and was not read")
            }
            FetchFailure::Failed => ", which could not be fetched".to_owned(),
        })
    }
}

/// Whether the model that answers in a session looks at images, as far as anybody knows.
async fn takes_images(agent: &Agent, session: &StoredSession) -> bool {
    match answering_model(agent, session) {
        Some(entry) => entry.image_support().await != FeatureSupport::No,
        None => false,
    }
}

/// The model that answers in a session.
pub(super) fn answering_model<'a>(
    agent: &'a Agent,
    session: &StoredSession,
) -> Option<&'a ModelEntry> {
    let chosen = SessionSettings::from_store(&session.settings).model;
    let named = chosen.and_then(|name| agent.model(&name).ok());
    named.or_else(|| agent.models().first())
}

/// Whether a file is worth a look: nobody says that it is anything but text.
fn may_be_text(file: &IncomingFile) -> bool {
    let Some(media_type) = &file.media_type else { return true };
    let (kind, name) = media_type.split_once('/').unwrap_or((media_type, ""));
    let plain =
        ["json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-sh", "sql", "octet-stream"];
    kind == "text"
        || plain.iter().any(|known| name == *known || name.ends_with(&format!("+{known}")))
}

fn described(file: &IncomingFile) -> String {
    let name = SpeakerName::new(&file.name);
    match (&file.handle, &file.media_type) {
        (None, _) | (_, None) => name.to_string(),
        (_, Some(media_type)) => format!("{name}, {media_type}, {}", byte_words(file.bytes.into())),
    }
}
