//! What Tab completes: commands, what can stand behind them, and what a message mentions with an
//! `@`. The words come from elsewhere; only the names of files are looked for here.

use std::fs;
use std::path::Path;

use recto_agent::FILE_MENTION;
use recto_context::is_all_seen;
use reedline::{Completer, Span, Suggestion};

/// The most names of files that are shown.
const MOST_FILES: usize = 200;

/// The words that can be completed.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompletionWords {
    /// What can begin a line.
    pub(crate) commands: Vec<CommandWords>,
    /// What a message can mention, each with its `@`.
    pub(crate) mentions: Vec<String>,
}

/// A command, or one with its first words, and what can stand behind it.
#[derive(Debug, Clone)]
pub(crate) struct CommandWords {
    /// The command with its slash: `/mode`, `/set approval`.
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
}

impl CommandWords {
    /// What stands behind the command in a line, if the line begins with it.
    fn argument<'l>(&self, line: &'l str) -> Option<&'l str> {
        let behind = line.get(self.name.len()..)?;
        let begins = line[..self.name.len()].eq_ignore_ascii_case(&self.name);
        (begins && behind.starts_with(char::is_whitespace)).then(|| behind.trim_start())
    }

    fn is_first_word(&self) -> bool {
        !self.name.contains(' ')
    }
}

/// Texts that can stand in place of what was typed from a place on.
#[derive(Debug, PartialEq, Eq)]
struct WordCompletions {
    from: usize,
    texts: Vec<String>,
}

impl CompletionWords {
    /// What a line can go on with, of which this much was typed. It is drawn, and becomes what was
    /// typed: what would not be seen there, or act on the terminal, is not offered.
    fn complete(&self, typed: &str) -> WordCompletions {
        let mut found = self.find(typed);
        found.texts.retain(|text| is_all_seen(text));
        found
    }

    fn find(&self, typed: &str) -> WordCompletions {
        let word = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        match &typed[word..] {
            path if path.starts_with(FILE_MENTION) => {
                let texts = complete_path(&path[FILE_MENTION.len()..]);
                let texts = texts.iter().map(|text| format!("{FILE_MENTION}{text}")).collect();
                WordCompletions { from: word, texts }
            }
            mention if mention.starts_with('@') => {
                let known = self.mentions.iter().map(String::as_str).chain([FILE_MENTION]);
                WordCompletions { from: word, texts: beginning_with(mention, known) }
            }
            _ if typed.starts_with('/') => self.complete_command(typed),
            _ => WordCompletions { from: typed.len(), texts: Vec::new() },
        }
    }

    fn complete_command(&self, typed: &str) -> WordCompletions {
        let meant =
            self.commands.iter().filter_map(|command| Some((command, command.argument(typed)?)));
        let Some((command, argument)) = meant.max_by_key(|(command, _)| command.name.len()) else {
            let names = self.commands.iter().filter(|command| command.is_first_word());
            let texts = beginning_with(typed, names.map(|command| &*command.name));
            return WordCompletions { from: 0, texts };
        };
        let mut texts = beginning_with(argument, command.arguments.iter().map(String::as_str));
        // The kind stands in front for whoever has typed it, and where only it fits.
        let is_bare = |text: &String| !text.contains(':');
        if !argument.contains(':') && texts.iter().any(is_bare) {
            texts.retain(is_bare);
        }
        WordCompletions { from: typed.len() - argument.len(), texts }
    }

    /// Whether something can be typed behind a command.
    fn has_arguments(&self, name: &str) -> bool {
        self.commands.iter().any(|command| command.name == name && !command.arguments.is_empty())
    }
}

/// Those that begin with what was typed, in capitals or not, each once.
fn beginning_with<'w>(typed: &str, words: impl Iterator<Item = &'w str>) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut found: Vec<String> =
        words.filter(|word| word.to_lowercase().starts_with(&typed)).map(str::to_owned).collect();
    let mut seen = std::collections::HashSet::new();
    found.retain(|word| seen.insert(word.clone()));
    found
}

/// The paths that begin as this one does, folders with a slash at their end. One with blanks is in
/// quotes.
fn complete_path(typed: &str) -> Vec<String> {
    let bare = typed.trim_start_matches('"');
    let (folder, start) = bare.rfind('/').map_or(("", bare), |at| bare.split_at(at + 1));
    let entries = fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) });
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        // What is hidden is shown to whoever asks for it.
        let is_meant =
            name.starts_with(start) && (!name.starts_with('.') || start.starts_with('.'));
        let slash = if entry.path().is_dir() { "/" } else { "" };
        is_meant.then(|| format!("{folder}{name}{slash}"))
    };
    let mut paths: Vec<String> =
        entries.into_iter().flatten().flatten().filter_map(name).take(MOST_FILES).collect();
    paths.sort();
    paths.iter().map(|path| quote(path, typed.starts_with('"'))).collect()
}

/// A path as a message names it.
fn quote(path: &str, is_open: bool) -> String {
    match is_open || path.contains(char::is_whitespace) {
        true if path.ends_with('/') => format!("\"{path}"),
        true => format!("\"{path}\""),
        false => path.to_owned(),
    }
}

