//! What the requests of a turn are made of, gathered once before the first of them.

use std::sync::Arc;

use jiff::tz::TimeZone;
use recto_context::mode::{self, ModeMark, ModeQuestion, ModeReason, ModeSetting};
use recto_context::{
    Audience, Bootstrap, Calibration, Catalog, ContextMode, HistorySummary, ImageRender, ItemId,
    MemorySnapshot, Message, MessageBody, MessageStamp, Mode, ModeDecision, PickPlacement,
    SessionItem, SpeakerName, SummaryBy, Tokens, Window, has_tools, sender_words, visible_text,
};
use recto_llm::{FeatureSupport, LlmError};
use recto_search::{SaidBefore, UseEvidence};
use recto_store::StoredSession;
use recto_tools::{ApprovalMode, TrustedSkills};
use recto_workspace::MemoryView;

use crate::actor::Actor;
use crate::agent_catalog::AgentCatalog;
use crate::delegation::sub_agent_layout;
use crate::error::AgentResult;
use crate::exact_counts::ExactCounts;
use crate::items::{MentionedItems, join_mentioned, without_mentions};
use crate::memories::MemoryCriteria;
use crate::notice::{NoticeFacts, TurnNotice};
use crate::options::{AgentOptions, ModelEntry, SessionSettings};
use crate::rights::Right;
use crate::search::{SearchPatience, as_far_as_read, search_message};
use crate::selection::{ItemQuery, SearchOutcome};
use crate::session_cache::LoadedSession;
use crate::shared::{AgentShared, counter_from};

use super::TurnClient;

/// What all requests of a turn are made of.
#[derive(Debug)]
pub(crate) struct TurnInputs {
    pub(crate) model: TurnModel,
    /// All that the agent has, with the memories that may be seen here.
    pub(crate) catalog: Arc<Catalog>,
    searchable: SearchScope,
    /// The memories for the page, where the turn has chosen them.
    pub(crate) snapshot: Option<MemorySnapshot>,
    /// What stands for messages that have left.
    pub(crate) summary: Option<HistorySummary>,
    /// Items that join the session with this turn.
    pub(crate) joining: Vec<SessionItem>,
    /// Items that a person took out of the session.
    pub(crate) removed: Vec<ItemId>,
    pub(crate) rights: TurnRights,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) stamp: MessageStamp,
    /// Who speaks, where several people do.
    pub(crate) speaker: Option<SpeakerName>,
    /// What the client brought, if it is one that brings something.
    pub(crate) client: TurnClient,
    /// Absent once they were told.
    pub(crate) notices: Option<PendingNotices>,
}

/// The model that answers a turn, with what is set for it and how its tokens are
/// counted.
#[derive(Debug)]
pub(crate) struct TurnModel {
    pub(crate) entry: ModelEntry,
    pub(crate) settings: SessionSettings,
    mode_mark: Option<ModeMark>,
    /// How messages that leave the page are summarised, if they are.
    pub(crate) compaction: Option<SummaryBy>,
    /// The model's window, or why nobody knows it.
    pub(crate) window: Result<Window, LlmError>,
    pub(crate) calibration: Calibration,
    /// Exact counts, where the model's own tokenizer is at hand.
    pub(crate) counts: Option<Arc<ExactCounts>>,
}

/// The settings that hold for a turn: its own, and where it has none those of its session.
pub(crate) struct TurnSettings {
    merged: SessionSettings,
    /// The mode that a person asked for, and whether for the turn alone.
    mode_mark: Option<ModeMark>,
}

impl TurnSettings {
    fn merge(session: &SessionSettings, of_turn: &SessionSettings) -> Self {
        let for_turn = of_turn.context_mode.map(ModeMark::Turn);
        let for_session = session.context_mode.map(ModeMark::Session);
        TurnSettings { merged: session.overridden_by(of_turn), mode_mark: for_turn.or(for_session) }
    }
}

/// Where the message of a turn comes from, as far as it decides what the turn gathers.
pub(crate) struct MessageOrigin<'a> {
    /// The text whose `@` mentions are followed.
    pub(crate) mentions: &'a str,
    /// Who sent it.
    pub(crate) actor: &'a Actor,
    pub(crate) stamp: MessageStamp,
    /// Who speaks, where several people do.
    pub(crate) speaker: Option<SpeakerName>,
}

