//! Hare and Hounds: every position, with and without history.

use crate::rules;
use leveret::{
    rules::{Board, GameResult, GivenValue, Play, Position, Role, Rules, Variant},
    solver::Solver,
};

fn thirty_moves() -> Rules {
    rules(Variant::HareAndHounds, &[("hare_start", GivenValue::Text("random"))])
}

fn ten_vertical() -> Rules {
    let ten_vertical = ("getting_away", GivenValue::Text("ten-vertical"));
    rules(Variant::HareAndHounds, &[("hare_start", GivenValue::Text("random")), ten_vertical])
}

/// Every way in which the pieces can stand, with this side to move.
fn all_positions(turn: Role) -> Vec<Position> {
    let points = Board::hare_and_hounds().points();
    let mut all = Vec::new();
    for &a in points {
        for &b in points.iter().filter(|&&b| a < b) {
            for &c in points.iter().filter(|&&c| b < c) {
                let pack = [a, b, c].into_iter().collect();
                all.extend(points.iter().filter_map(|&hare| Position::new(pack, hare, turn)));
            }
        }
    }
    assert_eq!(all.len(), 165 * 8);
    all
}

fn wins_of_the_hounds(turn: Role) -> Vec<u16> {
    let solver = Solver::new();
    let values = all_positions(turn).into_iter().map(|at| solver.position(thirty_moves(), at).unwrap());
    values.filter(|value| value.result == GameResult::Hounds).map(|value| value.plies.unwrap()).collect()
}

#[test]
fn as_many_positions_are_won_as_an_independent_analysis_counts() {
    let hounds_to_move = wins_of_the_hounds(Role::Hounds);
    assert_eq!(hounds_to_move.len(), 316);
    assert_eq!(hounds_to_move.into_iter().max(), Some(27), "fourteen moves of the hounds");
    assert_eq!(wins_of_the_hounds(Role::Hare).len(), 122);
}

#[test]
fn the_hounds_win_from_every_start_with_their_twelfth_move_at_latest() {
    let solver = Solver::new();
    for rules in [thirty_moves(), ten_vertical()] {
        let latest = rules.starts().into_iter().map(|start| {
            let value = solver.play(&Play::begin(rules, start).unwrap()).unwrap();
            assert_eq!(value.result, GameResult::Hounds, "{start}");
            value.plies.unwrap()
        });
        assert_eq!(latest.max(), Some(23));
    }
}
