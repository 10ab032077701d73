//! The first stage: the text of `config.toml` becomes a flat list of settings,
//! each with its line, and a list of everything that is wrong with it.
//!
//! The parser goes on after a syntax error, and so do we, with two limits. A
//! line with a syntax error is reported for that alone, because whatever the
//! parser made of it is a guess. And the values of unknown keys are never
//! looked at: one of them may be a password in the wrong place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use recto_context::{fold_name, nearest_name};

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::keys::{self, KeyKind, TableChild};
use super::problem::{ConfigProblem, SettingOrigin, ValueMismatch, listed, quoted};
use super::setting::{KeyPath, LayerSetting};
use super::value::{self, SettingValue, ValueResult};

/// What to do with a key that should not be in a file.
pub(super) const SECRET_HINT: &str =
    "put the key into an environment variable and name it with `api_key_env`";

/// What people call a key that opens a server, without case and `_`.
const SECRET_NAMES: &[&str] = &["apikey", "apitoken", "token", "key", "secret", "password"];

/// Whether what goes by this name in the query of an address opens a server.
pub(super) fn names_secret(name: &str) -> bool {
    let folded = fold_name(name);
    folded == "auth" || SECRET_NAMES.iter().any(|secret| folded.ends_with(secret))
}

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct ParsedConfig {
    /// Settings in the order of the file, table by table.
    pub(super) settings: Vec<LayerSetting>,
    /// The tables with names, such as `[models.qwen3]`, in the order of the
    /// file. Kept apart because an empty one is there all the same.
    pub(super) tables: Vec<NamedTable>,
    /// All that is wrong.
    pub(super) problems: Vec<ConfigProblem>,
    /// Whether any of it is a syntax error, so that the rest may be incomplete.
    pub(super) has_syntax_errors: bool,
}

/// A table whose name a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedTable {
    /// Its path with the name filled in.
    pub(super) path: KeyPath,
    /// Where it first appears.
    pub(super) place: SettingOrigin,
}

impl NamedTable {
    /// The name that a person chose.
    pub(super) fn name(&self) -> &str {
        self.path.parts().last().map_or("", String::as_str)
    }
}

/// Reads the text of a config file that people know as `file`.
pub(super) fn read(file: &str, text: &str) -> ParsedConfig {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut reader = FileReader::new(file, text);
    for error in errors {
        reader.syntax_error(error.span().map(|span| span.start), error.message());
    }
    reader.read_table("", document.get_ref(), &KeyPosition::default());
    reader.raw
}

/// The number of the line that opens most tables and lists, by its brackets and dots.
fn deepest_line(text: &str) -> usize {
    let opened = |line: &str| line.matches(['[', '{', '.']).count();
    let lines = (1..).zip(text.lines().map(opened));
    lines.max_by_key(|(number, opened)| (*opened, Reverse(*number))).map_or(1, |(number, _)| number)
}

struct FileReader<'a> {
    file: Arc<str>,
    text: &'a str,
    /// Where each line starts.
    lines: Vec<usize>,
    /// Where the text ends, but for blank lines.
    end: usize,
    /// The line that nests most.
    deepest: usize,
    /// The lines that have syntax errors.
    broken: BTreeSet<usize>,
    /// Where each setting was first seen.
    seen: BTreeMap<KeyPath, (KeyPath, SettingOrigin)>,
    raw: ParsedConfig,
}

/// Where the reader is: the path in our spelling and in the person's.
#[derive(Debug, Clone, Default)]
struct KeyPosition {
    path: KeyPath,
    spelled: KeyPath,
}

impl KeyPosition {
    fn join(&self, name: &str, spelled: &str) -> Self {
        KeyPosition { path: self.path.join(name), spelled: self.spelled.join(spelled) }
    }
}

