//! Where memories are written down: which file belongs to which scope, and what it is
//! called. Never touches the disk.
//!
//! Ids of people and conversations are chosen by others. They become names of files
//! that cannot leave their folder, hide, or be those of another id.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::civil::Date;
use recto_context::{ContentHash, MemoryScope};

/// The longest name that is spelled out, in bytes.
const LONGEST: usize = 180;

/// How much of a longer one is.
const BEGINNING: usize = 120;

/// A workspace, as far as memories are concerned.
#[derive(Debug, Clone)]
pub(crate) struct MemoryLayout {
    workspace: PathBuf,
    memory: PathBuf,
}

/// A file of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryFile {
    /// What its entries are named by: `MEMORY.md`, `people/anna.md`.
    pub label: Arc<str>,
    pub path: Arc<Path>,
    pub scope: MemoryScope,
    /// The day that its entries are of, if they say nothing else.
    pub day: Option<Date>,
}

impl MemoryFile {
    /// The file that has what was forgotten of this one.
    pub(crate) fn in_archive(self, layout: &MemoryLayout) -> Self {
        MemoryFile { path: layout.archive(&self.label).into(), ..self }
    }
}

impl MemoryLayout {
    pub(crate) fn new(workspace: PathBuf) -> Self {
        MemoryLayout { memory: workspace.join("memory"), workspace }
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder of all but the agents' own.
    pub(crate) fn memory(&self) -> &Path {
        &self.memory
    }

    /// Where new memories of a scope go.
    pub(crate) fn scope_file(&self, scope: &MemoryScope) -> MemoryFile {
        let label = match scope {
            MemoryScope::Global => "MEMORY.md".to_owned(),
            MemoryScope::Person(id) => format!("people/{}.md", file_name(id)),
            MemoryScope::Conversation(id) => format!("conversations/{}.md", file_name(id)),
            // Their folders are the owner's, and named as they name them.
            MemoryScope::Agent(id) => format!("agents/{}/memory.md", encoded(id, Capitals::Kept)),
        };
        self.file(label, scope.clone(), None)
    }

    /// The note of a day.
    pub(crate) fn note_file(&self, day: Date) -> MemoryFile {
        self.file(format!("{day}.md"), MemoryScope::Global, Some(day))
    }

    /// Any file, by what its entries are named by.
    pub(crate) fn file(&self, label: String, scope: MemoryScope, day: Option<Date>) -> MemoryFile {
        MemoryFile { path: self.path(&label).into(), label: label.into(), scope, day }
    }

    /// The path of a label that was written down by Recto; `None` for one that could
    /// not have been.
    pub(crate) fn path_of(&self, label: &str) -> Option<PathBuf> {
        let mut parts = Path::new(label).components();
        let is_plain = !label.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
        is_plain.then(|| self.path(label))
    }

    fn path(&self, label: &str) -> PathBuf {
        let folder = if label.starts_with("agents/") { &self.workspace } else { &self.memory };
        folder.join(label)
    }

    /// Where what is forgotten of a file goes.
    pub(crate) fn archive(&self, label: &str) -> PathBuf {
        let archive = self.memory.join("archive");
        match label.strip_prefix("agents/").and_then(|rest| rest.strip_suffix("/memory.md")) {
            Some(agent) => archive.join("agents").join(format!("{agent}.md")),
            None => archive.join(label),
        }
    }
}

/// The day of a note, by its name.
pub(crate) fn note_day(name: &str) -> Option<Date> {
    let day = name.strip_suffix(".md")?;
    day.parse::<Date>().ok().filter(|date| date.to_string() == day)
}

/// An id as the name of a file: small letters, digits and a few signs as they are, and
/// every other byte as `%` and two digits. Different ids have different names, also on
/// disks that don't tell capitals from small letters: a `%` without two such digits is
/// only in names of ids that are empty or too long.
pub(crate) fn file_name(id: &str) -> String {
    encoded(id, Capitals::Escaped)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capitals {
    Escaped,
    Kept,
}

fn encoded(id: &str, capitals: Capitals) -> String {
    let mut name = String::with_capacity(id.len());
    let is_reserved = is_reserved(id);
    for (at, byte) in id.bytes().enumerate() {
        let is_plain = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'@' | b'-' => at > 0 || !is_reserved,
            b'A'..=b'Z' => capitals == Capitals::Kept && (at > 0 || !is_reserved),
            b'.' => at > 0,
            _ => false,
        };
        if is_plain {
            name.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    if name.len() > LONGEST {
        let hash = ContentHash::of_bytes(id.as_bytes()).to_string();
        // Not within an escape, which is plain ASCII like all of the name.
        let end = (BEGINNING - 2..=BEGINNING).rev().find(|end| is_between(&name, *end));
        name.truncate(end.unwrap_or(BEGINNING));
        name.push_str("%-");
        name.push_str(&hash[..32]);
    }
    name
}

/// Whether Windows takes a name for a device, whatever stands behind its first dot.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    match stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt")) {
        Some(number) => matches!(number.as_bytes(), [b'0'..=b'9']),
        None => matches!(&*stem, "con" | "nul" | "prn" | "aux"),
    }
}

/// Whether a name can be cut here without tearing an escape.
fn is_between(name: &str, end: usize) -> bool {
    !name[end.saturating_sub(2)..end].contains('%')
}

/// Whether some id has this name.
pub(crate) fn is_file_name(name: &str) -> bool {
    if let Some((beginning, hash)) = name.rsplit_once("%-") {
        return beginning.len() <= BEGINNING && hash.len() == 32 && is_hex(hash);
    }
    name == "%" || decoded(name).is_some_and(|id| file_name(&id) == name)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The id that has this name, if it is spelled out.
pub(crate) fn decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut parts = name.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex(digits))?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_of_others_stay_in_their_folder() {
        let names = [
            ("anna", "anna"),
            ("telegram-4711", "telegram-4711"),
            ("a.b@c_d", "a.b@c_d"),
            ("..", "%2E."),
            ("../../soul", "%2E.%2F..%2Fsoul"),
            ("Anna", "%41nna"),
            ("con", "%63on"),
            ("NUL.b", "%4E%55%4C.b"),
            ("lpt1", "%6Cpt1"),
            ("com", "com"),
            ("com10", "com10"),
            ("console", "console"),
            (".hidden", "%2Ehidden"),
            ("a/b\\c\0d\n", "a%2Fb%5Cc%00d%0A"),
            ("100%", "100%25"),
            ("é", "%C3%A9"),
            ("", "%"),
        ];
        for (id, name) in names {
            assert_eq!(file_name(id), name);
            assert!(is_file_name(name), "{name}");
        }
        for name in [".hidden", "a b", "a%2", "a%zz", "%61", "%-short", "Anna", "aux"] {
            assert!(!is_file_name(name), "{name}");
        }
        let long = file_name(&"é".repeat(500));
        assert!(long.len() <= LONGEST && is_file_name(&long), "{long}");
        assert_ne!(long, file_name(&"é".repeat(501)));
    }

