//! The positions of Catch the Hare: where it starts, what can stand, and which ends the position alone decides.
//!
//! Nothing here looks at history.

use super::{house_rules::HouseRules, moves::can_move};
use crate::rules::{ImpossiblePosition, Position, Reason, Role, start_position};

/// The hunters of the start by their number, each set built on the one before it.
///
/// Hunters are taken away in the order e3, a3, c1 and added in the order b3, d3.
const HUNTERS_IN_ORDER: &str = "a1 b1 d1 e1 a2 b2 c2 d2 e2 c1 a3 e3 b3 d3";

/// The one position that a game by these house rules starts from.
pub fn start(rules: HouseRules) -> Position {
    let hunters: Vec<&str> = HUNTERS_IN_ORDER.split(' ').take(rules.hunters.into()).collect();
    start_position(&hunters.join(" "), "c3")
}

/// Says why a game by these house rules could not stand like this, if it could not.
pub(in crate::rules) fn admits(rules: HouseRules, position: Position) -> Result<(), ImpossiblePosition> {
    let (min, max) = (rules.too_few_left(), rules.hunters);
    if (min..=max).contains(&position.pack().len()) {
        Ok(())
    } else {
        Err(ImpossiblePosition::PackSize { min, max })
    }
}

/// The end that this position is, whatever went before.
pub fn end(rules: HouseRules, position: Position) -> Option<Reason> {
    if position.pack().len() <= rules.too_few_left() {
        return Some(Reason::HuntersTooFew);
    }
    if can_move(rules, position) {
        return None;
    }
    Some(match position.turn() {
        Role::Hare => Reason::Enclosed,
        Role::Hounds => Reason::HoundsStuck,
    })
}
