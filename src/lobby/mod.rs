//! Finding an opponent: pools with their tickets and the matchmaker that empties them, and challenges.
//!
//! A ticket or a challenge changes by one conditional update, in the transaction that makes its game: of all that
//! is tried at the same instant, exactly one thing happens, and the others are told which. Everything is in the
//! database, so a process may die at any point: before the commit all still wait, after it both find their game.

pub mod challenges;
pub mod matchmaker;
pub mod pairing;
pub mod pools;
pub mod presence;
pub mod tickets;

use sqlx::PgConnection;

use crate::ids::PlayerId;

/// Whether a player is a guest: guests play no rated games.
async fn is_guest(db: &mut PgConnection, player: PlayerId) -> Result<bool, sqlx::Error> {
    let guest = sqlx::query_scalar!("select is_guest from player where player_id = $1", player.0);
    Ok(guest.fetch_optional(db).await?.unwrap_or(false))
}

/// A row that makes no sense, told as what it is: a fault of the database's contents.
fn nonsense(row: impl std::fmt::Display, why: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(format!("{row}: {why}").into())
}
