//! Playing: one function for each thing that a player can do in a game.
//!
//! The log is the record. Everything that happens takes the next number of the game's log, and each number is taken
//! once: so of all that is tried at the same instant one thing happens, and whoever was overtaken looks again. A move
//! that ends nothing is that one insert. Every ending goes through `end`, in the transaction that settles the ratings.
//! Time is a fold of the log as well: see [`clock`], and [`flags`] for who notices that it has run out.

pub mod analysis;
pub mod clock;
pub mod computer;
pub mod downtime;
mod dropping_out;
mod ending;
pub mod fair_play;
pub mod flags;
mod game;
pub mod history;
mod hot;
pub mod house_rules;
mod live_positions;
mod log;
mod store;

use std::sync::Arc;

use sqlx::{PgConnection, PgPool};

use self::store::Happening;
pub use self::{
    clock::{ClockSetting, Fall, GameClock},
    dropping_out::{
        Absence, Claim, Grace, GraceError, OnDrop, claim, take_over, take_seat, tell_presence, to_be_replaced,
    },
    ending::Ending,
    game::{ComputerDue, Decision, Game, Mover, PlyRefusal, Seat, Turn},
    hot::HotGames,
    live_positions::LivePositions,
    log::{LogEntry, log_since},
    store::MoveRow,
};
use crate::{
    db,
    events::{
        Events, Topic,
        player_log::{self, Told},
    },
    ids::{GameId, PlayerId},
    ratings::{self, RatedResult},
    rules::{ByRole, Role, Rules},
    solver::computer::Level,
    wall_clock::Timestamp,
};

/// A game to be made.
#[derive(Clone, Debug)]
pub struct NewGame {
    /// Its id.
    pub id: GameId,
    /// By which rules.
    pub rules: Rules,
    /// With which clock.
    pub clock: ClockSetting,
    /// The pool it counts for; a rated game has one.
    pub pool: Option<String>,
    /// Whether it changes ratings.
    pub rated: bool,
    /// Who plays which role.
    pub players: ByRole<PlayerId>,
    /// How strong the computer plays, on a side where it does.
    pub computer: ByRole<Option<Level>>,
    /// What the coin fell from and the starting point is drawn from.
    pub seed: i64,
    /// What becomes of a side that has left.
    pub on_drop: OnDrop,
    /// After how long it has.
    pub drop_after: Grace,
    /// Whether a rematch swaps the roles.
    pub swap_roles: bool,
    /// The game that it is the rematch of.
    pub rematch_of: Option<GameId>,
}

/// Why a game was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// One of the two is in another live rated game.
    #[error("player {0} is in another live rated game")]
    AlreadyPlaying(PlayerId),
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

impl NewGame {
    /// What its players are told, by the transaction that makes it: as the last thing before the commit.
    pub fn told(&self) -> Vec<Told> {
        let started = |role: Role| Told::game_started(self.players[role], self.id, &role.to_string());
        let mut told: Vec<Told> = Role::ALL.into_iter().map(started).collect();
        told.push(Told::your_turn(self.players.hounds, self.id, 0));
        told
    }
}

