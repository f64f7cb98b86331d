//! Tickets: a player waits in a pool.
//!
//! A player has one live ticket, and one row for each pool that says what became of their last one there.

use std::fmt;

use chrono::TimeDelta;
use sqlx::{Connection, PgConnection, PgPool};

use super::{is_guest, matchmaker::Matchmaker, nonsense, pairing, pools};
use crate::{
    db,
    events::{
        Events, Topic,
        player_log::{self, Told},
    },
    games,
    ids::{GameId, PlayerId, TicketId},
    ratings::{StoredRating, glicko::Rating},
    rules::Role,
    wall_clock::Timestamp,
};

/// What became of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketStatus {
    /// Its player waits.
    Queued,
    /// Its player is in a game.
    Matched(GameId),
    /// Its player showed no sign of life.
    Expired,
    /// Its player left, or the pool was closed.
    Cancelled,
}

impl fmt::Display for TicketStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TicketStatus::Queued => "queued",
            TicketStatus::Matched(_) => "matched",
            TicketStatus::Expired => "expired",
            TicketStatus::Cancelled => "cancelled",
        })
    }
}

/// A player's last ticket in a pool, with all that its player is told.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The pool.
    pub pool: String,
    /// What became of it.
    pub status: TicketStatus,
    /// How long it has waited, or waited until it ended.
    pub waited: TimeDelta,
    /// The rating gap that it allows by now, in points.
    pub window: i32,
    /// Half of the pool's last matches took no longer than this.
    pub estimated_wait: Option<TimeDelta>,
    /// The role that its player is due.
    pub role_due: Option<Role>,
    /// Rated games in the pool as hounds, less those as the hare.
    pub role_debt: i32,
    /// Until when its player may not join a pool.
    pub cool_down_until: Option<Timestamp>,
}

/// What joining did.
#[derive(Debug)]
pub enum Joined {
    /// A ticket was made.
    Now(Ticket),
    /// There was one already.
    Already(Ticket),
}

/// Why a player did not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no such pool.
    #[error("there is no such pool")]
    NoSuchPool,
    /// The pool is closed.
    #[error("the pool is closed")]
    PoolClosed,
    /// Guests play no rated games.
    #[error("guests play no rated games")]
    Guest,
    /// The player waits in this other pool.
    #[error("you wait in the pool {0} already; leave it first")]
    AlreadyWaiting(String),
    /// The player is in this live rated real-time game.
    #[error("you are in a live rated game; finish it first")]
    AlreadyPlaying(GameId),
    /// Too many games of the player were aborted of late.
    #[error("too many rated games were aborted because of you in the last 24 hours; you may join again at {}", .0.until)]
    CoolingDown(CoolDown),
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// How far back aborted games count.
const ABORTS_COUNT_FOR: TimeDelta = TimeDelta::hours(24);

/// A rated game that was aborted because of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// When.
    pub at: Timestamp,
    /// Whether the player did not begin to play in time; if not, the player aborted it.
    pub no_show: bool,
}

/// A pause before the next pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoolDown {
    /// When it ends.
    pub until: Timestamp,
    /// What earned it.
    pub last: Abort,
}

/// The cool-down that these aborted games earned, if it has not ended yet.
///
/// Of the games aborted in the last 24 hours the first is free. The second earns a minute from when it was aborted,
/// the third 5, the fourth 15, the fifth an hour, and each further one 6 hours.
#[must_use]
pub fn cool_down(aborts: &[Abort], now: Timestamp) -> Option<CoolDown> {
    let counted = aborts.iter().filter(|abort| now - abort.at < ABORTS_COUNT_FOR);
    let pause = match counted.clone().count() {
        0..=1 => return None,
        2 => TimeDelta::minutes(1),
        3 => TimeDelta::minutes(5),
        4 => TimeDelta::minutes(15),
        5 => TimeDelta::hours(1),
        6.. => TimeDelta::hours(6),
    };
    let last = *counted.max_by_key(|abort| abort.at)?;
    Some(CoolDown { until: last.at + pause, last }).filter(|pause| pause.until > now)
}

