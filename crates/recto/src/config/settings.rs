//! What the rest of Recto gets to see of the config: typed, complete, checked.
//! Each part is handed to the crate that it concerns; none gets the whole.
//!
//! This is also the one place where keys are declared: see [`tables`](super::tables).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::choices::{
    ApprovalMode, ChannelMode, ContextMode, DelegationContext, HistoryCompaction, IncludeMode,
    ItemGroup, ItemKind, LayoutPreset, LogFormat, LogLevel, PickMessages, PickPlacement, Provider,
    Reload, SandboxPolicy, SearchPreset, SkillRender, StrangerPolicy, SystemMessages, ToolCalls,
    ToolPermission, ToolTurnContext, UncertainMode,
};
use super::keys::{ConfigKey, KeyKind};
use super::problem::{ConfigProblem, SettingOrigin, quoted};
use super::resolve::SettingsResolver;
use super::tables::{SettingType, settings_tables};

/// The config with all layers resolved and all defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The name of the model entry that answers. [`models`](Self::models) has it,
    /// unless there are none: then it is the name of one to be found, if any.
    pub model: Option<String>,
    /// When changed files are read again.
    pub reload: Reload,
    /// The agent that all of it holds for.
    pub agent: AgentSettings,
    /// The workspaces of the other agents, which this one's tools leave alone.
    pub other_workspaces: Vec<PathBuf>,
    /// The project that the agent works in. No key says it: a person was asked.
    pub project: Option<PathBuf>,
    /// Whether its workspace is another than the config's: that of a flag, or of a session that
    /// was begun with one.
    pub has_given_workspace: bool,
    /// The form of the page that the model reads.
    pub context: ContextSettings,
    /// Limits of the history.
    pub history: HistorySettings,
    /// Limits of the memories on the page.
    pub memory: MemorySettings,
    /// What is given to sub-agents.
    pub delegate: DelegateSettings,
    /// How sessions are kept beside the store.
    pub sessions: TranscriptSettings,
    /// Where skills are and how they are shown.
    pub skills: SkillSettings,
    /// What tools may do in a turn.
    pub tools: ToolSettings,
    /// What search brings for a message.
    pub search: SearchSettings,
    /// Where sessions and records are kept.
    pub store: StoreSettings,
    /// How the server answers.
    pub server: GatewaySettings,
    /// The bot of Telegram.
    pub telegram: TelegramSettings,
    /// The bot of Discord.
    pub discord: DiscordSettings,
    /// When that bot answers in single channels, by their ids.
    pub discord_modes: Vec<(String, ChannelMode)>,
    /// What is written down of what happens.
    pub log: LogSettings,
    /// What collectors are told.
    pub telemetry: TelemetrySettings,
    /// The most tokens that are used of what a model was trained for, when
    /// neither the person nor the server says how large its window is.
    pub window_cap: u32,
    /// The model entries, in the order of the file.
    pub models: Vec<ModelSettings>,
    /// The folder of pulled model files.
    pub model_files: PathBuf,
    /// What the config says about all items of a kind.
    pub item_kinds: Vec<KindSettings>,
    /// What the config says about single items, in the order of the file.
    pub items: Vec<ItemSettings>,
    /// The MCP servers, those that are off included, in the order of the file.
    pub servers: Vec<ServerSettings>,
}

impl Settings {
    /// The folder that the agent works in: the project's, or else its own workspace.
    pub fn work_folder(&self) -> &PathBuf {
        self.project.as_ref().unwrap_or(&self.agent.workspace)
    }

    /// The model entry that answers.
    pub fn chosen_model(&self) -> Option<&ModelSettings> {
        self.models.iter().find(|model| Some(&model.name) == self.model.as_ref())
    }

    /// The include mode of items of a kind of which nothing else is said, if it is set.
    pub fn kind_include(&self, kind: ItemKind) -> Option<IncludeMode> {
        self.item_kinds.iter().find(|settings| settings.kind == kind)?.include
    }

    /// How the tools of an MCP server come into a session.
    pub fn server_include(&self, server: &ServerSettings) -> IncludeMode {
        let of_kind = self.kind_include(ItemKind::Tool);
        server.include.or(of_kind).unwrap_or(IncludeMode::Always)
    }
}

/// The largest window that a config may claim, in tokens.
const MAX_WINDOW: u32 = 10_000_000;

/// The longest that anything may be waited for: a day.
const MAX_SECONDS: u32 = 24 * 60 * 60;

/// The longest that a question to a person may stay open: 30 days.
const MAX_OPEN_SECONDS: u32 = 30 * MAX_SECONDS;

/// The most candidates that a search may look at, or take.
const MAX_FOUND: u32 = 1_000;

