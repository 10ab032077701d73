//! Random sessions, played turn by turn: messages of many kinds, picks, tool
//! rounds, edited files, new tools, flipped modes, small windows.

use std::sync::Arc;

use proptest::prelude::*;
use recto_context::{
    AssemblyInputs, CallId, Carry, Catalog, ContentPart, ContextLimits, IncludeMode, ItemId,
    ItemKind, Layer, Message, MessageBody, MessageId, MessageStamp, Mode, ModeDecision, ModeReason,
    Opaque, OpaqueKind, OverBudget, PageLayout, Pick, PickMessages, PickPlacement, RequestContext,
    SessionItem, Tokens, ToolCall, ToolCalls, TurnNumber, Window, item_label,
};

use crate::support::*;

/// What happens before and in a turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) message: String,
    reply: String,
    /// What the model thinks before its reply.
    thought: String,
    rounds: Vec<Round>,
    picks: Vec<(usize, f32)>,
    /// What search finds possible.
    listed: Vec<(usize, f32)>,
    mode: Mode,
    edit: Option<Edit>,
    failed: bool,
}

#[derive(Debug, Clone)]
struct Round {
    calls: usize,
    thought: String,
    result: String,
    /// What the model loads by its name in this round.
    reads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Edit {
    Soul,
    Rule,
    Skill,
    Memory,
    Tool,
    NewTool,
    NewRule,
    AgentSkill,
    Model,
}

impl Edit {
    /// Where it shows.
    pub(crate) fn layer(self) -> Layer {
        match self {
            Edit::Soul | Edit::Model => Layer::System,
            Edit::Rule | Edit::NewRule => Layer::Items,
            Edit::Skill | Edit::AgentSkill => Layer::Skills,
            Edit::Memory => Layer::Memory,
            Edit::Tool | Edit::NewTool => Layer::Tools,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Play {
    turns: Vec<Turn>,
    window: u32,
    max_messages: usize,
    minimal_history: usize,
    placement: PickPlacement,
    pick_messages: PickMessages,
    tool_calls: ToolCalls,
    stamped: bool,
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{0,40}",
        1 => "\\PC{0,60}",
        1 => "[\\n\\t \\r]{0,6}",
        1 => "(日本語|👍|é|ы){0,30}",
        1 => "(word ){50,300}",
    ]
}

/// Most models don't think, and some think much.
fn thought() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => text()]
}

pub(crate) fn turn() -> impl Strategy<Value = Turn> {
    let reads = prop::option::weighted(0.4, 0..candidates().len());
    let round = (1..3usize, thought(), prop_oneof![text(), "(output line\n){150,260}"], reads)
        .prop_map(|(calls, thought, result, reads)| Round { calls, thought, result, reads });
    let edit = prop_oneof![
        8 => Just(None),
        1 => Just(Some(Edit::Soul)),
        1 => Just(Some(Edit::Rule)),
        1 => Just(Some(Edit::Skill)),
        1 => Just(Some(Edit::Memory)),
        1 => Just(Some(Edit::Tool)),
        1 => Just(Some(Edit::NewTool)),
        1 => Just(Some(Edit::NewRule)),
        1 => Just(Some(Edit::AgentSkill)),
        1 => Just(Some(Edit::Model)),
    ];
    let mode = prop_oneof![
        8 => Just(Mode::Full),
        2 => Just(Mode::Minimal),
        2 => Just(Mode::FullWithoutHistory),
        2 => Just(Mode::MinimalWithHistory),
    ];
    (
        text(),
        text(),
        thought(),
        prop::collection::vec(round, 0..3),
        prop::collection::vec((0..6usize, 0.0..1.0f32), 0..3),
        prop::collection::vec((0..6usize, 0.0..0.4f32), 0..4),
        mode,
        edit,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(message, reply, thought, rounds, picks, listed, mode, edit, failed)| {
            Turn { message, reply, thought, rounds, picks, listed, mode, edit, failed }
        })
}

pub(crate) fn play() -> impl Strategy<Value = Play> {
    let placement = prop_oneof![Just(PickPlacement::TurnOnly), Just(PickPlacement::Kept)];
    (
        prop::collection::vec(turn(), 1..14),
        prop_oneof![4 => 700..2_500u32, 1 => Just(8_192), 1 => Just(100_000)],
        prop_oneof![Just(50usize), 3..12usize],
        0..3usize,
        placement,
        prop_oneof![Just(PickMessages::Merged), Just(PickMessages::Separate)],
        prop_oneof![3 => Just(ToolCalls::Native), 1 => Just(ToolCalls::Text)],
        any::<bool>(),
    )
        .prop_map(|play| {
            let (
                turns,
                window,
                max_messages,
                minimal_history,
                placement,
                pick_messages,
                tool_calls,
                stamped,
            ) = play;
            Play {
                turns,
                window,
                max_messages,
                minimal_history,
                placement,
                pick_messages,
                tool_calls,
                stamped,
            }
        })
}

/// The agent that is played with: something of every kind, some of it for search.
pub(crate) fn agent() -> Catalog {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens for everything."));
    catalog.references.push(rule("manual", 2, IncludeMode::Agent, &"manual page ".repeat(30)));
    catalog.skills.push(skill("web", Some("Look things up."), "Use curl with care.", &["fetch"]));
    catalog.skills[2].include = IncludeMode::Agent;
    catalog.tools.push(tool(Some("mail"), "send"));
    catalog.tools[1].include = IncludeMode::Agent;
    catalog.skills.push(skill("quiet", None, "No tools here.", &[]));
    catalog.skills[3].include = IncludeMode::Agent;
    // Long enough that small windows can't always hold them.
    catalog.skills.push(skill("long", Some("Much to read."), &"word ".repeat(250), &[]));
    catalog.memories.push(memory("MEMORY.md:9", None, &"fact ".repeat(120)));
    let more = |n| memory(&format!("MEMORY.md:{n}"), None, &format!("{n} {}", "detail ".repeat(9)));
    catalog.memories.extend((10..40).map(more));
    catalog
}

/// What search could bring.
fn candidates() -> [(ItemKind, &'static str); 6] {
    [
        (ItemKind::Rule, "auth"),
        (ItemKind::Reference, "manual"),
        (ItemKind::Skill, "web"),
        (ItemKind::Memory, "MEMORY.md:2"),
        (ItemKind::Tool, "send"),
        (ItemKind::Skill, "quiet"),
    ]
}

pub(crate) fn picks(turn: &Turn) -> Vec<Pick> {
    turn.picks.iter().map(|(at, probability)| found(*at, *probability)).collect()
}

/// What search left and finds possible, each once.
fn possible(turn: &Turn) -> Vec<Pick> {
    let mut left: Vec<Pick> = Vec::new();
    for (at, probability) in &turn.listed {
        let pick = found(*at, *probability);
        let is_taken = turn.picks.iter().any(|(taken, _)| taken == at);
        if !is_taken && left.iter().all(|known| known.item != pick.item) {
            left.push(pick);
        }
    }
    left
}

fn found(at: usize, probability: f32) -> Pick {
    let (kind, name) = candidates()[at];
    let mut pick = pick(kind, name, probability);
    if kind == ItemKind::Tool {
        pick.item.server = Some("mail".into());
    }
    pick
}

fn apply(edit: Edit, catalog: &mut Catalog, session: &mut Vec<SessionItem>, number: usize) {
    match edit {
        Edit::Soul => catalog.system.soul = file("SOUL.md", &format!("You are Ada {number}.")),
        Edit::Rule => catalog.rules[0].text = format!("Stay calm {number}.").into(),
        Edit::Skill => {
            catalog.skills[0] =
                skill("notes", Some("Notes."), &format!("Use v{number}."), &["add_note"]);
        }
        Edit::Memory => {
            let name = format!("MEMORY.md:{}", 100 + number);
            catalog.memories.insert(0, memory(&name, None, &format!("Fact {number}.")));
        }
        Edit::Tool => {
            let parameters = serde_json::json!({"type": "object", "description": number});
            let id = catalog.tools[0].id.clone();
            catalog.tools[0] = recto_context::ToolSpec::new(id, "Reads.", parameters);
        }
        Edit::NewTool => catalog.tools.push(tool(None, &format!("tool_{number}"))),
        Edit::AgentSkill => {
            let about = format!("Look things up, {number}.");
            let web = skill("web", Some(&about), "Use curl with care.", &["fetch"]);
            catalog.skills[2] = recto_context::Skill { include: IncludeMode::Agent, ..web };
        }
        Edit::Model => {}
        Edit::NewRule => {
            let name = format!("rule{number}");
            catalog.rules.push(rule(&name, 700, IncludeMode::Always, "New."));
        }
    }
    *session = catalog.session_at_start();
}

/// A thought as a reply carries it; nothing for none.
fn thinking(thought: &str) -> Vec<ContentPart> {
    let opaque = || Opaque {
        provider: "ollama".into(),
        json: format!("{thought:?}").into(),
        kind: OpaqueKind::Thought,
    };
    if thought.is_empty() { vec![] } else { vec![ContentPart::Opaque(opaque())] }
}

/// A request of a session in play.
pub(crate) struct Step<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) inputs: &'a AssemblyInputs<'a>,
    /// The request that was sent before it.
    pub(crate) before: Option<&'a RequestContext>,
    /// What was edited since then.
    pub(crate) edits: &'a [Edit],
    pub(crate) result: &'a Result<RequestContext, OverBudget>,
}

