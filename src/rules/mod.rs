//! The two games, exactly: which moves there are, and when a game is over.
//!
//! Pure: names std only, no I/O, no clock, no randomness; whoever creates a game draws its start. The wire form of
//! everything is text, `Display` and `FromStr`. All dispatch over games is in this file: [`Variant`], [`Rules`] and
//! the game under way within a [`Play`].
//!
//! Read on with [`Play`], which is what the rest of the house uses. A solver, which must not look at history, uses
//! [`Rules::moves`], [`Position::after`] and [`Rules::end`], or the functions of the same names in
//! [`hare_and_hounds`] and [`catch_the_hare`].

mod board;
pub mod catch_the_hare;
pub mod hare_and_hounds;
mod house_rules;
mod moves;
mod outcome;
mod play;
mod point;
mod position;
mod role;
mod words;

pub use board::{Board, Leap};
pub use house_rules::{GivenValue, HouseRule, RuleError, RuleKind, RuleValue};
pub use moves::{Move, ParseMoveError};
pub use outcome::{GameResult, Outcome, Reason};
pub use play::{BeginError, IllegalMove, Play, ReplayError, perft};
pub use point::{Point, PointSet, UnknownPoint};
use position::start_position;
pub use position::{ImpossiblePosition, ParsePositionError, Position};
pub use role::{ByRole, Role};
pub use words::{Choice, UnknownWord};

use words::words;

words! {
    /// One of the games that can be played.
    pub enum Variant {
        /// Three hounds that never go left hunt a hare on eleven points.
        HareAndHounds = "hare-and-hounds",
        /// A dozen hunters hunt a hare that takes them by leaping, on the alquerque board.
        CatchTheHare = "catch-the-hare",
    }
}

/// What players are told of a variant.
#[derive(Debug)]
pub struct Descriptor {
    /// Its name, for people.
    pub name: &'static str,
    /// How it is played, in a few sentences.
    pub summary: &'static str,
    /// What it calls its sides.
    pub role_names: ByRole<&'static str>,
    /// How moves and positions are written.
    pub notation: &'static str,
    /// The options that a party may change.
    pub house_rules: &'static [HouseRule],
    /// The ways in which it ends by the rules, in the order in which they are looked at after a move.
    pub reasons: &'static [Reason],
    /// What the traditional rules leave open, and how it is decided here.
    pub rulings: &'static [&'static str],
}

impl Variant {
    /// What players are told of it.
    pub const fn descriptor(self) -> &'static Descriptor {
        match self {
            Variant::HareAndHounds => &hare_and_hounds::DESCRIPTOR,
            Variant::CatchTheHare => &catch_the_hare::DESCRIPTOR,
        }
    }

    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// What it calls its sides, for people.
    pub const fn role_names(self) -> ByRole<&'static str> {
        self.descriptor().role_names
    }

    /// The options that a party may change.
    pub const fn house_rules(self) -> &'static [HouseRule] {
        self.descriptor().house_rules
    }
}

/// A variant with a value for each of its house rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Hare and Hounds.
    HareAndHounds(hare_and_hounds::HouseRules),
    /// Catch the Hare.
    CatchTheHare(catch_the_hare::HouseRules),
}

impl Rules {
    /// The rules of a variant if nobody says otherwise.
    pub const fn default_for(variant: Variant) -> Rules {
        match variant {
            Variant::HareAndHounds => Rules::HareAndHounds(hare_and_hounds::HouseRules::DEFAULT),
            Variant::CatchTheHare => Rules::CatchTheHare(catch_the_hare::HouseRules::DEFAULT),
        }
    }

    /// The variant.
    pub const fn variant(self) -> Variant {
        match self {
            Rules::HareAndHounds(_) => Variant::HareAndHounds,
            Rules::CatchTheHare(_) => Variant::CatchTheHare,
        }
    }

    /// The same rules with one house rule changed. Once all are changed, [`Rules::check`] must be asked.
    ///
    /// # Errors
    ///
    /// Says that there is no such house rule, or which values it can have.
    pub fn with(self, name: &str, value: GivenValue<'_>) -> Result<Rules, RuleError> {
        match self {
            Rules::HareAndHounds(rules) => rules.with(name, value).map(Rules::HareAndHounds),
            Rules::CatchTheHare(rules) => rules.with(name, value).map(Rules::CatchTheHare),
        }
    }

