//! The items of a kind as a table, with a switch for each: when it is included.

use std::collections::HashMap;

use maud::{Markup, html};
use recto_agent::{AgentInventory, ListedItem, list_items};
use recto_context::{ContentHash, ContentSource, IncludeMode, ItemId, ItemKind, Tokens, own_words};
use recto_store::ItemUsage;
use recto_tools::{ServerIncludes, ServerStatus};
use recto_workspace::IncludeSource;

use crate::pages::context::{include_badge, include_word, kind_title};
use crate::pages::files::file_address;
use crate::pages::layout::PageChrome;
use crate::pages::times::short;

/// All modes, in the order of the switch.
const MODES: [IncludeMode; 3] = [IncludeMode::Always, IncludeMode::Manual, IncludeMode::Agent];

/// What the tables of items are made of.
pub(super) struct WorkspaceTable<'a> {
    pub(super) chrome: &'a PageChrome,
    pub(super) agent: &'a str,
    pub(super) inventory: &'a AgentInventory,
    pub(super) usage: &'a HashMap<ItemId, ItemUsage>,
    /// Whether the reader may change include modes.
    pub(super) may_change: bool,
}

/// When an item or the tools of a server are included, to be changed.
struct IncludeSwitch<'a> {
    name: &'a str,
    include: IncludeMode,
    /// Whether the config says so of it by itself.
    is_set: bool,
    /// What says so, in words.
    said_by: &'static str,
}

