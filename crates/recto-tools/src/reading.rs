//! `read_item` and `read_skill`: the rest of what a page only names. What the model is told about
//! these tools stands in `recto-context`, which offers them with its lists, and says what may be
//! read.

use futures_util::future::{BoxFuture, FutureExt, ready};
use recto_context::{
    ItemId, ItemKind, ReadRefusal, ReadableItem, ReadableItems, Skill, ToolSpec, bare_skill_name,
    item_label, nearest_name,
};

use crate::arguments::CallArguments;
use crate::clip::clip_name;
use crate::tool::{CallContext, Consent, Tool, ToolAction, ToolError, ToolOutput};

/// Gives back what a page only names.
#[derive(Debug)]
pub(crate) struct ReadingTool {
    id: ItemId,
    title: &'static str,
    read: fn(&CallArguments, &CallContext) -> ToolOutput,
}

/// Both tools, by which items and skills are read.
pub(crate) fn reading_tools() -> [ReadingTool; 2] {
    let tool = |name: &str, title, read| {
        let id = ItemId::new(ItemKind::Tool, name);
        ReadingTool { id, title, read }
    };
    [tool("read_item", "read an item", read_item), tool("read_skill", "read a skill", read_skill)]
}

impl Tool for ReadingTool {
    fn id(&self) -> &ItemId {
        &self.id
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        ready(Ok(ToolAction::from_arguments(self.title, arguments))).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        ready((self.read)(&arguments, context)).boxed()
    }
}

/// The whole item below its label. A tool is offered with the next request, which reads that
/// from the label.
fn read_item(arguments: &CallArguments, context: &CallContext) -> ToolOutput {
    let asked = arguments.text("item").unwrap_or_default();
    match readable_items(context).find(asked) {
        Ok(ReadableItem::Text { item, text }) => Ok(format!("{}\n{text}", item_label(&item))),
        Ok(ReadableItem::Tool(tool)) => Ok(offer(tool)),
        Err(ReadRefusal::Unknown { asked, nearest }) => {
            let asked = clip_name(&asked).to_owned();
            Err(ToolError::new(ReadRefusal::Unknown { asked, nearest }.to_string()))
        }
        Err(refusal) => Err(ToolError::new(refusal.to_string())),
    }
}

fn readable_items(context: &CallContext) -> ReadableItems<'_> {
    let CallContext { catalog, session_items, removed, .. } = context;
    ReadableItems { catalog, session: session_items, removed }
}

fn offer(tool: &ToolSpec) -> String {
    let label = item_label(&tool.id);
    let about = tool.description.as_deref().unwrap_or_default();
    format!("{label}\nIt can be called from now on, as `{}`.\n{about}", tool.called)
        .trim_end()
        .to_owned()
}

/// The body of a skill, without its frontmatter, below its label: what was loaded is read from
/// there.
fn read_skill(arguments: &CallArguments, context: &CallContext) -> ToolOutput {
    let typed = arguments.text("skill_name").unwrap_or_default().trim();
    let asked = bare_skill_name(typed);
    let id = |skill: &Skill| ItemId::new(ItemKind::Skill, skill.name.clone());
    let shown = |skill: &Skill| format!("{}\n{}", item_label(&id(skill)), skill.body);
    let (skills, items) = (&context.catalog.skills, readable_items(context));
    let named = |name: &str| skills.iter().find(|skill| *skill.name == *name);
    match named(typed).or_else(|| named(asked)) {
        Some(skill) => match items.check(&id(skill)) {
            Ok(()) => Ok(shown(skill)),
            Err(refusal) => Err(ToolError::new(refusal.to_string())),
        },
        None => {
            let there = skills.iter().filter(|skill| items.check(&id(skill)).is_ok());
            Err(no_skill(asked, there.map(|skill| &*skill.name)))
        }
    }
}