/// What must be true of every request.
pub(crate) type Check<'a> = dyn Fn(&Step<'_>) -> Result<(), TestCaseError> + 'a;

/// Plays a session, and checks each of its requests.
pub(crate) fn play_through(play: Play, check: &Check<'_>) -> Result<(), TestCaseError> {
    let catalog = agent();
    let items = catalog.session_at_start();
    let turns = play.turns.clone();
    let mut session = Session {
        play,
        catalog,
        items,
        history: Vec::new(),
        carry: Carry::default(),
        next_id: 0,
        models: 0,
        edits: Vec::new(),
        before: None,
    };
    turns.iter().enumerate().try_for_each(|(number, turn)| session.turn(number, turn, check))
}

/// A session in play.
struct Session {
    play: Play,
    catalog: Catalog,
    items: Vec<SessionItem>,
    history: Vec<Arc<Message>>,
    carry: Carry,
    next_id: u64,
    /// How often the model was changed.
    models: usize,
    /// What was edited since the last request that was sent.
    edits: Vec<Edit>,
    before: Option<RequestContext>,
}

impl Session {
    fn id(&mut self) -> MessageId {
        self.next_id += 1;
        MessageId(self.next_id)
    }

    fn message(&mut self, body: MessageBody) -> Arc<Message> {
        Arc::new(Message { id: self.id(), body })
    }

