//! Discord's gateway and REST API, with people who write to a bot: from what Discord publishes,
//! and stricter where it would let something pass that no client can mean.
//!
//! What stands in a channel is what the bot has brought about there; what it was refused is kept,
//! too. Faults are up to the test: limits, servers that fail, tokens that are revoked, connections
//! that are cut, sessions that are forgotten, heartbeats that nobody answers.

mod check;
mod gateway;
mod limits;
mod rest;
mod world;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::gate::PATIENCE;
use crate::server::ServerThread;
use rest::{RestAnswer, RestCall, RestError, find_route};
use world::{DiscordWorld, GatewayOrder, PUBLIC_THREAD, TEXT_CHANNEL};

pub use world::{DiscordChatMessage, DiscordInteractionAnswer, DiscordPerson};

/// Discord on loopback, in the test's own process. It goes away when it is dropped.
#[derive(Debug)]
pub struct FakeDiscord {
    shared: Arc<DiscordShared>,
    running: ServerThread,
}

/// What the test and the server's thread both see.
#[derive(Debug)]
struct DiscordShared {
    world: Mutex<DiscordWorld>,
    changed: Condvar,
    /// Rings when connections may have something to send.
    arrived: Notify,
}

impl FakeDiscord {
    /// The token that the bot is known by.
    pub const TOKEN: &'static str = "MTIz.FAKE.token_for-tests";

    /// The bot's name.
    pub const USERNAME: &'static str = "recto-test";

    /// The bot's id.
    pub const BOT: u64 = 4242;

    /// The id of the bot's application.
    pub const APPLICATION: u64 = 4343;

    /// The id of the server that all channels are in.
    pub const GUILD: u64 = 77;

    /// The id of the role that the server has made for the bot.
    pub const ROLE: u64 = 4_444;

    /// Starts it on a free port.
    pub fn start() -> Self {
        let shared = Arc::new(DiscordShared {
            world: Mutex::new(DiscordWorld::default()),
            changed: Condvar::new(),
            arrived: Notify::new(),
        });
        let router = Router::new().fallback(handle).with_state(shared.clone());
        FakeDiscord { shared, running: ServerThread::serve(router) }
    }

    /// Where its REST API is.
    pub fn url(&self) -> String {
        format!("http://{}/api/v10", self.running.address())
    }

    /// A text in which the bot is named.
    pub fn naming(text: &str) -> String {
        format!("<@{}> {text}", FakeDiscord::BOT)
    }

    /// A text in which a role is named.
    pub fn naming_role(role: u64, text: &str) -> String {
        format!("<@&{role}> {text}")
    }

    /// Somebody writes to the bot in private. Gives the id of the message.
    pub fn say(&self, person: &DiscordPerson, text: &str) -> u64 {
        self.change(|world| world.say(person, person.direct(), text, &json!({})))
    }

    /// Somebody writes in a channel, which is there from then on.
    pub fn say_in(&self, channel: u64, person: &DiscordPerson, text: &str) -> u64 {
        self.change(|world| world.say(person, channel, text, &json!({})))
    }

    /// Somebody answers a message.
    pub fn answer_in(&self, channel: u64, person: &DiscordPerson, to: u64, text: &str) -> u64 {
        self.change(|world| world.say(person, channel, text, &json!({"answers": to})))
    }

    /// Somebody sends a file, which can be fetched, with a text.
    pub fn send_file(&self, person: &DiscordPerson, text: &str, file: (&str, &str, &[u8])) -> u64 {
        let (name, media_type, bytes) = file;
        let url = format!("http://{}/files/{name}", self.running.address());
        self.change(|world| {
            world.files.insert(name.to_owned(), bytes.to_vec());
            let attachment = json!({"id": "1", "filename": name, "content_type": media_type,
                "size": bytes.len(), "url": url, "proxy_url": url});
            world.say(person, person.direct(), text, &json!({"attachments": [attachment]}))
        })
    }