fn no_skill<'a>(asked: &str, skills: impl Iterator<Item = &'a str>) -> ToolError {
    let hint = match nearest_name(asked, skills) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "use a name from the list of skills".to_owned(),
    };
    ToolError::new(format!("there is no skill `{}`; {hint}", clip_name(asked)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::expect;
    use recto_context::{
        Catalog, CatalogDocument, ContentSource, IncludeMode, ItemOrigin, Memory, OffReason,
        OffTool, Priority, SessionItem,
    };
    use serde_json::json;

    use super::*;

    fn document(name: &str, include: IncludeMode) -> CatalogDocument {
        CatalogDocument {
            name: name.into(),
            description: None,
            priority: Priority::default(),
            include,
            text: format!("All of {name}.").into(),
            source: ContentSource::BuiltIn,
        }
    }

    fn server_tool(name: &str) -> ToolSpec {
        let id = ItemId::tool(Some("calendar".into()), name);
        let spec = ToolSpec::new(id, "[server calendar] Add an entry.", json!({"type": "object"}));
        ToolSpec { include: IncludeMode::Agent, ..spec.with_called(format!("calendar_{name}")) }
    }

    fn context() -> CallContext {
        let mut skills = ["notes", "weather", "payments"]
            .map(|name| Skill::new(name, Some("Some."), format!("How to use {name}.\n").into()));
        skills[2].include = IncludeMode::Manual;
        let rules = [("tone", IncludeMode::Agent), ("secret", IncludeMode::Manual)];
        let references = [("tone", IncludeMode::Manual), ("prices", IncludeMode::Agent)];
        let documents = |named: [(&str, IncludeMode); 2]| {
            named.map(|(name, include)| document(name, include)).into()
        };
        let catalog = Catalog {
            skills: skills.into(),
            rules: documents(rules),
            references: documents(references),
            tools: vec![server_tool("add"), server_tool("drop")],
            memories: vec![Memory::new("MEMORY.md", "Likes tea.", None)],
            off_tools: vec![OffTool {
                item: ItemId::tool(Some("calendar".into()), "wipe"),
                why: OffReason::Disabled,
            }],
            ..Catalog::default()
        };
        let removed = [ItemId::new(ItemKind::Skill, "weather")];
        let removed = removed.into_iter().chain([ItemId::tool(Some("calendar".into()), "drop")]);
        CallContext {
            catalog: Arc::new(catalog),
            removed: removed.collect(),
            ..CallContext::default()
        }
    }

    fn call(name: &str, arguments: &serde_json::Value, context: &CallContext) -> String {
        let arguments = CallArguments::parse(&arguments.to_string()).unwrap();
        let tools = reading_tools();
        let tool = tools.iter().find(|tool| *tool.id.name == *name).unwrap();
        (tool.read)(&arguments, context).unwrap_or_else(|error| format!("error: {error}"))
    }

    fn skill(name: &str) -> String {
        call("read_skill", &json!({ "skill_name": name }), &context())
    }

    fn item(name: &str) -> String {
        call("read_item", &json!({ "item": name }), &context())
    }

    #[test]
    fn a_skill_is_given_by_its_body() {
        let told = "[skill: notes]\nHow to use notes.\n";
        assert_eq!(skill("notes"), told);
        assert_eq!(skill(" notes "), told);
        assert_eq!(skill("skill:notes"), told);
    }

    #[test]
    fn the_nearest_skill_is_named_and_none_that_was_removed() {
        assert_eq!(skill("Note"), "error: there is no skill `Note`; did you mean `notes`?");
        let none = "error: there is no skill `email`; use a name from the list of skills";
        assert_eq!(skill("email"), none);
        assert_eq!(skill("weather"), "error: skill weather was removed from this session");
        let near = "error: there is no skill `weathr`; use a name from the list of skills";
        assert_eq!(skill("weathr"), near);
    }

    #[test]
    fn every_kind_of_item_is_given_whole_below_its_label() {
        assert_eq!(item("rule:tone"), "[rule: tone]\nAll of tone.");
        assert_eq!(item("- rule:tone:"), "[rule: tone]\nAll of tone.");
        assert_eq!(item("ref:prices"), "[reference: prices]\nAll of prices.");
        assert_eq!(item("prices"), "[reference: prices]\nAll of prices.");
        assert_eq!(item("skill:notes"), "[skill: notes]\nHow to use notes.\n");
        let memory = &context().catalog.memories[0];
        let digits = memory.name.rsplit_once('#').unwrap().1;
        let told = format!("[memory: {}]\nLikes tea.", memory.name);
        assert_eq!(item(&format!("memory:{}", &digits[..6])), told);
        expect![[r"
            [tool: calendar.add]
            It can be called from now on, as `calendar_add`.
            [server calendar] Add an entry."]]
        .assert_eq(&item("tool:calendar.add"));
        assert_eq!(item("calendar_add"), item("tool:calendar.add"));
    }

    /// Copying the whole line of a list is the likeliest slip of a small model.
    #[test]
    fn a_line_of_the_list_names_the_item_that_it_is_about() {
        assert_eq!(item("rule:tone: How we write to customers…"), item("rule:tone"));
        assert_eq!(item("- rule: tone: Two things: short, and warm"), item("rule:tone"));
        assert_eq!(item("- prices: What a ticket costs\n- skill:notes: Some."), item("prices"));
        let digits = context().catalog.memories[0].name.rsplit_once('#').unwrap().1[..6].to_owned();
        assert_eq!(
            item(&format!("memory:{digits}: Likes tea.")),
            item(&format!("memory:{digits}"))
        );
        let near = "error: there is no item `rule:ton`; did you mean `rule:tone`?";
        assert_eq!(item("rule:ton: How we write to customers"), near);
        let none = "error: there is no item `rule: nobody`; use a name from the list";
        assert_eq!(item("rule: nobody"), none);
        assert_eq!(skill("skill:notes: Some."), skill("notes"));
        assert_eq!(skill("- **notes**: Some."), skill("notes"));
    }

    /// What a person took out or only a person brings is no model's to load.
    ///
    /// Promise: `read-what-the-session-has`
    #[test]
    fn what_the_session_may_not_have_is_refused() {
        assert_eq!(item("skill:weather"), "error: skill weather was removed from this session");
        let by_hand = "error: skill payments is only there where a person adds it to the session";
        assert_eq!(item("skill:payments"), by_hand);
        assert_eq!(skill("payments"), by_hand);
        let dropped = "error: tool calendar.drop was removed from this session";
        assert_eq!(item("tool:calendar.drop"), dropped);
        let by_hand = "error: rule secret is only there where a person adds it to the session";
        assert_eq!(item("rule:secret"), by_hand);
        let off = "error: tool calendar.wipe is off: the config says so";
        assert_eq!(item("tool:calendar.wipe"), off);
        let near = "error: there is no item `rule:ton`; did you mean `rule:tone`?";
        assert_eq!(item("rule:ton"), near);
        let hidden = "error: there is no item `rule:secre`; use a name from the list";
        assert_eq!(item("rule:secre"), hidden);
    }

    #[test]
    fn a_name_of_several_items_needs_its_kind_where_all_of_them_may_be_read() {
        // The reference of the name is nobody's to load, so the rule is meant.
        assert_eq!(item("tone"), "[rule: tone]\nAll of tone.");
        let joined = SessionItem {
            item: ItemId::new(ItemKind::Reference, "tone"),
            joined: ItemOrigin::ByHand,
        };
        let context = CallContext { session_items: [joined].into(), ..context() };
        let told = call("read_item", &json!({ "item": "tone" }), &context);
        assert_eq!(told, "error: several items have this name: rule:tone, reference:tone");
    }
}
