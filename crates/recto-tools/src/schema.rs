//! Checks the arguments of a call against the schema of its tool, and says in a
//! few words what a model has to mend.
//!
//! Stricter than the schema itself in one thing: a parameter that the schema
//! does not declare is refused, unless the schema says that any will do. Nothing
//! is converted (`"3"` is no number), and no remote schema is ever fetched.
//!
//! Schemas come from tools.json and from MCP servers, so they are not trusted: each is measured
//! before it is used (`measure.rs`), its patterns are matched in linear time (`tree.rs`), and a
//! check has a budget of steps and ends when nobody waits for it (`budget.rs`).

mod budget;
mod evaluate;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod measure;
mod parameters;
mod problems;
mod tree;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{ContentHash, ContentSource, ToolSpec};
use serde_json::Value;

use self::budget::Abandoned;
use self::evaluate::{find_problems, fits};
pub(crate) use self::measure::measure_extent;
use self::parameters::SchemaParameters;
use self::problems::SchemaProblem;
use self::tree::{HardPatterns, SchemaTree};
use crate::arguments::CallArguments;
use crate::blocking::Stop;
use crate::shorten::shorten;

/// More schemas than an agent ever has at once.
const MAX_KEPT: usize = 1_000;
/// Problems that are told at once. A model that made more has to start over anyway.
const MAX_TOLD: usize = 5;
/// Bytes that a problem may take, because some repeat what stands in the schema.
const MAX_PROBLEM: usize = 300;

/// Says what is wrong with the schema of a tool that a skill declares, if anything is.
pub(crate) fn schema_flaw(parameters: &Value) -> Option<String> {
    SchemaTree::new(parameters, HardPatterns::Refused).err()
}

/// Schemas made ready for checking, each once.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    ready: Mutex<HashMap<(ContentHash, HardPatterns), Arc<CompiledSchema>>>,
}

impl SchemaCache {
    /// Whether the arguments fit. An error is written for the model.
    pub(crate) fn check(
        &self,
        spec: &ToolSpec,
        arguments: &CallArguments,
        stop: &Stop,
    ) -> Result<(), String> {
        self.schema_of(spec).check(arguments, stop)
    }

    fn schema_of(&self, spec: &ToolSpec) -> Arc<CompiledSchema> {
        let hard = match spec.source {
            ContentSource::Server(_) => HardPatterns::PassedOver,
            _ => HardPatterns::Refused,
        };
        let key = (spec.schema.hash(), hard);
        if let Some(schema) = self.ready.lock().get(&key) {
            return schema.clone();
        }
        // Outside the lock: other calls need not wait for a large schema.
        let schema = Arc::new(CompiledSchema::new(&spec.parameters, hard));
        let mut ready = self.ready.lock();
        if ready.len() >= MAX_KEPT {
            ready.clear();
        }
        ready.insert(key, schema.clone());
        schema
    }
}

/// A schema made ready for checking.
#[derive(Debug)]
struct CompiledSchema {
    /// The problem with the schema, if arguments can't be checked by it.
    tree: Result<SchemaTree, String>,
    parameters: SchemaParameters,
}

impl CompiledSchema {
    fn new(schema: &Value, hard: HardPatterns) -> Self {
        let tree = SchemaTree::new(schema, hard);
        let parameters = match &tree {
            Ok(_) => SchemaParameters::from_schema(schema),
            Err(_) => SchemaParameters::default(),
        };
        CompiledSchema { tree, parameters }
    }

    fn check(&self, arguments: &CallArguments, stop: &Stop) -> Result<(), String> {
        let tree = self.tree.as_ref().map_err(|problem| {
            let who = "only a person can mend that";
            format!("the schema of its parameters is not valid; {who}.\n- {problem}")
        })?;
        let undeclared = arguments.names().filter_map(|name| self.parameters.undeclared(name));
        let mut problems: Vec<String> = undeclared.collect();
        let value = arguments.as_value();
        match fits(tree, value, stop) {
            Ok(true) if problems.is_empty() => return Ok(()),
            Ok(true) => {}
            Ok(false) => problems.extend(self.find_problems(tree, value, stop)),
            Err(Abandoned::Unwanted) => return Err("nobody waits for it any more.".to_owned()),
            Err(Abandoned::TooMuchWork) => {
                return Err("checking these arguments by the schema of its parameters takes more \
                            work than a check may; shorter or simpler arguments may do, else \
                            only a person can mend the schema."
                    .to_owned());
            }
        }
        Err(self.advise(problems))
    }

    fn find_problems(&self, tree: &SchemaTree, value: &Value, stop: &Stop) -> Vec<String> {
        let Ok(found) = find_problems(tree, value, stop) else {
            return vec!["the object does not fit the schema".to_owned()];
        };
        let words = |problem| match problem {
            SchemaProblem::Undeclared(name) => self.parameters.refusal(&name),
            SchemaProblem::Words(words) => words,
        };
        found.into_iter().map(words).collect()
    }

    fn advise(&self, mut problems: Vec<String>) -> String {
        // The order in which keywords are checked means nothing to a model.
        problems.sort();
        problems.dedup();
        let more = problems.len().saturating_sub(MAX_TOLD);
        problems.truncate(MAX_TOLD);
        let mut lines = vec!["the arguments don't fit.".to_owned()];
        lines.extend(problems.into_iter().map(|what| format!("- {}", shorten(what, MAX_PROBLEM))));
        lines.extend((more > 0).then(|| format!("- and {more} more")));
        lines.push(self.parameters.describe());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests;
