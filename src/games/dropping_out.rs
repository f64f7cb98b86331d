//! Players who have left a game: who is away since when, and what the other side may do about it.
//!
//! A sign of life is any call with a player's token, an open stream, and what a side does in the game itself. No sign
//! counts as missed while the service was down. A claim is allowed whoever's turn it is: a player who is there shows
//! a sign of life while waiting, too.

use std::fmt;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;

use super::{
    ActError, ClockSetting, Ending, Game, announce, end, hold,
    store::{self, Happening},
    unless_overtaken,
};
use crate::{
    db,
    events::Events,
    ids::{GameId, PlayerId},
    rules::Role,
    solver::computer::Level,
    wall_clock::Timestamp,
};

/// A side is away when it has shown no sign of life for longer than this.
pub const AWAY_AFTER: TimeDelta = TimeDelta::seconds(30);

/// What a game does for a side that has left for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDrop {
    /// The computer plays on for it.
    Computer,
    /// The other side may claim a win or a draw.
    Claim,
    /// Nothing: its clock runs, if there is one.
    Wait,
}

impl OnDrop {
    /// What a rated game does: where both are expected to stay, the other side may claim.
    pub fn of_rated(clock: ClockSetting) -> OnDrop {
        if clock.is_real_time() { OnDrop::Claim } else { OnDrop::Wait }
    }

    /// What a casual game does if nobody says otherwise: where both are expected to stay, the computer plays on.
    pub fn of_casual(clock: ClockSetting) -> OnDrop {
        if clock.is_real_time() { OnDrop::Computer } else { OnDrop::Wait }
    }

    /// Whether it goes with a clock: with days for a turn nobody is expected to stay.
    pub fn fits(self, clock: ClockSetting) -> bool {
        self == OnDrop::Wait || !matches!(clock, ClockSetting::Correspondence { .. })
    }

    /// Reads the word that the API and the database use.
    pub fn from_word(word: &str) -> Option<OnDrop> {
        [OnDrop::Computer, OnDrop::Claim, OnDrop::Wait].into_iter().find(|kind| kind.to_string() == word)
    }
}

impl fmt::Display for OnDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnDrop::Computer => "computer",
            OnDrop::Claim => "claim",
            OnDrop::Wait => "wait",
        })
    }
}

/// For how long a side shows no sign of life until it has left, and its game can be claimed or handed to the computer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grace(i32);

/// A grace that is too short or too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be 30000 to 600000")]
pub struct GraceError;

impl Grace {
    /// So many milliseconds.
    pub fn ms(self) -> i32 {
        self.0
    }

    /// So long.
    pub fn span(self) -> TimeDelta {
        TimeDelta::milliseconds(self.0.into())
    }
}

impl Default for Grace {
    /// A minute, as it always is in rated games.
    fn default() -> Grace {
        Grace(60_000)
    }
}

impl TryFrom<i32> for Grace {
    type Error = GraceError;

    fn try_from(ms: i32) -> Result<Grace, GraceError> {
        if (30_000..=600_000).contains(&ms) { Ok(Grace(ms)) } else { Err(GraceError) }
    }
}

impl Game {
    /// Since when a side has shown no sign of life, if it is away at `now`.
    pub fn away_since(&self, role: Role, now: Timestamp) -> Option<Timestamp> {
        let is_player = self.seats[role].player != PlayerId::COMPUTER;
        Some(self.seen[role]).filter(|seen| is_player && now - *seen > AWAY_AFTER)
    }

    /// Whether a side's wish for a rematch still counts: where both are expected to stay, as long as it is there.
    pub fn is_around(&self, role: Role, now: Timestamp) -> bool {
        !self.clock.setting().is_real_time() || self.away_since(role, now).is_none()
    }

    /// From when on the other side may claim the game, if this one stays away: when both have moved, and where
    /// games can be claimed at all.
    pub fn claimable_at(&self, role: Role) -> Option<Timestamp> {
        let can_be_claimed = self.is_ongoing() && self.on_drop == OnDrop::Claim && self.ply() >= 2;
        can_be_claimed.then(|| self.seen[role] + self.drop_after.span())
    }
}

/// What a player claims of a game whose other side has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The game.
    Win,
    /// Half of it.
    Draw,
}

