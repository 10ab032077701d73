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
    for (line, tool, parameters) in contents.schemas {
        if let Some(problem) = schema_flaw(&parameters) {
            let what =
                format!("the parameters of tool `{tool}` are no schema for calls: {problem}");
            flaws.push(DeclarationFlaw { line, what });
        }
    }
    flaws.sort_by_key(|flaw| flaw.line);
    flaws
}

#[cfg(test)]
mod tests;