    fn round(&mut self, round: &Round) -> Vec<Arc<Message>> {
        let first = self.next_id;
        let read = round.reads.map(|at| found(at, 0.1).item);
        let call = |n: usize| ToolCall {
            id: CallId(format!("{first}-{n}").into()),
            name: if read.is_some() { "read_item" } else { "read_file" }.into(),
            arguments: "{\"path\":\"a\"}".into(),
        };
        let calls: Vec<ToolCall> = (0..round.calls).map(call).collect();
        let content = thinking(&round.thought);
        let mut messages =
            vec![self.message(MessageBody::Assistant { content, calls: calls.clone() })];
        for call in calls {
            let label = read.as_ref().map(|item| format!("{}\n", item_label(item)));
            let text = format!("{}{}", label.unwrap_or_default(), round.result);
            let content = vec![ContentPart::Text(text.into())];
            messages.push(self.message(MessageBody::Tool {
                call: call.id,
                name: call.name,
                content,
            }));
        }
        messages
    }

    /// Plays a turn, one request for the message and one for each round.
    fn turn(&mut self, number: usize, turn: &Turn, check: &Check<'_>) -> Result<(), TestCaseError> {
        if let Some(edit) = turn.edit {
            apply(edit, &mut self.catalog, &mut self.items, number);
            self.models += usize::from(edit == Edit::Model);
            self.edits.push(edit);
        }
        let message_id = self.id();
        let (picks, possible) = (picks(turn), possible(turn));
        let listed: Vec<ItemId> = possible.iter().map(|pick| pick.item.clone()).collect();
        let mut rounds: Vec<Arc<Message>> = Vec::new();
        let mut sent = Arc::new(Message::user(message_id.0, turn.message.as_str()));
        for step in 0..=turn.rounds.len() {
            if let Some(round) = step.checked_sub(1).map(|at| &turn.rounds[at]) {
                let messages = self.round(round);
                rounds.extend(messages);
            }
            let inputs = self.inputs(turn, number, message_id, &picks, &rounds);
            let inputs = inputs.candidates(&possible).listed(&listed);
            let result = inputs.assemble();
            let before = self.before.as_ref();
            check(&Step { turn, inputs: &inputs, before, edits: &self.edits, result: &result })?;
            // Without a request nothing was sent; the turn has failed.
            let Ok(request) = result else { break };
            self.edits.clear();
            sent = request.sent.clone();
            self.carry = request.carry.clone();
            self.before = Some(request);
        }
        self.history.push(sent);
        self.history.extend(rounds);
        if !turn.failed {
            let mut content = thinking(&turn.thought);
            content.push(ContentPart::Text(turn.reply.as_str().into()));
            let reply = self.message(MessageBody::Assistant { content, calls: vec![] });
            self.history.push(reply);
        }
        Ok(())
    }

    fn inputs<'a>(
        &'a self,
        turn: &Turn,
        number: usize,
        id: MessageId,
        picks: &'a [Pick],
        rounds: &'a [Arc<Message>],
    ) -> AssemblyInputs<'a> {
        let chosen = turn.mode;
        let limits = ContextLimits {
            history_messages: self.play.max_messages,
            minimal_history: self.play.minimal_history,
            ..ContextLimits::default()
        };
        let inputs = AssemblyInputs::new(&self.catalog, turn.message.as_str())
            .message_id(id)
            .turn(TurnNumber(number as u32 + 1))
            .model(format!("model {}", self.models))
            .layout(PageLayout {
                picks: self.play.placement,
                pick_messages: self.play.pick_messages,
                tool_calls: self.play.tool_calls,
                ..PageLayout::default()
            })
            .bootstrap(bootstrap())
            .mode(ModeDecision::new(chosen, ModeReason::Configured))
            .window(Window::from_config(Tokens::new(self.play.window)))
            .limits(limits)
            .session(&self.items)
            .history(&self.history)
            .carry(self.carry.clone())
            .picks(picks)
            .rounds(rounds);
        match self.play.stamped {
            true => inputs.stamp(MessageStamp::new(&format!("2026-11-15 08:{number:02}"))),
            false => inputs,
        }
    }
}
