//! The one table of all keys: what there is to set, of what kind, with what
//! default, and what it does.
//!
//! The reader of the file, the reader of variables, the resolver's defaults and
//! the reference page all come from here, so they can't disagree.

use std::fmt;

use super::choices::{
    Approval, AutoUncertain, Compaction, ContextMode, Group, Include, ItemKind, Named, Permission,
    PickMessages, PickPlacement, Preset, Provider, Reload, Sandbox, SearchPreset, SkillRender,
    SystemMessages, ToolCalls, ToolTurnContext, item_kind,
};

/// The largest window that a config may claim, in tokens.
const MAX_WINDOW: u32 = 10_000_000;

/// The longest that anything may be waited for: a day.
const MAX_SECONDS: u32 = 24 * 60 * 60;

/// The longest that a question to a person may stay open: 30 days.
const MAX_OPEN_SECONDS: u32 = 30 * MAX_SECONDS;

/// The most candidates that a search may look at, or take.
const MAX_FOUND: u32 = 1_000;

/// All keys, table by table.
pub static KEYS: &[Key] = &[
    key("model", Kind::Text)
        .prose("the first of `[models]` in the file; without any, the one that is found")
        .example("\"qwen3\"")
        .doc(
            "The model entry that answers, by its name in `[models]`. Without any there, one is \
             looked for: `ollama` on this machine, then the embedded models that were pulled, by \
             their names.",
        ),
    key("reload", Kind::Choice(Reload::NAMES)).default("turn").example("\"startup\"").doc(
        "When changed files of the workspace are read again: on every turn, or at start only.",
    ),
    key("agents.<name>.workspace", Kind::Path)
        .default("workspace")
        .example("\"~/agents/main\"")
        .doc("The folder with the agent's files."),
    key("agents.<name>.model", Kind::Text)
        .prose("`model`")
        .example("\"qwen3\"")
        .doc("The agent's model entry. A variable or flag for `model` wins over it."),
    key("context.preset", Kind::Choice(Preset::NAMES))
        .default("recto")
        .example("\"layered\"")
        .doc("The form of the page that the model reads."),
    key("context.picks", Kind::Choice(PickPlacement::NAMES))
        .prose("as `context.preset` has it: `turn_only`, for `layered` `in_layer`")
        .example("\"kept\"")
        .doc("Where that which search found for a message stands, and how long it stays."),
    key("context.target_tokens", Kind::Integer { min: 512, max: MAX_WINDOW })
        .prose("the model's window")
        .example("4000")
        .doc("Keeps requests smaller than the window would allow."),
    key("history.max_messages", Kind::Integer { min: 1, max: 100_000 })
        .default("50")
        .example("30")
        .doc("The most messages of a session that are sent, the newest first."),
    key("history.max_tokens", Kind::Integer { min: 1, max: MAX_WINDOW })
        .default("8192")
        .example("4096")
        .doc("The most tokens that these messages may cost."),
    key("history.channel_max_messages", Kind::Integer { min: 1, max: 100_000 })
        .default("20")
        .example("10")
        .doc(
            "The same as `history.max_messages` where several people talk: a group, a Discord \
             channel. The smaller of the two holds there.",
        ),
    key("history.compaction", Kind::Choice(Compaction::NAMES))
        .default("off")
        .example("\"extract\"")
        .doc(
            "Whether a summary stands for messages that leave because a limit is reached: none, one \
             of sentences as they were said, or one that the model writes. The messages themselves \
             are kept; `recto sessions expand` takes a summary back.",
        ),
    key("history.summary_tokens", Kind::Integer { min: 32, max: MAX_WINDOW })
        .default("512")
        .example("256")
        .doc("The most tokens of such a summary; it never takes more than a quarter of the history's."),
    key("memory.max_entries", Kind::Integer { min: 0, max: 10_000 })
        .default("20")
        .example("10")
        .doc("The most memories on the page; 0 leaves memories out."),
    key("memory.max_tokens", Kind::Integer { min: 0, max: MAX_WINDOW })
        .default("1000")
        .example("500")
        .doc("The most tokens that these memories may cost."),
    key("sessions.markdown", Kind::Bool)
        .default("false")
        .example("true")
        .doc(
            "Whether each session is also kept as a Markdown file, from its fourth message on, in the \
             folder `sessions` of Recto's home.",
        ),
    key("skills.directory", Kind::Path)
        .default("skills")
        .example("\"~/skills\"")
        .doc("The first folder where skills are looked for, before the workspace's own."),
    key("skills.extra_dirs", Kind::PathList)
        .default("")
        .example("[\"/opt/team/skills\"]")
        .doc("Further folders with skills; a later folder wins where names are the same."),
    key("skills.disabled", Kind::TextList)
        .default("")
        .example("[\"weather\"]")
        .doc("Skills that are left out, by name."),
    key("skills.render", Kind::Choice(SkillRender::NAMES))
        .prose("as `context.preset` has it: `full`, for `layered` `description`")
        .aliases(&["contextMode"])
        .example("\"read_on_demand\"")
        .doc(
            "How skills are shown: with their bodies, as a list with a tool that reads one, or as \
             a list alone.",
        ),
    key("skills.allow_scripts", Kind::Bool)
        .default("false")
        .example("true")
        .doc("Whether the tools of skills may run the scripts in a skill's folder `scripts`."),
    key("tools.approval", Kind::Choice(Approval::NAMES))
        .default("per_tool")
        .aliases(&["toolPermission"])
        .example("\"always\"")
        .doc(
            "When a person is asked before a tool runs: before every call, never, or as each tool \
             has it. Unless something else is set for them, tools that write, programs of skills \
             and MCP servers ask, and tools that only read don't. The word `tool` is accepted for \
             `per_tool`.",
        ),
    key("tools.approval_expires", Kind::Integer { min: 1, max: MAX_OPEN_SECONDS })
        .default("86400")
        .example("3600")
        .doc("How many seconds a person has to answer; then the answer is no."),
    key("tools.sandbox", Kind::Choice(Sandbox::NAMES))
        .default("best_effort")
        .example("\"required\"")
        .doc(
            "What happens on a system that lacks some of the guards around programs: they run \
             with those there are, or they don't run. `recto tools list` shows which there are.",
        ),
    key("tools.max_rounds", Kind::Integer { min: 1, max: 1_000 })
        .default("20")
        .example("10")
        .doc("The most rounds of tool calls in one turn; then the turn ends with every call answered."),
    key("tools.max_output_bytes", Kind::Integer { min: 256, max: 16 * 1024 * 1024 })
        .default("65536")
        .example("16384")
        .doc("The most that a model is shown of what a call gave; a longer one is cut in its middle."),
    key("tools.time_limit", Kind::Integer { min: 1, max: MAX_SECONDS })
        .default("30")
        .example("120")
        .doc("How many seconds a call may take before it is ended."),
    key("tools.disabled", Kind::TextList)
        .default("")
        .example("[\"write_file\"]")
        .doc(
            "Tools that are left out: built-in ones by name, those of skills and MCP servers as \
             `skill.tool` and `server.tool`.",
        ),
    key("search.enabled", Kind::Bool)
        .default("true")
        .example("false")
        .doc("Whether a turn looks for items with `include = \"agent\"` that fit its message."),
    key("search.preset", Kind::Choice(SearchPreset::NAMES))
        .default("normal")
        .example("\"conservative\"")
        .doc(
            "How many items are taken, and how sure search has to be of each: at most 3 from a \
             probability of 0.6 on, 5 from 0.4 on, or 8 from 0.25 on.",
        ),
    key("search.top_k", Kind::Integer { min: 1, max: MAX_FOUND })
        .prose("20")
        .example("10")
        .doc("How many candidates of each group are looked at, and kept in the record."),
    key("search.top_n", Kind::Integer { min: 0, max: MAX_FOUND })
        .prose("as `search.preset` has it: 3, 5 or 8")
        .example("4")
        .doc("The most items of each group that are taken."),
    key("search.include_score", Kind::Float { min: 0.0, max: 1.0 })
        .prose("0.7")
        .example("0.8")
        .doc("The cosine from which on an item is taken whatever else holds."),
    key("search.floor", Kind::Float { min: 0.0, max: 1.0 })
        .prose("as `search.preset` has it: 0.6, 0.4 or 0.25")
        .example("0.5")
        .doc("The least probability of an item that is taken."),
    key("search.<group>.top_k", Kind::Integer { min: 1, max: MAX_FOUND })
        .prose("`search.top_k`")
        .example("50")
        .doc("How many candidates of this group are looked at, and kept in the record."),
    key("search.<group>.top_n", Kind::Integer { min: 0, max: MAX_FOUND })
        .prose("`search.top_n`")
        .example("2")
        .doc("The most items of this group that are taken."),
    key("search.<group>.include_score", Kind::Float { min: 0.0, max: 1.0 })
        .prose("`search.include_score`")
        .example("0.9")
        .doc("The cosine from which on an item of this group is taken whatever else holds."),
    key("search.<group>.floor", Kind::Float { min: 0.0, max: 1.0 })
        .prose("`search.floor`")
        .example("0.3")
        .doc("The least probability of an item of this group that is taken."),
    key("store.path", Kind::Path)
        .default("data/recto.db")
        .example("\"~/recto.db\"")
        .doc("The database with sessions and the record of every request."),
    key("window.cap", Kind::Integer { min: 512, max: MAX_WINDOW })
        .default("8192")
        .example("32768")
        .doc(
            "The most tokens that are used of what a model was trained for, when neither its \
             `window` nor its server says how large its window is.",
        ),
    key("models.<name>.provider", Kind::Choice(Provider::NAMES))
        .required()
        .example("\"ollama\"")
        .doc(
            "The wire format that the server speaks; `openai` fits LM Studio, llama.cpp and vLLM \
             too. Two need no server: `embedded` runs a model file in Recto itself, `scripted` \
             plays a file of answers.",
        ),
    key("models.<name>.model", Kind::Text)
        .prose("none; it must be set, but for `scripted`, which goes by the entry's name")
        .example("\"qwen3:4b\"")
        .doc(
            "The model's name as its server knows it. For `embedded` the name of a pulled model, \
             such as `smollm2`, or the path of a file in the format GGUF.",
        ),
    key("models.<name>.base_url", Kind::Address)
        .prose("the provider's usual address")
        .example("\"http://127.0.0.1:11434\"")
        .doc(
            "Where the server listens, without user name, password or query; not for `embedded`.",
        ),
    key("models.<name>.api_key_env", Kind::Variable)
        .prose("no key is sent")
        .example("\"LOCAL_API_KEY\"")
        .doc(
            "The environment variable that holds the server's key; not for `embedded`. The key \
             itself never stands in the file.",
        ),
    key("models.<name>.script", Kind::Path)
        .prose("none: it answers by repeating what it was told")
        .example("\"answers.jsonl\"")
        .doc("The answers of a `scripted` model, one JSON object a line; for no other provider."),
    key("models.<name>.time_limit", Kind::Integer { min: 1, max: MAX_SECONDS })
        .default("300")
        .example("60")
        .doc("How many seconds the server may be silent before a call is given up."),
    key("models.<name>.window", Kind::Integer { min: 512, max: MAX_WINDOW })
        .prose("what the server says, or what `window.cap` and memory allow; if nobody knows, 4,096 is assumed")
        .example("16384")
        .doc("The model's window in tokens, prompt and reply together."),
    key("models.<name>.max_output_tokens", Kind::Integer { min: 1, max: MAX_WINDOW })
        .default("1024")
        .example("2048")
        .doc(
            "The room kept free for the reply, and the longest reply asked for; at most a quarter \
             of the window.",
        ),
    key("models.<name>.temperature", Kind::Float { min: 0.0, max: 2.0 })
        .prose("the server's")
        .example("0.7")
        .doc("How freely the model chooses its words."),
    key("models.<name>.top_p", Kind::Float { min: 0.0, max: 1.0 })
        .prose("the server's")
        .example("0.9")
        .doc("The share of likely words that the model chooses from."),
    key("models.<name>.context_mode", Kind::Choice(ContextMode::NAMES))
        .prose("`full`, or as `tool_turn_context` and `minimal_system` say")
        .aliases(&["ollamaContextMode"])
        .example("\"minimal\"")
        .doc("How much of the page a turn with tools gets; `auto` decides by each message."),
    key("models.<name>.auto_uncertain", Kind::Choice(AutoUncertain::NAMES))
        .default("minimal")
        .example("\"full\"")
        .doc("What `auto` does when the message does not tell."),
    key("models.<name>.minimal_history", Kind::Integer { min: 0, max: 50 })
        .default("0")
        .example("2")
        .doc("How many earlier exchanges minimal mode sends."),
    key("models.<name>.system_messages", Kind::Choice(SystemMessages::NAMES))
        .prose("as `context.preset` has it: `single`, for `layered` `per_layer`")
        .example("\"per_layer\"")
        .doc("One system message, or one for each layer; many chat templates refuse a second."),
    key("models.<name>.pick_messages", Kind::Choice(PickMessages::NAMES))
        .prose("as `context.preset` has it: `merged`, for `attached` `separate`")
        .example("\"separate\"")
        .doc("Whether picks stand in the user's message or in messages of their own."),
    key("models.<name>.tool_calls", Kind::Choice(ToolCalls::NAMES))
        .prose("`native`; for `embedded` as far as the model's own chat template has tools")
        .example("\"text\"")
        .doc(
            "Whether tools are sent as schemas, or described on the page for a server that takes \
             none.",
        ),
    key("models.<name>.tool_turn_context", Kind::Choice(ToolTurnContext::NAMES))
        .prose("`full`")
        .example("\"minimal\"")
        .doc(
            "The older setting for turns with tools: `minimal` leaves the history out. Must agree \
             with `context_mode`.",
        ),
    key("models.<name>.minimal_system", Kind::Bool)
        .prose("`false`")
        .aliases(&["ollamaMinimalSystem"])
        .example("true")
        .doc(
            "The older setting for a short system text on turns with tools. Must agree with \
             `context_mode`.",
        ),
    key("items.<kind>.<name>.include", Kind::Choice(Include::NAMES))
        .prose("as the item's own file says")
        .example("\"agent\"")
        .doc("How the item comes into a session: always, by hand, or when search finds it."),
    key("items.<kind>.<name>.priority", Kind::Integer { min: 0, max: 999 })
        .prose("as the item's own file says")
        .example("100")
        .doc("Where a rule or reference stands among others of its kind; low numbers first."),
    key("items.<kind>.<name>.permission", Kind::Choice(Permission::NAMES))
        .prose("for a tool as its skill or server has it; else as is usual for what it does")
        .example("\"allow\"")
        .doc(
            "Whether a person is asked before the tool, or any tool of the skill, runs; for tools \
             and skills. `tools.approval` can overrule it.",
        ),
    key("items.<kind>.<name>.network", Kind::Bool)
        .prose("`false`")
        .example("true")
        .doc("Whether the programs of a skill that asks for the network get it; for skills."),
    key("items.<kind>.<name>.read", Kind::PathList)
        .prose("the workspace alone")
        .example("[\"~/Documents\"]")
        .doc("Further paths that the programs of the skill may read; for skills."),
    key("items.<kind>.<name>.write", Kind::PathList)
        .prose("the workspace alone")
        .example("[\"~/Notes\"]")
        .doc(
            "Further paths that the programs of the skill may read and write; for skills. Recto's \
             own files are left out of them.",
        ),
    key("items.<kind>.<name>.env", Kind::Variables)
        .prose("none")
        .example("[\"WEATHER_API_KEY\"]")
        .doc(
            "Variables of Recto's environment that the programs of the skill get to see; for \
             skills. No others are passed on.",
        ),
    key("mcp.<name>.command", Kind::Text)
        .prose("none; each server has it, or `url`")
        .example("\"npx\"")
        .doc(
            "The program of a server that Recto starts: a name that is looked up in `PATH`, or a \
             path.",
        ),
    key("mcp.<name>.args", Kind::TextList)
        .prose("none")
        .example("[\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/files\"]")
        .doc("The program's arguments, as they are: no shell expands them."),
    key("mcp.<name>.pass_env", Kind::Variables)
        .prose("none but `PATH`, `HOME` and a few others that every program needs")
        .example("[\"FILES_TOKEN\"]")
        .doc("Variables of Recto's environment that the program gets to see."),
    key("mcp.<name>.working_dir", Kind::Path)
        .prose("an empty folder of its own")
        .example("\"/srv\"")
        .doc(
            "The folder that the program starts in. Not one that tools can write: what they put \
             there could make the program run it.",
        ),
    key("mcp.<name>.url", Kind::Endpoint)
        .prose("none; each server has it, or `command`")
        .example("\"https://mcp.example.org/mcp\"")
        .doc("The address of a server that runs by itself and speaks Streamable HTTP."),
    key("mcp.<name>.api_key_env", Kind::Variable)
        .prose("no key is sent")
        .example("\"DOCS_API_KEY\"")
        .doc("The environment variable that holds the key of a server with a `url`."),
    key("mcp.<name>.include", Kind::Choice(Include::NAMES))
        .default("always")
        .example("\"agent\"")
        .doc(
            "How the server's tools come into a session, unless `[items.tool.\"server.tool\"]` says \
             otherwise.",
        ),
    key("mcp.<name>.permission", Kind::Choice(Permission::NAMES))
        .prose("`ask`")
        .example("\"allow\"")
        .doc(
            "Whether a person is asked before a tool of the server runs, unless \
             `[items.tool.\"server.tool\"]` says otherwise.",
        ),
    key("mcp.<name>.enabled", Kind::Bool)
        .default("true")
        .example("false")
        .doc("Whether there is such a server at all."),
    key("mcp.<name>.start_limit", Kind::Integer { min: 1, max: MAX_SECONDS })
        .default("30")
        .example("120")
        .doc("How many seconds the server may take to start."),
    key("mcp.<name>.time_limit", Kind::Integer { min: 1, max: MAX_SECONDS })
        .default("60")
        .example("300")
        .doc("How many seconds a call may take before it is given up."),
    key("mcp.<name>.env.<variable>", Kind::Text)
        .prose("none")
        .example("\"C.UTF-8\"")
        .doc("A variable that the program gets, with its value."),
];

