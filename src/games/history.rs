//! Looking back: lists of games, newest first, and what they add up to for a player.

use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{Game, store};
use crate::{
    ids::{GameId, PlayerId},
    rules::{GameResult, Role, Variant},
    wall_clock::Timestamp,
};

/// Which games are wanted; what is none does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// One of the two players.
    pub player: Option<PlayerId>,
    /// The other one.
    pub opponent: Option<PlayerId>,
    /// Which game is played.
    pub variant: Option<Variant>,
    /// The pool it counts for.
    pub pool: Option<String>,
    /// The player's role.
    pub role: Option<Role>,
    /// Who won.
    pub result: Option<GameResult>,
    /// Why it ended.
    pub reason: Option<String>,
    /// Whether it was rated.
    pub rated: Option<bool>,
    /// `ongoing`, `finished` or `aborted`.
    pub status: Option<String>,
    /// Made at this instant or later.
    pub since: Option<Timestamp>,
    /// Made before this instant.
    pub until: Option<Timestamp>,
}

/// Lists games, newest first, those older than `before` if it is given.
///
/// For a player, the games with each role are looked up by an index of their own and merged, so that a page costs
/// the same however many games there are.
///
/// # Errors
///
/// When the database fails.
pub async fn list(
    db: &PgPool,
    filter: &Filter,
    before: Option<GameId>,
    limit: i64,
) -> Result<Vec<Game>, sqlx::Error> {
    let mut query = QueryBuilder::<Postgres>::new("select game_id from (");
    match (filter.player, filter.role) {
        (Some(player), Some(role)) => push_side(&mut query, filter, Some((role, player)), before, limit),
        (Some(player), None) => {
            push_side(&mut query, filter, Some((Role::Hounds, player)), before, limit);
            query.push(" union all ");
            push_side(&mut query, filter, Some((Role::Hare, player)), before, limit);
        }
        (None, _) => push_side(&mut query, filter, None, before, limit),
    }
    query.push(") page order by game_id desc limit ").push_bind(limit);
    let ids: Vec<Uuid> = query.build_query_scalar().fetch_all(db).await?;
    store::find_all(db, &ids).await
}

fn push_side(
    query: &mut QueryBuilder<Postgres>,
    filter: &Filter,
    side: Option<(Role, PlayerId)>,
    before: Option<GameId>,
    limit: i64,
) {
    query.push("(select game_id from game where true");
    if let Some((role, player)) = side {
        let (column, other) = match role {
            Role::Hounds => ("hounds_id", "hare_id"),
            Role::Hare => ("hare_id", "hounds_id"),
        };
        query.push(format_args!(" and {column} = ")).push_bind(player.0);
        if let Some(opponent) = filter.opponent {
            query.push(format_args!(" and {other} = ")).push_bind(opponent.0);
        }
    }
    if let Some(variant) = filter.variant {
        query.push(" and variant = ").push_bind(variant.to_string());
    }
    if let Some(pool) = &filter.pool {
        query.push(" and pool_id = ").push_bind(pool.clone());
    }
    if let Some(result) = filter.result {
        query.push(" and result = ").push_bind(result.to_string());
    }
    if let Some(reason) = &filter.reason {
        query.push(" and reason = ").push_bind(reason.clone());
    }
    if let Some(rated) = filter.rated {
        query.push(" and rated = ").push_bind(rated);
    }
    if let Some(status) = &filter.status {
        query.push(" and status = ").push_bind(status.clone());
    }
    if let Some(since) = filter.since {
        query.push(" and created_at >= ").push_bind(since);
    }
    if let Some(until) = filter.until {
        query.push(" and created_at < ").push_bind(until);
    }
    if let Some(before) = before {
        query.push(" and game_id < ").push_bind(before.0);
    }
    query.push(" order by game_id desc limit ").push_bind(limit).push(")");
}

/// How many games a player won, drew and lost with a role in a pool; casual games have no pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The pool; none for casual games.
    pub pool: Option<String>,
    /// Which game was played.
    pub variant: Variant,
    /// With which role.
    pub role: Role,
    /// Won.
    pub wins: i64,
    /// Drawn.
    pub draws: i64,
    /// Lost.
    pub losses: i64,
}

/// What a player's finished games add up to, against everybody or against one opponent.
///
/// # Errors
///
/// When the database fails or holds a row that makes no sense.
pub async fn tally(
    conn: &mut PgConnection,
    player: PlayerId,
    opponent: Option<PlayerId>,
) -> Result<Vec<Tally>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        with side as (
            select pool_id, rated, variant, result, 'hounds' as role
            from game
            where hounds_id = $1 and status = 'finished' and ($2::uuid is null or hare_id = $2)
            union all
            select pool_id, rated, variant, result, 'hare'
            from game
            where hare_id = $1 and status = 'finished' and ($2::uuid is null or hounds_id = $2)
        )
        select
            case when rated then pool_id end as pool_id, variant as "variant!", role as "role!",
            count(*) filter (where result = role) as "wins!",
            count(*) filter (where result = 'draw') as "draws!",
            count(*) filter (where result not in (role, 'draw')) as "losses!"
        from side
        group by 1, 2, 3
        order by 1 nulls last, 2, 3 desc
        "#,
        player.0,
        opponent.map(|opponent| opponent.0),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (Ok(variant), Ok(role)) = (row.variant.parse(), row.role.parse()) else {
                return Err(sqlx::Error::Decode("table game has an unknown variant".into()));
            };
            Ok(Tally {
                pool: row.pool_id,
                variant,
                role,
                wins: row.wins,
                draws: row.draws,
                losses: row.losses,
            })
        })
        .collect()
}

/// What a player is owed in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleBalance {
    /// The pool.
    pub pool: String,
    /// Rated games with the hounds less rated games with the hare.
    pub debt: i32,
    /// The role of the last rated game.
    pub last_role: Option<Role>,
}

/// What a player is owed in each pool that they have played in.
///
/// # Errors
///
/// When the database fails.
pub async fn role_balances(
    conn: &mut PgConnection,
    player: PlayerId,
) -> Result<Vec<RoleBalance>, sqlx::Error> {
    let rows = sqlx::query!(
        "select pool_id, debt, last_role from role_balance where player_id = $1 order by pool_id",
        player.0
    )
    .fetch_all(conn)
    .await?;
    let balance = |pool, debt, last: Option<String>| RoleBalance {
        pool,
        debt,
        last_role: last.and_then(|role| role.parse().ok()),
    };
    Ok(rows.into_iter().map(|row| balance(row.pool_id, row.debt, row.last_role)).collect())
}