/// Makes a game, in the transaction of whatever led to it, which also tells its players ([`NewGame::told`]).
///
/// # Errors
///
/// When one of the players is in another live rated game, or the database fails; the transaction must then be
/// given up.
pub async fn create(tx: &mut PgConnection, new: &NewGame, now: Timestamp) -> Result<GameId, CreateError> {
    let starts = new.rules.starts();
    let drawn = new.seed.unsigned_abs() % starts.len().max(1) as u64;
    let start = starts[usize::try_from(drawn).unwrap_or(0)];
    let mut ratings = ByRole { hounds: None, hare: None };
    if let Some(pool) = &new.pool {
        for role in Role::ALL {
            let rating = ratings::current(tx, new.players[role], pool, now).await?;
            ratings[role] = Some((rating.rating, rating.is_provisional()));
        }
    }
    store::insert(tx, new, start, &ratings, now).await?;
    // Always in the order of the players' ids, so that games made at once wait for each other and never for ever.
    let mut ordered = Role::ALL;
    ordered.sort_by_key(|role| new.players[*role]);
    for role in ordered {
        let player = new.players[role];
        if new.rated && new.clock.is_real_time() {
            store::take_live_seat(tx, player, new.id).await.map_err(|err| {
                if db::violates(&err, "live_seat_pkey") {
                    CreateError::AlreadyPlaying(player)
                } else {
                    CreateError::Database(err)
                }
            })?;
        }
        if let (true, Some(pool)) = (new.rated, &new.pool) {
            store::count_role(tx, player, pool, role).await?;
        }
    }
    metrics::counter!("leveret_games_started_total", "rated" => new.rated.to_string()).increment(1);
    Ok(new.id)
}

/// Loads a game, and ends it if somebody's time has run out in it.
///
/// # Errors
///
/// When the database fails.
pub async fn find(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    id: GameId,
) -> Result<Option<Game>, sqlx::Error> {
    match store::find(db, id).await? {
        Some(game) if game.clock.fallen(now).is_some() => flags::flag(db, events, now, id).await,
        found => Ok(found),
    }
}

/// The moves of a game with their times.
///
/// # Errors
///
/// When the database fails.
pub async fn moves(db: &PgPool, game: &Game) -> Result<Vec<MoveRow>, sqlx::Error> {
    store::moves(db, game).await
}

/// The live rated real-time game that a player is in.
///
/// # Errors
///
/// When the database fails.
pub async fn live_game_of(conn: &mut PgConnection, player: PlayerId) -> Result<Option<GameId>, sqlx::Error> {
    store::live_game_of(conn, player).await
}

