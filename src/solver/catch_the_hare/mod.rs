//! Catch the Hare, solved by retrograde analysis.
//!
//! A table holds the result and the distance to the end of every position with the hunters to move, in a byte each;
//! what a position with the hare to move is worth follows from the hare's few moves. The analysis knows no history:
//! see [`crate::solver::Solver::play`] for what that means in a game under way.

mod board;
mod folding;
mod retrograde;
mod table;

use std::ops::RangeInclusive;

pub use retrograde::{Progress, Stopped};
pub use table::{Count, Table};

use crate::rules::{
    Board as Drawn, Rules,
    catch_the_hare::{BoardLines, HouseRules, TooFew},
};

/// The most hunters that any game has.
pub const MOST_HUNTERS: u8 = 14;

/// The house rules that a table depends on. One table serves every number of hunters up to the most it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which diagonals the board has.
    pub board: BoardLines,
    /// When the hunters are too few.
    pub too_few: TooFew,
}

impl From<HouseRules> for Key {
    fn from(rules: HouseRules) -> Key {
        Key { board: rules.board, too_few: rules.too_few }
    }
}

impl Key {
    /// These house rules with so many hunters at the start.
    pub fn with_hunters(self, hunters: u8) -> Rules {
        Rules::CatchTheHare(self.house_rules(hunters))
    }

    /// The numbers of hunters with which a game goes on, up to this one.
    pub fn numbers_of_hunters(self, most: u8) -> RangeInclusive<u8> {
        self.too_few_left() + 1..=most
    }

    fn house_rules(self, hunters: u8) -> HouseRules {
        HouseRules { board: self.board, hunters, too_few: self.too_few }
    }

    fn drawn(self) -> &'static Drawn {
        self.house_rules(MOST_HUNTERS).board()
    }

    fn too_few_left(self) -> u8 {
        self.house_rules(MOST_HUNTERS).too_few_left()
    }
}
