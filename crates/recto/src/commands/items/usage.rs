//! What is counted of items, for the lists of them.

use std::collections::HashMap;

use recto_agent::usage_json;
use recto_context::ItemId;
use recto_store::{ItemCounts, ItemUsage};
use serde_json::Value;

use crate::config::Settings;
use crate::draw;
use crate::output::tell;
use crate::setup;

/// The counts of all items of the agent, from the first day on.
#[derive(Default)]
pub(in crate::commands) struct UsageTable(HashMap<ItemId, ItemUsage>);

impl UsageTable {
    /// Reads the counts. A list is shown without them where the store can't be read, and
    /// none is made for it.
    pub(in crate::commands) async fn read(settings: &Settings) -> Self {
        if !setup::has_store(settings) {
            return UsageTable::default();
        }
        let read = async {
            let since = None;
            let usage = setup::readable_store(settings)?.usage(&settings.agent.name, since).await?;
            Ok::<_, crate::failure::CliFailure>(usage.items)
        };
        let items = read.await.unwrap_or_else(|failure| {
            tell(&failure);
            Vec::new()
        });
        UsageTable(items.into_iter().map(|usage| (usage.item.clone(), usage)).collect())
    }

    /// Adds the counts of an item to what a program reads of it.
    pub(in crate::commands) fn extend_json(&self, item: &ItemId, mut value: Value) -> Value {
        let none =
            || ItemUsage { item: item.clone(), counts: ItemCounts::default(), last_used: None };
        let counted = usage_json(&self.0.get(item).cloned().unwrap_or_else(none));
        if let (Value::Object(value), Value::Object(counted)) = (&mut value, counted) {
            value.extend(counted);
        }
        value
    }

    /// The day of an item's last use, for people.
    pub(in crate::commands) fn last_used(&self, item: &ItemId) -> String {
        draw::last_used(self.0.get(item).and_then(|usage| usage.last_used))
    }
}
