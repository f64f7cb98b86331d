//! The eleven points as bits, and how the pieces step on them: written apart from the rules engine, so that each
//! can be held against the other.

use crate::rules::{Board as Drawn, Point, Position, Role};

/// How many points the board has. Here they are numbered from 0 in the order of their names.
const POINTS: usize = 11;
/// How many sets of points there are.
const SETS: usize = 1 << POINTS;

/// Where all pieces stand and whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    hounds: u16,
    hare: u8,
    pub(super) turn: Role,
}

impl Spot {
    /// How many numbers there are for spots.
    pub(super) const COUNT: usize = 2 * POINTS * SETS;

    /// Its number.
    pub(super) fn number(self) -> usize {
        (self.turn as usize * POINTS + usize::from(self.hare)) * SETS + usize::from(self.hounds)
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
    points: &'static [Point],
    columns: [u8; POINTS],
    neighbours: [u16; POINTS],
    not_left: [u16; POINTS],
}

impl Board {
    pub(super) fn new() -> Board {
        let drawn = Drawn::hare_and_hounds();
        let mut board = Board {
            points: drawn.points(),
            columns: [0; POINTS],
            neighbours: [0; POINTS],
            not_left: [0; POINTS],
        };
        for (column, point) in board.columns.iter_mut().zip(drawn.points()) {
            *column = point.x();
        }
        for &(a, b) in drawn.lines() {
            for (from, to) in [(board.point(a), board.point(b)), (board.point(b), board.point(a))] {
                board.neighbours[from] |= 1 << to;
                if board.columns[to] >= board.columns[from] {
                    board.not_left[from] |= 1 << to;
                }
            }
        }
        board
    }

    /// The number of a point.
    fn point(&self, point: Point) -> usize {
        self.points.binary_search(&point).expect("pieces stand on the board")
    }

    /// The spot that a position is.
    pub(super) fn spot(&self, position: Position) -> Spot {
        let hounds = position.pack().iter().fold(0, |all, hound| all | 1 << self.point(hound));
        Spot { hounds, hare: self.point(position.hare()) as u8, turn: position.turn() }
    }

    /// Every way in which three hounds and a hare can stand, with this side to move.
    pub(super) fn spots(&self, turn: Role) -> impl Iterator<Item = Spot> {
        let hounds = (0..SETS as u16).filter(|hounds| hounds.count_ones() == 3);
        hounds.flat_map(move |hounds| {
            let free = (0..POINTS as u8).filter(move |hare| hounds >> hare & 1 == 0);
            free.map(move |hare| Spot { hounds, hare, turn })
        })
    }

    /// The sum of the hounds' columns, which never falls.
    pub(super) fn reach(&self, spot: Spot) -> usize {
        bits(spot.hounds).map(|hound| usize::from(self.columns[hound])).sum()
    }

    /// Whether every hound is to the right of the hare.
    pub(super) fn has_escaped(&self, spot: Spot) -> bool {
        bits(spot.hounds).all(|hound| self.columns[hound] > self.columns[usize::from(spot.hare)])
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
                is_vertical: self.columns[from] == self.columns[to],
            })
        })
    }
}

/// The numbers of the bits that are set, in ascending order.
fn bits(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}
