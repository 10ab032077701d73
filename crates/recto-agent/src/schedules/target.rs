//! Where the answer of a schedule's run goes.

use std::collections::HashSet;

use recto_context::Audience;
use recto_store::{
    BindingKey, ChannelAccount, SessionHolder, SessionId, StoreError, StoredSession,
};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Conversation};
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;

/// Where the answer of a run goes, beside the run's own session. One more place to put an answer
/// is one more variant here, and one more arm where a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryTarget {
    /// Nowhere else: it stays in the run's own session.
    #[default]
    OwnSession,
    /// This session, whatever it is called by then; once it is archived, the one that took its
    /// name.
    Session(SessionId),
    /// A chat, and whichever session is held in it by then.
    Chat(Conversation),
}

/// The place that a target means now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundTarget {
    pub(crate) session: StoredSession,
    /// The chat in which the session is held, if it is in one.
    pub(crate) chat: Option<Conversation>,
}

impl DeliveryTarget {
    /// Where the answers of what is asked in a session go: there.
    pub(crate) async fn of_session(agent: &Agent, session: &StoredSession) -> AgentResult<Self> {
        if !agent.is_chat_surface(&session.surface) {
            return Ok(DeliveryTarget::Session(session.id));
        }
        let Some(key) = agent.store().conversation_of(session.id).await? else {
            return Ok(DeliveryTarget::Session(session.id));
        };
        let Audience { who, person, .. } =
            SessionSettings::from_store(&session.settings).audience();
        Ok(DeliveryTarget::Chat(Conversation {
            surface: key.surface,
            account: key.account,
            name: key.conversation,
            user: key.user,
            who,
            person,
        }))
    }

    /// Whether an answer leaves the session of its run.
    pub fn is_elsewhere(&self) -> bool {
        *self != DeliveryTarget::OwnSession
    }

    /// It in words, with the name that a session has now.
    pub(crate) async fn describe(&self, agent: &Agent) -> String {
        match self {
            DeliveryTarget::OwnSession => "its own session".to_owned(),
            DeliveryTarget::Session(id) => match self.find(agent).await {
                Ok(Some(found)) => format!("session {}", found.session.label()),
                _ => format!("session {id}, which is gone"),
            },
            DeliveryTarget::Chat(chat) => format!("{}:{}", chat.surface, chat.name),
        }
    }

    /// The place that it means now; none where the answer stays where it is.
    pub(crate) async fn find(&self, agent: &Agent) -> AgentResult<Option<FoundTarget>> {
        match self {
            DeliveryTarget::OwnSession => Ok(None),
            DeliveryTarget::Session(id) => {
                let session = find_session_or_successor(agent, *id).await?;
                Ok(Some(FoundTarget { session, chat: None }))
            }
            DeliveryTarget::Chat(chat) => {
                let session = agent.begin_named(chat, &chat.name).await?;
                Ok(Some(FoundTarget { session, chat: Some(chat.clone()) }))
            }
        }
    }

    /// Refuses a place that is gone, or whose people are let in no longer, or not as those whom it
    /// was for.
    pub(crate) async fn must_be_open(&self, agent: &Agent) -> AgentResult {
        match self {
            DeliveryTarget::OwnSession => Ok(()),
            DeliveryTarget::Session(_) => self.find(agent).await.map(drop),
            DeliveryTarget::Chat(Conversation { surface, account, name, who, .. }) => {
                let bot = ChannelAccount { channel: surface.clone(), account: account.clone() };
                Ok(agent.store().check_readers(&bot, name, *who).await?)
            }
        }
    }

    /// Those before whom the runs are held: whoever reads the answer.
    pub(crate) async fn audience(&self, agent: &Agent) -> AgentResult<Audience> {
        match self {
            DeliveryTarget::OwnSession => Ok(Audience::owner(agent.name())),
            DeliveryTarget::Chat(Conversation { who, person, .. }) => {
                Ok(Audience { who: *who, person: person.clone(), ..Audience::owner(agent.name()) })
            }
            DeliveryTarget::Session(id) => {
                let session = find_session_or_successor(agent, *id).await?;
                Ok(SessionSettings::from_store(&session.settings).audience())
            }
        }
    }
}