impl<'a> FileReader<'a> {
    fn new(file: &str, text: &'a str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        FileReader {
            file: file.into(),
            text,
            lines: std::iter::once(0).chain(after_newlines).collect(),
            end: text.trim_end().len(),
            deepest: deepest_line(text),
            broken: BTreeSet::new(),
            seen: BTreeMap::new(),
            raw: ParsedConfig::default(),
        }
    }

    /// The line of an offset, counted from 1. What is missing at the end of the
    /// file is reported for the last line that has text.
    fn line(&self, offset: usize) -> usize {
        let offset = offset.min(self.end);
        self.lines.partition_point(|start| *start <= offset).max(1)
    }

    fn place(&self, offset: usize) -> SettingOrigin {
        SettingOrigin::File { name: Arc::clone(&self.file), line: Some(self.line(offset)) }
    }

    /// Reports the first error of each line; others there follow from it. Only
    /// the parser's message is used: its full report would repeat the line.
    fn syntax_error(&mut self, offset: Option<usize>, message: &str) {
        self.raw.has_syntax_errors = true;
        // The parser gives up on what is nested too deep without saying where that is.
        let line = offset.map_or(self.deepest, |offset| self.line(offset));
        if self.broken.insert(line) {
            let what = if offset.is_some() { message } else { "this is nested too deep" };
            let place = SettingOrigin::File { name: Arc::clone(&self.file), line: Some(line) };
            self.raw.problems.push(ConfigProblem::new(place, what));
        }
    }

    fn is_broken(&self, (key, _): FileEntry<'_, '_>) -> bool {
        self.broken.contains(&self.line(key.span().start))
    }

    fn report(&mut self, mismatch: ValueMismatch, spelled: &KeyPath, place: SettingOrigin) {
        self.raw.problems.push(mismatch.at_key(spelled, place));
    }

    /// Reads a table whose path in the table of keys is `table`.
    fn read_table(&mut self, table: &str, entries: &DeTable<'_>, at: &KeyPosition) {
        for entry in in_file_order(entries) {
            let name: &str = entry.0.get_ref();
            let is_table = matches!(entry.1.get_ref(), DeValue::Table(_));
            let named = is_table.then(|| keys::named_table(table, name)).flatten();
            match named.or_else(|| keys::child(table, name)) {
                Some(TableChild::Key(key)) => {
                    self.read_key(key.kind, entry, at.join(key.name_for(name), name));
                }
                Some(TableChild::Table { path, name: canonical }) => {
                    self.read_child_table(&path, entry, &at.join(&canonical, name));
                }
                None if self.is_broken(entry) => {}
                None => self.report_unknown(table, entry, &at.spelled),
            }
        }
    }

    fn read_child_table(&mut self, path: &str, entry: FileEntry<'_, '_>, at: &KeyPosition) {
        if keys::is_list(path) {
            return self.read_list(path, entry, at);
        }
        let (key, value) = entry;
        let place = self.place(key.span().start);
        let is_named = path.ends_with("<name>");
        let is_broken = self.is_broken(entry);
        match value.get_ref() {
            _ if is_named && key.get_ref().trim().is_empty() && !is_broken => {
                self.report(ValueMismatch::new("has an empty name"), &at.spelled, place);
            }
            DeValue::Table(entries) => {
                if is_named {
                    self.raw.tables.push(NamedTable { path: at.path.clone(), place });
                }
                self.read_table(path, entries, at);
            }
            _ if is_broken => {}
            other => self.report(not_a_table(path, &at.path, other), &at.spelled, place),
        }
    }

    /// Reads a list of tables, which count as if their numbers were their names.
    fn read_list(&mut self, path: &str, entry: FileEntry<'_, '_>, at: &KeyPosition) {
        let (key, value) = entry;
        let must = "must be a list of tables";
        let hint = format!("write `[[{}]]` above each", at.path);
        let DeValue::Array(items) = value.get_ref() else {
            if !self.is_broken(entry) {
                let what = format!("{must}, not {}", type_name(value.get_ref()));
                let place = self.place(key.span().start);
                self.report(ValueMismatch::new(what).hint(hint), &at.spelled, place);
            }
            return;
        };
        for (number, item) in (1..).map(|number: usize| number.to_string()).zip(items.iter()) {
            let place = self.place(item.span().start);
            match item.get_ref() {
                DeValue::Table(entries) => {
                    let at = at.join(&number, &number);
                    self.raw.tables.push(NamedTable { path: at.path.clone(), place });
                    self.read_table(&format!("{path}.<number>"), entries, &at);
                }
                other => {
                    let what = format!("{must}; entry {number} is {}", type_name(other));
                    self.report(ValueMismatch::new(what).hint(hint.as_str()), &at.spelled, place);
                }
            }
        }
    }

    fn read_key(&mut self, kind: KeyKind, entry: FileEntry<'_, '_>, at: KeyPosition) {
        let KeyPosition { path, spelled } = at;
        let place = self.place(entry.0.span().start);
        if let Some((first, first_place)) = self.seen.get(&path) {
            let what = format!("is the same setting as {} at {first_place}", quoted(first));
            let mismatch = ValueMismatch::new(what).hint("keep one of the two");
            return self.report(mismatch, &spelled, place);
        }
        self.seen.insert(path.clone(), (spelled.clone(), place.clone()));
        let value = match from_toml(kind, entry.1.get_ref()) {
            _ if self.is_broken(entry) => None,
            Ok(value) => Some(value),
            Err(mismatch) => {
                self.report(mismatch, &spelled, place.clone());
                None
            }
        };
        self.raw.settings.push(LayerSetting { kind, path, spelled, value, origin: Some(place) });
    }

    /// Reports a name that the table does not know: a table as a whole, unless
    /// its keys are written with dots, when each has a line of its own.
    fn report_unknown(&mut self, table: &str, entry: FileEntry<'_, '_>, above: &KeyPath) {
        let offset = entry.0.span().start;
        let mut leaves = Vec::new();
        let what = if self.is_in_header(offset) {
            leaves.push((vec![entry.0.get_ref().to_string()], offset));
            "unknown table"
        } else {
            collect_leaves(entry, &[], &mut leaves);
            "unknown key"
        };
        for (names, offset) in leaves {
            let spelled = names.iter().fold(above.clone(), |path, name| path.join(name));
            let what = format!("{what} {}", quoted(&spelled));
            let hint = unknown_hint(table, &names, above);
            self.raw.problems.push(ConfigProblem { place: self.place(offset), what, hint });
        }
    }

    /// Whether the name at this offset stands in a `[table]` line.
    fn is_in_header(&self, offset: usize) -> bool {
        let start = self.lines.get(self.line(offset) - 1).copied().unwrap_or_default();
        self.text.get(start..).is_some_and(|line| line.trim_start().starts_with('['))
    }
}

