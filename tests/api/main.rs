//! The service from outside: every test talks HTTP to a server of its own, on a database of its own.

mod harness;

mod accounts;
mod errors;
mod games;
mod live;
mod lobby;
mod openapi;
mod processes;
mod ratings;
mod starting;
mod variants;
