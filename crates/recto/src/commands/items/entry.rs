//! Which item a person means by a name.

use recto_agent::{ListedItem, name_means_item};

/// The item that a name means, if it is only one.
pub(in crate::commands) enum ItemMatch<'e, 'a> {
    One(&'e ListedItem<'a>),
    /// Tools of several skills; these names tell them apart.
    Several(Vec<String>),
    None,
}

/// The item of that name, which may have its kind in front: `units`, `rule:units`. A skill's tool
/// can be meant by its own name as long as no other tool has it.
pub(in crate::commands) fn find<'e, 'a>(
    entries: &'e [ListedItem<'a>],
    name: &str,
) -> ItemMatch<'e, 'a> {
    let of_key = entries.iter().filter(|entry| entry.key() == name);
    let of_name = entries.iter().filter(|entry| *entry.id.name == *name);
    let mut found: Vec<&ListedItem<'_>> = of_key.collect();
    if found.is_empty() {
        found = of_name.collect();
    }
    if found.is_empty() {
        found = entries.iter().filter(|entry| name_means_item(name, &entry.id)).collect();
    }
    match found[..] {
        [] => ItemMatch::None,
        [entry] => ItemMatch::One(entry),
        _ => ItemMatch::Several(found.iter().map(|entry| entry.key()).collect()),
    }
}

/// All names that items can be meant by.
pub(in crate::commands) fn names(entries: &[ListedItem<'_>]) -> Vec<String> {
    let both = |entry: &ListedItem<'_>| [entry.id.name.to_string(), entry.key()];
    entries.iter().flat_map(both).collect()
}
