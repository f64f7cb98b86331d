//! The positions of Hare and Hounds: where it starts, what can stand, and which ends the position alone decides.
//!
//! Nothing here looks at history.

use super::{
    house_rules::{HareStart, HouseRules},
    moves::can_move,
};
use crate::rules::{Board, ImpossiblePosition, Point, Position, Reason, Role, start_position};

/// How many hounds there always are.
const HOUNDS: u8 = 3;

/// The positions that a game by these house rules may start from, each as likely.
pub fn starts(rules: HouseRules) -> Vec<Position> {
    let hare: &[&str] = match rules.hare_start {
        HareStart::RightEnd => &["e2"],
        HareStart::Centre => &["c2"],
        HareStart::Random => &["d1", "d2", "d3", "e2"],
    };
    hare.iter().map(|hare| start_position("a2 b1 b3", hare)).collect()
}

/// Says why a game could not stand like this, if it could not.
pub(in crate::rules) fn admits(position: Position) -> Result<(), ImpossiblePosition> {
    if position.pack().len() != HOUNDS {
        return Err(ImpossiblePosition::PackSize { min: HOUNDS, max: HOUNDS });
    }
    let board = Board::hare_and_hounds();
    match position.pieces().find(|point| !board.points().contains(point)) {
        Some(point) => Err(ImpossiblePosition::OffBoard(point)),
        None => Ok(()),
    }
}

/// The end that this position is, whatever went before; being stuck through a repetition is not seen here.
pub fn end(position: Position) -> Option<Reason> {
    if has_escaped(position) {
        return Some(Reason::Escaped);
    }
    if can_move(position) {
        return None;
    }
    Some(match position.turn() {
        Role::Hare => Reason::Cornered,
        Role::Hounds => Reason::HoundsStuck,
    })
}

/// Whether the hare's column is strictly left of every hound's.
fn has_escaped(position: Position) -> bool {
    position.pack().iter().map(Point::x).all(|hound| position.hare().x() < hound)
}
