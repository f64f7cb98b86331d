//! How the pieces of Hare and Hounds step.
//!
//! Nothing here looks at history, so a ban on repetition is not applied, nor whether the game is over.

use crate::rules::{Board, Move, Point, Position, Role};

/// The moves that the pieces can make, in ascending order.
pub fn moves(position: Position) -> Vec<Move> {
    let mut moves: Vec<Move> = steps(position).collect();
    moves.sort_unstable();
    moves
}

/// Whether the side to move has a move at all.
pub fn can_move(position: Position) -> bool {
    steps(position).next().is_some()
}

/// The same moves in no particular order.
pub(super) fn steps(position: Position) -> impl Iterator<Item = Move> {
    let board = Board::hare_and_hounds();
    position.to_move().iter().flat_map(move |from| {
        position
            .empty_among(board.neighbours(from))
            .iter()
            .filter(move |&to| position.turn() == Role::Hare || is_not_leftward(from, to))
            .map(move |to| Move::step(from, to))
    })
}

/// Hounds never step to the left.
fn is_not_leftward(from: Point, to: Point) -> bool {
    to.x() >= from.x()
}
