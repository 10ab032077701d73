//! The gateway: hello, identify, heartbeats, events in their order, resumes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::{Value, json};
use tokio::time::sleep_until;

use super::world::{DiscordWorld, FakeSession, GatewayOrder, bot_json};
use super::{DiscordShared, FakeDiscord};

/// Between two identifications.
const IDENTIFY_PAUSE: Duration = Duration::from_secs(5);

/// The most payloads of a client within a minute.
const MOST_PAYLOADS: usize = 120;

/// All intents that there are.
const KNOWN_INTENTS: u64 = 0b11_0011_0001_1111_1111_1111_1111;

/// One connection of a bot.
struct GatewayConnection {
    shared: Arc<DiscordShared>,
    number: u64,
    url: String,
    /// The session, and how many of its events were sent.
    session: Option<(String, usize)>,
    heartbeat: Duration,
    deadline: Instant,
    payloads: Vec<Instant>,
}

/// What is sent, or how it ends.
enum Outgoing {
    Payload(Value),
    Close(u16),
    Cut,
}

/// Talks with a bot until one of both goes.
pub(super) async fn serve(mut socket: WebSocket, shared: Arc<DiscordShared>, url: String) {
    let (number, heartbeat) = shared.change(|world| {
        let number = world.number();
        world.connections.insert(number, Default::default());
        (number, world.heartbeat)
    });
    let mut connection = GatewayConnection {
        shared: shared.clone(),
        number,
        url,
        session: None,
        heartbeat,
        deadline: Instant::now() + heartbeat * 2,
        payloads: Vec::new(),
    };
    connection.talk(&mut socket).await;
    shared.change(|world| world.connections.remove(&number));
}

impl GatewayConnection {
    async fn talk(&mut self, socket: &mut WebSocket) {
        let interval = u64::try_from(self.heartbeat.as_millis()).unwrap_or(u64::MAX);
        let hello = json!({"op": 10, "d": {"heartbeat_interval": interval}, "s": null, "t": null});
        let mut outgoing = vec![Outgoing::Payload(hello)];
        loop {
            let shared = self.shared.clone();
            let arrived = shared.arrived.notified();
            outgoing.extend(self.due());
            for out in outgoing.drain(..) {
                if !send(socket, out).await {
                    return;
                }
            }
            tokio::select! {
                received = socket.recv() => match received {
                    Some(Ok(Message::Text(text))) => outgoing.extend(self.take(&text)),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {}
                },
                () = arrived => {}
                () = sleep_until(self.deadline.into()) => {
                    self.reject("no heartbeat came in time");
                    outgoing.push(Outgoing::Close(4009));
                }
            }
        }
    }

    /// What is to be sent now: orders of the test, and events.
    fn due(&mut self) -> Vec<Outgoing> {
        let mut world = self.shared.lock();
        let orders = world.connections.get_mut(&self.number).map(std::mem::take);
        let mut outgoing: Vec<Outgoing> = Vec::new();
        for order in orders.into_iter().flatten() {
            outgoing.push(match order {
                GatewayOrder::Reconnect => {
                    Outgoing::Payload(json!({"op": 7, "d": null, "s": null, "t": null}))
                }
                GatewayOrder::Invalidate => {
                    Outgoing::Payload(json!({"op": 9, "d": false, "s": null, "t": null}))
                }
                GatewayOrder::Close(code) => Outgoing::Close(code),
                GatewayOrder::Cut => Outgoing::Cut,
            });
        }
        if let Some((id, sent)) = &mut self.session
            && let Some(session) = world.sessions.get(id)
        {
            let new = session.events.get(*sent..).unwrap_or_default();
            outgoing.extend(new.iter().cloned().map(Outgoing::Payload));
            *sent = session.events.len();
        }
        outgoing
    }

    /// What a payload of the bot leads to.
    fn take(&mut self, text: &str) -> Vec<Outgoing> {
        let now = Instant::now();
        self.payloads.retain(|at| now - *at < Duration::from_secs(60));
        self.payloads.push(now);
        if self.payloads.len() > MOST_PAYLOADS {
            return self.refuse(4008, "more than 120 payloads in a minute");
        }
        let Ok(payload) = serde_json::from_str::<Value>(text) else {
            return self.refuse(4002, "a payload is no JSON");
        };
        match payload["op"].as_u64() {
            Some(1) => self.take_heartbeat(&payload["d"]),
            Some(2) => self.identify(&payload["d"]),
            Some(6) => self.resume(&payload["d"]),
            Some(3 | 4 | 8) if self.session.is_none() => self.refuse(4003, "not identified"),
            Some(3 | 4 | 8) => Vec::new(),
            _ => self.refuse(4001, "an unknown opcode"),
        }
    }

    fn take_heartbeat(&mut self, sequence: &Value) -> Vec<Outgoing> {
        self.deadline = Instant::now() + self.heartbeat * 2;
        let sent = self.session.as_ref().map_or(0, |(_, sent)| *sent as u64);
        let is_fine = sequence.is_null() || sequence.as_u64().is_some_and(|it| it <= sent);
        if !is_fine {
            self.reject(&format!("a heartbeat has the sequence {sequence}, and {sent} were sent"));
        }
        let acknowledges = self.shared.change(|world| {
            world.heartbeats += 1;
            world.acknowledges
        });
        let ack = json!({"op": 11, "d": null, "s": null, "t": null});
        if acknowledges { vec![Outgoing::Payload(ack)] } else { Vec::new() }
    }

