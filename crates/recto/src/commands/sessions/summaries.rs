//! Summaries that stand for messages on the page: where they are shown in a session,
//! and how they are taken back.

use recto_context::{MessageId, SummaryBy};
use recto_store::{Store, StoredCompaction, StoredSession};

use super::local;
use crate::config::Settings;
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{counted, tame, tame_lines, tell};
use crate::setup;

/// Puts the messages of a session back on its page.
pub(super) async fn expand(
    home: &RectoHome,
    settings: &Settings,
    store: Store,
    session: StoredSession,
) -> CliResult {
    let label = tame(&session.label());
    let agent = setup::idle_agent(home, settings, store)?;
    let undone = agent.expand(&setup::actor(), session.id).await?;
    let Some(StoredCompaction { summary, .. }) = undone else {
        tell(&format_args!(
            "no summary stands in session {label}: all of its messages can be sent"
        ));
        return Ok(());
    };
    tell(&format_args!(
        "{} of session {label} can be sent again: numbers {} to {}\ncompaction is off for this \
         session now; `/set compaction default` turns it on again",
        counted(summary.messages, "message"),
        summary.first.0,
        summary.last.0
    ));
    Ok(())
}

/// The summaries that stand behind a message, as people read them. One that another
/// has replaced is mentioned without its text.
pub(super) fn behind(message: MessageId, all: &[StoredCompaction]) -> String {
    let standing: Vec<&StoredCompaction> = all.iter().filter(|one| one.undone.is_none()).collect();
    let newest = standing.last().map(|one| one.id);
    let here = standing.iter().filter(|one| one.summary.last == message);
    here.map(|one| drawn(one, newest == Some(one.id))).collect()
}

fn drawn(compaction: &StoredCompaction, stands: bool) -> String {
    let StoredCompaction { summary, model, tokens_before, tokens_after, made, .. } = compaction;
    let bold = anstyle::Style::new().bold();
    let by = match (summary.how, model) {
        (SummaryBy::Summary, Some(model)) => format!("by {}", tame(model)),
        (SummaryBy::Summary, None) => "by a model".to_owned(),
        (SummaryBy::Extract, _) => "by extraction".to_owned(),
    };
    let head = format!(
        "\n{bold}summary{bold:#} ({}, {by}, {tokens_before} to {tokens_after} tokens)",
        local(*made)
    );
    match stands {
        true => format!(
            "{head}\nstands on the page for the {} above it:\n{}\n",
            counted(summary.messages, "message"),
            tame_lines(summary.text.trim_end())
        ),
        false => format!("{head}\nwas replaced by a later one\n"),
    }
}
