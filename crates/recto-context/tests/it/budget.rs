//! Staying inside the window: what leaves, in which order, and what never does.

use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Carry, Catalog, ContentSource, ContextLimits, CountKind, CountTable,
    IncludeMode, ItemId, ItemKind, Layer, Message, MessageBody, MessageId, RequestContext,
    TokenCounter, TokenRates, Tokens, ToolSpec, Window,
};

use crate::support::*;

fn window(tokens: u32) -> Window {
    Window::from_config(Tokens::new(tokens))
}

fn fits(request: &RequestContext) {
    let limit = request.budget.window - request.budget.reply;
    assert!(request.prompt_tokens() <= limit, "{:?}", request.budget);
    let parts: Tokens = request.parts.iter().map(|part| part.tokens).sum();
    assert_eq!(parts, request.budget.used);
}

#[test]
fn what_may_be_cut_leaves_in_its_order() {
    let mut catalog = catalog();
    catalog.skills = (0..4)
        .map(|n| skill(&format!("skill{n}"), Some("Does things."), &"word ".repeat(150), &[]))
        .collect();
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, &"token ".repeat(150)));
    catalog.memories = vec![memory("MEMORY.md:1", None, &"fact ".repeat(150))];
    let session = catalog.session_at_start();
    let history: Vec<_> = talk(&"user: question of some length / model: answer / ".repeat(10));
    let picks = [pick(ItemKind::Rule, "auth", 0.9)];
    let with = |tokens| {
        let inputs =
            AssemblyInputs::new(&catalog, "now").session(&session).history(&history).picks(&picks);
        inputs.window(window(tokens)).assemble()
    };
    let items = |request: &RequestContext, layer| {
        request.layer(layer).filter(|part| part.item.is_some()).count()
    };
    let bodies = |request: &RequestContext| {
        request.layer(Layer::Skills).filter(|part| part.text().starts_with("word")).count()
    };
    let (mut states, mut history_left_first) = (Vec::new(), false);
    for tokens in (200..6_000).rev().step_by(10) {
        let Ok(request) = with(tokens) else { continue };
        fits(&request);
        let rest =
            (items(&request, Layer::Picks), items(&request, Layer::Memory), bodies(&request));
        history_left_first |= rest == (1, 1, 4) && request.layer(Layer::History).count() == 0;
        states.push(rest);
    }
    states.dedup();
    let in_order = [(1, 1, 4), (0, 1, 4), (0, 0, 4), (0, 0, 3), (0, 0, 2), (0, 0, 1)];
    // Where all bodies have gone, they leave room for the memory again.
    assert_eq!(states, [&in_order[..], &[(0, 1, 0), (0, 0, 0)]].concat());
    assert!(history_left_first, "the rest is whole until no history is left");
    let error = with(200).unwrap_err();
    assert!(error.needed() > error.budget.messages);
}

/// Promise: `one-fault-fails-no-turn`
#[test]
fn a_server_with_very_many_tools_fails_no_turn() {
    let mut catalog = catalog();
    let of_server = |server: &str, name: &str| ToolSpec {
        source: ContentSource::Server(server.into()),
        ..tool(Some(server), name)
    };
    catalog.memories = vec![memory("MEMORY.md:1", None, "The key is under the mat.")];
    catalog.tools.push(of_server("small", "clock"));
    catalog.tools.extend((0..1_000).map(|n| of_server("big", &format!("t{n:03}"))));
    let session = catalog.session_at_start();
    let mut wanted = pick(ItemKind::Tool, "t998", 0.9);
    wanted.item = ItemId::tool(Some("big".into()), "t998");
    let picks = [wanted];
    let inputs = || AssemblyInputs::new(&catalog, "now").session(&session).picks(&picks);
    for tokens in [4_096, 16_384] {
        let request = inputs().window(window(tokens)).assemble().unwrap();
        fits(&request);
        let offered: Vec<String> = request.tools.iter().map(|tool| tool.spec.id.key()).collect();
        // The one that fits the message stays; what others brought is not crowded out.
        for stays in ["small.clock", "big.t998", "big.t000"] {
            assert!(offered.iter().any(|tool| tool == stays), "{stays}: {offered:?}");
        }
        assert!(page(&request).contains("under the mat"), "{}", page(&request));
        let cut = drops(&request).into_iter().filter(|line| {
            line.ends_with("(no room in the window for all tools of MCP server `big`)")
        });
        let of_servers = offered
            .iter()
            .filter(|tool| tool.starts_with("big.") || tool.starts_with("small."))
            .count();
        assert_eq!(cut.count() + of_servers, 1_001);
        // The next request is cut in the same way, without planning anew.
        let next = inputs().window(window(tokens)).carry(request.carry.clone()).assemble().unwrap();
        let again: Vec<String> = next.tools.iter().map(|tool| tool.spec.id.key()).collect();
        assert_eq!(again, offered);
    }
}

