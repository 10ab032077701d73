//! `recto diff`: the first byte in which two turns' requests differ, what caused
//! it, and what has to be read again for it.

use recto_agent::{RecordReader, RequestPair, TurnComparison};
use recto_context::{ChangeExcerpt, Comparison, ItemId, PromptChange, Tokens, grouped_digits};

use crate::cli::DiffArgs;
use crate::draw::{PageWidth, labelled};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print_as, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &DiffArgs) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&settings).await?;
        let actor = setup::actor();
        let reader = RecordReader::new(&store, &actor);
        let first = reader.find_turn(&args.first).await?;
        let second = match &args.second {
            Some(second) => Some(reader.find_turn(second).await?),
            None => None,
        };
        let compared = reader.compare_turns(first, second).await?;
        print_as(args.json, || compared.json(), || describe(&compared, PageWidth::of_stdout()))
    })
}

fn describe(compared: &TurnComparison, width: PageWidth) -> String {
    let TurnComparison { requests: RequestPair { before, after }, comparison } = compared;
    let Comparison { agreed_tokens, fresh_tokens, reread_tokens, change, .. } = comparison;
    let reread = match *reread_tokens {
        Tokens::ZERO => String::new(),
        reread => format!(" ({reread} of them read before)"),
    };
    let difference = match change {
        Some(change) => change_place(change),
        None if *fresh_tokens == Tokens::ZERO => "none, the requests are the same".to_owned(),
        None => "none, the later request goes on where the earlier one ended".to_owned(),
    };
    let mut out = format!(
        "turn {}, request {}  →  turn {}, request {}\n\n",
        before.turn, before.number, after.turn, after.number,
    );
    let line = format!(
        "same beginning: {agreed_tokens} tokens; new: {fresh_tokens}{reread}; first difference: \
         {difference}\n"
    );
    out.push_str(&line);
    if let Some(change) = change {
        out.push_str(&describe_change(change, width));
    }
    for (what, items) in [
        ("added", &comparison.added),
        ("removed", &comparison.removed),
        ("changed", &comparison.changed),
    ] {
        if !items.is_empty() {
            out.push_str(&labelled(what, &named(items), width));
        }
    }
    out
}

/// Where two requests part.
fn change_place(change: &PromptChange) -> String {
    let byte = grouped_digits(change.byte as u64);
    match change.message {
        Some(message) => format!("message {}, byte {byte}", message + 1),
        None => format!("the tools, byte {byte}"),
    }
}

fn describe_change(change: &PromptChange, width: PageWidth) -> String {
    let mut lines = vec![("layer", change.layer.to_string())];
    lines.extend(change.item.as_ref().map(|item| ("item", tame(&item.to_string()))));
    lines.extend(change.source.as_ref().map(|source| ("source", tame(&source.to_string()))));
    lines.push(("cause", change.cause.describe().to_owned()));
    let ChangeExcerpt { agreed, before, after } = &change.excerpt;
    lines.extend([("both", agreed), ("before", before), ("now", after)].map(|(what, text)| {
        let text = if text.is_empty() { "nothing".to_owned() } else { quoted(text) };
        (what, text)
    }));
    lines.iter().map(|(label, text)| labelled(label, text, width)).collect()
}

/// A text in one line, with all that can't be seen in it.
fn quoted(text: &str) -> String {
    tame(&format!("{text:?}"))
}

fn named(items: &[ItemId]) -> String {
    let names: Vec<String> = items.iter().map(|item| tame(&item.to_string())).collect();
    names.join(", ")
}
