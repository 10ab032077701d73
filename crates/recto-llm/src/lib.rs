//! What vendors' wires look like.
//!
//! The rest of Recto knows one page, the [`RequestContext`]; this crate knows
//! how each vendor wants it written down. Nothing outside of it names a field
//! of a vendor's JSON.
//!
//! [`encode`] is pure: the same request and options give the same bytes, so
//! that what was recorded is what was sent, and a server's cache finds the
//! prefix it has seen before. It has four limits of its own:
//!
//! - It adds nothing to the page and leaves nothing out, apart from what a wire
//!   refuses; each such case is named where it is handled.
//! - It never alters a text.
//! - It never fails. A request that exists can be written on every wire.
//! - It never sees a credential: those travel in headers, not in bodies.
//!
//! [`RequestContext`]: recto_context::RequestContext

mod wire;

pub use wire::{CallOptions, Wire, encode};