impl MessageOrigin<'_> {
    /// Lets the items join that the message mentions, where its sender may add some.
    fn join_mentioned(&self, catalog: &Catalog, session: &mut LoadedSession) -> MentionedItems {
        let Err(refused) = self.actor.must_have(Right::ChangeItems) else {
            return join_mentioned(self.mentions, catalog, &mut session.items);
        };
        let mut unchanged = session.items.clone();
        let MentionedItems { new, problems } =
            join_mentioned(self.mentions, catalog, &mut unchanged);
        // Whether there is such an item is not for them to know.
        let mentions_some = !new.is_empty() || !problems.is_empty();
        let notice = mentions_some
            .then(|| format!("{refused}, so what the message mentions is text and no more"));
        MentionedItems { new: Vec::new(), problems: notice.into_iter().collect() }
    }
}

/// What decides which tools a turn may run, and what they may see.
#[derive(Debug)]
pub(crate) struct TurnRights {
    /// Who sent the message.
    actor: Actor,
    /// Those for whom the page is made.
    pub(crate) audience: Audience,
    /// What skills' programs were when a person last looked at them.
    pub(crate) trusted: Arc<TrustedSkills>,
    /// When a person is asked before a tool runs.
    pub(crate) approval: ApprovalMode,
}

/// What the search for a message goes over.
#[derive(Debug)]
struct SearchScope {
    /// The catalog without memories.
    items: Arc<Catalog>,
    memories: Arc<MemoryView>,
}

/// What the person is told once the turn has begun.
#[derive(Debug, Default)]
pub(crate) struct PendingNotices {
    /// Of files and settings that have no effect, and of skills and servers whose tools are not
    /// there: once, until that changes.
    pub(crate) of_catalog: Vec<TurnNotice>,
    /// Of memory files that can't be read: once in the life of the process.
    pub(crate) of_memories: Vec<TurnNotice>,
    /// Of the message itself, such as a mention that leads nowhere: in each turn.
    pub(crate) of_message: Vec<TurnNotice>,
}

impl TurnModel {
    /// The entry that answers, as the session and the turn set it.
    pub(crate) fn choose(
        shared: &AgentShared,
        session: &LoadedSession,
        of_turn: &SessionSettings,
    ) -> AgentResult<(ModelEntry, TurnSettings)> {
        let settings = TurnSettings::merge(&session.settings, of_turn);
        let merged = &settings.merged;
        let mut entry = merged.apply(shared.model(merged.model.as_deref())?);
        if compaction(shared, merged).is_none() {
            entry.limits.summary_tokens = Tokens::ZERO;
        }
        if !merged.search_options(shared.searcher.options()).enabled {
            // Nothing would ever be listed.
            entry.limits.list_lines = 0;
        }
        Ok((entry, settings))
    }

    /// The chosen entry with its window, and with what is known of its tokens.
    pub(crate) async fn prepare(
        shared: &AgentShared,
        (entry, settings): (ModelEntry, TurnSettings),
        window: Result<Window, LlmError>,
    ) -> AgentResult<Self> {
        let calibration = shared.calibration(&entry).await?;
        let counts = shared.counts(&entry).await;
        let TurnSettings { merged: settings, mode_mark } = settings;
        let compaction = compaction(shared, &settings);
        Ok(TurnModel { entry, settings, mode_mark, compaction, window, calibration, counts })
    }
}

fn compaction(shared: &AgentShared, settings: &SessionSettings) -> Option<SummaryBy> {
    settings.compaction.map_or(shared.parts.options.compaction, Option::from)
}

