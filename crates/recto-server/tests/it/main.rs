//! The server from the outside: real sockets on loopback, a real store, the scripted model.

mod security;
mod support;
mod turns;
