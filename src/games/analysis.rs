//! How well a finished game was played, from the exact values of its positions.
//!
//! The formula is told at `score`; it needs a table for the game's rules. Accuracies are computed by a task, off the
//! move path, and stored once for each game.

use std::time::Duration;

use sqlx::{PgConnection, PgPool};

use super::{Game, store};
use crate::{
    ids::{GameId, PlayerId},
    rules::{ByRole, Play, Position, Role, Rules, Variant},
    solver::{Solver, Value},
    wall_clock::Timestamp,
};

/// A move that wastes so many plies more scores the e-th part.
const PLIES_PER_E: f64 = 20.0;
/// What half a result given away leaves of a score: a win turned into a draw.
const HALF_GIVEN_AWAY: f64 = 25.0;

/// What a move was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every legal move was worth the same.
    NoChoice,
    /// None was better.
    Best,
    /// The result is kept, but the win takes longer or the loss comes sooner.
    Slower,
    /// The result is given away.
    ThrewAway,
}

/// One ply, judged.
#[derive(Clone, Debug)]
pub struct JudgedPly {
    /// Its number, from 1.
    pub ply: u16,
    /// Whose move it was.
    pub role: Role,
    /// The move.
    pub text: String,
    /// What the position was worth before it.
    pub before: Value,
    /// What it was worth after it.
    pub after: Value,
    /// The moves of which none was better.
    pub best: Vec<String>,
    /// What the move was.
    pub verdict: Verdict,
    /// Its score from 0 to 100; none where there was no choice.
    pub score: Option<f64>,
    /// Whether one move only kept the result, with others to choose from.
    pub is_test: bool,
}

/// How one side played.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Accuracy {
    /// The mean of its moves' scores, from 0 to 100; none without a choice.
    pub accuracy: Option<f64>,
    /// In how many positions its moves were not all worth the same.
    pub choices: u32,
    /// In how many one move only kept the result.
    pub tests: u32,
    /// In how many of these it was played.
    pub passed: u32,
}

/// A whole game, judged.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Its plies in order.
    pub plies: Vec<JudgedPly>,
    /// How both sides played.
    pub sides: ByRole<Accuracy>,
    /// The ply that lost it: the last by which the side that lost gave away a result it still had.
    pub lost_by: Option<u16>,
}

/// Judges a game's moves, one after the other; nothing where no table knows the rules.
pub fn analyse(solver: &Solver, rules: Rules, start: Position, moves: &[String]) -> Option<Analysis> {
    let mut play = Play::begin(rules, start).ok()?;
    let mut plies = Vec::with_capacity(moves.len());
    for text in moves {
        plies.push(judge(solver, &mut play, text)?);
    }
    let sides = ByRole::from_fn(|role| accuracy_of(plies.iter().filter(|judged| judged.role == role)));
    Some(Analysis { plies, sides, lost_by: None })
}

impl Analysis {
    /// Says which ply lost it for the side that lost, if one did.
    fn with_loser(mut self, loser: Option<Role>) -> Analysis {
        let gave_it_away = |judged: &&JudgedPly| {
            Some(judged.role) == loser
                && judged.verdict == Verdict::ThrewAway
                && judged.after.result.winner() == Some(judged.role.other())
        };
        self.lost_by = self.plies.iter().rev().find(gave_it_away).map(|judged| judged.ply);
        self
    }
}

/// Judges one move and makes it.
fn judge(solver: &Solver, play: &mut Play, text: &str) -> Option<JudgedPly> {
    let role = play.turn();
    let before = solver.play(play)?;
    let valued = solver.moves_in(play)?;
    let (_, best) = *valued.first()?;
    let (_, after) = *valued.iter().find(|(mv, _)| mv.to_string() == text)?;
    let is_choice = valued.iter().any(|(_, value)| best.compare_for(role, *value).is_ne());
    let keeps = |value: Value| value.result == best.result;
    let verdict = if !is_choice {
        Verdict::NoChoice
    } else if best.compare_for(role, after).is_eq() {
        Verdict::Best
    } else if keeps(after) {
        Verdict::Slower
    } else {
        Verdict::ThrewAway
    };
    let judged = JudgedPly {
        ply: play.ply() + 1,
        role,
        text: text.to_owned(),
        before,
        after,
        best: valued
            .iter()
            .take_while(|(_, value)| best.compare_for(role, *value).is_eq())
            .map(|(mv, _)| mv.to_string())
            .collect(),
        verdict,
        score: is_choice.then(|| score(role, best, after)),
        is_test: valued.len() > 1 && valued.iter().filter(|(_, value)| keeps(*value)).count() == 1,
    };
    play.play(text).ok()?;
    Some(judged)
}

/// The score of a move that leads to `after` where the best leads to `best`, from 0 to 100.
///
/// A move that keeps the result scores `100 · e^(−w / 20)`, where w is by how many plies it puts off a win or hastens
/// a loss. A win turned into a draw scores 25, a result given away otherwise 0. Where the length of a win depends on
/// the game's history, no time is counted as wasted.
fn score(role: Role, best: Value, after: Value) -> f64 {
    if best.result == after.result {
        let wasted = match (best.plies, after.plies) {
            (Some(best), Some(after)) => f64::from(best.abs_diff(after)),
            _ => 0.0,
        };
        100.0 * (-wasted / PLIES_PER_E).exp()
    } else if best.result.winner() == Some(role) && after.result.winner().is_none() {
        HALF_GIVEN_AWAY
    } else {
        0.0
    }
}

