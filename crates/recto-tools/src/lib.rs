//! What models can call, and safe ways to run it.
//!
//! Start at [`Toolbox`]. It takes the calls of a model's reply, checks each
//! against the schema of the tool that was offered, runs them side by side and
//! gives a result for every one. A call can't fail the round: an unknown tool,
//! wrong arguments, a tool that hangs or panics all become results that tell
//! the model what happened.
//!
//! So far there are the file tools and `read_skill`. Nothing here asks a person
//! for approval, runs a program or opens a socket, and no tool reaches a file
//! outside the workspace.

mod arguments;
mod blocking;
mod files;
mod options;
mod repeated;
mod schema;
mod shorten;
mod skill;
mod tool;
mod toolbox;

pub use arguments::Arguments;
pub use options::{CallLimits, ToolOptions};
pub use shorten::shorten;
pub use tool::{CallContext, Tool, ToolError, ToolOutcome, ToolOutput, ToolResult};
pub use toolbox::Toolbox;
