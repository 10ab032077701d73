//! A server's tool, as the toolbox runs it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use recto_context::{ContentHash, ItemId, ToolSpec};
use rmcp::model::JsonObject;

use super::server::McpServer;
use crate::action::{ActionFields, ServerFields};
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

    /// The hash of what the tool is: the server with its set-up, and what the server says of the
    /// tool. A person who allows it has read that, and allows nothing else.
    fn own_identity(&self) -> ContentHash {
        let ToolSpec { id, description, schema, .. } = &self.spec;
        let told = (id.key(), description.as_deref(), schema.hash().to_string());
        ContentHash::of_bytes(format!("{} {told:?}", self.server.identity()).as_bytes())
    }

    fn action(&self, arguments: &CallArguments) -> ToolAction {
        let place = self.server.place();
        let arguments = arguments.as_value();
        let hash = format!("{} {arguments}", self.own_identity());
        let hash = ContentHash::of_bytes(hash.as_bytes());
        let fields = ServerFields {
            server: self.server.name().to_string(),
            tool: self.spec.id.name.to_string(),
            place,
            sandbox: self.server.sandbox_rights(),
            arguments: arguments.clone(),
        };
        ToolAction::new(ActionFields::Server(fields), ApprovalNeed::Leave, hash)
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
        self.own_identity()
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
            self.server.call(&self.spec, object(&arguments)).await
        }
        .boxed()
    }
}

fn object(arguments: &CallArguments) -> JsonObject {
    arguments.as_value().as_object().cloned().unwrap_or_default()
}