#[test]
fn servers_with_many_tools_together_leave_room_for_the_rest() {
    let of_server = |server: usize, name: usize| ToolSpec {
        source: ContentSource::Server(format!("s{server}").into()),
        ..tool(Some(&format!("s{server}")), &format!("t{server}{name:03}"))
    };
    let history = talk("user: The code is 4711. / model: I keep it in mind.");
    // More than the window holds, and all numbers around those with which the rest fits without the history.
    for each in [100].into_iter().chain(8..32) {
        let mut catalog = catalog();
        catalog.memories = vec![memory("MEMORY.md:1", None, "The key is under the mat.")];
        catalog.skills = vec![skill("notes", Some("Keeps."), &"word ".repeat(150), &[])];
        catalog.tools.extend((0..8).flat_map(|s| (0..each).map(move |t| of_server(s, t))));
        let session = catalog.session_at_start();
        let inputs = AssemblyInputs::new(&catalog, "now").session(&session).history(&history);
        let request = inputs.window(window(8_192)).assemble().unwrap();
        fits(&request);
        let page = page(&request);
        assert!(page.contains("4711") && page.contains("under the mat"), "{each}: {page}");
        assert!(request.layer(Layer::Skills).any(|part| part.text().starts_with("word")));
        let drops = drops(&request);
        for server in 0..8 {
            let own = |tool: &&recto_context::OfferedTool| {
                tool.spec.id.server.as_deref() == Some(&*format!("s{server}"))
            };
            let offered = request.tools.iter().filter(own).count();
            let words = format!("MCP server `s{server}`)");
            let cut = drops.iter().filter(|line| line.contains(&words)).count();
            assert_eq!(offered + cut, each, "{drops:?}");
            assert!(offered > 0);
        }
    }
}

/// Promise: `core-fits-or-fails`
/// Promise: `nothing-cut-silently`
#[test]
fn what_may_not_be_cut_is_an_error_with_a_breakdown() {
    let mut catalog = catalog();
    catalog.system.agents = file("AGENTS.md", &"rule after rule ".repeat(2_000));
    let error = AssemblyInputs::new(&catalog, "now").window(window(4_096)).assemble().unwrap_err();
    assert_eq!(error.largest().unwrap().0, Layer::System);
    let text = error.to_string();
    assert!(text.contains("there is room for 3,072"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("system ")), "{text}");
    assert!(error.hint().contains("AGENTS.md"));
    // A large file is sent whole where there is room.
    let request = AssemblyInputs::new(&catalog, "now").window(window(64_000)).assemble().unwrap();
    assert!(request.messages[0].text().contains(&"rule after rule ".repeat(1_999)));
}

/// Promise: `budget-counts-tools`
#[test]
fn tool_schemas_and_call_arguments_count() {
    let mut catalog = Catalog::default();
    let without = AssemblyInputs::new(&catalog, "x").assemble().unwrap();
    let wide = serde_json::json!({"type": "object", "description": "x ".repeat(500)});
    catalog.tools.push(ToolSpec::new(tool(None, "wide").id, "Wide.", wide));
    let session = catalog.session_at_start();
    let with = AssemblyInputs::new(&catalog, "x").session(&session).assemble().unwrap();
    assert!(with.budget.tools > Tokens::new(400));
    assert_eq!(with.budget.messages, without.budget.messages - with.budget.tools);
    let error = AssemblyInputs::new(&catalog, "x").session(&session).window(window(512)).assemble();
    assert!(error.unwrap_err().hint().contains("offer fewer tools"));

    let arguments = format!("model: call wide{{\"text\":\"{}\"}} / tool: ok", "y ".repeat(500));
    let rounds = talk(&arguments);
    let request =
        AssemblyInputs::new(&catalog, "x").session(&session).rounds(&rounds).assemble().unwrap();
    assert!(request.layer_tokens(Layer::Rounds) > Tokens::new(400));
}