/// A name in the file, and what stands there under it.
type FileEntry<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// The entries as they follow each other in the file; the parser sorts them.
fn in_file_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<FileEntry<'t, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The names of an entry and below it that have a value of their own, each with
/// its offset. A table written with dots has the place of its key; one in braces
/// has its own, and counts as a value.
fn collect_leaves(
    (key, value): FileEntry<'_, '_>,
    above: &[String],
    leaves: &mut Vec<(Vec<String>, usize)>,
) {
    let names = [above, &[key.get_ref().to_string()]].concat();
    match value.get_ref() {
        DeValue::Table(entries) if value.span() == key.span() => {
            for entry in in_file_order(entries) {
                collect_leaves(entry, &names, leaves);
            }
        }
        _ => leaves.push((names, key.span().start)),
    }
}

/// What was probably meant, or else what there is.
fn unknown_hint(table: &str, names: &[String], spelled: &KeyPath) -> Option<String> {
    let name = names.last()?;
    if SECRET_NAMES.contains(&fold_name(name).as_str()) {
        let known = keys::children(table);
        let names_variable = known.iter().map(|(name, _)| *name).find(|name| *name == "token_env");
        let hint = names_variable.map(|key| SECRET_HINT.replace("api_key_env", key));
        return Some(hint.unwrap_or_else(|| SECRET_HINT.to_owned()));
    }
    if let Some(meant) = corrected(table, names, spelled) {
        return Some(format!("did you mean {}?", quoted(&meant)));
    }
    let known = keys::children(table);
    let known = listed(known.iter().map(|(name, _)| *name));
    Some(match table {
        "" => format!("at the top level there are {known}"),
        _ => format!("in {} there are {known}", quoted(spelled)),
    })
}

