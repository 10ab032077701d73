//! The shapes of what the API answers, for its description. The values themselves are made in
//! `recto-agent`, the same for every surface; tests read answers into these.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A session, as lists and pages show it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionShape {
    /// Its number.
    #[schema(minimum = 1)]
    pub(crate) id: i64,
    /// Its name, or else its number.
    pub(crate) name: String,
    /// The agent whose it is.
    pub(crate) agent: String,
    /// Where it began: `terminal`, `web`, ….
    pub(crate) surface: String,
    /// When it began.
    pub(crate) created: String,
    /// Since when it is in the archive.
    pub(crate) archived: Option<String>,
    /// Its own settings, over those of its agent.
    pub(crate) settings: Map<String, Value>,
    /// How many messages it has.
    pub(crate) messages: u64,
    /// How many turns it has had.
    pub(crate) turns: u64,
    /// When something was last said in it.
    pub(crate) last: String,
    /// The first words of its first message.
    pub(crate) opening: Option<String>,
    /// The turn that runs or waits in it.
    pub(crate) open_turn: Option<i64>,
    /// Questions that wait for an answer.
    pub(crate) waiting: Vec<QuestionShape>,
}

/// A page of the list of sessions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionListShape {
    /// The sessions, the one spoken in last first.
    pub(crate) sessions: Vec<SessionShape>,
    /// How many there are in all that fit.
    pub(crate) total: usize,
    /// How many sessions fit in which sub-agents do tasks; they are listed where they are asked for.
    pub(crate) tasks: usize,
}

/// A question whether a tool may run, as it waits.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct QuestionShape {
    /// Its number.
    #[schema(minimum = 1)]
    pub(crate) approval: i64,
    /// The turn that asks.
    #[schema(minimum = 1)]
    pub(crate) turn: i64,
    /// The tool.
    pub(crate) tool: String,
    /// What would be done, in a line.
    pub(crate) title: String,
    /// All that is known of what would be done.
    pub(crate) detail: String,
    /// Whether it can be allowed for this call alone.
    pub(crate) only_once: bool,
    /// When nobody need answer any more.
    pub(crate) expires: String,
}

/// A question with its answer, if it has one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ApprovalShape {
    /// Its number.
    #[schema(minimum = 1)]
    pub(crate) id: i64,
    /// The session in which it is asked.
    pub(crate) session: i64,
    /// The name of that session, or its number.
    pub(crate) session_name: Option<String>,
    /// The agent whose session it is.
    pub(crate) agent: Option<String>,
    /// The turn that asks.
    pub(crate) turn: i64,
    /// The tool.
    pub(crate) tool: String,
    /// What would be done, in a line.
    pub(crate) title: String,
    /// All that is known of what would be done.
    pub(crate) detail: String,
    /// The same in fields, such as `argv` and `network`.
    pub(crate) action: Option<Value>,
    /// Whether it can be allowed for this call alone.
    pub(crate) only_once: bool,
    /// When it was asked.
    pub(crate) asked: String,
    /// When nobody need answer any more.
    pub(crate) expires: String,
    /// The answer: `once`, `session`, `denied`, `expired` or `withdrawn`.
    pub(crate) answer: Option<String>,
    /// When it was given.
    pub(crate) answered: Option<String>,
    /// Who gave it.
    pub(crate) answered_by: Option<Value>,
}

/// The questions that wait for an answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ApprovalListShape {
    /// The questions, oldest first.
    pub(crate) approvals: Vec<ApprovalShape>,
}

/// An answered question, and where its turn goes on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct AnsweredShape {
    /// The question with its answer.
    #[serde(flatten)]
    pub(crate) approval: ApprovalShape,
    /// `here`, `elsewhere`, or `when_all_are_answered`.
    pub(crate) goes_on: String,
}

/// A message of a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct MessageShape {
    /// Its number within the session.
    pub(crate) id: u64,
    /// `user`, `assistant`, `tool`, `error` or `approval`.
    pub(crate) role: String,
    /// When it was said.
    pub(crate) at: String,
    /// The turn in which it was said.
    pub(crate) turn: Option<i64>,
    /// What it holds beside that: content, calls, and whether it was taken back.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