settings_tables! {
    /// The keys outside of all tables.
    pub(super) struct TopLevelKeys in "" {
        /// The model entry that answers, by its name in `[models]`. Without any there, one is
        /// looked for: `ollama` on this machine, then the embedded models that were pulled, by
        /// their names.
        model: Option<PlacedValue<String>> =
            prose("the first of `[models]` in the file; without any, the one that is found")
            .example("\"qwen3\"");
        /// When changed files of the workspace are read again: on every turn, or at start only.
        reload: Option<Reload> = default("turn").example("\"startup\"");
    }

    /// `[agents.<name>]`: an agent.
    ///
    /// One table for each agent; the name is yours to choose, of at most 32 letters, digits,
    /// `_` and `-`. The first of the file answers where neither `[[bindings]]` nor `--agent`
    /// names another. Without any there is one, named `main`. Agents share the store, the
    /// models and the MCP servers; sessions, memories and trust are each one's own. What
    /// an agent's own tables don't say holds as the config says it for all; an environment
    /// variable or a flag wins over both.
    pub struct AgentSettings: Eq in "agents.<name>." given {
        /// Its name; `main` when the file has no agents.
        name: String,
    } {
        /// The folder with the agent's files. Each agent but the first must name its own.
        workspace: PathBuf = default("workspace").example("\"~/agents/main\"");
        /// The agent's model entry. A variable or flag for `model` wins over it.
        model: Option<String> = prose("`model`").example("\"qwen3\"");
    }

    /// `[[bindings]]`: which agent answers where.
    ///
    /// One table for each; the first that fits decides. `*` stands for any characters, or
    /// none. Where none fits, the first agent answers. In the terminal, the surface is
    /// `terminal`, the account `local`, and the conversation the name of the session.
    pub struct BindingSettings: Eq in "bindings.<number>." {
        /// The surface where people talk, such as `terminal` or `telegram`.
        surface: String = required("none; it must be set").example("\"terminal\"");
        /// The bot or token that they talk to there.
        account: String = default("*").example("\"work_bot\"");
        /// The conversation there, by its id or name.
        conversation: String = default("*").example("\"work-*\"");
        /// The agent that answers, by its name in `[agents]`.
        agent: PlacedValue<String> = required("none; it must be set").example("\"main\"");
    }

    /// `[context]`: the form and the size of the page.
    pub struct ContextSettings: Copy, Eq in "context." {
        /// The form of the page that the model reads. `layered` tells the date and time ahead of
        /// memories, skills and history, and not with each message: whenever the minute is
        /// another one, a server reads all of these again.
        preset: LayoutPreset = default("recto").example("\"layered\"");
        /// Where that which search found for a message stands, and how long it stays.
        picks: Option<PickPlacement> =
            prose("as `context.preset` has it: `turn_only`, for `layered` `in_layer`")
            .example("\"kept\"");
        /// Keeps requests smaller than the window would allow.
        target_tokens: Option<u32> =
            range(512, MAX_WINDOW).prose("the model's window").example("4000");
    }

    /// `[history]`: how much of a session is sent.
    pub struct HistorySettings: Copy, Eq in "history." {
        /// The most messages of a session that are sent, the newest first.
        max_messages: u32 = range(1, 100_000).default("50").example("30");
        /// The most tokens that these messages may cost.
        max_tokens: u32 = range(1, MAX_WINDOW).default("8192").example("4096");
        /// The same as `history.max_messages` where several people talk: a group, a Discord
        /// channel. The smaller of the two holds there.
        channel_max_messages: u32 = range(1, 100_000).default("20").example("10");
        /// The most tokens of what was said in a group since the bot was last named, where
        /// `context` of its channel brings it along: the newest of it.
        channel_context_tokens: u32 = range(1, MAX_WINDOW).default("1024").example("512");
        /// Whether a summary stands for messages that leave because a limit is reached: none, one
        /// of sentences as they were said, or one that the model writes. The messages themselves
        /// are kept; `recto sessions expand` takes a summary back.
        compaction: HistoryCompaction = default("off").example("\"extract\"");
        /// The most tokens of such a summary; it never takes more than a quarter of the history's.
        summary_tokens: u32 = range(32, MAX_WINDOW).default("512").example("256");
    }

    /// `[memory]`: how much of what is remembered is sent.
    pub struct MemorySettings: Copy, Eq in "memory." {
        /// The most memories on the page; 0 leaves memories out.
        max_entries: u32 = range(0, 10_000).default("20").example("10");
        /// The most tokens that these memories may cost.
        max_tokens: u32 = range(0, MAX_WINDOW).default("1000").example("500");
    }

    /// `[delegate]`: what is given to sub-agents, the folders in `agents/` of the workspace.
    pub struct DelegateSettings: Copy, Eq in "delegate." {
        /// What a sub-agent sees of the conversation that its task comes from: nothing, or the
        /// message that is being answered, as a line `Context: …` behind the task.
        context: DelegationContext = default("none").example("\"last_message\"");
        /// How deep tasks may be handed on; with 1, sub-agents can't give tasks themselves.
        max_depth: u32 = range(1, 8).default("2").example("1");
        /// The most tasks that one turn may give.
        max_tasks: u32 = range(1, 64).default("8").example("3");
        /// How many seconds a task may take before it is stopped.
        time_limit: Duration = range(1, MAX_SECONDS).default("300").example("60");
    }

    /// `[sessions]` as it is written.
    pub(super) struct SessionKeys in "sessions." {
        /// Whether each session is also kept as a Markdown file, from its fourth message on, in the
        /// folder `sessions` of Recto's home.
        markdown: bool = default("false").example("true");
    }

    /// `[skills]`: where skills are and how they are shown.
    pub struct SkillSettings: Eq in "skills." {
        /// The first folder where skills are looked for, before the workspace's own.
        directory: PathBuf = default("skills").example("\"~/skills\"");
        /// Further folders with skills; a later folder wins where names are the same.
        extra_dirs: Vec<PathBuf> = default("").example("[\"/opt/team/skills\"]");
        /// Skills that are left out, by name.
        disabled: Vec<String> = default("").example("[\"weather\"]");
        /// How skills are shown: with their bodies, as a list with a tool that reads one, or as
        /// a list alone.
        render: Option<SkillRender> =
            prose("as `context.preset` has it: `full`, for `layered` `description`")
            .alias("contextMode").example("\"read_on_demand\"");
        /// The most tokens that the bodies of skills may cost together of whose include mode
        /// nothing is said. Below it they are always on the page; beyond it all of them come when
        /// they fit the message. It counts where skills are shown in full and search is on, in
        /// preset `recto`.
        always_tokens: u32 = range(0, MAX_WINDOW).default("1000").example("4000");
        /// The most tokens of the list of skills with `include = "agent"`, and at most a sixteenth
        /// of the window. If all of them fit, all are listed; otherwise those that may fit the
        /// message.
        list_tokens: u32 = range(0, MAX_WINDOW).default("300").example("600");
        /// Whether the tools of skills may run the scripts in a skill's folder `scripts`.
        allow_scripts: bool = default("false").example("true");
    }

    /// `[tools]`: what tools may do in a turn.
    pub struct ToolSettings: Eq in "tools." {
        /// When a person is asked before a tool runs: before every call, never, or as each tool
        /// has it. Unless something else is set for them, tools that write, programs of skills
        /// and MCP servers ask, and tools that only read don't. The word `tool` is accepted for
        /// `per_tool`.
        approval: ApprovalMode =
            default("per_tool").alias("toolPermission").example("\"always\"");
        /// How many seconds a person has to answer; then the answer is no.
        approval_expires: Duration =
            range(1, MAX_OPEN_SECONDS).default("86400").example("3600");
        /// How many seconds a client of the front doors (OpenAI, Ollama), in which nobody can be
        /// asked, waits for the answer from elsewhere. Then its reply names the question, and the
        /// turn waits on, for as long as `tools.approval_expires` says.
        approval_wait: Duration = range(0, MAX_SECONDS).default("60").example("10");
        /// What happens on a system that lacks some of the guards around programs: they run
        /// with those there are, or they don't run. `recto tools list` shows which there are.
        sandbox: SandboxPolicy = default("best_effort").example("\"required\"");
        /// The most rounds of tool calls in one turn; then the turn ends with every call answered.
        /// The `maxChatTurns` of other agents counts calls of the model: the last one, which
        /// answers, is no round.
        max_rounds: u32 = range(1, 1_000).default("20").alias("maxChatTurns").example("10");
        /// The most that a model is shown of what a call gave; a longer one is cut in its middle.
        max_output_bytes: u32 = range(256, 16 * 1024 * 1024).default("65536").example("16384");
        /// How many seconds a call may take before it is ended.
        time_limit: Duration = range(1, MAX_SECONDS).default("30").example("120");
        /// Whether the model has the tool `schedule`, by which it can have things done later, once
        /// a person has allowed it.
        schedule: bool = default("false").example("true");
        /// Tools that are left out: built-in ones by name, those of skills and MCP servers as
        /// `skill.tool` and `server.tool`.
        disabled: Vec<String> = default("").example("[\"write_file\"]");
    }

    /// `[search]` as it is written.
    ///
    /// Which of the items with `include = "agent"` come with a message. Candidates are ranked
    /// in four groups, each by itself; what is set for a group wins over what is set here,
    /// which wins over the preset.
    pub(super) struct SearchKeys in "search." {
        /// Whether a turn looks for items with `include = "agent"` that fit its message.
        enabled: bool = default("true").example("false");
        /// The encoder that compares messages and items by meaning: the folder of a sentence
        /// encoder of the shape of BERT, as sentence-transformers saves it, or the name of a model
        /// that was pulled. When it changes, all texts are embedded anew in the background, and
        /// until then words decide. [search.md](search.md#another-encoder) names some to try.
        encoder: Option<String> = prose("`minilm` (all-MiniLM-L6-v2)")
            .example("\"~/encoders/multilingual-e5-small\"");
        /// How many items are taken, and how sure search has to be of each: at most 3 from a
        /// probability of 0.6 on, 5 from 0.4 on, or 8 from 0.25 on.
        preset: Option<SearchPreset> = default("normal").example("\"conservative\"");
        /// How many candidates of each group are looked at, and kept in the record.
        top_k: Option<u32> = range(1, MAX_FOUND).prose("20").example("10");
        /// The most items of each group that are taken.
        top_n: Option<u32> =
            range(0, MAX_FOUND).prose("as `search.preset` has it: 3, 5 or 8").example("4");
        /// The cosine from which on an item is taken whatever else holds.
        include_score: Option<f64> = prose("0.7").example("0.8");
        /// The least probability of an item that is taken.
        floor: Option<f64> =
            prose("as `search.preset` has it: 0.6, 0.4 or 0.25").example("0.5");
        /// The most items that are listed by name because they may fit the message, for the model
        /// to load with `read_item`; 0 lists none.
        list_lines: u32 = range(0, 100).default("12").example("6");
        /// The most tokens of that list, and at most a sixteenth of the window; 0 lists none.
        list_tokens: u32 = range(0, MAX_WINDOW).default("200").example("400");
        /// Whether an item is more probable when you used it before in messages like this one: a
        /// tool that was called with success, an item that was read by its name or added by hand.
        /// It is your own record that counts, in your own sessions; see
        /// [search.md](search.md#what-you-used-before).
        own_use: bool = default("true").example("false");
    }

    /// `[search.<group>]`: what decides how many items search brings, as far as it is set.
    ///
    /// The same for one group: `documents` (rules and references together), `skills`, `tools`
    /// or `memories`.
    pub struct SearchGroupSettings: Copy, Default in "search.<group>." {
        /// How many candidates of this group are looked at, and kept in the record.
        top_k: Option<u32> = range(1, MAX_FOUND).prose("`search.top_k`").example("50");
        /// The most items of this group that are taken.
        top_n: Option<u32> = range(0, MAX_FOUND).prose("`search.top_n`").example("2");
        /// The cosine from which on an item of this group is taken whatever else holds.
        include_score: Option<f64> = prose("`search.include_score`").example("0.9");
        /// The least probability of an item of this group that is taken.
        floor: Option<f64> = prose("`search.floor`").example("0.3");
    }

    /// `[store]`: where sessions and records are kept.
    pub struct StoreSettings: Eq in "store." {
        /// The database with sessions and the record of every request: a file of SQLite.
        path: PathBuf = default("data/recto.db").example("\"~/recto.db\"");
        /// A database of PostgreSQL that has all of this instead, for any number of gateways on
        /// any machines. What is in the file is not taken along by itself: `recto store copy`.
        url: Option<String> = kind(KeyKind::Database).prose("the file is used")
            .example("\"postgres://recto@db.example.org/recto\"");
        /// The environment variable that holds the password for `store.url`. The password itself
        /// never stands in the file.
        password_env: Option<String> = kind(KeyKind::Variable).prose("no password is sent")
            .example("\"RECTO_DATABASE_PASSWORD\"");
        /// With `store.url`: after so many seconds without a word from a gateway, others go on
        /// with what it had begun. Its machine may be busy for a while, so not too few.
        lease_seconds: u32 = range(1, 600).default("15").example("30");
        /// How many days the record of a turn is kept: what was sent to the model, and why. What was
        /// said stays, and so does what it cost. Older records are dropped once a day while `recto serve`
        /// runs, and by `recto store gc`; a session always keeps its newest.
        retention: Option<u32> = range(1, 36_500).prose("every record is kept").example("90");
    }

    /// `[server]`: how `recto serve` answers.
    pub struct GatewaySettings: Eq in "server." {
        /// The address and port that it listens on. Beyond this machine it listens only where
        /// there is a token, and asks for one: `recto token create`.
        listen: String = default("127.0.0.1:7411").example("\"127.0.0.1:8080\"");
        /// Other names by which it may be called, such as that of a proxy in front of it; with a
        /// port, only with that one. Requests that name another host are refused, so that no web
        /// site can let its own name point here.
        hosts: Vec<String> = default("").example("[\"recto.example.org\"]");
        /// Whether everybody shows a token, also on this machine. Without it, all who use this
        /// machine are the owner; a server that listens beyond it always asks.
        require_token: bool = default("false").example("true");
        /// The most bytes of a request. Messages with images need more than is usual: a picture
        /// takes a third more than its file.
        max_body_bytes: u32 = range(1_024, 256 * 1024 * 1024).default("1048576").example("8388608");
        /// The same below `/v1` and `/ollama`, where clients send all of a conversation each time.
        max_door_bytes: u32 = range(1_024, 256 * 1024 * 1024).default("16777216").example("67108864");
        /// The most connections at once. When there are more, those without a request make room.
        max_connections: u32 = range(16, 65_536).default("512").example("128");
        /// How many seconds turns that run may take to end when the server is told to.
        grace: Duration = range(0, MAX_SECONDS).default("10").example("60");
    }

    /// `[channels.telegram]`: the agents in Telegram, by a bot.
    ///
    /// `recto serve` runs it. People whom it does not know get a code, and `recto pair approve`
    /// lets them in; in groups it answers when it is named. Which agent answers where, `[[bindings]]`
    /// say: the surface is `telegram`, the account the bot's name, the conversation the id of the
    /// chat.
    pub struct TelegramSettings: Eq in "channels.telegram." {
        /// Whether the bot runs.
        enabled: bool = default("false").example("true");
        /// The environment variable that has the bot's token, which `@BotFather` gives. The token
        /// itself never stands in the file.
        token_env: String =
            kind(KeyKind::Variable).default("TELEGRAM_BOT_TOKEN").example("\"MY_BOT_TOKEN\"");
        /// Where the Bot API is, such as a server of your own.
        api_url: String = kind(KeyKind::Address)
            .default("https://api.telegram.org").example("\"http://127.0.0.1:8081\"");
        /// The owner's own accounts, by their ids: whoever writes from them is the owner.
        owners: Vec<String> = default("").example("[\"4711\"]");
        /// People and groups who are let in without a code, by their ids.
        allow: Vec<String> = default("").example("[\"4712\"]");
        /// What becomes of those who are not known: they get a code for the owner, or no answer.
        strangers: StrangerPolicy = default("pair").example("\"ignore\"");
        /// How many messages of a group come along that were said since the bot was last named,
        /// within `history.channel_context_tokens`. The bot reads them only where its privacy mode
        /// is off, or where it is an administrator.
        context: u32 = range(0, 100).default("0").example("10");
        /// The most bytes of a text file in a message that the model reads; a larger one is named.
        max_file_bytes: u32 = range(0, 1_048_576).default("65536").example("16384");
    }

    /// `[channels.discord]`: the agents in Discord, by a bot.
    ///
    /// `recto serve` runs it. People whom it does not know get a code, and `recto pair approve`
    /// lets them in; in channels it answers when it is named, unless `mode` says something else.
    /// Which agent answers where, `[[bindings]]` say: the surface is `discord`, the account the
    /// bot's id, the conversation the id of the channel, with `/` and the thread's id in a thread.
    pub struct DiscordSettings: Eq in "channels.discord." {
        /// Whether the bot runs.
        enabled: bool = default("false").example("true");
        /// The environment variable that has the bot's token, from the page *Bot* of your
        /// application in Discord's developer portal. The token itself never stands in the file.
        token_env: String =
            kind(KeyKind::Variable).default("DISCORD_BOT_TOKEN").example("\"MY_BOT_TOKEN\"");
        /// Where the REST API is, with its version.
        api_url: String = kind(KeyKind::Address)
            .default("https://discord.com/api/v10").example("\"http://127.0.0.1:8081/api/v10\"");
        /// The owner's own accounts, by their ids: whoever writes from them is the owner.
        owners: Vec<String> = default("").example("[\"4711\"]");
        /// People, channels and servers who are let in without a code, by their ids.
        allow: Vec<String> = default("").example("[\"4712\"]");
        /// What becomes of those who are not known: they get a code for the owner, or no answer.
        strangers: StrangerPolicy = default("pair").example("\"ignore\"");
        /// When the bot answers in channels that have no mode of their own in
        /// `[channels.discord.modes]`: when it is named, to everything, or never. To read what does
        /// not name it, it needs the *Message Content Intent* of Discord's developer portal.
        mode: ChannelMode = default("mention_only").example("\"off\"");
        /// Whether each person has a session of their own in a channel, in place of one for all.
        per_user: bool = default("false").example("true");
        /// How many messages of a channel come along that were said since the bot was last named,
        /// within `history.channel_context_tokens`. For these, too, it needs the *Message Content
        /// Intent*.
        context: u32 = range(0, 100).default("0").example("20");
        /// The most bytes of a text file in a message that the model reads; a larger one is named.
        max_file_bytes: u32 = range(0, 1_048_576).default("65536").example("16384");
    }

    /// `[log]`: what is written down of what happens.
    ///
    /// A line for each turn and each problem, with names, numbers and times. `recto serve` writes
    /// it to standard error; every other command only where `log.file` names a file.
    pub struct LogSettings: Eq in "log." {
        /// How much is written: nothing, or all from this weight on.
        level: LogLevel = default("info").example("\"warn\"");
        /// Lines for people, or JSON for programs.
        format: LogFormat = default("text").example("\"json\"");
        /// The file that lines are added to.
        file: Option<PathBuf> =
            prose("standard error, for `recto serve` alone").example("\"~/recto.log\"");
        /// Whether what people and models say is written, too: to logs, and to a collector.
        contents: bool = default("false").example("true");
    }

    /// `[telemetry]`: what collectors are told.
    pub struct TelemetrySettings: Eq in "telemetry." {
        /// The address of a collector that takes OTLP over HTTP: it is sent a span for each turn,
        /// request and call of a tool, by OpenTelemetry's conventions for generative AI.
        otlp: Option<String> =
            kind(KeyKind::Address).prose("nothing is sent").example("\"http://127.0.0.1:4318\"");
    }

    /// `[window]` as it is written.
    pub(super) struct WindowKeys in "window." {
        /// The most tokens that are used of what a model was trained for, when neither its
        /// `window` nor its server says how large its window is.
        cap: u32 = range(512, MAX_WINDOW).default("8192").example("32768");
    }

    /// `[models.<name>]`: a model that can answer.
    ///
    /// One table for each model; the name is yours to choose. Without any, Recto looks for a
    /// model by itself: Ollama where `OLLAMA_HOST` says it is, or on its usual port, then the
    /// embedded models that were pulled. `recto doctor` shows what it finds.
    pub struct ModelSettings in "models.<name>." given {
        /// The name that people chose for the entry.
        name: String,
        /// Why there is such an entry: it is configured, or how it was found.
        chosen: Arc<str>,
        /// The file of an embedded model that is named by a path. The model then goes by
        /// the file's name.
        file: Option<PathBuf>,
    } {
        /// The wire format that the server speaks; `openai` fits LM Studio, llama.cpp and vLLM
        /// too. Two need no server: `embedded` runs a model file in Recto itself, `scripted`
        /// plays a file of answers.
        provider: Provider = required("none; it must be set").example("\"ollama\"");
        /// The model's name as its server knows it. For `embedded` the name of a pulled model,
        /// such as `smollm2`, or the path of a file in the format GGUF.
        model: String =
            required("none; it must be set, but for `scripted`, which goes by the entry's name")
            .example("\"qwen3:4b\"");
        /// Where the server listens, without user name, password or query; not for `embedded`.
        base_url: Option<String> =
            kind(KeyKind::Address).prose("the provider's usual address")
            .example("\"http://127.0.0.1:11434\"");
        /// The environment variable that holds the server's key; not for `embedded`. The key
        /// itself never stands in the file.
        api_key_env: Option<String> =
            kind(KeyKind::Variable).prose("no key is sent").example("\"LOCAL_API_KEY\"");
        /// The answers of a `scripted` model, one JSON object a line; for no other provider.
        script: Option<PathBuf> =
            prose("none: it answers by repeating what it was told").example("\"answers.jsonl\"");
        /// How many seconds the server may be silent before a call is given up.
        time_limit: Duration = range(1, MAX_SECONDS).default("300").example("60");
        /// The model's window in tokens, prompt and reply together.
        window: Option<u32> =
            range(512, MAX_WINDOW)
            .prose("what the server says, or what `window.cap` and memory allow; if nobody knows, \
                    4,096 is assumed")
            .example("16384");
        /// The room kept free for the reply, and the longest reply asked for; at most a quarter
        /// of the window.
        max_output_tokens: u32 = range(1, MAX_WINDOW).default("1024").example("2048");
        /// How freely the model chooses its words.
        temperature: Option<f64> =
            kind(KeyKind::Float { min: 0.0, max: 2.0 }).prose("the server's").example("0.7");
        /// The share of likely words that the model chooses from.
        top_p: Option<f64> = prose("the server's").example("0.9");
        /// How much of the page a turn with tools gets; `auto` decides by each message.
        context_mode: Option<PlacedValue<ContextMode>> =
            prose("`full`, or as `tool_turn_context` and `minimal_system` say")
            .alias("ollamaContextMode").example("\"minimal\"");
        /// What `auto` does when the message does not tell.
        auto_uncertain: UncertainMode = default("minimal").example("\"full\"");
        /// How many earlier exchanges minimal mode sends.
        minimal_history: u32 = range(0, 50).default("0").example("2");
        /// One system message, or one for each layer; many chat templates refuse a second.
        system_messages: Option<SystemMessages> =
            prose("as `context.preset` has it: `single`, for `layered` `per_layer`")
            .example("\"per_layer\"");
        /// Whether picks stand in the user's message or in messages of their own.
        pick_messages: Option<PickMessages> =
            prose("as `context.preset` has it: `merged`, for `attached` `separate`")
            .example("\"separate\"");
        /// Whether tools are sent as schemas, or described on the page for a server that takes
        /// none.
        tool_calls: Option<ToolCalls> =
            prose("`native`; for `embedded` as far as the model's own chat template has tools")
            .example("\"text\"");
        /// Whether the model looks at images.
        images: Option<bool> =
            prose("what the server says; `embedded` looks at none, and where nobody knows, images \
                   are sent")
            .example("true");
        /// The older setting for turns with tools: `minimal` leaves the history out. Must agree
        /// with `context_mode`.
        tool_turn_context: Option<PlacedValue<ToolTurnContext>> =
            prose("`full`").example("\"minimal\"");
        /// The older setting for a short system text on turns with tools. Must agree with
        /// `context_mode`.
        minimal_system: Option<PlacedValue<bool>> =
            prose("`false`").alias("ollamaMinimalSystem").example("true");
    }

    /// `[items.<kind>]`: what is set for all items of a kind.
    ///
    /// What holds for each rule, reference, skill or tool of which nothing else is said: an
    /// item's own file wins over it, and so does what is set for a single item or, for tools,
    /// for an MCP server. `recto skills set --all`, and the same for the other kinds, writes it.
    pub struct KindSettings: Eq in "items.<kind>." given {
        /// The kind of the items, as the table says it.
        kind: ItemKind,
    } {
        /// How items of the kind come into a session. An item that is called `include` has its
        /// table all the same: `[items.skill.include]`.
        include: Option<IncludeMode> =
            prose("rules and references `manual`, tools `always`, skills as `skills.always_tokens` says")
            .example("\"agent\"");
    }

    /// `[items.<kind>.<name>]`: what is set for a single item.
    ///
    /// Settings of single items, which win over those in the item's own file. The kind is
    /// `rule`, `reference`, `skill` or `tool`, in singular or plural. A skill's own tool goes
    /// by both names, `[items.tool."clock.utc_time"]`, and so does one of an MCP server.
    /// `recto rules set`, and the same for the other kinds, writes these tables.
    pub struct ItemSettings: Eq in "items.<kind>.<name>." given {
        /// The item's kind, as its table says it.
        kind: ItemKind,
        /// The item's name, for a tool of a skill or server both names with a dot.
        name: String,
        /// What the programs of a skill get.
        grants: GrantSettings,
    } {
        /// How the item comes into a session: always, by hand, or when search finds it.
        include: Option<IncludeMode> = prose("as the item's own file says").example("\"agent\"");
        /// Where a rule or reference stands among others of its kind; low numbers first.
        priority: Option<u32> =
            range(0, 999).prose("as the item's own file says").example("100");
        /// Whether a person is asked before the tool, or any tool of the skill, runs; for tools
        /// and skills. `tools.approval` can overrule it.
        permission: Option<ToolPermission> =
            prose("for a tool as its skill or server has it; else as is usual for what it does")
            .example("\"allow\"");
    }

    /// What the programs of a skill get beyond the workspace.
    pub struct GrantSettings: Default, Eq in "items.<kind>.<name>." {
        /// Whether the programs of a skill that asks for the network get it; for skills.
        network: bool = prose("`false`").example("true");
        /// Further paths that the programs of the skill may read; for skills.
        read: Vec<PathBuf> = prose("the workspace alone").example("[\"~/Documents\"]");
        /// Further paths that the programs of the skill may read and write; for skills. Recto's
        /// own files are left out of them.
        write: Vec<PathBuf> = prose("the workspace alone").example("[\"~/Notes\"]");
        /// Variables of Recto's environment that the programs of the skill get to see; for
        /// skills. No others are passed on.
        env: Vec<String> =
            kind(KeyKind::Variables).prose("none").example("[\"WEATHER_API_KEY\"]");
    }

    /// The keys of `[mcp.<name>]` that are for a program.
    ///
    /// One table for each MCP server; the name is yours to choose, of at most 32 letters,
    /// digits, `_` and `-`. A server is a program, which Recto starts when its tools are
    /// first needed, or an address. People see its tools as `server.tool`, and set them by
    /// that name: `[items.tool."files.read_file"]`. What a server runs as has all the rights
    /// that you have, unless `sandbox` puts the guards around it that programs of skills have.
    pub(super) struct ProgramKeys in "mcp.<name>." {
        /// The program of a server that Recto starts: a name that is looked up in `PATH`, or a
        /// path.
        command: Option<String> =
            kind(KeyKind::Program).prose("none; each server has it, or `url`").example("\"npx\"");
        /// The program's arguments, as they are: no shell expands them.
        args: Vec<String> =
            prose("none")
            .example("[\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/files\"]");
        /// Variables of Recto's environment that the program gets to see.
        pass_env: Vec<String> =
            kind(KeyKind::Variables)
            .prose("none but `PATH`, `HOME` and a few others that every program needs")
            .example("[\"FILES_TOKEN\"]");
        /// The folder that the program starts in. Not one that tools can write: what they put
        /// there could make the program run it.
        working_dir: Option<PathBuf> = prose("an empty folder of its own").example("\"/srv\"");
    }

    /// The sandbox around the program of an MCP server.
    pub struct ServerSandboxSettings: Default, Eq in "mcp.<name>." {
        /// Whether the program is held to the guards that the programs of skills are held to: it
        /// reads the system's programs, itself and what `read` names, writes an empty folder of
        /// its own, which is its `HOME`, and what `write` names, and has no network. Without it
        /// the program has all the rights that you have.
        sandbox: bool = prose("`false`").example("true");
        /// Paths that a sandboxed program may read.
        read: Vec<PathBuf> = prose("none").example("[\"/srv/files\"]");
        /// Paths that a sandboxed program may read and write. Recto's own files are left out of
        /// them.
        write: Vec<PathBuf> = prose("none").example("[\"~/Notes\"]");
        /// Whether a sandboxed program may use the network.
        network: bool = prose("`false`").example("true");
    }

    /// The keys of `[mcp.<name>]` that are for an address.
    pub(super) struct AddressKeys in "mcp.<name>." {
        /// The address of a server that runs by itself and speaks Streamable HTTP.
        url: Option<String> =
            kind(KeyKind::Endpoint).prose("none; each server has it, or `command`")
            .example("\"https://mcp.example.org/mcp\"");
        /// The environment variable that holds the key of a server with a `url`.
        api_key_env: Option<String> =
            kind(KeyKind::Variable).prose("no key is sent").example("\"DOCS_API_KEY\"");
    }

    /// `[mcp.<name>]`: an MCP server.
    pub struct ServerSettings: Eq in "mcp.<name>." given {
        /// Its name, the first part of its tools' names.
        name: String,
        /// How it is reached.
        transport: TransportSettings,
    } {
        /// How the server's tools come into a session, unless `[items.tool."server.tool"]` says
        /// otherwise.
        include: Option<IncludeMode> =
            prose("as `items.tool.include` has it, or else `always`").example("\"agent\"");
        /// Whether a person is asked before a tool of the server runs, unless
        /// `[items.tool."server.tool"]` says otherwise.
        permission: Option<ToolPermission> = prose("`ask`").example("\"allow\"");
        /// Whether there is such a server at all.
        enabled: bool = default("true").example("false");
        /// How many seconds the server may take to start.
        start_limit: Duration = range(1, MAX_SECONDS).default("30").example("120");
        /// How many seconds a call may take before it is given up.
        time_limit: Duration = range(1, MAX_SECONDS).default("60").example("300");
    }

    free {
        /// Variables for the program of a server. Values are shown nowhere. What is secret is
        /// named in `pass_env` instead and stands in Recto's own environment.
        in "mcp.<name>.env." {
            /// A variable that the program gets, with its value.
            "<variable>": String = prose("none").example("\"C.UTF-8\"");
        }
    }

    free {
        /// When the bot of Discord answers in single channels, by their ids. A thread has its
        /// channel's mode, unless it has one of its own here.
        in "channels.discord.modes." {
            /// The mode of the channel with this id.
            "<channel>": ChannelMode =
                prose("`channels.discord.mode`").example("\"all_messages\"");
        }
    }
}

