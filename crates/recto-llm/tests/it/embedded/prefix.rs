//! The promises about the stable prefix, held against what the engine really reads
//! again.

use recto_context::{
    Carry, CatalogDocument, ChangeCause, ContentSource, IncludeMode, ItemId, ItemKind,
    MessageStamp, Mode, ModeDecision, ModeReason, Pick, Priority, Scores, SystemFiles, ToolSpec,
    TurnNumber, WorkspaceFile, compare_requests,
};
use serde_json::json;

use super::*;

/// A session on the pure core and the real engine.
struct Session {
    talk: Talk,
    catalog: Catalog,
    carry: Carry,
    previous: Option<RequestContext>,
    turns: u32,
}

/// What a turn cost.
struct Cost {
    prompt: u32,
    fresh: u32,
    /// Why it does not begin as the one before, if it does not.
    cause: Option<ChangeCause>,
}

impl Session {
    fn new() -> Self {
        let mut talk = Talk::new();
        talk.window = 4_096;
        talk.reply = 12;
        Session {
            talk,
            catalog: catalog("You are Ada."),
            carry: Carry::default(),
            previous: None,
            turns: 0,
        }
    }

    async fn turn(&mut self, message: &str, mode: Mode, picks: &[Pick]) -> Cost {
        self.turns += 1;
        let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
        let items = self.catalog.session_at_start();
        let id = MessageId(self.talk.history.len() as u64 + 1);
        let request = AssemblyInputs::new(&self.catalog, message)
            .message_id(id)
            .stamp(MessageStamp::from_minute(&format!("2026-11-15 08:{:02}", self.turns)))
            .turn(TurnNumber(self.turns))
            .session(&items)
            .history(&self.talk.history)
            .picks(picks)
            .mode(ModeDecision::new(mode, ModeReason::Marked))
            .layout(layout)
            .limits(ContextLimits {
                reply: Tokens::new(self.talk.reply),
                ..ContextLimits::default()
            })
            .window(Window::from_config(Tokens::new(self.talk.window)))
            .carry(self.carry.clone())
            .assemble()
            .unwrap();
        let compared = self.previous.as_ref().map(|previous| compare_requests(previous, &request));
        let cause = compared.and_then(|compared| compared.change).map(|change| change.cause);
        let body = encode(self.talk.client.wire(), &self.talk.call, &request).to_string();
        let lane = PromptCacheKey(u64::from(mode == Mode::Minimal));
        let reply = collect(self.talk.client.stream_cached(lane, body)).await.unwrap();
        self.talk.history.push(request.sent.clone());
        self.talk.history.push(Arc::new(Message {
            id: MessageId(id.0 + 1),
            body: MessageBody::Assistant { content: reply.content.clone(), calls: Vec::new() },
        }));
        self.carry = request.carry.clone();
        self.previous = Some(request);
        let prompt = reply.usage.prompt.unwrap();
        Cost { prompt, fresh: prompt - reply.usage.cached.unwrap(), cause }
    }
}

fn catalog(soul: &str) -> Catalog {
    let file =
        |text: &str| Some(WorkspaceFile { text: text.into(), source: ContentSource::BuiltIn });
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = ToolSpec::new(ItemId::tool(None, "weather"), "Tells the weather.", parameters);
    let rule = CatalogDocument {
        name: "harbour".into(),
        description: None,
        priority: Priority::LAST,
        include: IncludeMode::Agent,
        text: RULE.into(),
        source: ContentSource::BuiltIn,
    };
    Catalog {
        system: SystemFiles {
            soul: file(soul),
            agents: file("Answer in one short sentence. Be kind, and never make anything up."),
            ..SystemFiles::default()
        },
        rules: vec![rule],
        tools: vec![tool],
        ..Catalog::default()
    }
}

const RULE: &str = "Ships in the harbour are called by their names, never by their numbers.";

#[tokio::test]
async fn a_session_reads_again_only_what_the_comparison_says() {
    let mut session = Session::new();
    let pick = Pick::new(ItemId::new(ItemKind::Rule, "harbour"), Scores::default());
    let cold = session.turn("Hello!", Mode::Full, &[]).await;
    assert_eq!(cold.fresh, cold.prompt);
    assert!(cold.prompt > 100, "{}", cold.prompt);

    // A question and the reply before it: nothing else is read.
    let talk = session.turn("How are you?", Mode::Full, &[]).await;
    assert!(talk.cause.is_none() && talk.fresh < 40, "{} {:?}", talk.fresh, talk.cause);

    let picked = session.turn("Which ship is that?", Mode::Full, &[pick]).await;
    assert!(picked.cause.is_none() && picked.fresh < 100, "{} {:?}", picked.fresh, picked.cause);

    // What was picked leaves with its turn; from there on is read again.
    let after = session.turn("Thank you.", Mode::Full, &[]).await;
    assert_eq!(after.cause, Some(ChangeCause::PicksLeft));
    assert!(after.fresh < 160, "{}", after.fresh);

    // A minimal turn has a sequence of its own, which begins like the other.
    let minimal = session.turn("Tell the weather in Oslo", Mode::Minimal, &[]).await;
    assert!(minimal.fresh < minimal.prompt, "{}", minimal.fresh);

    // So the flip back costs the minimal turn and the new question, no more.
    let back = session.turn("How are you now?", Mode::Full, &[]).await;
    assert_eq!(back.cause, Some(ChangeCause::ModeFlipped));
    assert!(back.fresh < 160, "{} of {}", back.fresh, back.prompt);

    session.catalog = catalog("You are Grace.");
    let edited = session.turn("Who are you?", Mode::Full, &[]).await;
    assert_eq!(edited.cause, Some(ChangeCause::ItemChanged));
    assert!(edited.fresh > edited.prompt / 2, "{} of {}", edited.fresh, edited.prompt);
}
