//! The promises of the page, over random sessions.
//!
//! A session is played turn by turn: messages of many kinds, picks, tool rounds,
//! edited files, new tools, flipped modes, small windows. Each request is held
//! against the one before it, and against what must be true of every request.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use recto_context::{
    Body, CallId, Carry, Catalog, Cause, ChatMessage, ChatRole, ContentPart, Include, Inputs,
    ItemKind, Layer, Layout, Limits, Message, MessageId, Mode, ModeDecision, ModeReason, Pick,
    PickMessages, PickPlacement, Preset, RequestContext, SessionItem, Stamp, Tokens, ToolCall,
    ToolCalls, TurnNumber, Window, compare,
};

use crate::support::*;

/// What happens before and in a turn.
#[derive(Debug, Clone)]
struct Turn {
    message: String,
    reply: String,
    rounds: Vec<Round>,
    picks: Vec<(usize, f32)>,
    mode: Mode,
    edit: Option<Edit>,
    failed: bool,
}

#[derive(Debug, Clone)]
struct Round {
    calls: usize,
    result: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Edit {
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
    fn layer(self) -> Layer {
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
struct Play {
    turns: Vec<Turn>,
    window: u32,
    max_messages: usize,
    minimal_history: usize,
    placement: PickPlacement,
    pick_messages: PickMessages,
    tool_calls: ToolCalls,
    stamped: bool,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{0,40}",
        1 => "\\PC{0,60}",
        1 => "[\\n\\t \\r]{0,6}",
        1 => "(日本語|👍|é|ы){0,30}",
        1 => "(word ){50,300}",
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let round = (1..3usize, prop_oneof![text(), "(output line\n){150,260}"])
        .prop_map(|(calls, result)| Round { calls, result });
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
        prop::collection::vec(round, 0..3),
        prop::collection::vec((0..6usize, 0.0..1.0f32), 0..3),
        mode,
        edit,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(message, reply, rounds, picks, mode, edit, failed)| Turn {
            message,
            reply,
            rounds,
            picks,
            mode,
            edit,
            failed,
        })
}

fn play() -> impl Strategy<Value = Play> {
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
fn agent() -> Catalog {
    let mut catalog = catalog();
    catalog.rules.push(rule("auth", 1, Include::Agent, "Use tokens for everything."));
    catalog.references.push(rule("manual", 2, Include::Agent, &"manual page ".repeat(30)));
    catalog.skills.push(skill("web", Some("Look things up."), "Use curl with care.", &["fetch"]));
    catalog.skills[2].include = Include::Agent;
    catalog.tools.push(tool(Some("mail"), "send"));
    catalog.tools[1].include = Include::Agent;
    catalog.skills.push(skill("quiet", None, "No tools here.", &[]));
    catalog.skills[3].include = Include::Agent;
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

fn picks(turn: &Turn) -> Vec<Pick> {
    let chosen = turn.picks.iter().map(|(at, probability)| {
        let (kind, name) = candidates()[*at];
        let mut pick = pick(kind, name, *probability);
        if kind == ItemKind::Tool {
            pick.item.server = Some("mail".into());
        }
        pick
    });
    chosen.collect()
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
            catalog.skills[2] = recto_context::Skill { include: Include::Agent, ..web };
        }
        Edit::Model => {}
        Edit::NewRule => {
            let name = format!("rule{number}");
            catalog.rules.push(rule(&name, 700, Include::Always, "New."));
        }
    }
    *session = catalog.session_at_start();
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

    fn message(&mut self, body: Body) -> Arc<Message> {
        Arc::new(Message { id: self.id(), body })
    }

    fn round(&mut self, round: &Round) -> Vec<Arc<Message>> {
        let first = self.next_id;
        let call = |n: usize| ToolCall {
            id: CallId(format!("{first}-{n}").into()),
            name: "read_file".into(),
            arguments: "{\"path\":\"a\"}".into(),
        };
        let calls: Vec<ToolCall> = (0..round.calls).map(call).collect();
        let mut messages =
            vec![self.message(Body::Assistant { content: vec![], calls: calls.clone() })];
        for call in calls {
            let content = vec![ContentPart::Text(round.result.as_str().into())];
            messages.push(self.message(Body::Tool { call: call.id, name: call.name, content }));
        }
        messages
    }

    /// Plays a turn, one request for the message and one for each round.
    fn turn(&mut self, number: usize, turn: &Turn) -> Result<(), TestCaseError> {
        if let Some(edit) = turn.edit {
            apply(edit, &mut self.catalog, &mut self.items, number);
            self.models += usize::from(edit == Edit::Model);
            self.edits.push(edit);
        }
        let message_id = self.id();
        let picks = picks(turn);
        let mut rounds: Vec<Arc<Message>> = Vec::new();
        let mut sent = Arc::new(Message::user(message_id.0, turn.message.as_str()));
        for step in 0..=turn.rounds.len() {
            if let Some(round) = step.checked_sub(1).map(|at| &turn.rounds[at]) {
                let messages = self.round(round);
                rounds.extend(messages);
            }
            let inputs = self.inputs(turn, number, message_id, &picks, &rounds);
            let Ok(request) = inputs.assemble() else {
                // Nothing was sent; the turn has failed.
                prop_assert!(over_budget_is_honest(&inputs));
                break;
            };
            prop_assert_eq!(page(&request), page(&inputs.assemble().unwrap()));
            check_request(&request, turn)?;
            if let Some(before) = &self.before {
                check_prefix(before, &request, &self.edits)?;
            }
            self.edits.clear();
            sent = request.sent.clone();
            self.carry = request.carry.clone();
            self.before = Some(request);
        }
        self.history.push(sent);
        self.history.extend(rounds);
        if !turn.failed {
            let content = vec![ContentPart::Text(turn.reply.as_str().into())];
            let reply = self.message(Body::Assistant { content, calls: vec![] });
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
    ) -> Inputs<'a> {
        let chosen = turn.mode;
        let limits = Limits {
            history_messages: self.play.max_messages,
            minimal_history: self.play.minimal_history,
            ..Limits::default()
        };
        let inputs = Inputs::new(&self.catalog, turn.message.as_str())
            .message_id(id)
            .turn(TurnNumber(number as u32 + 1))
            .model(format!("model {}", self.models))
            .layout(Layout {
                picks: self.play.placement,
                pick_messages: self.play.pick_messages,
                tool_calls: self.play.tool_calls,
                ..Layout::default()
            })
            .bootstrap(bootstrap())
            .mode(ModeDecision { chosen, reason: ModeReason::Configured, matched: vec![] })
            .window(Window::from_config(Tokens::new(self.play.window)))
            .limits(limits)
            .session(&self.items)
            .history(&self.history)
            .carry(self.carry.clone())
            .picks(picks)
            .rounds(rounds);
        match self.play.stamped {
            true => inputs.stamp(Stamp::new(&format!("2026-11-15 08:{number:02}"))),
            false => inputs,
        }
    }
}

/// An error is only right when what can't be cut really is too large.
fn over_budget_is_honest(inputs: &Inputs<'_>) -> bool {
    let error = inputs.assemble().unwrap_err();
    let cuttable = [Layer::Memory, Layer::History, Layer::Picks];
    let left = error.layers.iter().filter(|(layer, _)| cuttable.contains(layer));
    error.needed() > error.budget.messages && left.map(|(_, tokens)| tokens.get()).sum::<u32>() == 0
}

/// What is true of every request.
fn check_request(request: &RequestContext, turn: &Turn) -> Result<(), TestCaseError> {
    let budget = request.budget;
    prop_assert!(budget.used <= budget.messages);
    prop_assert!(request.prompt_tokens() + budget.reply <= budget.window);
    prop_assert!(request.parts.is_sorted_by_key(|part| part.layer));
    for layer in [Layer::System, Layer::Bootstrap, Layer::Message] {
        prop_assert!(request.layer(layer).count() > 0, "{} is there", layer);
    }
    let current: Vec<_> = request.layer(Layer::Message).collect();
    prop_assert_eq!(current.len(), 1);
    prop_assert_eq!(current[0].text(), turn.message.as_str());
    let at = request.parts.iter().position(|part| part.layer == Layer::Message).unwrap();
    let shows = |message: &&ChatMessage| message.spans.iter().any(|span| span.part == at);
    let message = request.messages.iter().find(shows).unwrap();
    prop_assert_eq!(message.role, ChatRole::User);
    prop_assert!(message.text().ends_with(turn.message.as_str()));
    check_calls(request)
}

/// Every call is answered right behind it, and every answer has its call.
fn check_calls(request: &RequestContext) -> Result<(), TestCaseError> {
    let mut open: HashSet<&CallId> = HashSet::new();
    for message in &request.messages {
        if let Some((call, _)) = &message.answers {
            prop_assert!(open.remove(call), "an answer without its call");
            continue;
        }
        prop_assert!(open.is_empty(), "a call without its answer");
        open.extend(message.calls.iter().map(|call| &call.id));
    }
    prop_assert!(open.is_empty());
    Ok(())
}

/// The three promises of the stable prefix.
fn check_prefix(
    before: &RequestContext,
    after: &RequestContext,
    edits: &[Edit],
) -> Result<(), TestCaseError> {
    let comparison = compare(before, after);
    let Some(change) = &comparison.change else { return Ok(()) };
    let same_turn = before.sent.id == after.sent.id;
    let cause = change.cause;
    if cause == Cause::PicksLeft {
        // Between turns, and not before the end of History.
        prop_assert!(!same_turn);
        let history_end =
            before.parts.iter().take_while(|part| part.layer <= Layer::History).count();
        prop_assert!(comparison.agreed_parts >= history_end, "{:?}", comparison);
        return Ok(());
    }
    let edited = |layer: Layer| !same_turn && edits.iter().any(|edit| edit.layer() == layer);
    let right = match cause {
        Cause::ModelChanged => edits.contains(&Edit::Model),
        Cause::ModeFlipped => before.mode.chosen != after.mode.chosen,
        Cause::ItemChanged => edited(change.layer),
        Cause::MemoryReplaced => edited(Layer::Memory) && change.layer == Layer::Memory,
        Cause::ToolOffered => {
            let known = |id| before.tools.iter().any(|tool| tool.spec.id == id);
            !same_turn && change.item.clone().is_some_and(|id| !known(id))
        }
        Cause::HistoryTrimmed => {
            trims(before) != trims(after) || !after.mode.chosen.sends_history()
        }
        // Once sent shortened, a result stays so in the turns to come.
        Cause::ResultShortened => same_turn && before.carry.shortened != after.carry.shortened,
        // What was cut comes back at a trim and with a turn, and not before.
        Cause::LayerCut if same_turn => picked(after).is_subset(&picked(before)),
        Cause::LayerCut => trims(before) != trims(after),
        Cause::Unrelated | Cause::PicksLeft => false,
    };
    prop_assert!(right, "{:?} does not explain it: {:#?}", cause, change);
    Ok(())
}

/// How often something had to leave; another number means that it did again.
fn trims(request: &RequestContext) -> u32 {
    request.carry.trims
}

/// The items that search brought and that are shown.
fn picked(request: &RequestContext) -> HashSet<String> {
    let picks = request.layer(Layer::Picks).filter_map(|part| part.item.as_ref());
    picks.map(|item| item.id.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_promises_hold_over_random_sessions(play in play()) {
        let catalog = agent();
        let items = catalog.session_at_start();
        let turns = play.turns.clone();
        let mut session = Session {
            play, catalog, items,
            history: Vec::new(),
            carry: Carry::default(),
            next_id: 0,
            models: 0,
            edits: Vec::new(),
            before: None,
        };
        for (number, turn) in turns.iter().enumerate() {
            session.turn(number, turn)?;
        }
    }

    #[test]
    fn any_preset_fits_the_window_or_says_why(
        message in text(),
        window in 100..3_000u32,
        preset in prop_oneof![
            Just(Preset::Recto), Just(Preset::Plain), Just(Preset::Attached), Just(Preset::Layered)
        ],
        turn in turn(),
    ) {
        let catalog = agent();
        let items = catalog.session_at_start();
        let picks = picks(&turn);
        let history = talk("user: hi / model: call read_file{} / tool: text / model: hello");
        let inputs = Inputs::new(&catalog, message.as_str())
            .layout(preset.layout())
            .session(&items)
            .picks(&picks)
            .history(&history)
            .window(Window::from_config(Tokens::new(window)));
        match inputs.assemble() {
            Ok(request) => {
                prop_assert!(request.prompt_tokens() + request.budget.reply <= request.budget.window);
                let parts: Tokens = request.parts.iter().map(|part| part.tokens).sum();
                prop_assert_eq!(parts, request.budget.used);
                prop_assert!(request.messages.last().unwrap().text().ends_with(&message));
                check_calls(&request)?;
            }
            Err(error) => prop_assert!(error.needed() > error.budget.messages),
        }
    }
}
