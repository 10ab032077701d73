//! The panel beside a conversation: the items in the session, with add and remove, and its settings.

use maud::{Markup, html};
use recto_agent::{
    ActorRole, Agent, ModelEntry, Right, SessionSettings, is_allowed, session_setting_names,
    typed_name,
};
use recto_context::mode::ModeSetting;
use recto_context::{
    Catalog, CatalogDocument, ContextMode, IncludeMode, ItemId, ItemKind, Priority, TokenCounter,
    Tokens, grouped_digits, is_all_seen, own_words,
};
use recto_store::{ItemState, StoredSession};
use serde_json::Value;

use crate::pages::layout::{PageChrome, close_drawer, mute_icon};
use crate::pages::visible_text::show_controls;

/// The kinds of items that a session has, under their headings.
const KINDS: [(ItemKind, &str); 4] = [
    (ItemKind::Rule, "Rules"),
    (ItemKind::Reference, "References"),
    (ItemKind::Tool, "Tools"),
    (ItemKind::Skill, "Skills"),
];

/// What is in a session, and how it is set.
#[derive(Debug)]
pub(crate) struct SessionPanel<'a> {
    pub(crate) session: &'a StoredSession,
    pub(crate) agent: &'a Agent,
    pub(crate) catalog: &'a Catalog,
    /// The items that the session has, and those that a person removed.
    pub(crate) items: &'a [(ItemId, ItemState)],
    /// The settings that hold, each with where it comes from.
    pub(crate) effective: &'a Value,
    /// Counts as the session's requests are counted.
    pub(crate) counter: TokenCounter<'a>,
    /// What whoever looks at it is to the agent.
    pub(crate) role: ActorRole,
    /// The mode that holds where a message says none.
    pub(crate) mode: Option<ContextMode>,
    /// Whether it is about another folder, whose items are not known here.
    pub(crate) is_elsewhere: bool,
}

/// An item as a row of the panel.
#[derive(Debug)]
struct PanelItem {
    id: ItemId,
    include: IncludeMode,
    priority: Option<Priority>,
    description: Option<String>,
    tokens: Tokens,
}