#[test]
fn older_results_of_the_turn_are_shortened_and_stay_so() {
    let catalog = catalog();
    let big = "line of output ".repeat(400);
    let rounds = talk(&format!(
        "model: call read_file{{}} / tool: {big} / model: call read_file{{}} / tool: {big}"
    ));
    let rounds: Vec<_> = rounds.iter().map(|m| renumbered(m, 100)).collect();
    let request = AssemblyInputs::new(&catalog, "go")
        .message_id(MessageId(50))
        .rounds(&rounds)
        .window(window(3_000))
        .assemble()
        .unwrap();
    fits(&request);
    let results: Vec<&str> = request
        .layer(Layer::Rounds)
        .filter(|part| part.role == recto_context::ChatRole::Tool)
        .map(|part| part.text())
        .collect();
    assert!(results[0].contains("characters left out"));
    assert!(results[0].starts_with("line of output") && results[0].len() < 1_400);
    assert_eq!(results[1], big.trim_end());
    let shortened = request.dropped.iter().find(|d| d.layer == Layer::Rounds).unwrap();
    assert!(shortened.after > Tokens::ZERO && shortened.before > shortened.after);

    // The next turn shows the result as it was sent.
    let mut history = vec![renumbered(&Message::user(1, "go"), 49)];
    history.extend(rounds.iter().cloned());
    let next = AssemblyInputs::new(&catalog, "more")
        .message_id(MessageId(200))
        .history(&history)
        .carry(request.carry.clone())
        .window(window(8_192))
        .assemble()
        .unwrap();
    let shown = next.layer(Layer::History).find(|p| p.text().contains("left out"));
    assert_eq!(shown.unwrap().text(), results[0]);
}

fn renumbered(message: &Message, by: u64) -> Arc<Message> {
    Arc::new(Message { id: MessageId(message.id.0 + by), body: message.body.clone() })
}

/// Promise: `cuts-keep-characters`
#[test]
fn shortening_never_splits_a_character() {
    let catalog = Catalog::default();
    for unit in ["é", "日本", "👩‍👩‍👧", "a\u{301}"] {
        let big = unit.repeat(4_000);
        let rounds =
            talk(&format!("model: call a{{}} / tool: {big} / model: call b{{}} / tool: x"));
        let request =
            AssemblyInputs::new(&catalog, "go").rounds(&rounds).window(window(4_096)).assemble();
        fits(&request.unwrap());
    }
}

/// Promise: `message-exactly-once`
/// Promise: `older-copy-can-leave`
#[test]
fn the_message_is_sent_once_and_byte_for_byte() {
    let catalog = catalog();
    for message in
        ["  two  spaces ", "line\r\nline\n\n", r"a literal \n stays", "\t", "", "日本 👍"]
    {
        let history = [Arc::new(Message::user(1, message)), Arc::new(Message::assistant(2, "ok"))];
        let request = AssemblyInputs::new(&catalog, message).history(&history).assemble().unwrap();
        let parts: Vec<_> = request.layer(Layer::Message).collect();
        assert_eq!(parts.len(), 1);
        assert_eq!(request.messages.last().unwrap().text(), message);
        // An older message of the same text can still be trimmed.
        let limits = ContextLimits { history_messages: 1, ..ContextLimits::default() };
        let inputs = AssemblyInputs::new(&catalog, message).history(&history).limits(limits);
        let request = inputs.assemble().unwrap();
        assert_eq!(request.layer(Layer::History).count(), 0);
        assert_eq!(request.messages.last().unwrap().text(), message);
    }
}

#[test]
fn a_message_that_is_already_in_the_history_is_not_sent_twice() {
    let catalog = Catalog::default();
    let history = talk("user: a / model: b / user: now");
    let inputs = AssemblyInputs::new(&catalog, "now").message_id(MessageId(3)).history(&history);
    let request = inputs.assemble().unwrap();
    let texts: Vec<_> = request.messages[1..].iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["a", "b", "now"]);
}

#[test]
fn after_a_trim_the_first_message_stays_put() {
    let catalog = catalog();
    let history: Vec<Arc<Message>> = (1..=200)
        .map(|id| if id % 2 == 1 { Message::user(id, "q") } else { Message::assistant(id, "a") })
        .map(Arc::new)
        .collect();
    let mut carry = Carry::default();
    let mut starts = Vec::new();
    for turn in (50..=198).step_by(2) {
        let inputs = AssemblyInputs::new(&catalog, "now").message_id(MessageId(turn + 1));
        let request = inputs.history(&history[..turn as usize]).carry(carry).assemble().unwrap();
        carry = request.carry.clone();
        starts.push(request.layer(Layer::History).next().map(|part| part.name()).unwrap());
    }
    starts.dedup();
    assert!(starts.len() <= 12, "trims come in steps, not every turn: {starts:?}");
    assert_eq!(carry.trimmed.messages % 2, 0);
}

