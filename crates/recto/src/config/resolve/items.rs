//! What the config says about items: all of a kind, and single ones. Which keys an item can have depends
//! on its kind: one that its kind does not have is refused, because whoever sets
//! it expects something of it.

use super::super::choices::{ItemKind, NamedChoice};
use super::super::raw::NamedTable;
use super::super::settings::{GrantSettings, ItemSettings, KindSettings};
use super::SettingsResolver;

/// What can be set for items of one kind only, and whom it is for.
const LIMITED: &[(&str, &[ItemKind], &str)] = &[
    ("priority", &[ItemKind::Rule, ItemKind::Reference], "rules and references"),
    ("permission", &[ItemKind::Skill, ItemKind::Tool], "skills and tools"),
    ("network", &[ItemKind::Skill], "skills"),
    ("read", &[ItemKind::Skill], "skills"),
    ("write", &[ItemKind::Skill], "skills"),
    ("env", &[ItemKind::Skill], "skills"),
];

impl SettingsResolver<'_> {
    /// The settings of kinds of which something is set.
    pub(super) fn item_kinds(&mut self) -> Vec<KindSettings> {
        let kinds = ItemKind::NAMES.iter().filter_map(|name| {
            let kind = KindSettings::read(self, &[*name], ItemKind::from_name(name)?)?;
            kind.include.is_some().then_some(kind)
        });
        kinds.collect()
    }

    pub(super) fn items(&mut self) -> Vec<ItemSettings> {
        self.tables_in("items").filter_map(|table| self.item(table)).collect()
    }

    /// An item's settings; `None` for a table that sets nothing.
    fn item(&mut self, table: &NamedTable) -> Option<ItemSettings> {
        let [_, kind_name, name] = table.path.parts() else { return None };
        let kind = ItemKind::from_name(kind_name)?;
        for (key, kinds, whom) in LIMITED {
            if !kinds.contains(&kind) {
                let why = format!("is for {whom}, and this is a {kind}");
                self.refuse(&table.path.join(key), &why, "leave it out");
            }
        }
        let names = &[kind_name.as_str(), name.as_str()];
        let mut item =
            ItemSettings::read(self, names, kind, name.clone(), GrantSettings::default())?;
        item.grants = GrantSettings::read(self, names)?;
        let set = (item.include, item.priority, item.permission, &item.grants);
        (set != (None, None, None, &GrantSettings::default())).then_some(item)
    }
}