fn accuracy_of<'a>(plies: impl Iterator<Item = &'a JudgedPly>) -> Accuracy {
    let mut side = Accuracy::default();
    let mut total = 0.0;
    for judged in plies {
        if let Some(score) = judged.score {
            side.choices += 1;
            total += score;
        }
        if judged.is_test {
            side.tests += 1;
            side.passed += u32::from(judged.verdict != Verdict::ThrewAway);
        }
    }
    side.accuracy = (side.choices > 0).then(|| total / f64::from(side.choices));
    side
}

/// Why a game was not analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// There is none with this id.
    #[error("no such game")]
    NoSuchGame,
    /// It has not ended.
    #[error("the game is still going")]
    GameNotOver,
    /// No table knows its rules.
    #[error("this server has no table for the rules of this game")]
    NotSolved,
    /// The thinking broke off.
    #[error(transparent)]
    BrokeOff(#[from] tokio::task::JoinError),
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Analyses a game that is over.
///
/// # Errors
///
/// Why it was not analysed.
pub async fn of_game(db: &PgPool, solver: &Solver, id: GameId) -> Result<(Game, Analysis), AnalysisError> {
    let game = store::find(db, id).await?.ok_or(AnalysisError::NoSuchGame)?;
    if game.is_ongoing() {
        return Err(AnalysisError::GameNotOver);
    }
    let analysis = of_finished(solver, &game).await?.ok_or(AnalysisError::NotSolved)?;
    Ok((game, analysis))
}

/// Analyses a game that is over, off the async threads.
async fn of_finished(solver: &Solver, game: &Game) -> Result<Option<Analysis>, tokio::task::JoinError> {
    let (solver, play, moves) = (solver.clone(), game.play.clone(), game.moves.clone());
    let analysis =
        tokio::task::spawn_blocking(move || analyse(&solver, play.rules(), play.start(), &moves)).await?;
    let winner = game.ended.and_then(|(ending, _)| ending.result()).and_then(|result| result.winner());
    Ok(analysis.map(|analysis| analysis.with_loser(winner.map(Role::other))))
}

/// So many games are taken at a time.
const BATCH: i64 = 20;
/// How often the task looks for games that have ended.
const EVERY: Duration = Duration::from_secs(2);
/// After so many looks it begins anew.
const ROUNDS: u64 = 300;

/// Computes and stores the accuracies of the games that have ended, until it is dropped.
pub async fn keep_analysing(db: PgPool, solver: Solver) {
    let mut pace = tokio::time::interval(EVERY);
    let mut seen = None;
    for round in 0_u64.. {
        pace.tick().await;
        if round.is_multiple_of(ROUNDS) {
            // By now a table may know the rules of games that were passed over.
            seen = None;
        }
        if let Err(err) = analyse_since(&db, &solver, &mut seen).await {
            tracing::warn!(cause = %err, "cannot compute accuracies");
        }
    }
}

/// Computes and stores the accuracies of all games that have ended and whose rules a table knows; answers how many.
///
/// # Errors
///
/// When the database fails.
pub async fn step(db: &PgPool, solver: &Solver) -> Result<usize, AnalysisError> {
    analyse_since(db, solver, &mut None).await
}

/// Looks at the games that ended after the one that was `seen` last, and moves that on.
async fn analyse_since(
    db: &PgPool,
    solver: &Solver,
    seen: &mut Option<(Timestamp, GameId)>,
) -> Result<usize, AnalysisError> {
    let mut done = 0;
    loop {
        let ended = store::not_analysed(db, *seen, BATCH).await?;
        let Some(last) = ended.last() else { return Ok(done) };
        *seen = Some(*last);
        let ids: Vec<_> = ended.iter().map(|(_, id)| id.0).collect();
        for game in store::find_all(db, &ids).await? {
            if let Some(analysis) = of_finished(solver, &game).await? {
                let mut tx = db.begin().await?;
                store::insert_accuracies(&mut tx, &game, &analysis.sides).await?;
                tx.commit().await?;
                done += 1;
            }
        }
    }
}

/// How precisely a player played one variant in one role, over all finished games.
#[derive(Clone, Copy, Debug)]
pub struct PlayerAccuracy {
    /// The variant.
    pub variant: Variant,
    /// The role.
    pub role: Role,
    /// The mean of the games' accuracies, each counted as often as it has choices.
    pub accuracy: f64,
    /// In how many games.
    pub games: i64,
    /// Over how many choices.
    pub choices: i64,
}

/// How precisely a player played, by variant and role.
///
/// # Errors
///
/// When the database fails.
pub async fn of_player(
    conn: &mut PgConnection,
    player: PlayerId,
) -> Result<Vec<PlayerAccuracy>, sqlx::Error> {
    store::accuracies_of(conn, player).await
}
