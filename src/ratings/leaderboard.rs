//! Who leads a pool: established players who play both roles, bots in a list of their own.

use sqlx::PgConnection;

use super::{StoredRating, glicko::Rating};
use crate::{ids::PlayerId, rules::ByRole, wall_clock::Timestamp};

/// The highest RD, as of now, that is listed.
pub const HIGHEST_RD: f64 = 75.0;
/// The fewest rated games in the pool.
pub const LEAST_GAMES: i32 = 10;
/// The fewest of them in each role.
pub const LEAST_GAMES_IN_A_ROLE: i32 = 3;

/// One place.
#[derive(Clone, Debug)]
pub struct Place {
    /// Who.
    pub player: PlayerId,
    /// What they are called.
    pub username: String,
    /// Their rating as of now.
    pub rating: Rating,
    /// Rated games with each role.
    pub games: ByRole<i32>,
}

/// Where a page begins: after this rating and player.
#[derive(Clone, Copy, Debug)]
pub struct After {
    /// Rating of the last place of the page before.
    pub rating: f64,
    /// Its player.
    pub player: PlayerId,
}

/// One page of the people's or of the bots' list, best first, with where the next page begins.
///
/// RD grows with idle time, so it is judged as of `now`. The query does so with room for a rounding error, and
/// [`StoredRating::as_of`] has the last word.
///
/// # Errors
///
/// When the database fails.
pub async fn page(
    conn: &mut PgConnection,
    pool: &str,
    bots: bool,
    after: Option<After>,
    limit: i64,
    now: Timestamp,
) -> Result<(Vec<Place>, Option<After>), sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            player_id as "player_id: PlayerId", username as "username!", rating, rd, volatility, hounds_games,
            hare_games, last_rated_at
        from rating
        join player using (player_id)
        where pool_id = $1 and rd <= $2 and hounds_games + hare_games >= $3
            and least(hounds_games, hare_games) >= $4 and is_bot = $5
            and username is not null and banned_at is null
            and ($6::double precision is null or (rating, player_id) < ($6, $7))
            and sqrt(rd * rd + greatest(0, extract(epoch from $9::timestamptz - last_rated_at)::double precision / 86400)
                * 0.21436 * (173.7178 * volatility) ^ 2) <= $2 + 0.000001
        order by rating desc, player_id desc
        limit $8
        "#,
        pool,
        HIGHEST_RD,
        LEAST_GAMES,
        LEAST_GAMES_IN_A_ROLE,
        bots,
        after.map(|after| after.rating),
        after.map(|after| after.player.0),
        limit,
        now,
    )
    .fetch_all(conn)
    .await?;
    let last = (rows.len() as i64 == limit)
        .then(|| rows.last().map(|row| After { rating: row.rating, player: row.player_id }))
        .flatten();
    let places = rows
        .into_iter()
        .map(|row| {
            let stored = StoredRating {
                rating: Rating { rating: row.rating, rd: row.rd, volatility: row.volatility },
                games: ByRole { hounds: row.hounds_games, hare: row.hare_games },
                last_rated_at: row.last_rated_at,
            };
            Place {
                player: row.player_id,
                username: row.username,
                rating: stored.as_of(now),
                games: stored.games,
            }
        })
        .filter(|place| place.rating.rd <= HIGHEST_RD)
        .collect();
    Ok((places, last))
}