/// A key that the config accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// The dotted path. `<name>` stands for any name, `<kind>` for a kind of
    /// items, `<group>` for kinds that are searched together, and `<variable>`,
    /// at the end, for a key whose name is a person's own.
    pub path: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What holds when it is not set.
    pub fallback: Fallback,
    /// Other spellings of the last part, beside the camelCase one that every
    /// key has.
    pub aliases: &'static [&'static str],
    /// A value in TOML, other than the default.
    pub example: &'static str,
    /// What it does, as a sentence.
    pub doc: &'static str,
}

/// What values a key takes. `Display` says it in words: `must be …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Any text that is not blank.
    Text,
    /// A path; `~` is the person's home, relative ones start at Recto's home.
    Path,
    /// The address of a server, below which there are others.
    Address,
    /// An address that is used as it is, up to its last slash.
    Endpoint,
    /// The name of an environment variable.
    Variable,
    /// A list of such names.
    Variables,
    /// True or false.
    Bool,
    /// A whole number within bounds.
    Integer {
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
    },
    /// A number within bounds.
    Float {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of names.
    TextList,
    /// A list of paths.
    PathList,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text => f.write_str("a string"),
            Kind::Path => f.write_str("a path"),
            Kind::Address | Kind::Endpoint => {
                f.write_str("an address that starts with `http://` or `https://`")
            }
            Kind::Variable => f.write_str("the name of an environment variable"),
            Kind::Variables => f.write_str("a list of names of environment variables"),
            Kind::Bool => f.write_str("`true` or `false`"),
            Kind::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Kind::Float { min, max } => write!(f, "a number from {min} to {max}"),
            Kind::Choice(names) => {
                write!(f, "one of {}", super::problem::listed(names.iter().copied()))
            }
            Kind::TextList => f.write_str("a list of strings"),
            Kind::PathList => f.write_str("a list of paths"),
        }
    }
}