/// The path that `names` would have been without slips, if all of it is known.
fn corrected(table: &str, names: &[String], spelled: &KeyPath) -> Option<KeyPath> {
    let mut table = table.to_owned();
    let mut path = spelled.clone();
    for (i, name) in names.iter().enumerate() {
        let child = keys::child(&table, name).or_else(|| nearest_child(&table, name))?;
        match child {
            TableChild::Key(key) if i + 1 == names.len() => path = path.join(key.name_for(name)),
            TableChild::Key(_) => return None,
            TableChild::Table { path: below, name } => {
                path = path.join(&name);
                table = below;
            }
        }
    }
    Some(path)
}

/// What the nearest name means in the table, under whatever spelling it is near.
fn nearest_child(table: &str, name: &str) -> Option<TableChild> {
    let known = keys::children(table);
    let spellings = known
        .iter()
        .flat_map(|(name, others)| std::iter::once(*name).chain(others.iter().map(String::as_str)));
    keys::child(table, nearest_name(name, spellings)?)
}

fn not_a_table(table: &str, path: &KeyPath, value: &DeValue<'_>) -> ValueMismatch {
    let mismatch = ValueMismatch::new(format!("must be a table, not {}", type_name(value)));
    match keys::child(table, "NAME") {
        Some(TableChild::Table { .. }) => mismatch.hint(format!("write `[{path}.NAME]`")),
        _ => mismatch,
    }
}

fn from_toml(kind: KeyKind, value: &DeValue<'_>) -> ValueResult {
    match (kind, value) {
        (KeyKind::Bool, DeValue::Boolean(value)) => Ok(SettingValue::Bool(*value)),
        (KeyKind::Integer { .. }, DeValue::Integer(number)) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok();
            value::integer(kind, parsed, &quoted(number))
        }
        (KeyKind::Float { .. }, DeValue::Integer(number)) => {
            value::float(kind, number.as_str().parse().ok(), &quoted(number))
        }
        (KeyKind::Float { .. }, DeValue::Float(number)) => {
            value::float(kind, number.as_str().parse().ok(), &quoted(number))
        }
        (KeyKind::TextList | KeyKind::PathList | KeyKind::Variables, DeValue::Array(items)) => {
            list(kind, items)
        }
        (_, DeValue::String(text)) => value::string(kind, text),
        (_, other) => Err(value::refuse(kind, type_name(other))),
    }
}

