//! Flags that fall: ends the games in which somebody's time has run out, with nobody connected.
//!
//! Every process runs this task. A game is looked at when its time could have run out and at no other time; whoever
//! looks holds it, and the others pass by. Whoever reads a game or acts in it looks as well (`flag`), so that nobody
//! is shown a game that is over as one that goes on.

use std::time::Duration;

use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};
use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use super::{ATTEMPTS, Ending, Game, announce, call_off, downtime, end, store};
use crate::{
    db,
    events::Events,
    ids::GameId,
    wall_clock::{Timestamp, WallClock},
};

/// How often to look.
const EVERY: Duration = Duration::from_millis(250);
/// So many games are looked at in one transaction.
const BATCH: i64 = 100;
/// When to look again at a game that is being ended, should it not have come to that.
const AGAIN_AFTER: TimeDelta = TimeDelta::seconds(1);
/// When to look again at a game that makes no sense.
const BROKEN_AGAIN_AFTER: TimeDelta = TimeDelta::hours(1);

/// Looks four times a second, until it is dropped.
///
/// The time is read one look before it is used: a move that arrived in time and still waits for the database comes
/// first.
pub async fn run(db: PgPool, events: Events, clock: WallClock) {
    let mut pace = tokio::time::interval(EVERY);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = clock.now();
        pace.tick().await;
        if let Err(err) = beat(&db, &events, now, &clock).await {
            tracing::warn!(cause = %err, "cannot look whose time has run out");
        }
    }
}

/// Shows that this process lives, and looks.
async fn beat(db: &PgPool, events: &Events, now: Timestamp, clock: &WallClock) -> Result<usize, sqlx::Error> {
    if downtime::show_sign_of_life(db, now).await? > 0 {
        downtime::stay_alive(db, clock.now()).await?;
    }
    step(db, events, now).await
}

/// Looks at every game whose time could have run out by `now`. Answers how many it ended.
///
/// # Errors
///
/// When the database fails. What was ended before stays so.
pub async fn step(db: &PgPool, events: &Events, now: Timestamp) -> Result<usize, sqlx::Error> {
    downtime::show_sign_of_life(db, now).await?;
    let mut ended = 0;
    loop {
        let look = look(db, now).await?;
        for id in &look.fallen {
            match fall(db, events, now, *id).await {
                Ok(game) => ended += usize::from(game.is_some_and(|game| !game.is_ongoing())),
                Err(err) => tracing::warn!(game = %id, cause = %err, "cannot end a game on time"),
            }
        }
        if !look.is_full {
            return Ok(ended);
        }
    }
}

/// Ends a game if somebody's time has run out in it, and answers it as it is then. Of all who try this at the same
/// instant one does it.
pub(super) async fn flag(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    id: GameId,
) -> Result<Option<Game>, sqlx::Error> {
    downtime::show_sign_of_life(db, now).await?;
    fall(db, events, now, id).await
}

/// Tries again while a move takes the number in the log first: it arrived in time, and counts.
async fn fall(db: &PgPool, events: &Events, now: Timestamp, id: GameId) -> Result<Option<Game>, sqlx::Error> {
    let mut outcome = try_fall(db, events, now, id).await;
    for _ in 1..ATTEMPTS {
        match &outcome {
            Err(err) if db::violates(err, "game_event_pkey") => outcome = try_fall(db, events, now, id).await,
            _ => break,
        }
    }
    outcome
}

async fn try_fall(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    id: GameId,
) -> Result<Option<Game>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let Some(mut game) = store::lock(&mut tx, id).await? else { return Ok(None) };
    let Some(fall) = game.clock.fallen(now) else { return Ok(Some(game)) };
    if fall.is_first_move {
        call_off(&mut tx, &mut game, fall.role, now).await?;
    } else {
        end(&mut tx, &mut game, Ending::FlagFell(fall.role), Some(fall.role), now).await?;
    }
    tx.commit().await?;
    announce(events, &game);
    Ok(Some(game))
}

/// What a look at some games has found.
struct Look {
    fallen: Vec<GameId>,
    /// There may be more to look at.
    is_full: bool,
}

/// Looks at the games that are due and that nobody holds, and writes down when to look again. Those whose time has
/// run out are ended after that, each in a transaction of its own.
async fn look(db: &PgPool, now: Timestamp) -> Result<Look, sqlx::Error> {
    let mut tx = db.begin().await?;
    let due = store::hold_due(&mut tx, now, BATCH).await?;
    if due.is_empty() {
        return Ok(Look { fallen: Vec::new(), is_full: false });
    }
    let is_full = i64::try_from(due.len()).is_ok_and(|looked| looked == BATCH);
    let games = load(&mut tx, &due).await?;
    let mut fallen = Vec::new();
    let mut looks: Vec<Option<Timestamp>> = Vec::with_capacity(due.len());
    for id in &due {
        looks.push(match games.iter().find(|game| game.id.0 == *id) {
            Some(game) if game.clock.fallen(now).is_some() => {
                fallen.push(game.id);
                Some(now + AGAIN_AFTER)
            }
            Some(game) => game.clock.next_look(now),
            None => Some(now + BROKEN_AGAIN_AFTER),
        });
    }
    store::look_again(&mut tx, &due, &looks).await?;
    tx.commit().await?;
    Ok(Look { fallen, is_full })
}

/// Loads games. One that makes no sense is reported and left out, so that it does not stand in the way of the others.
async fn load(tx: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<Game>, sqlx::Error> {
    match store::find_all(&mut *tx, ids).await {
        Err(sqlx::Error::Decode(_)) => {}
        outcome => return outcome,
    }
    let mut games = Vec::with_capacity(ids.len());
    for id in ids {
        match store::find(&mut *tx, GameId(*id)).await {
            Err(sqlx::Error::Decode(err)) => tracing::error!(cause = %err, "a game cannot be looked at"),
            outcome => games.extend(outcome?),
        }
    }
    Ok(games)
}
