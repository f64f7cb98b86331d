//! The log of a game as its readers follow it.

use serde_json::Value;
use sqlx::PgPool;

use super::{Game, GameClock, clock::Tick, store};
use crate::{ids::GameId, rules::Role, wall_clock::Timestamp};

/// Something that happened in a game.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Its number, from 1.
    pub number: i32,
    /// One of the kinds that the table knows.
    pub kind: String,
    /// When it happened.
    pub at: Timestamp,
    /// Whose doing it was.
    pub role: Option<Role>,
    /// The ply of a move.
    pub ply: Option<u16>,
    /// The text of a move.
    pub text: Option<String>,
    /// What else there is to say.
    pub data: Option<Value>,
    /// The game's clock after it.
    pub clock: Option<GameClock>,
}

/// What happened in a game after a number of its log, and the game as of these entries or later.
///
/// # Errors
///
/// When the database fails.
pub async fn log_since(
    db: &PgPool,
    id: GameId,
    after: i32,
) -> Result<Option<(Game, Vec<LogEntry>)>, sqlx::Error> {
    // In this order: the game then has every move that the entries have.
    let mut entries = store::entries(db, id, after).await?;
    let Some(game) = store::find(db, id).await? else { return Ok(None) };
    let mut clock = GameClock::start(game.clock.setting(), game.created_at);
    for entry in &mut entries {
        let given = entry.data.as_ref().and_then(|data| data["ms"].as_i64());
        match (entry.kind.as_str(), given) {
            ("move", _) => drop(clock.moved(entry.at)),
            ("time_given", Some(ms)) => drop(clock.tick(Tick::Given(ms))),
            ("ended", _) => clock.stop(entry.at),
            _ => {}
        }
        entry.clock = Some(clock);
    }
    entries.retain(|entry| entry.number > after);
    Ok(Some((game, entries)))
}