/// The cool-down of a player, if there is one.
///
/// # Errors
///
/// When the database fails.
pub async fn cool_down_of(
    db: &PgPool,
    player: PlayerId,
    now: Timestamp,
) -> Result<Option<CoolDown>, sqlx::Error> {
    Ok(cool_down(&aborts(&mut *db.acquire().await?, player, now).await?, now))
}

/// Joins a pool, and wakes the matchmaker if somebody waits there. Joining again changes nothing.
///
/// # Errors
///
/// Why the player cannot join.
pub async fn join(
    db: &PgPool,
    events: &Events,
    matchmaker: &Matchmaker,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
    random: u128,
) -> Result<Joined, JoinError> {
    let mut conn = db.acquire().await?;
    let open = pools::bare(&mut conn, pool).await?.ok_or(JoinError::NoSuchPool)?;
    if let Some(ticket) = read(&mut conn, player, pool, now).await?
        && ticket.status == TicketStatus::Queued
    {
        return Ok(Joined::Already(ticket));
    }
    if open.closed_at.is_some() {
        return Err(JoinError::PoolClosed);
    }
    if is_guest(&mut conn, player).await? {
        return Err(JoinError::Guest);
    }
    if open.clock.is_real_time()
        && let Some(game) = games::live_game_of(&mut conn, player).await?
    {
        return Err(JoinError::AlreadyPlaying(game));
    }
    if let Some(pause) = cool_down(&aborts(&mut conn, player, now).await?, now) {
        return Err(JoinError::CoolingDown(pause));
    }
    let mut tx = conn.begin().await?;
    let made = match insert(&mut tx, player, pool, now, random).await {
        Err(err) if db::violates(&err, "ticket_one_live") => {
            tx.rollback().await?;
            let other = waiting_in(&mut conn, player).await?.unwrap_or_else(|| "another".to_owned());
            return Err(JoinError::AlreadyWaiting(other));
        }
        made => made?,
    };
    if made {
        player_log::tell(&mut tx, &[Told::ticket(player, pool, "queued", None)], now).await?;
    }
    tx.commit().await?;
    let ticket = read(&mut conn, player, pool, now).await?.ok_or(sqlx::Error::RowNotFound)?;
    if !made {
        return Ok(Joined::Already(ticket));
    }
    events.announce([Topic::Player(player)]);
    if has_company(&mut conn, player, pool).await? {
        matchmaker.wake();
    }
    Ok(Joined::Now(ticket))
}

/// The player's last ticket in this pool, if there ever was one.
///
/// # Errors
///
/// When the database fails.
pub async fn find(
    db: &PgPool,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
) -> Result<Option<Ticket>, sqlx::Error> {
    let mut conn = db.acquire().await?;
    read(&mut conn, player, pool, now).await
}

/// The ticket with which a player waits, if they do.
///
/// # Errors
///
/// When the database fails.
pub async fn live(db: &PgPool, player: PlayerId, now: Timestamp) -> Result<Option<Ticket>, sqlx::Error> {
    let mut conn = db.acquire().await?;
    let Some(pool) = waiting_in(&mut conn, player).await? else { return Ok(None) };
    let ticket = read(&mut conn, player, &pool, now).await?;
    Ok(ticket.filter(|ticket| ticket.status == TicketStatus::Queued))
}

/// Leaves a pool. Answers what became of the ticket, which may have been matched before; leaving again changes
/// nothing.
///
/// # Errors
///
/// When the database fails.
pub async fn leave(
    db: &PgPool,
    events: &Events,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
) -> Result<Option<Ticket>, sqlx::Error> {
    let mut conn = db.acquire().await?;
    let mut tx = conn.begin().await?;
    let left = sqlx::query!(
        "
        update ticket
        set status = 'cancelled', ended_at = $3
        where player_id = $1 and pool_id = $2 and status = 'queued'
        ",
        player.0,
        pool,
        now
    )
    .execute(&mut *tx)
    .await?;
    if left.rows_affected() == 1 {
        player_log::tell(&mut tx, &[Told::ticket(player, pool, "cancelled", None)], now).await?;
    }
    tx.commit().await?;
    events.announce([Topic::Player(player)]);
    read(&mut conn, player, pool, now).await
}

