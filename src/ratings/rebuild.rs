//! Computes every rating again from the log.
//!
//! The log says which games were rated, in which order, by which role offset, and how they ended; everything else
//! follows. A rebuild without an annulled game must find no difference, to the last bit.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use sqlx::{PgConnection, PgPool};

use super::{
    StoredRating,
    glicko::{self, Rating, RoleOffset},
    score,
};
use crate::{
    ids::{GameId, PlayerId},
    rules::{ByRole, GameResult},
    wall_clock::Timestamp,
};

/// A stored number that the log does not lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Whose number.
    pub player: PlayerId,
    /// In which pool.
    pub pool: String,
    /// In which game; none for the rating itself.
    pub game: Option<GameId>,
    /// What is stored.
    pub stored: String,
    /// What the log leads to.
    pub computed: String,
}

struct LoggedGame {
    game_id: GameId,
    pool_id: String,
    hounds_id: PlayerId,
    hare_id: PlayerId,
    result: String,
    ended_at: Timestamp,
    offset_id: Option<i64>,
    annulled: bool,
    stored: ByRole<Stored>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Stored {
    score: f64,
    before: Rating,
    after: Rating,
    expected_score: f64,
    advantage: f64,
}

/// Replays the log of rated games and compares; with `repair`, also writes what it found.
///
/// Games that end meanwhile wait until it is done when it repairs; when it only checks it reads one snapshot and
/// holds up nobody.
///
/// # Errors
///
/// When the database fails or holds a row that makes no sense.
pub async fn rebuild(db: &PgPool, repair: bool) -> Result<Vec<Difference>, sqlx::Error> {
    let mut tx = db.begin().await?;
    if repair {
        sqlx::query!("lock table rating, rating_event in share row exclusive mode").execute(&mut *tx).await?;
    } else {
        sqlx::query!("set transaction isolation level repeatable read read only").execute(&mut *tx).await?;
    }
    let differences = replay(&mut tx, repair).await?;
    tx.commit().await?;
    Ok(differences)
}

async fn replay(tx: &mut PgConnection, repair: bool) -> Result<Vec<Difference>, sqlx::Error> {
    let offsets = offsets(tx).await?;
    let mut ratings: HashMap<(PlayerId, String), StoredRating> = HashMap::new();
    let mut differences = Vec::new();
    let mut repairs: Vec<(GameId, PlayerId, Stored)> = Vec::new();
    let mut annulled = Vec::new();

    let mut games = logged_games(tx);
    while let Some(game) = games.try_next().await? {
        if game.annulled {
            annulled.push(game.game_id);
            continue;
        }
        let players = ByRole { hounds: game.hounds_id, hare: game.hare_id };
        let key = players.map(|player| (player, game.pool_id.clone()));
        let stored = key.as_ref().map(|key| ratings.get(key).copied().unwrap_or(StoredRating::NEW));
        let before = stored.map(|rating| rating.as_of(game.ended_at));
        let offset = game.offset_id.and_then(|id| offsets.get(&id).copied()).unwrap_or(RoleOffset::ZERO);
        let result: GameResult = game.result.parse().map_err(|_| inconsistent("result", game.game_id))?;
        let rated =
            glicko::rate(before, result, offset).ok_or_else(|| inconsistent("rating_event", game.game_id))?;
        for (role, key) in key.iter() {
            let computed = Stored {
                score: score(result, role),
                before: before[role],
                after: rated.after[role],
                expected_score: rated.expected_score[role],
                advantage: rated.advantage,
            };
            if computed != game.stored[role] {
                differences.push(Difference {
                    player: key.0,
                    pool: key.1.clone(),
                    game: Some(game.game_id),
                    stored: format!("{:?}", game.stored[role]),
                    computed: format!("{computed:?}"),
                });
                repairs.push((game.game_id, key.0, computed));
            }
            let mut games = stored[role].games;
            games[role] += 1;
            let next = StoredRating { rating: computed.after, games, last_rated_at: Some(game.ended_at) };
            ratings.insert(key.clone(), next);
        }
    }
    drop(games);

    differences.extend(compare_ratings(tx, &ratings, repair).await?);
    if repair {
        for (game, player, computed) in repairs {
            update_event(tx, game, player, &computed).await?;
        }
        let annulled: Vec<_> = annulled.into_iter().map(|game| game.0).collect();
        sqlx::query!("delete from rating_event where game_id = any($1)", &annulled).execute(tx).await?;
    }
    Ok(differences)
}

async fn offsets(tx: &mut PgConnection) -> Result<HashMap<i64, RoleOffset>, sqlx::Error> {
    let rows = sqlx::query!("select role_offset_id, a, b from role_offset").fetch_all(tx).await?;
    Ok(rows.into_iter().map(|row| (row.role_offset_id, RoleOffset { a: row.a, b: row.b })).collect())
}

fn logged_games(
    tx: &mut PgConnection,
) -> impl futures_util::Stream<Item = Result<LoggedGame, sqlx::Error>> + Unpin {
    Box::pin(
        sqlx::query!(
            r#"
            select
                game.game_id as "game_id: GameId", hounds.pool_id, game.hounds_id as "hounds_id: PlayerId",
                game.hare_id as "hare_id: PlayerId", game.result as "result!", game.ended_at as "ended_at!",
                hounds.role_offset_id,
                exists (
                    select from game_event
                    where game_event.game_id = game.game_id and kind = 'annulled'
                ) as "annulled!",
                hounds.score as h_score, hounds.rating_before as h_rating, hounds.rd_before as h_rd,
                hounds.volatility_before as h_volatility, hounds.rating_after as h_rating_after,
                hounds.rd_after as h_rd_after, hounds.volatility_after as h_volatility_after,
                hounds.expected_score as h_expected, hounds.advantage as h_advantage,
                hare.score as r_score, hare.rating_before as r_rating, hare.rd_before as r_rd,
                hare.volatility_before as r_volatility, hare.rating_after as r_rating_after,
                hare.rd_after as r_rd_after, hare.volatility_after as r_volatility_after,
                hare.expected_score as r_expected, hare.advantage as r_advantage
            from rating_event hounds
            join rating_event hare on hare.game_id = hounds.game_id and hare.role = 'hare'
            join game on game.game_id = hounds.game_id
            where hounds.role = 'hounds'
            order by hounds.settled
            "#
        )
        .fetch(tx)
        .map_ok(|row| LoggedGame {
            game_id: row.game_id,
            pool_id: row.pool_id,
            hounds_id: row.hounds_id,
            hare_id: row.hare_id,
            result: row.result,
            ended_at: row.ended_at,
            offset_id: row.role_offset_id,
            annulled: row.annulled,
            stored: ByRole {
                hounds: Stored {
                    score: row.h_score,
                    before: Rating { rating: row.h_rating, rd: row.h_rd, volatility: row.h_volatility },
                    after: Rating {
                        rating: row.h_rating_after,
                        rd: row.h_rd_after,
                        volatility: row.h_volatility_after,
                    },
                    expected_score: row.h_expected,
                    advantage: row.h_advantage,
                },
                hare: Stored {
                    score: row.r_score,
                    before: Rating { rating: row.r_rating, rd: row.r_rd, volatility: row.r_volatility },
                    after: Rating {
                        rating: row.r_rating_after,
                        rd: row.r_rd_after,
                        volatility: row.r_volatility_after,
                    },
                    expected_score: row.r_expected,
                    advantage: row.r_advantage,
                },
            },
        }),
    )
}

/// Compares every stored rating with the one that the log leads to. A player whose games were all annulled is as
/// good as new.
async fn compare_ratings(
    tx: &mut PgConnection,
    ratings: &HashMap<(PlayerId, String), StoredRating>,
    repair: bool,
) -> Result<Vec<Difference>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            player_id as "player_id: PlayerId", pool_id, rating, rd, volatility, hounds_games, hare_games,
            last_rated_at
        from rating
        order by pool_id, player_id
        "#
    )
    .fetch_all(&mut *tx)
    .await?;
    let mut differences = Vec::new();
    for row in rows {
        let stored = StoredRating {
            rating: Rating { rating: row.rating, rd: row.rd, volatility: row.volatility },
            games: ByRole { hounds: row.hounds_games, hare: row.hare_games },
            last_rated_at: row.last_rated_at,
        };
        let key = (row.player_id, row.pool_id);
        let computed = ratings.get(&key).copied().unwrap_or(StoredRating::NEW);
        if stored != computed {
            if repair {
                super::store::update_rating(tx, key.0, &key.1, &computed).await?;
            }
            differences.push(Difference {
                player: key.0,
                pool: key.1,
                game: None,
                stored: format!("{stored:?}"),
                computed: format!("{computed:?}"),
            });
        }
    }
    Ok(differences)
}

async fn update_event(
    tx: &mut PgConnection,
    game: GameId,
    player: PlayerId,
    computed: &Stored,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        update rating_event
        set score = $3, rating_before = $4, rd_before = $5, volatility_before = $6, rating_after = $7,
            rd_after = $8, volatility_after = $9, expected_score = $10, advantage = $11
        where game_id = $1 and player_id = $2
        "#,
        game.0,
        player.0,
        computed.score,
        computed.before.rating,
        computed.before.rd,
        computed.before.volatility,
        computed.after.rating,
        computed.after.rd,
        computed.after.volatility,
        computed.expected_score,
        computed.advantage,
    )
    .execute(tx)
    .await?;
    Ok(())
}

fn inconsistent(column: &str, game: GameId) -> sqlx::Error {
    sqlx::Error::Decode(format!("game {game} has a {column} that makes no sense").into())
}
