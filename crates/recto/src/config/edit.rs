//! Changes of the config file that leave all else as it was: comments, order,
//! spelling, line ends.
//!
//! Only texts are changed here; who calls reads and writes the file. What cannot
//! be changed safely is not changed: a new text counts only if it reads as the
//! old one in everything but the setting that was meant.

use std::fmt;
use std::ops::Range;

use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, Value};

use super::choices::{IncludeMode, ItemKind};
use super::raw;
use super::setting::KeyPath;
use super::value::{SettingValue, basic_string};

/// The last part of the key that is changed.
const INCLUDE: &str = "include";

/// The table of items.
const ITEMS: &str = "items";

/// The table of MCP servers.
const SERVERS: &str = "mcp";

/// The text of a config with the include mode of an item, or of all of its kind, set, or with
/// `None` no longer set. `None` when the text can't be changed.
pub fn set_include(
    text: &str,
    table: IncludeTable<'_>,
    scope: IncludeScope<'_>,
    include: Option<IncludeMode>,
) -> Option<String> {
    let item = IncludeEntry { table, scope };
    let edited = match (item.find(text)?, include) {
        (Some(found), Some(include)) => {
            let mut edited = text.to_owned();
            edited.replace_range(found.value, &basic_string(include.name()));
            edited
        }
        (Some(found), None) => item.pruned(&item.removed(text, &found)?, &found.table)?,
        (None, Some(include)) => item.inserted(text, include)?,
        (None, None) => text.to_owned(),
    };
    let edited = with_line_ends_of(text, edited);
    item.is_all_that_changed(text, &edited, include).then_some(edited)
}

/// What an include mode is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncludeScope<'a> {
    /// All items of the kind of which nothing else is said.
    Kind,
    /// The item or server of this name.
    Item(&'a str),
}

impl IncludeScope<'_> {
    /// The table in which the setting stands, in or below that of the kind.
    fn own_table(self, of_kind: &Item) -> Option<&Item> {
        match self {
            IncludeScope::Kind => Some(of_kind),
            IncludeScope::Item(name) => of_kind.get(name),
        }
    }

    /// The same, to be changed.
    fn own_table_mut(self, of_kind: &mut Item) -> Option<&mut Item> {
        match self {
            IncludeScope::Kind => Some(of_kind),
            IncludeScope::Item(name) => below(of_kind, name),
        }
    }
}

/// The table in which include modes are set.
#[derive(Debug, Clone, Copy)]
pub enum IncludeTable<'a> {
    /// That of the items of a kind: the one for all agents, or an agent's own.
    Items {
        /// The agent, where it is one's own.
        agent: Option<&'a str>,
        /// The kind of the items.
        kind: ItemKind,
    },
    /// That of the MCP servers, each of which has a table of its name in it.
    Servers,
}

impl<'a> IncludeTable<'a> {
    /// The names of the tables down to the one that it stands in.
    fn above(self) -> Vec<&'a str> {
        match self {
            IncludeTable::Items { agent: None, .. } => vec![ITEMS],
            IncludeTable::Items { agent: Some(agent), .. } => vec!["agents", agent, ITEMS],
            IncludeTable::Servers => Vec::new(),
        }
    }

    /// Its own name.
    fn name(self) -> &'static str {
        match self {
            IncludeTable::Items { kind, .. } => kind.name(),
            IncludeTable::Servers => SERVERS,
        }
    }

    /// The path of its own, from the top.
    fn path(self) -> KeyPath {
        let above = self.above().into_iter().fold(KeyPath::default(), |path, name| path.join(name));
        above.join(self.name())
    }
}

/// The path as TOML spells it.
impl fmt::Display for IncludeTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path())
    }
}

/// The setting that is changed.
#[derive(Clone, Copy)]
struct IncludeEntry<'a> {
    table: IncludeTable<'a>,
    scope: IncludeScope<'a>,
}

/// Where a setting stands in the text.
struct IncludeSpan {
    value: Range<usize>,
    /// The value, or the braces around it that hold nothing else.
    whole: Range<usize>,
    /// The name of the kind's table.
    table: String,
    /// Whether that stands in braces, beside something else.
    in_braces: bool,
}

