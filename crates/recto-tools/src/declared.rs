//! The tools that skills declare in a tools.json: reading and checking what is
//! declared, and making a command line of it and of what the model gave.
//!
//! No shell is ever between an argument and its program, and no value of the
//! model's can become a flag. Nothing here runs a program, and nothing asks for
//! leave; whoever does has to hold [`SkillTools::hash`] against what a person
//! approved.

mod argv;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod json;
mod paths;
mod programs;
mod read;
mod report;
mod runners;
mod skill;
mod spec;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value;

pub(crate) use argv::{Invocation, InvocationScope, PreparedInvocation};
pub use json::DeclarationFlaw;
pub(crate) use report::report_result;
pub use skill::trust_hash;
pub(crate) use skill::{SkillTools, declares_reading};

use crate::schema::schema_flaw;

/// Everything that is wrong with a tools.json, by line.
pub fn check_declaration(text: &str) -> Vec<DeclarationFlaw> {
    let contents = read::read_tools_json(text);
    let mut flaws = contents.flaws;
    flaws.extend(find_schema_flaws(contents.schemas).map(|(_, flaw)| flaw));
    flaws.sort_by_key(|flaw| flaw.line);
    flaws
}

/// What keeps the tools of a skill from being run, each with its own flaw or that of the file.
#[derive(Debug, Default)]
pub struct ToolFlaws {
    broken: Option<DeclarationFlaw>,
    by_tool: BTreeMap<String, DeclarationFlaw>,
}

impl ToolFlaws {
    /// Reads the flaws of the tools.json in this folder; where that can't be read, none are known.
    pub fn read(skill_folder: &Path) -> io::Result<Self> {
        Ok(ToolFlaws::find(&skill::read_text(&skill_folder.join("tools.json"))?))
    }

    fn find(text: &str) -> Self {
        let contents = read::read_tools_json(text);
        let flawed = |(tool, execution): (String, Result<_, _>)| Some((tool, execution.err()?));
        let mut by_tool: BTreeMap<_, _> =
            contents.executions.into_iter().filter_map(flawed).collect();
        for (tool, flaw) in find_schema_flaws(contents.schemas) {
            by_tool.entry(tool).or_insert(flaw);
        }
        ToolFlaws { broken: contents.broken, by_tool }
    }

    /// Why a tool can't be run, if it can't.
    pub fn get(&self, tool: &str) -> Option<&DeclarationFlaw> {
        self.broken.as_ref().or_else(|| self.by_tool.get(tool))
    }
}

/// The tools whose parameters are no schema, by name.
fn find_schema_flaws(
    schemas: Vec<(usize, String, Value)>,
) -> impl Iterator<Item = (String, DeclarationFlaw)> {
    schemas.into_iter().filter_map(|(line, tool, parameters)| {
        let problem = schema_flaw(&parameters)?;
        let what = format!("the parameters of tool `{tool}` are no schema for calls: {problem}");
        Some((tool, DeclarationFlaw { line, what }))
    })
}

#[cfg(test)]
mod tests;