/// Sends these players away from the real-time pools in which they wait: they are about to play. Answers what they are
/// to be told.
///
/// Holds the rows in the order of the players, as the matchmaker does, so that the two never wait for one another.
pub(super) async fn cancel_real_time(
    tx: &mut PgConnection,
    players: &[PlayerId],
    now: Timestamp,
) -> Result<Vec<Told>, sqlx::Error> {
    let players: Vec<_> = players.iter().map(|player| player.0).collect();
    let cancelled = sqlx::query!(
        r#"
        with held as materialized (
            select ticket.player_id, ticket.pool_id
            from ticket
            join pool using (pool_id)
            where ticket.player_id = any($1)
                and ticket.status = 'queued'
                and pool.clock ->> 'kind' in ('per_turn', 'fischer')
            order by ticket.player_id
            for update of ticket
        )
        update ticket
        set status = 'cancelled', ended_at = $2
        from held
        where ticket.player_id = held.player_id and ticket.pool_id = held.pool_id and ticket.status = 'queued'
        returning ticket.player_id as "player_id: PlayerId", ticket.pool_id
        "#,
        &players,
        now
    )
    .fetch_all(tx)
    .await?;
    Ok(cancelled.iter().map(|row| Told::ticket(row.player_id, &row.pool_id, "cancelled", None)).collect())
}

/// Whether a ticket was made; not if the same player made one in this pool at the same instant.
async fn insert(
    db: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
    random: u128,
) -> Result<bool, sqlx::Error> {
    let made = sqlx::query!(
        "
        insert into ticket (player_id, pool_id, ticket_id, status, created_at, last_seen_at)
        values ($1, $2, $3, 'queued', $4, $4)
        on conflict on constraint ticket_pkey do update
        set ticket_id = excluded.ticket_id,
            status = 'queued',
            created_at = excluded.created_at,
            last_seen_at = excluded.last_seen_at,
            game_id = null,
            ended_at = null
        where ticket.status <> 'queued'
        ",
        player.0,
        pool,
        TicketId::new(now, random).0,
        now
    )
    .execute(db)
    .await?;
    Ok(made.rows_affected() == 1)
}

async fn waiting_in(db: &mut PgConnection, player: PlayerId) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!("select pool_id from ticket where player_id = $1 and status = 'queued'", player.0)
        .fetch_optional(db)
        .await
}

async fn has_company(db: &mut PgConnection, player: PlayerId, pool: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select from ticket where pool_id = $2 and status = 'queued' and player_id <> $1
        ) as "has_company!"
        "#,
        player.0,
        pool
    )
    .fetch_one(db)
    .await
}

async fn aborts(db: &mut PgConnection, player: PlayerId, now: Timestamp) -> Result<Vec<Abort>, sqlx::Error> {
    sqlx::query_as!(
        Abort,
        "
        select aborted_at as at, no_show
        from abort
        where player_id = $1 and aborted_at > $2
        order by aborted_at desc
        limit 6
        ",
        player.0,
        now - ABORTS_COUNT_FOR
    )
    .fetch_all(db)
    .await
}