#[test]
fn a_session_of_ten_thousand_messages_is_trimmed_at_once() {
    let catalog = catalog();
    let history: Vec<Arc<Message>> = (1..=10_000)
        .map(|id| if id % 2 == 1 { Message::user(id, "q") } else { Message::assistant(id, "a") })
        .map(Arc::new)
        .collect();
    let request = AssemblyInputs::new(&catalog, "now").history(&history).assemble().unwrap();
    assert_eq!(request.layer(Layer::History).count(), 36);
    assert_eq!(request.carry.trimmed.messages, 9_964);
}

#[test]
fn what_was_cut_for_room_stays_out_until_the_next_trim() {
    let mut catalog = catalog();
    catalog.memories.clear();
    catalog.skills = vec![skill("long", None, &"word ".repeat(600), &[])];
    let session = catalog.session_at_start();
    let long = "w ".repeat(300);
    let assemble = |message: &str, id, carry, history: &[Arc<Message>]| {
        let inputs =
            AssemblyInputs::new(&catalog, message).message_id(MessageId(id)).session(&session);
        inputs.history(history).carry(carry).window(window(1_000)).assemble().unwrap()
    };
    let first = assemble(&long, 1, Carry::default(), &[]);
    assert_eq!(first.carry.shed.len(), 1);
    let history = [Arc::new(Message::user(1, "short")), Arc::new(Message::assistant(2, "ok"))];
    let second = assemble("short", 3, first.carry.clone(), &history);
    assert_eq!(second.carry.shed, first.carry.shed);
    assert!(drops(&second).contains(&"skills: body of skill long (no room in the window)".into()));
}

#[test]
fn exact_counts_are_used_where_they_are_known() {
    let catalog = Catalog::default();
    let mut table = CountTable { per_message: Tokens::new(7), ..CountTable::default() };
    table.counts.insert(recto_context::ContentHash::of_bytes(b"hello there"), Tokens::new(123));
    let counter = TokenCounter::exact(&table, TokenRates::default());
    let request = AssemblyInputs::new(&catalog, "hello there").counter(counter).assemble().unwrap();
    assert_eq!(request.layer_tokens(Layer::Message), Tokens::new(130));
    assert_eq!(request.counted, CountKind::Mixed, "the system text was not counted");
    let texts =
        request.parts.iter().flat_map(|part| [part.lead.to_string(), part.text().to_owned()]);
    let whole =
        texts.map(|text| (recto_context::ContentHash::of_bytes(text.as_bytes()), Tokens::new(1)));
    let table = CountTable { counts: whole.collect(), ..CountTable::default() };
    let counter = TokenCounter::exact(&table, TokenRates::default());
    let exact = AssemblyInputs::new(&catalog, "hello there").counter(counter).assemble().unwrap();
    assert_eq!(exact.counted, CountKind::Tokenizer);
    // An exact count of the whole prompt that came out larger is made up for.
    let limits = ContextLimits { margin: Tokens::new(100), ..ContextLimits::default() };
    let tight = AssemblyInputs::new(&catalog, "hello there").limits(limits).assemble().unwrap();
    assert_eq!(tight.budget.messages, Tokens::new(4_096 - 1_024 - 100));
}

#[test]
fn schemas_larger_than_the_window_never_leave() {
    // Not even with a page that costs nothing.
    let mut catalog = Catalog::default();
    let wide = serde_json::json!({"type": "object", "description": "x ".repeat(900)});
    catalog.tools.push(ToolSpec::new(tool(None, "wide").id, "Wide.", wide));
    let session = catalog.session_at_start();
    let table = CountTable::default();
    let inputs = AssemblyInputs::new(&catalog, "").session(&session).window(window(512));
    let inputs = inputs.layout(recto_context::LayoutPreset::Plain.layout());
    let error =
        inputs.counter(TokenCounter::exact(&table, TokenRates::default())).assemble().unwrap_err();
    assert_eq!(error.budget.messages, Tokens::ZERO);
}

#[test]
fn the_reply_gets_at_most_a_quarter_of_the_window() {
    let catalog = Catalog::default();
    let request = AssemblyInputs::new(&catalog, "x").window(window(2_000)).assemble().unwrap();
    assert_eq!(request.budget.reply, Tokens::new(500));
    let limits = ContextLimits { target: Some(Tokens::new(900)), ..ContextLimits::default() };
    let inputs = AssemblyInputs::new(&catalog, "x").window(window(2_000)).limits(limits);
    assert_eq!(inputs.assemble().unwrap().budget.messages, Tokens::new(900));
}

