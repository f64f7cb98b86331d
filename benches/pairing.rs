//! How long one round of pairing takes: about n log n in the number of tickets.

#[path = "../tests/numbers/dice.rs"]
mod dice;

use dice::Dice;
use leveret::{
    lobby::pairing::{Candidate, pair},
    rules::Role,
};
use uuid::Uuid;

fn main() {
    divan::main();
}

/// A pool rated N(1500, 300), everybody waiting for up to a minute.
fn pool(waiting: usize) -> Vec<Candidate> {
    let mut dice = Dice(1);
    (0..waiting)
        .map(|player| Candidate {
            ticket: Uuid::from_u64_pair(dice.bits(), dice.bits()),
            player: Uuid::from_u128(player as u128),
            rating: dice.normal(1500.0, 300.0).round() as i32,
            rd: 45 + dice.below(120) as i32,
            waited_s: dice.below(60) as i32,
            debt: dice.below(3) as i32 - 1,
            last_role: Some(if dice.below(2) == 0 { Role::Hounds } else { Role::Hare }),
            recent_opponents: std::array::from_fn(|_| Some(Uuid::from_u128(dice.below(waiting) as u128))),
            blocked: (0..dice.below(3)).map(|_| Uuid::from_u128(dice.below(waiting) as u128)).collect(),
        })
        .collect()
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn one_round(bencher: divan::Bencher<'_, '_>, waiting: usize) {
    let pool = pool(waiting);
    bencher.counter(divan::counter::ItemsCount::new(waiting)).bench(|| pair(&pool, 1));
}
