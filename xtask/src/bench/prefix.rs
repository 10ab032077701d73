//! How much of each prompt the embedded model has read before: sessions of fifty
//! turns, with a stable prefix of about 3,000 tokens.
//!
//! Each session is played on a model that has read nothing yet, so that its first
//! request is a cold one. Beside them stands what Recto's order of the page is
//! there to avoid: the plain order, with picks in their layers and a clock near
//! the top. It has the same messages and, word for word, the same replies.

mod script;
mod session;
mod summary;
mod workspace;

use std::path::Path;

use recto_context::PickPlacement;

use super::report::{BenchReport, Figure, FigureRow, FigureTable, FigureUnit};
use crate::Result;
use session::{BootstrapClock, PageForm, PlayedRequest, PlayedSession, ReplySource, play};
use summary::{PrefixSummary, goals};

/// How many turns are played in the plain order: each takes as long as a cold one.
const PLAIN_TURNS: usize = 15;

/// Plays all sessions with the model in `file`.
pub(super) fn run(file: &Path) -> Result<BenchReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(file))
}

/// The sessions that are played, each with its way of laying out the page.
struct PlayedSessions {
    talk: PlayedSession,
    turn_only: PlayedSession,
    kept: PlayedSession,
    mixed: PlayedSession,
    plain_talk: PlayedSession,
    plain_picks: PlayedSession,
    plain_mixed: PlayedSession,
}

async fn measure(file: &Path) -> Result<BenchReport> {
    let own = |picks| PageForm { picks, clock: BootstrapClock::Day };
    let plain = PageForm { picks: PickPlacement::InLayer, clock: BootstrapClock::Minute };
    let (talk, picks, mixed) = (script::talk(), script::with_picks(), script::mixed());
    let turn_only = own(PickPlacement::TurnOnly);
    let talked = tell("talk", play(file, turn_only, &talk, ReplySource::Own)).await?;
    let picked = tell("picks of the turn", play(file, turn_only, &picks, ReplySource::Own)).await?;
    let kept = play(file, own(PickPlacement::Kept), &picks, ReplySource::Own);
    let mixed_up = tell("mixed", play(file, turn_only, &mixed, ReplySource::Own)).await?;
    let plain_talk = play(file, plain, &talk[..PLAIN_TURNS], ReplySource::Of(&talked));
    let plain_picks = play(file, plain, &picks[..PLAIN_TURNS], ReplySource::Of(&picked));
    let plain_mixed = play(file, plain, &mixed[..PLAIN_TURNS], ReplySource::Of(&mixed_up));
    Ok(report(&PlayedSessions {
        kept: tell("picks kept", kept).await?,
        plain_talk: tell("plain order, talk (takes minutes)", plain_talk).await?,
        plain_picks: tell("plain order, picks (takes minutes)", plain_picks).await?,
        plain_mixed: tell("plain order, mixed (takes minutes)", plain_mixed).await?,
        mixed: mixed_up,
        talk: talked,
        turn_only: picked,
    }))
}

/// Says what is being played, since it takes a while.
async fn tell(
    name: &str,
    session: impl Future<Output = Result<PlayedSession>>,
) -> Result<PlayedSession> {
    eprintln!("session: {name}");
    session.await
}

fn report(sessions: &PlayedSessions) -> BenchReport {
    let PlayedSessions { talk, turn_only, kept, mixed, plain_talk, plain_picks, plain_mixed } =
        sessions;
    // Beside each stands the session whose quiet turns count.
    let named = [
        ("talk", talk, talk),
        ("picks of the turn", turn_only, turn_only),
        ("picks kept", kept, kept),
        ("mixed", mixed, mixed),
        ("plain order, talk", plain_talk, talk),
        ("plain order, picks", plain_picks, turn_only),
        ("plain order, mixed", plain_mixed, mixed),
    ];
    let setup = format!(
        "Sessions of {} turns, each on a model that has read nothing yet. Layers 1 to 6 are {} \
         tokens. `cached` is what the engine still had, `read` what it had to read; a cause stands \
         where a prompt parts from the one before. The rows below are of turns from {} on, without \
         the permitted breaks; those of the plain order are of the same turns, up to {PLAIN_TURNS}.",
        talk.requests.last().map_or(0, |last| last.turn),
        talk.stable,
        summary::FROM,
    );
    let details = named.iter().map(|(name, played, _)| details(name, played)).collect();
    let rows = named.iter().filter_map(|(name, played, sibling)| {
        Some(PrefixSummary::from_session(played, sibling)?.row(name))
    });
    BenchReport { details, ..BenchReport::new(setup, rows.collect(), goals(sessions)) }
}

/// Every request of a session.
fn details(name: &str, played: &PlayedSession) -> FigureTable {
    let rows = played.requests.iter().map(row).collect();
    FigureTable { name: format!("Session: {name}"), rows }
}

fn row(asked: &PlayedRequest) -> FigureRow {
    let figure = |name, value, unit| Figure { name, value, unit };
    let count = |name, value: u32| figure(name, f64::from(value), FigureUnit::Count);
    let figures = vec![
        count("prompt", asked.prompt),
        count("cached", asked.cached),
        count("read", asked.read()),
        figure("first token", asked.first.as_secs_f64() * 1e3, FigureUnit::Milliseconds),
    ];
    let mode = if asked.mode.is_minimal() { " minimal" } else { "" };
    let step = if asked.step > 1 { format!(".{}", asked.step) } else { String::new() };
    let note = asked.cause.map(|cause| cause.describe().to_owned());
    FigureRow { name: format!("{}{step}{mode}", asked.turn).into(), figures, note }
}
