//! The messages of a compaction, and the summary before them, as sentences with their
//! speakers.

use crate::compact::facts::{Fact, FactKind, details};
use crate::compact::render::{ASSISTANT, LISTS, PARTED, USER};
use crate::compact::sentences::sentences;
use crate::compact::{CompactionInput, cues, lists};
use crate::message::{AttachedFile, ContentPart, Message, MessageBody, SpeakerName};

use super::{KnownNames, TurnSpeaker};

/// How much of a result or of a call's arguments is read, from its beginning.
const OF_TOOL: usize = 4096;

/// The most words of a sentence that only asks whether to go on: "Does that sound good?"
const ASKING: usize = 7;

/// What somebody said at one time.
#[derive(Debug)]
pub(super) struct SpokenTurn {
    pub(super) speaker: TurnSpeaker,
    /// The person's name, where several people talk.
    pub(super) name: Option<SpeakerName>,
    pub(super) sentences: Vec<String>,
    /// Facts that stand for themselves.
    pub(super) listed: Vec<Fact>,
    /// Whether an earlier summary tells of it, so that it was worth keeping once.
    pub(super) is_recalled: bool,
    /// Whether it asks for something, or names several ways to go.
    pub(super) asks: bool,
    /// Whether it begins with a yes.
    pub(super) agrees: bool,
    /// Whether it begins as answers do that leave a question open.
    pub(super) hedges: bool,
    /// The sentence that a yes behind it would agree to.
    pub(super) proposed: Option<usize>,
}

impl SpokenTurn {
    fn new(
        speaker: TurnSpeaker,
        sentences: Vec<String>,
        listed: Vec<Fact>,
        is_recalled: bool,
    ) -> Self {
        let small: Vec<String> = match speaker {
            TurnSpeaker::Tool => Vec::new(),
            _ => sentences.iter().map(|sentence| cues::small(sentence)).collect(),
        };
        let asks =
            small.iter().any(|small| cues::is_question(small) || lists::CHOICES.has_any_in(small));
        let agrees = small.first().is_some_and(|first| cues::is_assent(first));
        let hedges = small.iter().take(2).any(|small| lists::HEDGES.has_any_in(small));
        let last = small.iter().rposition(|small| cues::is_proposal(small));
        // A short question only asks for a yes, to what stands before it.
        let only_asks = |last: usize| small[last].split(' ').count() <= ASKING;
        let proposed = last.map(|last| last.saturating_sub(usize::from(only_asks(last))));
        SpokenTurn {
            speaker,
            name: None,
            sentences,
            listed,
            is_recalled,
            asks,
            agrees,
            hedges,
            proposed,
        }
    }

    /// Its sentences as texts.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.sentences.iter().map(String::as_str)
    }
}

/// All that was said, oldest first.
pub(super) fn turns(compaction: &CompactionInput<'_>) -> Vec<SpokenTurn> {
    let recalled = compaction.before.unwrap_or_default().lines().map(recalled);
    let visible = compaction.messages.iter().filter(|message| message.is_for_models());
    recalled.chain(visible.flat_map(|message| message_turns(message))).collect()
}

/// A line of an earlier summary.
fn recalled(line: &str) -> SpokenTurn {
    let list = LISTS.iter().find_map(|(kind, label)| Some((*kind, line.strip_prefix(label)?)));
    if let Some((kind, list)) = list {
        let entries = list.split(PARTED).map(|entry| entry.trim_matches('"'));
        let entries = entries.filter(|entry| !entry.trim().is_empty());
        let listed = entries.map(|entry| Fact::new(kind, entry)).collect();
        return SpokenTurn::new(TurnSpeaker::Nobody, Vec::new(), listed, true);
    }
    let speakers = [(TurnSpeaker::User, USER), (TurnSpeaker::Assistant, ASSISTANT)];
    let marked = speakers.iter().find_map(|(who, mark)| Some((*who, line.strip_prefix(mark)?)));
    let (speaker, said) = marked.unwrap_or((TurnSpeaker::Nobody, line));
    SpokenTurn::new(speaker, sentences(said), Vec::new(), true)
}

/// What a message says, and what its calls name.
fn message_turns(message: &Message) -> Vec<SpokenTurn> {
    let speaker = match message.body {
        MessageBody::User(_) => TurnSpeaker::User,
        MessageBody::Assistant { .. } => TurnSpeaker::Assistant,
        _ => TurnSpeaker::Tool,
    };
    let texts = message.content().iter().filter_map(ContentPart::as_text);
    let read = |text: &str| match speaker {
        TurnSpeaker::Tool => sentences(beginning(text)),
        _ => sentences(text),
    };
    let said: Vec<String> = texts.flat_map(|text| read(text)).collect();
    let calls = message.calls().iter().map(|call| {
        let listed = named_in(beginning(&call.arguments));
        SpokenTurn::new(TurnSpeaker::Tool, Vec::new(), listed, false)
    });
    let name = message.as_user().and_then(|user| user.speaker.clone());
    let brought: Vec<Fact> = brought_files(message).collect();
    let spoken = (!said.is_empty() || !brought.is_empty())
        .then(|| SpokenTurn { name, ..SpokenTurn::new(speaker, said, brought, false) });
    spoken.into_iter().chain(calls).collect()
}

/// The names of the files and images that came along with a message. What was piped in has none.
fn brought_files(message: &Message) -> impl Iterator<Item = Fact> {
    let names = message.content().iter().filter_map(|part| match part {
        ContentPart::File(file) => Some(file.name()),
        ContentPart::Image(image) => image.name.as_ref(),
        ContentPart::Text(_) | ContentPart::Opaque(_) => None,
    });
    let names = names.filter(|name| &***name != AttachedFile::STANDARD_INPUT);
    names.map(|name| Fact::new(FactKind::Reference, &**name))
}

/// Paths and addresses among the values of a call's arguments.
fn named_in(arguments: &str) -> Vec<Fact> {
    let values = arguments.split('"').filter(|value| !value.contains(['\\', '{', '}']));
    let found = values.flat_map(|value| details(value, &KnownNames::default()));
    found.filter(|fact| fact.kind == FactKind::Reference).collect()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(OF_TOOL)]
}
