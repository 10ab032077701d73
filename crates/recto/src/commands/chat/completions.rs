//! What Tab completes at the prompt of a chat: commands with what can stand behind them, and the
//! items that a message can mention.

use recto_agent::{
    COMMANDS, SURFACE_COMMANDS, list_items, list_open_turns, session_setting_names,
    session_setting_words, typed_name,
};
use recto_context::{Catalog, ItemId, ItemKind};

use super::Chat;
use crate::terminal::completion::{CommandWords, CompletionWords};

/// The kinds of items that people add by hand, and name in messages.
const KINDS: [ItemKind; 4] = [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool];

impl Chat {
    /// The words that can be completed now: items and models may be others by the next line.
    pub(super) async fn completion_words(&self) -> CompletionWords {
        let catalog = self.agent.catalog().await;
        let items = item_ids(&catalog);
        let own = SURFACE_COMMANDS.iter().map(|own| own.help.name);
        let names = COMMANDS.iter().map(|help| help.name).chain(own);
        let mut commands = Vec::new();
        for name in names {
            let arguments = self.command_arguments(name, &items).await;
            commands.push(CommandWords { name: name.to_owned(), arguments });
        }
        commands.extend(session_setting_names().map(|setting| CommandWords {
            name: format!("/set {setting}"),
            arguments: setting_values(setting),
        }));
        let mentions = items.iter().map(|id| format!("@{}", typed_name(id))).collect();
        CompletionWords { commands, mentions }
    }

    /// What can stand behind a command.
    async fn command_arguments(&self, command: &str, items: &[ItemId]) -> Vec<String> {
        match command {
            "/add" | "/remove" | "/why" => {
                let bare = items.iter().map(ItemId::key);
                bare.chain(items.iter().map(typed_name)).collect()
            }
            "/mode" => setting_values("context_mode"),
            "/model" => {
                let names = self.agent.models().iter().map(|entry| entry.name.to_string());
                names.chain(["default".to_owned()]).collect()
            }
            "/set" => session_setting_names().map(str::to_owned).collect(),
            "/stop" => self.open_sessions().await,
            _ => Vec::new(),
        }
    }

    /// The names of sessions in which something runs or waits.
    async fn open_sessions(&self) -> Vec<String> {
        // What can't be read now is not completed.
        let open = list_open_turns(self.agent.store()).await.unwrap_or_default();
        open.into_iter().map(|open| open.session).collect()
    }
}

fn item_ids(catalog: &Catalog) -> Vec<ItemId> {
    KINDS.iter().flat_map(|kind| list_items(catalog, *kind)).map(|item| item.id).collect()
}

fn setting_values(setting: &str) -> Vec<String> {
    let words = session_setting_words(setting);
    let ends = (!words.is_empty()).then_some("default");
    words.iter().copied().chain(ends).map(str::to_owned).collect()
}
