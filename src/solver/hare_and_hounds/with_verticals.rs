//! The game by `ten-vertical`: the number of vertical moves in a row belongs to the position.
//!
//! Each move of the hounds raises their reach or that number, so no game comes back to where it was, and one pass
//! from the far end settles everything.

use std::collections::HashMap;

use super::{
    STALLING_LIMIT,
    board::{Board, Spot, Step},
};
use crate::{rules::Role, solver::Value};

/// The value of every position with every number of vertical moves in a row.
#[derive(Debug)]
pub(super) struct Verticals {
    values: Vec<HashMap<Spot, Value>>,
}

impl Verticals {
    pub(super) fn solved(board: &Board) -> Verticals {
        let mut hounds_to_move = board.spots(Role::Hounds);
        let mut hare_to_move = board.spots(Role::Hare);
        for spots in [&mut hounds_to_move, &mut hare_to_move] {
            spots.sort_unstable_by_key(|spot| std::cmp::Reverse(spot.reach()));
        }
        let mut table = Verticals { values: vec![HashMap::new(); usize::from(STALLING_LIMIT) + 1] };
        let same_reach = |a: &Spot, b: &Spot| a.reach() == b.reach();
        let by_reach = hounds_to_move.chunk_by(same_reach).zip(hare_to_move.chunk_by(same_reach));
        for (hounds_to_move, hare_to_move) in by_reach {
            for vertical in (0..=STALLING_LIMIT).rev() {
                // The hounds first: where the hare may go they are to move, with the same number.
                for &spot in hounds_to_move.iter().chain(hare_to_move) {
                    let value = table.settle(board, spot, vertical);
                    table.values[usize::from(vertical)].insert(spot, value);
                }
            }
        }
        table
    }

    pub(super) fn value(&self, spot: Spot, vertical_in_a_row: u16) -> Value {
        self.values[usize::from(vertical_in_a_row.min(STALLING_LIMIT))][&spot]
    }

    fn settle(&self, board: &Board, spot: Spot, vertical: u16) -> Value {
        if spot.has_escaped() {
            return Value::won(Role::Hare, 0);
        }
        let after = |step: Step| match spot.turn {
            Role::Hounds if step.is_vertical => self.value(step.to, vertical + 1),
            Role::Hounds => self.value(step.to, 0),
            Role::Hare => self.value(step.to, vertical),
        };
        if board.steps(spot).next().is_none() {
            return Value::won(spot.turn.other(), 0);
        }
        if vertical >= STALLING_LIMIT {
            return Value::won(Role::Hare, 0);
        }
        Value::best_for(spot.turn, board.steps(spot).map(after))
            .map_or(Value::won(spot.turn.other(), 0), Value::one_ply_earlier)
    }
}
