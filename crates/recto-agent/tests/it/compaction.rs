//! Summaries for messages that leave the page: made, kept, shown and undone.

use recto_agent::{Agent, CommandReply, Inbound, RequestPurpose};
use recto_context::{
    ContextLimits, Layer, PartReason, RequestContext, SummaryBy, Tokens, compare_requests,
};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::SessionId;

use crate::selection::requests;
use crate::support::{
    Bench, arrival, check_sound, conversation, model, mortal, owner, runtime, say, session, submit,
    typed, within,
};

/// An agent with room for little history.
async fn agent(bench: &Bench, fake: &FakeServer, how: Option<SummaryBy>) -> Agent {
    let mut entry = model("fake", fake);
    entry.limits = ContextLimits {
        history_tokens: Tokens::new(1_200),
        summary_tokens: Tokens::new(300),
        ..ContextLimits::default()
    };
    let mut parts = bench.parts(vec![entry]);
    parts.options.compaction = how;
    Agent::start(parts).await.unwrap()
}

/// Talks with such an agent.
fn talk_with(
    how: Option<SummaryBy>,
    talk: impl AsyncFnOnce(&Bench, &FakeServer, Agent, SessionId),
) {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = agent(&bench, &fake, how).await;
        let session = session(&agent, "s").await;
        talk(&bench, &fake, agent, session).await;
    });
}

/// What is said in a turn: a fact that matters, and much that does not.
fn talk(number: usize) -> String {
    let chatter = "Well, as we were saying, this and that goes on and on as it does. ".repeat(4);
    format!("{chatter}We decided to put invoice {number}77 into /srv/books/{number}.ods. {chatter}")
}

async fn play(agent: &Agent, session: SessionId, turns: std::ops::Range<usize>) {
    for number in turns {
        say(agent, session, &talk(number)).await;
    }
}

/// In which turn something has to leave.
async fn turns_until_compaction() -> usize {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let agent = agent(&bench, &fake, Some(SummaryBy::Extract)).await;
    let session = session(&agent, "s").await;
    for number in 1..20 {
        say(&agent, session, &talk(number)).await;
        if !agent.store().compactions(session).await.unwrap().is_empty() {
            return number;
        }
    }
    panic!("nothing ever leaves");
}

fn summary(request: &RequestContext) -> Option<String> {
    let of = |reason: &PartReason| matches!(reason, PartReason::Summary { .. });
    request.parts.iter().find(|part| of(&part.reason)).map(|part| part.text().to_owned())
}

/// Promise: `compaction-can-be-undone`
/// Promise: `cuts-are-recorded`
#[test]
fn what_leaves_is_summarised_and_can_be_brought_back() {
    talk_with(Some(SummaryBy::Extract), async |bench, fake, agent, session| {
        play(&agent, session, 1..9).await;
        check_sound(agent.store(), session).await;
        let pages = requests(agent.store(), session).await;
        let last = pages.last().unwrap();
        let text = summary(last).expect("there is a summary");
        assert!(text.contains("177") && text.contains("/srv/books/1.ods"), "{text}");
        // It is the oldest entry of the history, in front of what was kept.
        let history: Vec<_> = last.layer(Layer::History).collect();
        assert!(matches!(history[0].reason, PartReason::Summary { .. }));
        assert!(history.len() > 1);
        // What it stands for is told with what it took before and takes now.
        let left: Vec<_> =
            last.dropped.iter().filter(|dropped| dropped.layer == Layer::History).collect();
        assert!(left.iter().any(|left| left.after > Tokens::ZERO && left.after < left.before));
        let kept = agent.store().compactions(session).await.unwrap();
        let standing = kept.last().unwrap();
        assert_eq!(standing.summary.first.0, 1);
        assert!(standing.tokens_after < standing.tokens_before);
        assert!(kept.iter().all(|kept| kept.undone.is_none()));

        // Over a restart it stays what it is.
        drop(agent);
        let agent = self::agent(bench, fake, Some(SummaryBy::Extract)).await;
        say(&agent, session, "And then?").await;
        let after = requests(agent.store(), session).await.pop().unwrap();
        assert!(summary(&after).unwrap().contains("/srv/books/1.ods"));
        let standing = agent.store().compactions(session).await.unwrap().pop().unwrap();

        let undone = agent.expand(&owner(), session).await.unwrap().unwrap();
        assert_eq!(undone.summary, standing.summary);
        assert!(agent.expand(&owner(), session).await.unwrap().is_none());
        let set = typed("/set");
        let CommandReply::Settings(_) =
            agent.command(&owner(), &conversation("s"), session, set).await.unwrap()
        else {
            panic!("settings");
        };
        say(&agent, session, "Go on.").await;
        let expanded = requests(agent.store(), session).await.pop().unwrap();
        assert_eq!(summary(&expanded), None);
        // All messages of the session are there: some are on the page, and the rest
        // leaves by the limits, and not as a summary.
        assert_eq!(agent.store().messages(session, None).await.unwrap().len(), 20);
        check_sound(agent.store(), session).await;
    });
}