impl IncludeEntry<'_> {
    /// The names that the table can have.
    fn tables(self) -> [String; 2] {
        let name = self.table.name().to_owned();
        match self.table {
            IncludeTable::Items { kind, .. } => [name, format!("{kind}s")],
            IncludeTable::Servers => [name.clone(), name],
        }
    }

    /// The table with a table for each kind, if it is there.
    fn items(self, document: &Item) -> Option<&Item> {
        self.table.above().into_iter().try_fold(document, |table, name| table.get(name))
    }

    /// Where the setting stands, if it does; `None` for a text that can't be read.
    fn find(self, text: &str) -> Option<Option<IncludeSpan>> {
        let document = Document::parse(text).ok()?;
        let found = self.tables().into_iter().find_map(|table| {
            let items = self.items(document.as_item())?;
            let of_kind = items.get(&table)?;
            let item = self.scope.own_table(of_kind)?;
            // An item may be called as the key is.
            let value = item.get(INCLUDE).filter(|value| !value.is_table_like())?.span()?;
            let is_lone = |item: &Item| item.as_inline_table().is_some_and(|own| own.len() == 1);
            // Braces that hold nothing else go with it.
            let whole = [item, of_kind, items].into_iter().take_while(|item| is_lone(item)).last();
            let around = [item, of_kind, items].into_iter().find(|item| !is_lone(item));
            let in_braces = around.is_some_and(Item::is_inline_table);
            let whole = whole.map_or(Some(value.clone()), Item::span)?;
            Some(IncludeSpan { value, whole, table, in_braces })
        });
        Some(found)
    }

    /// The text without the setting. Comments stay, also the one on its line.
    fn removed(self, text: &str, found: &IncludeSpan) -> Option<String> {
        if found.in_braces {
            return self.removed_from_braces(text, &found.table);
        }
        let start = line_start(text, found.whole.start);
        let rest = text.get(found.whole.end..)?;
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let comment = rest.get(..line_end)?.trim_start();
        let mut edited = text.to_owned();
        edited.replace_range(start..found.whole.end + line_end - comment.len(), "");
        Some(edited)
    }

    fn removed_from_braces(self, text: &str, table: &str) -> Option<String> {
        let mut document: DocumentMut = text.parse().ok()?;
        let items = self.table.above().into_iter().try_fold(document.as_item_mut(), below)?;
        let of_kind = below(items, table)?;
        let item = self.scope.own_table_mut(of_kind)?;
        remove(item, INCLUDE);
        if let IncludeScope::Item(name) = self.scope
            && is_empty_inline(item)
        {
            remove(of_kind, name);
        }
        if is_empty_inline(of_kind) {
            remove(items, table);
        }
        Some(document.to_string())
    }

    /// The text without a header that the setting was all of, unless someone wrote a
    /// comment about it.
    fn pruned(self, text: &str, table: &str) -> Option<String> {
        let document = Document::parse(text).ok()?;
        let items = self.items(document.as_item());
        let item = items.and_then(|items| self.scope.own_table(items.get(table)?));
        let Some(Item::Table(own)) = item else { return Some(text.to_owned()) };
        let Some(header) = own.span().filter(|_| own.is_empty() && !own.is_dotted()) else {
            return Some(text.to_owned());
        };
        let start = line_start(text, header.start);
        let rest = text.get(header.start..)?;
        let end = header.start + rest.find('\n').map_or(rest.len(), |at| at + 1);
        let above = text.get(..start)?;
        let has_comment_above =
            above.lines().next_back().is_some_and(|line| line.trim_start().starts_with('#'));
        if has_comment_above || text.get(header.end..end)?.contains('#') {
            return Some(text.to_owned());
        }
        // With the empty line that kept it apart from what stands above.
        let above = match above.strip_suffix("\r\n").or_else(|| above.strip_suffix('\n')) {
            Some(less) if less.is_empty() || less.ends_with('\n') => less,
            _ => above,
        };
        Some(above.to_owned() + text.get(end..)?)
    }

    /// The text with the setting, in the item's own table: the one that is there, or a new
    /// one, written as those around it are.
    fn inserted(self, text: &str, include: IncludeMode) -> Option<String> {
        let mut document: DocumentMut = text.parse().ok()?;
        let items = self.items(document.as_item());
        let is_new = items.is_none();
        let last = last_position(document.as_table());
        let [singular, plural] = self.tables();
        let own = |table: &&String| {
            items.and_then(|items| self.scope.own_table(items.get(table)?)).is_some()
        };
        let of_kind = |table: &&String| items.and_then(|items| items.get(table)).is_some();
        let table = [&singular, &plural].into_iter().find(own);
        let table = table.or_else(|| [&singular, &plural].into_iter().find(of_kind));
        let table = table.unwrap_or(&singular).clone();
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        let above = |parent, name| child(parent, name, TableLevel::Above);
        let items = self.table.above().into_iter().try_fold(document.as_item_mut(), above)?;
        let item = match self.scope {
            IncludeScope::Kind => child(items, &table, TableLevel::Own)?,
            IncludeScope::Item(name) => {
                child(child(items, &table, TableLevel::Above)?, name, TableLevel::Own)?
            }
        };
        if let (true, Some(own)) = (is_new, item.as_table_mut()) {
            // At the end of the file, behind the comments that stand there.
            own.set_position(Some(last + 1));
            if !trailing.trim().is_empty() {
                own.decor_mut().set_prefix(format!("{}\n\n", trailing.trim_end()));
            }
        }
        item.as_table_like_mut()?.insert(INCLUDE, toml_edit::value(include.name()));
        tidy_braces(item);
        if is_new && !trailing.trim().is_empty() {
            document.set_trailing("");
        }
        Some(document.to_string())
    }

    /// Whether the new text says the same as the old one, but for this setting,
    /// which is as it was meant to be.
    fn is_all_that_changed(self, old: &str, new: &str, include: Option<IncludeMode>) -> bool {
        let of_kind = self.table.path();
        let path = match self.scope {
            IncludeScope::Kind => of_kind.join(INCLUDE),
            IncludeScope::Item(name) => of_kind.join(name).join(INCLUDE),
        };
        let read = |text: &str| {
            let raw = raw::read("", text);
            let settings = raw.settings.into_iter().map(|setting| (setting.path, setting.value));
            let (own, others): (Vec<_>, Vec<_>) = settings.partition(|(other, _)| *other == path);
            (own, others, raw.problems.len())
        };
        let (_, before, problems_before) = read(old);
        let (own, after, problems) = read(new);
        let meant = include.map(|include| (path.clone(), Some(text_value(include))));
        own == Vec::from_iter(meant) && before == after && problems == problems_before
    }
}

