//! Catch the Hare with few hunters, on every board: small enough to be solved here and to be gone through whole.
//! The numbers of hunters that games are played with take too long for that: `just prove` goes through them.

use super::{Dice, one_ply_earlier};
use leveret::{
    rules::{
        Board, GameResult, Point, PointSet, Position, Role, Rules,
        catch_the_hare::{BoardLines, TooFew},
    },
    solver::{Key, Progress, Solver, Table, Value},
};
use std::{num::NonZeroUsize, sync::LazyLock};

/// Each board with the most hunters that it is solved for.
const SMALL: [(BoardLines, u8); 3] =
    [(BoardLines::Alquerque, 6), (BoardLines::LongDiagonals, 6), (BoardLines::NoDiagonals, 7)];

static SOLVER: LazyLock<Solver> = LazyLock::new(|| {
    let solver = Solver::new();
    for (board, hunters) in SMALL {
        solver.add(solved(board, hunters, 2));
    }
    solver
});

fn key(board: BoardLines) -> Key {
    Key { board, too_few: TooFew::CannotEnclose }
}

fn solved(board: BoardLines, hunters: u8, threads: usize) -> Table {
    Table::solve(key(board), hunters, NonZeroUsize::new(threads).unwrap(), &Progress::default()).unwrap()
}

fn small_rules() -> impl Iterator<Item = (Rules, u8, u8)> {
    SMALL.into_iter().map(|(board, most)| {
        let key = key(board);
        (key.with_hunters(most), *key.numbers_of_hunters(most).start(), most)
    })
}

/// Asserts that a position is worth the best of what it leads to by the rules engine.
#[track_caller]
fn check(rules: Rules, at: Position) {
    let value = SOLVER.position(rules, at).unwrap();
    if let Some(outcome) = rules.end(at) {
        return assert_eq!(value, Value { result: outcome.result, plies: Some(0) }, "{at}");
    }
    let next = rules.moves(at).into_iter().map(|mv| SOLVER.position(rules, at.after(&mv)).unwrap());
    let best = next.max_by(|a, b| a.compare_for(at.turn(), *b)).unwrap();
    assert_eq!(value, one_ply_earlier(best), "{at}");
}

/// A position with so many hunters, any as likely as another.
fn any_position(dice: &mut Dice, hunters: u8, turn: Role) -> Position {
    let mut free: Vec<Point> = Point::all().collect();
    let mut draw = || free.swap_remove(dice.below(free.len()));
    let hare = draw();
    let pack: PointSet = (0..hunters).map(|_| draw()).collect();
    Position::new(pack, hare, turn).unwrap()
}

/// The image of a position in one of the eight symmetries of the board.
fn turned(symmetry: u8, at: Position) -> Position {
    let to = |point: Point| {
        let (mut x, mut y) = (point.x(), point.y());
        if symmetry & 1 != 0 {
            x = 4 - x;
        }
        if symmetry & 2 != 0 {
            y = 4 - y;
        }
        if symmetry & 4 != 0 {
            (x, y) = (y, x);
        }
        Point::at(x, y).unwrap()
    };
    Position::new(at.pack().iter().map(to).collect(), to(at.hare()), at.turn()).unwrap()
}

#[test]
fn every_position_of_the_fewest_hunters_is_worth_the_best_that_it_leads_to() {
    // The hare on each point to which no other of them can be turned.
    let hares = ["a1", "b1", "c1", "b2", "c2", "c3"].map(|name| name.parse::<Point>().unwrap());
    let rules = key(BoardLines::NoDiagonals).with_hunters(7);
    let points: Vec<Point> = Board::no_diagonals().points().to_vec();
    let go_through = |hare: Point| {
        for (first, &a) in points.iter().enumerate() {
            for (second, &b) in points.iter().enumerate().skip(first + 1) {
                for (third, &c) in points.iter().enumerate().skip(second + 1) {
                    for &d in &points[third + 1..] {
                        let pack: PointSet = [a, b, c, d].into_iter().collect();
                        let both = Role::ALL.map(|turn| Position::new(pack, hare, turn));
                        both.into_iter().flatten().for_each(|at| check(rules, at));
                    }
                }
            }
        }
    };
    std::thread::scope(|threads| {
        for half in hares.chunks(3) {
            threads.spawn(move || half.iter().copied().for_each(go_through));
        }
    });
}