impl SessionPanel<'_> {
    /// The panel as it stands in the page.
    pub(crate) fn render(&self, chrome: &PageChrome) -> Markup {
        html! {
            aside.side.panel #in-session popover aria-label="In this session"
                data-mode=[self.mode.map(ContextMode::name)] {
                section {
                    @if self.is_elsewhere { (elsewhere_words()) }
                    @else { (self.items_section(chrome)) }
                }
                section { (self.settings_section(chrome)) }
                section { (self.session_section(chrome)) }
            }
        }
    }

    fn items_section(&self, chrome: &PageChrome) -> Markup {
        let (inside, outside) = self.split_items();
        let total: Tokens = inside.iter().map(|item| item.tokens).sum();
        let counted = "what they take on a page that has them in full, as requests are counted";
        html! {
            div.row {
                h2.grow { "In this session" }
                span.q.n title=(counted) { (total) " tokens" }
                (close_drawer("in-session"))
            }
            @if self.may(Right::ChangeItems) { (self.add_form(chrome, &outside)) }
            @for (kind, heading) in KINDS {
                (self.kind_list(chrome, heading, inside.iter().filter(|item| item.id.kind == kind)))
            }
            @if inside.is_empty() { p.q.kind { "Nothing yet. What is added here stays." } }
        }
    }

    fn may(&self, right: Right) -> bool {
        is_allowed(self.role, right)
    }

    /// The items in the session, in the order in which they are shown, and those that are not.
    fn split_items(&self) -> (Vec<PanelItem>, Vec<ItemId>) {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for (id, include) in self.catalog.items().filter(|(id, _)| id.kind != ItemKind::Memory) {
            let state = self.items.iter().find(|(known, _)| *known == id).map(|(_, state)| state);
            match (state, include) {
                (Some(ItemState::In(origin)), _) => inside.push(self.item(id, origin.include())),
                (None, IncludeMode::Always) => inside.push(self.item(id, include)),
                (Some(ItemState::Removed), _) | (None, _) => outside.push(id),
            }
        }
        inside.sort_by(|a, b| {
            let key = |item: &PanelItem| {
                (
                    item.priority.map_or(u16::MAX, Priority::get),
                    item.id.server.clone(),
                    item.id.name.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        (inside, outside)
    }

    fn item(&self, id: ItemId, include: IncludeMode) -> PanelItem {
        let said = |text: Option<&str>| text.map(|words| own_words(&id, words).to_owned());
        let document = |documents: &[CatalogDocument]| {
            let found = documents.iter().find(|document| document.name == id.name)?;
            let tokens = self.counter.document(id.kind, found);
            Some((Some(found.priority), said(found.description.as_deref()), tokens))
        };
        let known = match id.kind {
            ItemKind::Rule => document(&self.catalog.rules),
            ItemKind::Reference => document(&self.catalog.references),
            ItemKind::Skill => {
                let found = self.catalog.skills.iter().find(|skill| skill.name == id.name);
                found.map(|skill| {
                    (None, said(skill.description.as_deref()), self.counter.skill(skill))
                })
            }
            ItemKind::Tool => {
                let found = self.catalog.all_tools().find(|tool| tool.id == id);
                found.map(|tool| {
                    let tokens = self.counter.tool_beside_others(tool);
                    (None, said(tool.description.as_deref()), tokens)
                })
            }
            ItemKind::Memory => None,
        };
        let (priority, description, tokens) = known.unwrap_or((None, None, Tokens::ZERO));
        PanelItem { id, include, priority, description, tokens }
    }

    fn add_form(&self, chrome: &PageChrome, outside: &[ItemId]) -> Markup {
        let action = format!("/sessions/{}/items", self.session.id);
        let names = outside.iter().map(typed_name).filter(|name| is_all_seen(name));
        let content = html! {
            label.vh for="add" { "Add an item" }
            input #add type="search" name="add" list="addable" autocomplete="off"
                placeholder="Add a rule, reference, skill or tool";
            datalist #addable { @for name in names { option value=(name) {} } }
        };
        chrome.post_form(&action, "", &content)
    }

    fn kind_list<'b>(
        &self,
        chrome: &PageChrome,
        heading: &str,
        items: impl Iterator<Item = &'b PanelItem>,
    ) -> Markup {
        let items: Vec<&PanelItem> = items.collect();
        if items.is_empty() {
            return html! {};
        }
        let total: Tokens = items.iter().map(|item| item.tokens).sum();
        html! {
            div.kind {
                h3 { (heading) " " span.q.n { (total) } }
                ul {
                    @for group in items.chunk_by(|a, b| a.id.server == b.id.server) {
                        @if let Some(server) = group.first().and_then(|item| item.id.server.as_ref()) {
                            li.srv.id { (show_controls(server)) "." }
                        }
                        @for item in group { (self.item_row(chrome, item)) }
                    }
                }
            }
        }
    }

    fn item_row(&self, chrome: &PageChrome, item: &PanelItem) -> Markup {
        let action = format!("/sessions/{}/items", self.session.id);
        let tip =
            format!("tip-{}", typed_name(&item.id).replace(|c: char| !c.is_alphanumeric(), "-"));
        let name = show_controls(&item.id.name);
        let link = format!("/workspace{}#{}s", chrome.agent_query, item.id.kind.name());
        let link = self.may(Right::SeeWorkspace).then_some(link);
        let remove = html! {
            button.btn.plain.x name="remove" value=(typed_name(&item.id))
                aria-label={ "Remove " (name) " from this session" } { (mute_icon("x")) }
        };
        html! {
            li.item {
                span {
                    @if let Some(priority) = item.priority {
                        span.id { (format!("{:03}", priority.get())) } " • "
                    }
                    span.tip {
                        a.name href=[link]
                            aria-describedby=[item.description.as_ref().map(|_| &tip)] {
                            @if item.id.kind == ItemKind::Tool { code { (name) } } @else { (name) }
                        }
                        @if let Some(description) = &item.description {
                            span role="tooltip" id=(tip) { (show_controls(description)) }
                        }
                    }
                }
                " " (include_badge(item.include)) " "
                span.n.q { (item.tokens) span.vh { " tokens" } }
                @if self.may(Right::ChangeItems) { (chrome.post_form(&action, "", &remove)) }
            }
        }
    }

    fn settings_section(&self, chrome: &PageChrome) -> Markup {
        let settings = SessionSettings::from_store(&self.session.settings);
        let own = serde_json::to_value(&settings).unwrap_or_default();
        let locked = (!self.may(Right::ChangeRights)).then_some("approval");
        let fields =
            SettingFields { own: &own, effective: self.effective, agent: self.agent, locked };
        let action = format!("/sessions/{}/settings", self.session.id);
        let content = html! {
            (fields.model())
            (fields.choice("context_mode", "Mode", &["auto", "full", "minimal"]))
            (fields.choice("approval", "Approval", &["per_tool", "always", "never"]))
            (fields.number("max_rounds", "Max rounds", "1"))
            (fields.number("max_output_tokens", "Reply tokens", "1"))
            (fields.number("temperature", "Temperature", "any"))
            (fields.number("top_p", "Top P", "any"))
            (fields.choice("search", "Search", &["off", "conservative", "normal", "aggressive"]))
            button.btn.save { "Save" }
        };
        html! {
            div.row { h2 { "Settings of this session" } }
            @if self.may(Right::ChangeSettings) { (chrome.post_form(&action, "form", &content)) }
            @else { fieldset.form disabled { (content) } }
        }
    }

    fn session_section(&self, chrome: &PageChrome) -> Markup {
        let id = self.session.id;
        let rename = html! {
            label for="s-name" { "Name" }
            input #s-name name="name" value=[self.session.name.as_ref().map(ToString::to_string)]
                autocomplete="off" maxlength="64";
        };
        let (words, action) = match self.session.archived {
            None => ("Archive this session", "archive"),
            Some(_) => ("Take out of the archive", "unarchive"),
        };
        let archive = html! { button.btn { (words) } };
        html! {
            div.row { h2 { "This session" } }
            @if self.may(Right::ChangeSettings) {
                (chrome.post_form(&format!("/sessions/{id}/rename"), "form", &rename))
            }
            div.acts.below {
                @if self.may(Right::BeginSession) {
                    (chrome.post_form(&format!("/sessions/{id}/{action}"), "", &archive))
                }
                @if self.may(Right::Inspect) {
                    a.btn href={ "/sessions/" (id) "/chart" } { "Context over time" }
                }
            }
        }
    }
}

fn elsewhere_words() -> Markup {
    html! {
        div.row { h2.grow { "In this session" } (close_drawer("in-session")) }
        p.q {
            "Its items are those of its own folder. " b { "View context" }
            " of a turn shows which of them it had."
        }
    }
}

/// An include mode as a badge.
pub(crate) fn include_badge(include: IncludeMode) -> Markup {
    let word = match include {
        IncludeMode::Always => "Always",
        IncludeMode::Manual => "Manual",
        IncludeMode::Agent => "Agent",
    };
    html! { span class={ "badge " (include.name()) } { "[" (word) "]" } }
}

/// The mode that holds in a session where a message says none.
pub(crate) fn effective_mode(
    settings: &SessionSettings,
    model: Option<&ModelEntry>,
) -> Option<ContextMode> {
    settings.context_mode.or(match model?.mode {
        ModeSetting::Auto => Some(ContextMode::Auto),
        ModeSetting::Fixed(mode) | ModeSetting::Pair(mode) if mode.is_minimal() => {
            Some(ContextMode::Minimal)
        }
        ModeSetting::Unset | ModeSetting::Fixed(_) | ModeSetting::Pair(_) => {
            Some(ContextMode::Full)
        }
    })
}

/// The fields of the settings, each with the value that holds and where it comes from.
struct SettingFields<'a> {
    /// What the session sets itself.
    own: &'a Value,
    /// What holds, and where it comes from.
    effective: &'a Value,
    agent: &'a Agent,
    /// The setting that whoever looks at it may not change.
    locked: Option<&'static str>,
}

impl SettingFields<'_> {
    /// What the session sets, as it is typed.
    fn set(&self, name: &str) -> Option<String> {
        debug_assert!(session_setting_names().any(|known| known == name), "{name}");
        match &self.own[name] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// What holds where the session sets nothing, and where that comes from.
    fn inherited(&self, name: &str) -> String {
        let holds = &self.effective[name];
        let source = match holds["from"].as_str() {
            Some("session") | None => return "as the agent".to_owned(),
            Some("model") => "the model's entry",
            Some("pair") => "the model's older settings",
            Some(source) => source,
        };
        match &holds["value"] {
            Value::Null => "the model's own".to_owned(),
            Value::String(text) => format!("{} ({source})", text.replace('_', " ")),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => format!("{} ({source})", grouped_digits(whole)),
                None => format!("{number} ({source})"),
            },
            other => format!("{other} ({source})"),
        }
    }

    fn model(&self) -> Markup {
        let set = self.set("model");
        html! {
            label for="s-model" { "Model" }
            select #s-model name="model" data-set=[set.as_ref()] {
                option value="default" selected[set.is_none()] { (self.usual_model()) }
                @for entry in self.agent.models() {
                    option value=(entry.name) selected[set.as_deref() == Some(&*entry.name)] {
                        (entry.name)
                    }
                }
            }
        }
    }

    /// The model that answers where the session names none.
    fn usual_model(&self) -> String {
        let named = &self.effective["model"];
        match (self.agent.models().first(), named["value"].as_str()) {
            (_, Some(_)) if named["from"] != "session" => self.inherited("model"),
            (Some(first), _) => format!("{} (agent)", first.name),
            (None, _) => "none".to_owned(),
        }
    }

    fn choice(&self, name: &str, label: &str, words: &[&str]) -> Markup {
        let set = self.set(name);
        html! {
            label for={ "s-" (name) } { (label) }
            select id={ "s-" (name) } name=(name) disabled[self.locked == Some(name)]
                title=[(self.locked == Some(name)).then_some("only the owner sets it")] {
                option value="default" selected[set.is_none()] { (self.inherited(name)) }
                @for word in words {
                    option value=(word) selected[set.as_deref() == Some(*word)] {
                        (word.replace('_', " "))
                    }
                }
            }
        }
    }

    fn number(&self, name: &str, label: &str, step: &str) -> Markup {
        html! {
            label for={ "s-" (name) } { (label) }
            input id={ "s-" (name) } type="number" min="0" step=(step) name=(name)
                value=[self.set(name)] placeholder=(self.inherited(name));
        }
    }
}
