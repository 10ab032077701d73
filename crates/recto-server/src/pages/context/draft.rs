//! What *View context* would show of a message that is still being written, as a dialog over the
//! chat. Nothing is stored, and no model is asked.

use maud::{Markup, html};
use recto_agent::{Actor, RequestPreview};
use recto_context::{CachedPrefix, visible_text};

use super::columns::ColumnOptions;
use super::left_out::left_out;
use super::sent_text::sent_text;
use super::view::RequestView;
use super::{DIALOG_PREFIX, items_section, overview};
use crate::gateway::Gateway;
use crate::pages::files::FileLink;

/// The request that a draft would become: its layers, items and text, and what would be left out.
pub(crate) fn draft_context(
    gateway: &Gateway,
    actor: &Actor,
    agent: &str,
    preview: RequestPreview,
) -> Markup {
    let prefix = DIALOG_PREFIX;
    let file_link = FileLink::for_actor(actor, agent, None);
    let options = ColumnOptions { prefix, file_link };
    let agreed_bytes = preview.comparison.as_ref().map(|comparison| comparison.agreed_bytes);
    let is_summed_up = preview.compaction.is_some();
    let page = RequestView::new(preview.request, &CachedPrefix { agreed_bytes, served: None });
    html! {
        header.head {
            div { h1.title id={ (prefix) "context-title" } { "What would be sent" } }
            p.msg { (visible_text(page.context.sent.content())) }
        }
        (overview::draft_facts(&page.context))
        @if is_summed_up {
            p.q { "Older messages would be summed up first; an extract stands here in the place of the summary." }
        }
        section.request-shown aria-label="The request" { (overview::layers(&page, &[], prefix)) }
        (items_section(&page, options))
        div.split {
            aside aria-label="What would be left out" { (left_out(gateway, &page.context, prefix)) }
            (sent_text(&page, "Exact text as it would be sent", options))
        }
    }
}
