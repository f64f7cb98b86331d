//! How many positions a second the rules engines go through, on both games.
//!
//! `cargo bench --bench perft`; the counter is leaves of the tree, as counted by perft.

use divan::{Bencher, counter::ItemsCount};
use leveret::rules::{Play, Rules, Variant, perft};

fn main() {
    divan::main();
}

/// The default rules of each game, and a depth of some ten thousand positions.
const GAMES: [(Variant, u32); 2] = [(Variant::HareAndHounds, 7), (Variant::CatchTheHare, 5)];

fn begin(variant: Variant) -> Play {
    let rules = Rules::default_for(variant);
    Play::begin(rules, rules.starts()[0]).expect("a variant's own start can be played from")
}

#[divan::bench(args = GAMES.map(|(variant, depth)| format!("{variant} {depth}")))]
fn positions(bencher: Bencher, game: &str) {
    let (variant, depth) = game.split_once(' ').expect("the arguments above have two parts");
    let play = begin(variant.parse().expect("it was printed from a variant"));
    let depth = depth.parse().expect("it was printed from a number");
    bencher.counter(ItemsCount::new(perft(&play, depth))).bench(|| perft(&play, depth));
}

#[divan::bench(args = [Variant::HareAndHounds, Variant::CatchTheHare])]
fn legal_moves_of_the_start(bencher: Bencher, variant: Variant) {
    let play = begin(variant);
    bencher.bench(|| play.legal_moves());
}
