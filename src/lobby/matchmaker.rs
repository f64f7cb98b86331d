//! The task that pairs those who wait.
//!
//! [`Matchmaker::step`] may run anywhere and at any time, in several processes at once: one transaction for each
//! pool, under a lock that ends with it, reads who waits, pairs them by [`pairing`], and for each pair consumes both
//! tickets and makes their game. A pair is only made if both tickets were still there to consume, so a player who
//! leaves at that instant either has left or has a game.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::TimeDelta;
use sqlx::{Acquire, PgConnection, PgPool};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    nonsense, pairing,
    pairing::{Candidate, Pairing},
    pools,
    pools::Pool,
    presence::Presence,
    tickets,
};
use crate::{
    dice,
    events::{
        Events, Topic,
        player_log::{self, Told},
    },
    games::{self, CreateError, Grace, NewGame, OnDrop},
    ids::{ChallengeId, GameId, PlayerId, TicketId},
    rules::ByRole,
    wall_clock::{Timestamp, WallClock},
};

/// How long a round may be off when nobody arrives.
const EVERY: Duration = Duration::from_secs(2);
/// A ticket lapses when its player has shown no sign of life for this long.
const LAPSES_AFTER: TimeDelta = TimeDelta::seconds(30);
/// So many games are made in one transaction; Postgres keeps track of 64 savepoints cheaply.
const BATCH: usize = 50;

/// Pairs the pools. Its clones are one.
#[derive(Clone)]
pub struct Matchmaker {
    arrived: Arc<Notify>,
    presence: Presence,
    events: Events,
}

impl Matchmaker {
    /// A matchmaker who learns from `presence` who is still there, and announces what it does.
    pub fn new(presence: Presence, events: Events) -> Matchmaker {
        Matchmaker { arrived: Arc::new(Notify::new()), presence, events }
    }

    /// Somebody joined a pool in which somebody waits: do not wait for the next round.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    /// Pairs the pools every 2 seconds, and at once when woken, until it is dropped.
    ///
    /// After a start, and after the database was gone, everybody gets another 30 seconds to show a sign of life:
    /// nobody could while the service was away.
    pub async fn run(self, db: PgPool, clock: WallClock) {
        let mut was_away = true;
        loop {
            if was_away && let Err(err) = grant_grace(&db, clock.now()).await {
                tracing::warn!(cause = %err, "the matchmaker cannot begin");
            } else {
                let outcome = self.step(&db, clock.now(), dice::roll).await;
                was_away = outcome.is_err();
                if let Err(err) = outcome {
                    tracing::warn!(cause = %err, "the matchmaker's round failed");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = self.arrived.notified(), if !was_away => {}
            }
        }
    }

    /// Writes down who has shown a sign of life in this process since the last step.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn note_presence(&self, db: &PgPool, now: Timestamp) -> Result<(), sqlx::Error> {
        let seen = self.presence.drain();
        write_presence(&mut *db.acquire().await?, &seen, now).await
    }

    /// Notes who is there, lets lapse what is to lapse, and pairs every open pool once. Answers how many games were
    /// made.
    ///
    /// # Errors
    ///
    /// When the database fails. What was made before stays.
    pub async fn step(
        &self,
        db: &PgPool,
        now: Timestamp,
        mut roll: impl FnMut() -> u128,
    ) -> Result<usize, sqlx::Error> {
        let mut conn = db.acquire().await?;
        write_presence(&mut conn, &self.presence.drain(), now).await?;
        let lapsed = lapse_tickets(&mut conn, now).await?;
        announce(&self.events, &lapsed);
        let expired = expire_challenges(&mut conn, now).await?;
        announce(&self.events, &expired);
        let mut made = 0;
        for pool in pools::open(&mut conn).await? {
            loop {
                let round = pair_pool(&mut conn, &pool, now, &mut roll).await?;
                announce(&self.events, &round.told);
                made += round.made;
                if !round.more {
                    break;
                }
            }
        }
        Ok(made)
    }
}