fn text_value(include: IncludeMode) -> SettingValue {
    SettingValue::Text(include.name().to_owned())
}

/// Where a table stands that is looked for: above the item's own, or that one itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableLevel {
    Above,
    Own,
}

/// The table of that name, new if need be and then written as the one around it:
/// in braces, with dots, or with a header of its own.
fn child<'i>(parent: &'i mut Item, name: &str, level: TableLevel) -> Option<&'i mut Item> {
    let is_inline = parent.is_inline_table();
    let is_dotted = parent.as_table().is_some_and(Table::is_dotted);
    let table = parent.as_table_like_mut()?;
    if !table.contains_key(name) {
        let new = if is_inline {
            Item::Value(Value::InlineTable(InlineTable::new()))
        } else {
            let mut new = Table::new();
            new.set_implicit(level == TableLevel::Above);
            new.set_dotted(is_dotted);
            Item::Table(new)
        };
        table.insert(name, new);
        tidy_braces(parent);
    }
    below(parent, name)
}

/// Puts spaces where people put them, unless that would take a comment away.
fn tidy_braces(item: &mut Item) {
    if let Some(braces) = item.as_inline_table_mut()
        && !braces.to_string().contains('#')
    {
        braces.fmt();
    }
}

/// What has that name in a table. Indexing would make it.
fn below<'i>(item: &'i mut Item, name: &str) -> Option<&'i mut Item> {
    item.as_table_like_mut()?.get_mut(name)
}