/// Why a move was not played.
#[derive(Debug, thiserror::Error)]
pub enum PlayMoveError {
    /// There is none with this id.
    #[error("no such game")]
    NoSuchGame,
    /// The game does not allow it.
    #[error(transparent)]
    Refused(#[from] PlyRefusal),
    /// So many others moved at once that it could not be settled who was first.
    #[error("the game is busy")]
    Busy,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// A move that stands, and whether it is new.
pub struct PlayedMove {
    /// The game as of this move, or as of now when the move stood already.
    pub game: Arc<Game>,
    /// False for a move that was sent again.
    pub is_new: bool,
}

/// How often something is tried against a game that changes meanwhile.
const ATTEMPTS: usize = 5;

/// Plays a move, or finds that it stands already.
///
/// A game that this process remembers needs no read: its next ply is decided from memory, and recorded by a
/// statement that writes only if the ply still fits. `now` is when the move arrived, whatever it had to wait for
/// since. A move that arrived too late ends the game.
///
/// # Errors
///
/// Why the move was not played; the game is as it was then.
pub async fn play_move(
    db: &PgPool,
    hot: &HotGames,
    events: &Events,
    now: Timestamp,
    id: GameId,
    turn: Turn<'_>,
) -> Result<PlayedMove, PlayMoveError> {
    // What this process remembers does not tell who has come back elsewhere.
    let all_here = |game: &Game| Role::ALL.into_iter().all(|role| game.away_since(role, now).is_none());
    if let Some(game) = hot.get(id).filter(|game| all_here(game))
        && let Ok(Decision::Played(next)) = game.decide(turn, now)
        && let Some(played) = record_move(db, hot, events, *next, now).await?
    {
        return Ok(played);
    }
    for _ in 0..ATTEMPTS {
        let game = store::find(db, id).await?.ok_or(PlayMoveError::NoSuchGame)?;
        match game.decide(turn, now) {
            Err(PlyRefusal::TimeUp(_)) => {
                flags::flag(db, events, now, id).await?;
            }
            Err(refusal) => return Err(refusal.into()),
            Ok(Decision::AlreadyPlayed) => return Ok(PlayedMove { game: Arc::new(game), is_new: false }),
            Ok(Decision::Played(next)) => {
                if let Some(played) = record_move(db, hot, events, *next, now).await? {
                    return Ok(played);
                }
            }
        }
    }
    Err(PlayMoveError::Busy)
}

/// Records the last move of a game, and its end if it has ended it. Nothing when something else was faster.
async fn record_move(
    db: &PgPool,
    hot: &HotGames,
    events: &Events,
    game: Game,
    now: Timestamp,
) -> Result<Option<PlayedMove>, sqlx::Error> {
    let game = if game.is_ongoing() {
        store::append_move(db, &game).await?.then_some(game)
    } else {
        play_last_move(db, game, now).await?
    };
    let Some(game) = game.map(Arc::new) else { return Ok(None) };
    metrics::counter!("leveret_moves_total").increment(1);
    if game.is_ongoing() {
        events.announce([Topic::Game(game.id), Topic::Player(game.seats[game.play.turn()].player)]);
        hot.keep(game.clone());
    } else {
        announce(events, &game);
        hot.forget(game.id);
    }
    Ok(Some(PlayedMove { game, is_new: true }))
}

/// Plays the move that ends a game: appended, ended and settled in one transaction. Nothing when it was overtaken.
async fn play_last_move(db: &PgPool, mut game: Game, now: Timestamp) -> Result<Option<Game>, sqlx::Error> {
    let Some((ending, _)) = game.ended else { return Ok(None) };
    let mut tx = db.begin().await?;
    store::hold(&mut tx, game.id).await?;
    if !store::append_move(&mut *tx, &game).await? {
        return Ok(None);
    }
    end(&mut tx, &mut game, ending, None, now).await?;
    tx.commit().await?;
    Ok(Some(game))
}

/// Says that something happened in a game that is both players' to know of.
fn announce(events: &Events, game: &Game) {
    let players = Role::ALL.map(|role| Topic::Player(game.seats[role].player));
    events.announce([Topic::Game(game.id)].into_iter().chain(players));
}

/// Ends a game: the only way that one ends. Logs it, frees the players, settles the ratings and, last, tells the
/// players: nothing but the commit may follow.
///
/// It has ended at `now`, when it was noticed. If it has because time ran out, the log names the deadline.
async fn end(
    tx: &mut PgConnection,
    game: &mut Game,
    ending: Ending,
    by: Option<Role>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let fall = game.clock.fallen(now);
    game.ended = Some((ending, now));
    game.clock.stop(now);
    game.draw_offer = None;
    game.last_at = now;
    let mut words = serde_json::json!({
        "result": ending.result().map(|result| result.to_string()),
        "reason": ending.reason(),
    });
    if let Some(fall) = fall {
        words["deadline"] = fall.deadline.to_rfc3339_opts(chrono::SecondsFormat::Millis, true).into();
    }
    store::append_event(tx, game, Happening { kind: "ended", role: by }, Some(&words), now).await?;
    store::update(tx, game).await?;
    if game.rated {
        store::leave_live_seats(tx, game.id).await?;
    }
    if let (true, Some(pool), Some(result)) = (game.rated, &game.pool, ending.result()) {
        let finished = RatedResult {
            game: game.id,
            pool: pool.clone(),
            players: game.seats.as_ref().map(|seat| seat.player),
            result,
            plies: game.ply(),
            ended_at: now,
        };
        game.rating_changes = ratings::settle(tx, &finished).await?;
    }
    let result = ending.result().map(|result| result.to_string());
    let told = Role::ALL.map(|role| {
        let (player, role) = (game.seats[role].player, role.to_string());
        Told::game_ended(player, game.id, &role, result.as_deref(), &ending.reason())
    });
    player_log::tell(tx, &told, now).await?;
    metrics::counter!("leveret_games_ended_total", "reason" => ending.reason()).increment(1);
    tracing::info!(game = %game.id, reason = ending.reason(), "game ended");
    Ok(())
}

/// Why something other than a move was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// There is none with this id.
    #[error("no such game")]
    NoSuchGame,
    /// The caller plays in another game.
    #[error("you do not play in this game")]
    NotAPlayer,
    /// It has ended.
    #[error("the game is over")]
    GameOver(Ending),
    /// Somebody's time has run out, and the game is to be ended.
    #[error("the time of the {} has run out", .0.role)]
    TimeUp(Fall),
    /// It has not ended.
    #[error("the game is still going")]
    GameNotOver,
    /// No draw offer of the other side stands.
    #[error("no draw offer of the other side stands")]
    NoDrawOffer,
    /// This side has offered a draw of late.
    #[error("you have offered a draw of late; each side moves ten times before you can offer another")]
    OfferTooSoon {
        /// From how many plies on it may offer one again.
        ply: u16,
    },
    /// Both sides have moved.
    #[error("both sides have moved")]
    TooLateToAbort,
    /// This game cannot be claimed, or not yet.
    #[error("there is nothing to claim")]
    NothingToClaim,
    /// The other side is there, or has not been away for long enough.
    #[error("the other side is here")]
    OpponentIsHere {
        /// From when on the game can be claimed if it stays away.
        claimable_at: Timestamp,
    },
    /// The rematch has begun.
    #[error("the rematch has begun")]
    RematchExists(GameId),
    /// One of the two is in another live rated game.
    #[error("one of the two players is in another live rated game")]
    AlreadyPlaying(PlayerId),
    /// So much else happened at once that it could not be settled what came first.
    #[error("the game is busy")]
    Busy,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

impl From<CreateError> for ActError {
    fn from(err: CreateError) -> ActError {
        match err {
            CreateError::AlreadyPlaying(player) => ActError::AlreadyPlaying(player),
            CreateError::Database(err) => ActError::Database(err),
        }
    }
}

/// Does something to a game, and once more when a move took its number in the log first, or when the game had to be
/// ended on time before. Announces what was done.
async fn unless_overtaken(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    id: GameId,
    act: impl AsyncFn() -> Result<Game, ActError>,
) -> Result<Game, ActError> {
    for _ in 0..ATTEMPTS {
        match act().await {
            Err(ActError::Database(err)) if db::violates(&err, "game_event_pkey") => {}
            Err(ActError::TimeUp(_)) => {
                flags::flag(db, events, now, id).await?;
            }
            Err(refusal) => return Err(refusal),
            Ok(game) => {
                announce(events, &game);
                return Ok(game);
            }
        }
    }
    Err(ActError::Busy)
}

/// Holds a game for something that only its players may do, and not when somebody's time has run out.
async fn hold(
    tx: &mut PgConnection,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
) -> Result<(Game, Role), ActError> {
    let game = store::lock(tx, id).await?.ok_or(ActError::NoSuchGame)?;
    let role = game.role_of(player).ok_or(ActError::NotAPlayer)?;
    match game.clock.fallen(now) {
        Some(fall) => Err(ActError::TimeUp(fall)),
        None => Ok((game, role)),
    }
}

/// Whether a draw offer may be made, or only one of the other side's be accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrawIntent {
    /// Offers, or accepts what stands.
    OfferOrAccept,
    /// Accepts what stands and offers nothing.
    AcceptOnly,
}

/// Offers a draw; when the other side's offer stands, accepts it. Offering again changes nothing.
///
/// # Errors
///
/// Why it was not done.
pub async fn offer_draw(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
    intent: DrawIntent,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        if let Some((Ending::DrawAgreed, _)) = game.ended {
            return Ok(game);
        }
        if let Some((ending, _)) = game.ended {
            return Err(ActError::GameOver(ending));
        }
        match game.draw_offer {
            Some(offerer) if offerer != role => {
                end(&mut tx, &mut game, Ending::DrawAgreed, Some(role), now).await?;
            }
            _ if intent == DrawIntent::AcceptOnly => return Err(ActError::NoDrawOffer),
            Some(_) => return Ok(game),
            None => {
                if let Some(ply) = game.next_draw_offer(role).filter(|ply| game.ply() < *ply) {
                    return Err(ActError::OfferTooSoon { ply });
                }
                game.draw_offer = Some(role);
                let offered = Happening { kind: "draw_offered", role: Some(role) };
                let after = serde_json::json!({ "ply": game.ply() });
                store::append_event(&mut tx, &mut game, offered, Some(&after), now).await?;
                store::update(&mut tx, &game).await?;
            }
        }
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Withdraws one's own draw offer, or declines the other side's. Without an offer nothing changes.
///
/// # Errors
///
/// Why it was not done.
pub async fn clear_draw_offer(
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
        let Some(offerer) = game.draw_offer.take() else { return Ok(game) };
        let kind = if offerer == role { "draw_withdrawn" } else { "draw_declined" };
        store::append_event(&mut tx, &mut game, Happening { kind, role: Some(role) }, None, now).await?;
        store::update(&mut tx, &game).await?;
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Resigns. Resigning again answers the same.
///
/// # Errors
///
/// Why it was not done.
pub async fn resign(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        match game.ended {
            Some((Ending::Resigned(resigned), _)) if resigned == role => return Ok(game),
            Some((ending, _)) => return Err(ActError::GameOver(ending)),
            None => end(&mut tx, &mut game, Ending::Resigned(role), Some(role), now).await?,
        }
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Resigns every game that a player is in, for somebody who leaves for good.
///
/// # Errors
///
/// When the database fails; the games before that are resigned.
pub async fn resign_all(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
) -> Result<(), sqlx::Error> {
    for id in store::ongoing_of(db, player).await? {
        // Whatever else stands in the way: the game has ended meanwhile.
        if let Err(ActError::Database(err)) = resign(db, events, now, player, id).await {
            return Err(err);
        }
    }
    Ok(())
}

/// Calls a game off before both sides have moved: no result, no rating, and the roles count as not played.
///
/// # Errors
///
/// Why it was not done.
pub async fn abort(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        match game.ended {
            Some((Ending::Aborted, _)) => return Ok(game),
            Some((ending, _)) => return Err(ActError::GameOver(ending)),
            None if game.ply() >= 2 => return Err(ActError::TooLateToAbort),
            None => call_off(&mut tx, &mut game, role, now).await?,
        }
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Ends a game as if it had never been, because of this side: it aborts, or did not begin to play in time.
async fn call_off(
    tx: &mut PgConnection,
    game: &mut Game,
    because_of: Role,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let no_show = game.clock.fallen(now).is_some();
    if let (true, Some(pool)) = (game.rated, &game.pool) {
        store::insert_abort(tx, game.id, game.seats[because_of].player, pool, no_show, now).await?;
        let mut ordered = Role::ALL;
        ordered.sort_by_key(|role| game.seats[*role].player);
        for role in ordered {
            store::uncount_role(tx, game.seats[role].player, pool, role, game.id).await?;
        }
    }
    end(tx, game, Ending::Aborted, Some(because_of), now).await
}

/// What a new game is made from, beside what led to it: its id and its seed.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// The new game's id.
    pub id: GameId,
    /// The new game's seed.
    pub seed: i64,
}

/// Asks for a rematch; when both have asked, makes it, roles swapped where that house rule is on. Asking again
/// changes nothing.
///
/// # Errors
///
/// Why it was not done.
pub async fn offer_rematch(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
    fresh: Fresh,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        if game.is_ongoing() {
            return Err(ActError::GameNotOver);
        }
        if game.rematch.is_some() || game.rematch_wanted[role] {
            return Ok(game);
        }
        game.rematch_wanted[role] = true;
        if game.rematch_wanted[role.other()] && !game.is_around(role.other(), now) {
            // The wish of somebody who has left is none any more.
            game.rematch_wanted[role.other()] = false;
            let withdrawn = Happening { kind: "rematch_withdrawn", role: Some(role.other()) };
            store::append_event(&mut tx, &mut game, withdrawn, None, now).await?;
        }
        let (mut kind, mut by) = ("rematch_offered", role);
        if game.seats[role.other()].player == PlayerId::COMPUTER {
            // The computer always wants one.
            let offered = Happening { kind, role: Some(role) };
            store::append_event(&mut tx, &mut game, offered, None, now).await?;
            game.rematch_wanted[role.other()] = true;
            by = role.other();
        }
        if game.rematch_wanted[role.other()] {
            kind = "rematch_accepted";
        }
        let (mut data, mut told) = (None, Vec::new());
        if game.rematch_wanted[role.other()] {
            let seats = game.seats.as_ref().map(|seat| seat.player);
            let levels = game.seats.as_ref().map(Seat::computer_player);
            let new = NewGame {
                id: fresh.id,
                rules: game.play.rules(),
                clock: game.clock.setting(),
                pool: game.pool.clone(),
                rated: game.rated,
                players: game.in_the_rematch(seats),
                computer: game.in_the_rematch(levels),
                seed: fresh.seed,
                on_drop: game.on_drop,
                drop_after: game.drop_after,
                swap_roles: game.swap_roles,
                rematch_of: Some(id),
            };
            game.rematch = Some(create(&mut tx, &new, now).await?);
            data = Some(serde_json::json!({ "game": fresh.id }));
            told = new.told();
        }
        store::append_event(&mut tx, &mut game, Happening { kind, role: Some(by) }, data.as_ref(), now)
            .await?;
        store::update(&mut tx, &game).await?;
        player_log::tell(&mut tx, &told, now).await?;
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Takes back one's wish for a rematch. Without one nothing changes.
///
/// # Errors
///
/// When the rematch has begun, or why else it was not done.
pub async fn withdraw_rematch(
    db: &PgPool,
    events: &Events,
    now: Timestamp,
    player: PlayerId,
    id: GameId,
) -> Result<Game, ActError> {
    unless_overtaken(db, events, now, id, async || {
        let mut tx = db.begin().await?;
        let (mut game, role) = hold(&mut tx, now, player, id).await?;
        if game.is_ongoing() {
            return Err(ActError::GameNotOver);
        }
        if let Some(rematch) = game.rematch {
            return Err(ActError::RematchExists(rematch));
        }
        if !game.rematch_wanted[role] {
            return Ok(game);
        }
        game.rematch_wanted[role] = false;
        store::append_event(
            &mut tx,
            &mut game,
            Happening { kind: "rematch_withdrawn", role: Some(role) },
            None,
            now,
        )
        .await?;
        store::update(&mut tx, &game).await?;
        tx.commit().await?;
        Ok(game)
    })
    .await
}

/// Annuls a finished rated game: one more entry in its log. A rebuild of the ratings then leaves it out.
///
/// # Errors
///
/// When there is no such game, it is still going, or the database fails.
pub async fn annul(db: &PgPool, now: Timestamp, id: GameId, why: &str) -> Result<(), ActError> {
    let mut tx = db.begin().await?;
    let mut game = store::lock(&mut tx, id).await?.ok_or(ActError::NoSuchGame)?;
    if game.is_ongoing() {
        return Err(ActError::GameNotOver);
    }
    let data = serde_json::json!({ "why": why });
    store::append_event(&mut tx, &mut game, Happening { kind: "annulled", role: None }, Some(&data), now)
        .await?;
    store::update(&mut tx, &game).await?;
    tx.commit().await?;
    Ok(())
}