    fn identify(&mut self, data: &Value) -> Vec<Outgoing> {
        if self.session.is_some() {
            return self.refuse(4005, "identified twice");
        }
        if let Some(code) = self.check_identity(data) {
            return vec![Outgoing::Close(code)];
        }
        let now = Instant::now();
        let url = self.url.clone();
        let begun = self.shared.change(|world| {
            let is_early = world.identifies.last().is_some_and(|at| now - *at < IDENTIFY_PAUSE);
            world.identifies.push(now);
            (!is_early).then(|| begin_session(world, data["intents"].as_u64().unwrap_or(0), &url))
        });
        match begun {
            Some(id) => {
                self.session = Some((id, 0));
                Vec::new()
            }
            None => vec![Outgoing::Payload(json!({"op": 9, "d": false, "s": null, "t": null}))],
        }
    }

    /// The code with which an identification is refused, if it is.
    fn check_identity(&self, data: &Value) -> Option<u16> {
        let world = self.shared.lock();
        let is_token = data["token"].as_str().map(|token| token.trim_start_matches("Bot "));
        if is_token != Some(FakeDiscord::TOKEN) || !world.is_token_valid {
            return Some(4004);
        }
        let intents = data["intents"].as_u64();
        let Some(intents) = intents.filter(|intents| intents & !KNOWN_INTENTS == 0) else {
            drop(world);
            self.reject("intents that there are not");
            return Some(4013);
        };
        if intents & !world.allowed_intents != 0 {
            return Some(4014);
        }
        drop(world);
        let properties = &data["properties"];
        if ["os", "browser", "device"].iter().any(|name| !properties[*name].is_string()) {
            self.reject("an identification without properties");
            return Some(4002);
        }
        if !data["shard"].is_null() && data["shard"] != json!([0, 1]) {
            self.reject("another shard than the only one");
            return Some(4010);
        }
        None
    }

    fn resume(&mut self, data: &Value) -> Vec<Outgoing> {
        if self.session.is_some() {
            return self.refuse(4005, "resumed after it was identified");
        }
        if data["token"].as_str().map(|token| token.trim_start_matches("Bot "))
            != Some(FakeDiscord::TOKEN)
            || !self.shared.lock().is_token_valid
        {
            return vec![Outgoing::Close(4004)];
        }
        let id = data["session_id"].as_str().unwrap_or_default();
        let sequence = data["seq"].as_u64().unwrap_or(u64::MAX);
        let mut world = self.shared.lock();
        world.resumes += 1;
        let session = world.sessions.get_mut(id).filter(|session| session.is_valid);
        let Some(session) = session else {
            return vec![Outgoing::Payload(json!({"op": 9, "d": false, "s": null, "t": null}))];
        };
        let known = session.events.len();
        let Some(sent) = usize::try_from(sequence).ok().filter(|sent| *sent <= known) else {
            drop(world);
            return self.refuse(4007, "resumed behind the last event");
        };
        session.dispatch("RESUMED", json!({"_trace": []}));
        self.session = Some((id.to_owned(), sent));
        Vec::new()
    }

    fn refuse(&self, code: u16, why: &str) -> Vec<Outgoing> {
        self.reject(why);
        vec![Outgoing::Close(code)]
    }

    fn reject(&self, why: &str) {
        self.shared.change(|world| world.rejections.push(format!("gateway: {why}")));
    }
}

/// A new session, which has been told who it is and which channels there are.
fn begin_session(world: &mut DiscordWorld, intents: u64, url: &str) -> String {
    let id = format!("session{}", world.number());
    let mut session = FakeSession { intents, events: Vec::new(), is_valid: true };
    session.dispatch(
        "READY",
        json!({
            "v": 10, "user": bot_json(), "session_id": id, "resume_gateway_url": url,
            "guilds": [{"id": FakeDiscord::GUILD.to_string(), "unavailable": true}],
            "shard": [0, 1],
            "application": {"id": FakeDiscord::APPLICATION.to_string(), "flags": 0},
        }),
    );
    session.dispatch("GUILD_CREATE", world.guild_json());
    world.sessions.insert(id.clone(), session);
    id
}

/// Sends something. Whether the connection goes on.
async fn send(socket: &mut WebSocket, out: Outgoing) -> bool {
    match out {
        Outgoing::Payload(payload) => {
            socket.send(Message::Text(payload.to_string().into())).await.is_ok()
        }
        Outgoing::Close(code) => {
            let frame = CloseFrame { code, reason: "".into() };
            let _ = socket.send(Message::Close(Some(frame))).await;
            // The other side answers before both go.
            let _ = tokio::time::timeout(Duration::from_secs(2), socket.recv()).await;
            false
        }
        Outgoing::Cut => false,
    }
}