fn remove(table: &mut Item, name: &str) {
    if let Some(table) = table.as_table_like_mut() {
        table.remove(name);
    }
}

fn is_empty_inline(item: &Item) -> bool {
    item.as_inline_table().is_some_and(InlineTable::is_empty)
}

/// Where the line of an offset begins.
fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// The position of the last table that has a header.
fn last_position(table: &Table) -> isize {
    let below = table.iter().filter_map(|(_, item)| item.as_table()).map(last_position);
    below.chain(table.position()).max().unwrap_or_default()
}

/// New lines end as the lines around them do.
fn with_line_ends_of(text: &str, edited: String) -> String {
    let lines = text.matches('\n').count();
    if lines == 0 || text.matches("\r\n").count() < lines {
        return edited;
    }
    edited.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::super::{ConfigSources, load_text};
    use super::*;

    fn check(text: &str, include: Option<IncludeMode>, expected: &Expect) {
        check_in(RULES, text, include, expected);
    }

    fn check_in(
        table: IncludeTable<'_>,
        text: &str,
        include: Option<IncludeMode>,
        expected: &Expect,
    ) {
        let edited = set_include(text, table, IncludeScope::Item("style"), include).unwrap();
        expected.assert_eq(&edited);
        // Once more is no change.
        assert_eq!(
            set_include(&edited, table, IncludeScope::Item("style"), include).unwrap(),
            edited
        );
    }

    const RULES: IncludeTable<'static> = table(ItemKind::Rule);

    const fn table(kind: ItemKind) -> IncludeTable<'static> {
        IncludeTable::Items { agent: None, kind }
    }

    #[test]
    fn a_server_has_its_include_mode_in_its_own_table() {
        let set = |text: &str, include| {
            set_include(text, IncludeTable::Servers, IncludeScope::Item("docs"), include)
        };
        let text = "[mcp.docs]\ncommand = 'x' # why\n\n[mcp.docs.env]\nA = 'b'\n";
        let edited = set(text, AGENT).unwrap();
        expect![[r#"
            [mcp.docs]
            command = 'x' # why
            include = "agent"

            [mcp.docs.env]
            A = 'b'
        "#]]
        .assert_eq(&edited);
        assert_eq!(set(&edited, None).unwrap(), text);
    }

    #[test]
    fn an_agent_has_a_table_of_its_own() {
        let table = IncludeTable::Items { agent: Some("work"), kind: ItemKind::Rule };
        assert_eq!(table.to_string(), "agents.work.items.rule");
        check_in(
            table,
            "[agents.work]\nworkspace = 'w'\n\n[items.rule.style]\ninclude = 'always'\n",
            AGENT,
            &expect![[r#"
                [agents.work]
                workspace = 'w'

                [items.rule.style]
                include = 'always'

                [agents.work.items.rule.style]
                include = "agent"
            "#]],
        );
        check_in(
            table,
            "[agents.work]\nworkspace = 'w'\nitems.rules.style = { include = 'always' }\n",
            AGENT,
            &expect![[r#"
                [agents.work]
                workspace = 'w'
                items.rules.style = { include = "agent" }
            "#]],
        );
        check_in(
            table,
            "[agents.work]\nworkspace = 'w'\n\n[agents.work.items.rule.style]\ninclude = 'always'\n",
            None,
            &expect![[r#"
                [agents.work]
                workspace = 'w'
            "#]],
        );
    }

    const AGENT: Option<IncludeMode> = Some(IncludeMode::Agent);

    #[test]
    fn a_new_table_comes_behind_all_that_is_there() {
        check(
            "",
            AGENT,
            &expect![[r#"
            [items.rule.style]
            include = "agent"
        "#]],
        );
        check(
            "# Mine.\nmodel = \"a\" # here\n\n[models.a]\nprovider = 'ollama'\n# last words",
            AGENT,
            &expect![[r##"
                # Mine.
                model = "a" # here

                [models.a]
                provider = 'ollama'
                # last words

                [items.rule.style]
                include = "agent"
            "##]],
        );
        check(
            "# only\n# words\n",
            AGENT,
            &expect![[r##"
            # only
            # words

            [items.rule.style]
            include = "agent"
        "##]],
        );
        check(
            "[models.a]\nx = 1\n[history]\n[models.b]\n[context]\n",
            AGENT,
            &expect![[r#"
            [models.a]
            x = 1
            [history]
            [models.b]
            [context]

            [items.rule.style]
            include = "agent"
        "#]],
        );
    }

    #[test]
    fn a_new_table_joins_its_like() {
        check(
            "[items.rules.a]\ninclude = 'always' # why\n\n# B.\n[models.b]\n",
            AGENT,
            &expect![[r#"
                [items.rules.a]
                include = 'always' # why

                [items.rules.style]
                include = "agent"

                # B.
                [models.b]
            "#]],
        );
        check(
            "items.rule.a.include = 'always'\n[history]\n",
            AGENT,
            &expect![[r#"
            items.rule.a.include = 'always'
            items.rule.style.include = "agent"
            [history]
        "#]],
        );
        check(
            "[items.rule]\na.include = 'always'\n",
            AGENT,
            &expect![[r#"
            [items.rule]
            a.include = 'always'

            [items.rule.style]
            include = "agent"
        "#]],
        );
        check(
            "[items]\nrule = { a = { include = 'always' } }\n",
            AGENT,
            &expect![[r#"
            [items]
            rule = { a = { include = 'always' }, style = { include = "agent" } }
        "#]],
        );
        check(
            "[items.skill.b]\ninclude = 'manual'\n",
            AGENT,
            &expect![[r#"
            [items.skill.b]
            include = 'manual'

            [items.rule.style]
            include = "agent"
        "#]],
        );
    }

    #[test]
    fn a_table_that_is_there_is_used() {
        check(
            "[items.rule.style]\npriority = 7 # low\n\n[history]\n",
            AGENT,
            &expect![[r#"
            [items.rule.style]
            priority = 7 # low
            include = "agent"

            [history]
        "#]],
        );
        check(
            "items.rules.style = { priority = 7 }\n",
            AGENT,
            &expect![[r#"
            items.rules.style = { priority = 7, include = "agent" }
        "#]],
        );
        check(
            "[items.rule.style] # mine\n# why\n  include =   'manual'   # so\npriority = 1\n",
            AGENT,
            &expect![[r#"
                [items.rule.style] # mine
                # why
                  include =   "agent"   # so
                priority = 1
            "#]],
        );
    }

    #[test]
    fn what_is_no_longer_set_leaves_no_trace_but_what_people_wrote() {
        check(
            "a = 1\n\n[items.rule.style]\ninclude = 'agent'\n\n[b]\n",
            None,
            &expect![[r#"
                a = 1

                [b]
            "#]],
        );
        check(
            "# About style.\n[items.rule.style]\n# why\ninclude = 'agent' # so\n# more\n\n[b]\n",
            None,
            &expect![[r#"
                # About style.
                [items.rule.style]
                # why
                # so
                # more

                [b]
            "#]],
        );
        check(
            "[items.rule.style]\ninclude = 'agent'\npriority = 1\n",
            None,
            &expect![[r#"
            [items.rule.style]
            priority = 1
        "#]],
        );
        check(
            "items.rule.style.include = 'agent'\nx = 1\n",
            None,
            &expect![[r#"
            x = 1
        "#]],
        );
        check("items = { rule = { style = { include = 'agent' } } }\n", None, &expect![[""]]);
        check(
            "[items.rule]\nstyle = { include = 'agent', priority = 2 }\n",
            None,
            &expect![[r#"
                [items.rule]
                style = { priority = 2 }
            "#]],
        );
        check(
            "[items.rule]\nother = { priority = 1 } # x\n# why\nstyle = { include = 'agent' } # y\n",
            None,
            &expect![[r#"
                [items.rule]
                other = { priority = 1 } # x
                # why
                # y
            "#]],
        );
        check(
            "items = { rule.style.include = 'agent', rule.b.include = 'always' }\n",
            None,
            &expect![[r#"
                items = { rule.b.include = 'always' }
            "#]],
        );
        check(
            "items = { rule.style.include = 'agent' } # all\nx = 1\n",
            None,
            &expect![[r#"
            # all
            x = 1
        "#]],
        );
        check(
            "# Mine.\n\n[items.rule.style]\ninclude = 'agent'\n",
            None,
            &expect![[r##"
            # Mine.
        "##]],
        );
        check(
            "# nothing\n",
            None,
            &expect![[r#"
            # nothing
        "#]],
        );
    }

    #[test]
    fn lines_end_as_they_did() {
        let edited =
            set_include("a = 1\r\n[b]\r\n", table(ItemKind::Tool), IncludeScope::Item("x"), AGENT)
                .unwrap();
        assert_eq!(edited, "a = 1\r\n[b]\r\n\r\n[items.tool.x]\r\ninclude = \"agent\"\r\n");
    }

    #[test]
    fn what_is_no_toml_or_no_table_stays() {
        for text in ["a = \n", "[items", "items = 3\n", "[items]\nrule = []\n", "[[items]]\n"] {
            assert_eq!(
                set_include(text, RULES, IncludeScope::Item("style"), AGENT),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn a_kind_has_a_key_beside_the_tables_of_its_items() {
        let kind = |text: &str, include| {
            let edited = set_include(text, table(ItemKind::Skill), IncludeScope::Kind, include);
            let edited = edited.unwrap();
            let again = set_include(&edited, table(ItemKind::Skill), IncludeScope::Kind, include);
            assert_eq!(again.unwrap(), edited);
            edited
        };
        assert_eq!(kind("", AGENT), "[items.skill]\ninclude = \"agent\"\n");
        let set = kind("[items.skill.a]\ninclude = 'always' # x\n", AGENT);
        let settings = load_text(&set, &ConfigSources::new("/r")).unwrap().settings;
        assert_eq!(settings.kind_include(ItemKind::Skill), AGENT);
        let named = settings.items.iter().find(|item| item.name == "a").unwrap();
        assert_eq!(named.include, Some(IncludeMode::Always));
        assert!(set.contains("# x\n"));
        // A key can't be a setting and the table of an item, too.
        let of_item = "[items.skill.include]\ninclude = 'always'\n";
        assert_eq!(set_include(of_item, table(ItemKind::Skill), IncludeScope::Kind, AGENT), None);
        assert_eq!(
            kind("[items.skills]\ninclude = 'always' # why\n", AGENT),
            "[items.skills]\ninclude = \"agent\" # why\n"
        );
        assert_eq!(kind("a = 1\n\n[items.skill]\ninclude = 'always'\n", None), "a = 1\n");
        assert_eq!(kind("items.skill.include = 'always'\n", None), "");
        assert_eq!(
            kind("[items.skill.include]\ninclude = 'always'\n", None),
            "[items.skill.include]\ninclude = 'always'\n"
        );
    }

    proptest! {
        #[test]
        fn any_name_can_be_set_read_and_taken_back(name in "[ -~äß日\u{1f600}\n\t\u{0}\u{7f}]{1,12}") {
            prop_assume!(!name.trim().is_empty());
            let base = "# Mine.\n[items.skill.other] # x\ninclude = 'always'\n\n[history]\nmax_tokens = 9 # y\n# end\n";
            let set = set_include(base, table(ItemKind::Skill), IncludeScope::Item(&name), AGENT).unwrap();
            let items = load_text(&set, &ConfigSources::new("/r")).unwrap().settings.items;
            let found = items.iter().find(|item| item.name == name).unwrap();
            prop_assert_eq!((found.kind, found.include), (ItemKind::Skill, AGENT));
            for comment in ["# Mine.\n", "# x\n", "# y\n", "# end\n"] {
                prop_assert!(set.contains(comment));
            }
            if name != "other" {
                let back = set_include(&set, table(ItemKind::Skill), IncludeScope::Item(&name), None).unwrap();
                prop_assert_eq!(back, base);
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}=.'\"# a\nitemsrulestyle]{0,80}") {
            let _ = set_include(&text, RULES, IncludeScope::Item("style"), AGENT);
            let _ = set_include(&text, RULES, IncludeScope::Item("style"), None);
        }
    }
}