impl Agent {
    /// The target that somebody types: a session by its name or number, or a chat as
    /// `telegram:CHAT`, with the bot between the two where several are in it.
    pub async fn find_delivery_target(&self, typed: &str) -> AgentResult<DeliveryTarget> {
        let typed = typed.trim();
        if let Some((surface, chat)) = typed.split_once(':')
            && self.is_chat_surface(surface)
        {
            return self.find_chat(surface, chat).await;
        }
        let owner = SessionHolder::owner();
        let found = self.store().find_session(self.name(), &owner, typed).await?;
        match found.filter(|session| session.agent == self.name()) {
            Some(session) => DeliveryTarget::of_session(self, &session).await,
            None => Err(AgentError::NoSuchSession { name: typed.to_owned() }),
        }
    }

    /// Whether what is to be read on a surface is put into the outbox of a bot.
    fn is_chat_surface(&self, surface: &str) -> bool {
        self.shared.parts.options.chat_surfaces.contains(&surface)
    }

    async fn find_chat(&self, surface: &str, typed: &str) -> AgentResult<DeliveryTarget> {
        let all = self.store().conversations(self.name(), surface).await?;
        let (bot, chat) = match typed.rsplit_once(':') {
            Some((bot, chat)) => (Some(bot), chat),
            None => (None, typed),
        };
        let is_meant = |account: &str| bot.is_none_or(|bot| bot.trim_start_matches('@') == account);
        let bots: HashSet<&str> = all.iter().map(|(key, _)| key.account.as_str()).collect();
        let former = self.former_names(surface, &bots, chat).await?;
        let is_named = |key: &BindingKey| {
            let named = (key.account.clone(), key.conversation.clone());
            key.conversation == chat || former.contains(&named)
        };
        let mut meant = all.iter().filter(|(key, _)| is_named(key) && is_meant(&key.account));
        let Some((key, session)) = meant.next() else {
            let known = all.iter().map(|(key, _)| format!("{surface}:{}", key.conversation));
            let mut known: Vec<String> = known.collect();
            known.sort();
            known.dedup();
            return Err(AgentError::NoSuchChat { chat: format!("{surface}:{typed}"), known });
        };
        if let Some((other, _)) = meant.find(|(other, _)| other.account != key.account) {
            let named = [key, other].map(|key| format!("{surface}:{}:{chat}", key.account));
            return Err(AgentError::ManyChats { chat: typed.to_owned(), named: named.to_vec() });
        }
        Ok(match DeliveryTarget::of_session(self, session).await? {
            // Where each person has a session of their own, what is for all of them is in none
            // of these.
            DeliveryTarget::Chat(chat) => DeliveryTarget::Chat(Conversation { user: None, ..chat }),
            target => target,
        })
    }
}

impl Agent {
    /// The names that a conversation had at each of these bots while its chat had another id.
    async fn former_names(
        &self,
        surface: &str,
        bots: &HashSet<&str>,
        name: &str,
    ) -> AgentResult<HashSet<(String, String)>> {
        let (chat, thread) = split_chat_name(name);
        let mut names = HashSet::new();
        for account in bots {
            let account = (*account).to_owned();
            let bot = ChannelAccount { channel: surface.to_owned(), account: account.clone() };
            let moves = self.store().channel_moves(&bot).await?;
            for (former, _) in moves.into_iter().filter(|(_, current)| current == chat) {
                let name = match thread {
                    Some(thread) => format!("{former}/{thread}"),
                    None => former,
                };
                names.insert((account.clone(), name));
            }
        }
        Ok(names)
    }
}

/// The id of a chat in the name of its conversation, and that of a part of the chat.
pub(super) fn split_chat_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once('/') {
        Some((chat, thread)) => (chat, Some(thread)),
        None => (name, None),
    }
}

/// A session of the agent; where it is archived, the open one that has its name since.
async fn find_session_or_successor(agent: &Agent, id: SessionId) -> AgentResult<StoredSession> {
    let found = agent.store().session(id).await?;
    let found = found.filter(|session| session.agent == agent.name());
    let session = found.ok_or_else(|| AgentError::NoSuchSession { name: id.to_string() })?;
    let Some(name) = session.name.as_ref().filter(|_| session.archived.is_some()) else {
        return Ok(session);
    };
    let audience = SessionSettings::from_store(&session.settings).audience();
    let holder = SessionHolder::of_audience(&audience);
    match agent.store().find_session(agent.name(), &holder, name.as_str()).await {
        Ok(Some(open)) if open.archived.is_none() && open.agent == agent.name() => Ok(open),
        Ok(_) | Err(StoreError::NotFound(_)) => Ok(session),
        Err(error) => Err(error.into()),
    }
}
