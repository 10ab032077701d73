//! `recto show --text`: the pages of a turn as the model reads them. The first is there as a whole;
//! of each later one what it adds, unless one is asked for by its number.

use recto_agent::{TurnRecord, restore_request};
use recto_context::{ChatMessage, ContentHash, RequestContext};
use recto_store::{RequestRecord, Store};

use crate::draw::{PageWidth, added_page, whole_page, wrap_words};
use crate::failure::CliResult;
use crate::output::{counted, tame};

/// What the margin shows, in words.
const LEGEND: &str = "in the margin: layer · source; │ a line, ┊ goes on with it, + is no text";

pub(super) async fn draw(
    store: &Store,
    record: &TurnRecord<'_>,
    number: Option<u32>,
    width: PageWidth,
) -> CliResult<String> {
    let requests = match number {
        Some(number) => vec![record.request(number).await?],
        None => record.pages().await?,
    };
    let mut out = String::new();
    let mut before: Option<RequestContext> = None;
    for request in &requests {
        let context = restore_request(store, request).await?;
        let added = before.as_ref().and_then(|before| first_added(before, &context));
        let drawn = match added {
            Some(first) => added_page(&context, first, width),
            None => whole_page(&context, width),
        };
        let heading = heading(request, &context, added);
        let gap = if out.is_empty() { "" } else { "\n" };
        out.push_str(&wrap_words(&format!("{gap}{heading}\n\n"), 2, width));
        out.push_str(&drawn);
        before = Some(context);
    }
    Ok(out)
}

/// The first message that a request adds to the one before it; `None` where it does not go on
/// with that one.
fn first_added(before: &RequestContext, now: &RequestContext) -> Option<usize> {
    let count = before.messages.len();
    let schemas = |context: &RequestContext| -> Vec<ContentHash> {
        context.tools.iter().map(|tool| tool.spec.schema.hash()).collect()
    };
    let is_same = |(a, b): (&ChatMessage, &ChatMessage)| {
        a.role == b.role && a.content == b.content && a.calls == b.calls && a.answers == b.answers
    };
    let goes_on = now.messages.len() >= count
        && before.messages.iter().zip(&now.messages).all(is_same)
        && schemas(before) == schemas(now);
    goes_on.then_some(count)
}

fn heading(request: &RequestRecord, context: &RequestContext, added: Option<usize>) -> String {
    let bold = anstyle::Style::new().bold();
    let what = match added {
        Some(_) => format!("request {} adds to the one before", request.number),
        None => format!("request {}, as model {} reads it", request.number, tame(&context.model)),
    };
    let tokens = context.prompt_tokens();
    let messages = counted(context.messages.len(), "message");
    let legend = if added.is_none() { format!("\n{LEGEND}") } else { String::new() };
    format!(
        "{bold}turn {}, {what}{bold:#}: {tokens} prompt tokens, {messages}{legend}",
        request.turn
    )
}