async fn read(
    db: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    now: Timestamp,
) -> Result<Option<Ticket>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select
            ticket.status,
            ticket.created_at,
            ticket.ended_at,
            ticket.game_id as "game_id: GameId",
            rating.rating as "rating?",
            rating.rd as "rd?",
            rating.volatility as "volatility?",
            rating.last_rated_at as "last_rated_at?",
            role_balance.debt as "debt?",
            role_balance.last_role as "last_role?",
            (
                select (percentile_disc(0.5) within group (order by latest.wait_ms))::bigint
                from (
                    select extract(epoch from matched.ended_at - matched.created_at) * 1000 as wait_ms
                    from ticket matched
                    where matched.pool_id = ticket.pool_id and matched.status = 'matched'
                    order by matched.ended_at desc
                    limit 20
                ) latest
            ) as median_wait_ms
        from ticket
        left join rating using (player_id, pool_id)
        left join role_balance using (player_id, pool_id)
        where ticket.player_id = $1 and ticket.pool_id = $2
        "#,
        player.0,
        pool
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let broken = |why: &str| nonsense(format!("ticket of {player} in {pool}"), why);
    let status = match (row.status.as_str(), row.game_id) {
        ("queued", None) => TicketStatus::Queued,
        ("matched", Some(game)) => TicketStatus::Matched(game),
        ("expired", None) => TicketStatus::Expired,
        ("cancelled", None) => TicketStatus::Cancelled,
        _ => return Err(broken("its status is none")),
    };
    let waited = (row.ended_at.unwrap_or(now) - row.created_at).max(TimeDelta::zero());
    let rating = rating_now(row.rating.zip(row.rd).zip(row.volatility), row.last_rated_at, now);
    let role_debt = row.debt.unwrap_or(0);
    let last_role = role(row.last_role.as_deref()).map_err(broken)?;
    Ok(Some(Ticket {
        pool: pool.to_owned(),
        status,
        waited,
        window: pairing::window(whole_seconds(waited), points(rating.rd)),
        estimated_wait: row.median_wait_ms.map(TimeDelta::milliseconds),
        role_due: pairing::role_due(role_debt, last_role),
        role_debt,
        cool_down_until: cool_down(&aborts(db, player, now).await?, now).map(|pause| pause.until),
    }))
}

/// A stored rating as of now; that of a new player if there is none.
pub(super) fn rating_now(
    stored: Option<((f64, f64), f64)>,
    last_rated_at: Option<Timestamp>,
    now: Timestamp,
) -> Rating {
    stored.map_or(Rating::NEW, |((rating, rd), volatility)| {
        let rating = Rating { rating, rd, volatility };
        StoredRating { rating, last_rated_at, ..StoredRating::NEW }.as_of(now)
    })
}

/// A stored role.
pub(super) fn role(word: Option<&str>) -> Result<Option<Role>, &'static str> {
    word.map(str::parse).transpose().map_err(|_| "its last role is none")
}

/// Rounds to whole points.
#[expect(clippy::cast_possible_truncation, reason = "a cast saturates, and ratings are at most 4000")]
pub(super) fn points(rating: f64) -> i32 {
    rating.round() as i32
}

/// Whole seconds, as many as can be counted.
pub(super) fn whole_seconds(wait: TimeDelta) -> i32 {
    i32::try_from(wait.num_seconds()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minute)
    }

    fn aborted(minutes: impl IntoIterator<Item = i64>) -> Vec<Abort> {
        minutes.into_iter().map(|minute| Abort { at: at(minute), no_show: false }).collect()
    }

    fn until(aborts: &[Abort], minute: i64) -> Option<Timestamp> {
        cool_down(aborts, at(minute)).map(|pause| pause.until)
    }

    #[test]
    fn one_aborted_game_a_day_is_free() {
        assert_eq!(until(&[], 0), None);
        assert_eq!(until(&aborted([1]), 1), None);
    }

    #[test]
    fn the_cool_down_grows_with_each_further_one() {
        for (count, minutes) in [(2, 1), (3, 5), (4, 15), (5, 60), (6, 360), (9, 360)] {
            let aborts = aborted(0..count);
            let last = count - 1;
            assert_eq!(until(&aborts, last), Some(at(last + minutes)), "{count} aborted");
            assert_eq!(until(&aborts, last + minutes), None, "{count} aborted, and waited");
        }
    }

    #[test]
    fn what_was_aborted_a_day_ago_is_forgotten() {
        let day = 24 * 60;
        assert_eq!(until(&aborted([0, day - 2, day - 1]), day - 1), Some(at(day + 4)));
        assert_eq!(until(&aborted([0, day - 2, day - 1]), day), None);
    }

    #[test]
    fn the_newest_one_tells_what_the_pause_is_for() {
        let aborts = [Abort { at: at(1), no_show: true }, Abort { at: at(0), no_show: false }];
        assert!(cool_down(&aborts, at(1)).is_some_and(|pause| pause.last.no_show));
    }
}
