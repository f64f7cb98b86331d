//! Games that this process has just played a move in, so that the next move needs no read.
//!
//! What is remembered is never believed: the statement that records a move checks the ply again, and whatever the
//! memory refuses is looked up before it is refused. So a stale entry costs one more read and nothing else.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;

use super::Game;
use crate::ids::{GameId, PlayerId};

/// The games that are being played, a bounded number of them.
#[derive(Clone)]
pub struct HotGames(Cache<GameId, Arc<Game>>);

impl HotGames {
    /// Remembers at most `most` games, each until nothing has been played in it for ten minutes.
    pub fn new(most: u64) -> HotGames {
        HotGames(Cache::builder().max_capacity(most).time_to_idle(Duration::from_secs(600)).build())
    }

    pub(super) fn get(&self, id: GameId) -> Option<Arc<Game>> {
        self.0.get(&id)
    }

    pub(super) fn keep(&self, game: Arc<Game>) {
        self.0.insert(game.id, game);
    }

    pub(super) fn forget(&self, id: GameId) {
        self.0.invalidate(&id);
    }

    /// Forgets the games of a player who is called something else now.
    pub fn forget_games_of(&self, player: PlayerId) {
        let plays = |game: &Game| game.seats.iter().any(|(_, seat)| seat.player == player);
        let theirs: Vec<_> = self.0.iter().filter(|(_, game)| plays(game)).map(|(id, _)| *id).collect();
        theirs.into_iter().for_each(|id| self.forget(id));
    }
}
