//! Hare and Hounds: every position, with and without history.

use super::{Dice, one_ply_earlier};
use crate::rules;
use leveret::{
    rules::{Board, GameResult, GivenValue, Move, Play, Point, Position, Role, Rules, Variant},
    solver::{Solver, Value},
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

/// The value that a position must have by those it leads to, as the rules engine has it.
fn by_the_rules(solver: &Solver, rules: Rules, at: Position) -> Value {
    if let Some(outcome) = rules.end(at) {
        return Value { result: outcome.result, plies: Some(0) };
    }
    let next = rules.moves(at).into_iter().map(|mv| solver.position(rules, at.after(&mv)).unwrap());
    one_ply_earlier(next.max_by(|a, b| a.compare_for(at.turn(), *b)).unwrap())
}

#[test]
fn every_position_is_worth_the_best_that_it_leads_to() {
    let solver = Solver::new();
    for at in Role::ALL.into_iter().flat_map(all_positions) {
        let value = solver.position(thirty_moves(), at).unwrap();
        assert_eq!(value, by_the_rules(&solver, thirty_moves(), at), "{at}");
        assert_eq!(solver.position(ten_vertical(), at), Some(value), "{at}");
    }
}

#[test]
fn every_position_is_worth_the_same_upside_down() {
    let solver = Solver::new();
    let upside_down = |point: Point| Point::at(point.x(), 2 - point.y()).unwrap();
    for at in Role::ALL.into_iter().flat_map(all_positions) {
        let pack = at.pack().iter().map(upside_down).collect();
        let turned = Position::new(pack, upside_down(at.hare()), at.turn()).unwrap();
        assert_eq!(solver.position(thirty_moves(), at), solver.position(thirty_moves(), turned), "{at}");
    }
}

/// Plays a game in which both sides mostly wait, so that history comes to matter, and shows every position of it.
fn wait_about(rules: Rules, seed: u64, mut look: impl FnMut(&Play)) {
    let mut dice = Dice::new(seed);
    let starts = rules.starts();
    let mut play = Play::begin(rules, starts[dice.below(starts.len())]).unwrap();
    loop {
        look(&play);
        let legal = play.legal_moves();
        let waits = |mv: &&Move| {
            let stays = play.turn() == Role::Hare || mv.from().x() == mv.to().x();
            stays && play.after(mv).outcome().is_none()
        };
        let waiting: Vec<&Move> = legal.iter().filter(waits).collect();
        let mv = match (legal.len(), waiting.len()) {
            (0, _) => return,
            (all, 0) => legal[dice.below(all)],
            (all, _) if dice.below(8) == 0 => legal[dice.below(all)],
            (_, some) => *waiting[dice.below(some)],
        };
        play = play.after(&mv);
    }
}

#[test]
fn with_its_history_a_game_is_worth_the_best_that_it_leads_to() {
    let solver = Solver::new();
    let mut history_mattered = 0;
    for rules in [thirty_moves(), ten_vertical()] {
        for seed in 0..60 {
            wait_about(rules, seed, |play| {
                let value = solver.play(play).unwrap();
                if value != solver.position(rules, play.position()).unwrap() {
                    history_mattered += 1;
                }
                let Some(&(_, best)) = solver.moves_in(play).unwrap().first() else { return };
                assert_eq!(value.result, best.result, "{} after ply {}", play.position(), play.ply());
                if rules == ten_vertical() || value.result == GameResult::Hounds {
                    assert_eq!(value, one_ply_earlier(best), "{} after ply {}", play.position(), play.ply());
                }
            });
        }
    }
    assert!(history_mattered > 100, "only {history_mattered}");
}

/// The number of plies in which the hounds win, if they do, by trying everything.
fn by_trying_everything(play: &Play) -> Option<u16> {
    if let Some(outcome) = play.outcome() {
        return (outcome.result == GameResult::Hounds).then_some(0);
    }
    let next = play.legal_moves().into_iter().map(|mv| by_trying_everything(&play.after(&mv)));
    let plies = match play.turn() {
        Role::Hounds => next.flatten().min()?,
        Role::Hare => next.collect::<Option<Vec<u16>>>()?.into_iter().max()?,
    };
    Some(plies + 1)
}

#[test]
fn near_the_move_limit_the_value_is_what_trying_everything_gives() {
    let solver = Solver::new();
    let (mut won, mut lost) = (0, 0);
    for seed in 100..400 {
        wait_about(thirty_moves(), seed, |play| {
            if play.ply() < 54 {
                return;
            }
            let tried = by_trying_everything(play);
            let value = solver.play(play).unwrap();
            let told = (value.result == GameResult::Hounds).then(|| value.plies.unwrap());
            assert_eq!(told, tried, "{} after ply {}", play.position(), play.ply());
            *(if tried.is_some() { &mut won } else { &mut lost }) += 1;
        });
    }
    assert!(lost > 100 && won > 0, "{won} won, {lost} lost");
}
