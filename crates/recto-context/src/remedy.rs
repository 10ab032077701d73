//! What a person can do about a problem, for the surface that says how.
//!
//! No crate below the surfaces names a command: a page has buttons where a terminal
//! has commands. An error or a notice has its words, which make sense by
//! themselves, and where Recto itself has the means, a [`Remedy`] beside them.

use serde::{Deserialize, Serialize};

/// Something that Recto can do about a problem when a person asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say it")]
pub enum Remedy {
    /// Ask the servers of the configured models what they have.
    CheckModels,
    /// Get the file of a model.
    PullModel,
    /// Take in the file of a model that was fetched by other means.
    PullModelFile,
    /// Get the model that embeds texts for the search.
    PullEncoder,
    /// Pull the model that Recto brings along, where there is none to talk to.
    PullFirstModel,
    /// Give a model another name, or remove the one that has it.
    FreeModelName { name: String },
    /// Look at what there is and what is wrong with it.
    InspectSetup,
    /// Look at the bytes of a request.
    ShowRequest,
    /// Look at the rules, references, skills and tools.
    ListItems,
    /// Look at the questions of all sessions that wait for an answer.
    ListApprovals,
    /// Answer the question whether a tool may run.
    AnswerApproval { approval: i64 },
    /// Look at the memories.
    ListMemories,
    /// Remember something by one's own hand.
    Remember,
    /// Say that a skill's programs may run as they are now.
    TrustSkill { skill: String },
    /// Say when skills are included of which nothing says it.
    SetSkillIncludes,
    /// Put the messages back that a summary stands for.
    UndoSummary,
    /// Give another session another name.
    RenameSession,
    /// Go on with a session.
    OpenSession { name: String },
    /// Look at the MCP servers that are set up.
    ListServers,
    /// Start an MCP server by itself and see what it says.
    CheckServer { server: String },
    /// Make a workspace.
    InitWorkspace,
    /// Send a message again whose turn was not finished.
    AskAgain,
    /// Say something to the agent.
    Talk,
    /// Look at the turns of a session.
    ListTurns,
    /// Look at a turn.
    ShowTurn { turn: i64 },
    /// Look at one request of a turn.
    ShowOneRequest { turn: i64, request: u32 },
    /// Name two turns to compare them.
    CompareTurns,
    /// Send the page of a turn to a model of one's choice.
    ReplayOnModel,
    /// Copy what can be read of a damaged store to a new one.
    SalvageStore,
    /// Make a token that lets somebody in.
    CreateToken,
    /// Let somebody in who asked for it in a chat, and was given this code.
    ApprovePairing { pairing_code: String },
}