/// What holds when a key is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// This value, written as in a variable.
    Value(&'static str),
    /// Nothing here; others decide, and this says how.
    Prose(&'static str),
    /// The table is useless without it.
    Required,
}

impl Key {
    /// The table that the key stands in; empty for the top level.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// The last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The name of the key that a person calls `name`: its own, or that very
    /// name where people choose it.
    pub(super) fn name_for<'a>(&self, name: &'a str) -> &'a str {
        if self.is_free() { name } else { self.name() }
    }

    /// Whether people choose the key's name.
    fn is_free(&self) -> bool {
        self.name().starts_with('<')
    }

    /// Every spelling but the name itself.
    pub fn spellings(&self) -> Vec<String> {
        let camel = camel_case(self.name());
        let camel = (camel != self.name()).then_some(camel);
        self.aliases.iter().map(|alias| (*alias).to_owned()).chain(camel).collect()
    }

    /// The environment variable that sets the key. Keys of named tables have
    /// none: a name in a variable could not be told from the key.
    pub fn variable(&self) -> Option<String> {
        let has_names = self.path.contains('<');
        (!has_names).then(|| format!("RECTO_{}", self.path.replace('.', "_").to_uppercase()))
    }

    fn accepts(&self, name: &str) -> bool {
        let is_spelling = || self.spellings().iter().any(|spelling| spelling == name);
        self.is_free() || self.name() == name || is_spelling()
    }

    // The methods below build the table; each sets one field.

    const fn default(mut self, text: &'static str) -> Self {
        self.fallback = Fallback::Value(text);
        self
    }

    const fn prose(mut self, text: &'static str) -> Self {
        self.fallback = Fallback::Prose(text);
        self
    }

    const fn required(mut self) -> Self {
        self.fallback = Fallback::Required;
        self
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }
}