impl TurnInputs {
    /// Reads the files, lets items join, and puts all of it together.
    pub(crate) async fn gather(
        shared: &AgentShared,
        session: &mut LoadedSession,
        model: TurnModel,
        message: MessageOrigin<'_>,
        catalog: impl Future<Output = AgentCatalog>,
    ) -> Self {
        let audience = session.audience();
        let (agent_catalog, memories) =
            tokio::join!(catalog, read_memories(shared, session, &audience));
        let (agent_catalog, model) = match &session.settings.delegation {
            Some(task) => {
                let own = &shared.parts.options.name;
                (agent_catalog.for_sub_agent(task, own), model.for_sub_agent())
            }
            None => (agent_catalog, model),
        };
        let approval =
            model.settings.approval.map_or(shared.parts.tools.approval(), ApprovalMode::from);
        let (agent_catalog, approval) = match model.settings.unattended {
            // What is left runs without a word, or not at all.
            true => (agent_catalog.unattended(&shared.parts, approval), ApprovalMode::Never),
            false => (agent_catalog, approval),
        };
        let AgentCatalog { catalog: items, trusted, notices, .. } = agent_catalog;
        let catalog = session.catalog(&items, &memories);
        let mut joining = session.join(&catalog);
        let MentionedItems { new, problems } = message.join_mentioned(&catalog, session);
        joining.extend(new);
        let notices = Some(PendingNotices {
            of_catalog: notices.to_vec(),
            of_memories: memories.problems.iter().map(TurnNotice::from_problem).collect(),
            of_message: problems
                .into_iter()
                .map(|problem| NoticeFacts::MentionNotFollowed { problem }.into())
                .collect(),
        });
        TurnInputs {
            model,
            catalog,
            searchable: SearchScope { items, memories },
            snapshot: None,
            summary: session.summary.clone(),
            joining,
            removed: session.removed(),
            rights: TurnRights { actor: message.actor.clone(), audience, trusted, approval },
            bootstrap: bootstrap(&shared.parts.options, &session.session),
            stamp: message.stamp,
            speaker: message.speaker,
            client: TurnClient::default(),
            notices,
        }
    }

    /// The inputs with what a client brought. Where it owns the history, it also decides what
    /// stands for older messages: no summary is shown or made.
    pub(crate) fn set_client(&mut self, client: TurnClient) {
        if client.history.is_some() {
            self.summary = None;
            self.model.compaction = None;
            self.model.entry.limits.summary_tokens = Tokens::ZERO;
        }
        self.client = client;
    }

    /// Has the images of earlier messages shown as text where the model is known to look at
    /// none: they were sent to another one.
    pub(crate) async fn adapt_to_images(&mut self, history: &[Arc<Message>]) {
        let has_images = history.iter().any(|message| message.images().next().is_some());
        if has_images && self.model.entry.image_support().await == FeatureSupport::No {
            self.model.entry.layout.images = ImageRender::Text;
        }
    }

    /// Searches items and memories for a message, and chooses the memories for the
    /// page with it.
    pub(crate) async fn search(
        &mut self,
        shared: &AgentShared,
        session: &LoadedSession,
        message: &str,
        before: Option<&SaidBefore>,
    ) -> SearchOutcome {
        let TurnModel { entry, settings, calibration, .. } = &self.model;
        let message = &search_message(&without_mentions(message), before);
        let options = settings.search_options(shared.searcher.options());
        let uses = match (options.enabled, &session.settings.delegation) {
            (true, None) => {
                let (actor, holder) = (&self.rights.actor, session.holder());
                shared.uses.weigh(actor, &holder, message, SearchPatience::OneSecond).await
            }
            // A task is no message of a person's.
            _ => UseEvidence::default(),
        };
        let query = ItemQuery {
            catalog: &self.searchable.items,
            entries: shared.catalogs.entries(&self.searchable.items),
            session: &session.items,
            removed: &self.removed,
            decides_mode: self.model.lets_message_decide_mode(),
            options,
            message,
            uses: &uses,
        };
        // In the layers of their kinds, memories are ranked anew for each message.
        let stays = entry.layout.picks != PickPlacement::InLayer;
        let mut before = session.carry.snapshot.clone().filter(|_| stays);
        if let Some(before) = &mut before {
            // What was remembered in an exchange that was taken back stands nowhere any more.
            before.retain_own(|said| !session.is_taken_back(said));
        }
        let criteria = MemoryCriteria {
            limits: &entry.limits,
            options: &options,
            counter: &counter_from(calibration),
            history_from: session.carry.history_from.unwrap_or_default(),
            uses: &uses,
            patience: SearchPatience::OneSecond,
        };
        let (mut found, chosen) = tokio::join!(
            shared.searcher.find(&query),
            shared.memories.choose(&self.searchable.memories, message, before, &criteria)
        );
        let list = options.list.with_lines(entry.limits.list_lines);
        self.snapshot = Some(found.complete(chosen, &list));
        found
    }

