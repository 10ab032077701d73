//! Recto over HTTP: the API, the front doors of OpenAI and Ollama, and the web pages.
//!
//! [`serve`] is the door: it answers on a listener until it is told to end. What the handlers
//! share is a [`Gateway`]: the agents, their store, and a way to ask the program around it.
//! Who calls is found out once, in `access.rs`; what they may do is decided in
//! `recto-agent`'s table of rights, like everywhere else.
//!
//! A turn that comes in here is the same as any other: stored before it is acknowledged, run by its
//! session's mailbox, recorded. This crate knows no SQL and assembles no page for a model.

mod access;
mod api;
mod assets;
mod connections;
mod events;
mod extract;
mod front_door;
mod gateway;
mod health;
mod host;
mod includes;
mod metrics;
mod ollama;
mod openai;
mod pages;
mod problem;
mod router;
mod serve;
mod session_feed;
mod watched_stream;

pub use access::{
    AccessControl, AccessOptions, AllowedHost, ConnectionAddress, FormKey, OwnerAccess,
    ParseHostError, TokenSecret,
};
pub use api::write_openapi;
pub use connections::ConnectionLimits;
pub use gateway::{Gateway, GatewayParts};
pub use health::{ServiceKind, ServiceReport, ServiceStatus};
pub use host::{
    HostAnswer, HostHandle, HostObstacle, HostProblem, HostRequest, IncludeChange, IncludeTarget,
};
pub use serve::{ServeOptions, serve};
