//! `recto init`: a small workspace to start from. Files that are there stay as
//! they are.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use jiff::Zoned;
use recto_fs::{create_private_folder, private_options};
use recto_llm::IS_BUILT_IN;

use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print, tame, tell};
use crate::setup;

/// Pairs the paths of templates with their texts, which are built into the program.
macro_rules! templates {
    ($($path:literal),+ $(,)?) => {
        [$(($path, include_str!(concat!("../../templates/", $path)))),+]
    };
}

/// The files of a new home, by their path in it. The folder `templates` beside
/// `src` holds them as they are written, but for the date in the memory.
pub(crate) const FILES: [(&str, &str); 10] = templates![
    "config.toml",
    "workspace/SOUL.md",
    "workspace/AGENTS.md",
    "workspace/skills/clock/SKILL.md",
    "workspace/skills/clock/tools.json",
    "workspace/rules/brief.md",
    "workspace/rules/commits.md",
    "workspace/rules/units.md",
    "workspace/references/recto.md",
    "workspace/memory/MEMORY.md",
];

pub(crate) fn run(home: &RectoHome) -> CliResult {
    let now = Zoned::now();
    for (name, template) in FILES {
        let path = home.path().join(name);
        match write_new(&path, &filled(template, &now))? {
            InitWrite::New => print(&format!("wrote {}\n", path.display()))?,
            InitWrite::Kept => print(&format!("kept  {}\n", path.display()))?,
        }
    }
    tell(&format_args!("\n{}", next_steps(home)?));
    Ok(())
}

/// What to do with the new home: talk, once there is a model to talk to.
fn next_steps(home: &RectoHome) -> CliResult<String> {
    let mut settings = setup::load(home, Vec::new())?;
    let choice = setup::runtime()?.block_on(setup::find(&mut settings, None));
    let chat = home.command_line("chat");
    Ok(match &choice.entry {
        Some(entry) => format!("next: {chat}\n`{}` answers ({})", tame(entry), choice.reason),
        None if IS_BUILT_IN => format!(
            "no model answers yet\nnext: {}\nthen: {chat}\ninstead of a model that Recto runs \
             itself, {}",
            home.command_line("models pull smollm2 minilm"),
            choice.advice_without_pull(),
        ),
        None => {
            format!("no model answers yet\nnext: {}\nthen: {chat}", choice.advice_without_pull())
        }
    })
}

/// Writes all of them into a folder that has none, and tells nothing.
pub(crate) fn fill(folder: &Path) -> CliResult {
    let now = Zoned::now();
    FILES.iter().try_for_each(|(name, template)| {
        write_new(&folder.join(name), &filled(template, &now)).map(|_| ())
    })
}

/// Puts today's date and time into a template.
fn filled(template: &str, now: &Zoned) -> String {
    let time = now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    template.replace("{day}", &now.strftime("%Y-%m-%d").to_string()).replace("{time}", &time)
}

enum InitWrite {
    New,
    Kept,
}

/// Writes a file that only its owner can read, unless there is one.
fn write_new(path: &Path, content: &str) -> CliResult<InitWrite> {
    let failure = |error: &std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::StorageFull => {
                "make room on the disk, or choose another home with --home DIR"
            }
            _ => "choose another home with --home DIR, or make this one writable",
        };
        CliFailure::new(format!("cannot write {}", path.display())).because(error).hint(hint)
    };
    if let Some(folder) = path.parent() {
        create_private_folder(folder).map_err(|error| failure(&error))?;
    }
    match private_options().create_new(true).write(true).open(path) {
        Ok(mut file) => {
            if let Err(error) = file.write_all(content.as_bytes()) {
                // Half a file would be kept by the next run.
                let _ = fs::remove_file(path);
                return Err(failure(&error));
            }
            Ok(InitWrite::New)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(InitWrite::Kept),
        Err(error) => Err(failure(&error)),
    }
}
