//! What people see in the terminal: tables, a request as a bar of layers with a table of its
//! items, and the page as a model reads it. Everything reads without colour, and fits the terminal.

mod open_turn;
mod page;
mod question;
mod request;
mod table;
mod usage;
mod wrap;

pub(crate) use open_turn::open_turn;
pub(crate) use page::{added_page, whole_page};
pub(crate) use question::exact_line;
pub(crate) use request::request;
pub(crate) use table::TextTable;
pub(crate) use usage::{last_used, session_usage, usage};
pub(crate) use wrap::{PageWidth, cut_to, labelled, labelled_exactly, wrap_exactly, wrap_words};
