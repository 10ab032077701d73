//! Telegram's Bot API, with people who write to a bot: from what Telegram publishes, and stricter
//! where it would let something pass that no client can mean.
//!
//! What stands in a chat is what the bot has brought about there; what it was refused is kept, too.
//! Faults are up to the test: limits, servers that fail, tokens that are revoked, people who block.

mod check;
mod methods;
mod world;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::{Condvar, Mutex, MutexGuard};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::gate::PATIENCE;
use crate::server::ServerThread;
use methods::{BotApiError, Polled};
use world::TelegramWorld;

pub use world::{TelegramChatMessage, TelegramPerson};

/// The Bot API on loopback, in the test's own process. It goes away when it is dropped.
#[derive(Debug)]
pub struct FakeTelegram {
    shared: Arc<TelegramShared>,
    running: ServerThread,
}

/// What the test and the server's thread both see.
#[derive(Debug)]
struct TelegramShared {
    world: Mutex<TelegramWorld>,
    changed: Condvar,
    /// Rings when there may be updates.
    arrived: Notify,
}

impl FakeTelegram {
    /// The token that the bot is known by.
    pub const TOKEN: &'static str = "4242:FAKE-token_for_tests";

    /// The bot's name.
    pub const USERNAME: &'static str = "recto_test_bot";

