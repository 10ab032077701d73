//! What the commands do, one file each.

pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod init;
pub(crate) mod items;
