//! Changes of a session as a whole: its name, its place in the archive, its settings, its end.
//!
//! Each door says which right it needs; what was said in a session is changed nowhere.

use recto_context::Text;
use recto_store::{DeletedSession, Moment, SessionId, SessionName, SettingsMap, StoredSession};
use serde_json::Value;

use crate::actor::Actor;
use crate::agent::Agent;
use crate::commands::{SettingChange, read_setting};
use crate::error::{AgentError, AgentResult};
use crate::options::SessionSettings;
use crate::rights::Right;

impl Agent {
    /// Gives a session another name.
    pub async fn rename_session(
        &self,
        actor: &Actor,
        session: SessionId,
        name: &str,
    ) -> AgentResult<StoredSession> {
        self.must_be_allowed(actor, Right::ChangeSettings, session).await?;
        Ok(self.store().rename(session, SessionName::new(name)?).await?)
    }

    /// Puts a session into the archive, without beginning another.
    pub async fn archive_session(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<StoredSession> {
        self.must_be_allowed(actor, Right::BeginSession, session).await?;
        Ok(self.store().archive(session, Moment::now()).await?)
    }

    /// Takes a session out of the archive.
    pub async fn unarchive_session(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<StoredSession> {
        self.must_be_allowed(actor, Right::BeginSession, session).await?;
        Ok(self.store().unarchive(session).await?)
    }

    /// Changes settings of a session, all of these or none: a value for each name, and null for
    /// what the agent has.
    pub async fn change_settings(
        &self,
        actor: &Actor,
        session: SessionId,
        changes: &SettingsMap,
    ) -> AgentResult<SessionSettings> {
        self.must_be_allowed(actor, Right::ChangeSettings, session).await?;
        let changes = read_changes(changes)?;
        for change in &changes {
            actor.must_have(change.right())?;
        }
        self.apply_changes(session, changes).await
    }

    /// Passes an actor who may delete a session, in which no turn is open, and gives what people
    /// have said in it: it may stand elsewhere, too.
    pub async fn must_be_deletable(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<Vec<String>> {
        self.must_be_allowed(actor, Right::DeleteSession, session).await?;
        self.store().must_be_deletable(session).await?;
        let messages = self.store().messages(session, None).await?;
        let said = messages.iter().filter(|stored| stored.message.is_user());
        let texts = said.flat_map(|stored| stored.message.content());
        Ok(texts.filter_map(|part| part.as_text().map(Text::as_str).map(str::to_owned)).collect())
    }

    /// Deletes a session for good, in which no turn is open.
    pub async fn delete_session(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<DeletedSession> {
        self.must_be_allowed(actor, Right::DeleteSession, session).await?;
        if let Some(files) = &self.shared.session_files {
            files.forget(session);
        }
        Ok(self.store().delete_session(session, Moment::now()).await?)
    }
}

impl SessionSettings {
    /// The settings of these names and values, for a single turn.
    pub fn from_values(values: &SettingsMap) -> AgentResult<Self> {
        let changes = read_changes(values)?;
        Ok(changes.into_iter().fold(Self::default(), |settings, change| settings.changed(change)))
    }
}

fn read_changes(values: &SettingsMap) -> AgentResult<Vec<SettingChange>> {
    let read = |(key, value): (&String, &Value)| {
        let text = match value {
            Value::Null => "default".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        read_setting(key, &text)
            .map_err(|problem| AgentError::BadSetting { key: key.clone(), problem })
    };
    values.iter().map(read).collect()
}
