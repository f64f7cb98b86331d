//! Which positions stand in live rated games at this moment, for the analysis to keep quiet about.
//!
//! A question is answered by a look at the database that began after it was asked, so the answer is never stale. All
//! who ask meanwhile share the next look, and a look reads only the moves that are new since the one before.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicU64, Ordering},
};

use sqlx::PgPool;
use tokio::sync::Mutex;

use super::store;
use crate::{
    ids::GameId,
    rules::{Play, Position, Variant},
};

/// The positions of the live rated games.
#[derive(Default)]
pub struct LivePositions {
    looks_begun: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    look: u64,
    plays: HashMap<GameId, Play>,
    positions: HashSet<(Variant, Position)>,
}

impl LivePositions {
    /// Whether this position, or a mirror image of it, stands in a live rated game of this variant, whatever the
    /// house rules.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn has(&self, db: &PgPool, variant: Variant, position: Position) -> Result<bool, sqlx::Error> {
        let asked_after = self.looks_begun.load(Ordering::SeqCst);
        let mut seen = self.seen.lock().await;
        if seen.look <= asked_after {
            let look = self.looks_begun.fetch_add(1, Ordering::SeqCst) + 1;
            seen.catch_up(db).await?;
            seen.look = look;
        }
        Ok(seen.positions.contains(&(variant, first_image(variant, position))))
    }
}

impl Seen {
    async fn catch_up(&mut self, db: &PgPool) -> Result<(), sqlx::Error> {
        let known: Vec<_> = self.plays.iter().map(|(id, play)| (*id, play.ply())).collect();
        let live = store::new_moves_of_live_rated(db, &known).await?;
        let mut plays = HashMap::with_capacity(live.len());
        for game in live {
            let Some(mut play) = self.plays.remove(&game.id).or(game.begun) else { continue };
            for text in &game.new_moves {
                if let Err(err) = play.play(text) {
                    return Err(sqlx::Error::Decode(
                        format!("game {} makes no sense: {err}", game.id).into(),
                    ));
                }
            }
            plays.insert(game.id, play);
        }
        self.plays = plays;
        let standing = |play: &Play| {
            let variant = play.rules().variant();
            (variant, first_image(variant, play.position()))
        };
        self.positions = self.plays.values().map(standing).collect();
        Ok(())
    }
}

/// The same for all images of a position.
fn first_image(variant: Variant, position: Position) -> Position {
    variant.images(position).min().unwrap_or(position)
}