/// A page of a session's messages.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct MessageListShape {
    /// The messages, the newest first.
    pub(crate) messages: Vec<MessageShape>,
    /// Whether there are more in the direction that was asked for.
    pub(crate) has_more: bool,
}

/// A turn: one message that came in, and all that was done for it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct TurnShape {
    /// Its number, counted over all sessions.
    #[schema(minimum = 1)]
    pub(crate) id: i64,
    /// The session that it belongs to.
    pub(crate) session: i64,
    /// Its number within the session.
    pub(crate) number: u64,
    /// `queued`, `running`, `done`, `failed`, `stopped`, `interrupted` or `handed_out`.
    pub(crate) status: String,
    /// How it stands while it is open.
    pub(crate) standing: Option<String>,
    /// The turn whose calls a client has run for this one to go on.
    pub(crate) continues: Option<i64>,
    /// The number of its first message.
    pub(crate) message: Option<u64>,
    /// What came in, as long as it is no message yet.
    pub(crate) inbound: Option<String>,
    /// Who asked for it.
    pub(crate) actor: Value,
    /// When it was accepted.
    pub(crate) accepted: String,
    /// When it began to run.
    pub(crate) started: Option<String>,
    /// When it ended.
    pub(crate) ended: Option<String>,
    /// More about its end.
    pub(crate) detail: Option<String>,
}

/// A page of a session's turns.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct TurnListShape {
    /// The turns, the newest first.
    pub(crate) turns: Vec<TurnShape>,
    /// Whether there are older ones.
    pub(crate) has_more: bool,
}

/// A turn with what was said and sent in it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct TurnRecordShape {
    /// The turn, with what it has to do with exchanges that were taken back.
    pub(crate) turn: TurnShape,
    /// What was asked in it, with the answers.
    pub(crate) approvals: Vec<ApprovalShape>,
    /// What was said in it.
    pub(crate) messages: Vec<MessageShape>,
    /// What was sent in it, without the pages themselves.
    pub(crate) requests: Vec<RequestShape>,
}

/// A request to a model, without the page that it sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct RequestShape {
    /// Its number, counted over all sessions.
    #[schema(minimum = 1)]
    pub(crate) id: i64,
    /// Its number within the turn, from 1.
    pub(crate) number: u32,
    /// When it was sent.
    pub(crate) at: String,
    /// The model entry that was asked.
    pub(crate) model: String,
    /// The wire format of the body.
    pub(crate) wire: String,
    /// `page`, or `summary` for one that has messages summed up.
    pub(crate) purpose: String,
    /// How many bytes the body has.
    pub(crate) bytes: u64,
    /// What came back, if something did.
    pub(crate) answer: Option<Value>,
}

/// The list of requests that were written anew from their parts.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct VerifyShape {
    /// Whether all are identical to what was sent.
    pub(crate) ok: bool,
    /// Each request with what was found.
    pub(crate) requests: Vec<VerifiedRequestShape>,
}

/// A request that was written anew from its parts.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct VerifiedRequestShape {
    /// The turn of the request.
    pub(crate) turn: i64,
    /// Its number within the turn.
    pub(crate) request: u32,
    /// How long the body is, where it is whole.
    pub(crate) bytes: Option<usize>,
    /// Whether it is the one that was sent, byte for byte.
    pub(crate) identical: bool,
    /// What is wrong with it.
    pub(crate) problem: Option<String>,
    /// Whether a text was taken out of it: then the body is not the one that was sent.
    pub(crate) redacted: bool,
}

/// An item of a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionItemShape {
    /// `rule`, `reference`, `skill`, `tool` or `memory`.
    pub(crate) kind: String,
    /// Its name, as it can be typed.
    pub(crate) name: String,
    /// `in`, or `removed` for one that a person took out.
    pub(crate) state: String,
    /// How it came into the session.
    pub(crate) joined: Option<Value>,
}