    /// Adds a thread below a channel.
    pub fn add_thread(&self, thread: u64, parent: u64) {
        self.change(|world| {
            world.add_channel(parent, TEXT_CHANNEL, "general", None);
            world.add_channel(thread, PUBLIC_THREAD, "a thread", Some(parent));
            let channel = world.channel_json(thread).unwrap_or_default();
            world.dispatch("THREAD_CREATE", channel);
        });
    }

    /// Somebody presses a button below a message, by what is written on it.
    ///
    /// # Panics
    ///
    /// When there is no such button.
    pub fn press(&self, person: &DiscordPerson, channel: u64, message: u64, label: &str) {
        self.change(|world| world.press(person, channel, message, label));
    }

    /// Somebody uses a command that the bot has registered.
    ///
    /// # Panics
    ///
    /// When there is no such command.
    pub fn command(&self, person: &DiscordPerson, channel: u64, name: &str, text: &str) {
        self.change(|world| world.command(person, channel, name, text));
    }

    /// Somebody uses a command in a private conversation of others, which the bot is not in.
    pub fn command_among_others(&self, person: &DiscordPerson, name: &str) {
        self.change(|world| world.command_among_others(person, name));
    }

    /// What was told to those who pressed buttons and used commands, in order.
    pub fn interaction_answers(&self) -> Vec<DiscordInteractionAnswer> {
        self.shared.lock().answers.clone()
    }

    /// Tells of every message again.
    pub fn deliver_again(&self) {
        self.change(DiscordWorld::deliver_again);
    }

    /// Holds back events from now on.
    pub fn hold_events(&self) {
        self.change(|world| world.held = Some(Vec::new()));
    }

    /// Sends the events that were held back, the last first.
    pub fn release_reversed(&self) {
        self.change(DiscordWorld::release_reversed);
    }

    /// The messages of a channel, in order.
    pub fn chat(&self, channel: u64) -> Vec<DiscordChatMessage> {
        self.shared.lock().messages(channel)
    }

    /// The messages of the bot in a channel, in order.
    pub fn replies(&self, channel: u64) -> Vec<DiscordChatMessage> {
        let mut messages = self.chat(channel);
        messages.retain(|message| message.is_from_bot && !message.is_echo);
        messages
    }

    /// Somebody deletes a message.
    pub fn delete(&self, channel: u64, message: u64) {
        self.change(|world| {
            let channel = world.channels.get_mut(&channel);
            channel.and_then(|channel| channel.messages.remove(&message));
        });
    }

    /// Why calls were refused that no bot should make; empty when it did nothing wrong.
    pub fn rejections(&self) -> Vec<String> {
        self.shared.lock().rejections.clone()
    }

    /// How often a route was called, such as `createMessage`.
    pub fn calls(&self, route: &str) -> usize {
        self.shared.lock().calls.iter().filter(|call| *call == route).count()
    }

