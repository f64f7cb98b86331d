//! The square boards as bits, and how the pieces step and leap on them: written apart from the rules engine, so that
//! each can be held against the other.

use crate::rules::{Board as Drawn, Point};

/// How many points the boards have.
pub(super) const POINTS: usize = Point::COUNT;

/// All points.
const EVERYWHERE: u32 = (1 << POINTS) - 1;

/// Which points a piece can step and leap to; points are the bits and numbers of the grid.
#[derive(Debug)]
pub(super) struct Board {
    neighbours: [u32; POINTS],
    /// The number of the point leapt over, and of that landed on.
    leaps: [Vec<(usize, usize)>; POINTS],
}

impl Board {
    pub(super) fn new(drawn: &Drawn) -> Board {
        let mut neighbours = [0; POINTS];
        for &(a, b) in drawn.lines() {
            neighbours[a.index()] |= 1 << b.index();
            neighbours[b.index()] |= 1 << a.index();
        }
        let leaps = std::array::from_fn(|from| {
            // In one number for a point, twice as far straight on is twice the difference; lines never wrap around,
            // so neither does a leap along two of them.
            let beyond = |over: usize| (2 * over).checked_sub(from).filter(|&landing| landing < POINTS);
            bits(neighbours[from])
                .filter_map(|over| Some((over, beyond(over)?)))
                .filter(|&(over, landing)| neighbours[over] >> landing & 1 != 0)
                .collect()
        });
        Board { neighbours, leaps }
    }

    /// Where the hare can step to among these hunters. The same points are those that it can have stepped from.
    pub(super) fn hare_steps(&self, hunters: u32, hare: usize) -> u32 {
        self.neighbours[hare] & !hunters
    }

    /// Tells of every way in which the hare can leap: what hunters are left, and where it stands. A leap after which
    /// the hunters are too few ends the game there.
    pub(super) fn leap(&self, hunters: u32, hare: usize, too_few: u8, tell: &mut impl FnMut(u32, usize)) {
        for (over, landing) in self.single_leaps(hunters, hare) {
            let left = hunters & !(1 << over);
            tell(left, landing);
            if left.count_ones() > u32::from(too_few) {
                self.leap(left, landing, too_few, tell);
            }
        }
    }

    /// The hunters after each step of one of them. The same are those that they can have stepped from.
    pub(super) fn hunters_after(&self, hunters: u32, hare: usize) -> impl Iterator<Item = u32> {
        let free = EVERYWHERE & !hunters & !(1 << hare);
        bits(hunters).flat_map(move |from| {
            bits(self.neighbours[from] & free).map(move |to| hunters & !(1 << from) | 1 << to)
        })
    }

    fn single_leaps(&self, hunters: u32, hare: usize) -> impl Iterator<Item = (usize, usize)> {
        let leaps = self.leaps[hare].iter().copied();
        leaps.filter(move |&(over, landing)| hunters >> over & 1 != 0 && hunters >> landing & 1 == 0)
    }
}

/// The numbers of the bits that are set, in ascending order.
pub(super) fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}