    #[test]
    fn each_scope_has_its_file_and_its_archive() {
        let layout = MemoryLayout::new("w".into());
        let paths = |scope: &MemoryScope| {
            let file = layout.scope_file(scope);
            assert_eq!(layout.path_of(&file.label).as_deref(), Some(&*file.path));
            let archive = layout.archive(&file.label);
            format!("{} {}", file.path.display(), archive.display())
        };
        assert_eq!(paths(&MemoryScope::Global), "w/memory/MEMORY.md w/memory/archive/MEMORY.md");
        assert_eq!(
            paths(&MemoryScope::Person("a/b".into())),
            "w/memory/people/a%2Fb.md w/memory/archive/people/a%2Fb.md"
        );
        assert_eq!(
            paths(&MemoryScope::Conversation("irc-#x".into())),
            "w/memory/conversations/irc-%23x.md w/memory/archive/conversations/irc-%23x.md"
        );
        assert_eq!(
            paths(&MemoryScope::Agent("ops".into())),
            "w/agents/ops/memory.md w/memory/archive/agents/ops.md"
        );
        assert_eq!(
            paths(&MemoryScope::Agent("Ops".into())),
            "w/agents/Ops/memory.md w/memory/archive/agents/Ops.md"
        );
        for label in ["", "../x", "/etc/passwd", "people/../../x"] {
            assert_eq!(layout.path_of(label), None, "{label}");
        }
    }

    #[test]
    fn notes_are_named_by_their_day() {
        assert_eq!(note_day("2026-03-01.md"), Some(jiff::civil::date(2026, 3, 1)));
        for name in ["2026-3-1.md", "2026-13-01.md", "MEMORY.md", "2026-03-01", "20260301.md"] {
            assert_eq!(note_day(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_are_safe_and_lead_back(id in "\\PC{0,40}|[./%-~]{0,300}") {
            let name = file_name(&id);
            prop_assert!(name.len() <= LONGEST && !name.starts_with('.') && !name.contains('/'));
            prop_assert!(is_file_name(&name));
            // Capitals are only the digits of escapes.
            let is_small = |text: &str| !text.bytes().any(|byte| byte.is_ascii_uppercase());
            let mut parts = name.split('%');
            prop_assert!(parts.next().is_none_or(is_small));
            prop_assert!(parts.all(|part| part.get(2..).is_none_or(is_small)), "{name}");
            if !name.contains("%-") && name != "%" {
                prop_assert_eq!(decoded(&name), Some(id));
            }
        }
    }
}
