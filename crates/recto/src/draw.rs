//! What people see in the terminal: tables, and a request as a bar of layers
//! with a table of its items. Everything reads without colour.

mod open_turn;
mod request;
mod table;
mod usage;

pub(crate) use open_turn::open_turn;
pub(crate) use request::request;
pub(crate) use table::TextTable;
pub(crate) use usage::{last_used, session_usage, usage};
