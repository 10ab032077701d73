//! Where a message is written: the text, the mode of its turn, and what would be sent for it.

use maud::{Markup, html};
use recto_agent::{COMMANDS, EditableMessage, RequestPreview, Right, typed_name};
use recto_context::{Catalog, CatalogDocument, ContextMode, ItemId, ItemKind, Tokens, is_all_seen};
use serde::Serialize;

use crate::pages::layer_bar::LayerBar;
use crate::pages::layout::PageChrome;
use crate::pages::visible_text::show_controls;

/// The modes that a message can be given, in their order, each with what it does.
const MODES: [(ContextMode, &str); 3] = [
    (ContextMode::Auto, "auto: full or minimal, as the words of the message ask for it"),
    (ContextMode::Full, "full: with rules, references, memories, skills and tools"),
    (ContextMode::Minimal, "minimal: tools, rules and the message; no history, no memories"),
];

/// What stands in a composer when its page is loaded.
#[derive(Debug, Clone, Default)]
pub(crate) enum ComposerDraft {
    /// Nothing.
    #[default]
    Empty,
    /// A message that was not sent.
    New(String),
    /// The last message, to be sent anew in its place.
    Edited(EditableMessage),
}

/// A composer: where it sends to, and what stands in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageComposer<'a> {
    /// The address that takes the message.
    pub(crate) action: &'a str,
    /// What the text begins as.
    pub(crate) draft: &'a ComposerDraft,
    /// The mode that holds where the message says none.
    pub(crate) mode: Option<ContextMode>,
    /// What stands above it.
    pub(crate) lead: &'a Markup,
}

impl MessageComposer<'_> {
    /// The composer as a form.
    pub(crate) fn render(&self, chrome: &PageChrome) -> Markup {
        html! {
            form.composer #composer method="post" action=(self.action) aria-label="Message"
                data-person=(chrome.person) data-most=(chrome.most_bytes) {
                (chrome.form_field)
                (self.lead)
                (self.editing_line())
                div.box {
                    label.vh for="draft" { "Message" }
                    textarea #draft name="text" rows="2" required placeholder="Message" dir="auto"
                        autocomplete="off" { "\n" (self.text()) }
                    ul.mentions #mentions role="listbox" aria-label="What can be named" hidden {}
                    div.row {
                        (self.mode_switch())
                        span.q.grow.wide.scripted {
                            code { "@" } " mention · " code { "/" } " command · "
                            button.link type="button" popovertarget="keys" { code { "?" } " keys" }
                        }
                        button.btn.first.send type="submit" { "Send " kbd.scripted { "⏎" } }
                    }
                }
                @if chrome.may(Right::Inspect) { div.meter #meter aria-live="off" {} }
            }
        }
    }

    fn text(&self) -> &str {
        match self.draft {
            ComposerDraft::Empty => "",
            ComposerDraft::New(text) => text,
            ComposerDraft::Edited(message) => &message.text,
        }
    }

    /// Says that the message takes the place of the last one, and keeps of which; or, for scripts,
    /// that it does so no longer.
    fn editing_line(&self) -> Markup {
        let edited = match self.draft {
            ComposerDraft::Edited(message) => Some(message.id.0),
            ComposerDraft::Empty | ComposerDraft::New(_) => None,
        };
        html! {
            p.q.editing #editing hidden[edited.is_none()] {
                input type="hidden" name="edits" value=[edited];
                "It is sent in place of your last message. "
                a.btn.plain #keep-last href=(self.page()) { "Keep the last one" }
            }
            div role="status" {
                p.wait #edit-ended hidden {
                    "The message that you were changing is not the last one any more: this is sent as a "
                    "message of its own."
                }
            }
        }
    }

    /// The page that it stands on, anew.
    fn page(&self) -> &str {
        self.action.trim_end_matches("/messages")
    }

    fn mode_switch(&self) -> Markup {
        let current = self.mode.unwrap_or(ContextMode::Auto);
        html! {
            fieldset.pick {
                legend.vh { "Mode of this message" }
                @for (mode, words) in MODES {
                    label title=(words) {
                        input type="radio" name="mode" value=(mode.name()) checked[mode == current];
                        span { (mode.name()) }
                    }
                }
            }
        }
    }
}

