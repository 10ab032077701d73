//! What the config says about single items. Which keys an item can have depends
//! on its kind: one that its kind does not have is refused, because whoever sets
//! it expects something of it.

use super::super::choices::{ItemKind, Named};
use super::super::setting::KeyPath;
use super::super::settings::{GrantSettings, ItemSettings};
use super::Resolver;

/// What can be set for items of one kind only, and whom it is for.
const LIMITED: &[(&str, &[ItemKind], &str)] = &[
    ("priority", &[ItemKind::Rule, ItemKind::Reference], "rules and references"),
    ("permission", &[ItemKind::Skill, ItemKind::Tool], "skills and tools"),
    ("network", &[ItemKind::Skill], "skills"),
    ("read", &[ItemKind::Skill], "skills"),
    ("write", &[ItemKind::Skill], "skills"),
    ("env", &[ItemKind::Skill], "skills"),
];

impl Resolver<'_> {
    pub(super) fn items(&mut self) -> Vec<ItemSettings> {
        let tables: Vec<KeyPath> =
            self.tables_of("items").map(|table| table.path.clone()).collect();
        tables.iter().filter_map(|path| self.item(path)).collect()
    }

    /// An item's settings; `None` for a table that sets nothing.
    fn item(&mut self, path: &KeyPath) -> Option<ItemSettings> {
        let [_, kind_name, name] = path.parts() else { return None };
        let kind = ItemKind::from_name(kind_name)?;
        for (key, kinds, whom) in LIMITED {
            if !kinds.contains(&kind) {
                let why = format!("is for {whom}, and this is a {kind}");
                self.refuse(&path.join(key), &why, "leave it out");
            }
        }
        let names = &[kind_name.as_str(), name.as_str()];
        let item = ItemSettings {
            kind,
            name: name.clone(),
            include: self.get("items.<kind>.<name>.include", names),
            priority: self.get("items.<kind>.<name>.priority", names),
            permission: self.get("items.<kind>.<name>.permission", names),
            grants: self.grants(names),
        };
        let sets_something = item.include.is_some()
            || item.priority.is_some()
            || item.permission.is_some()
            || item.grants != GrantSettings::default();
        sets_something.then_some(item)
    }

    fn grants(&mut self, names: &[&str]) -> GrantSettings {
        GrantSettings {
            network: self.get("items.<kind>.<name>.network", names).unwrap_or_default(),
            read: self.paths("items.<kind>.<name>.read", names).unwrap_or_default(),
            write: self.paths("items.<kind>.<name>.write", names).unwrap_or_default(),
            env: self.get("items.<kind>.<name>.env", names).unwrap_or_default(),
        }
    }
}
