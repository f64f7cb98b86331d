//! How the pieces of Catch the Hare step and leap.
//!
//! Nothing here looks at history, nor whether the game is over.

use super::house_rules::HouseRules;
use crate::rules::{Leap, Move, Point, PointSet, Position, Role};

/// The moves that the pieces can make, in ascending order. A leap that takes the last hunter but too few stops there.
pub fn moves(rules: HouseRules, position: Position) -> Vec<Move> {
    let mut moves: Vec<Move> = steps(rules, position).collect();
    if position.turn() == Role::Hare {
        for leap in leaps(rules, position.pack(), position.hare()) {
            let first = Move::leap(position.hare(), leap.landing);
            leap_on(rules, position.pack().without(leap.over), first, &mut moves);
        }
    }
    moves.sort_unstable();
    moves
}

/// Whether the side to move has a move at all.
pub fn can_move(rules: HouseRules, position: Position) -> bool {
    steps(rules, position).next().is_some()
        || position.turn() == Role::Hare && leaps(rules, position.pack(), position.hare()).next().is_some()
}

fn steps(rules: HouseRules, position: Position) -> impl Iterator<Item = Move> {
    let board = rules.board();
    position.to_move().iter().flat_map(move |from| {
        position.empty_among(board.neighbours(from)).iter().map(move |to| Move::step(from, to))
    })
}

/// The single leaps of a hare on a point among these hunters.
///
/// No piece but the hunters can be in its way: the hare itself has left the point from which it set out.
fn leaps(rules: HouseRules, hunters: PointSet, from: Point) -> impl Iterator<Item = Leap> {
    let leaps = rules.board().leaps(from).iter().copied();
    leaps.filter(move |leap| hunters.contains(leap.over) && !hunters.contains(leap.landing))
}

/// Adds a leap that left these hunters, for the hare may stop here, and every way to go on from it.
fn leap_on(rules: HouseRules, hunters: PointSet, so_far: Move, moves: &mut Vec<Move>) {
    moves.push(so_far);
    if hunters.len() <= rules.too_few_left() {
        return;
    }
    for leap in leaps(rules, hunters, so_far.to()) {
        if let Some(further) = so_far.leaping_on(leap.landing) {
            leap_on(rules, hunters.without(leap.over), further, moves);
        }
    }
}