fn list(kind: KeyKind, items: &DeArray<'_>) -> ValueResult {
    let mut texts = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let instead = match item.get_ref() {
            // An argument of a program may well be empty; no path or name is.
            DeValue::String(text) if text.trim().is_empty() && kind != KeyKind::TextList => "empty",
            DeValue::String(text) => {
                texts.push(text.to_string());
                continue;
            }
            other => type_name(other),
        };
        return Err(ValueMismatch::new(format!("must be {kind}; entry {} is {instead}", i + 1)));
    }
    value::list(kind, texts)
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// What the first stage makes of a text: settings, then problems.
    fn check(text: &str, expected: &Expect) {
        let raw = read("config.toml", text);
        let mut shown = String::new();
        for setting in &raw.settings {
            let value = setting.value.as_ref().map_or("?".to_owned(), SettingValue::to_string);
            let place = setting.origin.as_ref().unwrap();
            shown.push_str(&format!("{} = {value} ({place})\n", setting.path));
        }
        for problem in &raw.problems {
            shown.push_str(&format!("{problem}\n"));
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn settings_keep_their_lines_and_the_order_of_the_file() {
        check(
            "reload = 'startup'\n\n[models.zeta]\nwindow = 0x1000\n[models.alpha]\ntopP = 1\n",
            &expect![[r#"
                reload = "startup" (config.toml:1)
                models.zeta.window = 4096 (config.toml:4)
                models.alpha.top_p = 1.0 (config.toml:6)
            "#]],
        );
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_of_its_table() {
        check(
            "[contxt]\npreset = 'plain'\n",
            &expect![[r#"
                config.toml:1: unknown table `contxt`
                  hint: did you mean `context`?
            "#]],
        );
        check(
            "contxt.prest = 'plain'\ncontxt.preset.picks = 1\n",
            &expect![[r#"
                config.toml:1: unknown key `contxt.prest`
                  hint: did you mean `context.preset`?
                config.toml:2: unknown key `contxt.preset.picks`
                  hint: at the top level there are `model`, `reload`, `agents`, `bindings`, `context`, `history`, `memory`, `delegate`, `sessions`, `skills`, `tools`, `search`, `store`, `server`, `channels`, `log`, `telemetry`, `window`, `models`, `items`, `mcp`
            "#]],
        );
        check(
            "[items.ruel.a]\ninclude = 'always'\n",
            &expect![[r#"
                config.toml:1: unknown table `items.ruel`
                  hint: did you mean `items.rule`?
            "#]],
        );
        check(
            "[context]\nmax_messages = 3\n",
            &expect![[r#"
                config.toml:2: unknown key `context.max_messages`
                  hint: in `context` there are `preset`, `picks`, `target_tokens`
            "#]],
        );
        check(
            "contxt = { preset = 1 }\n[[binding]]\nagent = 'a'",
            &expect![[r#"
                config.toml:1: unknown key `contxt`
                  hint: did you mean `context`?
                config.toml:2: unknown table `binding`
                  hint: did you mean `bindings`?
            "#]],
        );
    }

    #[test]
    fn a_token_of_a_bot_is_named_by_its_own_key() {
        check(
            "channels.telegram.token = '123:abc'\n",
            &expect![[r#"
                config.toml:1: unknown key `channels.telegram.token`
                  hint: put the key into an environment variable and name it with `token_env`
            "#]],
        );
    }

    #[test]
    fn a_secret_in_the_file_is_pointed_out_and_never_shown() {
        check(
            "[models.a]\napi_key = 'hunter2'\napiKey = 'hunter3'\n",
            &expect![[r#"
                config.toml:2: unknown key `models.a.api_key`
                  hint: put the key into an environment variable and name it with `api_key_env`
                config.toml:3: unknown key `models.a.apiKey`
                  hint: put the key into an environment variable and name it with `api_key_env`
            "#]],
        );
        check(
            "token = 'hunter2'\nxyz = 'hunter2'\n[xyz2]\npassword = 'hunter2'",
            &expect![[r#"
                config.toml:1: unknown key `token`
                  hint: put the key into an environment variable and name it with `api_key_env`
                config.toml:2: unknown key `xyz`
                  hint: at the top level there are `model`, `reload`, `agents`, `bindings`, `context`, `history`, `memory`, `delegate`, `sessions`, `skills`, `tools`, `search`, `store`, `server`, `channels`, `log`, `telemetry`, `window`, `models`, `items`, `mcp`
                config.toml:3: unknown table `xyz2`
                  hint: at the top level there are `model`, `reload`, `agents`, `bindings`, `context`, `history`, `memory`, `delegate`, `sessions`, `skills`, `tools`, `search`, `store`, `server`, `channels`, `log`, `telemetry`, `window`, `models`, `items`, `mcp`
            "#]],
        );
    }

    #[test]
    fn values_of_the_wrong_type_are_named_by_their_type() {
        check(
            "model = 3\nmodels = 'a'\n[skills]\ndisabled = ['a', 1]\nextraDirs = 'x'\nrender = true",
            &expect![[r#"
                model = ? (config.toml:1)
                skills.disabled = ? (config.toml:4)
                skills.extra_dirs = ? (config.toml:5)
                skills.render = ? (config.toml:6)
                config.toml:1: `model` must be a string, not a whole number
                config.toml:2: `models` must be a table, not a string
                  hint: write `[models.NAME]`
                config.toml:4: `skills.disabled` must be a list of strings; entry 2 is a whole number
                config.toml:5: `skills.extraDirs` must be a list of paths, not a string
                config.toml:6: `skills.render` must be one of `full`, `read_on_demand`, `description`, not a boolean
            "#]],
        );
        check(
            "[[models]]\nprovider = 'ollama'\n[history.max_tokens]\nx = 1\n",
            &expect![[r#"
                history.max_tokens = ? (config.toml:3)
                config.toml:1: `models` must be a table, not a list
                  hint: write `[models.NAME]`
                config.toml:3: `history.max_tokens` must be a whole number from 1 to 10000000, not a table
            "#]],
        );
        check(
            "[models.a]\nminimal_system = 'yes'\ntemperature = 1979-05-27",
            &expect![[r#"
                models.a.minimal_system = ? (config.toml:2)
                models.a.temperature = ? (config.toml:3)
                config.toml:2: `models.a.minimal_system` must be `true` or `false`, not a string
                config.toml:3: `models.a.temperature` must be a number from 0 to 2, not a date or time
            "#]],
        );
    }

    #[test]
    fn one_setting_under_two_names_is_reported_with_both_lines() {
        check(
            "[skills]\nrender = 'full'\ncontextMode = 'full'\n",
            &expect![[r#"
                skills.render = "full" (config.toml:2)
                config.toml:3: `skills.contextMode` is the same setting as `skills.render` at config.toml:2
                  hint: keep one of the two
            "#]],
        );
        check(
            "[items.rule.a]\npriority = 1\n[items.rules.a]\npriority = 2\ninclude = 'agent'\n",
            &expect![[r#"
                items.rule.a.priority = 1 (config.toml:2)
                items.rule.a.include = "agent" (config.toml:5)
                config.toml:4: `items.rules.a.priority` is the same setting as `items.rule.a.priority` at config.toml:2
                  hint: keep one of the two
            "#]],
        );
    }

    #[test]
    fn syntax_errors_are_all_reported_and_hide_what_follows_from_them() {
        check(
            "model = \nrelod = 'x\n[context\npreset = 'plain'\n[history]\nx",
            &expect![[r#"
                model = ? (config.toml:1)
                config.toml:3: unclosed table, expected `]`
                config.toml:6: key with no value, expected `=`
                config.toml:1: string values must be quoted, expected literal string
                config.toml:2: invalid literal string, expected `'`
            "#]],
        );
        check(
            "reload = 'turn'\nreload = 'turn'\n",
            &expect![[r#"
                reload = "turn" (config.toml:1)
                config.toml:2: duplicate key
            "#]],
        );
        check(
            &format!("{}a = 1", "a.".repeat(500)),
            &expect![[r#"
                config.toml:1: this is nested too deep
            "#]],
        );
    }

    #[test]
    fn a_list_of_tables_is_read_by_number() {
        check(
            "[[bindings]]\nsurface = 'telegram'\n\n[[bindings]]\nagnet = 'a'\nconversation = 3\n",
            &expect![[r#"
                bindings.1.surface = "telegram" (config.toml:2)
                bindings.2.conversation = ? (config.toml:6)
                config.toml:5: unknown key `bindings.2.agnet`
                  hint: did you mean `bindings.2.agent`?
                config.toml:6: `bindings.2.conversation` must be a string, not a whole number
            "#]],
        );
        check(
            "bindings = [{ agent = 'a' }, 3]\n",
            &expect![[r#"
            bindings.1.agent = "a" (config.toml:1)
            config.toml:1: `bindings` must be a list of tables; entry 2 is a whole number
              hint: write `[[bindings]]` above each
        "#]],
        );
        check(
            "[bindings.x]\nagent = 'a'\n",
            &expect![[r#"
            config.toml:1: `bindings` must be a list of tables, not a table
              hint: write `[[bindings]]` above each
        "#]],
        );
    }

    #[test]
    fn an_agent_has_tables_of_its_own() {
        check(
            "[agents.work]\nsearch.topN = 3\n[agents.work.items.rules.style]\ninclude = 'agent'\n\
             [agents.work.serch]\nfloor = 1\n[agents.work.models.x]\n[agents.work.search.tools]\nflor = 1\n",
            &expect![[r#"
                agents.work.search.top_n = 3 (config.toml:2)
                agents.work.items.rule.style.include = "agent" (config.toml:4)
                config.toml:9: unknown key `agents.work.search.tools.flor`
                  hint: did you mean `agents.work.search.tools.floor`?
                config.toml:5: unknown table `agents.work.serch`
                  hint: did you mean `agents.work.search`?
                config.toml:7: unknown table `agents.work.models`
                  hint: did you mean `agents.work.model`?
            "#]],
        );
    }

    #[test]
    fn names_must_not_be_empty() {
        check(
            "[models.'']\nprovider = 'ollama'\n",
            &expect![[r#"
                config.toml:1: `models.""` has an empty name
            "#]],
        );
    }
}