/// The items of a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionItemListShape {
    /// The items, in the order in which they came.
    pub(crate) items: Vec<SessionItemShape>,
}

/// Something that happens in a session; `docs/events.md` has all kinds.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct EventShape {
    /// What happened: `accepted`, `requested`, `text`, `call`, `asked`, `finished`, ….
    pub(crate) event: String,
    /// The session in which it happened.
    pub(crate) session: i64,
    /// The turn that it is about.
    pub(crate) turn: Option<i64>,
    /// Its number, which is also the id of the event.
    pub(crate) seq: u64,
    /// What else belongs to it.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

/// Something that comes back while a request is sent again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ReplayEventShape {
    /// A piece of the reply.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the model's reasoning.
    Thinking {
        /// The piece.
        text: String,
    },
    /// The server could not answer yet; it is asked again.
    Retrying {
        /// After how many milliseconds.
        after_ms: u64,
        /// What it said.
        error: String,
    },
    /// The reply is complete.
    Done {
        /// The turn whose request it was.
        turn: i64,
        /// The number of the request.
        request: u32,
        /// The model entry that answered.
        model: String,
        /// The reply.
        content: String,
        /// The calls of tools, which nobody runs.
        tool_calls: Vec<Value>,
        /// What the server counted.
        usage: Value,
    },
    /// It failed.
    Failed {
        /// What happened.
        problem: Value,
    },
}

/// Settings of a session or of a turn. A value that is null is the agent's.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingsShape {
    /// The model entry that answers.
    pub(crate) model: Option<String>,
    /// How freely the model chooses its words.
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// How much of the probable words it chooses from.
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) top_p: Option<f64>,
    /// The most tokens of a reply.
    #[schema(minimum = 1)]
    pub(crate) max_output_tokens: Option<u32>,
    /// The most rounds of tool calls in one turn; in a guest's turn at most as many as the agent
    /// has.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) max_rounds: Option<u32>,
    /// How much a turn sends.
    pub(crate) context_mode: Option<ContextModeShape>,
    /// Whether search brings items, and how many.
    pub(crate) search: Option<SearchPresetShape>,
    /// How many candidates search looks at.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) top_k: Option<u32>,
    /// How many of each group it takes.
    #[schema(maximum = 1000)]
    pub(crate) top_n: Option<u32>,
    /// The cosine from which on it takes an item whatever else holds.
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) include_score: Option<f64>,
    /// The least probability of what search takes.
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) floor: Option<f64>,
    /// When a person is asked before a tool runs.
    pub(crate) approval: Option<ApprovalModeShape>,
    /// How messages that leave the page are summarised.
    pub(crate) compaction: Option<CompactionShape>,
}

/// How much a turn sends.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContextModeShape {
    /// All that belongs to the session.
    Full,
    /// What work with tools needs.
    Minimal,
    /// Each message decides.
    Auto,
}

/// Whether search brings items, and how many.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SearchPresetShape {
    /// None.
    Off,
    /// Few.
    Conservative,
    /// Some.
    Normal,
    /// Many.
    Aggressive,
}

/// When a person is asked before a tool runs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalModeShape {
    /// Before every call.
    Always,
    /// Before none.
    Never,
    /// Before calls of tools that ask for it.
    PerTool,
}

/// How messages that leave the page are summarised.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionShape {
    /// Not at all.
    Off,
    /// By sentences of theirs.
    Extract,
    /// By the model.
    Summary,
}

/// An event on its way to a client.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct EventFrameShape {
    /// What happened, as JSON in one line.
    pub(crate) data: String,
    /// The number of the event, for `last-event-id`.
    pub(crate) id: Option<String>,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemKindShape {
    /// A short instruction.
    Rule,
    /// A document to look things up in.
    Reference,
    /// A folder with a SKILL.md and perhaps tools.
    Skill,
    /// Something the model can call.
    Tool,
}

