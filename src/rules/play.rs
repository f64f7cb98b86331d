//! One game as far as the rules are concerned: it is begun, moves are made, and it ends.
//!
//! A refused move leaves a play as it was. Equal rules, start and moves give equal plays. Knows no players and no
//! clock, and no ends but those by the rules.

use super::{Game, History, Move, Outcome, ParseMoveError, Point, Position, Role, RuleError, Rules};
use std::fmt;

/// A game from its start up to a ply, with as much of its history as the rules look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Play {
    rules: Rules,
    start: Position,
    ply: u16,
    game: Game,
    outcome: Option<Outcome>,
}

impl Play {
    /// Begins a game from one of the positions that these rules start from.
    ///
    /// # Errors
    ///
    /// Refuses rules that do not go together and any other position.
    pub fn begin(rules: Rules, start: Position) -> Result<Play, BeginError> {
        rules.check().map_err(BeginError::Rules)?;
        if !rules.starts().contains(&start) {
            return Err(BeginError::NotAStart(start));
        }
        Ok(Play { rules, start, ply: 0, game: Game::begin(rules, start), outcome: None })
    }

    /// Begins a game and makes all these moves.
    ///
    /// # Errors
    ///
    /// Says which move was refused and why.
    pub fn replay<'a>(
        rules: Rules,
        start: Position,
        moves: impl IntoIterator<Item = &'a str>,
    ) -> Result<Play, ReplayError> {
        let mut play = Play::begin(rules, start).map_err(ReplayError::Begin)?;
        for text in moves {
            play.play(text).map_err(|reason| ReplayError::Move { ply: play.ply + 1, reason })?;
        }
        Ok(play)
    }

    /// The rules played by.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The position before the first move.
    pub fn start(&self) -> Position {
        self.start
    }

    /// The position after the moves made so far.
    pub fn position(&self) -> Position {
        self.game.position()
    }

    /// Whose turn it is, or would be if the game were not over.
    pub fn turn(&self) -> Role {
        self.position().turn()
    }

    /// How many plies have been played.
    pub fn ply(&self) -> u16 {
        self.ply
    }

    /// What the rules remember of the moves made so far.
    pub fn history(&self) -> History<'_> {
        self.game.history()
    }

    /// How the game ended, if it is over by the rules.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The moves that may be made now, in the order of their texts; none when the game is over.
    pub fn legal_moves(&self) -> Vec<Move> {
        if self.outcome.is_some() { Vec::new() } else { self.game.legal_moves() }
    }

    /// Makes the move that a text stands for.
    ///
    /// # Errors
    ///
    /// Says why the text is not a move that may be made now; nothing has changed then.
    pub fn play(&mut self, text: &str) -> Result<Move, IllegalMove> {
        let mv = Move::parse(text).map_err(IllegalMove::NotAMove)?;
        self.play_move(mv)?;
        Ok(mv)
    }

    /// Makes a move.
    ///
    /// # Errors
    ///
    /// Says why it may not be made now; nothing has changed then.
    pub fn play_move(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if self.legal_moves().contains(&mv) {
            self.make(&mv);
            Ok(())
        } else {
            Err(self.objection_to(&mv))
        }
    }

    /// The play after one of its legal moves.
    #[must_use]
    pub fn after(&self, mv: &Move) -> Play {
        let mut next = self.clone();
        next.make(mv);
        next
    }

    /// Makes a legal move.
    fn make(&mut self, mv: &Move) {
        self.outcome = self.game.make(mv).map(Outcome::from);
        self.ply += 1;
    }

    /// Why a move that is not legal is not.
    fn objection_to(&self, mv: &Move) -> IllegalMove {
        if self.outcome.is_some() {
            IllegalMove::GameOver
        } else if !self.position().to_move().contains(mv.from()) {
            IllegalMove::NotYourPiece(mv.from())
        } else if self.rules.moves(self.position()).contains(mv) {
            IllegalMove::Repetition
        } else {
            IllegalMove::AgainstTheRules
        }
    }
}

/// The number of different sequences of so many legal moves; a finished game has no continuation.
pub fn perft(play: &Play, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => play.legal_moves().len() as u64,
        _ => play.legal_moves().iter().map(|mv| perft(&play.after(mv), depth - 1)).sum(),
    }
}

/// Why a move was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IllegalMove {
    /// The text is not a move at all.
    NotAMove(ParseMoveError),
    /// The game is over.
    GameOver,
    /// No piece of the side to move stands there.
    NotYourPiece(Point),
    /// It would bring back an earlier position, which the hounds may not.
    Repetition,
    /// The piece cannot go so now.
    AgainstTheRules,
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IllegalMove::NotAMove(why) => why.fmt(f),
            IllegalMove::GameOver => f.write_str("the game is over"),
            IllegalMove::NotYourPiece(point) => write!(f, "no piece of the side to move stands on {point}"),
            IllegalMove::Repetition => {
                f.write_str("the hounds may not bring back a position already seen in this game")
            }
            IllegalMove::AgainstTheRules => f.write_str("the piece cannot move so in this position"),
        }
    }
}

impl std::error::Error for IllegalMove {}

/// Why a game could not be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeginError {
    /// The rules cannot be played by.
    Rules(RuleError),
    /// The rules do not start from this position.
    NotAStart(Position),
}

impl fmt::Display for BeginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BeginError::Rules(why) => why.fmt(f),
            BeginError::NotAStart(position) => write!(f, "games by these rules do not start from {position}"),
        }
    }
}

impl std::error::Error for BeginError {}

/// Why a game could not be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It could not be begun.
    Begin(BeginError),
    /// One of its moves was refused.
    Move {
        /// The ply that the move would have been, the first being 1.
        ply: u16,
        /// Why it was refused.
        reason: IllegalMove,
    },
}

impl ReplayError {
    /// The ply at which the replay failed; 0 if the game could not be begun.
    pub fn ply(&self) -> u16 {
        match self {
            ReplayError::Begin(_) => 0,
            ReplayError::Move { ply, .. } => *ply,
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Begin(why) => why.fmt(f),
            ReplayError::Move { ply, reason } => write!(f, "ply {ply}: {reason}"),
        }
    }
}

impl std::error::Error for ReplayError {}