/// Writes down who showed a sign of life, also in the tickets of those who wait. A ticket that is being changed is
/// left out: it is being consumed.
async fn write_presence(db: &mut PgConnection, seen: &[PlayerId], now: Timestamp) -> Result<(), sqlx::Error> {
    if seen.is_empty() {
        return Ok(());
    }
    let mut seen: Vec<Uuid> = seen.iter().map(|player| player.0).collect();
    // In one order, so that processes wait for each other and never for ever.
    seen.sort_unstable();
    sqlx::query!(
        "
        insert into presence (player_id, seen_at)
        select player_id, $2 from unnest($1::uuid[]) with ordinality seen (player_id, place) order by place
        on conflict on constraint presence_pkey
            do update set seen_at = excluded.seen_at where presence.seen_at < excluded.seen_at
        ",
        &seen,
        now
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "
        with held as materialized (
            select player_id, pool_id
            from ticket
            where player_id = any($1) and status = 'queued'
            for update skip locked
        )
        update ticket
        set last_seen_at = greatest(last_seen_at, $2)
        from held
        where ticket.player_id = held.player_id and ticket.pool_id = held.pool_id and ticket.status = 'queued'
        ",
        &seen,
        now
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says that these were told something.
fn announce(events: &Events, told: &[Told]) {
    events.announce(told.iter().map(|told| Topic::Player(told.player)));
}

/// Ends the tickets of those who are gone, of closed pools and of closed or banned accounts.
async fn lapse_tickets(db: &mut PgConnection, now: Timestamp) -> Result<Vec<Told>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let lapsed = sqlx::query!(
        r#"
        with held as materialized (
            select
                ticket.player_id,
                ticket.pool_id,
                pool.closed_at is not null or player.closed_at is not null or player.banned_at is not null as sent_away
            from ticket
            join pool using (pool_id)
            join player using (player_id)
            where ticket.status = 'queued'
                and (ticket.last_seen_at < $2 or pool.closed_at is not null
                    or player.closed_at is not null or player.banned_at is not null)
            for update of ticket skip locked
        )
        update ticket
        set status = case when held.sent_away then 'cancelled' else 'expired' end, ended_at = $1
        from held
        where ticket.player_id = held.player_id and ticket.pool_id = held.pool_id and ticket.status = 'queued'
        returning ticket.player_id as "player_id: PlayerId", ticket.pool_id, ticket.status
        "#,
        now,
        now - LAPSES_AFTER
    )
    .fetch_all(&mut *tx)
    .await?;
    let told: Vec<Told> =
        lapsed.iter().map(|row| Told::ticket(row.player_id, &row.pool_id, &row.status, None)).collect();
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    if !told.is_empty() {
        tracing::info!(tickets = told.len(), "tickets lapsed");
    }
    Ok(told)
}

/// Ends the challenges that nobody took in time.
async fn expire_challenges(db: &mut PgConnection, now: Timestamp) -> Result<Vec<Told>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let expired = sqlx::query!(
        r#"
        update challenge
        set status = 'expired', ended_at = expires_at
        where challenge_id in (
            select challenge_id
            from challenge
            where status = 'open' and expires_at <= $1
            limit 1000
            for update skip locked
        )
        returning
            challenge_id as "challenge_id: ChallengeId",
            challenger_id as "challenger_id: PlayerId",
            opponent_id as "opponent_id: PlayerId"
        "#,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    let told: Vec<Told> = expired
        .iter()
        .flat_map(|row| {
            let both = [Some(row.challenger_id), row.opponent_id].into_iter().flatten();
            both.map(|player| Told::challenge(player, row.challenge_id, "expired", None))
        })
        .collect();
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    Ok(told)
}

async fn grant_grace(db: &PgPool, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        with held as materialized (
            select player_id, pool_id
            from ticket
            where status = 'queued'
            for update skip locked
        )
        update ticket
        set last_seen_at = greatest(last_seen_at, $1)
        from held
        where ticket.player_id = held.player_id and ticket.pool_id = held.pool_id and ticket.status = 'queued'
        ",
        now
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What a transaction achieved.
struct Round {
    made: usize,
    /// What its players were told.
    told: Vec<Told>,
    /// There were more pairs than fit.
    more: bool,
}

async fn pair_pool(
    conn: &mut PgConnection,
    pool: &Pool,
    now: Timestamp,
    roll: &mut impl FnMut() -> u128,
) -> Result<Round, sqlx::Error> {
    let mut tx = conn.begin().await?;
    if !take_pool(&mut tx, &pool.id).await? {
        return Ok(Round { made: 0, told: Vec::new(), more: false });
    }
    let waiting = waiting(&mut tx, &pool.id, now).await?;
    let [seed, _] = halves(roll());
    let pairs = pairing::pair(&waiting, seed);
    let players: HashMap<Uuid, &Candidate> = waiting.iter().map(|one| (one.ticket, one)).collect();
    let (mut made, mut told) = (0, Vec::new());
    for pair in pairs.iter().take(BATCH) {
        let game = GameId::new(now, roll());
        let candidates = pair.seats.map(|ticket| players[&ticket]);
        let new = NewGame {
            id: game,
            rules: pool.rules,
            clock: pool.clock,
            pool: Some(pool.id.clone()),
            rated: true,
            players: candidates.map(|candidate| PlayerId(candidate.player)),
            computer: ByRole::default(),
            seed: seed.cast_signed(),
            on_drop: OnDrop::of_rated(pool.clock),
            drop_after: Grace::default(),
            swap_roles: true,
            rematch_of: None,
        };
        match seat(&mut tx, pair, &new, now).await? {
            Seated::Playing => {
                made += 1;
                let matched = |player| Told::ticket(player, &pool.id, "matched", Some(game));
                told.extend([new.players.hounds, new.players.hare].map(matched));
                told.extend(new.told());
                log_match(pool, pair, &candidates, game);
            }
            Seated::TicketGone => {}
            Seated::AlreadyPlaying(player) => {
                told.extend(tickets::cancel_real_time(&mut tx, &[player], now).await?);
            }
        }
    }
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    Ok(Round { made, told, more: pairs.len() > BATCH })
}

fn log_match(pool: &Pool, pair: &Pairing, candidates: &ByRole<&Candidate>, game: GameId) {
    tracing::info!(
        pool = pool.id,
        %game,
        hounds = %candidates.hounds.player,
        hare = %candidates.hare.player,
        cost = pair.cost,
        gap = candidates.hounds.rating.abs_diff(candidates.hare.rating),
        waited_s = candidates.hounds.waited_s.max(candidates.hare.waited_s),
        coin_seed = pair.coin_seed,
        "matched"
    );
    for candidate in [candidates.hounds, candidates.hare] {
        metrics::histogram!("leveret_ticket_wait_seconds", "pool" => pool.id.clone())
            .record(f64::from(candidate.waited_s));
    }
}

/// Whether this pool is nobody else's until the transaction ends.
async fn take_pool(tx: &mut PgConnection, pool: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtextextended('leveret pairs ' || $1::text, 0)) as "taken!""#,
        pool
    )
    .fetch_one(tx)
    .await
}

