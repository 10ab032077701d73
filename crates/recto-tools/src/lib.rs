//! What models can call, and safe ways to run it.
//!
//! Start at [`Toolbox`]. It takes the calls of a model's reply, checks each
//! against the schema of the tool that was offered, runs them side by side and
//! gives a result for every one. A call can't fail the round: an unknown tool,
//! wrong arguments, a tool that hangs or panics all become results that tell
//! the model what happened.
//!
//! There are three kinds of tools: those that Recto brings (`files`, `skill`),
//! programs that skills declare in their tools.json (`declared`, run by
//! `programs` inside a `sandbox`), and those of MCP servers (`mcp`). What a call
//! would do can be described without doing it, and `policy` says when a person
//! has to be shown that first. Nothing here asks anybody: that is done above.
//!
//! No shell stands between an argument and its program, no tool reaches a file
//! outside the workspace unless a person granted it, and no program outlives the
//! call that ran it.

mod action;
mod arguments;
mod blocking;
mod clip;
mod declared;
mod files;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod json_text;
mod launch;
mod mcp;
mod options;
mod own_folder;
mod policy;
mod process;
mod programs;
mod reading;
mod sandbox;
mod schema;
mod shorten;
mod tool;
mod toolbox;

pub use action::{
    ActionFields, CallFields, DiffNote, FileChange, FileFields, NamedFile, ProgramFields,
    ServerFields, UnseenSkill,
};
pub use arguments::CallArguments;
pub use declared::{DeclarationFlaw, ToolFlaws, check_declaration, trust_hash};
pub use launch::{launch_if_asked, own_executable};
pub use mcp::{
    ServerError, ServerFailure, ServerProblem, ServerRegistry, ServerReport, ServerStatus,
    ServerTools,
};
pub use options::{
    CallLimits, Grants, NetworkAccess, ProgramOptions, ProtectedPath, SandboxPolicy, ScriptPolicy,
    ServerIncludes, ServerKey, ServerOptions, ServerSandbox, ServerTransport, ToolOptions,
};
pub use policy::{ApprovalMode, ToolPermission, ToolPolicy};
pub use process::{PeerStanding, peer_standing};
pub use sandbox::{Guards, MemoryGuard, NoControlGroup, ProgramReach, ViewGuard, guards};
pub use shorten::{shorten, whole_length};
pub use tool::{
    ApprovalNeed, CallContext, Consent, SkillLook, Tool, ToolAction, ToolCaller, ToolClass,
    ToolError, ToolOutcome, ToolOutput, ToolResult, TrustedSkill, TrustedSkills,
};
pub use toolbox::{
    ApprovalRequest, CallPermit, CallRefusal, SessionLeave, ToolCallVerdict, Toolbox,
};
