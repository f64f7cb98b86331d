//! What the tests act with: a server, people who use it, and a contract that watches every answer.
//!
//! Helpers go through HTTP; those that touch the database say so by a name in `db_…`. Time moves by
//! `app.clock.advance(…)`, tasks take a step when they are told to, and nothing sleeps.

mod app;
mod contract;
pub mod database;
mod player;
mod race;
mod stream;

pub use app::TestApp;
pub use contract::{Contract, Operation, operations};
pub use player::{Client, Player, Reply};
pub use race::holding;
pub use stream::Stream;
