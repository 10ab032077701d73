//! The promises about the stable prefix, held against what the engine really reads
//! again.

use recto_context::{
    Carry, Cause, Document, File, Include, ItemId, ItemKind, Mode, ModeDecision, ModeReason, Pick,
    Priority, Scores, Source, Stamp, SystemFiles, ToolSpec, TurnNumber, compare,
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
    cause: Option<Cause>,
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
        let layout = Layout { tool_calls: ToolCalls::Text, ..Layout::default() };
        let items = self.catalog.session_at_start();
        let id = MessageId(self.talk.history.len() as u64 + 1);
        let request = Inputs::new(&self.catalog, message)
            .message_id(id)
            .stamp(Stamp::new(&format!("2026-11-15 08:{:02}", self.turns)))
            .turn(TurnNumber(self.turns))
            .session(&items)
            .history(&self.talk.history)
            .picks(picks)
            .mode(ModeDecision { chosen: mode, reason: ModeReason::Marked, matched: vec![] })
            .layout(layout)
            .limits(Limits { reply: Tokens::new(self.talk.reply), ..Limits::default() })
            .window(Window { tokens: Tokens::new(self.talk.window), source: WindowSource::Config })
            .carry(self.carry.clone())
            .assemble()
            .unwrap();
        let compared = self.previous.as_ref().map(|previous| compare(previous, &request));
        let cause = compared.and_then(|compared| compared.change).map(|change| change.cause);
        let body = encode(self.talk.client.wire(), &self.talk.call, &request).to_string();
        let lane = Lane(u64::from(mode == Mode::Minimal));
        let reply = collect(self.talk.client.stream_in(lane, body)).await.unwrap();
        self.talk.history.push(request.sent.clone());
        self.talk.history.push(Arc::new(Message {
            id: MessageId(id.0 + 1),
            body: Body::Assistant { content: reply.content.clone(), calls: Vec::new() },
        }));
        self.carry = request.carry.clone();
        self.previous = Some(request);
        let prompt = reply.usage.prompt.unwrap();
        Cost { prompt, fresh: prompt - reply.usage.cached.unwrap(), cause }
    }
}

fn catalog(soul: &str) -> Catalog {
    let file = |text: &str| Some(File { text: text.into(), source: Source::BuiltIn });
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = ToolSpec::new(ItemId::tool(None, "weather"), "Tells the weather.", parameters);
    let rule = Document {
        name: "harbour".into(),
        description: None,
        priority: Priority::LAST,
        include: Include::Agent,
        text: RULE.into(),
        source: Source::BuiltIn,
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
    let pick = Pick {
        item: ItemId::new(ItemKind::Rule, "harbour"),
        scores: Scores::default(),
        best_chunk: None,
    };
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
    assert_eq!(after.cause, Some(Cause::PicksLeft));
    assert!(after.fresh < 160, "{}", after.fresh);

    // A minimal turn has a sequence of its own, which begins like the other.
    let minimal = session.turn("Tell the weather in Oslo", Mode::Minimal, &[]).await;
    assert!(minimal.fresh < minimal.prompt, "{}", minimal.fresh);

    // So the flip back costs the minimal turn and the new question, no more.
    let back = session.turn("How are you now?", Mode::Full, &[]).await;
    assert_eq!(back.cause, Some(Cause::ModeFlipped));
    assert!(back.fresh < 160, "{} of {}", back.fresh, back.prompt);

    session.catalog = catalog("You are Grace.");
    let edited = session.turn("Who are you?", Mode::Full, &[]).await;
    assert_eq!(edited.cause, Some(Cause::ItemChanged));
    assert!(edited.fresh > edited.prompt / 2, "{} of {}", edited.fresh, edited.prompt);
}