    /// Checks that the house rules go together.
    ///
    /// # Errors
    ///
    /// Says which do not.
    pub fn check(&self) -> Result<(), RuleError> {
        match self {
            Rules::HareAndHounds(_) => Ok(()),
            Rules::CatchTheHare(rules) => rules.check(),
        }
    }

    /// Every house rule with its value, in the order in which they are described.
    pub fn entries(&self) -> Vec<(&'static str, RuleValue)> {
        match self {
            Rules::HareAndHounds(rules) => rules.entries(),
            Rules::CatchTheHare(rules) => rules.entries(),
        }
    }

    /// The board played on.
    pub fn board(&self) -> &'static Board {
        match self {
            Rules::HareAndHounds(_) => Board::hare_and_hounds(),
            Rules::CatchTheHare(rules) => rules.board(),
        }
    }

    /// The positions that a game may start from, each as likely; never none.
    pub fn starts(&self) -> Vec<Position> {
        match *self {
            Rules::HareAndHounds(rules) => hare_and_hounds::starts(rules),
            Rules::CatchTheHare(rules) => vec![catch_the_hare::start(rules)],
        }
    }

    /// Checks that a game could stand like this: all pieces on the board, and the pack of a size that it can have.
    ///
    /// # Errors
    ///
    /// Says why it could not.
    pub fn admits(&self, position: Position) -> Result<(), ImpossiblePosition> {
        match *self {
            Rules::HareAndHounds(_) => hare_and_hounds::admits(position),
            Rules::CatchTheHare(rules) => catch_the_hare::admits(rules, position),
        }
    }

    /// The moves that the pieces can make, in the order of their texts; neither history nor an end is looked at.
    pub fn moves(&self, position: Position) -> Vec<Move> {
        match *self {
            Rules::HareAndHounds(_) => hare_and_hounds::moves(position),
            Rules::CatchTheHare(rules) => catch_the_hare::moves(rules, position),
        }
    }

    /// The end that a position is, whatever went before.
    pub fn end(&self, position: Position) -> Option<Outcome> {
        match *self {
            Rules::HareAndHounds(_) => hare_and_hounds::end(position),
            Rules::CatchTheHare(rules) => catch_the_hare::end(rules, position),
        }
        .map(Outcome::from)
    }

    /// A number of plies that no game exceeds.
    pub fn max_plies(&self) -> u16 {
        match *self {
            Rules::HareAndHounds(rules) => hare_and_hounds::max_plies(rules),
            Rules::CatchTheHare(rules) => catch_the_hare::max_plies(rules),
        }
    }
}

/// The game under way within a [`Play`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Game {
    HareAndHounds(hare_and_hounds::Game),
    CatchTheHare(catch_the_hare::Game),
}

/// What the rules of a game remember of the moves made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History<'a> {
    /// Of a game of Hare and Hounds.
    HareAndHounds {
        /// The position after each move of the hounds.
        made_by_hounds: &'a [Position],
        /// How many of the hounds' latest moves were vertical, back to the last that was not.
        vertical_in_a_row: u16,
    },
    /// Of a game of Catch the Hare.
    CatchTheHare {
        /// Every position since the last capture or the start, the present one last.
        since_capture: &'a [Position],
    },
}

impl Game {
    fn begin(rules: Rules, start: Position) -> Game {
        match rules {
            Rules::HareAndHounds(rules) => Game::HareAndHounds(hare_and_hounds::Game::begin(rules, start)),
            Rules::CatchTheHare(rules) => Game::CatchTheHare(catch_the_hare::Game::begin(rules, start)),
        }
    }

    fn position(&self) -> Position {
        match self {
            Game::HareAndHounds(game) => game.position(),
            Game::CatchTheHare(game) => game.position(),
        }
    }

    fn history(&self) -> History<'_> {
        match self {
            Game::HareAndHounds(game) => game.history(),
            Game::CatchTheHare(game) => game.history(),
        }
    }

    /// The moves that may be made, in ascending order, supposing that the game is not over.
    fn legal_moves(&self) -> Vec<Move> {
        match self {
            Game::HareAndHounds(game) => game.legal_moves(),
            Game::CatchTheHare(game) => game.legal_moves(),
        }
    }

    /// Makes a legal move, and says whether that ends the game.
    fn make(&mut self, mv: &Move) -> Option<Reason> {
        match self {
            Game::HareAndHounds(game) => game.make(mv),
            Game::CatchTheHare(game) => game.make(mv),
        }
    }
}
