//! The server from the outside: real sockets on loopback, a real store, the scripted model.

mod pages;
mod support;
mod turns;