/// `[sessions]`: how sessions are kept beside the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptSettings {
    /// The folder where each is kept as Markdown, if it is.
    pub markdown: Option<PathBuf>,
}

/// `[search]`: what search brings for a message.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    /// Whether turns search at all.
    pub enabled: bool,
    /// The encoder, where another is set than the built-in one.
    pub encoder: Option<EncoderChoice>,
    /// What holds where nothing else is set.
    pub preset: SearchPreset,
    /// What is set for all groups.
    pub all: SearchGroupSettings,
    /// What is set for single groups, one entry for each.
    pub groups: Vec<(ItemGroup, SearchGroupSettings)>,
    /// The most items that are listed by name.
    pub list_lines: u32,
    /// The most tokens of that list.
    pub list_tokens: u32,
    /// Whether what was used before in messages like one speaks for items.
    pub own_use: bool,
}

/// An encoder that a person has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncoderChoice {
    /// A model in the folder of models, by its name.
    Model(String),
    /// The folder that it is in.
    Folder(PathBuf),
}

/// A value and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct PlacedValue<T> {
    pub value: T,
    pub place: SettingOrigin,
    /// The key as the person spelled it.
    pub spelled: String,
}

impl ModelSettings {
    /// A problem, or a warning, about the settings that decide the model's context
    /// mode: it stands where the first of them is set and names every one with its
    /// place. `None` when none of them is set.
    pub fn mode_problem(&self, what: impl Into<String>) -> Option<ConfigProblem> {
        fn place<T>(setting: Option<&PlacedValue<T>>) -> Option<(&str, &SettingOrigin)> {
            setting.map(|setting| (setting.spelled.as_str(), &setting.place))
        }
        let places = [
            place(self.context_mode.as_ref()),
            place(self.tool_turn_context.as_ref()),
            place(self.minimal_system.as_ref()),
        ];
        let places: Vec<(&str, &SettingOrigin)> = places.into_iter().flatten().collect();
        let (_, first) = places.first()?;
        let named =
            |(spelled, place): &(&str, &SettingOrigin)| format!("{} at {place}", quoted(spelled));
        let named: Vec<String> = places.iter().map(named).collect();
        let hint = format!("keep those that you mean: {}", named.join(", "));
        Some(ConfigProblem::new((*first).clone(), what).hint(hint))
    }
}

impl ServerSettings {
    /// Whether its program is in the sandbox; `None` where it is no program of Recto's.
    pub fn is_sandboxed(&self) -> Option<bool> {
        match &self.transport {
            TransportSettings::Program { sandbox, .. } => Some(sandbox.sandbox),
            TransportSettings::Address { .. } => None,
        }
    }
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportSettings {
    /// A program that Recto starts.
    Program {
        /// A name, or an absolute path.
        command: String,
        /// The arguments as they are written.
        args: Vec<String>,
        /// Variables with their values, in the order of their names.
        env: Vec<(String, String)>,
        /// Names of variables that are passed on.
        pass_env: Vec<String>,
        /// The folder that it starts in.
        working_dir: Option<PathBuf>,
        /// What holds it, if anything does.
        sandbox: ServerSandboxSettings,
    },
    /// A server that runs by itself.
    Address {
        /// Where it listens, with its last slash.
        url: String,
        /// The variable that holds the key; never the key.
        api_key_env: Option<String>,
    },
}
