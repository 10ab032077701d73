//! `read_skill`: the documentation of a skill, for agents whose page only lists
//! them. What the model is told about this tool stands in `recto-context`,
//! which offers it with that list.

use futures_util::future::{BoxFuture, FutureExt, ready};
use recto_context::{Catalog, ItemId, ItemKind, Skill, nearest_name};

use crate::arguments::CallArguments;
use crate::clip::clip_name;
use crate::tool::{CallContext, Consent, Tool, ToolAction, ToolError, ToolOutput};

/// Gives back the body of a skill, without its frontmatter.
#[derive(Debug)]
pub(crate) struct ReadSkill {
    id: ItemId,
}

impl ReadSkill {
    pub(crate) fn new() -> Self {
        ReadSkill { id: ItemId::new(ItemKind::Tool, "read_skill") }
    }
}

impl Tool for ReadSkill {
    fn id(&self) -> &ItemId {
        &self.id
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        ready(Ok(ToolAction::from_arguments("read a skill", arguments))).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        ready(read(&context.catalog, &arguments)).boxed()
    }
}

fn read(catalog: &Catalog, arguments: &CallArguments) -> ToolOutput {
    let asked = arguments.text("skill_name").unwrap_or_default().trim();
    match catalog.skills.iter().find(|skill| *skill.name == *asked) {
        Some(skill) => Ok(skill.body.as_str().to_owned()),
        None => Err(no_skill(asked, &catalog.skills)),
    }
}

fn no_skill(asked: &str, skills: &[Skill]) -> ToolError {
    let hint = match nearest_name(asked, skills.iter().map(|skill| &*skill.name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "use a name from the list of skills".to_owned(),
    };
    ToolError::new(format!("there is no skill `{}`; {hint}", clip_name(asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_named(name: &str) -> ToolOutput {
        let skills = ["notes", "weather"]
            .map(|name| Skill::new(name, Some("Some."), format!("How to use {name}.\n").into()));
        let catalog = Catalog { skills: skills.into(), ..Catalog::default() };
        let arguments = serde_json::json!({ "skill_name": name }).to_string();
        read(&catalog, &CallArguments::parse(&arguments).unwrap())
    }

    #[test]
    fn gives_the_body() {
        assert_eq!(read_named("notes").unwrap(), "How to use notes.\n");
        assert_eq!(read_named(" weather ").unwrap(), "How to use weather.\n");
    }

    #[test]
    fn names_the_nearest() {
        let error = |name| read_named(name).unwrap_err().to_string();
        assert_eq!(error("Note"), "there is no skill `Note`; did you mean `notes`?");
        assert_eq!(error("email"), "there is no skill `email`; use a name from the list of skills");
    }
}