/// The items that were ranked for a message.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchShape {
    /// The message.
    pub(crate) query: String,
    /// What the order rests on: `dense`, or an object whose `words` say why meaning did not count.
    pub(crate) how: Value,
    /// Whether turns are searched for at all.
    pub(crate) enabled: bool,
    /// The mode of a turn with this message: `full`, `minimal` or one of the two between.
    pub(crate) mode: String,
    /// The items, the most probable first.
    pub(crate) results: Vec<SearchResultShape>,
}

/// An item that was ranked for a message. A score that was not measured is absent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchResultShape {
    /// Its kind: `rule`, `reference`, `skill`, `tool` or `memory`.
    pub(crate) kind: String,
    /// Its own name.
    pub(crate) name: String,
    /// The skill or MCP server that a tool comes from.
    pub(crate) server: Option<String>,
    /// When it joins a session: `always`, `manual` or `agent`; nothing for a memory.
    pub(crate) include: Option<String>,
    /// Whether a turn of a new session takes it: in full, because it fits the message.
    pub(crate) taken: bool,
    /// What such a turn has of it: `taken`, `anyway` (it stands on the page whatever the message),
    /// `listed` (by name alone, for the model to load it) or `absent`.
    pub(crate) page: TurnFateShape,
    /// The piece of its text that fits best.
    pub(crate) best_chunk: Option<String>,
    /// How probable it is that it fits the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) probability: Option<f64>,
    /// How near it is in meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cosine: Option<f64>,
    /// How many of its words are in the message, and how rare they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lexical: Option<f64>,
    /// Both together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fused: Option<f64>,
    /// What a memory's age leaves of its probability where memories are put in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recency: Option<f64>,
    /// Its place among those that it was ranked with, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rank: Option<u32>,
    /// The least probability with which it would have been taken, where it has less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) floor: Option<f64>,
    /// Whether the message was searched for together with the one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) with_before: bool,
    /// Where that one stands among what the same person said before, where it is not the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before_place: Option<u32>,
    /// Whether it was searched for with misspelt words put right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) respelled: bool,
    /// Which words were put right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) put_right: Vec<RespelledWordShape>,
    /// That the person used it before in messages like this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) earlier_use: Option<EarlierUseShape>,
}

/// A misspelt word, and what it was read as.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RespelledWordShape {
    /// The word as it was typed.
    pub(crate) typed: String,
    /// The word of an item that it was searched for as.
    pub(crate) read: String,
}

/// What a turn of a new session has of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnFateShape {
    /// All of it, because it fits the message.
    Taken,
    /// What stands on the page whatever the message.
    Anyway,
    /// Its name alone, for the model to load it.
    Listed,
    /// Nothing.
    Absent,
}

/// A misspelt word of a message, and what it was read as.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RespelledWordShape {
    /// The word as it was typed.
    pub(crate) typed: String,
    /// The word of an item that it was searched for as.
    pub(crate) read: String,
}

/// The evidence that a person used an item before in messages like this one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EarlierUseShape {
    /// In how many messages.
    pub(crate) messages: u32,
    /// The turn of the last of them.
    pub(crate) turn: i64,
    /// The day of that.
    pub(crate) day: String,
    /// The probability without it.
    pub(crate) without: f64,
}

/// An item of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ItemShape {
    /// Its kind.
    pub(crate) kind: ItemKindShape,
    /// Its own name.
    pub(crate) name: String,
    /// The name that no other item of the kind has: of a tool with its server in front.
    pub(crate) key: String,
    /// What it says of itself.
    pub(crate) description: Option<String>,
    /// When it joins a session: `always`, `manual` or `agent`.
    pub(crate) include: String,
    /// What says so: `config`, the item's own `file`, the config for its `kind`, or what is `usual`.
    pub(crate) include_from: Option<String>,
    /// Its place among rules or references.
    pub(crate) priority: Option<Value>,
    /// What it costs on the page, as estimated.
    pub(crate) tokens: u32,
    /// The tools that travel with a skill.
    pub(crate) tools: Vec<String>,
    /// Where it comes from.
    pub(crate) source: String,
    /// When it was last used, and in which turn.
    pub(crate) last_used: Option<Value>,
    /// In how many turns it was taken, offered, left and used.
    pub(crate) counts: Value,
}