/// Promise: `hello-stays-small`
#[test]
fn hello_stays_small() {
    // Unrelated items don't grow a greeting, but for the tool that loads one.
    let mut catalog = catalog();
    catalog.rules = (0..200)
        .map(|n| rule(&format!("r{n}"), 5, IncludeMode::Agent, &"text ".repeat(200)))
        .collect();
    catalog.references.clear();
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "hello").session(&session).assemble().unwrap();
    assert!(request.prompt_tokens() < Tokens::new(450), "{}", request.prompt_tokens());
}

#[test]
fn messages_for_people_never_reach_a_model() {
    let catalog = Catalog::default();
    let history = talk("user: a / error: the model is gone / user: b / model: c");
    let request = AssemblyInputs::new(&catalog, "now").history(&history).assemble().unwrap();
    assert!(!page(&request).contains("gone"));
    assert!(matches!(history[1].body, MessageBody::Error(_)));
}

#[test]
fn after_a_long_piece_of_work_question_and_answer_stay() {
    // The newest exchange has more messages than the history may hold.
    let catalog = Catalog::default();
    let rounds = "model: call read_file{} / tool: text / ".repeat(30);
    let history = talk(&format!("user: old / model: older / user: tidy up / {rounds}model: done"));
    let assemble = |history: &[Arc<Message>], id, carry| {
        let inputs =
            AssemblyInputs::new(&catalog, "and now?").message_id(MessageId(id)).history(history);
        inputs.carry(carry).window(window(16_000)).assemble().unwrap()
    };
    let request = assemble(&history, 100, Carry::default());
    let shown = |request: &RequestContext| -> Vec<String> {
        request.layer(Layer::History).map(|part| part.text().to_owned()).collect()
    };
    assert_eq!(shown(&request), ["tidy up", "done"]);
    assert_eq!(
        drops(&request),
        ["history: 62 messages (more than history.max_messages = 50, so cut to 75% of it)"]
    );
    // It stays so in the turns to come.
    let mut longer = history.clone();
    longer.push(Arc::new(Message::user(100, "and now?")));
    longer.push(Arc::new(Message::assistant(101, "rest")));
    let next = assemble(&longer, 102, request.carry.clone());
    assert_eq!(shown(&next), ["tidy up", "done", "and now?", "rest"]);
}

#[test]
fn a_memory_without_room_is_not_replaced_by_the_next_one() {
    let mut catalog = Catalog::default();
    let fact =
        |n: usize| memory(&format!("MEMORY.md:{n}"), None, &format!("{n} {}", "fact ".repeat(20)));
    catalog.memories = (0..40).map(fact).collect();
    let assemble = |message: &str, carry, tokens| {
        let inputs = AssemblyInputs::new(&catalog, message).carry(carry).window(window(tokens));
        inputs.assemble().unwrap()
    };
    let shown = |request: &RequestContext| -> Vec<String> {
        let parts = request.layer(Layer::Memory).filter(|part| part.item.is_some());
        parts.map(|part| part.name()).collect()
    };
    let first = assemble(&"long ".repeat(300), Carry::default(), 900);
    assert!(!first.carry.shed.is_empty() && !shown(&first).is_empty());
    let second = assemble("short", first.carry.clone(), 900);
    assert_eq!(shown(&second), shown(&first));
}

#[test]
fn the_newest_exchange_stays_while_it_is_within_the_limit() {
    // Above three quarters of the limit, and not above the limit.
    let catalog = Catalog::default();
    let history = talk("user: a / model: b / user: c / model: d");
    let limits = ContextLimits { history_messages: 2, ..ContextLimits::default() };
    let request =
        AssemblyInputs::new(&catalog, "x").history(&history).limits(limits).assemble().unwrap();
    let shown: Vec<&str> = request.layer(Layer::History).map(|part| part.text()).collect();
    assert_eq!(shown, ["c", "d"]);
}

/// Promise: `limits-in-tokens`
#[test]
fn the_memory_limit_counts_what_stands_before_each_memory() {
    let mut catalog = Catalog::default();
    let tea = |n: usize| memory(&format!("MEMORY.md:{n}"), Some("2026-01-01"), "Likes tea.");
    catalog.memories = (0..60).map(tea).collect();
    let limits = ContextLimits {
        memory_entries: 60,
        memory_tokens: Tokens::new(100),
        ..ContextLimits::default()
    };
    let request = AssemblyInputs::new(&catalog, "x").limits(limits).assemble().unwrap();
    let memories = request.layer(Layer::Memory).filter(|part| part.item.is_some());
    let (mut count, mut tokens) = (0, Tokens::ZERO);
    memories.for_each(|part| (count, tokens) = (count + 1, tokens + part.tokens));
    assert!(count > 2 && tokens <= Tokens::new(100), "{count}: {tokens}");
}
