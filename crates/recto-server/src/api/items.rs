//! What an agent has: rules, references, skills and tools, when they are included, and which of
//! them fit a message.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recto_agent::{
    Agent, AgentInventory, ItemSearch, ListedItem, MemoryShelf, SearchPatience, list_items,
    search_items_with, usage_json,
};
use recto_context::{IncludeMode, ItemId, ItemKind};
use recto_search::{ChoiceOptions, SearchOptions};
use recto_store::{ItemCounts, ItemUsage};
use recto_workspace::IncludeSource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::overview::AgentQuery;
use super::shapes::{ItemKindShape, ItemListShape, ItemShape, SearchShape};
use crate::access::Caller;
use crate::extract::{ApiJson, ApiQuery, PathId, PathName};
use crate::gateway::Gateway;
use crate::host::{IncludeChange, IncludeTarget};
use crate::includes::set_include;
use crate::problem::{ApiProblem, ApiResult};

/// The kinds that are listed, in their order.
const KINDS: [ItemKind; 4] = [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool];

/// The word for all tools of an MCP server, where an item's kind stands.
const SERVER: &str = "server";

/// Which items are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ItemListQuery {
    /// The agent; the default where none is named.
    agent: Option<String>,
    /// Those of this kind alone.
    #[param(value_type = Option<ItemKindShape>, inline)]
    kind: Option<ItemKind>,
}

/// Lists the items of an agent, with when each is included and why, its tokens and its use.
#[utoipa::path(
    get, path = "/api/items", tag = "workspace", params(ItemListQuery),
    responses((status = 200, description = "The items", body = ItemListShape))
)]
pub(crate) async fn list_all(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<ItemListQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent.as_deref())?;
    let inventory = agent.inventory(&actor).await?;
    let usage = ItemUses::read(&gateway, agent).await?;
    let kinds = KINDS.into_iter().filter(|kind| query.kind.is_none_or(|asked| asked == *kind));
    let items = kinds.flat_map(|kind| list_items(&inventory.catalog, kind));
    let items: Vec<Value> = items.map(|item| usage.describe(&item, &inventory)).collect();
    let servers = inventory
        .servers
        .iter()
        .map(|(status, includes)| json!({"name": status.name, "include": includes.include}));
    Ok(Json(json!({
        "agent": agent.name(),
        "items": items,
        "servers": servers.collect::<Vec<_>>(),
    })))
}

/// Shows an item, with its text as a model would read it.
#[utoipa::path(
    get, path = "/api/items/{kind}/{name}", tag = "workspace",
    params(
        ("kind" = ItemKindShape, Path, description = "The kind of the item"),
        ("name" = String, Path, description = "Its name; of a tool with its server in front"),
        AgentQuery
    ),
    responses((status = 200, description = "The item", body = ItemShape))
)]
pub(crate) async fn show_item(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(kind): PathId<String>,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    let inventory = agent.inventory(&actor).await?;
    let items = list_items(&inventory.catalog, read_kind(&kind)?);
    let item = find_item(&items, &kind, &name)?;
    let mut described = ItemUses::read(&gateway, agent).await?.describe(item, &inventory);
    described["text"] = Value::from(&*item.text);
    Ok(Json(described))
}

/// When an item is included.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IncludeBody {
    /// The mode; null where the config is to say nothing of it any more.
    #[schema(value_type = Option<IncludeShape>)]
    include: Option<IncludeMode>,
}

/// When an item joins a session.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IncludeShape {
    /// By itself.
    Always,
    /// When a person adds it.
    Manual,
    /// For a turn, when search finds that it fits.
    Agent,
}

