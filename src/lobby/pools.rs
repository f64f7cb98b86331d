//! Pools: fixed rules and a fixed clock, and the ratings that are won with them.
//!
//! The rules of a pool never change, since its ratings would lose their meaning: a pool is closed and another one
//! added. A closed pool takes no tickets and no rated challenges; its games and ratings stay.

use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool, types::Json};

use super::nonsense;
use crate::{
    db,
    events::player_log::{self, Told},
    games::{ClockSetting, house_rules},
    ids::PlayerId,
    rules::{RuleError, Rules, Variant},
    wall_clock::Timestamp,
};

/// A pool.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name, which is its id.
    pub id: String,
    /// Which game is played.
    pub variant: Variant,
    /// By which rules.
    pub rules: Rules,
    /// With which clock.
    pub clock: ClockSetting,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

/// A pool with how many are in it.
#[derive(Clone, Debug)]
pub struct BusyPool {
    /// The pool.
    pub pool: Pool,
    /// How many players wait.
    pub waiting: i64,
    /// How many players are in a live game.
    pub playing: i64,
}

/// Why no pool was added.
#[derive(Debug, thiserror::Error)]
pub enum AddPoolError {
    /// The id has the wrong form.
    #[error("a pool's id has 3 to 60 of a-z, 0-9 and '-'")]
    MalformedId,
    /// There is, or was, a pool of this id.
    #[error("there is a pool of this id already")]
    Taken,
    /// A house rule is not valid.
    #[error("{0}")]
    Rules(RuleError),
    /// The clock is not valid.
    #[error("{0} {1}")]
    Clock(&'static str, &'static str),
    /// A rated game without a clock could be kept waiting for ever.
    #[error("a pool needs a clock")]
    NoClock,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

struct PoolRow {
    pool_id: String,
    variant: String,
    rules: Json<Map<String, Value>>,
    clock: Json<ClockSetting>,
    created_at: Timestamp,
    closed_at: Option<Timestamp>,
}

impl TryFrom<PoolRow> for Pool {
    type Error = sqlx::Error;

    fn try_from(row: PoolRow) -> Result<Pool, sqlx::Error> {
        let broken = |why: &dyn std::fmt::Display| nonsense(format!("pool {}", row.pool_id), why);
        let variant: Variant = row.variant.parse().map_err(|err| broken(&err))?;
        let rules = house_rules::from_json(variant, &row.rules).map_err(|err| broken(&err))?;
        let PoolRow { pool_id: id, clock: Json(clock), created_at, closed_at, .. } = row;
        Ok(Pool { id, variant, rules, clock, created_at, closed_at })
    }
}

/// All pools, closed ones too, by id.
///
/// # Errors
///
/// When the database fails.
pub async fn list(db: &PgPool) -> Result<Vec<BusyPool>, sqlx::Error> {
    read(db, None).await
}

/// The pool of this id, with how many are in it.
///
/// # Errors
///
/// When the database fails.
pub async fn find(db: &PgPool, id: &str) -> Result<Option<BusyPool>, sqlx::Error> {
    Ok(read(db, Some(id)).await?.pop())
}

async fn read(db: &PgPool, only: Option<&str>) -> Result<Vec<BusyPool>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            pool.pool_id,
            pool.variant,
            pool.rules as "rules: Json<Map<String, Value>>",
            pool.clock as "clock: Json<ClockSetting>",
            pool.created_at,
            pool.closed_at,
            coalesce(queue.waiting, 0) as "waiting!",
            coalesce(live.playing, 0) as "playing!"
        from pool
        left join (
            select pool_id, count(*) as waiting
            from ticket
            where status = 'queued'
            group by pool_id
        ) queue using (pool_id)
        left join (
            select pool_id, count(distinct seated.player_id) as playing
            from game
            cross join lateral (values (hounds_id), (hare_id)) as seated (player_id)
            where status = 'ongoing'
            group by pool_id
        ) live using (pool_id)
        where $1::text is null or pool.pool_id = $1
        order by pool.pool_id
        "#,
        only
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (waiting, playing) = (row.waiting, row.playing);
            let pool = PoolRow {
                pool_id: row.pool_id,
                variant: row.variant,
                rules: row.rules,
                clock: row.clock,
                created_at: row.created_at,
                closed_at: row.closed_at,
            };
            Ok(BusyPool { pool: pool.try_into()?, waiting, playing })
        })
        .collect()
}

