//! Who has shown a sign of life of late.
//!
//! Kept in memory, so that reading writes nothing. Each step of the matchmaker takes all of it and writes it down for
//! every process, and into the tickets of those who wait; what is kept is therefore never more than the players of two
//! seconds. `games` reads it to tell who has left a game.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::ids::PlayerId;

/// The players who called since the matchmaker last looked. Its clones share them.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<Mutex<HashSet<PlayerId>>>);

impl Presence {
    /// Notes a sign of life.
    pub fn note(&self, player: PlayerId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(player);
    }

    /// Takes all that was noted.
    pub fn drain(&self) -> Vec<PlayerId> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}
