//! The eleven points as bits, and how the pieces step on them: written apart from the rules engine, so that each
//! can be held against the other.

use crate::rules::{Board as Drawn, Point, Position, Role};

/// How many points the grid has, of which the board uses eleven.
const POINTS: usize = Point::COUNT;

/// Where all pieces stand and whose turn it is; points are the bits and numbers of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub(super) hounds: u32,
    pub(super) hare: u8,
    pub(super) turn: Role,
}

impl From<Position> for Spot {
    fn from(position: Position) -> Spot {
        let hare = u8::try_from(position.hare().index()).expect("the grid has 25 points");
        Spot { hounds: position.pack().bits(), hare, turn: position.turn() }
    }
}

impl Spot {
    /// The sum of the hounds' columns, which never falls.
    pub(super) fn reach(self) -> usize {
        bits(self.hounds).map(column).sum()
    }

    /// Whether every hound is to the right of the hare.
    pub(super) fn has_escaped(self) -> bool {
        bits(self.hounds).all(|hound| column(hound) > column(usize::from(self.hare)))
    }
}

/// A step of the hounds or of the hare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// What it leads to.
    pub(super) to: Spot,
    /// Whether a piece stays in its column.
    pub(super) is_vertical: bool,
}

/// Which points a piece can step to.
#[derive(Debug)]
pub(super) struct Board {
    points: Vec<usize>,
    neighbours: [u32; POINTS],
    not_left: [u32; POINTS],
}

impl Board {
    pub(super) fn new() -> Board {
        let drawn = Drawn::hare_and_hounds();
        let mut neighbours = [0; POINTS];
        let mut not_left = [0; POINTS];
        for &(a, b) in drawn.lines() {
            for (from, to) in [(a.index(), b.index()), (b.index(), a.index())] {
                neighbours[from] |= 1 << to;
                if column(to) >= column(from) {
                    not_left[from] |= 1 << to;
                }
            }
        }
        Board { points: drawn.points().iter().map(|point| point.index()).collect(), neighbours, not_left }
    }

    /// Every way in which three hounds and a hare can stand, with this side to move.
    pub(super) fn spots(&self, turn: Role) -> Vec<Spot> {
        let mut spots = Vec::new();
        for (index, &first) in self.points.iter().enumerate() {
            for (further, &second) in self.points.iter().enumerate().skip(index + 1) {
                for &third in &self.points[further + 1..] {
                    let hounds = 1 << first | 1 << second | 1 << third;
                    let free = self.points.iter().filter(|&&hare| hounds >> hare & 1 == 0);
                    spots.extend(free.map(|&hare| Spot { hounds, hare: hare as u8, turn }));
                }
            }
        }
        spots
    }

    /// Every step of the side to move, supposing that the hare has not escaped.
    pub(super) fn steps(&self, spot: Spot) -> impl Iterator<Item = Step> {
        let taken = spot.hounds | 1 << spot.hare;
        let (movers, ways) = match spot.turn {
            Role::Hounds => (spot.hounds, &self.not_left),
            Role::Hare => (1 << spot.hare, &self.neighbours),
        };
        let turn = spot.turn.other();
        bits(movers).flat_map(move |from| {
            bits(ways[from] & !taken).map(move |to| Step {
                to: match spot.turn {
                    Role::Hounds => Spot { hounds: spot.hounds & !(1 << from) | 1 << to, turn, ..spot },
                    Role::Hare => Spot { hare: to as u8, turn, ..spot },
                },
                is_vertical: column(from) == column(to),
            })
        })
    }
}

fn column(point: usize) -> usize {
    point / 5
}

/// The numbers of the bits that are set, in ascending order.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}
