//! `recto why`: why an item was on the page of a turn, or was not.

use recto_agent::RecordReader;

use crate::cli::WhyArgs;
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &WhyArgs) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&config.settings).await?;
        let actor = setup::actor();
        let record = RecordReader::new(&store, &actor).find_turn(&args.turn).await?;
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
