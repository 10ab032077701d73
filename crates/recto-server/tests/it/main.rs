//! The server from the outside: real sockets on loopback, a real store, the scripted model.

mod api;
mod doors;
mod pages;
mod security;
mod support;
mod turns;
