//! The built-in tools against a real disk.

// A test helper may fail like a test.
#![allow(clippy::unwrap_used)]

mod approval;
mod files;
#[cfg(unix)]
mod hostile;
mod specs;
#[cfg(unix)]
mod swaps;

use std::fs;
use std::path::PathBuf;

use futures_util::StreamExt;
use recto_context::{CallId, ToolCall, ToolSpec};
use recto_tools::{CallContext, CallPermit, Consent, ToolOptions, ToolResult, Toolbox};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with `workspace/` in it, gone when the test ends.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Home { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(home.path("workspace")).unwrap();
        home
    }

    /// A home with these files in its workspace.
    fn with(files: &[(&str, &str)]) -> Self {
        let home = Home::new();
        for (path, content) in files {
            home.write(path, content);
        }
        home
    }

    /// A path beside the workspace.
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A path in the workspace.
    fn inside(&self, path: &str) -> PathBuf {
        self.path("workspace").join(path)
    }

    /// Writes a file of the workspace, past the tools.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).unwrap()
    }

    fn options(&self) -> ToolOptions {
        ToolOptions::new(self.path("workspace"))
    }

    fn toolbox(&self) -> Toolbox {
        Toolbox::new(self.options())
    }

    /// One call with the usual options: `Done: text` and the like.
    async fn call(&self, name: &str, arguments: Value) -> String {
        call(&self.toolbox(), name, arguments).await
    }
}

fn tool_call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        id: CallId("call".into()),
        name: name.into(),
        arguments: arguments.to_string().into(),
    }
}

async fn run(toolbox: &Toolbox, calls: &[ToolCall]) -> Vec<ToolResult> {
    run_all(toolbox, calls, &toolbox.specs(), &CallContext::default()).await
}

async fn call(toolbox: &Toolbox, name: &str, arguments: Value) -> String {
    let results = run(toolbox, &[tool_call(name, &arguments)]).await;
    results.iter().map(show).collect()
}

fn show(result: &ToolResult) -> String {
    format!("{:?}: {}", result.outcome, result.text)
}

/// The results of a round, in the order of its calls.
pub(crate) async fn run_all(
    toolbox: &Toolbox,
    calls: &[ToolCall],
    offered: &[ToolSpec],
    context: &CallContext,
) -> Vec<ToolResult> {
    let permits = vec![CallPermit::Go(Consent::Unasked); calls.len()];
    let mut results: Vec<_> = toolbox.run_each(calls, &permits, offered, context).collect().await;
    results.sort_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, result)| result).collect()
}
