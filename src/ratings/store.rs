//! SQL of the ratings.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{
    Entry, StoredRating,
    glicko::{PROVISIONAL_RD, Rating, RoleOffset},
    offset::{Fit, MOST_GAMES, Sample},
};
use crate::{
    ids::PlayerId,
    rules::{ByRole, Role},
    wall_clock::Timestamp,
};

/// Whether one of the two may not be rated.
pub async fn any_banned(conn: &mut PgConnection, players: ByRole<PlayerId>) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select from player
            where player_id in ($1, $2) and banned_at is not null
        ) as "banned!"
        "#,
        players.hounds.0,
        players.hare.0,
    )
    .fetch_one(conn)
    .await
}

struct RatingRow {
    player_id: PlayerId,
    rating: f64,
    rd: f64,
    volatility: f64,
    hounds_games: i32,
    hare_games: i32,
    last_rated_at: Option<DateTime<Utc>>,
}

impl From<RatingRow> for StoredRating {
    fn from(row: RatingRow) -> StoredRating {
        StoredRating {
            rating: Rating { rating: row.rating, rd: row.rd, volatility: row.volatility },
            games: ByRole { hounds: row.hounds_games, hare: row.hare_games },
            last_rated_at: row.last_rated_at,
        }
    }
}

/// Holds both rows until the transaction ends, made if need be, always in the order of the players' ids: two games
/// that end at once wait for each other and never for ever.
pub async fn lock_both(
    tx: &mut PgConnection,
    players: ByRole<PlayerId>,
    pool: &str,
) -> Result<ByRole<StoredRating>, sqlx::Error> {
    let mut ordered = [players.hounds, players.hare];
    ordered.sort();
    for player in ordered {
        sqlx::query!(
            r#"
            insert into rating (player_id, pool_id)
            values ($1, $2)
            on conflict on constraint rating_pkey do nothing
            "#,
            player.0,
            pool,
        )
        .execute(&mut *tx)
        .await?;
    }
    let rows = sqlx::query_as!(
        RatingRow,
        r#"
        select player_id as "player_id: PlayerId", rating, rd, volatility, hounds_games, hare_games, last_rated_at
        from rating
        where pool_id = $3 and player_id in ($1, $2)
        order by player_id
        for update
        "#,
        players.hounds.0,
        players.hare.0,
        pool,
    )
    .fetch_all(tx)
    .await?;
    let mut stored = ByRole { hounds: StoredRating::NEW, hare: StoredRating::NEW };
    for row in rows {
        let role = if row.player_id == players.hounds { Role::Hounds } else { Role::Hare };
        stored[role] = row.into();
    }
    Ok(stored)
}

/// A player's row, if a rated game made one.
pub async fn find(
    conn: &mut PgConnection,
    player: PlayerId,
    pool: &str,
) -> Result<Option<StoredRating>, sqlx::Error> {
    let row = sqlx::query_as!(
        RatingRow,
        r#"
        select player_id as "player_id: PlayerId", rating, rd, volatility, hounds_games, hare_games, last_rated_at
        from rating
        where player_id = $1 and pool_id = $2
        "#,
        player.0,
        pool,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(StoredRating::from))
}

/// The next place in the order of settling. Ask only while both rows are held.
pub async fn next_in_order(tx: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"select nextval('rating_order') as "settled!""#).fetch_one(tx).await
}

/// Writes one event.
pub async fn insert_event(tx: &mut PgConnection, entry: &Entry) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        insert into rating_event (
            game_id, player_id, opponent_id, pool_id, settled, role, score,
            rating_before, rd_before, volatility_before, rating_after, rd_after, volatility_after,
            expected_score, advantage, role_offset_id, rule_version, rated_at
        )
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
        "#,
        entry.game.0,
        entry.player.0,
        entry.opponent.0,
        entry.pool,
        entry.settled,
        entry.role.to_string(),
        entry.score,
        entry.before.rating,
        entry.before.rd,
        entry.before.volatility,
        entry.after.rating,
        entry.after.rd,
        entry.after.volatility,
        entry.expected_score,
        entry.advantage,
        entry.offset_id,
        entry.rule_version,
        entry.rated_at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Writes what a player's rating is now.
pub async fn update_rating(
    tx: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    next: &StoredRating,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        update rating
        set rating = $3, rd = $4, volatility = $5, hounds_games = $6, hare_games = $7, last_rated_at = $8
        where player_id = $1 and pool_id = $2
        "#,
        player.0,
        pool,
        next.rating.rating,
        next.rating.rd,
        next.rating.volatility,
        next.games.hounds,
        next.games.hare,
        next.last_rated_at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The offset that was published last.
pub async fn current_offset(
    conn: &mut PgConnection,
    pool: &str,
) -> Result<(Option<i64>, RoleOffset), sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select role_offset_id, a, b
        from role_offset
        where pool_id = $1
        order by role_offset_id desc
        limit 1
        "#,
        pool,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or((None, RoleOffset::ZERO), |row| {
        (Some(row.role_offset_id), RoleOffset { a: row.a, b: row.b })
    }))
}

/// The last games of two established players, oldest first.
pub async fn offset_samples(conn: &mut PgConnection, pool: &str) -> Result<Vec<Sample>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            hounds.rating_before as hounds_rating, hounds.rd_before as hounds_rd,
            hounds.volatility_before as hounds_volatility, hounds.score,
            hare.rating_before as hare_rating, hare.rd_before as hare_rd, hare.volatility_before as hare_volatility
        from rating_event hounds
        join rating_event hare on hare.game_id = hounds.game_id and hare.role = 'hare'
        where hounds.pool_id = $1 and hounds.role = 'hounds' and hounds.rd_before < $2 and hare.rd_before < $2
        order by hounds.settled desc
        limit $3
        "#,
        pool,
        PROVISIONAL_RD,
        MOST_GAMES as i64,
    )
    .fetch_all(conn)
    .await?;
    let mut samples: Vec<Sample> = rows
        .into_iter()
        .map(|row| Sample {
            before: ByRole {
                hounds: Rating {
                    rating: row.hounds_rating,
                    rd: row.hounds_rd,
                    volatility: row.hounds_volatility,
                },
                hare: Rating { rating: row.hare_rating, rd: row.hare_rd, volatility: row.hare_volatility },
            },
            score: row.score,
        })
        .collect();
    samples.reverse();
    Ok(samples)
}

/// Publishes an offset.
pub async fn insert_offset(
    tx: &mut PgConnection,
    pool: &str,
    fit: &Fit,
    now: Timestamp,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        insert into role_offset (pool_id, a, b, a_error, b_error, sample_size, published_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        returning role_offset_id
        "#,
        pool,
        fit.offset.a,
        fit.offset.b,
        fit.a_standard_error,
        fit.b_standard_error,
        i32::try_from(fit.sample_size).unwrap_or(i32::MAX),
        now,
    )
    .fetch_one(tx)
    .await
}
