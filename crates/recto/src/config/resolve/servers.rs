//! The MCP servers of the config.
//!
//! A server is either a program or an address, and has only the keys that fit.
//! Values of variables are never shown: people put passwords there, whatever
//! they are told. Whether a program is there is for those who start it.

use std::path::Path;

use super::super::Row;
use super::super::problem::{Problem, quoted};
use super::super::raw::NamedTable;
use super::super::setting::KeyPath;
use super::super::settings::{ServerSettings, TransportSettings};
use super::super::value::Value;
use super::{Found, FromValue, Resolver};

/// The longest name: it becomes part of the names that models call tools by.
const MAX_NAME: usize = 32;

/// What stands in place of a value that is not shown.
const HIDDEN: &str = "…";

/// Words in the name of a variable that holds a secret.
const SECRETS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS"];

/// Words before `KEY` that make it one that opens something.
const SECRET_KEYS: &[&str] = &["API", "ACCESS", "PRIVATE", "AUTH", "SIGNING", "ENCRYPTION"];

/// The keys that only a program has, and those that only an address has.
const OF_PROGRAMS: &[&str] = &["args", "pass_env", "working_dir"];
const OF_ADDRESSES: &[&str] = &["api_key_env"];

impl Resolver<'_> {
    /// All servers, or `None` when one of them can't be used.
    pub(super) fn servers(&mut self) -> Option<Vec<ServerSettings>> {
        let tables: Vec<&NamedTable> = self.tables_of("mcp").collect();
        let servers: Vec<Option<ServerSettings>> =
            tables.into_iter().map(|table| self.server(table)).collect();
        servers.into_iter().collect()
    }

    fn server(&mut self, table: &NamedTable) -> Option<ServerSettings> {
        let name = table.path.parts().last()?.as_str();
        let name_fits = self.check_name(name, table);
        let transport = self.transport(name, table);
        let names = &[name];
        let include = self.get("mcp.<name>.include", names);
        let permission = self.get("mcp.<name>.permission", names);
        let enabled = self.get("mcp.<name>.enabled", names);
        let start_limit = self.seconds("mcp.<name>.start_limit", names);
        let time_limit = self.seconds("mcp.<name>.time_limit", names);
        name_fits.then_some(ServerSettings {
            name: name.to_owned(),
            transport: transport?,
            include: include?,
            permission,
            enabled: enabled?,
            start_limit: start_limit?,
            time_limit: time_limit?,
        })
    }

    /// Whether the name can stand in `server.tool` and in the names that models
    /// call tools by.
    fn check_name(&mut self, name: &str, table: &NamedTable) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let fits = name.len() <= MAX_NAME && name.chars().all(is_plain);
        if !fits {
            let what = format!("{} is no name for a server", quoted(&table.path));
            let hint = format!("use at most {MAX_NAME} letters, digits, `_` and `-`");
            self.problems.push(Problem::new(table.place.clone(), what).hint(hint));
        }
        fits
    }

    /// How the server is reached. All of its keys are asked for, whichever way
    /// that is: what is wrong with them is told at once.
    fn transport(&mut self, name: &str, table: &NamedTable) -> Option<TransportSettings> {
        let has = |key: &str| self.settings.contains_key(&table.path.join(key));
        let (has_command, has_url) = (has("command"), has("url"));
        self.refuse_unfit(table, has_command, has_url);
        let names = &[name];
        let command = self.command(names);
        let args = self.get("mcp.<name>.args", names);
        let pass_env = self.get("mcp.<name>.pass_env", names);
        let working_dir = self.path("mcp.<name>.working_dir", names);
        let env = self.variables(table);
        let url = self.get("mcp.<name>.url", names);
        let api_key_env = self.get("mcp.<name>.api_key_env", names);
        if has_command == has_url {
            return None;
        }
        Some(match has_command {
            true => TransportSettings::Program {
                command: command?,
                args: args.unwrap_or_default(),
                env,
                pass_env: pass_env.unwrap_or_default(),
                working_dir,
            },
            false => TransportSettings::Address { url: url?, api_key_env },
        })
    }

    /// Refuses what does not fit together.
    fn refuse_unfit(&mut self, table: &NamedTable, has_command: bool, has_url: bool) {
        let command_or_url = "a server is a program, which Recto starts, or an address";
        match (has_command, has_url) {
            (false, false) => {
                let what = format!("{} has neither `command` nor `url`", quoted(&table.path));
                let problem = Problem::new(table.place.clone(), what);
                self.problems.push(problem.hint(command_or_url));
            }
            (true, true) => {
                let why = "stands beside `command`";
                let hint = format!("keep one of the two: {command_or_url}");
                self.refuse(&table.path.join("url"), why, hint);
            }
            (true, false) => {
                for key in OF_ADDRESSES {
                    let why = "is for servers with a `url`, and this one is a program";
                    let hint = "name variables that the program needs with `pass_env`";
                    self.refuse(&table.path.join(key), why, hint);
                }
            }
            (false, true) => {
                let env = self.variable_names(table);
                let env = env.iter().map(|variable| table.path.join("env").join(variable));
                let own = OF_PROGRAMS.iter().map(|key| table.path.join(key));
                for path in own.chain(env).collect::<Vec<_>>() {
                    let why = "is for servers with a `command`, and this one has a `url`";
                    self.refuse(&path, why, "leave it out");
                }
            }
        }
    }

    /// The program: what has a slash is a path, and starts where other paths of
    /// the config do.
    fn command(&mut self, names: &[&str]) -> Option<String> {
        let found = self.find("mcp.<name>.command", names)?;
        let text = String::from_value(found.value.clone())?;
        if text.starts_with('~') || Path::new(&text).components().count() > 1 {
            let path = self.expanded(&found, &text)?.to_string_lossy().into_owned();
            self.show(&found, &Value::Text(path.clone()));
            return Some(path);
        }
        if text.contains(char::is_whitespace) {
            let (place, spelled) = found.origin?;
            let what = format!("{} must be a program alone", quoted(&spelled));
            let problem = Problem::new(place, what);
            self.problems.push(problem.hint("put its arguments into the list `args`"));
            return None;
        }
        self.show(&found, &found.value);
        Some(text)
    }

    /// The variables of `[mcp.<name>.env]`, in the order of their names.
    fn variables(&mut self, table: &NamedTable) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        let server = table.path.parts().last().map(String::as_str).unwrap_or_default();
        for name in self.variable_names(table) {
            let Some(found) = self.find("mcp.<name>.env.<variable>", &[server, &name]) else {
                continue;
            };
            if let Some(value) = self.variable(&name, found) {
                variables.push((name, value));
            }
        }
        variables
    }

    fn variable(&mut self, name: &str, found: Found) -> Option<String> {
        let (place, spelled) = found.origin?;
        let refused = if !is_variable(name) {
            let hint = "write letters, digits and `_`, and no digit first";
            Some(("is no name for a variable", hint))
        } else if holds_secret(name) {
            let hint = "put it into Recto's own environment and name it in the list `pass_env`";
            Some(("holds a secret, which must not stand in the file", hint))
        } else {
            None
        };
        if let Some((why, hint)) = refused {
            let what = format!("{} {why}", quoted(&spelled));
            self.problems.push(Problem::new(place, what).hint(hint));
            return None;
        }
        let value = Value::Text(HIDDEN.to_owned()).to_string();
        self.rows.push(Row { key: found.path.to_string(), value, origin: Some(place) });
        String::from_value(found.value)
    }

    fn variable_names(&self, table: &NamedTable) -> Vec<String> {
        let env = table.path.join("env");
        let name = |path: &KeyPath| match path.parts().split_last() {
            Some((name, above)) if above == env.parts() => Some(name.clone()),
            _ => None,
        };
        self.settings.keys().filter_map(name).collect()
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
