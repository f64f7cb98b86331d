//! Looking back: a player's ratings, every change of one, streaks and the best win.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{StoredRating, glicko::Rating};
use crate::{
    ids::{GameId, PlayerId},
    rules::{ByRole, Role},
    wall_clock::Timestamp,
};

/// A player's rating in one pool.
#[derive(Clone, Debug)]
pub struct PoolRating {
    /// The pool.
    pub pool: String,
    /// The numbers as they are stored.
    pub stored: StoredRating,
}

/// A player's ratings in every pool that they have a rated game in.
///
/// # Errors
///
/// When the database fails.
pub async fn ratings(conn: &mut PgConnection, player: PlayerId) -> Result<Vec<PoolRating>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select pool_id, rating, rd, volatility, hounds_games, hare_games, last_rated_at
        from rating
        where player_id = $1 and last_rated_at is not null
        order by pool_id
        "#,
        player.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| PoolRating {
            pool: row.pool_id,
            stored: StoredRating {
                rating: Rating { rating: row.rating, rd: row.rd, volatility: row.volatility },
                games: ByRole { hounds: row.hounds_games, hare: row.hare_games },
                last_rated_at: row.last_rated_at,
            },
        })
        .collect())
}

/// One change of a rating.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its place in the order of settling.
    pub settled: i64,
    /// The game that made it.
    pub game: GameId,
    /// With which role it was played.
    pub role: Role,
    /// Against whom; none when the account is closed.
    pub opponent: Option<String>,
    /// 1, ½ or 0.
    pub score: f64,
    /// What was expected, 0 to 1.
    pub expected_score: f64,
    /// Rating before.
    pub before: f64,
    /// Rating after.
    pub after: f64,
    /// RD before.
    pub rd_before: f64,
    /// RD after.
    pub rd_after: f64,
    /// The hounds' advantage that was reckoned with.
    pub role_offset: f64,
    /// The version of the role offset; none before the first was published.
    pub role_offset_version: Option<i64>,
    /// When the game ended.
    pub rated_at: Timestamp,
}

/// Every change of a player's rating in a pool, newest first, those settled before `before` if it is given.
///
/// # Errors
///
/// When the database fails or holds a row that makes no sense.
pub async fn history(
    conn: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Change>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            settled, game_id as "game_id: GameId", role, opponent.username as "opponent?", score, expected_score,
            rating_before, rating_after, rd_before, rd_after, advantage, role_offset_id, rated_at
        from rating_event
        join player opponent on opponent.player_id = rating_event.opponent_id
        where rating_event.player_id = $1 and pool_id = $2 and ($3::bigint is null or settled < $3)
        order by settled desc
        limit $4
        "#,
        player.0,
        pool,
        before,
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Change {
                settled: row.settled,
                game: row.game_id,
                role: row.role.parse().map_err(|_| sqlx::Error::Decode("rating_event.role".into()))?,
                opponent: row.opponent,
                score: row.score,
                expected_score: row.expected_score,
                before: row.rating_before,
                after: row.rating_after,
                rd_before: row.rd_before,
                rd_after: row.rd_after,
                role_offset: row.advantage,
                role_offset_version: row.role_offset_id,
                rated_at: row.rated_at,
            })
        })
        .collect()
}

/// The win against the highest rated opponent.
#[derive(Clone, Debug)]
pub struct BestWin {
    /// The game.
    pub game: GameId,
    /// Against whom; none when the account is closed.
    pub opponent: Option<String>,
    /// The opponent's rating before it.
    pub opponent_rating: f64,
    /// When it ended.
    pub at: Timestamp,
}

/// Streaks and the best win in one pool.
#[derive(Clone, Debug)]
pub struct PoolRecord {
    /// The pool.
    pub pool: String,
    /// Wins in a row up to now (negative: losses in a row).
    pub streak: i64,
    /// The most wins in a row ever.
    pub best_streak: i64,
    /// The highest rating reached.
    pub peak: f64,
    /// The best win.
    pub best_win: Option<BestWin>,
}

/// A player's record in each pool.
///
/// # Errors
///
/// When the database fails.
pub async fn records(conn: &mut PgConnection, player: PlayerId) -> Result<Vec<PoolRecord>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        with mine as (
            select
                pool_id, score, rating_after, settled,
                row_number() over (partition by pool_id order by settled)
                    - row_number() over (partition by pool_id, score order by settled) as run
            from rating_event
            where player_id = $1
        ),
        runs as (
            select pool_id, score, run, count(*) as length, max(settled) as last
            from mine
            group by pool_id, score, run
        ),
        best as (
            select distinct on (mine.pool_id)
                mine.pool_id, mine.game_id, opponent.username, theirs.rating_before, mine.rated_at
            from rating_event mine
            join rating_event theirs on theirs.game_id = mine.game_id and theirs.player_id = mine.opponent_id
            join player opponent on opponent.player_id = mine.opponent_id
            where mine.player_id = $1 and mine.score = 1
            order by mine.pool_id, theirs.rating_before desc, mine.settled
        )
        select
            pools.pool_id as "pool_id!", pools.peak as "peak!",
            coalesce((
                select case score when 1 then length when 0 then -length else 0 end
                from runs
                where runs.pool_id = pools.pool_id
                order by last desc
                limit 1
            ), 0) as "streak!",
            coalesce((
                select max(length) from runs where runs.pool_id = pools.pool_id and score = 1
            ), 0) as "best_streak!",
            best.game_id as "game_id?: GameId", best.username as "username?", best.rating_before as "rating?",
            best.rated_at as "rated_at?: DateTime<Utc>"
        from (select pool_id, max(rating_after) as peak from mine group by pool_id) pools
        left join best on best.pool_id = pools.pool_id
        order by pools.pool_id
        "#,
        player.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| PoolRecord {
            pool: row.pool_id,
            streak: row.streak,
            best_streak: row.best_streak,
            peak: row.peak,
            best_win: match (row.game_id, row.rating, row.rated_at) {
                (Some(game), Some(opponent_rating), Some(at)) => {
                    Some(BestWin { game, opponent: row.username, opponent_rating, at })
                }
                _ => None,
            },
        })
        .collect())
}