/// Promise: `cuts-are-recorded`
#[test]
fn a_preview_shows_the_summary_that_the_turn_makes() {
    talk_with(Some(SummaryBy::Extract), async |_, _, agent, session| {
        let last = turns_until_compaction().await;
        play(&agent, session, 1..last).await;
        let message = talk(last);
        let preview = agent.preview(session, Inbound::text(&owner(), &message)).await.unwrap();
        assert_eq!(agent.store().compactions(session).await.unwrap(), []);
        assert_eq!(preview.summary_by, Some(SummaryBy::Extract));
        let shown = summary(&preview.request).expect("the preview has a summary");

        say(&agent, session, &message).await;
        let sent = requests(agent.store(), session).await.pop().unwrap();
        assert_eq!(summary(&sent).unwrap(), shown);
        let kept = agent.store().compactions(session).await.unwrap().pop().unwrap();
        let previewed = preview.compaction.unwrap();
        assert_eq!(kept.summary, previewed.summary);
        assert_eq!(kept.tokens_before, previewed.tokens_before);
        assert_eq!(kept.tokens_after, previewed.tokens_after);

        // Where nothing leaves, nothing is promised.
        let again = agent.preview(session, Inbound::text(&owner(), "And?")).await.unwrap();
        assert!(again.compaction.is_none() && again.summary_by.is_none());
        assert_eq!(summary(&again.request), Some(shown));
    });
}

#[test]
fn a_preview_asks_no_model_for_its_summary() {
    talk_with(Some(SummaryBy::Summary), async |_, fake, agent, session| {
        let last = turns_until_compaction().await;
        play(&agent, session, 1..last).await;
        let asked = fake.log().len();
        let preview = agent.preview(session, Inbound::text(&owner(), &talk(last))).await.unwrap();
        assert_eq!(fake.log().len(), asked);
        assert_eq!(preview.summary_by, Some(SummaryBy::Summary));
        assert_eq!(preview.compaction.unwrap().summary.how, SummaryBy::Extract);
        assert!(summary(&preview.request).unwrap().contains("177"));
    });
}

#[test]
fn the_originals_are_back_on_a_page_that_has_room() {
    let bench = Bench::new();
    let fake = FakeServer::openai().start();
    runtime().block_on(async {
        let small = agent(&bench, &fake, Some(SummaryBy::Extract)).await;
        let session = session(&small, "s").await;
        play(&small, session, 1..6).await;
        assert!(summary(requests(small.store(), session).await.last().unwrap()).is_some());
        small.expand(&owner(), session).await.unwrap().unwrap();
        drop(small);
        let large = Agent::start(bench.parts(vec![model("fake", &fake)])).await.unwrap();
        say(&large, session, "Go on.").await;
        let page = requests(large.store(), session).await.pop().unwrap();
        let history = page.layer(Layer::History).map(|part| part.text()).collect::<String>();
        assert!(history.contains("invoice 177") && history.contains("invoice 577"));
        assert_eq!(page.layer(Layer::History).count(), 10);
    });
}