impl WorkspaceTable<'_> {
    /// The table of a kind.
    pub(super) fn render(&self, kind: ItemKind) -> Markup {
        let mut items = list_items(&self.inventory.catalog, kind);
        items.sort_by(|a, b| {
            let place = |item: &ListedItem<'_>| {
                (item.id.server.clone(), item.priority, item.id.name.clone())
            };
            place(a).cmp(&place(b))
        });
        let always = items.iter().filter(|item| item.include == IncludeMode::Always);
        let always: Tokens = always.map(|item| item.tokens).sum();
        html! {
            table.list.all id={ (kind) "s" } {
                caption {
                    h2 {
                        (kind_title(kind)) " "
                        span.q { (items.len()) " · about " (always) " tokens go into every session" }
                    }
                }
                thead {
                    tr {
                        th.c-what scope="col" { "Item" }
                        th scope="col" { "Description" }
                        th.c-inc scope="col" { "Include" }
                        th.n.c-n scope="col" title="estimated: each model counts in its own way" { "Tokens" }
                        th.c-last scope="col" { "Last used" }
                        th.n.c-bar scope="col" { "In turns" }
                    }
                }
                @if items.is_empty() {
                    tbody { tr { td.q colspan="6" { "There are none." } } }
                } @else if kind == ItemKind::Tool {
                    (self.tool_groups(&items))
                } @else {
                    tbody { @for item in &items { (self.row(item)) } }
                }
            }
        }
    }

    /// The tools by what brings them: Recto, MCP servers and skills.
    fn tool_groups(&self, items: &[ListedItem<'_>]) -> Markup {
        let groups = items.chunk_by(|a, b| a.id.server == b.id.server);
        html! {
            @for group in groups {
                tbody {
                    @if let Some(first) = group.first() { (self.group_row(&first.id)) }
                    @for item in group { (self.row(item)) }
                }
            }
        }
    }

    fn group_row(&self, first: &ItemId) -> Markup {
        let Some(server) = &first.server else {
            return html! {
                tr.server { th scope="rowgroup" { "built in" } td.q colspan="5" { "Recto's own" } }
            };
        };
        let known = self.inventory.servers.iter().find(|(status, _)| status.name == *server);
        html! {
            tr.server id=(server_anchor(server)) {
                th scope="rowgroup" { (server) "." }
                @match known {
                    Some((status, includes)) => {
                        td.q { (server_words(status)) }
                        td.inc { (self.server_switch(server, includes)) }
                        td.q colspan="3" { "for tools without a mode of their own" }
                    },
                    None => td.q colspan="5" { "comes with the skill " (server) },
                }
            }
        }
    }

    fn row(&self, item: &ListedItem<'_>) -> Markup {
        let usage = self.usage.get(&item.id);
        let words = item.description.map(|words| own_words(&item.id, words));
        let turns = usage.map_or(0, |usage| usage.counts.taken + usage.counts.offered);
        let most = self.usage.values().map(|usage| usage.counts.taken + usage.counts.offered);
        let width = turns as f64 * 100.0 / (most.max().unwrap_or(0).max(1)) as f64;
        html! {
            tr id=(item_anchor(&item.id)) {
                td.what { (self.name(item)) }
                td.desc.cut title=[words] { (words.unwrap_or_default()) }
                td.inc { (self.item_switch(item)) }
                td.n.tk { (item.tokens) }
                td.last { (last_use(usage)) }
                td.n.used {
                    svg.tiny aria-hidden="true" {
                        rect width="100%" height="5" {}
                        rect width={ (format!("{width:.1}")) "%" } height="5" {}
                    }
                    span.w { (turns) }
                    // In a narrow window the heading of the column is gone.
                    span.in-turns { @if turns == 1 { " turn" } @else { " turns" } }
                }
            }
        }
    }

    fn name(&self, item: &ListedItem<'_>) -> Markup {
        let name = html! {
            @if item.id.kind == ItemKind::Tool { code { (item.id.name) } }
            @else { (item.id.name) }
        };
        html! {
            @if let Some(priority) = item.priority { span.id { (priority) } " • " }
            @match item.source {
                ContentSource::File(path) => {
                    a.name href=(file_address(self.agent, path)) { (name) }
                },
                _ => span.name { (name) },
            }
        }
    }

    fn item_switch(&self, item: &ListedItem<'_>) -> Markup {
        let fields = html! {
            input type="hidden" name="agent" value=(self.agent);
            input type="hidden" name="kind" value=(item.id.kind);
            input type="hidden" name="name" value=(item.id.name);
            @if let Some(server) = &item.id.server {
                input type="hidden" name="server" value=(server);
            }
        };
        let name = item.id.key();
        let (include, is_set) = (item.include, self.inventory.is_set(&item.id));
        let said_by = self.said_by(item);
        self.switch(&IncludeSwitch { name: &name, include, is_set, said_by }, &fields)
    }

    fn server_switch(&self, server: &str, includes: &ServerIncludes) -> Markup {
        let fields = html! {
            input type="hidden" name="agent" value=(self.agent);
            input type="hidden" name="kind" value="server";
            input type="hidden" name="name" value=(server);
        };
        let ServerIncludes { include, is_set, .. } = *includes;
        let said_by = "for all tools of the server";
        self.switch(&IncludeSwitch { name: server, include, is_set, said_by }, &fields)
    }

    /// A button for each mode; the one that holds is pressed. Each sends the form by itself, and so
    /// does the way back from what was set.
    fn switch(&self, switch: &IncludeSwitch<'_>, fields: &Markup) -> Markup {
        let IncludeSwitch { name, include, is_set, said_by } = switch;
        if !self.may_change {
            return html! { span class={ "badge " (include) } { (include_badge(*include)) } };
        }
        let content = html! {
            (fields)
            span.pick role="group" aria-label={ (name) ": include" } title=(said_by) {
                @for mode in MODES {
                    button class=(mode) type="submit" name="include" value=(mode)
                        aria-pressed=(mode == *include) { (include_word(mode)) }
                }
            }
            @if *is_set {
                span.set {
                    "set in the config · "
                    button.link type="submit" name="include" value="unset"
                        aria-label={ (name) ": back to default" } { "back to default" }
                }
            }
        };
        self.chrome.post_form("/workspace/include", "", &content)
    }

    /// What says when an item is included.
    fn said_by(&self, item: &ListedItem<'_>) -> &'static str {
        match self.inventory.snapshot.include_sources.get(&item.id) {
            Some(IncludeSource::Config { .. }) => "set in the config",
            Some(IncludeSource::OwnFile) => "as its own file has it",
            Some(IncludeSource::Kind) => "as the config has it for all of its kind",
            Some(IncludeSource::Usual) => "as is usual for its kind",
            Some(IncludeSource::TooLong) => {
                "as skills are of which nothing is said, together too long for every page"
            }
            None if self.inventory.is_set(&item.id) => "set in the config",
            // Of tools nothing else is known.
            None => "when it is included",
        }
    }
}

/// What is known of a server without asking it.
fn server_words(status: &ServerStatus) -> Markup {
    html! {
        code { (status.place) }
        @if status.is_running { " · connected" }
        @if let Some(tools) = status.tools { " · " (tools) " tools" }
        @if let Some(trouble) = &status.trouble { " · " span.no-ok { (trouble) } }
    }
}

fn last_use(usage: Option<&ItemUsage>) -> Markup {
    let last = usage.and_then(|usage| usage.last_used);
    html! {
        @match last {
            Some(last) => {
                a href={ "/turns/" (last.turn) } title={ "turn " (last.turn) } {
                    (short(last.at))
                }
            },
            None => span.q { "never" },
        }
    }
}

/// The id of an item's row. Names may hold anything, so they are hashed.
pub(super) fn item_anchor(item: &ItemId) -> String {
    format!("i-{}", ContentHash::of_bytes(item.to_string().as_bytes()).short())
}

/// The id of a server's row.
pub(super) fn server_anchor(server: &str) -> String {
    format!("s-{}", ContentHash::of_bytes(server.as_bytes()).short())
}