    /// Starts it on a free port.
    pub fn start() -> Self {
        let shared = Arc::new(TelegramShared {
            world: Mutex::new(TelegramWorld::default()),
            changed: Condvar::new(),
            arrived: Notify::new(),
        });
        let router = Router::new().fallback(handle).with_state(shared.clone());
        FakeTelegram { shared, running: ServerThread::serve(router) }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address())
    }

    /// Somebody writes to the bot in private. Gives the id of the message.
    pub fn say(&self, person: &TelegramPerson, text: &str) -> i32 {
        self.change(|world| world.say(person, person.id, text, &json!({})))
    }

    /// Somebody writes in a group, which is there from then on.
    pub fn say_in(&self, group: i64, person: &TelegramPerson, text: &str) -> i32 {
        self.change(|world| world.say(person, group, text, &json!({})))
    }

    /// Somebody sends something with more in it than text: the fields of a message.
    pub fn send(&self, person: &TelegramPerson, fields: &Value) -> i32 {
        self.change(|world| world.say(person, person.id, "", fields))
    }

    /// The same in a group.
    pub fn send_in(&self, group: i64, person: &TelegramPerson, fields: &Value) -> i32 {
        self.change(|world| world.say(person, group, "", fields))
    }

    /// A file that can be fetched by this id.
    pub fn add_file(&self, id: &str, bytes: &[u8]) {
        self.change(|world| world.add_file(id, bytes));
    }

    /// Somebody presses a button below a message, by what is written on it.
    ///
    /// # Panics
    ///
    /// When there is no such button.
    pub fn press(&self, person: &TelegramPerson, chat: i64, message: i32, label: &str) {
        self.change(|world| world.press(person, chat, message, label));
    }

    /// Somebody presses a button that was given this when it was made, which may be long ago.
    pub fn press_data(&self, person: &TelegramPerson, chat: i64, message: i32, data: &str) {
        self.change(|world| world.press_data(person, chat, message, &json!(data)));
    }

    /// What a button below a message was given when it was made.
    pub fn button_data(&self, chat: i64, message: i32) -> Vec<String> {
        let world = self.shared.world.lock();
        let below = world.chats.get(&chat).and_then(|chat| chat.messages.get(&message));
        let rows = below.and_then(|it| it.keyboard["inline_keyboard"].as_array());
        let buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
        buttons.filter_map(|it| Some(it["callback_data"].as_str()?.to_owned())).collect()
    }

    /// An update of any kind and content.
    pub fn send_update(&self, kind: &str, content: &Value) {
        self.change(|world| world.push_update(kind, content));
    }

    /// What was told to those who pressed buttons, in order.
    pub fn press_answers(&self) -> Vec<String> {
        self.shared.world.lock().press_answers.clone()
    }

    /// Delivers every update again that was confirmed, as a server does that lost track.
    pub fn deliver_again(&self) {
        self.change(TelegramWorld::deliver_again);
    }

    /// The messages of a chat, in order.
    pub fn chat(&self, chat: i64) -> Vec<TelegramChatMessage> {
        self.shared.world.lock().messages(chat)
    }

    /// The messages of the bot in a chat, in order.
    pub fn replies(&self, chat: i64) -> Vec<TelegramChatMessage> {
        let mut messages = self.chat(chat);
        messages.retain(|message| message.is_from_bot);
        messages
    }

    /// Why calls were refused that no bot should make; empty when it did nothing wrong.
    pub fn rejections(&self) -> Vec<String> {
        self.shared.world.lock().rejections.clone()
    }

    /// How often a method was called.
    pub fn calls(&self, method: &str) -> usize {
        self.shared.world.lock().calls.iter().filter(|call| *call == method).count()
    }

    /// The commands that the bot has registered.
    pub fn commands(&self) -> Vec<String> {
        self.shared.world.lock().commands.clone()
    }

    /// Refuses the token from now on, or takes it again.
    pub fn set_token_valid(&self, is_valid: bool) {
        self.change(|world| world.is_token_valid = is_valid);
    }

    /// Telegram sends what the bot gets to this address from now on; to none where it is empty.
    pub fn set_webhook(&self, url: &str) {
        self.change(|world| world.webhook = url.to_owned());
    }

    /// Somebody blocks the bot, or lets it in again.
    pub fn set_blocked(&self, chat: i64, is_blocked: bool) {
        self.change(|world| world.chat(chat).is_blocked = is_blocked);
    }

    /// No message that stands in a chat can be changed any more.
    pub fn freeze(&self, chat: i64) {
        self.change(|world| world.freeze(chat));
    }

    /// No message of a chat can be taken back any more, as those of more than two days.
    pub fn forbid_deletion(&self, chat: i64) {
        self.change(|world| world.chat(chat).is_undeletable = true);
    }

    /// A group becomes a supergroup: it has another id, and both ids tell so.
    pub fn migrate(&self, group: i64, to: i64) {
        self.change(|world| world.migrate(group, to));
    }

    /// The next calls of a method fail with this status.
    pub fn fail(&self, method: &str, status: u16, times: usize) {
        self.change(|world| world.faults.push((method.to_owned(), status, times)));
    }

    /// Calls of a method fail no more.
    pub fn heal(&self, method: &str) {
        self.change(|world| world.faults.retain(|(of, _, _)| of != method));
    }

    /// Calls about a chat are refused for so many seconds, and say so.
    pub fn limit(&self, chat: i64, seconds: u64) {
        let until = std::time::Instant::now() + Duration::from_secs(seconds);
        self.change(|world| world.chat(chat).limited_until = Some(until));
    }

    /// Blocks until the chats are as the test needs them.
    ///
    /// # Panics
    ///
    /// When it takes more than a minute.
    pub fn wait_for(&self, chat: i64, mut reached: impl FnMut(&[TelegramChatMessage]) -> bool) {
        let mut world = self.shared.world.lock();
        let waited = self.shared.changed.wait_while_for(
            &mut world,
            |world| !reached(&world.messages(chat)),
            PATIENCE,
        );
        assert!(
            !waited.timed_out(),
            "the chat never came to be so: {:#?}\nrejected: {:#?}",
            world.messages(chat),
            world.rejections
        );
    }

    fn change<T>(&self, change: impl FnOnce(&mut TelegramWorld) -> T) -> T {
        self.shared.change(change)
    }
}

impl TelegramShared {
    fn change<T>(&self, change: impl FnOnce(&mut TelegramWorld) -> T) -> T {
        let changed = change(&mut self.world.lock());
        self.changed.notify_all();
        self.arrived.notify_waiters();
        changed
    }

