//! Clients as people's programs are: each says something, insists until it is told that it was
//! taken in, waits for the reply, and says the next thing. What they were told is kept, word for word.
//!
//! A message that is sent again has the same delivery, by which gateways know it. Each client talks
//! in a session of its own and in one that it shares with another client, at whichever gateway is
//! there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::cluster::Cluster;
use super::model::TOKEN;
use crate::Result;
use crate::bench::http::Connection;

/// How long a gateway may take over a request until another one is asked.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a client follows a session until it asks by itself how the turn is.
const FOLLOWING: Duration = Duration::from_secs(6);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(60);

/// Something that a client said, and all that it was told about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentMessage {
    pub(super) session: i64,
    pub(super) token: String,
    /// The turns that it was told it began, with the gateway that said so.
    pub(super) acknowledged: Vec<Acknowledgement>,
    /// The ends that it was told of.
    pub(super) told: Vec<ToldEnd>,
    /// How long it took from the first try to the end.
    pub(super) took: Duration,
}

/// The word of a gateway that a message is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    pub(super) turn: i64,
    pub(super) node: usize,
    pub(super) at: SystemTime,
}

/// The end of a turn, as a client heard of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToldEnd {
    pub(super) turn: i64,
    pub(super) status: String,
    pub(super) reply: Option<String>,
}

/// All that one client said, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ClientLog {
    pub(super) messages: Vec<SentMessage>,
}

/// The clients at work.
pub(super) struct ClientLoad {
    clients: JoinSet<ClientLog>,
    is_over: Arc<AtomicBool>,
    deadline: Arc<std::sync::Mutex<Option<Instant>>>,
}

/// Begins the sessions, and lets all clients talk.
pub(super) async fn start(cluster: &Arc<Cluster>, count: usize) -> Result<ClientLoad> {
    let first = cluster.address(0).ok_or("no gateway runs")?;
    let mut connection = Connection::open(first).await?;
    let mut begin = async |name: String| -> Result<i64> {
        let begun = connection.post("/api/sessions", &json!({"name": name}).to_string()).await?;
        begun["id"].as_i64().ok_or_else(|| "a session without a number".into())
    };
    let (is_over, deadline) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let mut clients = JoinSet::new();
    let mut shared = 0;
    for number in 0..count {
        let own = begin(format!("own-{number}")).await?;
        if number % 2 == 0 {
            shared = begin(format!("shared-{number}")).await?;
        }
        let client = CrashClient {
            number,
            sessions: [own, shared],
            cluster: cluster.clone(),
            is_over: is_over.clone(),
            deadline: Arc::clone(&deadline),
            log: ClientLog::default(),
            node: number % cluster.count(),
        };
        clients.spawn(client.talk());
    }
    Ok(ClientLoad { clients, is_over, deadline })
}

impl ClientLoad {
    /// Lets every client hear the end of what it has said, and gives what they were told.
    pub(super) async fn finish(mut self, within: Duration) -> Vec<ClientLog> {
        if let Ok(mut deadline) = self.deadline.lock() {
            *deadline = Some(Instant::now() + within);
        }
        self.is_over.store(true, Ordering::SeqCst);
        let mut logs = Vec::new();
        while let Some(log) = self.clients.join_next().await {
            logs.extend(log.ok());
        }
        logs
    }
}

struct CrashClient {
    number: usize,
    sessions: [i64; 2],
    cluster: Arc<Cluster>,
    is_over: Arc<AtomicBool>,
    deadline: Arc<std::sync::Mutex<Option<Instant>>>,
    log: ClientLog,
    /// The gateway that it asks next.
    node: usize,
}

