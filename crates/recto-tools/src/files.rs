//! The file tools: read, write and list, inside the workspace and nowhere else.
//!
//! A path that a model writes becomes an open folder in `walk.rs` and only
//! there, one step at a time, so that neither `..` nor a link leads out, also
//! not a link that is made while a call runs. What no tool may write, because
//! it decides what the agent is and may do, is in `guard.rs`.

mod guard;
mod lines;
mod list;
mod problem;
mod read;
mod walk;
mod write;

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use recto_context::{AudienceKind, Catalog, ItemId, ToolSpec};

use crate::arguments::CallArguments;
use crate::blocking::{Stop, blocking};
use crate::options::{ProtectedPath, ToolOptions};
use crate::tool::{CallContext, Consent, Tool, ToolAction, ToolClass, ToolError, ToolOutput};
use guard::is_private_name;
pub(crate) use guard::{is_protected, linked_places, private_places, protected_paths};
pub(crate) use problem::{FileError, FileResult};
pub(crate) use walk::{LastLink, ResolvedPath, WorkspaceRoot};
pub(crate) use write::{CreatedFile, create_empty};

/// Bytes of a call's output that stay free for notes on what was left out.
const NOTE_ROOM: usize = 512;

/// The workspace as all file tools reach it.
#[derive(Debug)]
pub(crate) struct FileAccess {
    workspace: PathBuf,
    protected: Vec<ProtectedPath>,
    /// Bytes of content that fit into a call's output.
    room: usize,
}

impl FileAccess {
    pub(crate) fn new(options: ToolOptions) -> Self {
        let ToolOptions { workspace, protected, limits, .. } = options;
        FileAccess { workspace, protected, room: limits.max_output_bytes.saturating_sub(NOTE_ROOM) }
    }

    /// Keeps files of memories from those who are not the owner in private: what they may
    /// see of them, they recall.
    fn keep_private(&self, arguments: &CallArguments, who: AudienceKind) -> Result<(), ToolError> {
        let Some(path) = arguments.text("path").filter(|_| who != AudienceKind::Owner) else {
            return Ok(());
        };
        let steps = Path::new(path).components();
        let mut named = steps.filter_map(|step| match step {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let is_named = named.any(|name| is_private(name, who));
        // Also by way of a link.
        let real = |path: PathBuf| path.canonicalize().ok();
        let leads_there = real(self.workspace.join(path)).is_some_and(|target| {
            let places = private_places(&self.workspace);
            places.iter().any(|place| target.starts_with(place))
        });
        let refusal = "files of memories are not read or written in this conversation; use recall";
        if is_named || leads_there { Err(ToolError::new(refusal)) } else { Ok(()) }
    }

    fn open(&self) -> FileResult<WorkspaceRoot> {
        WorkspaceRoot::open(&self.workspace)
    }
}

/// Makes the file tools, in the order in which they are offered.
pub(crate) fn file_tools(files: FileAccess) -> [Arc<dyn Tool>; 3] {
    let files = Arc::new(files);
    [read::tool(files.clone()), write::tool(files.clone()), list::tool(files)]
        .map(|tool| Arc::new(tool) as Arc<dyn Tool>)
}

/// A tool for files: what the model reads about it, and what it does, on a thread
/// that may wait for the disk.
struct FileTool {
    spec: ToolSpec,
    files: Arc<FileAccess>,
    class: ToolClass,
    describe: fn(&FileAccess, &CallArguments, &Catalog) -> FileResult<ToolAction>,
    run: fn(&FileAccess, &CallArguments, &FileContext<'_>, &Stop) -> FileResult<String>,
}

/// What a call comes with: the catalog, the consent, and before whom it is made.
pub(crate) struct FileContext<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) consent: Consent,
    pub(crate) who: AudienceKind,
}

/// Whether what is called this belongs to the memories, which only the owner in private sees.
fn is_private(name: &OsStr, who: AudienceKind) -> bool {
    who != AudienceKind::Owner && is_private_name(name)
}

impl Tool for FileTool {
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.spec)
    }

    fn class(&self) -> ToolClass {
        self.class
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        let (describe, files) = (self.describe, self.files.clone());
        let (arguments, catalog) = (arguments.clone(), context.catalog.clone());
        let who = context.caller.audience.who;
        blocking(move |_| {
            files.keep_private(&arguments, who)?;
            Ok(describe(&files, &arguments, &catalog)?)
        })
        .boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        consent: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        let (run, files, catalog) = (self.run, self.files.clone(), context.catalog.clone());
        let who = context.caller.audience.who;
        let work = move |stop: &Stop| {
            files.keep_private(&arguments, who)?;
            let context = FileContext { catalog: &catalog, consent, who };
            Ok(run(&files, &arguments, &context, stop)?)
        };
        blocking(work).boxed()
    }
}

/// Describes a call that only looks at something, for where a person is asked before
/// every call.
fn describe_look(_: &FileAccess, arguments: &CallArguments, _: &Catalog) -> FileResult<ToolAction> {
    Ok(ToolAction::from_arguments("look at", arguments))
}
