//! Whether people write in a language that the encoder knows.

use recto_agent::is_typed_in;
use recto_context::{MessageBody, visible_text};
use recto_search::Encoder;
use recto_store::{MessageCursor, SessionFilter};
use serde_json::json;

use super::{DoctorFinding, FindingState};
use crate::config::Settings;
use crate::output::counted;
use crate::setup;

/// How many sessions are looked into, those first in which something was said last, and how many
/// messages of each.
const SESSIONS: usize = 10;
const MESSAGES: u32 = 50;

/// How many messages in another language are worth a word, and which share of all: who quotes a
/// sentence now and then writes in none.
const FEW: usize = 3;
const SHARE: f32 = 0.1;

/// Reports messages in a language that the encoder does not know, where there are some.
pub(super) async fn finding(settings: &Settings, encoder: &Encoder) -> Option<DoctorFinding> {
    let typed = last_messages(settings).await?;
    let read = typed.iter().filter_map(|text| encoder.count_words(text));
    let read: Vec<_> = read.filter(|words| words.is_telling()).collect();
    let foreign = read.iter().filter(|words| words.is_foreign()).count();
    if foreign < FEW || (foreign as f32) < SHARE * read.len() as f32 {
        return None;
    }
    let text = format!(
        "{foreign} of the last {} are in a language that the encoder ({}) hardly knows: search \
         finds little for them by meaning",
        counted(read.len(), "message"),
        encoder.name()
    );
    let hint = "what has words in common with a message is found all the same: describe items in \
                the languages that you write in, or set a multilingual encoder (`search.encoder`; \
                docs/search.md names some)";
    let found = DoctorFinding::new("language", FindingState::Warning, text).hint(hint.to_owned());
    Some(found.data(json!({"messages": read.len(), "foreign": foreign})))
}

/// What people typed last to an agent; nothing where there is no store yet, or it can't be read.
/// Tasks of sub-agents and of schedules were typed by nobody just then.
async fn last_messages(settings: &Settings) -> Option<Vec<String>> {
    if !setup::has_store(settings) {
        return None;
    }
    let store = setup::store(settings).ok()?;
    let mut sessions = store.sessions(SessionFilter::All).await.ok()?;
    sessions.retain(|summary| {
        summary.session.agent == settings.agent.name && is_typed_in(&summary.session)
    });
    sessions.sort_by_key(|summary| std::cmp::Reverse(summary.last));
    let mut typed = Vec::new();
    for summary in sessions.iter().take(SESSIONS) {
        let page = store.messages_page(summary.session.id, MessageCursor::Newest, MESSAGES).await;
        typed.extend(page.ok()?.iter().filter_map(|stored| match &stored.message.body {
            MessageBody::User(user) => Some(visible_text(&user.content)),
            _ => None,
        }));
    }
    Some(typed)
}
