//! The game by `ten-vertical`: the number of vertical moves in a row belongs to the position.
//!
//! Each move of the hounds raises their reach or that number, so no game comes back to where it was, and one pass
//! from the far end settles everything.

use std::cmp::Reverse;

use super::{
    STALLING_LIMIT,
    board::{Board, Spot, Step},
};
use crate::{rules::Role, solver::Value};

/// The value of every position with every number of vertical moves in a row.
#[derive(Debug)]
pub(super) struct Verticals {
    /// First by the number of vertical moves, then by that of the spot; those of no spot mean nothing.
    values: Vec<Vec<Value>>,
}

impl Verticals {
    pub(super) fn solved(board: &Board) -> Verticals {
        let mut hounds_to_move: Vec<Spot> = board.spots(Role::Hounds).collect();
        let mut hare_to_move: Vec<Spot> = board.spots(Role::Hare).collect();
        for spots in [&mut hounds_to_move, &mut hare_to_move] {
            spots.sort_by_key(|&spot| Reverse(board.reach(spot)));
        }
        let numbers = usize::from(STALLING_LIMIT) + 1;
        let mut table = Verticals { values: vec![vec![Value::DRAW; Spot::COUNT]; numbers] };
        let same_reach = |a: &Spot, b: &Spot| board.reach(*a) == board.reach(*b);
        let by_reach = hounds_to_move.chunk_by(same_reach).zip(hare_to_move.chunk_by(same_reach));
        for (hounds_to_move, hare_to_move) in by_reach {
            for vertical in (0..=STALLING_LIMIT).rev() {
                // The hounds first: where the hare may go they are to move, with the same number.
                for &spot in hounds_to_move.iter().chain(hare_to_move) {
                    let value = table.settle(board, spot, vertical);
                    table.values[usize::from(vertical)][spot.number()] = value;
                }
            }
        }
        table
    }

    pub(super) fn value(&self, spot: Spot, vertical_in_a_row: u16) -> Value {
        self.values[usize::from(vertical_in_a_row.min(STALLING_LIMIT))][spot.number()]
    }

    fn settle(&self, board: &Board, spot: Spot, vertical: u16) -> Value {
        if board.has_escaped(spot) {
            return Value::won(Role::Hare, 0);
        }
        let after = |step: Step| match spot.turn {
            Role::Hounds if step.is_vertical => self.value(step.to, vertical + 1),
            Role::Hounds => self.value(step.to, 0),
            Role::Hare => self.value(step.to, vertical),
        };
        match Value::best_for(spot.turn, board.steps(spot).map(after)) {
            None => Value::won(spot.turn.other(), 0),
            // With the hounds to move there is no such number.
            Some(_) if vertical >= STALLING_LIMIT => Value::won(Role::Hare, 0),
            Some(best) => best.one_ply_earlier(),
        }
    }
}