/// Sets when an item is included, in the config and from the next turn on. The kind `server` means
/// all tools of an MCP server that have no mode of their own.
#[utoipa::path(
    put, path = "/api/items/{kind}/{name}", tag = "workspace", request_body = IncludeBody,
    params(
        ("kind" = String, Path, description = "The kind of the item, or `server`"),
        ("name" = String, Path, description = "Its name; of a tool with its server in front"),
        AgentQuery
    ),
    responses((
        status = 200, body = Object,
        description = "What holds now: `kind`, `name`, `include`"
    ))
)]
pub(crate) async fn change_include(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(kind): PathId<String>,
    PathName(name): PathName,
    ApiQuery(query): ApiQuery<AgentQuery>,
    ApiJson(body): ApiJson<IncludeBody>,
) -> ApiResult<Json<Value>> {
    let agent = gateway.agent_or_default(query.agent())?;
    let inventory = agent.inventory(&actor).await?;
    let target = match kind == SERVER {
        true if inventory.servers.iter().any(|(status, _)| *status.name == *name) => {
            IncludeTarget::Server(name.clone())
        }
        true => return Err(not_there(SERVER, &name)),
        false => {
            let items = list_items(&inventory.catalog, read_kind(&kind)?);
            IncludeTarget::Item(find_item(&items, &kind, &name)?.id.clone())
        }
    };
    let include = body.include;
    let change = IncludeChange { agent: agent.name().to_owned(), target, include };
    set_include(&gateway, &actor, change).await?;
    Ok(Json(json!({"kind": kind, "name": name, "include": include})))
}

/// What is counted of items.
struct ItemUses(HashMap<ItemId, ItemUsage>);

impl ItemUses {
    async fn read(gateway: &Gateway, agent: &Agent) -> ApiResult<Self> {
        // From the first day on.
        let since = None;
        let counted = gateway.store().usage(agent.name(), since).await?.items;
        Ok(ItemUses(counted.into_iter().map(|usage| (usage.item.clone(), usage)).collect()))
    }

    /// An item with its use, and with what says when it is included.
    fn describe(&self, item: &ListedItem<'_>, inventory: &AgentInventory) -> Value {
        let unused =
            || ItemUsage { item: item.id.clone(), counts: ItemCounts::default(), last_used: None };
        let usage = self.0.get(&item.id).cloned().unwrap_or_else(unused);
        let mut json = item.json();
        json["kind"] = json!(item.id.kind);
        json["key"] = item.key().into();
        json["include_from"] = json!(include_source(item, inventory));
        if let (Value::Object(fields), Value::Object(counted)) = (&mut json, usage_json(&usage)) {
            fields.extend(counted);
        }
        json
    }
}

/// What says when an item is included. Of tools it is known only where that is the config.
fn include_source(item: &ListedItem<'_>, inventory: &AgentInventory) -> Option<&'static str> {
    match inventory.snapshot.include_sources.get(&item.id) {
        Some(IncludeSource::Config { .. }) => Some("config"),
        Some(IncludeSource::OwnFile) => Some("file"),
        Some(IncludeSource::Kind) => Some("kind"),
        Some(IncludeSource::Usual) => Some("usual"),
        Some(IncludeSource::TooLong) => Some("too_long"),
        None => inventory.is_set(&item.id).then_some("config"),
    }
}

fn read_kind(kind: &str) -> ApiResult<ItemKind> {
    KINDS.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
        let names = KINDS.map(ItemKind::name).join(", ");
        let title = format!("there is no kind of item `{kind}`");
        ApiProblem::new(StatusCode::NOT_FOUND, "no_such_kind", title)
            .hint(format!("the kinds are: {names}"))
    })
}

/// The item that is named by its key, or by its own name where only one has it.
fn find_item<'e, 'a>(
    items: &'e [ListedItem<'a>],
    kind: &str,
    name: &str,
) -> ApiResult<&'e ListedItem<'a>> {
    if let Some(item) = items.iter().find(|item| item.key() == name) {
        return Ok(item);
    }
    let mut of_name = items.iter().filter(|item| *item.id.name == *name);
    match (of_name.next(), of_name.next()) {
        (Some(item), None) => Ok(item),
        _ => Err(not_there(kind, name)),
    }
}