impl CrashClient {
    async fn talk(mut self) -> ClientLog {
        let mut said = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            said += 1;
            let message = SentMessage {
                session: self.sessions[said % 2],
                token: format!("{TOKEN}{}-{said}", self.number),
                acknowledged: Vec::new(),
                told: Vec::new(),
                took: Duration::ZERO,
            };
            let message = self.say(message).await;
            self.log.messages.push(message);
        }
        self.log
    }

    /// Says something, and waits for its end.
    async fn say(&mut self, mut message: SentMessage) -> SentMessage {
        let begun = Instant::now();
        let before = loop {
            let submitted = timeout(PATIENCE, self.submit(&message)).await.ok();
            match submitted.and_then(Result::ok) {
                Some((acknowledged, before)) => {
                    message.acknowledged.push(acknowledged);
                    break before;
                }
                None if self.is_late() => return message,
                None => self.ask_another().await,
            }
        };
        let Some(turn) = message.acknowledged.last().map(|acknowledged| acknowledged.turn) else {
            return message;
        };
        let followed = timeout(FOLLOWING, self.follow(&message, turn, before)).await.ok();
        message.told.extend(followed.and_then(Result::ok));
        // What was heard by the way is what everybody is told who asks.
        while !self.is_late() {
            let looked = timeout(PATIENCE, self.look(turn)).await.ok();
            match looked.and_then(Result::ok) {
                Some(Some(told)) => {
                    message.told.push(told);
                    break;
                }
                Some(None) => sleep(PAUSE).await,
                None => self.ask_another().await,
            }
        }
        message.took = begun.elapsed();
        message
    }

    async fn submit(&self, message: &SentMessage) -> Result<(Acknowledgement, u64)> {
        let mut connection = self.connect().await?;
        let body = json!({
            "text": format!("please take {} down", message.token),
            "delivery": message.token,
        });
        let path = format!("/api/sessions/{}/messages", message.session);
        let accepted = connection.post(&path, &body.to_string()).await?;
        let turn = accepted["turn"].as_i64().ok_or("an answer without a turn")?;
        let before = accepted["before"].as_u64().ok_or("an answer without a place")?;
        Ok((Acknowledgement { turn, node: self.node, at: SystemTime::now() }, before))
    }

    /// Follows the session until the turn is over.
    async fn follow(&self, message: &SentMessage, turn: i64, before: u64) -> Result<ToldEnd> {
        let path = format!("/api/sessions/{}/events?after={before}", message.session);
        let connection = self.connect().await?;
        let mut events = connection.follow(&path).await?;
        loop {
            let event: Value = serde_json::from_str(events.next_data().await?)?;
            if event["event"] == "finished" && event["turn"] == turn {
                let reply = event["reply"].as_str().map(str::to_owned);
                let status = event["status"].as_str().unwrap_or_default().to_owned();
                return Ok(ToldEnd { turn, status, reply });
            }
        }
    }

    /// Asks how a turn stands.
    async fn look(&self, turn: i64) -> Result<Option<ToldEnd>> {
        let mut connection = self.connect().await?;
        let shown = connection.get(&format!("/api/turns/{turn}")).await?;
        let shown: Value = serde_json::from_slice(&shown)?;
        let status = shown["turn"]["status"].as_str().unwrap_or_default().to_owned();
        if matches!(status.as_str(), "" | "queued" | "running") {
            return Ok(None);
        }
        let messages = shown["messages"].as_array().into_iter().flatten();
        let reply = messages.rev().find(|message| message["role"] == "assistant");
        let reply = reply.and_then(|reply| reply["content"].as_str()).map(str::to_owned);
        Ok(Some(ToldEnd { turn, status, reply }))
    }

    async fn connect(&self) -> Result<Connection> {
        let address = self.cluster.address(self.node).ok_or("the gateway is dead")?;
        Connection::open(address).await
    }

    async fn ask_another(&mut self) {
        self.node = (self.node + 1) % self.cluster.count();
        sleep(PAUSE).await;
    }

    fn is_late(&self) -> bool {
        let deadline = self.deadline.lock().ok().and_then(|deadline| *deadline);
        deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
