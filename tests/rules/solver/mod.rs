//! The tables of both games, held against the rules engine.

mod hare_and_hounds;
