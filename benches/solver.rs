//! How fast positions are solved and looked up.
//!
//! `cargo bench --bench solver`; the counters are positions.

use std::num::NonZeroUsize;

use divan::{Bencher, black_box, counter::ItemsCount};
use leveret::{
    rules::{
        Play, PointSet, Position, Role, Rules, Variant,
        catch_the_hare::{BoardLines, TooFew},
    },
    solver::{Key, Progress, Solver, Table},
};

fn main() {
    divan::main();
}

/// Small enough to be solved within a second.
const SMALL: Key = Key { board: BoardLines::NoDiagonals, too_few: TooFew::CannotEnclose };
const HUNTERS: u8 = 7;

fn small() -> Table {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Table::solve(SMALL, HUNTERS, threads, &Progress::default()).expect("nobody stops it")
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn solve_catch_the_hare_up_to_seven_hunters(bencher: Bencher) {
    bencher.counter(ItemsCount::new(Table::bytes_of(SMALL, HUNTERS))).bench(small);
}

#[divan::bench(args = [Role::Hounds, Role::Hare])]
fn look_up_in_catch_the_hare(bencher: Bencher, turn: Role) {
    let solver = Solver::new();
    solver.add(small());
    let rules = SMALL.with_hunters(HUNTERS);
    // The first positions in the order of their sets of hunters lie far apart in the table.
    let points = rules.board().points();
    let position = |nth: usize| {
        let pack: PointSet = (0..7).map(|piece| points[(nth * 11 + piece * (nth % 3 + 1)) % 25]).collect();
        points.iter().find_map(|&hare| Position::new(pack, hare, turn)).expect("there is room for the hare")
    };
    let positions: Vec<Position> = (0..1000).map(position).collect();
    bencher.counter(ItemsCount::new(positions.len())).bench(|| {
        positions.iter().for_each(|&at| {
            black_box(solver.position(rules, at));
        });
    });
}

#[divan::bench(sample_count = 1, sample_size = 1)]
fn solve_hare_and_hounds() -> Solver {
    Solver::new()
}

/// A game in which the hounds have waited for fifteen moves, so that much of what they could do would repeat.
#[divan::bench]
fn moves_of_hare_and_hounds_with_much_history(bencher: Bencher) {
    let solver = Solver::new();
    let rules = Rules::default_for(Variant::HareAndHounds);
    let mut play = Play::begin(rules, rules.starts()[0]).expect("a variant's own start can be played from");
    while play.ply() < 30 {
        let legal = play.legal_moves();
        let waits = |mv: &&leveret::rules::Move| {
            (play.turn() == Role::Hare || mv.from().x() == mv.to().x()) && play.after(mv).outcome().is_none()
        };
        let mv = legal.iter().find(waits).or(legal.first()).expect("the game goes on for longer");
        play = play.after(mv);
        if play.outcome().is_some() {
            break;
        }
    }
    bencher.bench(|| solver.moves_in(&play));
}