#[test]
fn a_model_summarises_and_what_it_lost_is_added() {
    talk_with(Some(SummaryBy::Summary), async |_, fake, agent, session| {
        let mut turns = 0;
        while agent.store().compactions(session).await.unwrap().is_empty() {
            turns += 1;
            assert!(turns < 30, "nothing ever leaves");
            // What the model says in this turn, be it asked for a summary first or not.
            fake.push(FakeAnswer::text("They talked about invoices."));
            say(&agent, session, &talk(turns)).await;
        }
        check_sound(agent.store(), session).await;
        let kept = agent.store().compactions(session).await.unwrap();
        let made = kept.first().expect("a summary was made");
        assert_eq!(made.summary.how, SummaryBy::Summary);
        assert_eq!(made.model.as_deref(), Some("fake"));
        let text = made.summary.text.as_str();
        assert!(text.contains("They talked about invoices."), "{text}");
        assert!(text.contains("177") && text.contains("/srv/books/1.ods"), "{text}");
        // Nobody saw the summary as if it were a reply, and its request is on the record
        // like any other.
        let said = agent.store().messages(session, None).await.unwrap();
        assert_eq!(said.len(), turns * 2);
        assert_eq!(requests(agent.store(), session).await.len(), turns + 1);
    });
}

#[test]
fn a_request_for_a_summary_is_no_page() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let last = runtime().block_on(turns_until_compaction());
    let (killed, gate) = (mortal(), AnswerGate::new());
    let session = killed.block_on(async {
        let agent = agent(&bench, &fake, Some(SummaryBy::Summary)).await;
        let session = session(&agent, "s").await;
        play(&agent, session, 1..last).await;
        fake.push(FakeAnswer::text("They talked.").held(&gate));
        submit(&agent, session, &talk(last)).await;
        arrival(&gate, 1).await;
        // All that the turn has sent by now is the request for a summary.
        let sent = agent.store().last_request(session).await.unwrap().unwrap();
        assert_eq!(RequestPurpose::from_record(&sent), RequestPurpose::Summary);
        let context = typed("/context");
        let CommandReply::Context(Some(page)) =
            agent.command(&owner(), &conversation("s"), session, context).await.unwrap()
        else {
            panic!("a page");
        };
        let pages = requests(agent.store(), session).await;
        let same = compare_requests(&pages[pages.len() - 2], &page);
        assert_eq!((same.change, same.fresh_tokens), (None, Tokens::ZERO));
        session
    });
    drop(killed);
    runtime().block_on(async {
        let agent = agent(&bench, &fake, Some(SummaryBy::Summary)).await;
        within(agent.finished()).await;
        let store = agent.store();
        let turn = store.last_turn(Some(session)).await.unwrap().unwrap();
        let records = store.requests(turn.id).await.unwrap();
        let pages = requests(store, session).await;
        let before = &pages[pages.len() - records.len() - 1];
        // The page that the next process sends goes on from the page before.
        let agreed = compare_requests(before, pages.last().unwrap()).agreed_bytes;
        assert!(agreed > 0);
        assert_eq!(records.last().unwrap().notes["prefix"]["agreed_bytes"], agreed);
    });
}

#[test]
fn where_the_model_fails_extracts_have_to_do() {
    talk_with(Some(SummaryBy::Summary), async |_, fake, agent, session| {
        let last = turns_until_compaction().await;
        play(&agent, session, 1..last).await;
        fake.push(FakeAnswer::refusal(500, "out of order"));
        play(&agent, session, last..last + 1).await;
        let kept = agent.store().compactions(session).await.unwrap();
        assert_eq!(kept[0].summary.how, SummaryBy::Extract);
        assert!(kept[0].summary.text.as_str().contains("177"));
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn without_compaction_messages_leave_as_they_always_did() {
    talk_with(None, async |_, _, agent, session| {
        play(&agent, session, 1..9).await;
        let pages = requests(agent.store(), session).await;
        assert!(pages.iter().all(|page| summary(page).is_none()));
        assert!(pages.last().unwrap().carry.history_from.is_some());
        // A session can have it otherwise.
        let on = typed("/set compaction extract");
        agent.command(&owner(), &conversation("s"), session, on).await.unwrap();
        play(&agent, session, 9..14).await;
        let pages = requests(agent.store(), session).await;
        assert!(summary(pages.last().unwrap()).is_some());
    });
}
