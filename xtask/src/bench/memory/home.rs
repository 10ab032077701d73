//! Where the year is on disk: a home of Recto with its memories and its sessions.
//!
//! Sessions are written once and kept with the vectors of their messages, since those
//! take minutes; files are cheap, and end on the present day in every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use jiff::Zoned;
use recto_agent::{Actor, Agent, Conversation, LazyEncoder, SearchParts, SessionSettings};
use recto_context::{Audience, Message};
use recto_search::EncoderFiles;
use recto_store::{
    BindingKey, Moment, NewMessage, NewSession, SessionHolder, SessionId, SettingsMap, Store,
    StoreOptions,
};
use recto_tools::ToolOptions;
use serde_json::Value;

use super::year::{self, YearTalk};
use crate::Result;
use crate::bench::agent::{self, AgentSetup};
use crate::bench::{KeptFiles, synthetic};

/// Of the sessions and how they are made: what was made otherwise is made anew.
const MADE: &str = "a year, version 1\n";

/// As Recto calls it where nothing is set, so that its own commands find it, too.
const AGENT: &str = "main";

const WINDOW: u32 = 200_000;

/// Files written a moment ago are read twice, since a second write might not show in
/// their times. Those in use are older than that.
const SETTLE: Duration = Duration::from_secs(3);

/// A home of Recto.
#[derive(Debug, Clone)]
pub(super) struct YearHome {
    pub(super) folder: PathBuf,
}

/// A home that is there now.
pub(super) struct PreparedHome {
    pub(super) home: YearHome,
    /// It was not there before.
    pub(super) is_new: bool,
}

/// Whether a home has the year's memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HomeMemories {
    Year,
    None,
}

/// Whether its workspace has rules that come when they fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HomeRules {
    Searched,
    None,
}

impl HomeRules {
    /// What is searched for a message beside its memories.
    pub(super) fn describe(self) -> &'static str {
        match self {
            HomeRules::Searched => "rules searched, too",
            HomeRules::None => "nothing else searched",
        }
    }
}

impl YearHome {
    /// The home that is kept between runs; made anew if that is wished, or if there is
    /// none.
    pub(super) async fn prepare(folder: &Path, files: KeptFiles) -> Result<PreparedHome> {
        let home = YearHome { folder: folder.to_owned() };
        let mark = folder.join("made");
        let is_there = fs::read_to_string(&mark).is_ok_and(|made| made == MADE);
        let is_new = files == KeptFiles::Fresh || !is_there;
        if is_new {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            home.fill_store().await?;
            fs::write(mark, MADE)?;
        }
        home.write(HomeMemories::Year, HomeRules::None)?;
        Ok(PreparedHome { home, is_new })
    }

    /// Whether every text of the kept home has its vector.
    pub(super) fn is_embedded(&self) -> bool {
        self.folder.join("embedded").exists()
    }

    pub(super) fn mark_embedded(&self) -> Result<()> {
        Ok(fs::write(self.folder.join("embedded"), "")?)
    }