/// The pools that take tickets, by id.
///
/// # Errors
///
/// When the database fails.
pub async fn open(db: &mut PgConnection) -> Result<Vec<Pool>, sqlx::Error> {
    Ok(all(db).await?.into_iter().filter(|pool| pool.closed_at.is_none()).collect())
}

/// All pools, closed ones too, without counting who is in them.
pub(super) async fn all(db: &mut PgConnection) -> Result<Vec<Pool>, sqlx::Error> {
    let rows = sqlx::query_as!(
        PoolRow,
        r#"
        select
            pool_id,
            variant,
            rules as "rules: Json<Map<String, Value>>",
            clock as "clock: Json<ClockSetting>",
            created_at,
            closed_at
        from pool
        order by pool_id
        "#
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Pool::try_from).collect()
}

/// The pool of this id, without counting who is in it.
pub(super) async fn bare(db: &mut PgConnection, id: &str) -> Result<Option<Pool>, sqlx::Error> {
    let row = sqlx::query_as!(
        PoolRow,
        r#"
        select
            pool_id,
            variant,
            rules as "rules: Json<Map<String, Value>>",
            clock as "clock: Json<ClockSetting>",
            created_at,
            closed_at
        from pool
        where pool_id = $1
        "#,
        id
    )
    .fetch_optional(db)
    .await?;
    row.map(Pool::try_from).transpose()
}

/// Opens a pool. `given` names the house rules that differ from the usual ones; all are written down.
///
/// # Errors
///
/// Why there cannot be such a pool.
pub async fn add(
    db: &PgPool,
    id: &str,
    variant: Variant,
    given: &Map<String, Value>,
    clock: ClockSetting,
    now: Timestamp,
) -> Result<Pool, AddPoolError> {
    if !is_pool_id(id) {
        return Err(AddPoolError::MalformedId);
    }
    let rules = house_rules::from_json(variant, given).map_err(AddPoolError::Rules)?;
    clock.check().map_err(|(member, allowed)| AddPoolError::Clock(member, allowed))?;
    if clock == ClockSetting::None {
        return Err(AddPoolError::NoClock);
    }
    sqlx::query!(
        "
        insert into pool (pool_id, variant, rules, clock, created_at)
        values ($1, $2, $3, $4, $5)
        ",
        id,
        variant.to_string(),
        Json(house_rules::to_json(&rules)) as _,
        Json(clock) as _,
        now
    )
    .execute(db)
    .await
    .map_err(|err| {
        if db::violates(&err, "pool_pkey") { AddPoolError::Taken } else { AddPoolError::Database(err) }
    })?;
    tracing::info!(pool = id, "pool opened");
    Ok(Pool { id: id.to_owned(), variant, rules, clock, created_at: now, closed_at: None })
}

fn is_pool_id(id: &str) -> bool {
    (3..=60).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Closes a pool and sends away who waits in it; closing it again changes nothing. Answers the pool, if there is
/// one of this id.
///
/// A ticket that is taken at this very instant is sent away by the matchmaker.
///
/// # Errors
///
/// When the database fails.
pub async fn close(db: &PgPool, id: &str, now: Timestamp) -> Result<Option<Pool>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let closed =
        sqlx::query!("update pool set closed_at = $2 where pool_id = $1 and closed_at is null", id, now)
            .execute(&mut *tx)
            .await?;
    let sent_away = sqlx::query_scalar!(
        r#"
        update ticket
        set status = 'cancelled', ended_at = $2
        where pool_id = $1
            and status = 'queued'
            and exists (select from pool where pool.pool_id = ticket.pool_id and closed_at is not null)
        returning player_id as "player_id: PlayerId"
        "#,
        id,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    let pool = bare(&mut tx, id).await?;
    let told: Vec<Told> =
        sent_away.into_iter().map(|player| Told::ticket(player, id, "cancelled", None)).collect();
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    if closed.rows_affected() == 1 {
        tracing::info!(pool = id, "pool closed");
    }
    Ok(pool)
}
