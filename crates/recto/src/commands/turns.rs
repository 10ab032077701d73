//! `recto show`, `recto diff`, `recto replay`, `recto why`: what was sent, as it was recorded.
//!
//! What there is to tell comes from `recto-agent`; this only draws it.

pub(crate) mod diff;
pub(crate) mod replay;
pub(crate) mod show;
mod text;
pub(crate) mod why;
