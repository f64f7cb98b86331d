//! The tables of both games, held against the rules engine, and their files.

mod catch_the_hare;
mod files;
mod hare_and_hounds;

use leveret::solver::Value;

/// The same end, seen from one ply earlier.
fn one_ply_earlier(value: Value) -> Value {
    Value { plies: value.plies.map(|plies| plies + 1), ..value }
}

/// The same throws every time.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below this one.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound as u64) as usize
    }
}