/// Everybody who waits in the pool, with what the pairing asks for.
async fn waiting(tx: &mut PgConnection, pool: &str, now: Timestamp) -> Result<Vec<Candidate>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            ticket.ticket_id as "ticket_id: TicketId",
            ticket.player_id as "player_id: PlayerId",
            ticket.created_at,
            rating.rating as "rating?",
            rating.rd as "rd?",
            rating.volatility as "volatility?",
            rating.last_rated_at as "last_rated_at?",
            role_balance.debt as "debt?",
            role_balance.last_role as "last_role?",
            array(
                select opponent_id
                from (
                    (
                        select game_id, hare_id as opponent_id
                        from game
                        where hounds_id = ticket.player_id and pool_id = ticket.pool_id
                        order by game_id desc
                        limit 3
                    )
                    union all
                    (
                        select game_id, hounds_id
                        from game
                        where hare_id = ticket.player_id and pool_id = ticket.pool_id
                        order by game_id desc
                        limit 3
                    )
                ) latest
                order by game_id desc
                limit 3
            ) as "recent_opponents!: Vec<Uuid>"
        from ticket
        left join rating using (player_id, pool_id)
        left join role_balance using (player_id, pool_id)
        where ticket.pool_id = $1 and ticket.status = 'queued'
        "#,
        pool
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            let stored = row.rating.zip(row.rd).zip(row.volatility);
            let rating = tickets::rating_now(stored, row.last_rated_at, now);
            let mut opponents = row.recent_opponents.into_iter();
            Ok(Candidate {
                ticket: row.ticket_id.0,
                player: row.player_id.0,
                rating: tickets::points(rating.rating),
                rd: tickets::points(rating.rd),
                waited_s: tickets::whole_seconds(now - row.created_at),
                debt: row.debt.unwrap_or(0),
                last_role: tickets::role(row.last_role.as_deref())
                    .map_err(|why| nonsense(format!("role balance of {} in {pool}", row.player_id), why))?,
                recent_opponents: [opponents.next(), opponents.next(), opponents.next()],
                blocked: Vec::new(),
            })
        })
        .collect()
}

/// What became of a pair.
enum Seated {
    /// They play.
    Playing,
    /// One of them left meanwhile; the other one waits on.
    TicketGone,
    /// This one plays already, and needs no ticket.
    AlreadyPlaying(PlayerId),
}

/// Consumes both tickets and makes the game, or does nothing.
async fn seat(
    tx: &mut PgConnection,
    pair: &Pairing,
    new: &NewGame,
    now: Timestamp,
) -> Result<Seated, sqlx::Error> {
    let mut savepoint = tx.begin().await?;
    let tickets = [pair.seats.hounds, pair.seats.hare];
    let consumed = sqlx::query!(
        "
        with held as materialized (
            select player_id, pool_id
            from ticket
            where ticket_id = any($1) and player_id = any($2) and status = 'queued'
            order by player_id
            for update
        )
        update ticket
        set status = 'matched', game_id = $3, ended_at = $4
        from held
        where ticket.player_id = held.player_id and ticket.pool_id = held.pool_id and ticket.status = 'queued'
        returning ticket.ticket_id
        ",
        &tickets,
        &[new.players.hounds.0, new.players.hare.0],
        new.id.0,
        now
    )
    .fetch_all(&mut *savepoint)
    .await?;
    if consumed.len() != 2 {
        savepoint.rollback().await?;
        return Ok(Seated::TicketGone);
    }
    match games::create(&mut savepoint, new, now).await {
        Ok(_) => {
            savepoint.commit().await?;
            Ok(Seated::Playing)
        }
        Err(CreateError::AlreadyPlaying(player)) => {
            savepoint.rollback().await?;
            Ok(Seated::AlreadyPlaying(player))
        }
        Err(CreateError::Database(err)) => Err(err),
    }
}

fn halves(random: u128) -> [u64; 2] {
    let (high, low) = Uuid::from_u128(random).as_u64_pair();
    [low, high]
}
