//! An agent with items of every kind, each with a word of its own in its body and another in
//! its description.

use proptest::prelude::*;
use recto_agent::Agent;
use recto_context::{
    IncludeMode, ItemId, ItemKind, LayoutPreset, Memory, PageLayout, PickPlacement, SkillRender,
    Tokens, ToolCalls, ToolSpec, listed_name,
};
use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::SessionId;
use serde_json::json;

use crate::support::{Bench, conversation, model, owner, say, session, typed};

/// Something that items are about, and a question that finds them.
pub(super) struct Topic {
    about: &'static str,
    text: &'static str,
    pub(super) question: &'static str,
}

pub(super) const TOPICS: [Topic; 3] = [
    Topic {
        about: "How users authenticate and log in",
        text: "Users authenticate with OAuth tokens. A login needs a valid token, which \
               authentication checks before anything else.",
        question: "How do users authenticate with OAuth tokens when they log in?",
    },
    Topic {
        about: "Tide tables, high water and low water times",
        text: "Look up the tide table. High water and low water times are in the tide table.",
        question: "Why do high water and low water times change in the tide table?",
    },
    Topic {
        about: "Invoices, receipts and tax",
        text: "An invoice needs a receipt. Tax is written on each invoice, and receipts are kept.",
        question: "Which tax is written on an invoice, and where are receipts kept?",
    },
];

/// The kinds of the items, in their order. The skill's tool is the one of the first skill.
const KINDS: [ItemKind; ITEMS] = [
    ItemKind::Rule,
    ItemKind::Rule,
    ItemKind::Rule,
    ItemKind::Reference,
    ItemKind::Reference,
    ItemKind::Skill,
    ItemKind::Skill,
    ItemKind::Skill,
    ItemKind::Tool,
    ItemKind::Tool,
    ItemKind::Tool,
    ItemKind::Tool,
    ItemKind::Memory,
    ItemKind::Memory,
    ItemKind::Memory,
    ItemKind::Memory,
];

/// How many items there are.
pub(super) const ITEMS: usize = 16;

/// The skill that declares a tool, and that tool.
const SKILL_WITH_TOOL: usize = 5;
const TOOL_OF_SKILL: usize = 11;

/// An item of the world.
#[derive(Debug, Clone)]
pub(super) struct WorldItem {
    pub(super) kind: ItemKind,
    /// The name of a file, a skill or a tool; memories are named by their text.
    name: String,
    pub(super) include: IncludeMode,
    /// How often its text was changed; `None` when it is deleted.
    version: Option<usize>,
    index: usize,
}

impl WorldItem {
    /// What stands in its body: of a memory, which is another with each text, in this version,
    /// of others in whichever.
    pub(super) fn body_word(&self) -> String {
        match self.kind {
            ItemKind::Memory => self.versioned_word(),
            _ => format!("qbody{:02}x", self.index),
        }
    }

    fn versioned_word(&self) -> String {
        format!("qbody{:02}x{}.", self.index, self.version.unwrap_or_default())
    }

    /// What stands in its description.
    pub(super) fn label_word(&self) -> String {
        format!("qlabel{:02}x", self.index)
    }

    fn topic(&self) -> &'static Topic {
        &TOPICS[self.index % TOPICS.len()]
    }

    fn is_there(&self) -> bool {
        self.version.is_some()
    }

    fn body(&self) -> String {
        format!("{} {}", self.topic().text, self.versioned_word())
    }

    /// Its word stands first: in a list of many items the end of a description is cut.
    fn description(&self) -> String {
        format!("{} {}", self.label_word(), self.topic().about)
    }

    /// The identity of it, but for memories.
    pub(super) fn id(&self) -> ItemId {
        match self.index {
            TOOL_OF_SKILL => {
                ItemId::tool(Some(format!("i{SKILL_WITH_TOOL}").into()), self.name.clone())
            }
            _ => ItemId::new(self.kind, self.name.clone()),
        }
    }
}

/// How pages look.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayoutChoice {
    preset: LayoutPreset,
    picks: PickPlacement,
    skills: SkillRender,
    tool_calls: ToolCalls,
    memory_entries: usize,
}

impl LayoutChoice {
    pub(super) fn any() -> impl Strategy<Value = LayoutChoice> {
        let recto = LayoutPreset::Recto;
        let presets = [
            recto,
            recto,
            recto,
            LayoutPreset::Attached,
            LayoutPreset::Layered,
            LayoutPreset::Plain,
        ];
        let picks = [PickPlacement::TurnOnly, PickPlacement::Kept, PickPlacement::InLayer];
        let skills = [SkillRender::Full, SkillRender::ReadOnDemand, SkillRender::Description];
        let tool_calls = [ToolCalls::Native, ToolCalls::Text];
        let some = prop::sample::select::<LayoutPreset>;
        (
            some(presets.to_vec()),
            prop::sample::select(picks.to_vec()),
            prop::sample::select(skills.to_vec()),
            prop::sample::select(tool_calls.to_vec()),
            prop::sample::select(vec![1_usize, 20]),
        )
            .prop_map(|(preset, picks, skills, tool_calls, memory_entries)| LayoutChoice {
                preset,
                picks,
                skills,
                tool_calls,
                memory_entries,
            })
    }

    fn layout(self) -> PageLayout {
        let LayoutChoice { preset, picks, skills, tool_calls, .. } = self;
        PageLayout { picks, skills, tool_calls, ..preset.layout() }
    }
}

pub(super) struct World {
    bench: Bench,
    fake: FakeServer,
    pub(super) agent: Agent,
    pub(super) session: SessionId,
    pub(super) items: Vec<WorldItem>,
}

