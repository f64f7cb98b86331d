//! Where the pieces stand and whose turn it is, the same for both games.
//!
//! No two pieces ever share a point. A position is eight bytes, so histories and tables may hold it as it is. It
//! knows no board and no rules; [`Rules::admits`] says whether a game could stand like this.

use super::{Move, Point, PointSet, Role, Rules};
use std::{fmt, str::FromStr};

/// Where the pieces stand and whose turn it is; written `a2b1b3/e2 hounds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pack: PointSet,
    hare: Point,
    turn: Role,
}

impl Position {
    /// A position, unless the hare stands on a point of the pack.
    pub fn new(pack: PointSet, hare: Point, turn: Role) -> Option<Position> {
        (!pack.contains(hare)).then_some(Position { pack, hare, turn })
    }

    /// Reads a position that can stand in a game by these rules, in exactly the form in which it is written.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text, or why no game by these rules can stand like this.
    pub fn parse(rules: Rules, text: &str) -> Result<Position, ParsePositionError> {
        let (pieces, turn) = text.split_once(' ').ok_or(ParsePositionError::Unreadable)?;
        let (pack, hare) = pieces.split_once('/').ok_or(ParsePositionError::Unreadable)?;
        let turn = Role::from_str(turn).map_err(|_| ParsePositionError::Unreadable)?;
        let named = |name| Point::named(name).ok_or(ParsePositionError::Unreadable);
        let hare = named(hare.as_bytes())?;
        let pack = pack.as_bytes().chunks(2).map(named).collect::<Result<Vec<Point>, _>>()?;

        if !pack.is_sorted_by(|a, b| a < b) {
            return Err(ParsePositionError::Unordered);
        }
        let position = Position::new(pack.into_iter().collect(), hare, turn);
        let position = position.ok_or(ParsePositionError::Overlap(hare))?;
        rules.admits(position).map_err(ParsePositionError::Impossible)?;
        Ok(position)
    }

    /// Where the hounds or the hunters stand.
    pub fn pack(self) -> PointSet {
        self.pack
    }

    /// Where the hare stands.
    pub fn hare(self) -> Point {
        self.hare
    }

    /// Whose turn it is.
    pub fn turn(self) -> Role {
        self.turn
    }

    /// Where any piece stands: the pack in ascending order, then the hare.
    pub fn pieces(self) -> impl Iterator<Item = Point> {
        self.pack.iter().chain([self.hare])
    }

    /// Where the pieces of the side to move stand.
    pub fn to_move(self) -> PointSet {
        match self.turn {
            Role::Hounds => self.pack,
            Role::Hare => PointSet::EMPTY.with(self.hare),
        }
    }

    /// The points of a set on which no piece stands.
    pub fn empty_among(self, points: PointSet) -> PointSet {
        points.minus(self.pack).without(self.hare)
    }

    /// The position after a move, which must be one that can be made here.
    #[must_use]
    pub fn after(self, mv: &Move) -> Position {
        let turn = self.turn.other();
        match self.turn {
            Role::Hounds => Position { pack: self.pack.without(mv.from()).with(mv.to()), turn, ..self },
            Role::Hare => {
                Position { pack: mv.captures().fold(self.pack, PointSet::without), hare: mv.to(), turn }
            }
        }
    }
}

/// A start position, the hounds to move, from the names of the points.
pub(super) fn start_position(pack: &str, hare: &str) -> Position {
    let point = |name: &str| Point::from_str(name).expect("start positions name points of the grid");
    Position::new(pack.split(' ').map(point).collect(), point(hare), Role::Hounds)
        .expect("in start positions no two pieces share a point")
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pack.iter().try_for_each(|point| write!(f, "{point}"))?;
        write!(f, "/{} {}", self.hare, self.turn)
    }
}

/// Why a text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsePositionError {
    /// It does not have the form of a position.
    Unreadable,
    /// The points of the pack are not in ascending order, or one is named twice.
    Unordered,
    /// The hare stands where one of the pack stands.
    Overlap(Point),
    /// No game by these rules can stand like this.
    Impossible(ImpossiblePosition),
}

impl fmt::Display for ParsePositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParsePositionError::Unreadable => f.write_str("expected a position such as a2b1b3/e2 hounds"),
            ParsePositionError::Unordered => f.write_str("the points of the pack must be in ascending order"),
            ParsePositionError::Overlap(point) => write!(f, "two pieces stand on {point}"),
            ParsePositionError::Impossible(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for ParsePositionError {}

/// Why no game by certain rules can stand like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpossiblePosition {
    /// The board has no such point.
    OffBoard(Point),
    /// The pack is smaller or larger than it can be.
    PackSize {
        /// The smallest that the pack can be.
        min: u8,
        /// The largest that the pack can be.
        max: u8,
    },
}

impl fmt::Display for ImpossiblePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImpossiblePosition::OffBoard(point) => write!(f, "the board has no point {point}"),
            ImpossiblePosition::PackSize { min, max } if min == max => {
                write!(f, "the pack must have {min} pieces")
            }
            ImpossiblePosition::PackSize { min, max } => {
                write!(f, "the pack must have {min} to {max} pieces")
            }
        }
    }
}

impl std::error::Error for ImpossiblePosition {}
