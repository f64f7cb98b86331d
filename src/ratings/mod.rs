//! Ratings: one for each player and pool, changed once by each rated game that ends.
//!
//! Only a game that ends writes a rating; whatever shows one computes it as of now. Every change is an event with
//! all that went into it, so that [`rebuild`] reproduces every stored number to the last bit.

pub mod glicko;
pub mod history;
pub mod leaderboard;
pub mod offset;
mod rebuild;
mod store;

use sqlx::{PgConnection, PgPool};

pub use self::rebuild::{Difference, rebuild};
use self::{
    glicko::{RULE_VERSION, Rating, RoleOffset},
    offset::{Fit, Sample},
};
use crate::{
    ids::{GameId, PlayerId},
    rules::{ByRole, GameResult, Role},
    wall_clock::Timestamp,
};

/// A finished game that may change two ratings.
#[derive(Clone, Debug)]
pub struct RatedResult {
    /// Which game.
    pub game: GameId,
    /// In which pool.
    pub pool: String,
    /// Who played which role.
    pub players: ByRole<PlayerId>,
    /// Who won.
    pub result: GameResult,
    /// How many plies were played.
    pub plies: u16,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// What a game did to one rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatingChange {
    /// Rating before, as of the game's end.
    pub before: f64,
    /// Rating after.
    pub after: f64,
    /// RD before, as of the game's end.
    pub rd_before: f64,
    /// RD after.
    pub rd_after: f64,
    /// What this side was expected to score, 0 to 1.
    pub expected_score: f64,
    /// The hounds' advantage in points that was reckoned with.
    pub role_offset: f64,
}

/// A rating as it is stored, with when it last changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredRating {
    /// The numbers after the last rated game.
    pub rating: Rating,
    /// Rated games with the hounds and with the hare.
    pub games: ByRole<i32>,
    /// When the last rated game ended.
    pub last_rated_at: Option<Timestamp>,
}

impl StoredRating {
    /// A player without a rated game.
    pub const NEW: StoredRating =
        StoredRating { rating: Rating::NEW, games: ByRole { hounds: 0, hare: 0 }, last_rated_at: None };

    /// The rating as of `now`: idle time makes it less certain.
    pub fn as_of(&self, now: Timestamp) -> Rating {
        let days =
            self.last_rated_at.map_or(0.0, |last| (now - last).num_milliseconds() as f64 / 86_400_000.0);
        self.rating.after_idle(days).quantised()
    }
}

/// The fewest plies of a game that is rated.
pub const LEAST_PLIES: u16 = 2;

/// Changes both ratings by the result of a game, in the transaction that ends it.
///
/// Answers what changed, or nothing for a game that is not rated: one of fewer than [`LEAST_PLIES`], one of a
/// banned player, or one whose numbers make no sense (which is logged as an error and ends the game all the same).
///
/// # Errors
///
/// When the database fails, and when this game was rated before (primary key of `rating_event`).
pub async fn settle(
    tx: &mut PgConnection,
    finished: &RatedResult,
) -> Result<Option<ByRole<RatingChange>>, sqlx::Error> {
    if finished.plies < LEAST_PLIES || store::any_banned(tx, finished.players).await? {
        return Ok(None);
    }
    let stored = store::lock_both(tx, finished.players, &finished.pool).await?;
    let before = stored.map(|rating| rating.as_of(finished.ended_at));
    let (offset_id, offset) = store::current_offset(tx, &finished.pool).await?;
    let Some(rated) = glicko::rate(before, finished.result, offset) else {
        tracing::error!(game = %finished.game, ?before, "the numbers make no sense, so this game rates nothing");
        return Ok(None);
    };
    let settled = store::next_in_order(tx).await?;
    for (role, player) in finished.players.iter() {
        let entry = Entry {
            game: finished.game,
            player: *player,
            opponent: finished.players[role.other()],
            pool: finished.pool.clone(),
            settled,
            role,
            score: score(finished.result, role),
            before: before[role],
            after: rated.after[role],
            expected_score: rated.expected_score[role],
            advantage: rated.advantage,
            offset_id,
            rule_version: RULE_VERSION,
            rated_at: finished.ended_at,
        };
        store::insert_event(tx, &entry).await?;
        let mut games = stored[role].games;
        games[role] += 1;
        let next = StoredRating { rating: entry.after, games, last_rated_at: Some(finished.ended_at) };
        store::update_rating(tx, *player, &finished.pool, &next).await?;
    }
    Ok(Some(ByRole::from_fn(|role| RatingChange {
        before: before[role].rating,
        after: rated.after[role].rating,
        rd_before: before[role].rd,
        rd_after: rated.after[role].rd,
        expected_score: rated.expected_score[role],
        role_offset: rated.advantage,
    })))
}

/// One rating event, as it is stored.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    game: GameId,
    player: PlayerId,
    opponent: PlayerId,
    pool: String,
    settled: i64,
    role: Role,
    score: f64,
    before: Rating,
    after: Rating,
    expected_score: f64,
    advantage: f64,
    offset_id: Option<i64>,
    rule_version: i32,
    rated_at: Timestamp,
}

/// What a role scored: a win 1, a draw ½, a loss 0.
fn score(result: GameResult, role: Role) -> f64 {
    match result.winner() {
        None => 0.5,
        Some(winner) if winner == role => 1.0,
        Some(_) => 0.0,
    }
}

/// A player's rating in a pool as of `now`.
///
/// # Errors
///
/// When the database fails.
pub async fn current(
    conn: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
) -> Result<Rating, sqlx::Error> {
    let stored = store::find(conn, player, pool).await?;
    Ok(stored.unwrap_or(StoredRating::NEW).as_of(now))
}

/// What an operator is told of a newly published role offset.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its id, which every rating event from now on names.
    pub id: i64,
    /// The numbers.
    pub fit: Fit,
}

/// Fits the role offset of a pool from its log and publishes it for the games that end from now on.
///
/// Answers nothing when there are too few games of two established players ([`offset::LEAST_GAMES`]).
///
/// # Errors
///
/// When the database fails.
pub async fn publish_offset(
    db: &PgPool,
    pool: &str,
    now: Timestamp,
) -> Result<Option<Published>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let samples: Vec<Sample> = store::offset_samples(&mut tx, pool).await?;
    let Some(fit) = offset::fit(&samples) else { return Ok(None) };
    let id = store::insert_offset(&mut tx, pool, &fit, now).await?;
    tx.commit().await?;
    Ok(Some(Published { id, fit }))
}

/// The role offset that a pool plays by now, with its id; zero when none is published.
///
/// # Errors
///
/// When the database fails.
pub async fn current_offset(
    conn: &mut PgConnection,
    pool: &str,
) -> Result<(Option<i64>, RoleOffset), sqlx::Error> {
    store::current_offset(conn, pool).await
}