const fn key(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, fallback: Fallback::Required, aliases: &[], example: "", doc: "" }
}

/// The key of exactly this path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The camelCase spelling of a `snake_case` name.
pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// What a name means in a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Child {
    /// A key.
    Key(&'static Key),
    /// A table below.
    Table {
        /// Its path as in [`KEYS`].
        path: String,
        /// The name itself, brought to the form that we use.
        name: String,
    },
}

/// What `name` means in the table of that path (as in [`KEYS`]).
pub(super) fn child(table: &str, name: &str) -> Option<Child> {
    KEYS.iter().find_map(|key| match below(table, key)? {
        Below::Key if key.accepts(name) => Some(Child::Key(key)),
        Below::Table(part) => {
            let name = canonical_table(part, name)?;
            let path = if table.is_empty() { part.to_owned() } else { format!("{table}.{part}") };
            Some(Child::Table { path, name })
        }
        Below::Key => None,
    })
}

/// The names that a table knows, each with every spelling of it, in order.
pub(super) fn children(table: &str) -> Vec<(&'static str, Vec<String>)> {
    let mut children: Vec<(&'static str, Vec<String>)> = Vec::new();
    for key in KEYS {
        let found = match below(table, key) {
            Some(Below::Key) => vec![(key.name(), key.spellings())],
            Some(Below::Table("<kind>")) => plain_names(ItemKind::NAMES),
            Some(Below::Table("<group>")) => plain_names(Group::NAMES),
            Some(Below::Table(part)) => vec![(part, Vec::new())],
            None => Vec::new(),
        };
        for child in found {
            if !children.contains(&child) {
                children.push(child);
            }
        }
    }
    children
}

/// Names that have no other spelling.
fn plain_names(names: &[&'static str]) -> Vec<(&'static str, Vec<String>)> {
    names.iter().map(|name| (*name, Vec::new())).collect()
}

enum Below {
    Key,
    Table(&'static str),
}

/// What of `key` comes directly below `table`, if it stands there at all.
fn below(table: &str, key: &'static Key) -> Option<Below> {
    let rest = match table {
        "" => key.path,
        table => key.path.strip_prefix(table)?.strip_prefix('.')?,
    };
    Some(match rest.split_once('.') {
        Some((part, _)) => Below::Table(part),
        None => Below::Key,
    })
}

/// The name of a table as we use it, or `None` if `part` does not allow it.
fn canonical_table(part: &str, name: &str) -> Option<String> {
    match part {
        "<name>" => Some(name.to_owned()),
        "<kind>" => item_kind(name).map(|kind| kind.name().to_owned()),
        "<group>" => Group::from_name(name).map(|group| group.name().to_owned()),
        part => (part == name).then(|| part.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::value;
    use super::*;

    #[test]
    fn every_key_is_described() {
        for key in KEYS {
            assert!(key.doc.ends_with('.'), "{}", key.path);
            assert!(!key.example.is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn every_default_fits_its_kind() {
        for key in KEYS {
            if let Fallback::Value(text) = key.fallback {
                assert!(value::from_text(key.kind, text).is_ok(), "{}", key.path);
            }
        }
    }

    #[test]
    fn no_two_keys_share_a_spelling_or_a_variable() {
        let mut seen = BTreeSet::from(["RECTO_HOME".to_owned()]);
        for key in KEYS {
            let mut spellings = key.spellings();
            spellings.push(key.name().to_owned());
            for spelling in spellings {
                assert!(seen.insert(format!("{}.{spelling}", key.table())), "{}", key.path);
            }
            if let Some(variable) = key.variable() {
                assert!(seen.insert(variable), "{}", key.path);
            }
        }
    }

    #[test]
    fn variables_are_the_path_in_upper_case() {
        let variable = |path| find(path).unwrap().variable();
        assert_eq!(variable("context.preset").as_deref(), Some("RECTO_CONTEXT_PRESET"));
        assert_eq!(variable("model").as_deref(), Some("RECTO_MODEL"));
        assert_eq!(variable("models.<name>.window"), None);
    }

    #[test]
    fn names_are_found_in_their_table_only() {
        let found = |table, name| match child(table, name) {
            Some(Child::Key(key)) => key.path.to_owned(),
            Some(Child::Table { path, name }) => format!("{path} {name}"),
            None => "nothing".to_owned(),
        };
        assert_eq!(found("", "model"), "model");
        assert_eq!(found("", "models"), "models models");
        assert_eq!(found("models", "qwen3"), "models.<name> qwen3");
        assert_eq!(found("models.<name>", "topP"), "models.<name>.top_p");
        assert_eq!(found("items", "rules"), "items.<kind> rule");
        assert_eq!(found("items", "memories"), "nothing");
        assert_eq!(found("search", "topN"), "search.top_n");
        assert_eq!(found("search", "memories"), "search.<group> memories");
        assert_eq!(found("search", "rules"), "nothing");
        assert_eq!(found("search.<group>", "floor"), "search.<group>.floor");
        assert_eq!(found("skills", "contextMode"), "skills.render");
        assert_eq!(found("context", "max_messages"), "nothing");
        assert_eq!(found("context.preset", "x"), "nothing");
        assert_eq!(found("mcp.<name>", "env"), "mcp.<name>.env env");
        assert_eq!(found("mcp.<name>.env", "ANY"), "mcp.<name>.env.<variable>");
    }
}
