//! A server's tool, as the toolbox runs it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use recto_context::{ContentHash, ItemId, ToolSpec};
use rmcp::model::JsonObject;
use serde_json::json;

use super::server::McpServer;
use crate::arguments::CallArguments;
use crate::tool::{
    ApprovalNeed, CallContext, Consent, Tool, ToolAction, ToolClass, ToolError, ToolOutput,
};

/// A tool of an MCP server.
pub(super) struct ServerTool {
    server: Arc<McpServer>,
    spec: ToolSpec,
}

impl ServerTool {
    pub(super) fn new(server: Arc<McpServer>, spec: ToolSpec) -> Self {
        ServerTool { server, spec }
    }

    fn action(&self, arguments: &CallArguments) -> ToolAction {
        let (key, place) = (self.spec.id.key(), self.server.place());
        let arguments = arguments.as_value();
        let pretty = serde_json::to_string_pretty(arguments).unwrap_or_default();
        let identity = self.server.identity();
        let hash = ContentHash::of_bytes(format!("{identity} {key:?} {arguments}").as_bytes());
        ToolAction {
            detail: format!("{key}, by the MCP server at {place}, with\n{pretty}"),
            title: key,
            needs: ApprovalNeed::Leave,
            hash,
            data: json!({
                "server": self.server.name(),
                "tool": &self.spec.id.name,
                "place": place,
                "arguments": arguments,
            }),
        }
    }
}

impl Tool for ServerTool {
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.spec)
    }

    fn class(&self) -> ToolClass {
        ToolClass::Server
    }

    fn identity(&self, _: &CallContext) -> ContentHash {
        let (key, server) = (self.spec.id.key(), self.server.identity());
        ContentHash::of_bytes(format!("{server} {key:?}").as_bytes())
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        ready(Ok(self.action(arguments))).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        _context: &'a CallContext,
        consent: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        async move {
            if let Consent::To(hash) = consent
                && hash != self.action(&arguments).hash
            {
                let text = "it is not what was allowed: the server is set up otherwise since then";
                return Err(ToolError::new(text));
            }
            self.server.call(&self.spec.id.name, object(&arguments)).await
        }
        .boxed()
    }
}

fn object(arguments: &CallArguments) -> JsonObject {
    arguments.as_value().as_object().cloned().unwrap_or_default()
}