    /// The names of the commands that the bot has registered.
    pub fn commands(&self) -> Vec<String> {
        let world = self.shared.lock();
        let names = world.commands.iter().filter_map(|command| command["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// How often the bot has begun a session.
    pub fn identifies(&self) -> usize {
        self.shared.lock().identifies.len()
    }

    /// How often the bot has asked to go on with one.
    pub fn resumes(&self) -> usize {
        self.shared.lock().resumes
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// How many heartbeats have come.
    pub fn heartbeats(&self) -> usize {
        self.shared.lock().heartbeats
    }

    /// The time between two heartbeats that connections are told from now on.
    pub fn set_heartbeat(&self, interval: Duration) {
        self.change(|world| world.heartbeat = interval);
    }

    /// Whether heartbeats are answered.
    pub fn set_acknowledging(&self, acknowledges: bool) {
        self.change(|world| world.acknowledges = acknowledges);
    }

    /// Asks the bot to connect again.
    pub fn ask_to_reconnect(&self) {
        self.change(|world| world.order(GatewayOrder::Reconnect));
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.change(|world| world.order(GatewayOrder::Cut));
    }

    /// Closes all connections with this code.
    pub fn close(&self, code: u16) {
        self.change(|world| world.order(GatewayOrder::Close(code)));
    }

    /// Forgets all sessions, and tells those who are connected.
    pub fn forget_sessions(&self) {
        self.change(|world| {
            world.sessions.values_mut().for_each(|session| session.is_valid = false);
            world.order(GatewayOrder::Invalidate);
        });
    }

    /// Refuses the token from now on, or takes it again.
    pub fn set_token_valid(&self, is_valid: bool) {
        self.change(|world| world.is_token_valid = is_valid);
    }

    /// Allows the intent to read what people write, or not.
    pub fn set_content_allowed(&self, is_allowed: bool) {
        let all = if is_allowed { u64::MAX } else { !(1 << 15) };
        self.change(|world| world.allowed_intents = all);
    }

    /// Refuses everything in a channel with a status and a code, or nothing any more.
    pub fn refuse_in(&self, channel: u64, refusal: Option<(u16, u32, &str)>) {
        self.change(|world| {
            let refusal = refusal.map(|(status, code, words)| (status, code, words.to_owned()));
            world.add_channel(channel, TEXT_CHANNEL, "general", None);
            if let Some(channel) = world.channels.get_mut(&channel) {
                channel.refusal = refusal;
            }
        });
    }

    /// The next calls of a route fail with this status.
    pub fn fail(&self, route: &str, status: u16, times: usize) {
        self.change(|world| world.faults.push((route.to_owned(), status, times)));
    }

    /// Calls about a channel are refused for so many seconds, and say so.
    pub fn limit(&self, channel: u64, seconds: u64) {
        self.change(|world| world.limits.block(Some(channel), Duration::from_secs(seconds)));
    }

    /// All calls about channels are refused for so many seconds, and say so.
    pub fn limit_everything(&self, seconds: u64) {
        self.change(|world| world.limits.block(None, Duration::from_secs(seconds)));
    }

    /// Blocks until a channel is as the test needs it.
    ///
    /// # Panics
    ///
    /// When it takes more than a minute.
    pub fn wait_for(&self, channel: u64, mut reached: impl FnMut(&[DiscordChatMessage]) -> bool) {
        let mut world = self.shared.lock();
        let waited = self.shared.changed.wait_while_for(
            &mut world,
            |world| !reached(&world.messages(channel)),
            PATIENCE,
        );
        assert!(
            !waited.timed_out(),
            "the channel never came to be so: {:#?}\nrejected: {:#?}\ncalls: {:?}",
            world.messages(channel),
            world.rejections,
            world.calls
        );
    }

    fn change<T>(&self, change: impl FnOnce(&mut DiscordWorld) -> T) -> T {
        self.shared.change(change)
    }
}

impl DiscordShared {
    fn change<T>(&self, change: impl FnOnce(&mut DiscordWorld) -> T) -> T {
        let changed = change(&mut self.world.lock());
        self.changed.notify_all();
        self.arrived.notify_waiters();
        changed
    }

    fn lock(&self) -> MutexGuard<'_, DiscordWorld> {
        self.world.lock()
    }
}

/// No call of a bot is larger than this.
const LONGEST_BODY: usize = 1 << 20;

async fn handle(State(shared): State<Arc<DiscordShared>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    if let Some(name) = path.strip_prefix("/files/") {
        let file = shared.lock().files.get(name).cloned();
        return file.map_or(StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response);
    }
    if path.starts_with("/gateway") {
        return upgrade(shared, &mut parts).await;
    }
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let answered = call(&shared, &parts, &path, &body);
    if let Err(error) = &answered
        && error.is_mistake
    {
        let why = format!("{} {path}: {}", parts.method, error.message);
        shared.change(|world| world.rejections.push(why));
    }
    match answered {
        Ok(answer) => respond(&answer),
        Err(error) => respond_error(&error),
    }
}

/// A connection to the gateway.
async fn upgrade(shared: Arc<DiscordShared>, parts: &mut Parts) -> Response {
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let mut wanted: Vec<&str> = query.split('&').collect();
    wanted.sort_unstable();
    if wanted != ["encoding=json", "v=10"] {
        shared.change(|world| world.rejections.push(format!("gateway: asked for {query}")));
        return StatusCode::BAD_REQUEST.into_response();
    }
    if let Some(status) = shared.change(|world| world.take_fault("connect")) {
        return StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY).into_response();
    }
    let url = gateway_url(parts);
    match WebSocketUpgrade::from_request_parts(parts, &()).await {
        Ok(upgrade) => upgrade.on_upgrade(move |socket| gateway::serve(socket, shared, url)),
        Err(rejection) => rejection.into_response(),
    }
}

fn gateway_url(parts: &Parts) -> String {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    format!("ws://{}/gateway", host.unwrap_or_default())
}

/// A call of the REST API.
fn call(
    shared: &DiscordShared,
    parts: &Parts,
    path: &str,
    body: &[u8],
) -> Result<RestAnswer, RestError> {
    let path = path.strip_prefix("/api/v10").unwrap_or_default();
    let Some((route, ids)) = find_route(parts.method.as_str(), path) else {
        return Err(RestError { is_mistake: true, ..RestError::new(404, 0, "404: Not Found") });
    };
    shared.lock().calls.push(route.to_owned());
    check_headers(shared, parts, route, body)?;
    if let Some(status) = shared.change(|world| world.take_fault(route)) {
        return Err(RestError::new(status, 0, "the test wants it to fail"));
    }
    let body = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(body)
            .map_err(|_| RestError::mistake(50_109, "The request body contains invalid JSON."))?,
    };
    let query = parts.uri.query().unwrap_or_default();
    let call = RestCall { route, ids, query, body };
    let url = gateway_url(parts);
    shared.change(|world| world.call(&call, &url))
}

fn check_headers(
    shared: &DiscordShared,
    parts: &Parts,
    route: &str,
    body: &[u8],
) -> Result<(), RestError> {
    let value = |name: header::HeaderName| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let agent = value(header::USER_AGENT);
    if !agent.starts_with("DiscordBot (http") || !agent.contains(", ") {
        return Err(RestError { status: 403, ..RestError::mistake(0, "no valid user agent") });
    }
    // The token of an interaction stands in the path.
    let needs_token = !["callback", "original"].contains(&route);
    let is_token = value(header::AUTHORIZATION) == format!("Bot {}", FakeDiscord::TOKEN);
    if needs_token && !(is_token && shared.lock().is_token_valid) {
        return Err(RestError::new(401, 0, "401: Unauthorized"));
    }
    if !body.is_empty() && value(header::CONTENT_TYPE) != "application/json" {
        return Err(RestError::form("the body has no content type".to_owned()));
    }
    Ok(())
}

fn respond(answer: &RestAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = match &answer.body {
        Value::Null => status.into_response(),
        body => {
            (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
        }
    };
    if let Some((left, reset_after)) = answer.left {
        let headers = [
            ("x-ratelimit-limit", "5".to_owned()),
            ("x-ratelimit-remaining", left.to_string()),
            ("x-ratelimit-reset-after", format!("{:.3}", reset_after.as_secs_f64())),
            ("x-ratelimit-bucket", "abcd1234".to_owned()),
        ];
        for (name, value) in headers {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
    }
    response
}

fn respond_error(error: &RestError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let Some((wait, is_global)) = error.retry_after else {
        let body = json!({"message": error.message, "code": error.code}).to_string();
        return (status, kind, body).into_response();
    };
    let seconds = wait.as_secs_f64();
    let body = json!({"message": error.message, "retry_after": seconds, "global": is_global});
    let scope = if is_global { "global" } else { "user" };
    // Whole seconds, as the header has them.
    let headers =
        [("retry-after", seconds.ceil().to_string()), ("x-ratelimit-scope", scope.into())];
    (status, kind, headers, body.to_string()).into_response()
}
