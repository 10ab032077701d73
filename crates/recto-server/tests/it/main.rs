//! The server from the outside: real sockets on loopback, a real store, the scripted model.

mod doors;
mod support;
mod turns;