impl World {
    pub(super) async fn new(layout: LayoutChoice, includes: &[IncludeMode]) -> World {
        let (bench, fake) = (Bench::new(), FakeServer::openai().start());
        let item = |(index, kind): (usize, ItemKind)| WorldItem {
            kind,
            name: format!("i{index}"),
            include: includes[index],
            version: Some(0),
            index,
        };
        let items: Vec<WorldItem> = KINDS.into_iter().enumerate().map(item).collect();
        items.iter().for_each(|item| write_item(&bench, item));
        write_tools(&bench, &items, "-u");
        write_memories(&bench, &items);
        let entry = |name: &str, window| {
            let mut entry = model(name, &fake);
            entry.layout = layout.layout();
            entry.limits.memory_entries = layout.memory_entries;
            entry.window = Some(Tokens::new(window));
            entry
        };
        let mut parts = bench.parts(vec![entry("wide", 16_384), entry("narrow", 1_100)]);
        parts.options.built_in = items.iter().filter_map(built_in).collect();
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        World { bench, fake, agent, session, items }
    }

    /// The include mode of an item: a skill's tool comes no sooner than its skill.
    pub(super) fn include(&self, item: &WorldItem) -> IncludeMode {
        match item.index {
            TOOL_OF_SKILL => self.items[SKILL_WITH_TOOL].include,
            _ => item.include,
        }
    }

    /// Whether the agent has an item: a skill's tool goes with its skill.
    pub(super) fn is_there(&self, item: &WorldItem) -> bool {
        match item.index {
            TOOL_OF_SKILL => self.items[SKILL_WITH_TOOL].is_there(),
            _ => item.is_there(),
        }
    }

    /// Says something; the reply is always the same.
    pub(super) async fn say(&self, text: &str) {
        self.fake.push(FakeAnswer::text("Fine."));
        say(&self.agent, self.session, text).await;
    }

    /// Says something; the model loads an item before it answers, as a list would name it, or a
    /// name that no list has.
    pub(super) async fn read(&self, text: &str, item: usize) {
        let item = &self.items[item];
        let name = match item.kind {
            ItemKind::Memory => {
                let memory = Memory::new("MEMORY.md", item.body(), None);
                listed_name(&memory.id())
            }
            _ => listed_name(&item.id()),
        };
        let call = FakeCall::new("read_item", json!({ "item": name }));
        self.fake.push(FakeAnswer::calls([call]));
        self.say(text).await;
    }

    pub(super) async fn mention(&self, item: usize) {
        let item = &self.items[item];
        let name = match item.kind {
            ItemKind::Memory => "nothing".to_owned(),
            kind => format!("@{}:{}", kind.name(), item.id().key()),
        };
        self.say(&format!("Look at {name} please.")).await;
    }

    pub(super) async fn command(&self, line: &str) {
        // What can't be done changes nothing.
        let _ = self.agent.command(&owner(), &conversation("k"), self.session, typed(line)).await;
    }

    /// Adds an item, or removes it.
    pub(super) async fn change(&self, what: &str, item: usize) {
        let item = &self.items[item];
        if item.kind != ItemKind::Memory {
            self.command(&format!("/{what} {}:{}", item.kind.name(), item.id().key())).await;
        }
    }

    pub(super) fn edit(&mut self, item: usize) {
        if let Some(version) = &mut self.items[item].version {
            *version += 1;
        }
        self.write(item);
    }

    /// Deletes the file of an item. Tools have none.
    pub(super) fn delete(&mut self, item: usize) {
        if self.items[item].kind != ItemKind::Tool {
            self.items[item].version = None;
            self.write(item);
        }
    }

    pub(super) fn distrust(&self) {
        write_tools(&self.bench, &self.items, "-R");
    }

    fn write(&self, item: usize) {
        write_item(&self.bench, &self.items[item]);
        write_memories(&self.bench, &self.items);
    }
}

fn write_item(bench: &Bench, item: &WorldItem) {
    let file = match item.kind {
        ItemKind::Rule => format!("rules/{}.md", item.name),
        ItemKind::Reference => format!("references/{}.md", item.name),
        ItemKind::Skill => format!("skills/{}/SKILL.md", item.name),
        ItemKind::Tool | ItemKind::Memory => return,
    };
    if !item.is_there() {
        let _ = std::fs::remove_file(bench.path().join("workspace").join(&file));
        return;
    }
    let text = format!(
        "---\nname: {}\ninclude: {}\ndescription: {}\n---\n{}\n",
        item.name,
        item.include,
        item.description(),
        item.body()
    );
    bench.write(&file, &text);
}

/// The tool of a skill, which runs a program with this flag.
fn write_tools(bench: &Bench, items: &[WorldItem], flag: &str) {
    let tool = &items[TOOL_OF_SKILL];
    let declared = json!({
        "tools": [{
            "name": tool.name, "description": tool.description(), "parameters": {"type": "object"},
        }],
        "allowlist": {"date": [flag]},
        "execution": [{"tool": tool.name, "binary": "date", "subcommand": flag}],
    });
    bench.write(&format!("skills/i{SKILL_WITH_TOOL}/tools.json"), &declared.to_string());
}

fn write_memories(bench: &Bench, items: &[WorldItem]) {
    let memories = items.iter().filter(|item| item.kind == ItemKind::Memory && item.is_there());
    let lines: String = memories.map(|item| format!("- {}\n", item.body())).collect();
    bench.write("memory/MEMORY.md", &lines);
}

/// A tool that no skill brings.
fn built_in(item: &WorldItem) -> Option<ToolSpec> {
    let is_built_in = item.kind == ItemKind::Tool && item.index != TOOL_OF_SKILL;
    let parameters = json!({"type": "object", "properties": {}});
    is_built_in.then(|| ToolSpec {
        include: item.include,
        ..ToolSpec::new(item.id(), item.description(), parameters)
    })
}
