//! The computer as an opponent: games against it, and the task that makes its moves.
//!
//! It plays through the same operations as a person. Any process may run the task: whoever is second finds that the
//! ply is taken. Its thinking is done off the async threads, and nobody waits for it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sqlx::PgPool;
use tokio::sync::Notify;

use super::{
    ActError, ClockSetting, ComputerDue, DrawIntent, Game, Grace, HotGames, Mover, NewGame, OnDrop,
    PlayMoveError, Turn, announce, clear_draw_offer, create, offer_draw, play_move, store, take_over,
    to_be_replaced,
};
use crate::{
    events::{Events, player_log},
    ids::{GameId, PlayerId},
    rules::{ByRole, Role, Rules},
    solver::{
        Solver,
        computer::{Level, agrees_to_draw, choose},
    },
    wall_clock::{Timestamp, WallClock},
};

/// So many games of one player against the computer may be going at once.
pub const LIVE_LIMIT: i64 = 20;
/// How often the task looks for games that another process left waiting.
const EVERY: Duration = Duration::from_secs(2);
/// So many games are looked at in one step.
const BATCH: i64 = 200;

/// A game against the computer that a player wants to begin.
#[derive(Clone, Debug)]
pub struct NewComputerGame {
    /// By which rules.
    pub rules: Rules,
    /// With which clock.
    pub clock: ClockSetting,
    /// The player's role; a coin decides when none is chosen.
    pub role: Option<Role>,
    /// How strong the computer plays.
    pub level: Level,
    /// Whether a rematch swaps the roles.
    pub swap_roles: bool,
    /// What makes a repeat of the request known as one: the caller's key, and a hash of what was asked.
    pub repeatable: Option<(String, Vec<u8>)>,
}

/// Why no game against the computer was begun.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// A member of the clock has a value that is not allowed.
    #[error("{0} {1}")]
    Clock(&'static str, &'static str),
    /// As many are going as one player may have.
    #[error("{LIVE_LIMIT} of your games against the computer are going; finish, resign or abort one")]
    TooMany,
    /// The key stands for another request.
    #[error("this Idempotency-Key was sent with another body before")]
    KeyReused,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Begins a game against the computer, never rated. The same request sent again answers the game that the first one
