//! Points of the grid that all boards share, and sets of them.
//!
//! A point is always one of the 25 of the grid, `a1` to `e5`; whether a board has it is the board's to say. Points
//! are ordered as their names are: `a1` < `a2` < `b1`.

use std::{fmt, str::FromStr};

/// Points in a row and in a column of the grid.
const SIDE: u8 = 5;

#[rustfmt::skip]
const NAMES: [&str; Point::COUNT] = [
    "a1", "a2", "a3", "a4", "a5",
    "b1", "b2", "b3", "b4", "b5",
    "c1", "c2", "c3", "c4", "c5",
    "d1", "d2", "d3", "d4", "d5",
    "e1", "e2", "e3", "e4", "e5",
];

/// A point of the grid, numbered column by column from `a1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point(u8);

impl Point {
    /// The number of points of the grid.
    pub const COUNT: usize = 25;

    /// The points of the grid, in ascending order.
    pub fn all() -> impl DoubleEndedIterator<Item = Point> + ExactSizeIterator {
        (0..SIDE * SIDE).map(Point)
    }

    /// The point in this column and row, each counted from 0, if the grid goes that far.
    pub fn at(x: u8, y: u8) -> Option<Point> {
        (x < SIDE && y < SIDE).then(|| Point(x * SIDE + y))
    }

    /// Its name: a letter for the column and a digit for the row.
    pub fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// Its column, from the left, the first being 0.
    pub fn x(self) -> u8 {
        self.0 / SIDE
    }

    /// Its row, from the bottom, the first being 0.
    pub fn y(self) -> u8 {
        self.0 % SIDE
    }

    /// Its number, below [`Point::COUNT`]; ascending in the order of points.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Reads a name given as bytes.
    pub(super) fn named(name: &[u8]) -> Option<Point> {
        match *name {
            [column, row] => Point::at(column.checked_sub(b'a')?, row.checked_sub(b'1')?),
            _ => None,
        }
    }

    /// Whether this and the other point are next to each other in a row, a column or a diagonal.
    pub(super) fn is_one_step_from(self, other: Point) -> bool {
        self != other && self.x().abs_diff(other.x()) <= 1 && self.y().abs_diff(other.y()) <= 1
    }

    /// The point leapt over from this point to the other, if they are two apart on a straight line.
    pub(super) fn leapt_over_to(self, other: Point) -> Option<Point> {
        let over = Point((self.0 + other.0) / 2);
        (over.straight_on_from(self) == Some(other) && over.is_one_step_from(self)).then_some(over)
    }

    /// The point reached by going on as far again in the direction from the given point to this one.
    pub(super) fn straight_on_from(self, from: Point) -> Option<Point> {
        Point::at((2 * self.x()).checked_sub(from.x())?, (2 * self.y()).checked_sub(from.y())?)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text names no point of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPoint;

impl fmt::Display for UnknownPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a point: expected a letter a to e and a digit 1 to 5")
    }
}

impl std::error::Error for UnknownPoint {}

impl FromStr for Point {
    type Err = UnknownPoint;

    fn from_str(text: &str) -> Result<Point, UnknownPoint> {
        Point::named(text.as_bytes()).ok_or(UnknownPoint)
    }
}

/// A set of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointSet(u32);

impl PointSet {
    /// The set without points.
    pub const EMPTY: PointSet = PointSet(0);

    /// The set as bits: bit n stands for the point whose index is n.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether it holds no point.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many points it holds.
    pub const fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Whether it holds this point.
    pub const fn contains(self, point: Point) -> bool {
        self.0 & 1 << point.0 != 0
    }

    /// The same set with this point in it.
    #[must_use]
    pub const fn with(self, point: Point) -> PointSet {
        PointSet(self.0 | 1 << point.0)
    }

    /// The same set without this point.
    #[must_use]
    pub const fn without(self, point: Point) -> PointSet {
        PointSet(self.0 & !(1 << point.0))
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub const fn minus(self, other: PointSet) -> PointSet {
        PointSet(self.0 & !other.0)
    }

    /// The points, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Point> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then_some(Point(rest.trailing_zeros() as u8))?;
            rest &= rest - 1;
            Some(next)
        })
    }
}

impl FromIterator<Point> for PointSet {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> PointSet {
        points.into_iter().fold(PointSet::EMPTY, PointSet::with)
    }
}
