//! The MCP servers of the config.
//!
//! A server is either a program or an address, and has only the keys that fit.
//! Values of variables are never shown: people put passwords there, whatever
//! they are told. Whether a program is there is for those who start it.

use super::super::problem::ValueMismatch;
use super::super::raw::NamedTable;
use super::super::setting::{KeyPath, LayerSetting};
use super::super::settings::{
    AddressKeys, ProgramKeys, ServerSandboxSettings, ServerSettings, TransportSettings,
};
use super::super::tables::SettingType;
use super::super::value::SettingValue;
use super::SettingsResolver;

/// The longest name: it becomes part of the names that models call tools by.
const MAX_NAME: usize = 32;

/// What stands in place of a value that is not shown.
const HIDDEN: &str = "…";

/// Words in the name of a variable that holds a secret.
const SECRETS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS"];

/// Words before `KEY` that make it one that opens something.
const SECRET_KEYS: &[&str] = &["API", "ACCESS", "PRIVATE", "AUTH", "SIGNING", "ENCRYPTION"];

/// The keys that only a program has.
const OF_PROGRAMS: &[&str] =
    &["args", "pass_env", "working_dir", "sandbox", "read", "write", "network"];

/// The keys that only a sandboxed program has.
const OF_SANDBOX: &[&str] = &["read", "write", "network"];

impl SettingsResolver<'_> {
    /// All servers, or `None` when one of them can't be used.
    pub(super) fn servers(&mut self) -> Option<Vec<ServerSettings>> {
        let servers: Vec<Option<ServerSettings>> =
            self.tables_in("mcp").map(|table| self.server(table)).collect();
        servers.into_iter().collect()
    }

    fn server(&mut self, table: &NamedTable) -> Option<ServerSettings> {
        let name = table.name();
        self.check_name(table);
        let transport = self.transport(table)?;
        ServerSettings::read(self, &[name], name.to_owned(), transport)
    }

    /// Whether the name can stand in `server.tool` and in the names that models
    /// call tools by.
    fn check_name(&mut self, table: &NamedTable) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if table.name().len() > MAX_NAME || !table.name().chars().all(is_plain) {
            let hint = format!("use at most {MAX_NAME} letters, digits, `_` and `-`");
            self.refuse_table(table, "is no name for a server", hint);
        }
    }

    fn refuse_table(&mut self, table: &NamedTable, why: &str, hint: impl Into<String>) {
        let mismatch = ValueMismatch::new(why).hint(hint);
        self.problems.push(mismatch.at_key(&table.path, table.place.clone()));
    }

    /// How the server is reached. All of its keys are read, whichever way that is:
    /// what is wrong with them is told at once. A program or an address that is
    /// missing here is a known problem, and no reason to leave the rest unread.
    fn transport(&mut self, table: &NamedTable) -> Option<TransportSettings> {
        let has = |key: &str| self.settings.contains_key(&table.path.join(key));
        let (has_command, has_url) = (has("command"), has("url"));
        let variables = self.variable_paths(table);
        self.refuse_unfit(table, has_command, has_url, &variables);
        let names = &[table.name()];
        let ProgramKeys { command, args, pass_env, working_dir } = ProgramKeys::read(self, names)?;
        let sandbox = self.server_sandbox(table)?;
        let env = variables.iter().filter_map(|path| self.variable(path)).collect();
        let AddressKeys { url, api_key_env } = AddressKeys::read(self, names)?;
        Some(match command {
            Some(command) => {
                TransportSettings::Program { command, args, env, pass_env, working_dir, sandbox }
            }
            None => TransportSettings::Address { url: url.unwrap_or_default(), api_key_env },
        })
    }

    /// What holds the program. Paths without a sandbox would look as if they held it.
    fn server_sandbox(&mut self, table: &NamedTable) -> Option<ServerSandboxSettings> {
        let is_set = |key: &&str| self.settings.contains_key(&table.path.join(key));
        let reaches = OF_SANDBOX.iter().any(is_set);
        let sandbox = ServerSandboxSettings::read(self, &[table.name()])?;
        if reaches && !sandbox.sandbox {
            let why = "has `read`, `write` or `network`, which hold only with `sandbox = true`";
            let mismatch = ValueMismatch::new(why).hint("add `sandbox = true`, or leave them out");
            self.warnings.push(mismatch.at_key(&table.path, table.place.clone()));
        }
        Some(sandbox)
    }

    /// Refuses what does not fit together.
    fn refuse_unfit(
        &mut self,
        table: &NamedTable,
        has_command: bool,
        has_url: bool,
        variables: &[KeyPath],
    ) {
        let command_or_url = "a server is a program, which Recto starts, or an address";
        match (has_command, has_url) {
            (false, false) => {
                self.refuse_table(table, "has neither `command` nor `url`", command_or_url);
            }
            (true, true) => {
                let hint = format!("keep one of the two: {command_or_url}");
                self.refuse(&table.path.join("url"), "stands beside `command`", hint);
            }
            (true, false) => {
                let why = "is for servers with a `url`, and this one is a program";
                let hint = "name variables that the program needs with `pass_env`";
                self.refuse(&table.path.join("api_key_env"), why, hint);
            }
            (false, true) => {
                let own = OF_PROGRAMS.iter().map(|key| table.path.join(key));
                for path in own.chain(variables.iter().cloned()) {
                    let why = "is for servers with a `command`, and this one has a `url`";
                    self.refuse(&path, why, "leave it out");
                }
            }
        }
    }

    /// The keys of `[mcp.<name>.env]`, in the order of their names.
    fn variable_paths(&self, table: &NamedTable) -> Vec<KeyPath> {
        let env = table.path.join("env");
        self.settings.keys().filter(|path| path.table() == env.parts()).cloned().collect()
    }

    /// The name and the value of a variable for a program.
    fn variable(&mut self, path: &KeyPath) -> Option<(String, String)> {
        let setting = self.settings.remove(path)?;
        let name = path.parts().last()?.clone();
        let refused = match name.as_str() {
            _ if setting.value.is_none() => return None,
            name if !is_variable(name) => Some((
                "is no name for a variable",
                "write letters, digits and `_`, and no digit first",
            )),
            name if holds_secret(name) => Some((
                "holds a secret, which must not stand in the file",
                "put it into Recto's own environment and name it in the list `pass_env`",
            )),
            _ => None,
        };
        if let Some((why, hint)) = refused {
            let LayerSetting { spelled, origin, .. } = setting;
            self.problems.push(ValueMismatch::new(why).hint(hint).at_key(&spelled, origin?));
            return None;
        }
        self.show(&setting, &SettingValue::Text(HIDDEN.to_owned()));
        Some((name, String::from_setting(setting)?))
    }
}

/// Unlike the names that the config passes on, these may have small letters:
/// their values are at hand, so that nobody mistakes the one for the other.
fn is_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Whether the name says that the value opens something.
fn holds_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split('_').collect();
    let is_key = |pair: &[&str]| pair[1] == "KEY" && SECRET_KEYS.contains(&pair[0]);
    words.iter().any(|word| SECRETS.contains(word)) || words.windows(2).any(is_key)
}
