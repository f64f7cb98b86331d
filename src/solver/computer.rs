//! The computer as a player: one move at a stated strength, the dice passed in.
//!
//! At every turn it ranks the legal moves, by the tables where there is one for the rules and by a [search](mod@search) where
//! not. It then plays the best, except that a level below the highest misses it with a stated chance and plays
//! another one, as people do: a move that only wastes time is likelier than one that gives the game away, and one
//! that loses on the spot is played only where every move does. The strength of the levels against each other is
//! measured by `cargo run --release --example levels`, and the README shows the outcome.

use std::{cmp::Ordering, fmt, str::FromStr};

use super::{
    Solver, Value,
    search::{self, search},
};
use crate::rules::{GameResult, Move, Play, Role};

/// How strong the computer plays, from 1 to 8.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(u8);

/// A number is not that of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a level from 1 to 8")]
pub struct NoSuchLevel;

/// What a level is.
struct Strength {
    /// The chance to miss the best move.
    miss: f64,
    /// A miss that costs so many plies is half as likely as one that costs nothing.
    half_life: f64,
    /// How many positions it looks at where there is no table.
    positions: u32,
}

/// The levels, from 1 up.
const STRENGTHS: [Strength; 8] = [
    Strength { miss: 0.60, half_life: 40.0, positions: 100 },
    Strength { miss: 0.45, half_life: 25.0, positions: 300 },
    Strength { miss: 0.33, half_life: 16.0, positions: 800 },
    Strength { miss: 0.23, half_life: 12.0, positions: 2_000 },
    Strength { miss: 0.15, half_life: 10.0, positions: 5_000 },
    Strength { miss: 0.09, half_life: 8.0, positions: 10_000 },
    Strength { miss: 0.04, half_life: 6.0, positions: 20_000 },
    Strength { miss: 0.0, half_life: 1.0, positions: 50_000 },
];

/// Giving a result away counts as much as wasting so many plies.
const RESULT_IN_PLIES: f64 = 14.0;

impl Level {
    /// The weakest.
    pub const LOWEST: Level = Level(1);
    /// Perfect where there is a table.
    pub const HIGHEST: Level = Level(8);
    /// A fair opponent for most: who plays for a player that has dropped out.
    pub const MIDDLE: Level = Level(4);

    /// All levels, the weakest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Level> {
        (Level::LOWEST.0..=Level::HIGHEST.0).map(Level)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The chance, at each turn, that it misses the best move.
    pub fn miss(self) -> f64 {
        self.strength().miss
    }

    fn strength(self) -> &'static Strength {
        &STRENGTHS[usize::from(self.0 - 1)]
    }
}

impl TryFrom<i64> for Level {
    type Error = NoSuchLevel;

    fn try_from(number: i64) -> Result<Level, NoSuchLevel> {
        match u8::try_from(number) {
            Ok(number @ 1..=8) => Ok(Level(number)),
            _ => Err(NoSuchLevel),
        }
    }
}

impl FromStr for Level {
    type Err = NoSuchLevel;

    fn from_str(text: &str) -> Result<Level, NoSuchLevel> {
        text.parse::<i64>().map_err(|_| NoSuchLevel)?.try_into()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A move with what it leads to, as far as choosing needs to know.
#[derive(Clone, Copy, Debug)]
struct Choice {
    mv: Move,
    /// By how many plies it is worse than the best.
    waste: f64,
    /// Whether the other side can end the game with its next move, and does it no good to wait.
    loses_at_once: bool,
}

/// Chooses a move: nothing when the game is over. `dice` are random bits.
pub fn choose(solver: &Solver, play: &Play, level: Level, dice: u128) -> Option<Move> {
    let (misses, picks) = (unit((dice >> 64) as u64), unit(dice as u64));
    let choices = ranked(solver, play, level);
    let equal = choices.iter().take_while(|choice| choice.waste <= 0.0).count();
    if misses >= level.miss() || equal == choices.len() {
        return pick(choices.get(..equal)?, |_| 1.0, picks);
    }
    let mut others: Vec<Choice> = choices.get(equal..)?.to_vec();
    if others.iter().any(|choice| !choice.loses_at_once) {
        others.retain(|choice| !choice.loses_at_once);
    } else if equal > 0 {
        // Nobody overlooks what is plain to see.
        return pick(choices.get(..equal)?, |_| 1.0, picks);
    }
    pick(&others, |choice| (-choice.waste / level.strength().half_life).exp2(), picks)
}

/// Whether the computer, asked by the other side, agrees to a draw: when it cannot hope for more with best play. It
/// never does where there is no table, unless it stands badly.
pub fn agrees_to_draw(solver: &Solver, play: &Play, role: Role) -> bool {
    match solver.play(play) {
        Some(value) => value.result.winner() != Some(role),
        None => {
            let best = search(play, STRENGTHS[3].positions).first().map_or(0.0, |(_, worth)| *worth);
            let worth = if play.turn() == role { best } else { -best };
            worth < -search::WON / 2.0
        }
    }
}

/// The legal moves, best first.
fn ranked(solver: &Solver, play: &Play, level: Level) -> Vec<Choice> {
    let mover = play.turn();
    if let Some(valued) = solver.moves_in(play) {
        let best = valued.first().map(|(_, value)| *value);
        return valued
            .into_iter()
            .map(|(mv, value)| Choice {
                mv,
                waste: best.map_or(0.0, |best| waste(best, value, mover)),
                loses_at_once: value.result.winner() == Some(mover.other())
                    && value.plies.is_some_and(|plies| plies <= 1),
            })
            .collect();
    }
    let searched = search(play, level.strength().positions);
    let best = searched.first().map_or(0.0, |(_, worth)| *worth);
    searched
        .into_iter()
        .map(|(mv, worth)| Choice {
            mv,
            waste: (best - worth).min(2.0 * RESULT_IN_PLIES),
            loses_at_once: worth <= -search::WON && best > -search::WON,
        })
        .collect()
}

/// By how many plies a move that leads to `value` is worse than one that leads to `best`.
fn waste(best: Value, value: Value, mover: Role) -> f64 {
    if best.compare_for(mover, value) == Ordering::Equal {
        return 0.0;
    }
    let steps = |result: GameResult| match result.winner() {
        Some(winner) if winner == mover => 2.0,
        None => 1.0,
        Some(_) => 0.0,
    };
    let given_away = steps(best.result) - steps(value.result);
    if given_away > 0.0 {
        return given_away * RESULT_IN_PLIES;
    }
    match (best.plies, value.plies) {
        (Some(best), Some(value)) => f64::from(best.abs_diff(value)),
        // One of them lasts as long as history lets it.
        _ => RESULT_IN_PLIES / 2.0,
    }
}

/// Picks one, each as likely as its weight says.
fn pick(choices: &[Choice], weight: impl Fn(&Choice) -> f64, chance: f64) -> Option<Move> {
    let total: f64 = choices.iter().map(&weight).sum();
    let mut left = chance * total;
    for choice in choices {
        left -= weight(choice);
        if left < 0.0 {
            return Some(choice.mv);
        }
    }
    choices.last().map(|choice| choice.mv)
}

/// A number from 0 up to 1, from the upper 53 bits.
fn unit(dice: u64) -> f64 {
    (dice >> 11) as f64 / (1_u64 << 53) as f64
}