    fn lock(&self) -> MutexGuard<'_, TelegramWorld> {
        self.world.lock()
    }
}

/// No call of a bot is larger than this.
const LONGEST_BODY: usize = 1 << 20;

async fn handle(State(shared): State<Arc<TelegramShared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let path = percent_decode_str(parts.uri.path()).decode_utf8_lossy().into_owned();
    if let Some(path) = path.strip_prefix("/file/") {
        return serve_file(&shared, path);
    }
    match call(&shared, &path, &body).await {
        Ok(result) => respond(200, &json!({"ok": true, "result": result})),
        Err(BotApiError { status, description, parameters, .. }) => {
            let mut body = json!({"ok": false, "error_code": status, "description": description});
            if let Some(parameters) = parameters {
                body["parameters"] = parameters;
            }
            respond(status, &body)
        }
    }
}

fn respond(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn serve_file(shared: &TelegramShared, path: &str) -> Response {
    let token = format!("bot{}/", FakeTelegram::TOKEN);
    let file = path.strip_prefix(&token).and_then(|path| shared.lock().file(path));
    match file {
        Some(bytes) => bytes.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A call of a method, `/bot<token>/<method>`.
async fn call(shared: &TelegramShared, path: &str, body: &Bytes) -> Result<Value, BotApiError> {
    let called = path.strip_prefix("/bot").and_then(|rest| rest.rsplit_once('/'));
    let Some((token, method)) = called else { return Err(BotApiError::new(404, "Not Found")) };
    let method = canonical_name(method);
    let method = method.as_str();
    shared.lock().calls.push(method.to_owned());
    if token != FakeTelegram::TOKEN || !shared.lock().is_token_valid {
        return Err(BotApiError::new(401, "Unauthorized"));
    }
    if let Some(status) = shared.change(|world| world.take_fault(method)) {
        return Err(BotApiError::new(status, "Bad Gateway"));
    }
    let fields: Value = match body.is_empty() {
        true => json!({}),
        false => serde_json::from_slice(body)
            .map_err(|_| BotApiError::new(400, "Bad Request: can't parse JSON object"))?,
    };
    let answered = match method {
        "getUpdates" => poll(shared, &fields).await,
        _ => shared.change(|world| world.call(method, &fields)),
    };
    if let Err(error) = &answered
        && error.is_mistake
    {
        let why = format!("{method}: {} in {fields}", error.description);
        shared.change(|world| world.rejections.push(why));
    }
    answered
}

/// The name of a method as it is documented: Telegram takes it in capitals as well.
fn canonical_name(method: &str) -> String {
    const METHODS: [&str; 10] = [
        "getMe",
        "getWebhookInfo",
        "getUpdates",
        "sendMessage",
        "editMessageText",
        "deleteMessage",
        "sendChatAction",
        "answerCallbackQuery",
        "setMyCommands",
        "getFile",
    ];
    let known = METHODS.iter().find(|known| known.eq_ignore_ascii_case(method));
    known.map_or(method, |known| known).to_owned()
}

/// Waits until there are updates, somebody else asks for them, or the time is over.
async fn poll(shared: &TelegramShared, fields: &Value) -> Result<Value, BotApiError> {
    let request = methods::read_poll(fields)?;
    let generation = shared.lock().begin_poll(&request);
    let deadline = tokio::time::Instant::now() + request.timeout;
    loop {
        let arrived = shared.arrived.notified();
        if !shared.lock().webhook.is_empty() {
            return Err(BotApiError::new(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook \
                 to delete the webhook first",
            ));
        }
        match shared.lock().look_for_updates(generation, &request) {
            Polled::Updates(updates) => return Ok(json!(updates)),
            Polled::Terminated => {
                return Err(BotApiError::new(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one \
                     bot instance is running",
                ));
            }
            Polled::Nothing => {}
        }
        tokio::select! {
            () = arrived => {}
            () = tokio::time::sleep_until(deadline) => return Ok(json!([])),
        }
    }
}
