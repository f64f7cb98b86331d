//! Leveret: ranked play for hunt games, over HTTP, on PostgreSQL.
//!
//! The map, in reading order:
//!
//! - pure (no I/O, no clock, no randomness of its own): [`rules`], [`solver`];
//! - plumbing (knows nothing of players or games): [`ids`], [`wall_clock`], [`config`], [`dice`], [`telemetry`], [`db`],
//!   [`events`], [`tables`] (which keeps what the solver has found);
//! - domain (each folder owns its tables and its errors): [`accounts`], [`ratings`], [`games`], [`lobby`];
//! - edge: [`http`], and [`app`], which wires everything.
//!
//! A module uses what stands above it, never what stands below; `tests/tidy.rs` checks it.

pub mod rules;
pub mod solver;

pub mod config;
pub mod db;
pub mod dice;
pub mod events;
pub mod ids;
pub mod tables;
pub mod telemetry;
pub mod wall_clock;

pub mod accounts;
pub mod games;
pub mod lobby;
pub mod ratings;

pub mod app;
pub mod http;
