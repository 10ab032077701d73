//! `recto why`: why an item was on the page of a turn, or was not.

use recto_agent::{AgentError, RecordReader};
use recto_context::ItemKind;

use crate::cli::WhyArgs;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &WhyArgs) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&config.settings).await?;
        let actor = setup::actor();
        let reader = RecordReader::new(&store, &actor);
        let record = reader.find_turn(&args.turn).await.map_err(|error| refused(error, args))?;
        // The memories that the turn knew are those of the agent that had it.
        let settings = match store.session(record.turn().session).await? {
            Some(session) => setup::session_settings(&config, &session)?,
            None => &config.settings,
        };
        let searcher = setup::searcher(settings, Some(store.clone()));
        let memories = setup::memories(settings, &searcher, Some(store.clone()));
        let explained = record.explain(&memories, &args.name).await?;
        print_as(
            args.json,
            || explained.json(),
            || {
                let items = explained.items.iter().map(ToString::to_string);
                let files = explained.files.iter().map(ToString::to_string);
                items.chain(files).map(|why| tame(&why) + "\n").collect()
            },
        )
    })
}

/// Why there is nothing to explain. Pages show an item with its kind in front, and a blank between.
fn refused(error: AgentError, args: &WhyArgs) -> CliFailure {
    let is_kind = ItemKind::ALL.iter().any(|kind| kind.name() == args.name);
    let meant = matches!(error, AgentError::NoSuchTurn { .. } if is_kind);
    let failure = CliFailure::from(error);
    match meant {
        true => failure.hint(format!(
            "an item is named with a colon behind its kind: recto why {}:{}",
            args.name,
            tame(&args.turn)
        )),
        false => failure,
    }
}