impl Completer for CompletionWords {
    fn complete(&mut self, line: &str, pos: usize) -> Vec<Suggestion> {
        let typed = line.get(..pos).unwrap_or_default();
        let WordCompletions { from, mut texts } = CompletionWords::complete(self, typed);
        // Without one the menu would say so in words of its own; one that is there already
        // changes nothing.
        if texts.is_empty() {
            texts.push(typed[from..].to_owned());
        }
        let suggestion = |value: String| Suggestion {
            append_whitespace: from == 0 && self.has_arguments(&value),
            value,
            span: Span { start: from, end: typed.len() },
            ..Suggestion::default()
        };
        texts.into_iter().map(suggestion).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> CompletionWords {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let command = |name: &str, arguments: &[&str]| CommandWords {
            name: name.to_owned(),
            arguments: list(arguments),
        };
        let items = ["units", "update", "Tone of voice", "rule:units", "tool:update"];
        CompletionWords {
            commands: vec![
                command("/add", &items),
                command("/mode", &["auto", "full", "minimal"]),
                command("/model", &["local"]),
                command("/set", &["approval", "top_k"]),
                command("/set approval", &["always", "never"]),
                command("/help", &[]),
            ],
            mentions: list(&["@rule:units", "@tool:update"]),
        }
    }

    #[track_caller]
    fn check(typed: &str, expected: &[&str]) {
        let WordCompletions { from, texts } = words().complete(typed);
        let lines: Vec<String> =
            texts.iter().map(|text| format!("{}{text}", &typed[..from])).collect();
        assert_eq!(lines, expected, "{typed}");
    }

    #[test]
    fn commands_and_what_stands_behind_them_are_completed() {
        check("/m", &["/mode", "/model"]);
        check("/H", &["/help"]);
        check("/mode m", &["/mode minimal"]);
        check("/mode ", &["/mode auto", "/mode full", "/mode minimal"]);
        check("/model l", &["/model local"]);
        check("/add un", &["/add units"]);
        check("/add tone of v", &["/add Tone of voice"]);
        check("/add rule:", &["/add rule:units"]);
        check("/add ru", &["/add rule:units"]);
        check("/set ap", &["/set approval"]);
        check("/set approval n", &["/set approval never"]);
        check("/help m", &[]);
        check("/nothing m", &[]);
        check("hello /m", &[]);
        check("", &[]);
    }

    #[test]
    fn mentions_are_completed_wherever_they_stand() {
        check("@ru", &["@rule:units"]);
        check("what of @to", &["what of @tool:update"]);
        check("see @fi", &["see @file:"]);
        check("me@ru", &[]);
    }

    #[test]
    fn files_are_found_by_the_beginning_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["paper.txt", "party plan.txt", ".hidden", "other"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("parts")).unwrap();
        let base = folder.path().to_str().unwrap();
        let found = |typed: &str| complete_path(&typed.replace('~', base));
        let expected = |paths: &[&str]| -> Vec<String> {
            paths.iter().map(|path| path.replace('~', base)).collect()
        };
        assert_eq!(found("~/pap"), expected(&["~/paper.txt"]));
        assert_eq!(found("~/par"), expected(&["~/parts/", "\"~/party plan.txt\""]));
        assert_eq!(found("\"~/pap"), expected(&["\"~/paper.txt\""]));
        assert_eq!(found("~/.h"), expected(&["~/.hidden"]));
        assert_eq!(found("~/").len(), 4);
        assert!(found("~/none/x").is_empty());
    }

    #[test]
    fn what_would_act_on_the_terminal_is_not_offered() {
        let tricks =
            ["a\u{1b}]52;c;eA==\u{7}", "a\u{9b}2J", "a\u{202e}b", "a\u{e0041}", "a\nb", "a\tb"];
        let folder = tempfile::tempdir().unwrap();
        for name in tricks.iter().chain(&["größe.txt", "👨\u{200d}👩.txt"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let typed = format!("see {FILE_MENTION}{}/", folder.path().to_str().unwrap());
        let found = words().complete(&typed).texts;
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|path| path.ends_with(".txt")), "{found:?}");
        // Nor are items and skills of such names.
        let mut words = words();
        words.commands[0].arguments.extend(tricks.map(str::to_owned));
        words.mentions.extend(tricks.map(|name| format!("@skill:{name}")));
        assert!(words.complete("/add a").texts.is_empty());
        assert!(words.complete("@skill:").texts.is_empty());
    }

    #[test]
    fn nothing_to_complete_changes_nothing() {
        let mut words = words();
        let suggested = Completer::complete(&mut words, "hello", 5);
        assert_eq!((&*suggested[0].value, suggested[0].span), ("", Span { start: 5, end: 5 }));
        // A place that is none.
        for (line, pos) in [("ä", 1), ("/h", 9)] {
            assert_eq!(Completer::complete(&mut words, line, pos)[0].value, "", "{line}");
        }
        let suggested = Completer::complete(&mut words, "/mo x", 3);
        assert_eq!(suggested.len(), 2);
        assert!(suggested[0].append_whitespace && suggested[0].span.end == 3);
    }
}