/// The items of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ItemListShape {
    /// The agent whose items they are.
    pub(crate) agent: String,
    /// Rules, references, skills and tools.
    pub(crate) items: Vec<ItemShape>,
    /// The MCP servers, with how their tools join a session where nothing else is set.
    pub(crate) servers: Vec<Value>,
}

/// Something that is remembered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct MemoryShape {
    /// Its name: the file that it stands in, and digits of its text.
    pub(crate) name: String,
    /// What is remembered.
    pub(crate) text: String,
    /// To whom it belongs: `kind`, and `id` where there are several.
    pub(crate) scope: Value,
    /// Whether it stands on every page.
    pub(crate) important: bool,
    /// Whether others than the owner may see it.
    pub(crate) shared: bool,
    /// The day on which it was added.
    pub(crate) day: Option<String>,
    /// When it was added.
    pub(crate) added: Option<String>,
    /// The place in its file.
    pub(crate) source: String,
}

/// What an agent remembers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct MemoryListShape {
    /// The memories.
    pub(crate) memories: Vec<MemoryShape>,
    /// Whether there are files of memories that can't be read.
    pub(crate) has_gaps: bool,
}

/// Something that an agent does at set times.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScheduleShape {
    /// Its name, which no other schedule of the agent has.
    pub(crate) name: String,
    /// The agent whose it is.
    pub(crate) agent: String,
    /// When it runs: `cron` with `pattern` and `zone`, or `once` with `at`.
    #[schema(value_type = Option<Object>)]
    pub(crate) plan: Option<Value>,
    /// What is done.
    pub(crate) task: String,
    /// What holds for its runs: `model` and `context_mode`, where they are set.
    pub(crate) settings: Map<String, Value>,
    /// Where the answer goes: `own_session`, a `session` by its number, or a `chat`.
    pub(crate) to: Value,
    /// The same in words, with the name that a session has now.
    pub(crate) answer_to: String,
    /// When it was made.
    pub(crate) created: String,
    /// When it runs next; absent where it does not.
    pub(crate) next: Option<String>,
    /// Its last run.
    #[schema(value_type = Option<Object>)]
    pub(crate) last_run: Option<Value>,
}

/// The schedules of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScheduleListShape {
    /// The agent.
    pub(crate) agent: String,
    /// Its schedules, by name.
    pub(crate) schedules: Vec<ScheduleShape>,
}

/// A run of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct RunShape {
    /// Its number, counted over all schedules.
    #[schema(minimum = 1)]
    pub(crate) id: i64,
    /// The name of the schedule.
    pub(crate) schedule: String,
    /// When it was to run; absent where somebody ran it by hand.
    pub(crate) due: Option<String>,
    /// How many later times passed unseen: it stands for them, too.
    pub(crate) missed: u32,
    /// When it was begun.
    pub(crate) begun: String,
    /// The session in which it is held.
    pub(crate) session: Option<i64>,
    /// Its turn.
    pub(crate) turn: Option<i64>,
    /// When it ended.
    pub(crate) ended: Option<String>,
    /// How it ended: `done`, `failed`, `stopped` or `interrupted`.
    pub(crate) outcome: Option<String>,
    /// More about that, for people.
    pub(crate) detail: Option<String>,
    /// What became of the answer where it was to go elsewhere: `state` is `delivered`, with `to`, or
    /// `failed`, with `problem`.
    #[schema(value_type = Option<Object>)]
    pub(crate) delivery: Option<Value>,
    /// Whether its turn is over and its answer waits for the end of a turn or question in its place.
    pub(crate) answer_waits: bool,
    /// Whether the bot of the chat that the answer is for has posted it: `waiting`, `posted` or
    /// `refused`.
    pub(crate) post: Option<String>,
    /// Why it was refused.
    pub(crate) post_problem: Option<String>,
}

/// The runs of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct RunListShape {
    /// The runs, the newest first.
    pub(crate) runs: Vec<RunShape>,
}