fn not_there(kind: &str, name: &str) -> ApiProblem {
    let title = format!("there is no {kind} `{name}`, or more than one");
    ApiProblem::new(StatusCode::NOT_FOUND, "no_such_item", title)
        .hint("`/api/items` lists all by their `key`")
}

/// A message, and how much search may bring for it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ItemSearchQuery {
    /// The message.
    query: String,
    /// The agent; the default where none is named.
    agent: Option<String>,
    /// Items of this kind alone.
    #[param(value_type = Option<ItemKindShape>, inline)]
    kind: Option<ItemKind>,
    /// How many candidates of each group are looked at.
    #[param(minimum = 1, maximum = 1000)]
    top_k: Option<usize>,
    /// How many of each group a turn takes.
    #[param(maximum = 1000)]
    top_n: Option<usize>,
    /// The cosine from which on a turn takes an item whatever else holds.
    #[param(minimum = 0, maximum = 1)]
    include_score: Option<f32>,
    /// The least probability of what a turn takes.
    #[param(minimum = 0, maximum = 1)]
    floor: Option<f32>,
}

/// Ranks all items and memories for a message, and says which of them a turn would take.
#[utoipa::path(
    get, path = "/api/search", tag = "workspace", params(ItemSearchQuery),
    responses((
        status = 200, body = SearchShape,
        description = "How well each item fits the message, and what a turn makes of it"
    ))
)]
pub(crate) async fn search_all(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiQuery(query): ApiQuery<ItemSearchQuery>,
) -> ApiResult<Json<Value>> {
    query.check_bounds()?;
    let agent = gateway.agent_or_default(query.agent.as_deref())?;
    let inventory = agent.inventory(&actor).await?;
    let memories = agent.memories();
    let remembered = memories.read_for_page(&memories.owner()).await;
    let options = query.options(agent.searcher().options());
    let uses = &agent.earlier_uses(&actor, &query.query).await;
    let asked = ItemSearch {
        query: &query.query,
        kind: query.kind,
        limit: query.top_k,
        uses,
        remembered: MemoryShelf { memories, view: &remembered },
        page: &agent.page_form(),
    };
    // Nobody waits here until everything has its vector.
    let patience = SearchPatience::OneSecond;
    let found =
        search_items_with(agent.searcher(), &inventory.catalog, &asked, options, patience).await;
    Ok(Json(found.json(&query.query)))
}

/// The most items of a group that search looks at.
const MOST_CANDIDATES: usize = 1_000;

impl ItemSearchQuery {
    /// Refuses numbers that say nothing.
    fn check_bounds(&self) -> ApiResult<()> {
        let counts = [("top_k", self.top_k, 1), ("top_n", self.top_n, 0)];
        for (name, count, least) in counts {
            if count.is_some_and(|count| !(least..=MOST_CANDIDATES).contains(&count)) {
                return Err(out_of_bounds(name, &format!("{least} to {MOST_CANDIDATES}")));
            }
        }
        let shares = [("include_score", self.include_score), ("floor", self.floor)];
        match shares.into_iter().find(|(_, it)| it.is_some_and(|it| !(0.0..=1.0).contains(&it))) {
            Some((name, _)) => Err(out_of_bounds(name, "0 to 1")),
            None => Ok(()),
        }
    }

    /// How much is taken: as the agent has it, but for what is asked.
    fn options(&self, usual: &SearchOptions) -> SearchOptions {
        let change = |group: ChoiceOptions| ChoiceOptions {
            top_k: self.top_k.unwrap_or(group.top_k),
            top_n: self.top_n.unwrap_or(group.top_n),
            include_score: self.include_score.unwrap_or(group.include_score),
            floor: self.floor.unwrap_or(group.floor),
        };
        SearchOptions {
            documents: change(usual.documents),
            skills: change(usual.skills),
            tools: change(usual.tools),
            memories: change(usual.memories),
            ..*usual
        }
    }
}

fn out_of_bounds(name: &str, range: &str) -> ApiProblem {
    let title = "the query is not what is expected here";
    ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title)
        .detail(format!("{name}: it takes {range}"))
}