#[test]
fn any_position_is_worth_the_best_that_it_leads_to() {
    let mut dice = Dice::new(1);
    for (rules, fewest, most) in small_rules() {
        for hunters in fewest - 1..=most {
            for turn in Role::ALL {
                (0..1500).for_each(|_| check(rules, any_position(&mut dice, hunters, turn)));
            }
        }
    }
}

#[test]
fn any_position_is_worth_the_same_however_the_board_is_turned() {
    let mut dice = Dice::new(2);
    for (rules, fewest, most) in small_rules() {
        for _ in 0..2000 {
            let hunters = fewest + dice.below(usize::from(most - fewest + 1)) as u8;
            let turn = Role::ALL[dice.below(2)];
            let at = any_position(&mut dice, hunters, turn);
            let value = SOLVER.position(rules, at);
            for symmetry in 0..8 {
                assert_eq!(SOLVER.position(rules, turned(symmetry, at)), value, "{at}");
            }
        }
    }
}

#[test]
fn perfect_play_wins_after_as_many_plies_as_told() {
    let mut dice = Dice::new(3);
    let (mut games, mut by_hounds) = (0, 0);
    let rules: Vec<(Rules, u8, u8)> = small_rules().collect();
    while games < 1000 || by_hounds < 100 {
        let (rules, fewest, most) = rules[dice.below(3)];
        let hunters = fewest + dice.below(usize::from(most - fewest + 1)) as u8;
        let turn = Role::ALL[dice.below(2)];
        let mut at = any_position(&mut dice, hunters, turn);
        let told = SOLVER.position(rules, at).unwrap();
        let Some(plies) = told.plies.filter(|&plies| plies > 0) else { continue };
        for _ in 0..plies {
            assert_eq!(rules.end(at), None, "{at}");
            let moves = SOLVER.moves(rules, at).unwrap();
            at = at.after(&moves[0].0);
        }
        assert_eq!(rules.end(at).map(|end| end.result), Some(told.result), "{at}");
        games += 1;
        by_hounds += u32::from(told.result == GameResult::Hounds);
    }
}

#[test]
fn a_table_does_not_depend_on_the_number_of_threads() {
    let [alone, together] = [1, 4].map(|threads| solved(BoardLines::NoDiagonals, 5, threads));
    assert_eq!(alone.bytes(), together.bytes());
}

#[test]
fn every_position_is_counted() {
    // Ways to put the hare on one of 25 points, and four or five hunters on the others.
    let counts = solved(BoardLines::NoDiagonals, 5, 2).counts();
    let all = counts.iter().map(|count| count.won_by_hunters + count.won_by_hare + count.drawn);
    assert_eq!(all.collect::<Vec<_>>(), [25 * 10_626, 25 * 42_504]);
    // Four hunters can enclose a hare only in the corners, where its two ways and the points beyond must be taken. It
    // takes them one move; they come from any of their neighbours' points that are free.
    assert!(counts[0].longest == 1 && counts[0].won_by_hunters > 0);
}

#[test]
fn positions_without_a_table_have_no_value() {
    let solver = Solver::new();
    let rules = key(BoardLines::NoDiagonals).with_hunters(9);
    let at = rules.starts()[0];
    assert_eq!((solver.position(rules, at), solver.moves(rules, at)), (None, None));
    assert!(!solver.knows(rules));
    let clone = solver.clone();
    solver.add(solved(BoardLines::NoDiagonals, 5, 1));
    assert_eq!(clone.position(rules, at), None, "nine hunters are more than five");
    assert!(clone.knows(key(BoardLines::NoDiagonals).with_hunters(5)));
    assert!(!clone.knows(key(BoardLines::Alquerque).with_hunters(5)));
}

#[test]
fn a_solution_that_is_stopped_ends() {
    let progress = Progress::default();
    progress.stop();
    assert!(Table::solve(key(BoardLines::NoDiagonals), 14, NonZeroUsize::MIN, &progress).is_err());
}