/// Claims a game that the other side has left. Claiming the same again answers the same.
///
/// # Errors
///
/// Why it cannot be claimed: above all, because the other side is there.
pub async fn claim(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
    claim: Claim,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        let ending = match claim {
            Claim::Win => Ending::DroppedOut(role.other()),
            Claim::Draw => Ending::DrawClaimed,
        };
        match game.ended {
            Some((ended, _)) if ended == ending => return Ok(game),
            Some((ended, _)) => return Err(ActError::GameOver(ended)),
            None => {}
        }
        let claimable_at = game.claimable_at(role.other()).ok_or(ActError::NothingToClaim)?;
        if now < claimable_at {
            return Err(ActError::OpponentIsHere { claimable_at });
        }
        end(&mut tx, &mut game, ending, Some(role), now).await?;
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// A side that has left a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Absence {
    /// The game.
    pub game: GameId,
    /// Which side.
    pub role: Role,
    /// Who plays it.
    pub player: PlayerId,
    /// When it last showed a sign of life.
    pub since: Timestamp,
}

/// The sides that have left ongoing games in which the computer is to play on for them, those first that have been
/// gone longest, and at most so many.
///
/// # Errors
///
/// When the database fails.
pub async fn to_be_replaced(db: &PgPool, now: Timestamp, most: i64) -> Result<Vec<Absence>, sqlx::Error> {
    store::gone_from_computer_games(db, now, most).await
}

/// Lets the computer play on for a side that has left, if it still has: while the other side is there, and until the
/// one that left takes its seat back.
///
/// # Errors
///
/// When the database fails.
pub async fn take_over(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    absence: Absence,
) -> Result<Option<Game>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let Some(mut game) = store::lock(&mut tx, absence.game).await? else { return Ok(None) };
    let role = absence.role;
    let is_gone = game.away_since(role, now).is_some_and(|since| now - since >= game.drop_after.span());
    let other_is_here = game.away_since(role.other(), now).is_none();
    let seats_are_theirs = game.seats.iter().all(|(_, seat)| seat.computer.is_none());
    let is_wanted = game.is_ongoing() && !game.rated && game.on_drop == OnDrop::Computer;
    if !(is_gone && other_is_here && seats_are_theirs && is_wanted) {
        return Ok(None);
    }
    game.seats[role].computer = Some(Level::MIDDLE);
    let seated = serde_json::json!({ "controller": "computer", "computer_level": Level::MIDDLE.number() });
    let happening = Happening { kind: "seat", role: Some(role) };
    store::append_event(&mut tx, &mut game, happening, Some(&seated), now).await?;
    store::update(&mut tx, &game).await?;
    tx.commit().await?;
    announce(events, &game);
    tracing::info!(game = %game.id, %role, "the computer plays on");
    Ok(Some(game))
}

/// Takes one's seat back from the computer. In one's own seat nothing changes.
///
/// # Errors
///
/// Why it was not done.
pub async fn take_seat(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        if let Some((ending, _)) = game.ended {
            return Err(ActError::GameOver(ending));
        }
        if game.seats[role].computer.take().is_none() {
            return Ok(game);
        }
        let seated = serde_json::json!({ "controller": "player", "computer_level": null });
        let happening = Happening { kind: "seat", role: Some(role) };
        store::append_event(&mut tx, &mut game, happening, Some(&seated), now).await?;
        store::update(&mut tx, &game).await?;
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// So many games are told of at once.
const TOLD_AT_ONCE: i64 = 200;

/// Writes into the logs of live games who has left and who is back; answers in how many games somebody did.
///
/// # Errors
///
/// When the database fails.
pub async fn tell_presence(db: &PgPool, events: &Events, now: Timestamp) -> Result<usize, sqlx::Error> {
    let mut told = 0;
    for id in store::with_changed_presence(db, now - AWAY_AFTER, TOLD_AT_ONCE).await? {
        match tell_presence_in(db, events, now, id).await {
            Ok(changed) => told += usize::from(changed),
            // A move took the number in the log: the next look tells it.
            Err(err) if db::violates(&err, "game_event_pkey") => {}
            Err(err) => return Err(err),
        }
    }
    Ok(told)
}

async fn tell_presence_in(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    id: GameId,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.begin().await?;
    let Some(mut game) = store::lock(&mut tx, id).await? else { return Ok(false) };
    let mut changed = false;
    for role in Role::ALL {
        let is_away = game.away_since(role, now).is_some();
        if !game.is_ongoing() || game.seats[role].is_told_away == is_away {
            continue;
        }
        game.seats[role].is_told_away = is_away;
        let presence = serde_json::json!({ "present": !is_away });
        let happening = Happening { kind: "presence", role: Some(role) };
        store::append_event(&mut tx, &mut game, happening, Some(&presence), now).await?;
        changed = true;
    }
    if changed {
        store::update(&mut tx, &game).await?;
        tx.commit().await?;
        announce(events, &game);
    }
    Ok(changed)
}