    /// A home beside the kept one, with a copy of its sessions or with none. Nobody may
    /// have the kept one open.
    pub(super) fn beside(
        &self,
        folder: &Path,
        memories: HomeMemories,
        rules: HomeRules,
    ) -> Result<YearHome> {
        let home = YearHome { folder: folder.to_owned() };
        fs::create_dir_all(folder.join("data"))?;
        if memories == HomeMemories::Year {
            for file in ["recto.db", "recto.db-wal"].map(|name| format!("data/{name}")) {
                if self.folder.join(&file).exists() {
                    fs::copy(self.folder.join(&file), folder.join(&file))?;
                }
            }
        }
        // Where there is no store, Recto keeps no vectors: that is another matter.
        drop(Store::open(&StoreOptions::new(home.database()))?);
        home.write(memories, rules)?;
        Ok(home)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn database(&self) -> PathBuf {
        self.folder.join("data/recto.db")
    }

    /// Lets Recto find the encoder where it looks for models.
    pub(super) fn lend(&self, encoder: &Path) -> Result<()> {
        let models = self.folder.join("models");
        fs::create_dir_all(&models)?;
        for entry in fs::read_dir(encoder)? {
            let entry = entry?;
            let to = models.join("minilm").join(entry.file_name());
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::hard_link(entry.path(), &to).or_else(|_| fs::copy(entry.path(), &to).map(drop))?;
        }
        Ok(())
    }

    /// An agent with nothing read yet.
    pub(super) async fn start(&self, encoder: Option<&EncoderFiles>) -> Result<Agent> {
        let workspace = self.workspace();
        agent::start(AgentSetup {
            name: AGENT,
            workspace: &workspace,
            database: &self.database(),
            window: WINDOW,
            tools: ToolOptions::new(&workspace),
            search: SearchParts {
                encoder: encoder.map(|files| Arc::new(LazyEncoder::new(files.clone()))),
                ..SearchParts::default()
            },
        })
        .await
    }

    /// Writes config and workspace, as far as they differ, and lets them settle.
    fn write(&self, memories: HomeMemories, rules: HomeRules) -> Result<()> {
        let config = "[models.echo]\nprovider = \"scripted\"\nwindow = 32768\n".to_owned();
        let mut all = vec![("config.toml".to_owned(), config)];
        all.push(("workspace/AGENTS.md".to_owned(), "Be brief.\n".to_owned()));
        if rules == HomeRules::Searched {
            all.extend(synthetic::rules().map(|(path, text)| (format!("workspace/{path}"), text)));
        }
        if memories == HomeMemories::Year {
            self.drop_old_notes()?;
            let year = year::files(Zoned::now().date());
            all.extend(
                year.into_iter().map(|(path, text)| (format!("workspace/memory/{path}"), text)),
            );
        }
        let mut changed = false;
        for (path, text) in all {
            let path = self.folder.join(path);
            if fs::read_to_string(&path).is_ok_and(|there| there == text) {
                continue;
            }
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
            changed = true;
        }
        if changed {
            sleep(SETTLE);
        }
        Ok(())
    }

    /// A year that ended earlier left notes of days that are none of this one.
    fn drop_old_notes(&self) -> Result<()> {
        let folder = self.workspace().join("memory");
        let today = folder.join(format!("{}.md", Zoned::now().date()));
        if folder.exists() && !today.exists() {
            fs::remove_dir_all(folder)?;
        }
        Ok(())
    }

    async fn fill_store(&self) -> Result<()> {
        let store = Store::open(&StoreOptions::new(self.database()))?;
        for talk in year::talks(Zoned::now().date()) {
            if talk.number % 100 == 0 {
                eprintln!("session {} of {} is written", talk.number, year::SESSIONS);
            }
            import(&store, talk).await?;
        }
        Ok(())
    }
}

/// A session in which something can be said.
pub(super) async fn session(agent: &Agent, name: &str) -> Result<SessionId> {
    let conversation = Conversation::with_owner("terminal", "local", name);
    Ok(agent.find_named_or_begin(&Actor::owner("bench"), &conversation).await?.id)
}

async fn import(store: &Store, talk: YearTalk) -> Result<()> {
    let key = BindingKey {
        agent: AGENT.to_owned(),
        surface: "terminal".to_owned(),
        account: "local".to_owned(),
        conversation: format!("talk-{}", talk.number),
        user: None,
        holder: SessionHolder::owner(),
    };
    let begun = talk.messages.first().map_or_else(Moment::now, |said| said.at.into());
    let new = NewSession {
        agent: AGENT.to_owned(),
        name: None,
        surface: "terminal".to_owned(),
        at: begun,
        settings: settings(&key.conversation)?,
    };
    let message = |(index, said): (usize, year::YearMessage)| {
        let (id, text) = (index as u64 + 1, said.text);
        let message = match index.is_multiple_of(2) {
            true => Message::user(id, text),
            false => Message::assistant(id, text),
        };
        NewMessage { message: Arc::new(message), at: said.at.into() }
    };
    let messages: Vec<_> = talk.messages.into_iter().enumerate().map(message).collect();
    store.import(key, new, messages).await?;
    Ok(())
}

/// A session of the owner, in private.
fn settings(conversation: &str) -> Result<SettingsMap> {
    let conversation = Some(format!("terminal-{conversation}").into());
    let audience = Audience { conversation, ..Audience::owner(AGENT) };
    let settings = SessionSettings { audience: Some(audience), ..SessionSettings::default() };
    match serde_json::to_value(settings)? {
        Value::Object(settings) => Ok(settings),
        _ => Err("settings are no object".into()),
    }
}
