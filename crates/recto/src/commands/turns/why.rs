//! `recto why`: why an item was on the page of a turn, or was not.

use std::sync::Arc;

use recto_agent::{bare_item_name, restore_request};
use recto_context::{RequestContext, TypedMemory};
use serde_json::json;

use super::{find, request_of};
use crate::cli::WhyArgs;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &WhyArgs) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store(&config.settings).await?;
        let turn = find(&store, &args.turn).await?;
        // The memories that the turn knew are those of the agent that had it.
        let settings = match store.session(turn.session).await? {
            Some(session) => setup::session_settings(&config, &session)?,
            None => &config.settings,
        };
        // The last page shows all that the turn came to have.
        let request = request_of(&store, &turn, None).await?;
        let context = restore_request(&store, &request).await?;
        let searcher = setup::searcher(settings, Some(store.clone()));
        let memories = setup::memories(settings, &searcher, Some(store.clone()));
        // Whoever sits at the terminal may know of everybody's.
        let others = match TypedMemory::new(&args.name).is_name() {
            true => memories.files().read_everything(&setup::owner(settings)).await.memories,
            false => Arc::default(),
        };
        let answers = memories.explain(&store, &request, &context, &args.name, &others).await;
        let answers = answers?;
        if answers.is_empty() {
            return Err(unknown(&context, &args.name, &turn.id.to_string()));
        }
        print_as(
            args.json,
            || json!({"turn": turn.id, "request": request.number, "items": answers}),
            || answers.iter().map(|why| tame(&why.to_string()) + "\n").collect(),
        )
    })
}

/// Names the nearest of all items that the turn knew.
fn unknown(context: &RequestContext, name: &str, turn: &str) -> CliFailure {
    let failure = CliFailure::new(format!("turn {turn} knew no item `{}`", tame(name)));
    let known = context.known_items();
    let names = known.iter().map(|id| &*id.name);
    let otherwise = match TypedMemory::new(name).is_name() {
        true => {
            "no memory has this id now, and the turn did not come across it; `recto memory list` \
             shows what there is, and `memory/archive` in the workspace has what was forgotten"
                .to_owned()
        }
        false => format!("`recto show {turn}` shows what it knew"),
    };
    failure.hint_nearest(bare_item_name(name), names, otherwise)
}