/// What can be named in a message, for the lists that open while one types.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CompletionList {
    items: Vec<CompletionEntry>,
    commands: Vec<CompletionEntry>,
}

/// Something that can be typed.
#[derive(Debug, Clone, Serialize)]
struct CompletionEntry {
    /// What is put into the text.
    insert: String,
    /// What is shown of it.
    label: String,
    /// The include mode of an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<&'static str>,
    about: String,
}

impl CompletionList {
    /// The commands alone, for those who may not see what the agent has.
    pub(crate) fn commands_alone() -> Self {
        CompletionList::new(&Catalog::default())
    }

    /// All items of a catalog that can be mentioned, and all commands. What would not be seen as it
    /// is in what is typed is not offered.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let items = catalog.items().filter(|(id, _)| id.kind != ItemKind::Memory);
        let items = items.map(|(id, include)| (typed_name(&id), id, include));
        let items = items.filter(|(name, ..)| is_all_seen(name));
        let items = items.map(|(name, id, include)| CompletionEntry {
            insert: format!("@{name} "),
            label: format!("@{name}"),
            include: Some(include.name()),
            about: show_controls(&describe(catalog, &id)),
        });
        let commands = COMMANDS.iter().map(|help| CompletionEntry {
            insert: format!("{} ", help.name),
            label: help.usage(),
            include: None,
            about: help.about.to_owned(),
        });
        CompletionList { items: items.collect(), commands: commands.collect() }
    }
}

/// What an item says of itself.
fn describe(catalog: &Catalog, id: &ItemId) -> String {
    let of_document = |documents: &[CatalogDocument]| {
        let found = documents.iter().find(|document| document.name == id.name);
        found.and_then(|document| document.description.as_deref()).map(str::to_owned)
    };
    let described = match id.kind {
        ItemKind::Rule => of_document(&catalog.rules),
        ItemKind::Reference => of_document(&catalog.references),
        ItemKind::Skill => {
            let found = catalog.skills.iter().find(|skill| skill.name == id.name);
            found.and_then(|skill| skill.description.as_deref()).map(str::to_owned)
        }
        ItemKind::Tool => {
            // Two servers may have tools of one name.
            let found = catalog.all_tools().find(|tool| tool.id == *id);
            found.and_then(|tool| tool.description.as_deref()).map(str::to_owned)
        }
        ItemKind::Memory => None,
    };
    // Scripts show it, which draw nothing of their own.
    show_controls(&described.unwrap_or_default())
}

/// What would be sent for the text that stands in the composer.
pub(crate) fn preview_meter(preview: &RequestPreview) -> Markup {
    let request = &preview.request;
    let agreed = preview.comparison.as_ref().map(|comparison| comparison.agreed_tokens);
    let cached = agreed.unwrap_or(Tokens::ZERO);
    let (total, window) = (request.prompt_tokens(), request.budget.window);
    let fresh = total - cached;
    let label = format!("{total} of {window} tokens, {cached} as before");
    let reason = request.mode.reason.describe();
    html! {
        (LayerBar::from_request(request, cached).render(Some(&label)))
        p {
            "Would be sent as " b { (request.mode.chosen.name()) } ": " (reason)
            @if !request.mode.matched.is_empty() {
                " (" @for (at, word) in request.mode.matched.iter().enumerate() {
                    @if at > 0 { ", " } q { (word) }
                } ")"
            }
            @if !request.tools.is_empty() { ", " (request.tools.len()) " tools" }
        }
        span.n {
            (total) " of " (window) " · " (fresh) " fresh · "
            button.link #preview type="button" { "Preview" }
        }
    }
}