/// made.
///
/// # Errors
///
/// Why there is no such game.
pub async fn begin(
    db: &PgPool,
    player: PlayerId,
    events: &Events,
    wanted: &NewComputerGame,
    now: Timestamp,
    id: GameId,
    seed: u64,
) -> Result<Game, BeginError> {
    wanted.clock.check().map_err(|(member, allowed)| BeginError::Clock(member, allowed))?;
    let mut tx = db.begin().await?;
    store::one_request_at_a_time(&mut tx, player).await?;
    if let Some((key, hash)) = &wanted.repeatable
        && let Some((first, first_hash)) = store::requested_before(&mut tx, player, key).await?
    {
        if first_hash != *hash {
            return Err(BeginError::KeyReused);
        }
        return store::find(&mut *tx, first).await?.ok_or(BeginError::Database(sqlx::Error::RowNotFound));
    }
    if store::live_against_computer(&mut tx, player).await? >= LIVE_LIMIT {
        return Err(BeginError::TooMany);
    }
    let role = wanted.role.unwrap_or(if seed >> 63 == 0 { Role::Hounds } else { Role::Hare });
    let mut players = ByRole { hounds: player, hare: player };
    players[role.other()] = PlayerId::COMPUTER;
    let mut computer = ByRole::default();
    computer[role.other()] = Some(wanted.level);
    let new = NewGame {
        id,
        rules: wanted.rules,
        clock: wanted.clock,
        pool: None,
        rated: false,
        players,
        computer,
        seed: seed.cast_signed(),
        swap_roles: wanted.swap_roles,
        on_drop: OnDrop::Wait,
        drop_after: Grace::default(),
        rematch_of: None,
    };
    create(&mut tx, &new, now).await.map_err(|err| match err {
        super::CreateError::AlreadyPlaying(_) => BeginError::Database(sqlx::Error::RowNotFound),
        super::CreateError::Database(err) => BeginError::Database(err),
    })?;
    if let Some((key, hash)) = &wanted.repeatable {
        store::note_request(&mut tx, player, key, hash, id).await?;
    }
    let game = store::find(&mut *tx, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    player_log::tell(&mut tx, &new.told(), now).await?;
    tx.commit().await?;
    announce(events, &game);
    tracing::info!(game = %id, %player, level = %wanted.level, "plays against the computer");
    Ok(game)
}

/// Makes the computer's moves. Its clones are one.
#[derive(Clone)]
pub struct ComputerPlayer {
    waiting: Arc<Mutex<HashSet<GameId>>>,
    woken: Arc<Notify>,
    solver: Solver,
    hot: HotGames,
    events: Events,
}

impl ComputerPlayer {
    /// The computer, who knows what `solver` knows.
    pub fn new(solver: Solver, hot: HotGames, events: Events) -> ComputerPlayer {
        ComputerPlayer { waiting: Arc::default(), woken: Arc::default(), solver, hot, events }
    }

    /// Something happened in this game: if the computer has to do something about it, or in its rematch, it will at
    /// once.
    pub fn look_at(&self, game: &Game) {
        let due = game.computer_due().map(|_| game.id);
        let plays = game.seats.iter().any(|(_, seat)| seat.computer.is_some());
        for id in due.into_iter().chain(game.rematch.filter(|_| plays)) {
            self.waiting().insert(id);
            self.woken.notify_one();
        }
    }

    /// Plays what this process was told of at once, and every 2 seconds what another one left behind, until it is
    /// dropped.
    pub async fn run(self, db: PgPool, clock: WallClock, roll: fn() -> u128) {
        let mut pace = tokio::time::interval(EVERY);
        loop {
            let outcome = tokio::select! {
                () = self.woken.notified() => self.answer_those_told(&db, &clock, roll).await,
                _ = pace.tick() => self.step(&db, &clock, roll).await.map(drop),
            };
            if let Err(err) = outcome {
                tracing::warn!(cause = %err, "the computer cannot play");
            }
        }
    }

    /// Does what there is to do in all games; answers in how many it did something.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn step(
        &self,
        db: &PgPool,
        clock: &WallClock,
        roll: impl Fn() -> u128,
    ) -> Result<usize, sqlx::Error> {
        self.waiting().clear();
        let now = clock.now();
        for absence in to_be_replaced(db, now, BATCH).await? {
            take_over(db, &self.events, now, absence).await?;
        }
        let mut done = 0;
        let mut last = None;
        loop {
            let ids = store::live_with_computer(db, last, BATCH).await?;
            let Some(id) = ids.last() else { return Ok(done) };
            last = Some(*id);
            done += self.answer(db, clock, &roll, &ids).await?;
        }
    }

    async fn answer_those_told(
        &self,
        db: &PgPool,
        clock: &WallClock,
        roll: impl Fn() -> u128,
    ) -> Result<(), sqlx::Error> {
        let ids: Vec<GameId> = std::mem::take(&mut *self.waiting()).into_iter().collect();
        self.answer(db, clock, &roll, &ids).await.map(drop)
    }

    async fn answer(
        &self,
        db: &PgPool,
        clock: &WallClock,
        roll: &impl Fn() -> u128,
        ids: &[GameId],
    ) -> Result<usize, sqlx::Error> {
        let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
        let mut done = 0;
        for game in store::find_all(db, &ids).await? {
            let outcome = match game.computer_due() {
                None => continue,
                Some(ComputerDue::AnswerDraw(role)) => self.answer_draw(db, clock, game, role).await,
                Some(ComputerDue::Move(role, level)) => self.play(db, clock, game, role, level, roll()).await,
            };
            done += 1;
            if let Err(err) = outcome {
                tracing::warn!(cause = %err, "the computer cannot play a game");
            }
        }
        Ok(done)
    }

    /// Accepts or declines the draw that the other side offers. A move that is due as well comes with the next look.
    async fn answer_draw(
        &self,
        db: &PgPool,
        clock: &WallClock,
        game: Game,
        role: Role,
    ) -> Result<(), AnswerError> {
        let solver = self.solver.clone();
        let play = game.play.clone();
        let agrees = tokio::task::spawn_blocking(move || agrees_to_draw(&solver, &play, role)).await?;
        let player = game.seats[role].player;
        let answered = if agrees {
            offer_draw(db, &self.events, clock.now(), player, game.id, DrawIntent::AcceptOnly).await
        } else {
            clear_draw_offer(db, &self.events, clock.now(), player, game.id).await
        };
        match answered {
            Ok(game) => self.look_at(&game),
            // Withdrawn, or the game is over.
            Err(ActError::NoDrawOffer | ActError::GameOver(_)) => {}
            Err(err) => return Err(err.into()),
        }
        Ok(())
    }

    async fn play(
        &self,
        db: &PgPool,
        clock: &WallClock,
        game: Game,
        role: Role,
        level: Level,
        dice: u128,
    ) -> Result<(), AnswerError> {
        let (solver, play) = (self.solver.clone(), game.play.clone());
        let chosen = tokio::task::spawn_blocking(move || choose(&solver, &play, level, dice)).await?;
        let Some(mv) = chosen else { return Ok(()) };
        let (ply, text) = (game.ply() + 1, mv.to_string());
        let turn = Turn { mover: Mover::Computer(role), ply, text: &text };
        match play_move(db, &self.hot, &self.events, clock.now(), game.id, turn).await {
            Ok(played) => self.look_at(&played.game),
            // Another process was faster, or the game is over.
            Err(PlayMoveError::Refused(_)) => {}
            Err(err) => return Err(err.into()),
        }
        Ok(())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashSet<GameId>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the computer did not answer in one game.
#[derive(Debug, thiserror::Error)]
enum AnswerError {
    /// Its move was not played.
    #[error(transparent)]
    Move(#[from] PlayMoveError),
    /// Its answer was not taken.
    #[error(transparent)]
    Act(#[from] ActError),
    /// Its thinking broke off.
    #[error(transparent)]
    Thinking(#[from] tokio::task::JoinError),
}