    /// The mode of a turn: decided once, by its message and what search found.
    pub(crate) fn decide_mode(
        &self,
        session: &LoadedSession,
        found: &SearchOutcome,
        message: &str,
    ) -> ModeDecision {
        let TurnModel { entry, mode_mark, .. } = &self.model;
        if session.settings.delegation.is_some() {
            return ModeDecision::new(Mode::Full, ModeReason::SubAgent);
        }
        mode::decide(&ModeQuestion {
            setting: entry.mode,
            uncertain: entry.uncertain,
            mark: *mode_mark,
            has_tools: !self.client.tools.is_empty()
                || has_tools(
                    &self.catalog,
                    &session.items,
                    &self.removed,
                    &found.picks,
                    &entry.layout,
                ),
            found: found.for_tools.as_ref(),
            message: &without_mentions(sender_words(message)),
        })
    }
}

impl TurnModel {
    /// The model as it reads the page of a sub-agent.
    fn for_sub_agent(mut self) -> Self {
        self.entry.layout = sub_agent_layout(self.entry.layout);
        self.entry.mode = ModeSetting::Fixed(Mode::Full);
        self
    }

    fn lets_message_decide_mode(&self) -> bool {
        match self.mode_mark {
            Some(mark) => mark.mode() == ContextMode::Auto,
            None => self.entry.mode == ModeSetting::Auto,
        }
    }
}

/// The memories that can be ranked for a page. What a sub-agent remembers stands on its page
/// whole.
async fn read_memories(
    shared: &AgentShared,
    session: &LoadedSession,
    audience: &Audience,
) -> Arc<MemoryView> {
    match session.settings.delegation {
        Some(_) => Arc::default(),
        None => shared.memories.read_for_page(audience).await,
    }
}

/// What the page says of where the agent runs.
fn bootstrap(options: &AgentOptions, session: &StoredSession) -> Bootstrap {
    let began = session.created.timestamp().to_zoned(TimeZone::system());
    Bootstrap {
        agent: options.name.clone(),
        version: options.version.clone(),
        workspace: options.workspace.clone(),
        system: std::env::consts::OS.into(),
        day: began.strftime("%Y-%m-%d").to_string().into(),
        surface: session.surface.as_str().into(),
    }
}

/// What a message leans on, of what the same person said before it in a conversation: where several
/// people talk, the one of this name.
pub fn said_before<'a>(
    message: &str,
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    speaker: Option<&SpeakerName>,
) -> Option<SaidBefore> {
    let said = messages.rev().filter_map(|message| match &message.body {
        MessageBody::User(user) if user.speaker.as_ref() == speaker => {
            Some(as_far_as_read(&without_mentions(&visible_text(&user.content))).to_owned())
        }
        _ => None,
    });
    SaidBefore::find(message, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_group_a_message_leans_on_what_the_same_person_said() {
        let by = |name: &str, text: &str| {
            let mut message = Message::user(1, text);
            if let MessageBody::User(user) = &mut message.body {
                user.speaker = Some(SpeakerName::new(name));
            }
            message
        };
        let said = [by("Ada", "When is a refund due?"), by("Ben", "Who waters the plants?")];
        let said_by = |said: &[Message], speaker: Option<&SpeakerName>| {
            said_before("and in Spain?", said.iter(), speaker).map(|before| before.text)
        };
        let before = |name: &str| said_by(&said, Some(&SpeakerName::new(name)));
        assert_eq!(before("Ada").as_deref(), Some("When is a refund due?"));
        assert_eq!(before("Ben").as_deref(), Some("Who waters the plants?"));
        assert_eq!(before("Cleo"), None);
        // In private nobody is named, and there is one who talks.
        let alone = [Message::user(1, "book the van"), Message::user(2, "when is a refund due?")];
        assert_eq!(said_by(&alone, None).as_deref(), Some("when is a refund due?"));
    }

    #[test]
    fn a_turn_s_own_mode_is_its_own_even_where_the_session_has_the_same() {
        let full = || SessionSettings {
            context_mode: Some(ContextMode::Full),
            ..SessionSettings::default()
        };
        let none = SessionSettings::default;
        let mark = |session, turn| TurnSettings::merge(&session, &turn).mode_mark;
        assert_eq!(mark(full(), full()), Some(ModeMark::Turn(ContextMode::Full)));
        assert_eq!(mark(none(), full()), Some(ModeMark::Turn(ContextMode::Full)));
        assert_eq!(mark(full(), none()), Some(ModeMark::Session(ContextMode::Full)));
        assert_eq!(mark(none(), none()), None);
    }
}
